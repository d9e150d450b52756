//! Writes appends. All that can be refused is checked before the first write of an append, so that one that does
//! not fit leaves nothing behind and needs no savepoint.

use std::sync::LazyLock;

use domain::{Effect, Event, RunId};
use engine::{Append, Appended, CommandKey, Fence, Row, StoreError, TimerChange, Weight, turn};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Statement, ToSql, params};

use crate::chain::{self, Stored};
use crate::encode::{FORM, int, millis, split};
use crate::fault::fault;
use crate::project::{self, Marks};
use crate::read;

pub(crate) fn appends(connection: &Connection, appends: &[Append]) -> Result<Vec<Appended>, StoreError> {
    appends.iter().map(|append| write(connection, append)).collect()
}

fn write(connection: &Connection, append: &Append) -> Result<Appended, StoreError> {
    check_form(append)?;
    if let Some(key) = &append.key
        && let Some((run, version)) = read::command(connection, key)?
    {
        return Ok(Appended::Repeated(run, version));
    }
    if let Some(fence) = &append.fence
        && !holds(connection, &append.run, fence)?
    {
        return Ok(Appended::Fenced);
    }
    let written = match (&append.row, append.expected) {
        (Some(row), 0) => insert_row(connection, append, row)?,
        (Some(row), _) => update_row(connection, append, row)?,
        (None, _) => update_version(connection, append)?,
    };
    let number = match written {
        Ok(number) => number,
        Err(refused) => return Ok(refused),
    };
    events(connection, append, number)?;
    effects(connection, append, number)?;
    timer(connection, append, number)?;
    if let Some(key) = &append.key {
        remember(connection, key, append)?;
    }
    Ok(Appended::Done)
}

/// A caller's slip must not become a gap in a log.
fn check_form(append: &Append) -> Result<(), StoreError> {
    let run = &append.run;
    let slip = |text: &str| Err(StoreError::Other(format!("run {run} at {}: {text}", append.expected)));
    if append.events.iter().zip(append.expected + 1..).any(|(recorded, sequence)| recorded.sequence != sequence) {
        return slip("the new events do not follow on");
    }
    if append.row.as_ref().is_some_and(|row| row.id != *run || row.version != after(append)) {
        return slip("the row is not the one after the new events");
    }
    if append.expected == 0 && (append.row.is_none() || append.events.is_empty()) {
        return slip("a run begins with an event and a row");
    }
    Ok(())
}

fn after(append: &Append) -> u64 {
    append.expected + append.events.len() as u64
}

/// A lease that was taken back or given on is not held any more.
fn holds(connection: &Connection, run: &RunId, fence: &Fence) -> Result<bool, StoreError> {
    let sql =
        "SELECT 1 FROM outbox WHERE run = (SELECT number FROM workflow_runs WHERE id = ?1) AND number = ?2 AND epoch = ?3
        AND leased_by IS NOT NULL";
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    statement.exists(params![run.as_str(), fence.number, int(fence.epoch)]).map_err(fault)
}

/// The number of the run whose row was written, or why it was not.
type Written = Result<i64, Appended>;

fn insert_row(connection: &Connection, append: &Append, row: &Row) -> Result<Written, StoreError> {
    let sql = "INSERT INTO workflow_runs (id, short_id, version, project_id, user_id, status, current_stage, created_at,
        updated_at, started_at, paused_at, resumed_at, completed_at, clarification_count, playbook, branch, base_branch,
        commit_id, hold, artifacts, cost_micros, input_tokens, output_tokens, calls, tier, failure, config,
        original_request, priority, parent, forked_from, forked_at, inherited_micros, inherited_calls)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23,
        ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34) ON CONFLICT DO NOTHING RETURNING number";
    let marks = Marks::of(append);
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    let columns = params![
        row.id.as_str(),
        row.id.short(),
        int(row.version),
        row.project,
        row.user,
        row.status.word(),
        row.stage,
        millis(row.created_at),
        millis(row.updated_at),
        marks.started,
        marks.paused,
        marks.resumed,
        row.completed_at.map(millis),
        row.clarification_count,
        row.playbook,
        row.branch,
        row.base,
        row.commit,
        json_hold(row)?,
        json_artifacts(row)?,
        int(row.cost.0),
        int(row.input_tokens),
        int(row.output_tokens),
        int(row.calls),
        row.tier,
        row.failure,
        config(append)?,
        row.request,
        row.priority.word(),
        row.parent.as_ref().map(RunId::as_str),
        row.forked_from.as_ref().map(|from| from.run.as_str()),
        row.forked_from.as_ref().map(|from| int(from.at)),
        int(row.inherited.0),
        int(row.inherited_calls),
    ];
    if let Some(number) = number_of(&mut statement, columns)? {
        return Ok(Ok(number));
    }
    let exists = read::exists(connection, &append.run)?;
    Ok(Err(if exists { Appended::Conflict } else { Appended::ShortIdTaken }))
}

/// For a run that is open, and for one that has ended. An ended run stays so, and an open one has no end to write:
/// naming the column would make every step rewrite the run's entry in the index of open runs.
static UPDATES: LazyLock<[String; 2]> = LazyLock::new(|| {
    ["", "completed_at = ?10,"].map(|end| {
        format!(
            "UPDATE workflow_runs SET version = ?3, status = ?4, current_stage = ?5, updated_at = ?6,
        started_at = coalesce(started_at, ?7), paused_at = coalesce(?8, paused_at),
        resumed_at = coalesce(?9, resumed_at), {end} clarification_count = ?11, commit_id = ?12, hold = ?13,
        artifacts = coalesce(?14, artifacts), cost_micros = ?15, input_tokens = ?16, output_tokens = ?17, calls = ?18,
        tier = ?19, failure = ?20 WHERE id = ?1 AND version = ?2 RETURNING number"
        )
    })
});

/// What a run began with is not written again.
fn update_row(connection: &Connection, append: &Append, row: &Row) -> Result<Written, StoreError> {
    let [of_open, of_ended] = &*UPDATES;
    let marks = Marks::of(append);
    let sql = if row.completed_at.is_some() { of_ended } else { of_open };
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    let columns = params![
        append.run.as_str(),
        int(append.expected),
        int(row.version),
        row.status.word(),
        row.stage,
        millis(row.updated_at),
        marks.started,
        marks.paused,
        marks.resumed,
        row.completed_at.map(millis),
        row.clarification_count,
        row.commit,
        json_hold(row)?,
        new_artifacts(append, row)?,
        int(row.cost.0),
        int(row.input_tokens),
        int(row.output_tokens),
        int(row.calls),
        row.tier,
        row.failure,
    ];
    Ok(number_of(&mut statement, columns)?.ok_or(Appended::Conflict))
}

fn update_version(connection: &Connection, append: &Append) -> Result<Written, StoreError> {
    let sql = "UPDATE workflow_runs SET version = ?3 WHERE id = ?1 AND version = ?2 RETURNING number";
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    let versions = params![append.run.as_str(), int(append.expected), int(after(append))];
    Ok(number_of(&mut statement, versions)?.ok_or(Appended::Conflict))
}

/// The number that a statement with `RETURNING number` gives; `None` when it wrote nothing.
fn number_of(statement: &mut Statement<'_>, columns: &[&dyn ToSql]) -> Result<Option<i64>, StoreError> {
    statement.query_row(columns, |row| row.get(0)).optional().map_err(fault)
}

fn events(connection: &Connection, append: &Append, number: i64) -> Result<(), StoreError> {
    if append.events.is_empty() {
        return Ok(());
    }
    let sql = "INSERT INTO workflow_events
        (workflow_run_id, sequence, type, payload, timestamp, form, run, inherited, run_hash, log_hash)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    let (mut of_run, mut of_log) = (chain::of_run(connection, number, append.expected)?, chain::of_log(connection)?);
    for recorded in &append.events {
        let whole = json(&recorded.event)?;
        let (kind, payload) = split(&whole).ok_or_else(|| StoreError::Other(format!("a strange event: {whole}")))?;
        let (run, sequence, timestamp) = (append.run.as_str(), int(recorded.sequence), millis(recorded.at));
        let old = inherited(append, recorded.sequence);
        of_run = of_run.with_event(&Stored { run, sequence, timestamp, form: FORM, kind, payload });
        of_log = of_log.with_link(&of_run);
        let hashes = (of_run.bytes(), of_log.bytes());
        let columns = params![run, sequence, kind, payload, timestamp, FORM, number, old, hashes.0, hashes.1];
        statement.execute(columns).map_err(fault)?;
        project::project(connection, &append.run, number, recorded, old)?;
    }
    Ok(())
}

/// Whether an event is another run's that this one begins with.
pub(crate) fn inherited(append: &Append, sequence: u64) -> bool {
    match append.events.first().map(|recorded| &recorded.event) {
        Some(Event::RunStarted { forked_from: Some(from), .. }) => from.has(sequence),
        Some(_) | None => false,
    }
}

fn effects(connection: &Connection, append: &Append, run: i64) -> Result<(), StoreError> {
    if !append.removed.is_empty() {
        let sql = "DELETE FROM outbox WHERE run = ?1 AND number = ?2";
        let mut statement = connection.prepare_cached(sql).map_err(fault)?;
        for number in &append.removed {
            statement.execute(params![run, number]).map_err(fault)?;
        }
    }
    if append.added.is_empty() {
        return Ok(());
    }
    let requested = append.events.last().map(|recorded| recorded.at);
    let requested = requested.or_else(|| append.row.as_ref().map(|row| row.updated_at)).unwrap_or_default();
    let sql = "INSERT INTO outbox
        (workflow_run_id, number, effect, weight, requested_at, leased_by, leased_until, epoch, run, user_id, turn)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    for (number, effect, lease) in &append.added {
        let node = lease.as_ref().map(|lease| lease.node.0.as_str());
        let until = lease.as_ref().map(|lease| millis(lease.until));
        let epoch = lease.as_ref().map_or(0, |lease| int(lease.epoch));
        let (id, effect_json, asked) = (append.run.as_str(), json(effect)?, millis(requested));
        let (weighs, user, turn) = place(append, effect, requested)?;
        let columns = params![id, number, effect_json, weighs, asked, node, until, epoch, run, user, turn];
        statement.execute(columns).map_err(fault)?;
    }
    Ok(())
}

/// The weight of an effect; for an entry also whose it is, and its turn in that user's queue.
fn place<'a>(
    append: &'a Append,
    effect: &Effect,
    requested: Timestamp,
) -> Result<(i64, Option<&'a str>, Option<i64>), StoreError> {
    let row = append.row.as_ref();
    match (Weight::of(effect, row.and_then(|row| row.parent.as_ref())), row) {
        (Weight::Entry, Some(row)) => {
            Ok((weight(Weight::Entry), Some(&row.user), Some(millis(turn(requested, row.priority)))))
        }
        (Weight::Entry, None) => Err(StoreError::Other(format!("run {} asks to begin without a row", append.run))),
        (other @ (Weight::Light | Weight::Heavy), _) => Ok((weight(other), None, None)),
    }
}

fn timer(connection: &Connection, append: &Append, run: i64) -> Result<(), StoreError> {
    match append.timer {
        TimerChange::Keep => Ok(()),
        TimerChange::Clear => {
            let mut statement = connection.prepare_cached("DELETE FROM timers WHERE run = ?1").map_err(fault)?;
            statement.execute([run]).map(drop).map_err(fault)
        }
        TimerChange::Set(timer) => {
            let sql = "INSERT INTO timers (run, timer, kind, due, workflow_run_id) VALUES (?1, ?2, ?3, ?4, ?5)
                ON CONFLICT DO UPDATE SET timer = excluded.timer, kind = excluded.kind, due = excluded.due";
            let kind = match timer.kind {
                domain::TimerKind::StageTimeout => "stage_timeout",
                domain::TimerKind::HoldDeadline => "hold_deadline",
            };
            let mut statement = connection.prepare_cached(sql).map_err(fault)?;
            statement
                .execute(params![run, int(timer.id), kind, millis(timer.at), append.run.as_str()])
                .map(drop)
                .map_err(fault)
        }
    }
}

fn remember(connection: &Connection, key: &CommandKey, append: &Append) -> Result<(), StoreError> {
    let sql = "INSERT INTO commands (key, workflow_run_id, version) VALUES (?1, ?2, ?3)";
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    statement.execute(params![key.0, append.run.as_str(), int(after(append))]).map(drop).map_err(fault)
}

pub(crate) fn weight(weight: Weight) -> i64 {
    match weight {
        Weight::Light => 0,
        Weight::Heavy => 1,
        Weight::Entry => 2,
    }
}

fn config(append: &Append) -> Result<String, StoreError> {
    match append.events.first().map(|recorded| &recorded.event) {
        Some(Event::RunStarted { config, .. }) => json(config),
        Some(_) | None => Err(StoreError::Other(format!("run {} does not begin with RUN_STARTED", append.run))),
    }
}

fn json_hold(row: &Row) -> Result<Option<String>, StoreError> {
    row.hold.as_ref().map(json).transpose()
}

/// The list of artifacts, when this append adds to it.
fn new_artifacts(append: &Append, row: &Row) -> Result<Option<String>, StoreError> {
    let added = append.events.iter().any(|recorded| matches!(recorded.event, Event::ArtifactCreated { .. }));
    if added { json_artifacts(row).map(Some) } else { Ok(None) }
}

fn json_artifacts(row: &Row) -> Result<String, StoreError> {
    if row.artifacts.is_empty() { Ok("[]".to_owned()) } else { json(&row.artifacts) }
}

pub(crate) fn json<T: serde::Serialize + ?Sized>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Other(error.to_string()))
}
