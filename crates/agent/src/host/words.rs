//! What a hosted program is told. Pure.

use domain::AgentProgram;
use drivers::{Job, JobKind, Permission};

use super::state::State;
use crate::prompt::{self, Opening};

/// For a program that gave up because its model was away for a moment.
pub(super) const AWAY: &str = "Your model was away for a moment. Go on where you stopped.";

/// Everything, for a conversation that begins.
pub(super) fn opening(opening: &Opening, program: &AgentProgram, tools: &[&str]) -> String {
    let tools = tools.join(", ");
    let how = match program {
        AgentProgram::Command(_) => String::new(),
        AgentProgram::Own
        | AgentProgram::Claude
        | AgentProgram::Codex
        | AgentProgram::Gemini
        | AgentProgram::Opencode
        | AgentProgram::CodexExec
        | AgentProgram::Acp(_) => format!(
            "## Your tools\n\nRead, search, edit and run commands with your own tools: where the text below names \
             read_file, list_directory, glob_search, grep, write_file, edit_file, multi_edit or shell, use yours for \
             the same. These come from the MCP server `holdpoint` and are the only way to hand in, to ask a person and \
             to say that you are done: {tools}. After one of them said that it has what you handed in, end your turn.\n\
             If the repository has an AGENTS.md or CLAUDE.md, read it: it says how things are done there.\n\n"
        ),
    };
    format!("{how}{}\n\n---\n\n{}", opening.system, opening.user)
}

/// The end of whatever is told to a program that has been at work.
pub(super) const GO_ON: &str = "Go on with the work; when it is done, hand in as you were told.";
/// What is told when nothing is new.
pub(super) const INTERRUPTED: &str =
    "You were interrupted. Look at what is in the workspace, and go on where you stopped.";

/// What is new since a state, one part each.
pub(super) fn news(job: &Job, state: &State, said: &[String]) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for answer in job.answers.iter().skip(state.answers) {
        let words = match &answer.answer {
            Some(answer) => answer.join("\n"),
            None => "(the person chose not to answer; decide yourself, and say what you assumed)".to_owned(),
        };
        parts.push(format!("You asked: {}\nThe person answers: {words}", answer.question));
    }
    for word in job.permissions.iter().skip(state.permissions).filter(|word| Permission::is_said_in(word)) {
        parts.push(format!("About what you wanted to do, the person said: {word}"));
    }
    if let Some(refusal) = &job.refusal {
        parts.push(format!("What you handed in was not accepted: {refusal}\nMend it and hand in again."));
    }
    parts.extend(said.iter().cloned());
    parts
}

/// What is said to a program that stopped without handing in.
pub(super) fn nudge(kind: JobKind) -> String {
    format!("{} These tools come from the MCP server `holdpoint`.", prompt::nudge(kind))
}
