//! Which program plays a role: our own agent, one of those known by name, or any other by its command. Pure.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ConfigError;

/// The longest command that may be named.
const LONGEST: usize = 1_000;

/// The program that plays a role; written as `own`, `claude`, `acp:COMMAND` and the like.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum AgentProgram {
    /// Our own agent.
    #[default]
    Own,
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
    /// Any program that speaks the Agent Client Protocol on its standard streams.
    Acp(String),
    /// Any program at all: told its task in a file, heard by what it leaves behind.
    Command(String),
    /// Codex that asks nobody: one process for each thing it is told.
    CodexExec,
}

/// A program that is not ours, as it was when an attempt of it began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgramIdentity {
    /// One word, as in [`AgentProgram::word`].
    pub name: String,
    /// Its file, links followed.
    pub path: String,
    /// The version its package names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// SHA-256 of its file.
    pub sha256: String,
    /// Version and digest when it last ran here, if they were others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_from: Option<String>,
}

impl ProgramIdentity {
    /// Version and digest in a few words.
    #[must_use]
    pub fn describe(&self) -> String {
        let digest: String = self.sha256.chars().take(12).collect();
        match &self.version {
            Some(version) => format!("{version} (sha256 {digest})"),
            None => format!("sha256 {digest}"),
        }
    }
}

impl AgentProgram {
    /// Those that need no command.
    pub const NAMED: [Self; 6] = [Self::Own, Self::Claude, Self::Codex, Self::Gemini, Self::Opencode, Self::CodexExec];

    /// Whether it is our own.
    #[must_use]
    pub fn is_own(&self) -> bool {
        *self == Self::Own
    }

    /// One word for it, without the command.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Acp(_) => "acp",
            Self::Command(_) => "command",
            Self::CodexExec => "codex-exec",
        }
    }
}

impl FromStr for AgentProgram {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let refused = || ConfigError::Agent(text.chars().filter(|c| !c.is_control()).take(60).collect());
        if let Some(named) = Self::NAMED.into_iter().find(|named| named.word() == text) {
            return Ok(named);
        }
        let (word, command) = text.split_once(':').ok_or_else(refused)?;
        let command = command.trim();
        let plain = command.chars().all(|c| !c.is_control());
        if command.is_empty() || command.len() > LONGEST || !plain {
            return Err(refused());
        }
        match word {
            "acp" => Ok(Self::Acp(command.to_owned())),
            "command" => Ok(Self::Command(command.to_owned())),
            _other => Err(refused()),
        }
    }
}

impl TryFrom<String> for AgentProgram {
    type Error = ConfigError;
    fn try_from(text: String) -> Result<Self, ConfigError> {
        text.parse()
    }
}

impl From<AgentProgram> for String {
    fn from(program: AgentProgram) -> Self {
        program.to_string()
    }
}

impl fmt::Display for AgentProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Acp(command) | Self::Command(command) => write!(f, "{}:{command}", self.word()),
            Self::Own | Self::Claude | Self::Codex | Self::Gemini | Self::Opencode | Self::CodexExec => {
                f.write_str(self.word())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_read_as_it_is_written() {
        for text in [
            "own",
            "claude",
            "codex",
            "gemini",
            "opencode",
            "codex-exec",
            "acp:gemini --acp",
            "command:./work.sh {file}",
        ] {
            assert_eq!(text.parse::<AgentProgram>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_names_no_program_is_refused() {
        for text in ["", "Claude", "acp", "acp:", "command: ", "shell:x", "acp:a\nb"] {
            assert!(text.parse::<AgentProgram>().is_err(), "{text}");
        }
        assert!(format!("acp:{}", "x".repeat(LONGEST + 1)).parse::<AgentProgram>().is_err());
    }
}
