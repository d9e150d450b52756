//! What lies in a session folder besides job and result: the agent's notes, the diff, the index of the repository.
//! Files there may have been written by an agent: links are not followed, and nothing is trusted or unbounded.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use domain::{AgentTask, RunId, Session};
use drivers::{DIFF_FILE, INDEX_FILE, JobKind, KeptNote, NOTES_FILE};
use engine::Job;
use rustix::fs::{Mode, OFlags};

use crate::brief;
use crate::durable;
use crate::paths::Paths;
use crate::repos::Repos;
use crate::rounds::shorten;
use crate::trouble::Trouble;

const MAX_NOTES: u64 = 256 * 1024;
const MAX_INDEX: u64 = 512 * 1024 * 1024;

/// Writes a file of a session folder. What an agent may have put under that name goes first: a link there would lead
/// the write anywhere.
pub(crate) fn put(path: &Path, content: &[u8]) -> Result<(), Trouble> {
    let written = (|| {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        File::create_new(path)?.write_all(content)
    })();
    written.map_err(|error| Trouble::io("writing", path, &error))
}

/// What the agent of this role noted in its earlier conversations of the run, oldest first.
pub(crate) fn notes_of_earlier(paths: &Paths, run: &RunId, session: &Session) -> Vec<String> {
    let mut notes = Vec::new();
    for visit in 1..session.visit {
        let earlier = Session { visit, ..session.clone() };
        let Ok(file) = plain_file(&paths.session(run, &earlier).join(NOTES_FILE)) else { continue };
        let mut bytes = Vec::new();
        if file.take(MAX_NOTES).read_to_end(&mut bytes).is_err() {
            continue;
        }
        let lines = bytes.split(|byte| *byte == b'\n');
        notes.extend(lines.filter_map(|line| serde_json::from_slice::<KeptNote>(line).ok()).map(|note| note.text));
    }
    shorten(&notes)
}

/// Lays out what the job is too small for.
pub(crate) fn lay_out(paths: &Paths, repos: &Repos, job: &Job, task: &AgentTask) -> Result<(), Trouble> {
    let session = paths.session(&job.id.run, &task.session);
    if let Some(diff) = brief::whole_diff(repos, job, task)? {
        let path = session.join(DIFF_FILE);
        put(&path, diff.as_bytes())?;
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
    let own = session.join(INDEX_FILE);
    if own.symlink_metadata().is_ok() {
        return Ok(());
    }
    let stored = match plain_file(stored) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        stored => stored?,
    };
    publish(&stored, &own, name)
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
    let file = match plain_file(&session.join(INDEX_FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    let metadata = file.metadata()?;
    let same = std::fs::metadata(stored).and_then(|known| Ok(known.modified()? == metadata.modified()?));
    // A journal that is not empty belongs to a write that was broken off: without it the file is damaged.
    let journal = session.join(format!("{INDEX_FILE}-journal")).metadata().is_ok_and(|journal| journal.len() > 0);
    if same.unwrap_or(false) || journal || metadata.len() > MAX_INDEX {
        return Ok(());
    }
    publish(&file, stored, name)
}

/// Copies to a temporary name and renames, so that a crash leaves the old one or the new one. Keeps the time, by which
/// an unchanged copy is known. Runs keep at the same time, each under a temporary name of its own.
fn publish(mut from: &File, to: &Path, name: &str) -> io::Result<()> {
    let folder = to.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let temporary = folder.join(format!(".{INDEX_FILE}.{name}.tmp"));
    let copied = (|| {
        let mut file = File::create(&temporary)?;
        io::copy(&mut from, &mut file)?;
        file.set_modified(from.metadata()?.modified()?)?;
        file.flush()?;
        file.sync_data()?;
        durable::rename(&temporary, to)
    })();
    if copied.is_err() {
        // The first error is the one to tell.
        let _ = std::fs::remove_file(&temporary);
    }
    copied
}

/// A short text that Holdpoint left in a session folder. `None` when it is not there, or is something else by now.
pub(crate) fn text(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    plain_file(path).ok()?.take(MAX_NOTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Opens a regular file; a link or a pipe that an agent put there is not one.
pub(crate) fn plain_file(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
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
        put(&path, b"job").unwrap();
        put(&path, b"job 2").unwrap();
        let (link, there) = (folder.path().join("link"), text(&path));
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        assert_eq!((text(&link), there.as_deref()), (None, Some("job 2")), "nothing is read through one either");
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
