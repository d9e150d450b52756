//! Passes a person's word on to the agent at work: a line in its session folder, which it reads between two turns.

use std::path::Path;

use domain::{Effect, EffectId, Outcome, Run};
use drivers::{GUIDANCE_FILE, Guidance};
use engine::{Job, boundary};

use crate::dir_fd::{Dir, FileError};
use crate::hands::Hands;
use crate::repos::wished_at;
use crate::trouble::Trouble;

pub(crate) async fn run(hands: &Hands, job: &Job, target: u32, word: Guidance) -> Result<Outcome, Trouble> {
    // An agent that has ended meanwhile needs no word: whoever comes next is told with its job.
    let Some(Effect::RunAgent(task)) = job.run.open_effects.get(&target) else { return Ok(Outcome::Told) };
    let session = hands.paths.session(&job.id.run, &task.session);
    boundary("tell.before");
    hands.blocking(&job.id.run, move || append(&session, &word)).await?;
    boundary("tell.after");
    Ok(Outcome::Told)
}

impl Hands {
    /// Passes on at once what is to be said to the agent at work: effects of a run wait for each other, and it would not
    /// hear it before its end. The effect itself finds it said.
    ///
    /// # Errors
    /// In words for people, when the agent's folder cannot be written.
    pub async fn pass_on(&self, run: &Run) -> Result<(), String> {
        for (number, effect) in &run.open_effects {
            let Effect::TellAgent { target, number: word, by, text } = effect else { continue };
            let Some(Effect::RunAgent(task)) = run.open_effects.get(target) else { continue };
            let session = self.paths.session(&run.id, &task.session);
            let id = EffectId { run: run.id.clone(), number: *number };
            let word = Guidance { number: *word, by: by.clone(), text: text.clone(), at: wished_at(run, &id) };
            let said = self.blocking(&run.id, move || append(&session, &word)).await;
            said.map_err(|trouble| trouble.to_string())?;
        }
        Ok(())
    }
}

/// Bytes of all that people said to one agent.
const MOST_SAID: u64 = 16 * 1024 * 1024;

/// Adds the word unless it stands there already. The folder is the agent's: what is no plain file there, or a huge one,
/// is replaced and never written through.
pub(crate) fn append(session: &Path, word: &Guidance) -> Result<(), Trouble> {
    let write = || -> Result<(), FileError> {
        let folder = Dir::create(session)?;
        let said = match folder.read_file(GUIDANCE_FILE, MOST_SAID) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(FileError::Missing | FileError::NotRegular(_) | FileError::TooLarge { .. }) => None,
            Err(error @ FileError::Io(_)) => return Err(error),
        };
        let line = format!("{}\n", word.line());
        let Some(said) = said else {
            return Ok(folder.write_synced(GUIDANCE_FILE.as_bytes(), line.as_bytes(), 0o600)?);
        };
        if Guidance::read(&said).iter().any(|known| known.number == word.number) {
            return Ok(());
        }
        // A line that a kill cut off is ended, so that it spoils nothing but itself.
        let start = if said.is_empty() || said.ends_with('\n') { "" } else { "\n" };
        match folder.append(GUIDANCE_FILE, format!("{start}{line}").as_bytes()) {
            Err(FileError::Missing | FileError::NotRegular(_)) => {
                Ok(folder.write_synced(GUIDANCE_FILE.as_bytes(), format!("{said}{start}{line}").as_bytes(), 0o600)?)
            }
            appended => appended,
        }
    };
    write().map_err(|error| Trouble::io("writing", &session.join(GUIDANCE_FILE), &error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_said_once_even_when_an_earlier_line_was_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let word = |number, text: &str| Guidance {
            number,
            by: "ada".to_owned(),
            text: text.to_owned(),
            at: jiff::Timestamp::UNIX_EPOCH,
        };
        std::fs::write(folder.path().join(GUIDANCE_FILE), "{\"number\": 3, \"by\"").unwrap();
        for word in [word(4, "use\ntabs"), word(9, "no"), word(4, "use\ntabs")] {
            append(folder.path(), &word).unwrap();
        }
        let said = std::fs::read_to_string(folder.path().join(GUIDANCE_FILE)).unwrap();
        assert_eq!(Guidance::read(&said), [word(4, "use\ntabs"), word(9, "no")]);
    }

    #[test]
    fn a_message_is_not_written_through_a_link_that_the_agent_planted() {
        let folder = tempfile::tempdir().unwrap();
        let (session, victim) = (folder.path().join("session"), folder.path().join(".profile"));
        std::fs::create_dir(&session).unwrap();
        std::fs::write(&victim, "mine\n").unwrap();
        std::os::unix::fs::symlink(&victim, session.join(GUIDANCE_FILE)).unwrap();
        let word = |number| Guidance {
            number,
            by: "ada".to_owned(),
            text: "$(touch /tmp/owned)".to_owned(),
            at: jiff::Timestamp::UNIX_EPOCH,
        };
        append(&session, &word(4)).unwrap();
        append(&session, &word(5)).unwrap();
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "mine\n");
        let said = std::fs::read_to_string(session.join(GUIDANCE_FILE)).unwrap();
        assert_eq!(Guidance::read(&said), [word(4), word(5)], "and it is said all the same");
    }
}
