//! Bad days: damaged, foreign, read-only, full, locked. Typed errors, nothing deleted, nothing half written.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::Command;
use engine::{Append, Appended, Batch, EntryRule, LeaseWish, NodeId, RunFilter, Store as _, StoreError};
use store::{Options, Sqlite};
use testkit::{History, samples};

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("holdpoint.db")
    }

    fn open(&self) -> Sqlite {
        Sqlite::open(&self.path()).unwrap()
    }

    fn with_runs(runs: u64) -> Self {
        let place = Self::new();
        let store = place.open();
        for n in 1..=runs {
            write(&store, whole_run(n));
        }
        drop(store);
        place
    }
}

fn whole_run(n: u64) -> Vec<Append> {
    let mut history = History::unopened(samples::run_id(n));
    let mut appends = vec![history.take(Command::Start(Box::new(samples::start(samples::config())))).unwrap()];
    appends.extend(history.go_on());
    appends
}

fn write(store: &Sqlite, appends: Vec<Append>) {
    let committed = store.commit(&Batch { appends, lease: None }).unwrap();
    assert!(committed.appended.iter().all(|appended| *appended == Appended::Done));
}

fn refused(path: &Path) -> StoreError {
    Sqlite::open(path).err().expect("the database is refused")
}

#[track_caller]
fn check_refused_unchanged(path: &Path, bytes: &[u8], words: &str) {
    std::fs::write(path, bytes).unwrap();
    let error = refused(path);
    assert!(matches!(error, StoreError::Damaged(_)), "{error:?}");
    assert!(error.to_string().contains(words), "{error}");
    assert_eq!(std::fs::read(path).unwrap(), bytes);
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let place = Place::new();
    check_refused_unchanged(&place.path(), b"dear diary, today I wrote a file of my own", "is not a database");
}

#[test]
fn a_cut_off_header_is_refused_and_left_alone() {
    let place = Place::with_runs(1);
    let bytes = std::fs::read(place.path()).unwrap();
    check_refused_unchanged(&place.path(), &bytes[..60], "cut off after 60 bytes");
}

#[test]
fn a_file_cut_off_in_the_middle_is_refused() {
    let place = Place::with_runs(3);
    let bytes = std::fs::read(place.path()).unwrap();
    check_refused_unchanged(&place.path(), &bytes[..4096 * 2], "damaged");
}

#[test]
fn a_damaged_table_root_is_refused_at_open() {
    let place = Place::with_runs(1);
    let root: i64 = rusqlite_root(&place.path(), "workflow_events");
    let mut file = std::fs::OpenOptions::new().read(true).write(true).open(place.path()).unwrap();
    file.seek(SeekFrom::Start(u64::try_from(root - 1).unwrap() * 4096)).unwrap();
    file.write_all(&[0xff; 4096]).unwrap();
    let error = refused(&place.path());
    assert!(matches!(error, StoreError::Damaged(_)) && error.is_fatal(), "{error:?}");
}

#[test]
fn a_damaged_page_deep_in_a_table_is_found_by_the_check() {
    let place = Place::with_runs(60);
    assert_eq!(place.open().check().unwrap(), Vec::<String>::new());
    let mut file = std::fs::OpenOptions::new().read(true).write(true).open(place.path()).unwrap();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    // The last page belongs to a leaf of one of the large tables.
    file.seek(SeekFrom::Start(bytes.len() as u64 - 4096)).unwrap();
    file.write_all(&[0xff; 4096]).unwrap();
    drop(file);
    match place.open().check() {
        Ok(found) => assert!(!found.is_empty()),
        Err(error) => assert!(matches!(error, StoreError::Damaged(_)), "{error:?}"),
    }
}

#[test]
fn a_newer_schema_is_refused_and_named() {
    let place = Place::with_runs(1);
    sql(&place.path(), "PRAGMA user_version = 99");
    let error = refused(&place.path());
    assert!(matches!(error, StoreError::TooNew(_)), "{error:?}");
    assert!(error.to_string().contains("schema 99"), "{error}");
}

#[test]
fn the_database_of_another_program_is_refused_and_left_alone() {
    let place = Place::new();
    sql(&place.path(), "CREATE TABLE songs (title TEXT); INSERT INTO songs VALUES ('La Mer')");
    let error = refused(&place.path());
    assert!(matches!(error, StoreError::Damaged(_)), "{error:?}");
    assert!(error.to_string().contains("another program"), "{error}");
    sql(&place.path(), "SELECT title FROM songs");
}

#[test]
fn a_missing_table_is_refused_at_open() {
    let place = Place::with_runs(1);
    sql(&place.path(), "DROP TABLE timers");
    let error = refused(&place.path());
    assert!(matches!(error, StoreError::Damaged(_)), "{error:?}");
    assert!(error.to_string().contains("timers"), "{error}");
}

#[test]
fn an_event_of_a_newer_version_is_named() {
    let place = Place::with_runs(1);
    sql(&place.path(), "UPDATE workflow_events SET type = 'RUN_TELEPORTED' WHERE sequence = 3");
    let error = place.open().events(&samples::run_id(1), 0).unwrap_err();
    assert!(matches!(error, StoreError::RunUnreadable { .. }) && !error.is_fatal(), "{error:?}");
    assert!(error.to_string().contains("`RUN_TELEPORTED`"), "{error}");
    assert!(error.to_string().contains("made by a newer version"), "{error}");
}

#[test]
fn what_cannot_be_read_of_one_run_is_left_out_of_what_is_read_of_all() {
    for (edit, rows) in [
        ("UPDATE workflow_events SET type = 'RUN_TELEPORTED' WHERE run = 1", 3),
        ("UPDATE workflow_events SET payload = x'fffe00' WHERE run = 1 AND sequence = 3", 3),
        ("UPDATE workflow_runs SET status = 'enlightened' WHERE number = 1", 2),
        ("UPDATE workflow_runs SET artifacts = '[' WHERE number = 1", 2),
    ] {
        let place = Place::with_runs(3);
        sql(&place.path(), edit);
        let store = place.open();
        let read = store.rows(&RunFilter { limit: rows, ..RunFilter::default() }).unwrap();
        assert_eq!(read.len(), rows, "{edit}");
        // In small pages too, though whole pages hold nothing but what cannot be read.
        for limit in [1, 2, 500] {
            let (mut after, mut last) = (0, None);
            loop {
                let page = store.feed(after, limit).unwrap();
                let Some(item) = page.last() else { break };
                (after, last) = (item.position, Some(item.run.clone()));
            }
            assert_eq!((after, last), (store.position().unwrap(), Some(samples::run_id(3))), "{edit}");
        }
        assert!(store.check().unwrap().iter().any(|found| found.contains("run ")), "{edit}");
        assert!(!store.events(&samples::run_id(2), 0).unwrap().is_empty(), "{edit}");
    }
}

#[test]
fn an_open_effect_that_cannot_be_read_keeps_no_other_from_being_leased() {
    let place = Place::new();
    let store = place.open();
    for n in 1..=2 {
        write(&store, whole_run(n).into_iter().take(1).collect());
    }
    sql(&place.path(), "UPDATE outbox SET effect = '{' WHERE run = 1");
    let now = store.outbox(Some(&samples::run_id(2))).unwrap()[0].requested_at;
    let wish = LeaseWish {
        node: NodeId("here".to_owned()),
        now,
        until: now,
        heavy: 1,
        light: 1,
        entry: Some(EntryRule::default()),
    };
    let committed = store.commit(&Batch { appends: Vec::new(), lease: Some(wish) }).unwrap();
    assert_eq!(committed.leased.iter().map(|leased| &leased.id.run).collect::<Vec<_>>(), [&samples::run_id(2)]);
    assert!(store.check().unwrap().iter().any(|found| found.contains("open effect cannot be read")));
}

#[test]
fn a_row_and_a_log_that_disagree_are_found_by_the_check() {
    let place = Place::with_runs(2);
    sql(&place.path(), "DELETE FROM workflow_events WHERE sequence = 4");
    let found = place.open().check().unwrap();
    assert_eq!(found.iter().filter(|line| line.contains("but has")).count(), 2, "{found:?}");
}

#[test]
fn a_place_that_cannot_be_written_is_refused() {
    let error = refused(Path::new("/proc/holdpoint.db"));
    assert!(matches!(error, StoreError::ReadOnly(_)), "{error:?}");
    let missing = Place::new().path().join("nowhere").join("holdpoint.db");
    let error = refused(&missing);
    assert!(matches!(error, StoreError::ReadOnly(_)), "{error:?}");
    assert!(error.to_string().contains("nowhere"), "{error}");
}

#[test]
fn a_lost_wal_leaves_an_older_whole_state() {
    let place = Place::with_runs(1);
    let copy = Place::new();
    let store = place.open();
    write(&store, whole_run(2));
    // The file as it is without what only the WAL holds yet.
    std::fs::copy(place.path(), copy.path()).unwrap();
    let older = copy.open();
    assert_eq!(older.check().unwrap(), Vec::<String>::new());
    assert_eq!(older.row(&samples::run_id(2)).unwrap(), None);
    assert_eq!(older.events(&samples::run_id(1), 0).unwrap(), store.events(&samples::run_id(1), 0).unwrap());
}

#[test]
fn a_full_disk_is_said_and_nothing_is_half_written() {
    let place = Place::with_runs(1);
    let pages = std::fs::metadata(place.path()).unwrap().len() / 4096;
    let options = Options { max_pages: Some(u32::try_from(pages + 4).unwrap()), ..Options::default() };
    let store = Sqlite::open_with(&place.path(), options).unwrap();
    let before = store.position().unwrap();
    let appends: Vec<Append> = (2..60).flat_map(whole_run).collect();
    let error = store.commit(&Batch { appends, lease: None }).unwrap_err();
    assert!(matches!(error, StoreError::Full) && !error.is_fatal(), "{error:?}");
    assert_eq!(store.position().unwrap(), before);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    drop(store);
    // With space again, work goes on where it stood.
    let store = place.open();
    write(&store, whole_run(2));
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn a_database_held_by_another_is_busy_and_then_works() {
    let place = Place::with_runs(1);
    let options = Options { busy_timeout: Duration::from_millis(20), ..Options::default() };
    let store = Sqlite::open_with(&place.path(), options).unwrap();
    let other = rusqlite::Connection::open(place.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.commit(&Batch { appends: whole_run(2), lease: None }).unwrap_err();
    assert!(matches!(error, StoreError::Busy), "{error:?}");
    assert_eq!(store.events(&samples::run_id(1), 0).unwrap().len(), store.position().unwrap() as usize);
    other.execute_batch("ROLLBACK").unwrap();
    write(&store, whole_run(2));
}

fn sql(path: &Path, text: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(text).unwrap();
}

fn rusqlite_root(path: &Path, table: &str) -> i64 {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.query_row("SELECT rootpage FROM sqlite_schema WHERE name = ?1", [table], |row| row.get(0)).unwrap()
}
