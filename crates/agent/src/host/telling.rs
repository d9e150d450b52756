//! What a hosted program is told, when, and that it was: a word that it may not have read is told again.

use drivers::AgentEvent;
use drivers::driver::{Act, Talk};

use super::state::{self, State};
use super::tools::{self, Counter};
use super::{Host, words};
use crate::AgentError;
use crate::guidance;
use crate::prompt;
use crate::shorten;

impl Host<'_> {
    /// What a program is told that knows nothing yet: the job, what was done before, and all that people said since.
    pub(super) fn all(&self, counter: &Counter) -> Result<String, AgentError> {
        let opening = prompt::opening(&self.job)?;
        let mut parts = vec![words::opening(&opening, &self.program, &tools::names(&self.job))];
        parts.extend(state::recap(&self.folder.stream()));
        let news = words::news(&self.job, &State::default(), &self.said_after(0, counter)?);
        if !news.is_empty() {
            parts.extend(news);
            parts.push(words::GO_ON.to_owned());
        }
        Ok(parts.join("\n\n"))
    }

    /// What is new since the program was last here.
    pub(super) fn news(&self, state: &State, counter: &Counter) -> Result<String, AgentError> {
        let mut parts = words::news(&self.job, state, &self.said_after(state.guided, counter)?);
        if parts.is_empty() {
            parts.push(words::INTERRUPTED.to_owned());
        }
        parts.push(words::GO_ON.to_owned());
        Ok(parts.join("\n\n"))
    }

    fn said_after(&self, number: u64, counter: &Counter) -> Result<Vec<String>, AgentError> {
        let guidance = guidance::after(&self.folder.guidance(), number)?;
        counter.told(guidance.last().map_or(number, |last| last.number));
        Ok(guidance.iter().map(guidance::words).collect())
    }

    /// The program has read its prompt: what stands in it is not told again.
    pub(super) fn heard(&self, state: &mut State, counter: &Counter) -> Result<(), AgentError> {
        state.answers = self.job.answers.len();
        state.permissions = self.job.permissions.len();
        state.guided = counter.guided();
        Ok(state.write(&self.path)?)
    }

    /// A word of a person reaches a program that listens between two of its turns; another hears it when it hands in.
    pub(super) fn pass_on_guidance(&mut self, talk: &mut Talk, counter: &Counter) -> Result<Vec<Act>, AgentError> {
        let mut acts = Vec::new();
        for word in guidance::after(&self.folder.guidance(), counter.guided())? {
            let Some(told) = talk.tell(&guidance::words(&word)) else { return Ok(acts) };
            acts.extend(told);
            counter.told(word.number);
            let text = format!("{} said: {}", word.by, shorten::one_line(&word.text, 400));
            self.say(AgentEvent::Noted { text })?;
        }
        Ok(acts)
    }
}
