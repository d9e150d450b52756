//! A person's word to the agent that works on a run: a line in its session folder, which it reads between turns.
//! The agent can write there too, so only a plain file of ours is appended to, and no link is followed.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use domain::{AgentTask, Effect, Run, Status};
use drivers::{GUIDANCE_FILE, Guidance};
use jiff::Timestamp;
use rustix::fs::{FlockOperation, Mode, OFlags};

use crate::hands::Hands;
use crate::trouble::Trouble;

/// Bytes of one word, and of the file they are in.
const LONGEST: usize = 32 * 1024;
const MOST: u64 = 4 * 1024 * 1024;

/// Why a word did not reach an agent.
#[derive(Debug, thiserror::Error)]
pub enum TellError {
    /// No agent works on the run now, or not the one that is meant.
    #[error("{0}")]
    NobodyWorks(String),
    /// The word itself.
    #[error("{0}")]
    Unfit(String),
    /// The disk.
    #[error("{0}")]
    Failed(String),
}

/// How the conversation an agent is in is named to people and programs.
#[must_use]
pub fn session_name(run: &Run) -> Option<String> {
    at_work(run).map(|task| named(run, task))
}

fn named(run: &Run, task: &AgentTask) -> String {
    format!("{}.{}-{}", run.id, task.session.role, task.session.visit)
}

fn at_work(run: &Run) -> Option<&AgentTask> {
    run.open_effects.values().find_map(|effect| if let Effect::RunAgent(task) = effect { Some(task) } else { None })
}

impl Hands {
    /// Gives the agent at work on a run a person's word. `session` must be its conversation, when it is named.
    pub async fn tell(&self, run: &Run, session: Option<&str>, by: &str, text: &str) -> Result<Guidance, TellError> {
        let Some(task) = at_work(run) else {
            let message = format!("no agent works on run {} now: it is {}", run.id, Status::of(run).word());
            return Err(TellError::NobodyWorks(message));
        };
        let open = named(run, task);
        if session.is_some_and(|wanted| wanted != open) {
            let message = format!("the session `{}` is over; now `{open}` works", session.unwrap_or_default());
            return Err(TellError::NobodyWorks(message));
        }
        let text = text.trim();
        if text.is_empty() || text.len() > LONGEST {
            return Err(TellError::Unfit(format!("a message has between 1 and {LONGEST} bytes of text")));
        }
        let path = self.paths.session(&run.id, &task.session).join(GUIDANCE_FILE);
        let (by, text) = (by.to_owned(), text.to_owned());
        let write = move || append(&path, by, text).map_err(|error| Trouble::io("writing", &path, &error));
        let written = tokio::task::spawn_blocking(write).await;
        let written = written.map_err(|join| TellError::Failed(format!("the work ended early: {join}")))?;
        written.map_err(|trouble| TellError::Failed(trouble.to_string()))
    }
}

/// Appends in one write under a lock, so that neither a reader nor another writer sees half a line.
fn append(path: &Path, by: String, text: String) -> io::Result<Guidance> {
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(path, flags, Mode::from_raw_mode(0o600))?);
    let about = file.metadata()?;
    if !about.is_file() || std::os::unix::fs::MetadataExt::nlink(&about) != 1 {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a plain file"));
    }
    if about.len() > MOST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "too much was said to this session"));
    }
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    let mut bytes = Vec::new();
    (&mut file).take(MOST).read_to_end(&mut bytes)?;
    let numbers = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Guidance>(line).ok());
    let number = numbers.map(|said| said.number).max().unwrap_or(0).saturating_add(1);
    let said = Guidance { number, by, text, at: Timestamp::now() };
    let mut line = serde_json::to_vec(&said)?;
    line.push(b'\n');
    if bytes.last().is_some_and(|last| *last != b'\n') {
        line.insert(0, b'\n');
    }
    file.write_all(&line)?;
    file.sync_data()?;
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_numbered_and_a_planted_link_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(GUIDANCE_FILE);
        assert_eq!(append(&path, "ada".into(), "one\nline".into()).unwrap().number, 1);
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"torn").unwrap();
        assert_eq!(append(&path, "bob".into(), "two".into()).unwrap().number, 2);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), lines[1]), (3, "torn"));
        assert!(text.ends_with('\n'));

        let precious = folder.path().join("precious");
        std::fs::write(&precious, "p").unwrap();
        for plant in [std::os::unix::fs::symlink::<&Path, &Path>, std::fs::hard_link] {
            std::fs::remove_file(&path).unwrap();
            plant(&precious, &path).unwrap();
            assert!(append(&path, "ada".into(), "x".into()).is_err());
        }
        assert_eq!(std::fs::read(&precious).unwrap(), b"p");
    }
}
