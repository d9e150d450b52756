//! Leases: who may work on which open effect, and until when.
//!
//! A run's effects are worked on in order: only its lowest open one is given out, and only while no other of its
//! effects is being worked on.

use std::sync::LazyLock;

use domain::EffectId;
use engine::{Lease, LeaseWish, Leased, NodeId, StoreError, Weight};
use jiff::Timestamp;
use rusqlite::{Connection, params};

use crate::encode::{count, int, millis};
use crate::fault::fault;
use crate::read;
use crate::write::weight;

/// The part both candidate queries share: `?1` is the weight, `?2` the time, `?3` the limit.
const ITS_TURN: &str = "NOT EXISTS (SELECT 1 FROM outbox other WHERE other.run = mine.run
    AND other.number <> mine.number
    AND (other.number < mine.number OR (other.leased_by IS NOT NULL AND other.leased_until > ?2)))
    ORDER BY mine.requested_at, mine.id LIMIT ?3";

const COLUMNS: &str =
    "SELECT mine.id, mine.requested_at, mine.epoch, mine.workflow_run_id, mine.number, mine.effect FROM outbox mine";

/// Two questions instead of one with OR, so that each can walk its own index.
static QUERIES: LazyLock<[String; 2]> = LazyLock::new(|| {
    let free = "mine.leased_by IS NULL AND mine.weight = ?1";
    let expired = "mine.leased_by IS NOT NULL AND mine.leased_until <= ?2 AND mine.weight = ?1";
    [free, expired].map(|wanted| format!("{COLUMNS} WHERE {wanted} AND {ITS_TURN}"))
});

struct Candidate {
    id: i64,
    requested_at: i64,
    epoch: u64,
    leased: EffectId,
    effect: domain::Effect,
}

pub(crate) fn lease(connection: &Connection, wish: &LeaseWish) -> Result<Vec<Leased>, StoreError> {
    let mut found = candidates(connection, wish, Weight::Heavy, wish.heavy)?;
    found.extend(candidates(connection, wish, Weight::Light, wish.light)?);
    found.sort_by_key(|candidate| (candidate.requested_at, candidate.id));
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
        let mut statement = connection.prepare_cached(sql).map_err(fault)?;
        let arguments = params![weight(heaviness), millis(wish.now), int(limit as u64)];
        let mut rows = statement.query(arguments).map_err(fault)?;
        while let Some(row) = rows.next().map_err(fault)? {
            found.push(Candidate {
                id: row.get(0).map_err(fault)?,
                requested_at: row.get(1).map_err(fault)?,
                epoch: count(row.get(2).map_err(fault)?)?,
                leased: read::effect_id(row, 3)?,
                effect: read::effect(row, 5)?,
            });
        }
    }
    found.sort_by_key(|candidate| (candidate.requested_at, candidate.id));
    found.truncate(limit);
    Ok(found)
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
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(include_str!("../migrations/V1__runs_and_events.sql")).unwrap();
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = statement.query_map(params![1, 0, 4], |row| row.get::<_, String>(3)).unwrap();
        let plan: Vec<String> = steps.map(Result::unwrap).collect();
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
