//! What a host knows from one attempt to the next: a file in the session folder.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use drivers::AgentEvent;
use serde::{Deserialize, Serialize};

use crate::shorten;

const FILE: &str = "host.json";
/// Events at the end of a conversation that are told to a program that no longer knows it.
const MOST_TOLD: usize = 60;
const LONGEST: usize = 300;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct State {
    /// The program's own name of the conversation.
    pub(super) session: Option<String>,
    /// Turns so far.
    pub(super) turns: u32,
    /// Answers it was told.
    pub(super) answers: usize,
    /// Words about permissions it was told.
    pub(super) permissions: usize,
    /// The last word of a person it was told.
    pub(super) guided: u64,
    /// What was done with a person's yes for one call.
    pub(super) used: Vec<String>,
}

impl State {
    /// A file that cannot be read is none: then the conversation begins anew.
    pub(super) fn read(session: &Path) -> Self {
        let bytes = std::fs::read(session.join(FILE)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// After a crash there is the old one or the new one.
    pub(super) fn write(&self, session: &Path) -> io::Result<()> {
        let temporary = session.join(format!("{FILE}.tmp"));
        let mut file = File::create(&temporary)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()?;
        std::fs::rename(&temporary, session.join(FILE))?;
        File::open(session)?.sync_all()
    }
}

#[derive(Deserialize)]
struct Kept {
    said: AgentEvent,
}

/// What happened in a conversation, from the events that were kept: the last entries, and how many are left out.
pub(super) fn recap_lines(stream: &Path) -> Vec<String> {
    let text = std::fs::read(stream).unwrap_or_default();
    let kept = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Kept>(line).ok());
    let mut told: Vec<String> = kept.filter_map(|kept| told(&kept.said)).collect();
    let skipped = told.len().saturating_sub(MOST_TOLD);
    told.drain(..skipped);
    if skipped > 0 {
        told.insert(0, format!("({skipped} earlier entries are left out)"));
    }
    told
}

/// What was done before, for a program that does not know it.
pub(super) fn recap(stream: &Path) -> Option<String> {
    let told = recap_lines(stream);
    if told.is_empty() {
        return None;
    }
    Some(format!(
        "This work was begun before, and its conversation is gone. What is in the workspace is what was done. What \
         happened in it, oldest first:\n\n{}\n\nLook at the workspace, then go on from there.",
        told.join("\n")
    ))
}

fn told(event: &AgentEvent) -> Option<String> {
    match event {
        AgentEvent::MessageDelta { text, .. } => Some(format!("- said: {}", shorten::one_line(text, LONGEST))),
        AgentEvent::ToolStarted { tool, input, .. } => {
            Some(format!("- called {tool}: {}", shorten::one_line(input, LONGEST)))
        }
        AgentEvent::ToolCompleted { tool, ok: false, output, .. } => {
            Some(format!("- {tool} failed: {}", shorten::one_line(output, LONGEST)))
        }
        AgentEvent::Noted { text } => Some(format!("- {}", shorten::one_line(text, LONGEST))),
        AgentEvent::SessionStarted { .. }
        | AgentEvent::TurnStarted { .. }
        | AgentEvent::ThoughtDelta { .. }
        | AgentEvent::ToolCompleted { .. }
        | AgentEvent::TurnCompleted { .. }
        | AgentEvent::Pursued { .. }
        | AgentEvent::Trouble { .. }
        | AgentEvent::Ended { .. } => None,
    }
}
