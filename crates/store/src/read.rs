//! Reads: the log, the feed, rows, timers and the outbox. Never writes.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use domain::{Effect, EffectId, ForkedFrom, Micros, Recorded, RunId, Status};
use engine::{CommandKey, DueTimer, FeedItem, Lease, NodeId, OutboxRow, Row, RunFilter, StoreError};
use jiff::Timestamp;
use rusqlite::types::FromSql;
use rusqlite::{Connection, ToSql, params};

use crate::chain;
use crate::encode::{count, int, millis, recorded, timestamp};
use crate::fault::fault;

type SqlRow<'a> = rusqlite::Row<'a>;

pub(crate) fn position(connection: &Connection) -> Result<u64, StoreError> {
    let sql = "SELECT coalesce(max(position), 0) FROM workflow_events";
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    count(statement.query_row([], |row| row.get(0)).map_err(fault)?)
}

pub(crate) fn events(connection: &Connection, run: &RunId, after: u64) -> Result<Vec<Recorded>, StoreError> {
    let sql = "SELECT sequence, timestamp, form, type, payload FROM workflow_events
        WHERE run = (SELECT number FROM workflow_runs WHERE id = ?1) AND sequence > ?2 ORDER BY sequence";
    let unreadable = |error: StoreError| StoreError::RunUnreadable { run: run.clone(), reason: error.to_string() };
    collect(connection, sql, params![run.as_str(), int(after)], |row| recorded(row, 0).map_err(unreadable))
}

pub(crate) fn feed(connection: &Connection, after: u64, limit: usize) -> Result<Vec<FeedItem>, StoreError> {
    let sql = "SELECT position, workflow_run_id, sequence, timestamp, form, type, payload FROM workflow_events
        WHERE position > ?1 AND inherited = 0 ORDER BY position LIMIT ?2";
    feed_pages(connection, after, limit, |after| (sql, vec![Box::new(int(after)), Box::new(int(limit as u64))]))
}

/// The first page with an event that can be read. Those that cannot are left out: they are their run's trouble, and whoever
/// follows the feed must not stand still for it.
fn feed_pages<'a>(
    connection: &Connection,
    mut after: u64,
    limit: usize,
    page: impl Fn(u64) -> (&'a str, Vec<Box<dyn ToSql>>),
) -> Result<Vec<FeedItem>, StoreError> {
    loop {
        let (sql, arguments) = page(after);
        let read = collect(connection, sql, rusqlite::params_from_iter(arguments), |row| {
            let position = count(get(row, 0)?)?;
            let item = |row| Ok(FeedItem { position, run: run_id(row, 1)?, recorded: recorded(row, 2)? });
            Ok((position, item(row)))
        })?;
        let (whole, last) = (read.len() < limit, read.last().map(|(position, _)| *position));
        let items: Vec<FeedItem> =
            read.into_iter().filter_map(|(position, item)| readable(item, "event", position)).collect();
        match last {
            Some(last) if items.is_empty() && !whole => after = last,
            Some(_) | None => return Ok(items),
        }
    }
}

/// What decodes; of the rest the server's log says it, once each.
pub(crate) fn readable<T>(item: Result<T, StoreError>, what: &'static str, number: impl ToString) -> Option<T> {
    static NOTED: Mutex<BTreeSet<(&str, String)>> = Mutex::new(BTreeSet::new());
    let error = match item {
        Ok(item) => return Some(item),
        Err(error) => error,
    };
    let number = number.to_string();
    let mut noted = NOTED.lock().unwrap_or_else(PoisonError::into_inner);
    if noted.len() < MAX_NOTED && noted.insert((what, number.clone())) {
        tracing::error!(what, number, %error, "left out, because it cannot be read; see `holdpoint verify`");
    }
    None
}

/// More are left out without a word in the log.
const MAX_NOTED: usize = 1000;
/// Rows that are read beyond a limit, so that a few that cannot be read do not make a page look like the last.
pub(crate) const SLACK: usize = 100;

/// Types are our own words. In a row the type stands before the payload, so that payloads of others are not read.
pub(crate) fn feed_of(
    connection: &Connection,
    types: &[&str],
    after: u64,
    limit: usize,
) -> Result<Vec<FeedItem>, StoreError> {
    let marks = vec!["?"; types.len()].join(", ");
    let sql = format!(
        "SELECT position, workflow_run_id, sequence, timestamp, form, type, payload FROM workflow_events
        WHERE position > ? AND type IN ({marks}) AND inherited = 0 ORDER BY position LIMIT ?"
    );
    feed_pages(connection, after, limit, |after| {
        let mut arguments: Vec<Box<dyn ToSql>> = vec![Box::new(int(after))];
        arguments.extend(types.iter().map(|kind| Box::new((*kind).to_owned()) as Box<dyn ToSql>));
        arguments.push(Box::new(int(limit as u64)));
        (&sql, arguments)
    })
}

pub(crate) fn exists(connection: &Connection, run: &RunId) -> Result<bool, StoreError> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM workflow_runs WHERE id = ?1").map_err(fault)?;
    statement.exists([run.as_str()]).map_err(fault)
}

const ROW: &str = "SELECT id, version, project_id, user_id, original_request, playbook, status, current_stage, branch,
    base_branch, commit_id, created_at, updated_at, completed_at, clarification_count, hold, artifacts, cost_micros,
    input_tokens, output_tokens, calls, tier, failure, priority, parent, forked_from, forked_at, inherited_micros,
    inherited_calls FROM workflow_runs";

pub(crate) fn row(connection: &Connection, run: &RunId) -> Result<Option<Row>, StoreError> {
    let unreadable = |error: StoreError| StoreError::RunUnreadable { run: run.clone(), reason: error.to_string() };
    let found = collect(connection, &format!("{ROW} WHERE id = ?1"), params![run.as_str()], |row| {
        read_row(row).map_err(unreadable)
    })?;
    Ok(found.into_iter().next())
}

pub(crate) fn rows(connection: &Connection, filter: &RunFilter) -> Result<Vec<Row>, StoreError> {
    let mut sql = format!("{ROW} WHERE true");
    let mut arguments: Vec<Box<dyn ToSql>> = Vec::new();
    if let Some(project) = &filter.project {
        sql.push_str(" AND project_id = ?");
        arguments.push(Box::new(project.clone()));
    }
    if !filter.statuses.is_empty() {
        let marks = vec!["?"; filter.statuses.len()].join(", ");
        sql.push_str(&format!(" AND status IN ({marks})"));
        arguments.extend(filter.statuses.iter().map(|status| Box::new(status.word()) as Box<dyn ToSql>));
    }
    if let Some(playbook) = &filter.playbook {
        sql.push_str(" AND playbook = ?");
        arguments.push(Box::new(playbook.clone()));
    }
    if let Some(text) = &filter.text {
        sql.push_str(" AND instr(lower(original_request), lower(?)) > 0");
        arguments.push(Box::new(text.clone()));
    }
    if let Some(since) = filter.since {
        sql.push_str(" AND created_at >= ?");
        arguments.push(Box::new(millis(since)));
    }
    if let Some(before) = &filter.before {
        sql.push_str(" AND number < (SELECT number FROM workflow_runs WHERE id = ?)");
        arguments.push(Box::new(before.as_str().to_owned()));
    }
    // Rows are never deleted, so their order of entry is the order of their start.
    sql.push_str(" ORDER BY rowid DESC LIMIT ?");
    let limit = if filter.limit == 0 { 100 } else { filter.limit };
    arguments.push(Box::new(int((limit + SLACK) as u64)));
    let read = collect(connection, &sql, rusqlite::params_from_iter(arguments), |row| {
        Ok((get::<String>(row, 0)?, read_row(row)))
    })?;
    Ok(read.into_iter().filter_map(|(id, row)| readable(row, "row of run", id)).take(limit).collect())
}

fn read_row(row: &SqlRow<'_>) -> Result<Row, StoreError> {
    let status: String = get(row, 6)?;
    let hold: Option<String> = get(row, 15)?;
    let completed_at: Option<i64> = get(row, 13)?;
    let (priority, parent): (String, Option<String>) = (get(row, 23)?, get(row, 24)?);
    let (origin, at): (Option<String>, Option<i64>) = (get(row, 25)?, get(row, 26)?);
    let from = |(run, at): (String, i64)| Ok(ForkedFrom { run: parse_run_id(&run)?, at: count(at)? });
    Ok(Row {
        id: run_id(row, 0)?,
        version: count(get(row, 1)?)?,
        project: get(row, 2)?,
        user: get(row, 3)?,
        request: get(row, 4)?,
        playbook: get(row, 5)?,
        status: read_status(&status)?,
        stage: get(row, 7)?,
        branch: get(row, 8)?,
        base: get(row, 9)?,
        commit: get(row, 10)?,
        created_at: timestamp(get(row, 11)?)?,
        updated_at: timestamp(get(row, 12)?)?,
        completed_at: completed_at.map(timestamp).transpose()?,
        clarification_count: get(row, 14)?,
        hold: hold.as_deref().map(from_json).transpose()?,
        artifacts: from_json(&get::<String>(row, 16)?)?,
        cost: Micros(count(get(row, 17)?)?),
        input_tokens: count(get(row, 18)?)?,
        output_tokens: count(get(row, 19)?)?,
        calls: count(get(row, 20)?)?,
        tier: get(row, 21)?,
        failure: get(row, 22)?,
        priority: priority.parse().map_err(|error: domain::ConfigError| StoreError::TooNew(error.to_string()))?,
        parent: parent.map(|parent| parse_run_id(&parent)).transpose()?,
        forked_from: origin.zip(at).map(from).transpose()?,
        inherited: Micros(count(get(row, 27)?)?),
        inherited_calls: count(get(row, 28)?)?,
    })
}

pub(crate) const STATUSES: [Status; 9] = [
    Status::Queued,
    Status::Running,
    Status::AwaitingApproval,
    Status::AwaitingClarification,
    Status::Paused,
    Status::Stuck,
    Status::Completed,
    Status::Failed,
    Status::Cancelled,
];

fn read_status(word: &str) -> Result<Status, StoreError> {
    let unknown = || StoreError::TooNew(format!("the status `{word}` is not known here"));
    STATUSES.into_iter().find(|status| status.word() == word).ok_or_else(unknown)
}

pub(crate) fn ids_with_prefix(connection: &Connection, prefix: &str, limit: usize) -> Result<Vec<RunId>, StoreError> {
    // Ids are lower-case ASCII, so this is the first text after all that begin with the prefix.
    let end = format!("{prefix}\u{7f}");
    let sql = "SELECT id FROM workflow_runs WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3";
    collect(connection, sql, params![prefix, end, int(limit as u64)], |row| run_id(row, 0))
}

pub(crate) fn command(connection: &Connection, key: &CommandKey) -> Result<Option<(RunId, u64)>, StoreError> {
    let sql = "SELECT workflow_run_id, version FROM commands WHERE key = ?1";
    let found = collect(connection, sql, params![key.0], |row| Ok((run_id(row, 0)?, count(get(row, 1)?)?)))?;
    Ok(found.into_iter().next())
}

pub(crate) fn due_timers(connection: &Connection, now: Timestamp, limit: usize) -> Result<Vec<DueTimer>, StoreError> {
    let sql = "SELECT workflow_run_id, timer, due FROM timers WHERE due <= ?1 ORDER BY due, workflow_run_id LIMIT ?2";
    collect(connection, sql, params![millis(now), int(limit as u64)], |row| {
        Ok(DueTimer { run: run_id(row, 0)?, timer: count(get(row, 1)?)?, due: timestamp(get(row, 2)?)? })
    })
}

pub(crate) fn outbox(connection: &Connection, run: Option<&RunId>) -> Result<Vec<OutboxRow>, StoreError> {
    let sql = "SELECT workflow_run_id, number, effect, leased_by, leased_until, epoch, requested_at FROM outbox
        WHERE ?1 IS NULL OR run = (SELECT number FROM workflow_runs WHERE id = ?1) ORDER BY requested_at, id";
    collect(connection, sql, params![run.map(RunId::as_str)], |row| {
        let node: Option<String> = get(row, 3)?;
        let lease = match node {
            None => None,
            Some(node) => {
                Some(Lease { node: NodeId(node), until: timestamp(get(row, 4)?)?, epoch: count(get(row, 5)?)? })
            }
        };
        let requested_at = timestamp(get(row, 6)?)?;
        Ok(OutboxRow { id: effect_id(row, 0)?, effect: effect(row, 2)?, lease, requested_at })
    })
}

/// What SQLite finds wrong with the file, runs whose row and log do not agree, and events that are not as written.
pub(crate) fn check(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut found: Vec<String> = collect(connection, "PRAGMA quick_check", [], |row| get(row, 0))?;
    found.retain(|line| line != "ok");
    if !found.is_empty() {
        return Ok(found);
    }
    let sql = "SELECT id, version, (SELECT count(*) FROM workflow_events WHERE run = number) AS stored,
        (SELECT coalesce(max(sequence), 0) FROM workflow_events WHERE run = number) AS last
        FROM workflow_runs WHERE version <> stored OR version <> last";
    found.extend(collect(connection, sql, [], |row| {
        let (id, version, stored): (String, i64, i64) = (get(row, 0)?, get(row, 1)?, get(row, 2)?);
        Ok(format!("run {id} is at version {version} but has {stored} events"))
    })?);
    found.extend(chain::check(connection)?);
    found.extend(undecodable(connection)?);
    Ok(found)
}

/// Rows and open effects that nothing can be made of; events are looked at with their runs.
fn undecodable(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let rows = collect(connection, ROW, [], |row| Ok((get::<String>(row, 0)?, read_row(row).err())))?;
    let rows = rows.into_iter().filter_map(|(id, error)| Some(format!("run {id}: its row cannot be read: {}", error?)));
    let sql = "SELECT workflow_run_id, number, effect FROM outbox";
    let effects = collect(connection, sql, [], |row| Ok((get::<String>(row, 0)?, effect(row, 2).err())))?;
    let effects = effects
        .into_iter()
        .filter_map(|(id, error)| Some(format!("run {id}: an open effect cannot be read: {}", error?)));
    Ok(rows.chain(effects).collect())
}

pub(crate) fn effect_id(row: &SqlRow<'_>, first: usize) -> Result<EffectId, StoreError> {
    Ok(EffectId { run: run_id(row, first)?, number: get(row, first + 1)? })
}

pub(crate) fn effect(row: &SqlRow<'_>, index: usize) -> Result<Effect, StoreError> {
    from_json(&get::<String>(row, index)?)
}

fn run_id(row: &SqlRow<'_>, index: usize) -> Result<RunId, StoreError> {
    parse_run_id(&get::<String>(row, index)?)
}

fn parse_run_id(text: &str) -> Result<RunId, StoreError> {
    text.parse().map_err(|error: domain::IdError| StoreError::Damaged(error.to_string()))
}

fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Damaged(format!("a stored value does not decode: {error}")))
}

fn get<T: FromSql>(row: &SqlRow<'_>, index: usize) -> Result<T, StoreError> {
    row.get(index).map_err(fault)
}

fn collect<T>(
    connection: &Connection,
    sql: &str,
    arguments: impl rusqlite::Params,
    read: impl Fn(&SqlRow<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    let mut rows = statement.query(arguments).map_err(fault)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(fault)? {
        found.push(read(row)?);
    }
    Ok(found)
}
