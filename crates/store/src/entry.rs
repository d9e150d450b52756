//! Entry: which queued runs are let in, and how one stands that is not. Asked inside the transaction that leases, so
//! that the limits hold for all processes on the file.

use std::sync::LazyLock;

use domain::{RunId, Status};
use engine::{EntryRule, LeaseWish, QueueState, StoreError};
use rusqlite::{Connection, OptionalExtension as _, ToSql, params};

use crate::encode::{count, int, millis};
use crate::fault::fault;
use crate::lease::{COLUMNS, Candidate, NO_OTHER, read_candidates};
use crate::read::{SLACK, STATUSES};

/// Runs that are not let in, per user: `?1` is the time.
const QUEUED: &str = "SELECT user_id, count(*) FROM outbox
    WHERE weight = 2 AND (leased_until IS NULL OR leased_until <= ?1) GROUP BY user_id";

/// A user's root runs that have not ended, let in or not; counted up to `?2`, since more change nothing.
const OPEN: &str = "SELECT count(*) FROM (SELECT 1 FROM workflow_runs
    WHERE user_id = ?1 AND completed_at IS NULL AND parent IS NULL LIMIT ?2)";

/// A user's runs that wait for a person, counted up to `?2`. The words are those of the index.
static WAITING: LazyLock<String> = LazyLock::new(|| waiting(""));

/// Those of them that are nobody's child.
static WAITING_ROOTS: LazyLock<String> = LazyLock::new(|| waiting(" AND parent IS NULL"));

fn waiting(which: &str) -> String {
    let waits = STATUSES.into_iter().filter(|status| status.waits_for_person()).map(Status::word);
    let words = waits.map(|word| format!("'{word}'")).collect::<Vec<_>>().join(", ");
    let runs = format!("SELECT 1 FROM workflow_runs WHERE user_id = ?1 AND status IN ({words}){which}");
    format!("SELECT count(*) FROM ({runs} LIMIT ?2)")
}

/// Counts to the end.
const ALL: i64 = -1;

/// A user's queue: `?1` is the user, `?2` the time, `?3` the limit.
static FIRST: LazyLock<String> = LazyLock::new(|| {
    let free = "mine.weight = 2 AND mine.user_id = ?1 AND (mine.leased_until IS NULL OR mine.leased_until <= ?2)";
    format!("SELECT mine.id, mine.turn, {COLUMNS} WHERE {free} AND {NO_OTHER} ORDER BY mine.turn, mine.id LIMIT ?3")
});

/// The entries that may be leased, and how many runs are queued, those among them.
pub(crate) fn candidates(
    connection: &Connection,
    wish: &LeaseWish,
    rule: &EntryRule,
    limit: usize,
) -> Result<(Vec<Candidate>, u64), StoreError> {
    let mut found = Vec::new();
    let mut queued = 0;
    for (user, waits_here) in queues(connection, wish)? {
        queued += waits_here;
        let most = i64::from(rule.waiting) + 1;
        let waiting = number(connection, &WAITING, &[&user, &most])?;
        let held = number(connection, &WAITING_ROOTS, &[&user, &most])?;
        let idle = waits_here.saturating_add(held);
        let active = active(connection, &user, idle, int(idle.saturating_add(u64::from(rule.per_user))))?;
        let room = rule.room(active, waiting).min(limit as u64);
        if room > 0 {
            let read = int(room.saturating_add(SLACK as u64));
            let of_user = read_candidates(connection, &FIRST, params![user, millis(wish.now), read])?;
            found.extend(of_user.into_iter().take(usize::try_from(room).unwrap_or(limit)));
        }
    }
    // Each user's runs are in order and within that user's room, so the first of all are the right ones.
    found.sort_by_key(Candidate::place);
    found.truncate(limit);
    Ok((found, queued))
}

/// How a run stands that nobody has let in.
pub(crate) fn state(connection: &Connection, run: &RunId, rule: &EntryRule) -> Result<Option<QueueState>, StoreError> {
    // One look at one state of the file.
    let connection = connection.unchecked_transaction().map_err(fault)?;
    let sql = "SELECT user_id, turn, id FROM outbox WHERE weight = 2 AND leased_by IS NULL
        AND run = (SELECT number FROM workflow_runs WHERE id = ?1)";
    let place = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let found = connection.query_row(sql, [run.as_str()], place).optional().map_err(fault)?;
    let Some((user, turn, id)): Option<(String, i64, i64)> = found else { return Ok(None) };
    let queued = "SELECT count(*) FROM outbox WHERE weight = 2 AND user_id = ?1 AND leased_until IS NULL";
    let before = format!("{queued} AND (turn < ?2 OR (turn = ?2 AND id < ?3))");
    let ahead = number(&connection, &before, &[&user, &turn, &id])?;
    let held = number(&connection, &WAITING_ROOTS, &[&user, &ALL])?;
    let active = active(&connection, &user, number(&connection, queued, &[&user])?.saturating_add(held), ALL)?;
    let waiting = number(&connection, &WAITING, &[&user, &ALL])?;
    Ok(Some(QueueState { ahead, active, waiting, blocked_by: rule.blocked_by(active, waiting) }))
}

fn queues(connection: &Connection, wish: &LeaseWish) -> Result<Vec<(String, u64)>, StoreError> {
    let mut statement = connection.prepare_cached(QUEUED).map_err(fault)?;
    let mut rows = statement.query([millis(wish.now)]).map_err(fault)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(fault)? {
        found.push((row.get(0).map_err(fault)?, count(row.get(1).map_err(fault)?)?));
    }
    Ok(found)
}

/// What is open, not queued and waits for no person is at work. A run that waits costs nothing, so it counts nothing.
fn active(connection: &Connection, user: &str, idle: u64, enough: i64) -> Result<u64, StoreError> {
    Ok(number(connection, OPEN, &[&user, &enough])?.saturating_sub(idle))
}

fn number(connection: &Connection, sql: &str, arguments: &[&dyn ToSql]) -> Result<u64, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    count(statement.query_row(arguments, |row| row.get(0)).map_err(fault)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sql: &str, arguments: &[&dyn ToSql], first: &str) {
        let plan = crate::schema::plan(sql, arguments);
        let step = plan.iter().find(|step| step.starts_with("S"));
        assert_eq!(step.map(String::as_str), Some(first), "{plan:?}");
        assert!(plan.iter().all(|step| !step.contains("TEMP B-TREE")), "{plan:?}");
    }

    #[test]
    fn the_queue_is_read_in_order_by_its_index_and_everything_else_is_counted_by_one() {
        check(QUEUED, &[&0], "SCAN outbox USING COVERING INDEX outbox_entry_idx");
        let open = "workflow_runs_open_idx (user_id=? AND completed_at=? AND parent=?)";
        check(OPEN, &[&"ada", &5], &format!("SEARCH workflow_runs USING COVERING INDEX {open}"));
        let waiting = "workflow_runs_waiting_idx (user_id=? AND status=?)";
        check(&WAITING, &[&"ada", &20], &format!("SEARCH workflow_runs USING COVERING INDEX {waiting}"));
        check(&FIRST, &[&"ada", &0, &4], "SEARCH mine USING INDEX outbox_entry_idx (user_id=?)");
    }
}
