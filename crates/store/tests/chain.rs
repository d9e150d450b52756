//! History that was edited behind our back is noticed.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;

use domain::Command;
use engine::{Batch, Store as _};
use rusqlite::Connection;
use store::Sqlite;
use testkit::{History, samples};

/// Three whole runs, their events among each other's.
fn write_sample(path: &Path) {
    let store = Sqlite::open(path).unwrap();
    let mut logs: Vec<_> = (1..=3)
        .map(|n| {
            let mut history = History::unopened(samples::run_id(n));
            let first = history.take(Command::Start(Box::new(samples::start(samples::config())))).unwrap();
            std::iter::once(first).chain(history.go_on()).collect::<Vec<_>>().into_iter()
        })
        .collect();
    loop {
        let appends: Vec<_> = logs.iter_mut().filter_map(Iterator::next).collect();
        if appends.is_empty() {
            break;
        }
        store.commit(&Batch { appends, lease: None }).unwrap();
    }
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

/// What is found after somebody with a right to the file has done this to it.
fn found_after(edit: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("holdpoint.db");
    write_sample(&path);
    let file = Connection::open(&path).unwrap();
    file.execute_batch(edit).unwrap();
    assert!(file.changes() > 0, "the edit hits something");
    drop(file);
    Sqlite::open(&path).unwrap().check().unwrap()
}

#[test]
fn an_edited_event_is_noticed() {
    let found = found_after("UPDATE workflow_events SET payload = replace(payload, 'ada', 'eve') WHERE position = 1");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("event 1:"), "{found:?}");
    let found = found_after("UPDATE workflow_events SET timestamp = timestamp + 1 WHERE position = 7");
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn an_event_that_was_taken_out_is_noticed_also_with_its_number_given_to_the_next() {
    let found = found_after(
        "DELETE FROM workflow_events WHERE run = 2 AND sequence = 4;
         UPDATE workflow_events SET sequence = sequence - 1 WHERE run = 2 AND sequence > 4;
         UPDATE workflow_runs SET version = version - 1 WHERE number = 2;",
    );
    assert!(!found.is_empty());
}

#[test]
fn the_last_event_of_a_run_that_was_taken_out_is_noticed() {
    let found = found_after(
        "DELETE FROM workflow_events WHERE run = 1 AND sequence = (SELECT version FROM workflow_runs WHERE number = 1);
         UPDATE workflow_runs SET version = version - 1 WHERE number = 1;",
    );
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn events_that_changed_places_are_noticed() {
    let found = found_after(
        "UPDATE workflow_events SET position = -1 WHERE position = 1;
         UPDATE workflow_events SET position = 1 WHERE position = 3;
         UPDATE workflow_events SET position = 3 WHERE position = -1;",
    );
    assert!(!found.is_empty());
}
