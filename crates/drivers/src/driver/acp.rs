//! Any agent that speaks the Agent Client Protocol on its standard streams, version 1. It asks before it acts when its
//! mode says so; which of the offered options is a yes is told by its kind, since their names differ.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::gemini;
use super::{Act, Asked, Brief, Changes, MOST_INPUT, MOST_OUTPUT, Over, Reported, Start, Stdin, Word, head, one_line};
use crate::AgentEvent;

const INITIALIZE: u64 = 1;
const OPEN: u64 = 2;
const PROMPT: u64 = 3;
const SETTLE: u64 = 4;
/// A method of ours that no agent has: by the time it says so, it has said all that it began to say before. The
/// protocol keeps names that begin so for such use.
const SETTLED: &str = "_holdpoint/settled";
/// Agents that tell an earlier session again only after they answered that it is loaded.
const LATE_TELLERS: [&str; 1] = ["gemini-cli"];

pub(super) fn start(command: &str, brief: &Brief) -> Start {
    let (env, files) = super::settings_for(command, brief);
    // Files and terminals stay with the agent: it works in the same sandbox, and some agents fail with ours.
    let capabilities = json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false});
    let info = json!({"name": "holdpoint", "title": "Holdpoint", "version": env!("CARGO_PKG_VERSION")});
    let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": info});
    let before = if brief.resume.is_some() && super::names(command, "gemini") { gemini::KEEP_SESSIONS } else { "" };
    Start {
        // The shell gives way to the program, so that there is one process to speak of.
        argv: vec!["sh".to_owned(), "-c".to_owned(), format!("{before}exec {command}")],
        env,
        files,
        first: vec![call(INITIALIZE, "initialize", &params)],
        stdin: Stdin::Open,
    }
}

fn call(id: u64, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// Where the conversation stands.
#[derive(Debug, PartialEq, Eq)]
enum Stage {
    Greeting,
    /// An earlier session is taken up: what it tells now happened before.
    Loading,
    /// It is taken up, and may still tell what happened before.
    Settling,
    Opening,
    Working,
}

/// When an agent tells again what happened in a session that it takes up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replay {
    /// Before it says that it has it, as the protocol wants it.
    InTime,
    Late,
}

/// A conversation with it.
#[derive(Debug)]
pub struct Acp {
    stage: Stage,
    turn: u32,
    /// Whether the model has spoken since the last tool ended.
    in_turn: bool,
    prompt: String,
    workspace: String,
    tools: Vec<String>,
    resume: Option<String>,
    session: Option<String>,
    replay: Replay,
    /// Calls that have no result yet: tool and when they began.
    open: BTreeMap<String, (String, u64)>,
    reported: Reported,
}

impl Acp {
    pub(super) fn new(brief: &Brief) -> Self {
        Self {
            stage: Stage::Greeting,
            turn: brief.turns,
            in_turn: false,
            prompt: brief.prompt.clone(),
            workspace: brief.workspace.clone(),
            tools: brief.tools.clone(),
            resume: brief.resume.clone(),
            session: None,
            replay: Replay::InTime,
            open: BTreeMap::new(),
            reported: Reported::default(),
        }
    }

    pub(super) fn turns(&self) -> u32 {
        self.turn
    }

    pub(super) fn reported(&self) -> Reported {
        self.reported
    }

    pub(super) fn word(&mut self, asked: &Asked, word: &Word) -> Vec<Act> {
        let id: Value = serde_json::from_str(&asked.id).unwrap_or_default();
        let kinds: &[&str] = match word {
            Word::Allow => &["allow_once", "allow_always"],
            Word::Deny(_) => &["reject_once", "reject_always"],
        };
        let options = asked.action["options"].as_array().into_iter().flatten();
        let options: Vec<&Value> = options.collect();
        let chosen = kinds.iter().find_map(|kind| options.iter().find(|option| option["kind"] == **kind));
        let outcome = match chosen {
            Some(option) => json!({"outcome": "selected", "optionId": option["optionId"]}),
            None => json!({"outcome": "cancelled"}),
        };
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": outcome}});
        vec![Act::Send(answer.to_string())]
    }

    pub(super) fn line(&mut self, line: &str, now: u64) -> Vec<Act> {
        let Ok(value) = serde_json::from_str::<Value>(line) else { return vec![Act::Unknown(line.to_owned())] };
        match (value["method"].as_str(), value.get("id")) {
            (Some("session/request_permission"), Some(id)) => {
                // Some tell of a call first when they ask about it.
                let mut acts = self.called(&value["params"]["toolCall"], now);
                acts.push(ask(id, &value["params"]));
                acts
            }
            (Some(other), Some(id)) => {
                let error = json!({"code": -32601, "message": format!("`{other}` is not offered here")});
                let answer = json!({"jsonrpc": "2.0", "id": id, "error": error});
                vec![Act::Send(answer.to_string()), Act::Unknown(format!("it asked for {other}"))]
            }
            (Some("session/update"), None) => self.update(&value["params"]["update"], now),
            (Some(_), None) => vec![Act::Unknown(line.to_owned())],
            (None, Some(id)) => self.answered(id.as_u64(), &value),
            (None, None) => vec![Act::Unknown(line.to_owned())],
        }
    }

    fn answered(&mut self, id: Option<u64>, value: &Value) -> Vec<Act> {
        if id == Some(SETTLE) {
            return self.prompt();
        }
        if let Some(error) = value.get("error") {
            let words = one_line(&failure(error), MOST_OUTPUT);
            return vec![Act::Over(match id {
                Some(PROMPT) => Over::ModelFailed(words),
                Some(_) | None => Over::Badly(words),
            })];
        }
        let result = &value["result"];
        match id {
            Some(INITIALIZE) => self.open(result),
            Some(OPEN) => {
                let session = self.resume.clone().filter(|_| self.stage == Stage::Loading);
                let session = session.or_else(|| result["sessionId"].as_str().map(str::to_owned));
                let Some(session) = session else {
                    return vec![Act::Over(Over::Badly("it named no session".to_owned()))];
                };
                self.session = Some(session.clone());
                let mut acts = vec![Act::Session(session)];
                if self.stage == Stage::Loading && self.replay == Replay::Late {
                    self.stage = Stage::Settling;
                    acts.push(Act::Send(call(SETTLE, SETTLED, &json!({}))));
                } else {
                    acts.extend(self.prompt());
                }
                acts
            }
            Some(PROMPT) => {
                let mut acts = self.end_turn();
                self.count(&result["usage"]);
                acts.push(Act::Over(over(result["stopReason"].as_str().unwrap_or_default())));
                acts
            }
            Some(_) | None => Vec::new(),
        }
    }

    fn prompt(&mut self) -> Vec<Act> {
        self.stage = Stage::Working;
        let prompt = json!([{"type": "text", "text": self.prompt}]);
        let params = json!({"sessionId": self.session, "prompt": prompt});
        vec![Act::Send(call(PROMPT, "session/prompt", &params))]
    }

    fn open(&mut self, result: &Value) -> Vec<Act> {
        if result["protocolVersion"].as_u64() != Some(1) {
            let words = format!("it speaks version {} of the protocol, not 1", result["protocolVersion"]);
            return vec![Act::Over(Over::Badly(words))];
        }
        if result["agentInfo"]["name"].as_str().is_some_and(|name| LATE_TELLERS.contains(&name)) {
            self.replay = Replay::Late;
        }
        let (program, arguments) = self.tools.split_first().map_or(("", [].as_slice()), |(one, rest)| (one, rest));
        let server = json!({"name": "holdpoint", "command": program, "args": arguments, "env": []});
        let mut params = json!({"cwd": self.workspace, "mcpServers": [server]});
        let can_load = result["agentCapabilities"]["loadSession"] == true;
        let method = match (&self.resume, can_load) {
            (Some(session), true) => {
                params["sessionId"] = json!(session);
                self.stage = Stage::Loading;
                "session/load"
            }
            (Some(_), false) => {
                return vec![Act::Over(Over::Badly("it cannot take up an earlier session".to_owned()))];
            }
            (None, _) => {
                self.stage = Stage::Opening;
                "session/new"
            }
        };
        vec![Act::Send(call(OPEN, method, &params))]
    }

    fn update(&mut self, update: &Value, now: u64) -> Vec<Act> {
        if self.stage != Stage::Working {
            return Vec::new();
        }
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            // Some send a chunk without words, with their count beside it.
            "agent_message_chunk" | "agent_thought_chunk" if update["content"]["text"] == "" => Vec::new(),
            "agent_message_chunk" => {
                let text = update["content"]["text"].as_str().unwrap_or_default().to_owned();
                let mut acts = self.begin();
                acts.push(Act::Say(AgentEvent::MessageDelta { turn: self.turn, text }));
                acts
            }
            "agent_thought_chunk" => {
                let text = update["content"]["text"].as_str().unwrap_or_default().to_owned();
                let mut acts = self.begin();
                acts.push(Act::Say(AgentEvent::ThoughtDelta { turn: self.turn, text }));
                acts
            }
            "tool_call" | "tool_call_update" => self.tool(update, now),
            "usage_update" => {
                self.count(&update["usage"]);
                let cost = update["cost"]["amount"].as_f64().or(update["cost"].as_f64());
                if let Some(cost) = cost.filter(|cost| cost.is_finite() && *cost >= 0.0) {
                    self.reported.micro_usd = format!("{:.0}", cost * 1e6).parse().ok();
                }
                Vec::new()
            }
            "user_message_chunk"
            | "available_commands_update"
            | "current_mode_update"
            | "config_option_update"
            | "session_info_update"
            | "plan" => Vec::new(),
            other => vec![Act::Unknown(format!("session/update {other}"))],
        }
    }

    fn tool(&mut self, update: &Value, now: u64) -> Vec<Act> {
        let Some(call) = update["toolCallId"].as_str().map(str::to_owned) else { return Vec::new() };
        let mut acts = if update["sessionUpdate"] == "tool_call" { self.called(update, now) } else { Vec::new() };
        let ok = match update["status"].as_str() {
            Some("completed") => true,
            Some("failed") => false,
            Some(_) | None => return acts,
        };
        if let Some((tool, begun)) = self.open.remove(&call) {
            let output = head(&output_of(update), MOST_OUTPUT);
            let millis = now.saturating_sub(begun);
            acts.push(Act::Say(AgentEvent::ToolCompleted { turn: self.turn, call, tool, ok, output, millis }));
        }
        if self.open.is_empty() {
            acts.extend(self.end_turn());
        }
        acts
    }

    fn called(&mut self, call: &Value, now: u64) -> Vec<Act> {
        let Some(id) = call["toolCallId"].as_str().filter(|id| !self.open.contains_key(*id)) else { return Vec::new() };
        let mut acts = self.begin();
        let tool = tool_name(call);
        let input = one_line(&input_of(call), MOST_INPUT);
        self.open.insert(id.to_owned(), (tool.clone(), now));
        acts.push(Act::Say(AgentEvent::ToolStarted { turn: self.turn, call: id.to_owned(), tool, input }));
        acts
    }

    /// The protocol does not tell calls of the model apart: what comes after tools have ended is a new turn.
    fn begin(&mut self) -> Vec<Act> {
        if self.in_turn {
            return Vec::new();
        }
        self.in_turn = true;
        self.turn += 1;
        vec![Act::Say(AgentEvent::TurnStarted { turn: self.turn })]
    }

    fn end_turn(&mut self) -> Vec<Act> {
        if !std::mem::take(&mut self.in_turn) {
            return Vec::new();
        }
        // Tokens are counted by the broker; agents tell them in too many ways.
        vec![Act::Say(AgentEvent::TurnCompleted { turn: self.turn, input_tokens: 0, output_tokens: 0 })]
    }

    fn count(&mut self, usage: &Value) {
        let of = |names: [&str; 2]| names.iter().find_map(|name| usage[*name].as_u64());
        if let Some(input) = of(["inputTokens", "input_tokens"]) {
            let read = of(["cachedReadTokens", "cached_read_tokens"]).unwrap_or(0);
            let written = of(["cachedWriteTokens", "cached_write_tokens"]).unwrap_or(0);
            let all = input.saturating_add(read).saturating_add(written);
            self.reported.input_tokens = self.reported.input_tokens.max(all);
        }
        if let Some(output) = of(["outputTokens", "output_tokens"]) {
            self.reported.output_tokens = self.reported.output_tokens.max(output);
        }
    }
}

fn failure(error: &Value) -> String {
    let message = error["message"].as_str().unwrap_or("it failed");
    match &error["data"] {
        Value::Null => message.to_owned(),
        data => format!("{message}: {}", data["details"].as_str().map_or_else(|| data.to_string(), str::to_owned)),
    }
}

fn over(reason: &str) -> Over {
    match reason {
        "end_turn" => Over::Well,
        "max_tokens" | "max_turn_requests" | "refusal" => Over::Badly(format!("it stopped: {reason}")),
        "cancelled" => Over::Badly("it was cancelled".to_owned()),
        other => Over::Badly(format!("it stopped in a way that is not known: {other}")),
    }
}

fn tool_name(call: &Value) -> String {
    let meta = &call["_meta"];
    let named = meta["claudeCode"]["toolName"].as_str().or(meta["toolName"].as_str());
    // A title is the tool where the input is told beside it, and the input where it is not.
    let kind = call["kind"].as_str().filter(|kind| call["rawInput"].is_null() && *kind != "other");
    let title = call["title"].as_str().filter(|title| !title.starts_with('{'));
    let name = named.or(kind).or(title).or(call["kind"].as_str()).unwrap_or("tool");
    one_line(name, 80)
}

fn input_of(call: &Value) -> String {
    match &call["rawInput"] {
        Value::Null => call["title"].as_str().unwrap_or_default().to_owned(),
        input => input.to_string(),
    }
}

fn output_of(update: &Value) -> String {
    let blocks = update["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = blocks.filter_map(|block| block["content"]["text"].as_str()).collect();
    if !texts.is_empty() {
        return texts.join("\n");
    }
    match &update["rawOutput"] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A word as a shell takes it: a command given to a shell in one word stays one.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Something it wants to do. Which tool it is, is told in many ways: a command, a path or a diff is looked for in all.
fn ask(id: &Value, params: &Value) -> Act {
    let call = &params["toolCall"];
    let input = &call["rawInput"];
    let mut action = json!({"options": params["options"]});
    let command = match &input["command"] {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            let words: Vec<String> = words.iter().filter_map(Value::as_str).map(quoted).collect();
            Some(words.join(" ")).filter(|text| !text.is_empty())
        }
        // Some show a command only as the title of what they want to do.
        _other if call["kind"] == "execute" => call["title"].as_str().map(str::to_owned),
        _other => None,
    };
    if let Some(command) = command {
        action["command"] = json!(command);
    }
    let named = ["file_path", "filePath", "path", "filepath"].iter().filter_map(|name| input[*name].as_str());
    let places = call["locations"].as_array().into_iter().flatten().filter_map(|place| place["path"].as_str());
    let diffs = call["content"].as_array().into_iter().flatten().filter_map(|block| block["path"].as_str());
    let files: Vec<Value> = named.chain(places).chain(diffs).map(|path| json!({ "path": path })).collect();
    if let Some(first) = files.first() {
        action["path"] = first["path"].clone();
        action["files"] = Value::Array(files);
    }
    let kind = call["kind"].as_str().unwrap_or_default();
    let changes = if matches!(kind, "read" | "search" | "think" | "fetch") { Changes::No } else { Changes::Yes };
    Act::Ask(Asked { id: id.to_string(), tool: tool_name(call), action, changes })
}
