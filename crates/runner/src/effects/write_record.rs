//! Commits context, events and memory to the run's branch.

use std::path::Path;

use domain::Outcome;
use engine::{Job, boundary};

use crate::hands::Hands;
use crate::record;
use crate::repos::{Repos, commit_text, from_git, wished_at};
use crate::trouble::Trouble;

pub(crate) const MEMORY: &str = ".autonomous/memory.md";

pub(crate) async fn run(hands: &Hands, job: &Job) -> Result<Outcome, Trouble> {
    let (paths, store, guards, job) = (hands.paths.clone(), hands.store.clone(), hands.guards(), job.clone());
    let id = job.id.run.clone();
    hands
        .blocking(&id, move || {
            let run = &*job.run;
            let repos = Repos::open(&paths, run)?;
            let guard = guards.with_tasks(run)?;
            let at = wished_at(run, &job.id);
            let mut log = store.events(&run.id, 0).map_err(|error| Trouble::of(&error))?;
            // Only what was known when the record was wished for: a repeat must write the same bytes.
            log.retain(|recorded| recorded.at <= at && recorded.sequence <= run.version);
            let anchor = log.last().map(|last| store.run_hash(&run.id, last.sequence)).transpose();
            let anchor = anchor.map_err(|error| Trouble::of(&error))?.flatten();
            let head = Repos::head(run)?;
            let before =
                repos.private.read_file(&head, MEMORY)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            let project = project_name(&run.opened().project);
            let folder = format!(".autonomous/runs/{}", run.id);
            let files = [
                (
                    format!("{folder}/context.json"),
                    guard.redact_json(&record::context(run, &log, anchor.as_deref(), at)),
                ),
                (format!("{folder}/events.jsonl"), guard.redact_json(&record::events(&log))),
                (
                    MEMORY.to_owned(),
                    guard.redact_added(
                        before.as_deref(),
                        &record::memory(before.as_deref(), &project, &guard.redact_run(run), at),
                    ),
                ),
            ];
            let files = files.map(|(path, text)| (path, text.into_bytes()));
            let text = commit_text(&job.id, "record", "Record of the run".to_owned(), at);
            boundary("record.before");
            let commit = repos.private.commit_files(&repos.branch, &head, &files, &text)?;
            boundary("record.after");
            let memory = Some(run.memory_entry().digest());
            Ok(Outcome::RecordWritten { commit: from_git(&commit)?, memory })
        })
        .await
}

pub(crate) fn project_name(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| "project".to_owned(), |name| name.to_string_lossy().into_owned())
}
