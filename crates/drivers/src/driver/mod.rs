//! Drivers of agent programs that are not ours: how each is launched, what is said to it, and what its lines mean.
//!
//! A driver does no I/O and has no clock: lines and times come in, [`Act`]s come out. What it does not understand is
//! kept as [`Act::Unknown`], and what a program says about its own success is never the whole truth: only what was
//! handed in through Holdpoint's tools counts.

mod acp;
mod claude;
mod codex;
mod codex_exec;
mod command;
mod copilot;
mod gemini;
mod gemini_policy;
mod held;
mod line;
mod login;
mod opencode;
mod opencode_permission;
mod qwen;
mod sit;

use std::collections::BTreeMap;

use domain::AgentProgram;
use serde_json::Value;

use crate::{AgentEvent, Way};
pub use held::{Edits, HARMLESS_FILES, SECRET_FILES};
pub use line::{MOST_INPUT, MOST_OUTPUT, head, one_line};
pub use login::{default_hosts, how_to_log_in, login_place, vendor};
pub use sit::{Known, SIZE, Sitting, TERMINAL_SOCKET, TYPED, sit};

/// What a program is told about one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brief {
    /// Everything it is to know, when the conversation begins; what has changed since, when it goes on.
    pub prompt: String,
    /// `provider/model`; empty: the program's own choice, where it has its own login.
    pub model: String,
    /// `http://127.0.0.1:PORT` of the broker, which is also the proxy of a program with its own login.
    pub broker: String,
    /// A folder of its own, kept from one attempt of the conversation to the next.
    pub home: String,
    /// The folder it works in.
    pub workspace: String,
    /// Command of the MCP server that has Holdpoint's tools, on its standard streams.
    pub tools: Vec<String>,
    /// The program's own name of the conversation that goes on.
    pub resume: Option<String>,
    /// Turns there were before this attempt.
    pub turns: u32,
    /// Globs of paths that are not changed without a person's yes.
    pub protected: Vec<String>,
    /// Whether what it changes is kept.
    pub edits: Edits,
    /// How it reaches its model.
    pub way: Way,
}

impl Brief {
    /// The model as the program calls it; `None`: it chooses for itself.
    fn own_model(&self) -> Option<&str> {
        match self.way {
            Way::Broker => Some(&self.model),
            Way::Direct { .. } => {
                let bare = self.model.split_once('/').map_or(self.model.as_str(), |(_, model)| model);
                Some(bare).filter(|model| !model.is_empty())
            }
        }
    }

    fn is_direct(&self) -> bool {
        self.way != Way::Broker
    }
}

/// How a program is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Its command line; the first word is looked up on the PATH.
    pub argv: Vec<String>,
    /// Variables on top of those every agent has.
    pub env: BTreeMap<String, String>,
    /// Files it reads its settings from, with absolute paths; written before it starts.
    pub files: Vec<(String, String)>,
    /// Lines for its standard input, at once.
    pub first: Vec<String>,
    /// Whether its standard input stays open for more.
    pub stdin: Stdin,
}

/// What becomes of a program's standard input after the first lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing more is said.
    Closed,
    /// The conversation goes on there.
    Open,
}

/// Something that follows from a line of a program.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// It is told on.
    Say(AgentEvent),
    /// It goes to the program's standard input, as one line.
    Send(String),
    /// The program's own name of the conversation; it is kept for going on later.
    Session(String),
    /// The program wants to do something and waits for a word.
    Ask(Asked),
    /// The program says that it is done with what it was told, for now.
    Over(Over),
    /// A line that is not understood.
    Unknown(String),
}

/// Something a program wants to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The program's own name of the request.
    pub id: String,
    /// The tool, as the program calls it.
    pub tool: String,
    /// `{"command": …}` for a command, `{"path": …}` (or several of them) for files.
    pub action: Value,
    /// Whether it may change something.
    pub changes: Changes,
}

/// Whether something asked for may change anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changes {
    /// It only looks.
    No,
    /// It may.
    Yes,
}

/// What is said to something asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// Do it.
    Allow,
    /// Do not; the reason is for the model.
    Deny(String),
}

/// How a program ended what it was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Over {
    /// As it should.
    Well,
    /// Its model could not be used, in its own words.
    ModelFailed(String),
    /// Some other way, in its own words.
    Badly(String),
}

/// What an attempt cost by the program's own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reported {
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Millionths of a dollar, where the program knows.
    pub micro_usd: Option<u64>,
}

/// What of the tokens sent went through the prompt cache, by the program's own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cached {
    /// Read from it.
    pub read: u64,
    /// Written to it.
    pub written: u64,
}

/// One conversation with a program, as it goes on.
#[derive(Debug)]
pub enum Talk {
    /// With Claude Code.
    Claude(claude::Claude),
    /// With Codex.
    Codex(codex::Codex),
    /// With an agent that speaks ACP.
    Acp(acp::Acp),
    /// With any other program.
    Command(command::Command),
    /// With Gemini CLI.
    Gemini(gemini::Gemini),
    /// With opencode.
    Opencode(opencode::Opencode),
    /// With Codex that asks nobody.
    CodexExec(codex_exec::CodexExec),
}

/// A program that cannot be driven.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// Our own agent is not driven, it works.
    #[error("our own agent needs no driver")]
    Own,
}

/// How a conversation with a program begins or goes on.
pub fn start(program: &AgentProgram, brief: &Brief) -> Result<(Start, Talk), DriverError> {
    let (mut start, talk) = begin(program, brief)?;
    start.env.extend(login::way_out(brief));
    Ok((start, talk))
}

fn begin(program: &AgentProgram, brief: &Brief) -> Result<(Start, Talk), DriverError> {
    match program {
        AgentProgram::Own => Err(DriverError::Own),
        AgentProgram::Claude => Ok((claude::start(brief), Talk::Claude(claude::Claude::new(brief.turns)))),
        AgentProgram::Codex => Ok((codex::start(brief), Talk::Codex(codex::Codex::new(brief)))),
        AgentProgram::Acp(command) => Ok((acp::start(command, brief), Talk::Acp(acp::Acp::new(brief)))),
        AgentProgram::Command(command) => {
            Ok((command::start(command, brief), Talk::Command(command::Command::new(brief.turns))))
        }
        AgentProgram::Gemini => Ok((gemini::start(brief), Talk::Gemini(gemini::Gemini::new(brief.turns)))),
        AgentProgram::Opencode => Ok((opencode::start(brief), Talk::Opencode(opencode::Opencode::new(brief.turns)))),
        AgentProgram::CodexExec => Ok((codex_exec::start(brief), Talk::CodexExec(codex_exec::CodexExec::new(brief)))),
    }
}

type Settings = (BTreeMap<String, String>, Vec<(String, String)>);

/// Variables and files by which a program that is known only by its command finds the broker.
fn settings_for(command: &str, brief: &Brief) -> Settings {
    let (env, files) = match () {
        () if names(command, "claude") => claude::settings(brief),
        () if names(command, "codex") => codex::settings(brief),
        () if names(command, "copilot") => copilot::settings(brief),
        () if names(command, "gemini") => gemini::placed(brief),
        () if names(command, "opencode") => opencode::settings_that_ask(brief),
        () if names(command, "qwen") => qwen::settings(brief),
        () => (BTreeMap::new(), Vec::new()),
    };
    (doors(brief).chain(env).collect(), files)
}

/// Whether a word of a command is a program whose name begins so.
fn names(command: &str, name: &str) -> bool {
    command.split_whitespace().any(|word| word.rsplit('/').next().unwrap_or(word).starts_with(name))
}

/// Variables that many programs look at to find their models.
fn doors(brief: &Brief) -> impl Iterator<Item = (String, String)> + use<> {
    let model = ("HOLDPOINT_MODEL".to_owned(), brief.model.clone());
    let broker = (!brief.is_direct()).then(|| broker_doors(brief));
    std::iter::once(model).chain(broker.into_iter().flatten())
}

fn broker_doors(brief: &Brief) -> impl Iterator<Item = (String, String)> + use<> {
    let at = |path: &str| format!("{}{path}", brief.broker);
    let key = || "holdpoint".to_owned();
    [
        ("OPENAI_BASE_URL", at("/openai/v1")),
        ("OPENAI_API_KEY", key()),
        ("OPENAI_MODEL", brief.model.clone()),
        ("ANTHROPIC_BASE_URL", at("/anthropic")),
        ("ANTHROPIC_API_KEY", key()),
        ("GOOGLE_GEMINI_BASE_URL", at("/gemini")),
        ("GEMINI_API_KEY", key()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
}

impl Talk {
    /// What a line of standard output means; `now` is in milliseconds since the program started.
    pub fn line(&mut self, line: &str, now: u64) -> Vec<Act> {
        match self {
            Self::Claude(claude) => claude.line(line, now),
            Self::Codex(codex) => codex.line(line, now),
            Self::Acp(acp) => acp.line(line, now),
            Self::Command(command) => command.line(line),
            Self::Gemini(gemini) => gemini.line(line, now),
            Self::Opencode(opencode) => opencode.line(line),
            Self::CodexExec(codex) => codex.line(line, now),
        }
    }

    /// Passes on what was said to something asked for.
    pub fn word(&mut self, asked: &Asked, word: &Word) -> Vec<Act> {
        match self {
            Self::Claude(claude) => claude.word(asked, word),
            Self::Codex(codex) => codex.word(asked, word),
            Self::Acp(acp) => acp.word(asked, word),
            Self::Command(_) => Vec::new(),
            // They never ask.
            Self::Gemini(_) | Self::Opencode(_) | Self::CodexExec(_) => Vec::new(),
        }
    }

    /// Says something more to a program that listens; `None`: it has to be started again for that.
    pub fn tell(&mut self, text: &str) -> Option<Vec<Act>> {
        match self {
            Self::Claude(claude) => Some(claude.tell(text)),
            Self::Gemini(_)
            | Self::Opencode(_)
            | Self::Codex(_)
            | Self::Acp(_)
            | Self::Command(_)
            | Self::CodexExec(_) => None,
        }
    }

    /// What a program leaves unsaid when its output ends: how it went, as far as that is known from its lines.
    pub fn end(&mut self) -> Option<Over> {
        match self {
            Self::Claude(_)
            | Self::Gemini(_)
            | Self::Codex(_)
            | Self::Acp(_)
            | Self::Command(_)
            | Self::CodexExec(_) => None,
            Self::Opencode(opencode) => opencode.end(),
        }
    }

    /// What the program itself says its work has cost so far.
    #[must_use]
    pub fn reported(&self) -> Reported {
        match self {
            Self::Claude(claude) => claude.reported(),
            Self::Codex(codex) => codex.reported(),
            Self::Acp(acp) => acp.reported(),
            Self::Command(_) => Reported::default(),
            Self::Gemini(gemini) => gemini.reported(),
            Self::Opencode(opencode) => opencode.reported(),
            Self::CodexExec(codex) => codex.reported(),
        }
    }

    /// What of that went through the prompt cache, as far as the program says.
    #[must_use]
    pub fn cached(&self) -> Cached {
        match self {
            Self::Claude(claude) => claude.cached(),
            Self::Codex(codex) => codex.cached(),
            Self::Opencode(opencode) => opencode.cached(),
            Self::Acp(_) | Self::Command(_) | Self::Gemini(_) | Self::CodexExec(_) => Cached::default(),
        }
    }

    /// The model it says it uses.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        match self {
            Self::Claude(claude) => claude.model(),
            Self::Codex(codex) => codex.model(),
            Self::Gemini(gemini) => gemini.model(),
            Self::Acp(_) | Self::Command(_) | Self::Opencode(_) | Self::CodexExec(_) => None,
        }
    }

    /// Turns there were, those of earlier attempts included.
    #[must_use]
    pub fn turns(&self) -> u32 {
        match self {
            Self::Claude(claude) => claude.turns(),
            Self::Codex(codex) => codex.turns(),
            Self::Acp(acp) => acp.turns(),
            Self::Command(command) => command.turns(),
            Self::Gemini(gemini) => gemini.turns(),
            Self::Opencode(opencode) => opencode.turns(),
            Self::CodexExec(codex) => codex.turns(),
        }
    }
}
