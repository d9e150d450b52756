//! The file of turns: its shape, its checks, and errors that name the line and a way out.
//!
//! ```toml
//! [[conversation]]
//! role = "planner"
//! visit = 1                     # left out: any visit that no other conversation names
//! when = ["Add a search"]       # left out: whatever the first message says; else it must contain each of these
//!
//! [[conversation.turn]]
//! thought = "The app has one route."
//! text = "I read the code first."
//! delay_ms = 300
//! usage = { input = 1200, output = 80 }
//! fault = { kind = "status", status = 529, retry_after = 1, times = 2 }
//! [[conversation.turn.call]]
//! tool = "read_file"
//! input = { path = "server.js" }
//!
//! [[conversation.turn]]         # the same as a call of `ask_questions` with one question
//! question = { question = "Which port?", options = ["3000", "8080"] }
//! ```

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toml::Spanned;

use super::fault::{Fault, FaultKind};

/// A checked script. No conversation is without turns, no turn without anything to say or do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Script {
    name: String,
    conversations: Vec<Conversation>,
    /// Where the model that plays it keeps its own account of the calls.
    #[serde(default)]
    log: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Conversation {
    pub(crate) role: String,
    pub(crate) visit: Option<u32>,
    /// What the first message of the user must contain.
    #[serde(default)]
    pub(crate) when: Vec<String>,
    pub(crate) turns: Vec<Turn>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Turn {
    pub(crate) thought: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) delay_ms: u64,
    pub(crate) usage: Option<TurnUsage>,
    pub(crate) calls: Vec<Call>,
    pub(crate) question: Option<Value>,
    pub(crate) fault: Option<Fault>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TurnUsage {
    pub(crate) input: u64,
    pub(crate) output: u64,
    #[serde(default)]
    pub(crate) cache_read: u64,
    #[serde(default)]
    pub(crate) cache_write: u64,
    #[serde(default)]
    pub(crate) reasoning: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    pub(crate) tool: String,
    #[serde(default)]
    pub(crate) input: Value,
}

/// A script that cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("script `{name}`, line {line}: {message}\nhint: {hint}")]
pub struct ScriptError {
    pub name: String,
    /// From 1.
    pub line: usize,
    pub message: String,
    pub hint: String,
}

impl Script {
    /// Reads and checks a script; `name` is what follows `scripted/` in model names.
    pub fn parse(text: &str, name: &str) -> Result<Self, ScriptError> {
        let error = |span: Option<Range<usize>>, message: &str, hint: &str| ScriptError {
            name: name.to_owned(),
            line: line_of(text, span),
            message: message.trim().to_owned(),
            hint: hint.to_owned(),
        };
        let file: File =
            toml::from_str(text).map_err(|cause| error(cause.span(), cause.message(), hint_for(cause.message())))?;
        if file.conversation.is_empty() {
            return Err(error(None, "there is no conversation", "start with [[conversation]] and a role"));
        }
        let mut seen = HashSet::new();
        let mut conversations = Vec::new();
        for table in file.conversation {
            let span = table.span();
            let conversation = table
                .into_inner()
                .check()
                .map_err(|flaw| error(flaw.span.or(Some(span.clone())), &flaw.message, flaw.hint))?;
            if !seen.insert((conversation.role.clone(), conversation.visit, conversation.when.clone())) {
                let message = format!("role `{}` has this visit twice", conversation.role);
                let hint = "give each conversation of a role its own `visit`, or another `when`";
                return Err(error(Some(span), &message, hint));
            }
            conversations.push(conversation);
        }
        let name = name.to_owned();
        Ok(Self { name, conversations, log: None })
    }

    /// The same, with an account of every call in this file: a JSON line each, of all attempts.
    #[must_use]
    pub fn logging_to(self, file: PathBuf) -> Self {
        Self { log: Some(file), ..self }
    }

    pub(crate) fn log(&self) -> Option<&Path> {
        self.log.as_deref()
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// A role and a visit that a conversation is there for, whatever is said first if there is such a one.
    pub fn a_part(&self) -> (&str, u32) {
        let anyone = self.conversations.iter().find(|conversation| conversation.when.is_empty());
        let part = anyone.or(self.conversations.first());
        part.map_or(("", 1), |conversation| (&conversation.role, conversation.visit.unwrap_or(1)))
    }

    /// The conversation that says most about when it is played: what the first message contains, then the visit. Of
    /// two that say as much, the first.
    pub(crate) fn conversation(&self, role: &str, visit: u32, opening: &str) -> Option<&Conversation> {
        let fits = |conversation: &&Conversation| {
            conversation.role == role
                && conversation.visit.is_none_or(|wanted| wanted == visit)
                && conversation.when.iter().all(|words| opening.contains(words.as_str()))
        };
        let mut best: Option<&Conversation> = None;
        for conversation in self.conversations.iter().filter(fits) {
            let says = |conversation: &Conversation| (conversation.when.len(), conversation.visit.is_some());
            if best.is_none_or(|best| says(conversation) > says(best)) {
                best = Some(conversation);
            }
        }
        best
    }
}

/// The line a byte range starts on, from 1.
pub(crate) fn line_of(text: &str, span: Option<Range<usize>>) -> usize {
    let start = span.map_or(0, |span| span.start.min(text.len()));
    let before = text.as_bytes()[..start].iter();
    before.filter(|byte| **byte == b'\n').count() + 1
}

fn hint_for(message: &str) -> &'static str {
    if message.contains("unknown field") {
        "a conversation has role, visit, when and turn; a turn has thought, text, delay_ms, usage, call, question and fault"
    } else if message.contains("missing field") {
        "a conversation needs `role`, a call needs `tool`, a fault needs `kind`"
    } else if message.contains("unknown variant") {
        "faults are status, cut, stall, malformed and empty"
    } else {
        "a script is TOML: [[conversation]] with [[conversation.turn]] below it"
    }
}

/// What is wrong with a part of the file.
struct Flaw {
    span: Option<Range<usize>>,
    message: String,
    hint: &'static str,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    conversation: Vec<Spanned<ConversationTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConversationTable {
    role: String,
    visit: Option<u32>,
    when: Option<When>,
    #[serde(default)]
    turn: Vec<Spanned<TurnTable>>,
}

/// One text, or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum When {
    One(String),
    All(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnTable {
    thought: Option<String>,
    text: Option<String>,
    #[serde(default)]
    delay_ms: u64,
    usage: Option<TurnUsage>,
    #[serde(default)]
    call: Vec<Call>,
    question: Option<Value>,
    fault: Option<Spanned<FaultTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultTable {
    kind: FaultName,
    status: Option<u16>,
    retry_after: Option<f64>,
    after: Option<usize>,
    ms: Option<u64>,
    #[serde(default = "once")]
    times: u32,
}

fn once() -> u32 {
    1
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum FaultName {
    Status,
    Cut,
    Stall,
    Malformed,
    Empty,
}

impl ConversationTable {
    fn check(self) -> Result<Conversation, Flaw> {
        let flaw = |message: String, hint| Flaw { span: None, message, hint };
        if self.visit == Some(0) {
            let message = format!("role `{}` has visit 0", self.role);
            return Err(flaw(message, "visits count from 1"));
        }
        if self.turn.is_empty() {
            let message = format!("the conversation of role `{}` has no turn", self.role);
            return Err(flaw(message, "add a [[conversation.turn]]"));
        }
        let when = match self.when {
            None => Vec::new(),
            Some(When::One(words)) => vec![words],
            Some(When::All(words)) => words,
        };
        if when.iter().any(|words| words.trim().is_empty()) {
            let message = format!("a conversation of role `{}` has an empty `when`", self.role);
            return Err(flaw(message, "write words of the first message, or leave `when` out"));
        }
        let turns = self.turn.into_iter().map(|table| {
            let span = table.span();
            let at = |flaw: Flaw| Flaw { span: flaw.span.or(Some(span)), ..flaw };
            table.into_inner().check().map_err(at)
        });
        Ok(Conversation { role: self.role, visit: self.visit, when, turns: turns.collect::<Result<_, _>>()? })
    }
}

impl TurnTable {
    fn check(self) -> Result<Turn, Flaw> {
        let says = self.text.is_some() || self.thought.is_some();
        if !says && self.call.is_empty() && self.question.is_none() {
            return Err(Flaw {
                span: None,
                message: "the turn has nothing to say or do".into(),
                hint: "give it a `text`, a `thought`, a `question` or a [[conversation.turn.call]]",
            });
        }
        let fault = self.fault.map(|table| {
            let span = table.span();
            table.into_inner().check(&span)
        });
        Ok(Turn {
            thought: self.thought,
            text: self.text,
            delay_ms: self.delay_ms,
            usage: self.usage,
            calls: self.call,
            question: self.question,
            fault: fault.transpose()?,
        })
    }
}

impl FaultTable {
    fn check(self, span: &Range<usize>) -> Result<Fault, Flaw> {
        let flaw = |message: &str, hint| Flaw { span: Some(span.clone()), message: message.into(), hint };
        if self.retry_after.is_some_and(|wait| !(0.0..=86_400.0).contains(&wait)) {
            return Err(flaw("`retry_after` is out of range", "give seconds, 0 to 86400"));
        }
        let kind = match self.kind {
            FaultName::Status => FaultKind::Status {
                status: self.status.filter(|status| (400..=599).contains(status)).ok_or_else(|| {
                    flaw("a status fault needs a `status` from 400 to 599", "for example status = 529")
                })?,
                retry_after: self.retry_after,
            },
            FaultName::Cut => FaultKind::Cut { after: self.after },
            FaultName::Stall => FaultKind::Stall {
                after: self.after.unwrap_or(0),
                ms: self.ms.ok_or_else(|| flaw("a stall fault needs `ms`", "for example ms = 500"))?,
            },
            FaultName::Malformed => FaultKind::Malformed,
            FaultName::Empty => FaultKind::Empty,
        };
        let times = self.times;
        Ok(Fault { kind, times })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const GOOD: &str = r#"
[[conversation]]
role = "planner"
[[conversation.turn]]
text = "any visit"

[[conversation]]
role = "planner"
visit = 2
[[conversation.turn]]
thought = "hm"
delay_ms = 5
usage = { input = 10, output = 3, cache_read = 2 }
fault = { kind = "status", status = 529, retry_after = 1, times = 2 }
[[conversation.turn.call]]
tool = "write_file"
input = { path = "a.txt", lines = [1, 2], deep = { yes = true } }
[[conversation.turn]]
question = { question = "Which?" }
"#;

    #[test]
    fn a_visit_of_its_own_goes_before_any_visit() {
        let script = Script::parse(GOOD, "demo").unwrap();
        let second = script.conversation("planner", 2, "").unwrap();
        assert_eq!(second.turns.len(), 2);
        assert_eq!(second.turns[0].calls[0].input["deep"], json!({"yes": true}));
        assert_eq!(second.turns[0].fault.as_ref().unwrap().times, 2);
        let other = script.conversation("planner", 3, "").unwrap();
        assert_eq!(other.turns[0].text.as_deref(), Some("any visit"));
        assert!(script.conversation("coder", 1, "").is_none());
    }

    #[test]
    fn conversations_of_one_role_are_told_apart_by_what_they_are_asked() {
        let text = |visit: &str, when: &str, says: &str| {
            format!("[[conversation]]\nrole='a'\n{visit}\n{when}\n[[conversation.turn]]\ntext='{says}'\n")
        };
        let script = [
            text("", "", "any"),
            text("visit=2", "", "second"),
            text("", "when='search'", "search"),
            text("", "when=['search', 'failed']", "search again"),
            text("visit=2", "when='search'", "search, second"),
        ];
        let script = Script::parse(&script.concat(), "demo").unwrap();
        let said = |visit, opening| script.conversation("a", visit, opening).unwrap().turns[0].text.clone().unwrap();
        assert_eq!(said(1, "a list"), "any");
        assert_eq!(said(2, "a list"), "second");
        assert_eq!(said(1, "a search"), "search");
        assert_eq!(said(2, "a search"), "search, second");
        assert_eq!(said(2, "a search; an earlier try failed"), "search again");
        let only = Script::parse(&text("", "when='search'", "x"), "demo").unwrap();
        assert!(only.conversation("a", 1, "a list").is_none());
        check(&text("", "when=' '", "x"), 1, "empty `when`", "leave `when` out");
    }

    #[test]
    fn a_script_survives_the_pipe() {
        let script = Script::parse(GOOD, "demo").unwrap();
        let json = serde_json::to_string(&script).unwrap();
        assert_eq!(serde_json::from_str::<Script>(&json).unwrap(), script);
    }

    #[track_caller]
    fn check(text: &str, line: usize, words: &str, hint: &str) {
        let error = Script::parse(text, "demo").unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.message.contains(words), "{error}");
        assert!(error.hint.contains(hint), "{error}");
    }

    #[test]
    fn errors_name_the_line_and_a_way_out() {
        check("", 1, "no conversation", "[[conversation]]");
        check("[[conversation]]\nrole = \n", 2, "", "TOML");
        check("[[conversation]]\nrole = 'a'\n", 1, "has no turn", "[[conversation.turn]]");
        check(
            "[[conversation]]\nrole='a'\n[[conversation.turn]]\ntext='x'\ntxet='y'\n",
            5,
            "unknown field",
            "thought, text",
        );
        check(
            "[[conversation]]\nrole='a'\n[[conversation.turn]]\ntext='x'\n\n[[conversation.turn]]\ndelay_ms=1\n",
            6,
            "nothing to say",
            "`text`",
        );
        check(
            "[[conversation]]\nrole='a'\n[[conversation.turn]]\ntext='x'\nfault={kind='status'}\n",
            5,
            "needs a `status`",
            "529",
        );
        check(
            "[[conversation]]\nrole='a'\n[[conversation.turn]]\ntext='x'\nfault={kind='fire'}\n",
            5,
            "unknown variant",
            "stall",
        );
    }

    #[test]
    fn the_same_visit_twice_is_refused() {
        let twice = "[[conversation]]\nrole='a'\n[[conversation.turn]]\ntext='x'\n".repeat(2);
        check(&twice, 5, "twice", "own `visit`, or another `when`");
    }
}
