//! `verify`: the invariant checker over the real log, and over what lies on the disk. Only reads.

use std::collections::BTreeSet;

use domain::{RunId, Status, check_fork, check_log};
use engine::{RunFilter, Store as _, StoreError};
use store::Sqlite;
use wire::ExitCode;

use crate::{failure::Failure, session::Session};

#[derive(Debug, serde::Serialize)]
struct Findings {
    runs: usize,
    events: usize,
    found: Vec<String>,
}

pub(super) fn run(session: &Session) -> Result<ExitCode, Failure> {
    let database = session.home.path().join("holdpoint.db");
    if !database.exists() {
        let message = format!("there is no history in `{}`", session.home.path().display());
        return Err(Failure::failed("no_history", message, "start a run first, or set HOLDPOINT_HOME"));
    }
    let findings = look(session, &database).map_err(|error| unreadable(&error))?;
    if session.report.is_json() {
        session.report.json_line(&findings);
    } else {
        for found in &findings.found {
            session.report.data(found);
        }
        let Findings { runs, events, found } = &findings;
        session.report.data(&format!("{runs} runs, {events} events, {} violations", found.len()));
    }
    Ok(if findings.found.is_empty() { ExitCode::Done } else { ExitCode::Failed })
}

fn look(session: &Session, database: &std::path::Path) -> Result<Findings, StoreError> {
    let store = Sqlite::open(database)?;
    let mut findings = Findings { runs: 0, events: 0, found: store.check()? };
    let mut before: Option<RunId> = None;
    loop {
        let rows = store.rows(&RunFilter { before: before.clone(), limit: 500, ..RunFilter::default() })?;
        let Some(last) = rows.last() else { break };
        before = Some(last.id.clone());
        for row in &rows {
            let log = store.events(&row.id, 0)?;
            findings.runs += 1;
            findings.events += log.len();
            let run = domain::replay(row.id.clone(), log.iter().cloned());
            if engine::Row::of(&run) != *row {
                findings.found.push(format!("{}: its row is not what its events add up to (rule 4)", row.id));
            }
            let mut broken = check_log(&row.id, &log);
            if let Some(from) = &row.forked_from {
                broken.extend(check_fork(&log, &store.events(&from.run, 0)?));
            }
            findings.found.extend(broken.into_iter().map(|violation| {
                format!("{} event {}: {} (rule {})", row.id, violation.sequence, violation.message, violation.rule)
            }));
            let open: BTreeSet<u32> = store.outbox(Some(&row.id))?.iter().map(|row| row.id.number).collect();
            if open != run.open_effects.keys().copied().collect() {
                findings.found.push(format!("{}: the outbox is not what is open (rule 11)", row.id));
            }
            let workspace = session.home.path().join("runs").join(row.id.as_str()).join("workspace");
            if Status::of(&run).is_final() && open.is_empty() && workspace.exists() {
                findings.found.push(format!("{}: its workspace was left behind (rule 12)", row.id));
            }
        }
    }
    Ok(findings)
}

fn unreadable(error: &StoreError) -> Failure {
    let hint = "nothing was changed; keep a copy of the data directory and restore `holdpoint.db` from a backup";
    Failure::failed("history_unreadable", error.to_string(), hint)
}
