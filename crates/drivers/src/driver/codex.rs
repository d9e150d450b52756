//! Codex: `codex app-server`, JSON-RPC lines both ways. It asks before it runs a command that it does not know as
//! harmless; its own sandbox is left off, because it works inside ours.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    Act, Asked, Brief, Cached, Changes, MOST_INPUT, MOST_OUTPUT, Over, Reported, Start, Stdin, Word, head, one_line,
};
use crate::AgentEvent;

const INITIALIZE: u64 = 1;
const OPEN: u64 = 2;
const TURN: u64 = 3;

pub(super) fn start(brief: &Brief) -> Start {
    let (env, files) = settings(brief);
    let info = json!({"name": "holdpoint", "title": "Holdpoint", "version": env!("CARGO_PKG_VERSION")});
    Start {
        argv: ["codex", "app-server"].map(str::to_owned).to_vec(),
        env,
        files,
        first: vec![call(INITIALIZE, "initialize", &json!({ "clientInfo": info }))],
        stdin: Stdin::Open,
    }
}

/// Variables and files by which Codex finds the broker and Holdpoint's tools.
pub(super) fn settings(brief: &Brief) -> (BTreeMap<String, String>, Vec<(String, String)>) {
    let home = format!("{}/codex", brief.home);
    let env = [("CODEX_HOME", home.as_str()), ("RUST_LOG", "error")];
    let key = (!brief.is_direct()).then_some(("HOLDPOINT_KEY", "holdpoint"));
    let env = env.into_iter().chain(key).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    (env, vec![(format!("{home}/config.toml"), config(brief))])
}

/// Of its own it asks again only a few times: the broker does so already.
fn config(brief: &Brief) -> String {
    // JSON strings and lists are TOML strings and lists.
    let text = |text: &str| Value::from(text).to_string();
    let tools = brief.tools.split_first().map_or_else(String::new, |(program, arguments)| {
        let (program, arguments) = (text(program), json!(arguments));
        format!("[mcp_servers.holdpoint]\ncommand = {program}\nargs = {arguments}\ntool_timeout_sec = 600\n")
    });
    let model = brief.own_model().map(|model| format!("model = {}\n", text(model))).unwrap_or_default();
    let broker = text(&format!("{}/openai/v1", brief.broker));
    let (provider, providers) = match brief.is_direct() {
        true => ("", String::new()),
        false => (
            "model_provider = \"holdpoint\"\n",
            format!(
                "[model_providers.holdpoint]\nname = \"Holdpoint\"\nbase_url = {broker}\nenv_key = \"HOLDPOINT_KEY\"\n\
                 wire_api = \"responses\"\nrequest_max_retries = 1\nstream_max_retries = 3\n"
            ),
        ),
    };
    format!(
        "{model}{provider}check_for_update_on_startup = false\n\
         sandbox_mode = \"danger-full-access\"\n\
         [analytics]\nenabled = false\n\
         {providers}\
         {tools}\
         [projects.{workspace}]\ntrust_level = \"untrusted\"\n",
        workspace = text(&brief.workspace),
    )
}

fn call(id: u64, method: &str, params: &Value) -> String {
    json!({"id": id, "method": method, "params": params}).to_string()
}

/// A conversation with it.
#[derive(Debug)]
pub struct Codex {
    turn: u32,
    in_turn: bool,
    /// Whether it works on what it was told; what it counts before that was used earlier.
    working: bool,
    prompt: String,
    workspace: String,
    /// What it is asked for; `None`: what it chooses for itself.
    asked: Option<String>,
    direct: bool,
    /// What it says it uses.
    model: Option<String>,
    resume: Option<String>,
    thread: Option<String>,
    /// Calls that have no result yet: when they began.
    open: BTreeMap<String, u64>,
    /// Files of changes that were begun, by the change.
    files: BTreeMap<String, Vec<String>>,
    /// What the whole thread had used when this attempt began, as far as it said.
    before: Option<(u64, u64)>,
    reported: Reported,
    /// Tokens of the whole thread that came from the cache when this attempt began, and now.
    cached: (u64, u64),
}

impl Codex {
    pub(super) fn new(brief: &Brief) -> Self {
        Self {
            turn: brief.turns,
            in_turn: false,
            working: false,
            prompt: brief.prompt.clone(),
            workspace: brief.workspace.clone(),
            asked: brief.own_model().map(str::to_owned),
            direct: brief.is_direct(),
            model: None,
            resume: brief.resume.clone(),
            thread: None,
            open: BTreeMap::new(),
            files: BTreeMap::new(),
            before: None,
            reported: Reported::default(),
            cached: (0, 0),
        }
    }

    pub(super) fn turns(&self) -> u32 {
        self.turn
    }

    pub(super) fn reported(&self) -> Reported {
        self.reported
    }

    pub(super) fn cached(&self) -> Cached {
        Cached { read: self.cached.1.saturating_sub(self.cached.0), written: 0 }
    }

    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    pub(super) fn word(&mut self, asked: &Asked, word: &Word) -> Vec<Act> {
        let id: Value = serde_json::from_str(&asked.id).unwrap_or_default();
        let decision = match word {
            Word::Allow => "accept",
            Word::Deny(_) => "decline",
        };
        let mut acts = vec![Act::Send(json!({"id": id, "result": {"decision": decision}}).to_string())];
        // A no has no room for its reason; it is told as a word of its own.
        if let (Word::Deny(reason), Some(steer)) = (word, asked.action["turn"].as_str()) {
            acts.extend(self.steer(steer, reason));
        }
        acts
    }

    fn steer(&self, turn: &str, text: &str) -> Option<Act> {
        let input = json!([{"type": "text", "text": text}]);
        let params = json!({"threadId": self.thread.as_ref()?, "expectedTurnId": turn, "input": input});
        Some(Act::Send(call(TURN + 1, "turn/steer", &params)))
    }

    pub(super) fn line(&mut self, line: &str, now: u64) -> Vec<Act> {
        let Ok(value) = serde_json::from_str::<Value>(line) else { return vec![Act::Unknown(line.to_owned())] };
        let known = match (value["method"].as_str(), value.get("id")) {
            (Some(method), Some(id)) => Some(self.asked(method, id, &value["params"])),
            (Some(method), None) => self.told(method, &value["params"], now),
            (None, Some(id)) => Some(self.answered(id, &value)),
            (None, None) => None,
        };
        known.unwrap_or_else(|| vec![Act::Unknown(line.to_owned())])
    }

    /// An answer to what we asked.
    fn answered(&mut self, id: &Value, value: &Value) -> Vec<Act> {
        if let Some(error) = value.get("error") {
            let words = one_line(error["message"].as_str().unwrap_or("it refused"), MOST_OUTPUT);
            return match id.as_u64() {
                Some(INITIALIZE | OPEN | TURN) => vec![Act::Over(Over::Badly(words))],
                Some(_) | None => vec![Act::Say(AgentEvent::Trouble { message: words })],
            };
        }
        match id.as_u64() {
            Some(INITIALIZE) => {
                let mut params = json!({
                    "cwd": self.workspace, "model": self.asked, "modelProvider": "holdpoint",
                    "approvalPolicy": "untrusted", "sandbox": "danger-full-access",
                });
                if self.direct {
                    // Its own settings say which, and a model that is not named is its own choice.
                    params["modelProvider"] = Value::Null;
                }
                let method = match &self.resume {
                    Some(thread) => {
                        params["threadId"] = json!(thread);
                        "thread/resume"
                    }
                    None => "thread/start",
                };
                vec![Act::Send(json!({"method": "initialized"}).to_string()), Act::Send(call(OPEN, method, &params))]
            }
            Some(OPEN) => {
                let Some(thread) = value["result"]["thread"]["id"].as_str() else {
                    return vec![Act::Over(Over::Badly("it named no thread".to_owned()))];
                };
                self.thread = Some(thread.to_owned());
                self.model = value["result"]["model"].as_str().map(str::to_owned);
                let input = json!([{"type": "text", "text": self.prompt}]);
                let params = json!({"threadId": thread, "input": input});
                vec![Act::Session(thread.to_owned()), Act::Send(call(TURN, "turn/start", &params))]
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// Something it wants to do. Whatever it is, it gets an answer, because it waits for one.
    fn asked(&mut self, method: &str, id: &Value, params: &Value) -> Vec<Act> {
        let turn = params["turnId"].as_str().unwrap_or_default();
        let asked = |tool: &str, action: Value| {
            vec![Act::Ask(Asked { id: id.to_string(), tool: tool.to_owned(), action, changes: Changes::Yes })]
        };
        match method {
            "item/commandExecution/requestApproval" => {
                asked("shell", json!({"command": params["command"].as_str().unwrap_or_default(), "turn": turn}))
            }
            "item/fileChange/requestApproval" => {
                let files = params["itemId"].as_str().and_then(|item| self.files.get(item));
                let files: Vec<Value> = files.into_iter().flatten().map(|path| json!({ "path": path })).collect();
                let path = files.first().map(|file| file["path"].clone()).unwrap_or_default();
                asked("apply_patch", json!({"path": path, "files": files, "turn": turn}))
            }
            // Our own tools are wanted; others are not configured.
            "mcpServer/elicitation/request" => {
                vec![Act::Send(json!({"id": id, "result": {"action": "accept", "content": {}}}).to_string())]
            }
            other => {
                let message = "nobody can answer this here; ask with the tool ask_questions of the server `holdpoint`";
                let answer = json!({"id": id, "error": {"code": -32601, "message": message}});
                vec![Act::Send(answer.to_string()), Act::Unknown(format!("it asked for {other}"))]
            }
        }
    }

    /// Something that happened.
    fn told(&mut self, method: &str, params: &Value, now: u64) -> Option<Vec<Act>> {
        let acts = match method {
            "item/started" => self.begun(&params["item"], now),
            "item/completed" => self.completed(&params["item"], now),
            "item/agentMessage/delta" => {
                let text = params["delta"].as_str()?.to_owned();
                let mut acts = self.begin();
                acts.push(Act::Say(AgentEvent::MessageDelta { turn: self.turn, text }));
                acts
            }
            "item/reasoning/textDelta" | "item/reasoning/summaryTextDelta" => {
                let text = params["delta"].as_str()?.to_owned();
                let mut acts = self.begin();
                acts.push(Act::Say(AgentEvent::ThoughtDelta { turn: self.turn, text }));
                acts
            }
            "thread/tokenUsage/updated" => self.used(&params["tokenUsage"]),
            "error" => {
                let words = one_line(params["error"]["message"].as_str().unwrap_or("it failed"), MOST_OUTPUT);
                vec![Act::Say(AgentEvent::Trouble { message: words })]
            }
            "turn/started" => {
                self.working = true;
                Vec::new()
            }
            "turn/completed" => vec![Act::Over(over(&params["turn"]))],
            "warning" | "configWarning" | "deprecationNotice" | "guardianWarning" => {
                let words = params["message"].as_str().or(params["summary"].as_str()).unwrap_or(method);
                vec![Act::Say(AgentEvent::Noted { text: one_line(words, MOST_INPUT) })]
            }
            // What is shown to a person at its own screen.
            "thread/started"
            | "thread/status/changed"
            | "turn/diff/updated"
            | "turn/plan/updated"
            | "item/commandExecution/outputDelta"
            | "item/fileChange/outputDelta"
            | "item/fileChange/patchUpdated"
            | "item/reasoning/summaryPartAdded"
            | "serverRequest/resolved"
            | "mcpServer/startupStatus/updated"
            | "account/rateLimits/updated"
            | "account/updated"
            | "remoteControl/status/changed"
            | "skills/changed"
            | "thread/settings/updated"
            | "item/mcpToolCall/progress"
            | "thread/name/updated"
            | "thread/goal/cleared"
            | "app/list/updated" => Vec::new(),
            _other => return None,
        };
        Some(acts)
    }

    /// The first thing after the last count of tokens begins a turn of the model.
    fn begin(&mut self) -> Vec<Act> {
        if self.in_turn {
            return Vec::new();
        }
        self.in_turn = true;
        self.turn += 1;
        vec![Act::Say(AgentEvent::TurnStarted { turn: self.turn })]
    }

    fn begun(&mut self, item: &Value, now: u64) -> Vec<Act> {
        let Some((id, tool, input)) = tool_of(item) else { return Vec::new() };
        if tool == "apply_patch" {
            self.files.insert(id.to_owned(), paths_of(item).map(str::to_owned).collect());
        }
        let mut acts = self.begin();
        if self.open.insert(id.to_owned(), now).is_none() {
            let (call, input) = (id.to_owned(), one_line(&input, MOST_INPUT));
            acts.push(Act::Say(AgentEvent::ToolStarted { turn: self.turn, call, tool, input }));
        }
        acts
    }

    fn completed(&mut self, item: &Value, now: u64) -> Vec<Act> {
        let Some((id, tool, _)) = tool_of(item) else { return Vec::new() };
        // One that failed at once was never said to begin.
        let mut acts = if self.open.contains_key(id) { Vec::new() } else { self.begun(item, now) };
        let begun = self.open.remove(id).unwrap_or(now);
        let millis = item["durationMs"].as_u64().unwrap_or(now.saturating_sub(begun));
        let ok = item["status"] == "completed" && item["error"].is_null();
        let output = head(&output_of(item), MOST_OUTPUT);
        let call = id.to_owned();
        acts.push(Act::Say(AgentEvent::ToolCompleted { turn: self.turn, call, tool, ok, output, millis }));
        acts
    }

    /// The count is of the whole thread, also of what was before this attempt.
    fn used(&mut self, usage: &Value) -> Vec<Act> {
        let of = |which: &str| {
            let count = |name: &str| usage[which][name].as_u64().unwrap_or(0);
            (count("inputTokens"), count("outputTokens"))
        };
        let ((total_in, total_out), (input_tokens, output_tokens)) = (of("total"), of("last"));
        let from_cache = |which: &str| usage[which]["cachedInputTokens"].as_u64().unwrap_or(0);
        self.cached.1 = from_cache("total");
        if !self.working || self.before.is_none() {
            // Before it works, all of it is of earlier; its first word then tells its own apart.
            self.cached.0 = match self.working {
                true => from_cache("total").saturating_sub(from_cache("last")),
                false => from_cache("total"),
            };
        }
        if !self.working {
            self.before = Some((total_in, total_out));
            return Vec::new();
        }
        let before =
            self.before.get_or_insert((total_in.saturating_sub(input_tokens), total_out.saturating_sub(output_tokens)));
        self.reported.input_tokens = total_in.saturating_sub(before.0);
        self.reported.output_tokens = total_out.saturating_sub(before.1);
        let mut acts = self.begin();
        self.in_turn = false;
        acts.push(Act::Say(AgentEvent::TurnCompleted { turn: self.turn, input_tokens, output_tokens }));
        acts
    }
}

fn over(turn: &Value) -> Over {
    let words = one_line(turn["error"]["message"].as_str().unwrap_or("it did not say why"), MOST_OUTPUT);
    match turn["status"].as_str().unwrap_or_default() {
        "completed" => Over::Well,
        "failed" => Over::ModelFailed(words),
        other => Over::Badly(format!("its turn ended as {other}: {words}")),
    }
}

/// Id, tool and input of an item that is a tool call.
fn tool_of(item: &Value) -> Option<(&str, String, String)> {
    let id = item["id"].as_str()?;
    let (tool, input) = match item["type"].as_str()? {
        "commandExecution" => ("shell".to_owned(), item["command"].as_str().unwrap_or_default().to_owned()),
        "fileChange" => ("apply_patch".to_owned(), paths_of(item).collect::<Vec<_>>().join(", ")),
        "mcpToolCall" => (item["tool"].as_str().unwrap_or("mcp").to_owned(), item["arguments"].to_string()),
        "dynamicToolCall" => (item["tool"].as_str().unwrap_or("tool").to_owned(), item["arguments"].to_string()),
        "webSearch" => ("web_search".to_owned(), item["query"].as_str().unwrap_or_default().to_owned()),
        _other => return None,
    };
    Some((id, tool, input))
}

fn output_of(item: &Value) -> String {
    if let Some(output) = item["aggregatedOutput"].as_str() {
        return output.to_owned();
    }
    if let Some(message) = item["error"]["message"].as_str() {
        return message.to_owned();
    }
    let blocks = item["result"]["content"].as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

fn paths_of(item: &Value) -> impl Iterator<Item = &str> {
    item["changes"].as_array().into_iter().flatten().filter_map(|change| change["path"].as_str())
}
