//! One answer of the script before it takes the shape of a protocol. Its ids follow from run,
//! role, visit and turn, so the same question has the same answer to the last byte.

use serde_json::{Map, Value, json};

use crate::request::Ask;
use crate::usage::Usage;

use super::offered;
use super::script::Turn;

/// Whose conversation it is.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) run: String,
    pub(crate) role: String,
    pub(crate) visit: u32,
}

impl Scene {
    /// A name for this conversation that can stand in an id.
    fn mark(&self) -> String {
        let visit = self.visit.to_string();
        let parts = [self.run.as_str(), self.role.as_str(), visit.as_str()];
        // FNV-1a: the name must be the same in every build, which std's hasher does not promise.
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in parts.join("\0").bytes() {
            hash ^= u64::from(byte);
            hash = hash.wrapping_mul(0x0100_0000_01b3);
        }
        format!("{hash:016x}")
    }

    pub(crate) fn id(&self, prefix: &str, turn: usize) -> String {
        format!("{prefix}_{}{turn:04}", self.mark())
    }

    pub(crate) fn call_id(&self, prefix: &str, turn: usize, call: usize) -> String {
        format!("{}_{call:02}", self.id(prefix, turn))
    }

    /// The turn that call ids of this conversation name, if one of them is ours.
    pub(crate) fn turn_of<'a>(&self, ids: impl Iterator<Item = &'a str>) -> Option<usize> {
        let mark = self.mark();
        ids.filter_map(|id| {
            let (_, rest) = id.split_once('_')?;
            let (turn, _) = rest.strip_prefix(mark.as_str())?.split_once('_')?;
            turn.parse().ok()
        })
        .last()
    }
}

pub(crate) struct Reply {
    pub(crate) scene: Scene,
    pub(crate) turn: usize,
    /// As the agent named it.
    pub(crate) model: String,
    pub(crate) thought: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) usage: Usage,
}

pub(crate) struct ToolCall {
    pub(crate) tool: String,
    pub(crate) input: Value,
    /// The group it is offered in: a namespace of the Responses protocol.
    pub(crate) group: Option<String>,
}

impl Reply {
    pub(crate) fn of(scene: &Scene, ask: &Ask, index: usize, turn: &Turn) -> Self {
        let mut calls: Vec<ToolCall> = Vec::new();
        for call in &turn.calls {
            let (tool, input) = (call.tool.clone(), call.input.clone());
            calls.push(ToolCall { tool, input, group: None });
        }
        if let Some(question) = &turn.question {
            calls.push(ToolCall {
                tool: "ask_questions".into(),
                input: json!({ "questions": [question] }),
                group: None,
            });
        }
        let mut reply = Self::new(scene, ask, index);
        reply.thought = turn.thought.clone();
        reply.text = turn.text.clone();
        reply.calls = offered::fit_all(ask, calls);
        reply.usage = match &turn.usage {
            Some(usage) => Usage {
                input: usage.input,
                output: usage.output,
                cache_read: usage.cache_read,
                cache_write: usage.cache_write,
                reasoning: usage.reasoning,
                cache_write_long: 0,
            },
            None => reply.estimate(ask),
        };
        reply
    }

    /// What the script says when it has no turn left.
    pub(crate) fn over(scene: &Scene, ask: &Ask, index: usize) -> Self {
        let mut reply = Self::new(scene, ask, index);
        reply.text = Some("The script is over: it has no turn left for this conversation.".into());
        reply.usage = reply.estimate(ask);
        reply
    }

    /// What it says when its work was handed in.
    pub(crate) fn closing(scene: &Scene, ask: &Ask, index: usize) -> Self {
        let mut reply = Self::new(scene, ask, index);
        reply.text = Some(offered::CLOSING.to_owned());
        reply.usage = reply.estimate(ask);
        reply
    }

    pub(crate) fn saying(mut self, text: &str) -> Self {
        self.text = Some(text.to_owned());
        self
    }

    pub(crate) fn emptied(&self) -> Self {
        Self {
            scene: self.scene.clone(),
            turn: self.turn,
            model: self.model.clone(),
            thought: None,
            text: None,
            calls: Vec::new(),
            usage: Usage { output: 0, reasoning: 0, ..self.usage },
        }
    }

    fn new(scene: &Scene, ask: &Ask, turn: usize) -> Self {
        Self {
            scene: scene.clone(),
            turn,
            model: ask.model.clone(),
            thought: None,
            text: None,
            calls: Vec::new(),
            usage: Usage::default(),
        }
    }

    fn estimate(&self, ask: &Ask) -> Usage {
        let tokens = |bytes: usize| (bytes as u64).div_ceil(4);
        let thought = self.thought.as_deref().map_or(0, str::len);
        let text = self.text.as_deref().map_or(0, str::len);
        let calls = self.calls.iter();
        let calls: usize = calls.map(|call| call.tool.len() + call.arguments().len()).sum();
        Usage {
            input: ask.input_estimate(),
            output: tokens(thought + text + calls),
            reasoning: tokens(thought),
            ..Usage::default()
        }
    }

    pub(crate) fn id(&self, prefix: &str) -> String {
        self.scene.id(prefix, self.turn)
    }

    pub(crate) fn call_id(&self, prefix: &str, call: usize) -> String {
        self.scene.call_id(prefix, self.turn, call)
    }
}

impl ToolCall {
    /// The input as JSON text; a call without input has an empty object.
    pub(crate) fn arguments(&self) -> String {
        match &self.input {
            Value::Null => Value::Object(Map::new()).to_string(),
            input => input.to_string(),
        }
    }
}

/// Cuts a text into pieces of a few words, as models send it.
pub(crate) fn pieces(text: &str) -> Vec<&str> {
    const LENGTH: usize = 32;
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() > LENGTH {
        let (piece, tail) = rest.split_at(rest.ceil_char_boundary(LENGTH));
        pieces.push(piece);
        rest = tail;
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_up_the_text_again() {
        let text = "Grüße, 世界! ".repeat(20);
        let parts = pieces(&text);
        assert!(parts.len() > 3);
        assert_eq!(parts.concat(), text);
        assert!(pieces("").is_empty());
    }

    #[test]
    fn ids_name_their_turn_and_conversation() {
        let scene = Scene { run: "r".into(), role: "coder".into(), visit: 1 };
        let id = scene.call_id("toolu", 12, 3);
        assert_eq!(scene.turn_of([id.as_str()].into_iter()), Some(12));
        assert!(id.len() <= 40, "OpenAI allows 40 characters: {id}");
        let other = Scene { role: "planner".into(), ..scene };
        assert_eq!(other.turn_of([id.as_str()].into_iter()), None);
    }
}
