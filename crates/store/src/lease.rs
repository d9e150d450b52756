//! Leases: who may work on which open effect, and until when.
//!
//! A run's effects are worked on in order: only its lowest open one is given out, and only while no other of its
//! effects is being worked on.

use std::sync::LazyLock;

use domain::EffectId;
use engine::{Lease, LeaseWish, Leased, NodeId, StoreError, Weight};
use jiff::Timestamp;
use rusqlite::{Connection, ToSql, params};

use crate::encode::{count, int, millis};
use crate::fault::fault;
use crate::write::weight;
use crate::{entry, read};

/// Nothing else of the run goes first or is being worked on: `?2` is the time.
pub(crate) const NO_OTHER: &str = "NOT EXISTS (SELECT 1 FROM outbox other WHERE other.run = mine.run
    AND other.number <> mine.number
    AND (other.number < mine.number OR (other.leased_by IS NOT NULL AND other.leased_until > ?2)))";

/// What every question for candidates asks for, after the id and the place.
pub(crate) const COLUMNS: &str = "mine.epoch, mine.workflow_run_id, mine.number, mine.effect FROM outbox mine";

/// Two questions instead of one with OR, so that each can walk its own index: `?1` is the weight, `?3` the limit.
static QUERIES: LazyLock<[String; 2]> = LazyLock::new(|| {
    let free = "mine.leased_by IS NULL AND mine.weight = ?1";
    let expired = "mine.leased_by IS NOT NULL AND mine.leased_until <= ?2 AND mine.weight = ?1";
    let order = "ORDER BY mine.requested_at, mine.id LIMIT ?3";
    [free, expired]
        .map(|wanted| format!("SELECT mine.id, mine.requested_at, {COLUMNS} WHERE {wanted} AND {NO_OTHER} {order}"))
});

/// An effect that may be leased.
pub(crate) struct Candidate {
    id: i64,
    turn: i64,
    epoch: u64,
    leased: EffectId,
    effect: domain::Effect,
}

impl Candidate {
    /// Its place among all that may be leased.
    pub(crate) fn place(&self) -> (i64, i64) {
        (self.turn, self.id)
    }
}

/// Leases what the wish allows; with how many runs are left in the queue.
pub(crate) fn lease(connection: &Connection, wish: &LeaseWish) -> Result<(Vec<Leased>, u64), StoreError> {
    let mut found = candidates(connection, wish, Weight::Light, wish.light)?;
    let mut left = 0;
    if let Some(rule) = &wish.entry {
        let (entries, queued) = entry::candidates(connection, wish, rule, wish.light - found.len())?;
        left = queued - entries.len() as u64;
        found.extend(entries);
    }
    found.extend(candidates(connection, wish, Weight::Heavy, wish.heavy)?);
    found.sort_by_key(Candidate::place);
    Ok((take(connection, wish, found)?, left))
}

fn take(connection: &Connection, wish: &LeaseWish, found: Vec<Candidate>) -> Result<Vec<Leased>, StoreError> {
    let sql = "UPDATE outbox SET leased_by = ?2, leased_until = ?3, epoch = ?4 WHERE id = ?1";
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    let mut leased = Vec::with_capacity(found.len());
    for candidate in found {
        let lease = Lease { node: wish.node.clone(), until: wish.until, epoch: candidate.epoch + 1 };
        let columns = params![candidate.id, lease.node.0, millis(lease.until), int(lease.epoch)];
        statement.execute(columns).map_err(fault)?;
        leased.push(Leased { id: candidate.leased, effect: candidate.effect, lease });
    }
    Ok(leased)
}

/// The oldest effects of a weight that nobody works on.
fn candidates(
    connection: &Connection,
    wish: &LeaseWish,
    heaviness: Weight,
    limit: usize,
) -> Result<Vec<Candidate>, StoreError> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for sql in QUERIES.iter() {
        let arguments = params![weight(heaviness), millis(wish.now), int((limit + read::SLACK) as u64)];
        found.extend(read_candidates(connection, sql, arguments)?);
    }
    found.sort_by_key(Candidate::place);
    found.truncate(limit);
    Ok(found)
}

pub(crate) fn read_candidates(
    connection: &Connection,
    sql: &str,
    arguments: &[&dyn ToSql],
) -> Result<Vec<Candidate>, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    let mut rows = statement.query(arguments).map_err(fault)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(fault)? {
        let id: i64 = row.get(0).map_err(fault)?;
        // One that does not decode stays where it is; the work of other runs is given out.
        found.extend(read::readable(read_candidate(row, id), "open effect", id));
    }
    Ok(found)
}

fn read_candidate(row: &rusqlite::Row<'_>, id: i64) -> Result<Candidate, StoreError> {
    Ok(Candidate {
        id,
        turn: row.get(1).map_err(fault)?,
        epoch: count(row.get(2).map_err(fault)?)?,
        leased: read::effect_id(row, 3)?,
        effect: read::effect(row, 5)?,
    })
}

pub(crate) fn release_all(connection: &Connection) -> Result<u64, StoreError> {
    let sql = "UPDATE outbox SET leased_by = NULL, leased_until = NULL WHERE leased_by IS NOT NULL";
    Ok(connection.execute(sql, []).map_err(fault)? as u64)
}

pub(crate) fn renew(connection: &Connection, node: &NodeId, until: Timestamp) -> Result<u64, StoreError> {
    let sql = "UPDATE outbox SET leased_until = ?2 WHERE leased_by = ?1";
    Ok(connection.execute(sql, params![node.0, millis(until)]).map_err(fault)? as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sql: &str, first: &str) {
        let plan = crate::schema::plan(sql, params![1, 0, 4]);
        assert_eq!(plan[0], first, "{plan:?}");
        assert!(plan.iter().all(|step| !step.starts_with("SCAN")), "{plan:?}");
    }

    #[test]
    fn free_effects_are_found_in_order_by_their_index() {
        check(&QUERIES[0], "SEARCH mine USING INDEX outbox_free_idx (weight=?)");
    }

    #[test]
    fn expired_leases_are_found_by_their_index() {
        check(&QUERIES[1], "SEARCH mine USING INDEX outbox_leased_idx (leased_until<?)");
    }
}
