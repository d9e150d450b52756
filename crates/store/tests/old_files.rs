//! A database of an earlier version is brought up to date with everything in it.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;

use domain::{Command, Outcome, Status};
use engine::{Batch, Blocked, EntryRule, LeaseWish, NodeId, RunFilter, Store as _};
use rusqlite::Connection;
use store::Sqlite;
use testkit::{History, samples};

const V1: &str = include_str!("../migrations/V1__runs_and_events.sql");

/// A whole run, one at work, and two that wait for their branch: one of them leased.
fn write_sample(store: &Sqlite) {
    for n in 1..=4 {
        let mut history = History::unopened(samples::run_id(n));
        let mut appends = vec![history.take(Command::Start(Box::new(samples::start(samples::config())))).unwrap()];
        match n {
            1 => appends.extend(history.go_on()),
            2 => appends.push(history.report(1, Outcome::BranchOpened { base: samples::commit(1) }).unwrap()),
            _ => {}
        }
        let (now, until) = (samples::at(0), samples::at(1000));
        let entry = (n == 3).then(EntryRule::default);
        let wish = LeaseWish { node: NodeId("a".to_owned()), now, until, heavy: 0, light: 1, entry };
        store.commit(&Batch { appends, lease: Some(wish) }).unwrap();
    }
}

/// Writes what a database holds as version 1 did: its tables, its columns, its weights and its words.
fn write_as_version_1(from: &Path, to: &Path) {
    let old = Connection::open(to).unwrap();
    old.execute_batch(V1).unwrap();
    old.execute("ATTACH ?1 AS new", [from.to_str().unwrap()]).unwrap();
    let names = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'";
    let tables: Vec<String> =
        old.prepare(names).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    for table in tables {
        let names = format!("SELECT group_concat(name) FROM pragma_table_info('{table}', 'main')");
        let columns: String = old.query_row(&names, [], |row| row.get(0)).unwrap();
        old.execute_batch(&format!("INSERT INTO main.{table} ({columns}) SELECT {columns} FROM new.{table}")).unwrap();
    }
    old.execute_batch(
        "UPDATE main.outbox SET weight = 0 WHERE weight = 2;
        UPDATE main.workflow_runs SET status = 'running' WHERE status = 'queued';
        PRAGMA main.application_id = 0x486f6c64; PRAGMA main.user_version = 1;",
    )
    .unwrap();
}

#[test]
fn a_database_of_version_1_keeps_its_runs_and_its_queue() {
    let directory = tempfile::tempdir().unwrap();
    let (new, old) = (directory.path().join("new.db"), directory.path().join("old.db"));
    let expected = Sqlite::open(&new).unwrap();
    write_sample(&expected);
    write_as_version_1(&new, &old);

    let store = Sqlite::open(&old).unwrap();
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    let rows = store.rows(&RunFilter::default()).unwrap();
    assert_eq!(rows, expected.rows(&RunFilter::default()).unwrap());
    assert_eq!(rows.iter().filter(|row| row.status == Status::Queued).count(), 2);
    assert_eq!(store.feed(0, 1000).unwrap(), expected.feed(0, 1000).unwrap());
    assert_eq!(store.outbox(None).unwrap(), expected.outbox(None).unwrap());
    let rule = EntryRule { per_user: 2, waiting: 9 };
    let waits = store.queue(&samples::run_id(4), &rule).unwrap().unwrap();
    assert_eq!((waits.active, waits.blocked_by), (2, Blocked::UserLimit { limit: 2 }));
    drop(store);
    // Its history is chained since then.
    let edit = "UPDATE workflow_events SET payload = replace(payload, 'ada', 'eve') WHERE position = 1";
    let edited = directory.path().join("edited.db");
    std::fs::copy(&old, &edited).unwrap();
    Connection::open(&edited).unwrap().execute_batch(edit).unwrap();
    assert_eq!(Sqlite::open(&edited).unwrap().check().unwrap().len(), 1);
    // A second opening finds nothing to do.
    assert_eq!(Sqlite::open(&old).unwrap().rows(&RunFilter::default()).unwrap(), rows);
}
