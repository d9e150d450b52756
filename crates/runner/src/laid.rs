//! What lies in a session folder besides job and result: the agent's notes, the diff, the index of the repository.
//! Files there may have been written by an agent: links are not followed, and nothing is trusted or unbounded.

use std::io;
use std::path::Path;

use domain::{AgentTask, RunId, Session};
use drivers::{DIFF_FILE, INDEX_FILE, JobKind, KeptNote, NOTES_FILE};
use engine::Job;

use crate::brief;
use crate::dir_fd::{Dir, FileError, Kind};
use crate::paths::Paths;
use crate::repos::Repos;
use crate::rounds::shorten;
use crate::trouble::Trouble;

const MAX_NOTES: u64 = 256 * 1024;
const MAX_INDEX: u64 = 512 * 1024 * 1024;

/// Writes a file of a session folder, in place of whatever an agent put under that name: a link there would lead the
/// write anywhere.
pub(crate) fn put(session: &Path, name: &str, content: &[u8]) -> Result<(), Trouble> {
    let written = Dir::open(session).and_then(|folder| folder.write(name.as_bytes(), content, 0o600));
    written.map_err(|error| Trouble::io("writing", &session.join(name), &error))
}

/// What the agent of this role noted in its earlier conversations of the run, oldest first.
pub(crate) fn notes_of_earlier(paths: &Paths, run: &RunId, session: &Session) -> Vec<String> {
    let mut notes = Vec::new();
    for visit in 1..session.visit {
        let earlier = Session { visit, ..session.clone() };
        // What an agent made of its notes is its own business; the next one goes without.
        let Ok(folder) = Dir::open(&paths.session(run, &earlier)) else { continue };
        let Ok(bytes) = folder.read_start(NOTES_FILE, MAX_NOTES) else { continue };
        let lines = bytes.split(|byte| *byte == b'\n');
        notes.extend(lines.filter_map(|line| serde_json::from_slice::<KeptNote>(line).ok()).map(|note| note.text));
    }
    shorten(&notes)
}

/// Lays out what the job is too small for.
pub(crate) fn lay_out(paths: &Paths, repos: &Repos, job: &Job, task: &AgentTask) -> Result<(), Trouble> {
    let session = paths.session(&job.id.run, &task.session);
    if let Some(diff) = brief::whole_diff(repos, job, task)? {
        put(&session, DIFF_FILE, diff.as_bytes())?;
    }
    if let Err(error) = seed_index(&project_index(paths, job), &session, job.id.run.as_str()) {
        // Without it the agent makes its own: that costs seconds and nothing else.
        tracing::warn!(run = %job.id.run, %error, "the index of the project could not be handed on");
    }
    Ok(())
}

fn project_index(paths: &Paths, job: &Job) -> std::path::PathBuf {
    paths.project(Path::new(&job.run.opened().project)).join(INDEX_FILE)
}

/// A conversation begins with the project's last index.
pub(crate) fn seed_index(stored: &Path, session: &Path, name: &str) -> io::Result<()> {
    let session = Dir::open(session)?;
    if session.kind(INDEX_FILE.as_bytes())?.is_some() {
        return Ok(());
    }
    match folder_of(stored)?.open_file(INDEX_FILE) {
        Err(FileError::Missing) => Ok(()),
        stored => session.copy_in(&stored?, INDEX_FILE.as_bytes(), &temporary(name)),
    }
}

/// Beside an index; runs keep theirs at the same time, each under a name of its own.
fn temporary(name: &str) -> Vec<u8> {
    format!(".{INDEX_FILE}.{name}.tmp").into_bytes()
}

/// The folder of a project's index, which only Holdpoint writes.
fn folder_of(stored: &Path) -> io::Result<Dir> {
    Dir::create(stored.parent().ok_or(io::ErrorKind::InvalidInput)?)
}

/// Who could write in the session folder of an agent, besides itself and its commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    /// Programs that are not ours: MCP servers.
    Programs,
    Nobody,
}

/// Keeps the index of an attempt for the next ones of the project. Only from agents that cannot run commands: what those
/// leave behind was written by our own code alone.
pub(crate) fn store_index(paths: &Paths, job: &Job, task: &AgentTask, beside: Beside) -> Result<(), Trouble> {
    let writes = match brief::kind_of(&job.run, task)? {
        JobKind::Code | JobKind::Handoff | JobKind::Lead | JobKind::Pursue => true,
        JobKind::Spec
        | JobKind::Tasks
        | JobKind::Scope
        | JobKind::Research
        | JobKind::Review
        | JobKind::Converse
        | JobKind::Answer
        | JobKind::Discuss => false,
    };
    let session = paths.session(&job.id.run, &task.session);
    let kept = if writes || beside == Beside::Programs {
        Ok(())
    } else {
        keep_index(&session, &project_index(paths, job), job.id.run.as_str())
    };
    if let Err(error) = kept {
        tracing::warn!(run = %job.id.run, %error, "the index of the project could not be kept");
    }
    Ok(())
}

/// Puts the index of a session in the place of the project's, whole or not at all.
pub(crate) fn keep_index(session: &Path, stored: &Path, name: &str) -> io::Result<()> {
    let session = Dir::open(session)?;
    let file = match session.open_file(INDEX_FILE) {
        Err(FileError::Missing) => return Ok(()),
        file => file?,
    };
    let project = folder_of(stored)?;
    let metadata = file.metadata()?;
    let same = match project.open_file(INDEX_FILE) {
        Ok(known) => known.metadata()?.modified()? == metadata.modified()?,
        Err(_) => false,
    };
    // A journal that is not empty belongs to a write that was broken off: without it the file is damaged.
    let journal = session.kind(format!("{INDEX_FILE}-journal").as_bytes())?;
    let hot = !matches!(journal, None | Some(Kind::File { size: 0, .. }));
    if same || hot || metadata.len() > MAX_INDEX {
        return Ok(());
    }
    project.copy_in(&file, INDEX_FILE.as_bytes(), &temporary(name))
}

/// A short text that Holdpoint left in a session folder. `None` when it is not there, or is something else by now.
pub(crate) fn text(session: &Path, name: &str) -> Option<String> {
    let bytes = Dir::open(session).ok()?.read_start(name, MAX_NOTES).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_kept_whole_and_only_when_it_changed() {
        let folder = tempfile::tempdir().unwrap();
        let (session, stored) = (folder.path().join("s"), folder.path().join("p").join(INDEX_FILE));
        std::fs::create_dir(&session).unwrap();
        std::fs::create_dir(folder.path().join("p")).unwrap();
        keep_index(&session, &stored, "r1").unwrap();
        assert!(!stored.exists(), "an agent that never searched has none");
        std::fs::write(session.join(INDEX_FILE), "one").unwrap();
        keep_index(&session, &stored, "r1").unwrap();
        assert_eq!(std::fs::read(&stored).unwrap(), b"one");
        let ino = |path: &Path| std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(path).unwrap());
        let before = ino(&stored);
        keep_index(&session, &stored, "r1").unwrap();
        assert_eq!(ino(&stored), before, "the same is not copied again");
        std::fs::write(session.join("index.db-journal"), "hot").unwrap();
        std::fs::write(session.join(INDEX_FILE), "two, half written").unwrap();
        keep_index(&session, &stored, "r1").unwrap();
        assert_eq!(std::fs::read(&stored).unwrap(), b"one");
        std::fs::remove_file(session.join(INDEX_FILE)).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", session.join(INDEX_FILE)).unwrap();
        assert!(keep_index(&session, &stored, "r1").is_err(), "a link is not followed");
        assert_eq!(std::fs::read_dir(folder.path().join("p")).unwrap().count(), 1);
    }

    #[test]
    fn nothing_is_written_through_a_link_that_an_agent_left() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, path) = (folder.path().join("victim"), folder.path().join("job.json"));
        std::fs::write(&victim, "mine").unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        put(folder.path(), "job.json", b"job").unwrap();
        put(folder.path(), "job.json", b"job 2").unwrap();
        let (link, there) = (folder.path().join("link"), text(folder.path(), "job.json"));
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        assert_eq!(
            (text(folder.path(), "link"), there.as_deref()),
            (None, Some("job 2")),
            "nothing is read through one either"
        );
        assert_eq!(
            (std::fs::read(&victim).unwrap(), std::fs::read(&path).unwrap()),
            (b"mine".to_vec(), b"job 2".to_vec())
        );
    }

    #[test]
    fn notes_of_earlier_conversations_come_back_and_nothing_else_does() {
        let folder = tempfile::tempdir().unwrap();
        let paths = Paths::new(folder.path());
        let run: RunId = testkit::samples::run_id(1);
        let session = Session { role: "coder".into(), visit: 3, attempt: 1 };
        let note = |visit: u32, text: &str| {
            let session = paths.session(&run, &Session { visit, ..session.clone() });
            std::fs::create_dir_all(&session).unwrap();
            std::fs::write(session.join(NOTES_FILE), text).unwrap();
        };
        note(1, "{\"text\":\"first\"}\nnonsense\n{\"text\":\"second\"}\n{\"te");
        note(3, "{\"text\":\"its own conversation has it\"}\n");
        assert_eq!(notes_of_earlier(&paths, &run, &session), ["first", "second"]);
        let second = paths.session(&run, &Session { visit: 2, ..session.clone() });
        std::fs::create_dir_all(&second).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", second.join(NOTES_FILE)).unwrap();
        assert_eq!(notes_of_earlier(&paths, &run, &session).len(), 2);
    }
}
