//! Any program at all: told its task on its standard input and in files, heard by what it prints and leaves behind.
//!
//! In the command `{file}` stands for the file with the whole task and `{prompt}` for its text. A shell runs it.

use super::{Act, Brief, Start, Stdin};
use crate::AgentEvent;

/// The file with the whole task, in the folder of the conversation.
const FILE: &str = "prompt.md";

pub(super) fn start(command: &str, brief: &Brief) -> Start {
    let file = format!("{}/{FILE}", brief.home);
    let command = command
        .replace("{file}", "\"$HOLDPOINT_PROMPT_FILE\"")
        .replace("{prompt}", r#""$(cat "$HOLDPOINT_PROMPT_FILE")""#);
    let env = [("HOLDPOINT_PROMPT_FILE", file.as_str()), ("HOLDPOINT_WORKSPACE", &brief.workspace)];
    let env = env.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    Start {
        argv: vec!["sh".to_owned(), "-c".to_owned(), command],
        env: env.chain(super::doors(brief)).collect(),
        files: vec![(file, brief.prompt.clone())],
        first: brief.prompt.lines().map(str::to_owned).collect(),
        stdin: Stdin::Closed,
    }
}

/// A program at work.
#[derive(Debug)]
pub struct Command {
    turn: u32,
    begun: bool,
}

impl Command {
    pub(super) fn new(turns: u32) -> Self {
        Self { turn: turns, begun: false }
    }

    pub(super) fn turns(&self) -> u32 {
        self.turn
    }

    /// Everything it prints is something it says.
    pub(super) fn line(&mut self, line: &str) -> Vec<Act> {
        let mut acts = Vec::new();
        if !self.begun {
            self.begun = true;
            self.turn += 1;
            acts.push(Act::Say(AgentEvent::TurnStarted { turn: self.turn }));
        }
        acts.push(Act::Say(AgentEvent::MessageDelta { turn: self.turn, text: format!("{line}\n") }));
        acts
    }
}
