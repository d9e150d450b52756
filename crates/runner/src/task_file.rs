//! TASK.md in a run's workspace: written before an agent starts, read after it ended, kept from visit to visit. Holdpoint's
//! own file: it is never committed. What an agent left there is not trusted: links are not followed, sizes are bounded.

use std::io;
use std::path::Path;

use domain::{AgentProgram, AgentTask, ArtifactKind, NoteKind, Run, TaskWord, Verdict, verdict_word};
use drivers::JobKind;
use drivers::task_md::{MAX_TASK_FILE, TASK_FILE, TaskFile, TaskSheet};
use engine::Job;

use crate::brief;
use crate::dir_fd::{Dir, FileError, Kind};
use crate::paths::Paths;
use crate::repos::{Repos, to_git};
use crate::trouble::Trouble;

/// Whether an attempt is given the file: for work and reviews of a task.
pub(crate) fn writes_task_md(run: &Run, kind: JobKind) -> bool {
    let speaks = match kind {
        JobKind::Handoff | JobKind::Lead | JobKind::Code | JobKind::Review => true,
        JobKind::Spec
        | JobKind::Tasks
        | JobKind::Scope
        | JobKind::Research
        | JobKind::Converse
        | JobKind::Answer
        | JobKind::Discuss
        | JobKind::Pursue => false,
    };
    speaks && is_used(run)
}

/// A task has it, and so has a run in which a program works that knows no tools of ours.
fn is_used(run: &Run) -> bool {
    let plain = |program: &AgentProgram| matches!(program, AgentProgram::Command(_));
    run.is_task() || run.opened().config.agents.values().any(plain)
}

/// What of a run's workspace is Holdpoint's: it is as the branch has it, whatever stands there.
pub(crate) fn excluded(run: &Run) -> Vec<String> {
    if is_used(run) { vec![TASK_FILE.to_owned()] } else { Vec::new() }
}

/// Writes the file for an attempt.
pub(crate) fn lay_out(paths: &Paths, repos: &Repos, job: &Job, task: &AgentTask) -> Result<(), Trouble> {
    let (run, kind) = (&*job.run, brief::kind_of(&job.run, task)?);
    if !writes_task_md(run, kind) {
        return Ok(());
    }
    let earlier = read_plain(&paths.run(&run.id))?.map(|bytes| TaskFile::parse(&bytes));
    let refusal = brief::refusal_of(paths, run, task);
    let sheet = TaskSheet { refusal, ..sheet(repos, run, task)? };
    let text = sheet.write(kind, earlier.as_ref()).render();
    let workspace = paths.workspace(&run.id);
    let written = publish(&paths.run(&run.id), &workspace, text.as_bytes());
    written.map_err(|error| Trouble::io("writing", &workspace.join(TASK_FILE), &error))
}

/// What an agent left in the file, which is kept for the next one. `None` when it was not given one; one that it
/// removed says nothing.
pub(crate) fn take(paths: &Paths, run: &Run, kind: JobKind) -> Result<Option<TaskFile>, Trouble> {
    if !writes_task_md(run, kind) {
        return Ok(None);
    }
    keep(paths, run)?;
    let left = read_plain(&paths.workspace(&run.id))?;
    Ok(Some(TaskFile::parse(&left.unwrap_or_default())))
}

/// Keeps what stands in the file, outside of the workspace that is made anew for every attempt.
pub(crate) fn keep(paths: &Paths, run: &Run) -> Result<(), Trouble> {
    let Some(bytes) = read_plain(&paths.workspace(&run.id))?.filter(|_| run.is_task()) else { return Ok(()) };
    let folder = paths.run(&run.id);
    let kept = publish(&folder, &folder, &bytes);
    kept.map_err(|error| Trouble::io("writing", &folder.join(TASK_FILE), &error))
}

/// What a run says about its task.
fn sheet(repos: &Repos, run: &Run, task: &AgentTask) -> Result<TaskSheet, Trouble> {
    let opened = run.opened();
    let index = opened.playbook.index_of(&task.stage);
    let reviews = opened.playbook.stages.iter().zip(&run.stages).find(|(stage, _)| stage.work.on_fail().is_some());
    let said = run.notes.iter().filter(|note| note.stage == task.stage && note.kind != NoteKind::Validation);
    let answers = run.answers.iter().filter(|answer| answer.session.visit > 0);
    let context = opened.config.task.as_ref().and_then(|task| task.context.clone());
    Ok(TaskSheet {
        id: run.id.to_string(),
        summary: run.summary(),
        status: TaskWord::of(run).map(|word| word.word().to_owned()).unwrap_or_default(),
        branch: opened.branch.clone(),
        review_harness: "own".to_owned(),
        review_round: reviews.map_or(0, |(_, state)| state.visits),
        crash_count: index.map_or(0, |index| run.stages[index].crashes),
        pr_url: run.pull_request.clone().unwrap_or_default(),
        created_at: opened.at.to_string(),
        updated_at: run.updated_at.to_string(),
        context: context.unwrap_or_default(),
        answers: answers
            // A secret is for the stage that asked alone.
            .map(|answer| {
                let own = answer.stage == task.stage;
                let said = if own { answer.answer.clone() } else { answer.public() };
                (answer.question.question.clone(), said.map(|words| words.join(", ")))
            })
            .collect(),
        said: said.map(|note| format!("{}: {}", note.by, note.text)).collect(),
        // Known to whoever knows the conversation.
        refusal: None,
        handoff: handoff(repos, run)?,
        review: run.review.as_ref().filter(|review| review.verdict == Verdict::Fail).map(review),
    })
}

fn handoff(repos: &Repos, run: &Run) -> Result<Option<String>, Trouble> {
    let Some(made) = run.latest(ArtifactKind::Handoff) else { return Ok(None) };
    let Some(path) = &made.path else { return Ok(Some(made.title.clone())) };
    let bytes = repos.private.read_file(&to_git(&made.commit)?, path)?;
    let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(text.map(|text| text.strip_prefix("# Handoff").unwrap_or(&text).trim().to_owned()))
}

fn review(review: &domain::Review) -> String {
    let mut text = format!("{}\n\n{}", verdict_word(review.verdict), review.summary.trim());
    for finding in &review.findings {
        let place = finding.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
        text.push_str(&format!("\n- {place}{}", finding.message.trim().replace('\n', "\n  ")));
    }
    text
}

/// The file in a folder, if it is a regular one of a sane size.
pub(crate) fn read_plain(folder: &Path) -> Result<Option<Vec<u8>>, Trouble> {
    let read = || -> Result<Vec<u8>, FileError> { Dir::open(folder)?.read_file(TASK_FILE, MAX_TASK_FILE) };
    match read() {
        Ok(bytes) => Ok(Some(bytes)),
        Err(FileError::Missing | FileError::NotRegular(_) | FileError::TooLarge { .. }) => Ok(None),
        Err(FileError::Io(error)) => Err(Trouble::io("reading", &folder.join(TASK_FILE), &error)),
    }
}

/// Written beside the workspace, where no agent writes, and renamed into `folder`: a rename replaces a link and never
/// follows it, and a crash leaves the old file or the new one.
fn publish(beside: &Path, folder: &Path, bytes: &[u8]) -> io::Result<()> {
    let (beside, folder) = (Dir::open(beside)?, Dir::open(folder)?);
    let (temporary, name) = (format!(".{TASK_FILE}.tmp"), TASK_FILE.as_bytes());
    beside.write_synced(temporary.as_bytes(), bytes, 0o644)?;
    if folder.kind(name)? == Some(Kind::Directory) {
        folder.remove(name)?;
    }
    beside.rename(temporary.as_bytes(), &folder, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_plain_file_of_a_sane_size_is_no_task_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(TASK_FILE);
        assert_eq!(read_plain(folder.path()).unwrap(), None);
        assert_eq!(read_plain(&folder.path().join("missing")).unwrap(), None);
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert_eq!(read_plain(folder.path()).unwrap(), None, "a link is not followed");
        publish(folder.path(), folder.path(), b"mine").unwrap();
        assert_eq!(
            read_plain(folder.path()).unwrap(),
            Some(b"mine".to_vec()),
            "a link is replaced, not written through"
        );
        std::fs::write(&path, vec![b'x'; usize::try_from(MAX_TASK_FILE).unwrap() + 1]).unwrap();
        assert_eq!(read_plain(folder.path()).unwrap(), None);
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert_eq!(read_plain(folder.path()).unwrap(), None);
    }
}
