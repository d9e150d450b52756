//! The hash chain: every event is bound to those of its run before it, and to the whole log before it.
//!
//! A run's hash covers what is stored, as it is stored: `SHA-256(before ‖ run ‖ sequence ‖ timestamp ‖ form ‖ type ‖ payload)`,
//! each on a line of its own. The log's is `SHA-256(before ‖ run's hash)`, in the order of positions.

use std::collections::HashMap;

use domain::RunId;
use engine::StoreError;
use rusqlite::{Connection, OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};

use crate::encode::int;
use crate::fault::fault;

/// More broken places than this are counted, not listed.
const MOST_TOLD: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Hash([u8; 32]);

/// An event as its columns.
pub(crate) struct Stored<'a> {
    pub(crate) run: &'a str,
    pub(crate) sequence: i64,
    pub(crate) timestamp: i64,
    pub(crate) form: i64,
    pub(crate) kind: &'a str,
    pub(crate) payload: &'a str,
}

impl Hash {
    /// The run's hash after one more of its events.
    pub(crate) fn with_event(&self, event: &Stored<'_>) -> Self {
        let Stored { run, sequence, timestamp, form, kind, payload } = event;
        let mut digest = Sha256::new_with_prefix(self.0);
        digest.update(format!("{run}\n{sequence}\n{timestamp}\n{form}\n{kind}\n"));
        digest.update(payload);
        Self(digest.finalize().into())
    }

    /// The log's hash after one more event, whose run's hash is given.
    pub(crate) fn with_link(&self, run: &Self) -> Self {
        Self(Sha256::new_with_prefix(self.0).chain_update(run.0).finalize().into())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// What does not look like a hash fits nothing, and is told by the check.
    fn read(stored: Option<Vec<u8>>) -> Self {
        stored.and_then(|bytes| bytes.try_into().ok()).map(Self).unwrap_or_default()
    }
}

/// The hash of a run at one of its events; before the first it is all zeros.
pub(crate) fn of_run(connection: &Connection, run: i64, sequence: u64) -> Result<Hash, StoreError> {
    if sequence == 0 {
        return Ok(Hash::default());
    }
    let sql = "SELECT run_hash FROM workflow_events WHERE run = ?1 AND sequence = ?2";
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    let found = statement.query_row(params![run, int(sequence)], |row| row.get(0)).optional().map_err(fault)?;
    Ok(Hash::read(found.flatten()))
}

/// The same for whoever compares it with what was written down elsewhere.
pub(crate) fn told(connection: &Connection, run: &RunId, sequence: u64) -> Result<Option<String>, StoreError> {
    let sql = "SELECT run_hash FROM workflow_events
        WHERE run = (SELECT number FROM workflow_runs WHERE id = ?1) AND sequence = ?2";
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    let found =
        statement.query_row(params![run.as_str(), int(sequence)], |row| row.get(0)).optional().map_err(fault)?;
    let hash: Option<Vec<u8>> = found.flatten();
    Ok(hash.map(|bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
}

/// The hash of the log at its newest event.
pub(crate) fn of_log(connection: &Connection) -> Result<Hash, StoreError> {
    let sql = "SELECT log_hash FROM workflow_events ORDER BY position DESC LIMIT 1";
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    let found = statement.query_row([], |row| row.get(0)).optional().map_err(fault)?;
    Ok(Hash::read(found.flatten()))
}

/// One event on a walk over the log, with what it should carry and what it carries.
struct Link<'a> {
    position: i64,
    run: &'a str,
    sequence: i64,
    expected: (Hash, Hash),
    stored: (Hash, Hash),
}

/// Walks the log in order. Each link is judged against what is stored before it, so that one break is one finding.
fn walk(
    connection: &Connection,
    trust_stored: bool,
    mut each: impl FnMut(&Link<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let sql = "SELECT position, run, workflow_run_id, sequence, timestamp, form, type, payload, run_hash, log_hash
        FROM workflow_events ORDER BY position";
    let mut statement = connection.prepare(sql).map_err(fault)?;
    let mut rows = statement.query([]).map_err(fault)?;
    let (mut runs, mut log) = (HashMap::<i64, Hash>::new(), Hash::default());
    while let Some(row) = rows.next().map_err(fault)? {
        let text = |index| {
            // What is no text was never written, and fits no hash.
            Ok::<_, StoreError>(row.get_ref(index).map_err(fault)?.as_str().unwrap_or("\u{fffd}"))
        };
        let number = |index| row.get::<_, i64>(index).map_err(fault);
        let run = text(2)?;
        let event = Stored {
            run,
            sequence: number(3)?,
            timestamp: number(4)?,
            form: number(5)?,
            kind: text(6)?,
            payload: text(7)?,
        };
        let before = runs.entry(number(1)?).or_default();
        let of_run = before.with_event(&event);
        let stored = (Hash::read(row.get(8).map_err(fault)?), Hash::read(row.get(9).map_err(fault)?));
        // What was changed shows in its own hash; its place in the log is a question of its own.
        let linked = if trust_stored { stored.0 } else { of_run };
        let expected = (of_run, log.with_link(&linked));
        each(&Link { position: number(0)?, run, sequence: event.sequence, expected, stored })?;
        (*before, log) = if trust_stored { stored } else { expected };
    }
    Ok(())
}

/// Gives every event of an older database its hashes.
pub(crate) fn build(connection: &Connection) -> Result<(), StoreError> {
    let mut links = Vec::new();
    walk(connection, false, |link| {
        links.push((link.position, link.expected));
        Ok(())
    })?;
    let sql = "UPDATE workflow_events SET run_hash = ?2, log_hash = ?3 WHERE position = ?1";
    let mut statement = connection.prepare(sql).map_err(fault)?;
    for (position, (run, log)) in links {
        statement.execute(params![position, run.bytes(), log.bytes()]).map_err(fault)?;
    }
    Ok(())
}

/// Where the log is not what was written, for people.
pub(crate) fn check(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let (mut found, mut more) = (Vec::new(), 0);
    walk(connection, true, |link| {
        let Link { position, run, sequence, expected, stored } = link;
        let wrong = if expected.0 != stored.0 {
            format!("run {run} event {sequence}: it, or what came before it in this run, was changed or taken out")
        } else if expected.1 != stored.1 {
            format!("position {position} (run {run} event {sequence}): events before it were taken out or moved")
        } else {
            return Ok(());
        };
        if found.len() < MOST_TOLD {
            found.push(wrong)
        } else {
            more += 1
        }
        Ok(())
    })?;
    if more > 0 {
        found.push(format!("and {more} more places where the log is not what was written"));
    }
    Ok(found)
}
