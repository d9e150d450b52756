//! The schema and its steps. Each step runs once, in a transaction with the mark that it ran.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use engine::StoreError;
use rusqlite::{Connection, TransactionBehavior};

use crate::chain;
use crate::fault::{fault, fault_at};

/// One entry per version, oldest first; never edited once released.
const STEPS: [&str; 4] = [
    include_str!("../migrations/V1__runs_and_events.sql"),
    include_str!("../migrations/V2__entry.sql"),
    include_str!("../migrations/V3__forks.sql"),
    include_str!("../migrations/V4__chain.sql"),
];

/// The version that brought the hash chain.
const CHAINED: usize = 4;

/// Marks the file as ours: `Hold`.
const APPLICATION_ID: i32 = 0x486f_6c64;

const TABLES: [&str; 9] = [
    "workflow_runs",
    "workflow_events",
    "clarification_requests",
    "artifacts",
    "spend",
    "outbox",
    "timers",
    "commands",
    "settings",
];

/// Looks at the first bytes before SQLite does, so that a file that is something else stays as it is.
pub(crate) fn check_file(path: &Path) -> Result<(), StoreError> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(StoreError::ReadOnly(format!("`{}`: {error}", path.display()))),
    };
    let disk = |error: std::io::Error| StoreError::Disk(format!("`{}`: {error}", path.display()));
    let mut header = Vec::with_capacity(100);
    file.by_ref().take(100).read_to_end(&mut header).map_err(disk)?;
    if header.is_empty() {
        return Ok(());
    }
    if !header.starts_with(b"SQLite format 3\0") {
        return Err(StoreError::Damaged(format!("`{}` is not a database", path.display())));
    }
    if header.len() < 100 {
        let length = header.len();
        return Err(StoreError::Damaged(format!("`{}` is cut off after {length} bytes", path.display())));
    }
    Ok(())
}

/// Brings the schema up to date, or refuses a file that is newer, foreign or damaged.
pub(crate) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let at = |error| fault_at(path, error);
    if version(connection).map_err(at)? != latest() {
        migrate(connection, path)?;
    }
    let foreign = || StoreError::Damaged(format!("`{}` is the database of another program", path.display()));
    let mark: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(at)?;
    if mark != APPLICATION_ID {
        return Err(foreign());
    }
    touch(connection).map_err(|error| match at(error) {
        // "no such table": the mark says that it was there.
        StoreError::Other(text) => StoreError::Damaged(text),
        clear @ (StoreError::Full
        | StoreError::Busy
        | StoreError::ReadOnly(_)
        | StoreError::Damaged(_)
        | StoreError::TooNew(_)
        | StoreError::RunUnreadable { .. }
        | StoreError::Disk(_)) => clear,
    })
}

fn latest() -> i64 {
    i64::try_from(STEPS.len()).expect("there are fewer steps than i64 counts")
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    // Immediate: of two processes that come at once, the second waits and then finds nothing to do.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
    let found = version(&transaction).map_err(fault)?;
    if found > latest() {
        let text = format!("`{}` has schema {found}, this version knows up to {}", path.display(), latest());
        return Err(StoreError::TooNew(text));
    }
    let done = usize::try_from(found).map_err(|_| StoreError::Damaged(format!("schema version {found}")))?;
    if done == 0 && !is_empty(&transaction).map_err(fault)? {
        return Err(StoreError::Damaged(format!("`{}` is the database of another program", path.display())));
    }
    for step in &STEPS[done..] {
        transaction.execute_batch(step).map_err(fault)?;
    }
    if done < CHAINED {
        chain::build(&transaction)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(fault)?;
    transaction.pragma_update(None, "user_version", latest()).map_err(fault)?;
    transaction.commit().map_err(fault)
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))
}

/// Reads the first page of every table: a missing or damaged one is refused now, not in the middle of a run.
fn touch(connection: &Connection) -> rusqlite::Result<()> {
    for table in TABLES {
        // The first question is answered from the table itself, the second from an index where there is one.
        for hint in ["NOT INDEXED", ""] {
            let mut statement = connection.prepare(&format!("SELECT 1 FROM {table} {hint} LIMIT 1"))?;
            statement.query([])?.next()?;
        }
    }
    Ok(())
}

/// How SQLite would answer a question, step by step.
#[cfg(test)]
pub(crate) fn plan(sql: &str, arguments: &[&dyn rusqlite::ToSql]) -> Vec<String> {
    let connection = Connection::open_in_memory().unwrap();
    for step in STEPS {
        connection.execute_batch(step).unwrap();
    }
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let steps = statement.query_map(arguments, |row| row.get::<_, String>(3)).unwrap();
    steps.map(Result::unwrap).collect()
}
