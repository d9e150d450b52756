//! The limit: SQLite with the same settings and nothing around it.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use rusqlite::{Connection, params};

const WHILE: Duration = Duration::from_secs(3);

/// Rows a second, committed durably in groups of `batch`.
pub fn commits_per_second(path: &Path, batch: u64) -> Result<f64> {
    let mut connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute_batch(
        "CREATE TABLE events (position INTEGER PRIMARY KEY, run TEXT NOT NULL, sequence INTEGER NOT NULL,
         payload TEXT NOT NULL, UNIQUE (run, sequence));",
    )?;
    let payload = "x".repeat(300);
    let begun = Instant::now();
    let mut sequence = 0;
    while begun.elapsed() < WHILE {
        let transaction = connection.transaction()?;
        {
            let mut insert =
                transaction.prepare_cached("INSERT INTO events (run, sequence, payload) VALUES (?1, ?2, ?3)")?;
            for _ in 0..batch {
                sequence += 1;
                insert.execute(params!["k7m2q9-x4tz3c", sequence, payload])?;
            }
        }
        transaction.commit()?;
    }
    Ok(sequence as f64 / begun.elapsed().as_secs_f64())
}
