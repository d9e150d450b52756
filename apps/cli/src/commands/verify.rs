//! `verify`: the invariant checker over the real log, and over what lies on the disk. Only reads.

mod landed;

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::{self, Stdio};

use domain::{CommitId, Effect, Event, Recorded, RunId, Status, check_fork, check_log};
use engine::{RunFilter, Store as _, StoreError};
use store::Sqlite;
use wire::ExitCode;

use crate::{failure::Failure, session::Session};

#[derive(Debug, serde::Serialize)]
struct Findings {
    runs: usize,
    events: usize,
    /// Records in git that were compared with the history.
    records: usize,
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
        let Findings { runs, events, found, .. } = &findings;
        session.report.data(&format!("{runs} runs, {events} events, {} violations", found.len()));
    }
    Ok(if findings.found.is_empty() { ExitCode::Done } else { ExitCode::Failed })
}

fn look(session: &Session, database: &std::path::Path) -> Result<Findings, StoreError> {
    let store = Sqlite::open(database)?;
    let mut findings = Findings { runs: 0, events: 0, records: 0, found: store.check()? };
    let mut records: BTreeMap<String, Vec<(RunId, CommitId)>> = BTreeMap::new();
    let mut before: Option<RunId> = None;
    loop {
        let rows = store.rows(&RunFilter { before: before.clone(), limit: 500, ..RunFilter::default() })?;
        let Some(last) = rows.last() else { break };
        before = Some(last.id.clone());
        for row in &rows {
            findings.runs += 1;
            let log = match store.events(&row.id, 0) {
                Err(error @ StoreError::RunUnreadable { .. }) => {
                    findings.found.push(error.to_string());
                    continue;
                }
                log => log?,
            };
            findings.events += log.len();
            let run = domain::replay(row.id.clone(), log.iter().cloned());
            if engine::Row::of(&run) != *row {
                findings.found.push(format!("{}: its row is not what its events add up to (rule 4)", row.id));
            }
            if let Some(commit) = record_of(&log) {
                records.entry(row.project.clone()).or_default().push((row.id.clone(), commit.clone()));
            }
            let unvalidated = landed::unvalidated(Path::new(&row.project), &row.id, &log);
            findings.found.extend(unvalidated.map(|found| format!("{found} (rule 7)")));
            let mut broken = check_log(&row.id, &log);
            if let Some(from) = &row.forked_from {
                broken.extend(check_fork(&log, &store.events(&from.run, 0)?));
            }
            findings.found.extend(broken.into_iter().map(|violation| {
                format!("{} event {}: {} (rule {})", row.id, violation.sequence, violation.message, violation.rule)
            }));
            // One that cannot be read is among the findings of the check already.
            let outbox = match store.outbox(Some(&row.id)) {
                Err(StoreError::Damaged(_)) => Vec::new(),
                outbox => outbox?,
            };
            let open: BTreeMap<u32, &Effect> = outbox.iter().map(|row| (row.id.number, &row.effect)).collect();
            if open != run.open_effects.iter().map(|(number, effect)| (*number, effect)).collect() {
                findings.found.push(format!("{}: the outbox is not what is open (rule 11)", row.id));
            }
            let workspace = session.home.path().join("runs").join(row.id.as_str()).join("workspace");
            if Status::of(&run).is_final() && open.is_empty() && workspace.exists() && !clean_up_failed(&log) {
                findings.found.push(format!("{}: its workspace was left behind (rule 12)", row.id));
            }
        }
    }
    for (project, records) in records {
        compare_records(&store, &project, &records, &mut findings)?;
    }
    Ok(findings)
}

/// Whether the run's clean-up failed; it is done again with the next run or start.
fn clean_up_failed(log: &[Recorded]) -> bool {
    let requested = log.iter().rev().find_map(|recorded| match &recorded.event {
        Event::EffectRequested { number, effect: Effect::CleanUp } => Some(*number),
        _ => None,
    });
    log.iter().any(|recorded| match &recorded.event {
        Event::EffectFinished { number, problem, .. } => Some(*number) == requested && problem.is_some(),
        _ => false,
    })
}

/// The commit with the newest record of a run.
fn record_of(log: &[Recorded]) -> Option<&CommitId> {
    log.iter().rev().find_map(|recorded| match &recorded.event {
        Event::RecordWritten { commit, .. } => Some(commit),
        _ => None,
    })
}

/// What a record in git says of the history it was made of.
#[derive(serde::Deserialize)]
struct Record {
    log: Option<Anchor>,
}

#[derive(serde::Deserialize)]
struct Anchor {
    events: u64,
    sha256: String,
}

/// Compares the history of runs with their records in a repository. A repository or commit that is not there any more says
/// nothing, and neither does a record from before there were anchors.
fn compare_records(
    store: &Sqlite,
    project: &str,
    records: &[(RunId, CommitId)],
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let paths = records.iter().map(|(run, commit)| format!("{commit}:.autonomous/runs/{run}/context.json"));
    let read = read_blobs(Path::new(project), &paths.collect::<Vec<_>>()).unwrap_or_default();
    for ((run, commit), blob) in records.iter().zip(read) {
        let record = blob.and_then(|blob| serde_json::from_slice::<Record>(&blob).ok());
        let Some(Anchor { events, sha256 }) = record.and_then(|record| record.log) else { continue };
        findings.records += 1;
        if store.run_hash(run, events)?.is_none_or(|hash| hash != sha256) {
            let text =
                format!("{run} event {events}: its history is not the one that its record in git is of ({commit})");
            findings.found.push(text);
        }
    }
    Ok(())
}

/// What lies at these places of a repository, in their order; `None` for what is not there.
fn read_blobs(repository: &Path, places: &[String]) -> io::Result<Vec<Option<Vec<u8>>>> {
    let mut git = process::Command::new("git")
        .args(["--no-replace-objects", "-C"])
        .arg(repository)
        .args(["cat-file", "--batch"])
        .env("GIT_NO_LAZY_FETCH", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (mut stdin, stdout) = (git.stdin.take(), git.stdout.take());
    let mut answers = io::BufReader::new(stdout.ok_or_else(|| io::Error::other("git has no output"))?);
    let mut read = Vec::new();
    for place in places {
        if let Some(stdin) = &mut stdin {
            writeln!(stdin, "{place}")?;
        }
        read.push(read_blob(&mut answers)?);
    }
    drop(stdin);
    git.wait()?;
    Ok(read)
}

/// One answer of `git cat-file --batch`: `OID blob SIZE`, the bytes and a line end; or one line that says why not.
fn read_blob(answers: &mut impl io::BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut head = String::new();
    answers.read_line(&mut head)?;
    let mut words = head.split_whitespace().rev();
    let (Some(Ok(size)), Some("blob")) = (words.next().map(str::parse::<u64>), words.next()) else { return Ok(None) };
    let mut blob = Vec::new();
    answers.by_ref().take(size).read_to_end(&mut blob)?;
    answers.read_exact(&mut [0])?;
    Ok(Some(blob))
}

fn unreadable(error: &StoreError) -> Failure {
    let hint = "nothing was changed; keep a copy of the data directory and restore `holdpoint.db` from a backup";
    Failure::failed("history_unreadable", error.to_string(), hint)
}
