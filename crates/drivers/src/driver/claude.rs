//! Claude Code: `claude --print` with JSON lines both ways. It asks for permission on its standard output and waits.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    Act, Asked, Brief, Cached, Changes, MOST_INPUT, MOST_OUTPUT, Over, Reported, Start, Stdin, Word, head, one_line,
};
use crate::AgentEvent;

/// Tools that only look.
const READERS: &[&str] = &["Read", "Glob", "Grep", "LS", "NotebookRead", "TodoRead", "TodoWrite", "Task", "BashOutput"];

pub(super) fn start(brief: &Brief) -> Start {
    let (env, _) = settings(brief);
    let config = format!("{}/claude", brief.home);
    let servers = format!("{config}/holdpoint-mcp.json");
    let mut argv: Vec<String> = [
        "claude",
        "--print",
        "--verbose",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--include-partial-messages",
        "--permission-prompt-tool",
        "stdio",
        // A repository's own settings could allow what a person wanted to be asked about.
        "--setting-sources",
        "user",
        "--strict-mcp-config",
        "--mcp-config",
        &servers,
    ]
    .map(str::to_owned)
    .to_vec();
    if let Some(model) = brief.own_model() {
        argv.extend(["--model", model].map(str::to_owned));
    }
    if let Some(session) = &brief.resume {
        argv.extend(["--resume".to_owned(), session.clone()]);
    }
    let (program, arguments) = brief.tools.split_first().map_or(("", [].as_slice()), |(one, rest)| (one, rest));
    let mcp = json!({"mcpServers": {"holdpoint": {"type": "stdio", "command": program, "args": arguments}}});
    Start { argv, env, files: vec![(servers, mcp.to_string())], first: vec![user(&brief.prompt)], stdin: Stdin::Open }
}

/// Variables by which Claude Code finds the broker.
pub(super) fn settings(brief: &Brief) -> (BTreeMap<String, String>, Vec<(String, String)>) {
    let config = format!("{}/claude", brief.home);
    let mut set = vec![
        ("CLAUDE_CONFIG_DIR", config.as_str()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        // The broker asks again already; ten tries of its own on top take minutes, also for a key that is refused.
        ("CLAUDE_CODE_MAX_RETRIES", "3"),
        // Its walls are ours; as root it would refuse to work without this.
        ("IS_SANDBOX", "1"),
    ];
    set.extend(brief.own_model().map(|model| ("ANTHROPIC_MODEL", model)));
    let broker = format!("{}/anthropic", brief.broker);
    let served = [
        ("ANTHROPIC_BASE_URL", broker.as_str()),
        // The key is added outside the sandbox.
        ("ANTHROPIC_API_KEY", "holdpoint"),
        // Side questions go to the same model: another may not be granted.
        ("ANTHROPIC_SMALL_FAST_MODEL", &brief.model),
        ("ANTHROPIC_DEFAULT_HAIKU_MODEL", &brief.model),
        ("ANTHROPIC_DEFAULT_SONNET_MODEL", &brief.model),
        ("ANTHROPIC_DEFAULT_OPUS_MODEL", &brief.model),
        ("CLAUDE_CODE_SUBAGENT_MODEL", &brief.model),
    ];
    if !brief.is_direct() {
        set.extend(served);
    }
    (set.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(), Vec::new())
}

fn user(text: &str) -> String {
    json!({"type": "user", "message": {"role": "user", "content": text}}).to_string()
}

/// A conversation with it.
#[derive(Debug)]
pub struct Claude {
    turn: u32,
    /// Whether the turn's text came in pieces already.
    streamed: bool,
    usage: (u64, u64),
    /// Calls that have no result yet: their tool and when they began.
    open: BTreeMap<String, (String, u64)>,
    reported: Reported,
    cached: Cached,
    model: Option<String>,
}

impl Claude {
    pub(super) fn new(turns: u32) -> Self {
        Self {
            turn: turns,
            streamed: false,
            usage: (0, 0),
            open: BTreeMap::new(),
            reported: Reported::default(),
            cached: Cached::default(),
            model: None,
        }
    }

    pub(super) fn turns(&self) -> u32 {
        self.turn
    }

    pub(super) fn reported(&self) -> Reported {
        self.reported
    }

    pub(super) fn cached(&self) -> Cached {
        self.cached
    }

    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    pub(super) fn tell(&mut self, text: &str) -> Vec<Act> {
        vec![Act::Send(user(text))]
    }

    pub(super) fn word(&mut self, asked: &Asked, word: &Word) -> Vec<Act> {
        let answer = match word {
            Word::Allow => json!({"behavior": "allow", "updatedInput": asked.action["input"]}),
            Word::Deny(reason) => json!({"behavior": "deny", "message": reason}),
        };
        let response = json!({"subtype": "success", "request_id": asked.id, "response": answer});
        vec![Act::Send(json!({"type": "control_response", "response": response}).to_string())]
    }

    pub(super) fn line(&mut self, line: &str, now: u64) -> Vec<Act> {
        let Ok(value) = serde_json::from_str::<Value>(line) else { return vec![Act::Unknown(line.to_owned())] };
        // What its own helpers do is told as one tool call, not as turns of this conversation.
        let helper = value["parent_tool_use_id"].is_string();
        if value["subtype"] == "init" {
            self.model = value["model"].as_str().map(str::to_owned);
        }
        match (value["type"].as_str().unwrap_or_default(), value["subtype"].as_str().unwrap_or_default()) {
            ("system", "init") => match value["session_id"].as_str() {
                Some(session) => vec![Act::Session(session.to_owned())],
                None => vec![Act::Unknown(line.to_owned())],
            },
            ("system", "api_retry") => {
                let words = one_line(&format!("the model is asked again: {}", reason(&value)), MOST_OUTPUT);
                vec![Act::Say(AgentEvent::Trouble { message: words })]
            }
            ("stream_event", _) if !helper => self.stream(&value["event"]),
            ("assistant", _) if !helper => self.assistant(&value["message"], now),
            ("user", _) if !helper => self.results(&value["message"]["content"], now),
            ("stream_event" | "assistant" | "user", _) => Vec::new(),
            ("control_request", _) => ask(&value).map_or_else(|| vec![Act::Unknown(line.to_owned())], |act| vec![act]),
            // What is shown to a person at its own screen.
            ("control_response" | "control_cancel_request" | "keep_alive", _)
            | ("system", "status" | "thinking_tokens") => Vec::new(),
            ("result", subtype) => self.result(&value, subtype),
            _other => vec![Act::Unknown(line.to_owned())],
        }
    }

    fn stream(&mut self, event: &Value) -> Vec<Act> {
        let turn = self.turn;
        let say = |event: AgentEvent| vec![Act::Say(event)];
        let delta = &event["delta"];
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                self.turn += 1;
                self.streamed = true;
                let usage = &event["message"]["usage"];
                self.usage = (sent(usage), 0);
                self.cached.read = self.cached.read.saturating_add(cached(usage).read);
                self.cached.written = self.cached.written.saturating_add(cached(usage).written);
                say(AgentEvent::TurnStarted { turn: self.turn })
            }
            "content_block_delta" => match (delta["text"].as_str(), delta["thinking"].as_str()) {
                (Some(text), _) => say(AgentEvent::MessageDelta { turn, text: text.to_owned() }),
                (None, Some(text)) => say(AgentEvent::ThoughtDelta { turn, text: text.to_owned() }),
                (None, None) => Vec::new(),
            },
            "message_delta" => {
                self.usage.0 = self.usage.0.max(sent(&event["usage"]));
                self.usage.1 = event["usage"]["output_tokens"].as_u64().unwrap_or(self.usage.1);
                Vec::new()
            }
            "message_stop" => {
                let (input_tokens, output_tokens) = self.usage;
                // Until it says at the end what all of it was.
                self.reported.input_tokens = self.reported.input_tokens.saturating_add(input_tokens);
                self.reported.output_tokens = self.reported.output_tokens.saturating_add(output_tokens);
                say(AgentEvent::TurnCompleted { turn, input_tokens, output_tokens })
            }
            _other => Vec::new(),
        }
    }

    fn assistant(&mut self, message: &Value, now: u64) -> Vec<Act> {
        let mut acts = Vec::new();
        if !self.streamed {
            self.turn += 1;
            acts.push(Act::Say(AgentEvent::TurnStarted { turn: self.turn }));
        }
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str().unwrap_or_default() {
                "tool_use" => acts.extend(self.call(block, now)),
                "text" if !self.streamed => {
                    let text = block["text"].as_str().unwrap_or_default().to_owned();
                    acts.push(Act::Say(AgentEvent::MessageDelta { turn: self.turn, text }));
                }
                _other => {}
            }
        }
        acts
    }

    fn call(&mut self, block: &Value, now: u64) -> Option<Act> {
        let (call, tool) = (block["id"].as_str()?.to_owned(), block["name"].as_str()?.to_owned());
        if self.open.insert(call.clone(), (tool.clone(), now)).is_some() {
            return None;
        }
        let input = one_line(&block["input"].to_string(), MOST_INPUT);
        Some(Act::Say(AgentEvent::ToolStarted { turn: self.turn, call, tool, input }))
    }

    fn results(&mut self, content: &Value, now: u64) -> Vec<Act> {
        let blocks = content.as_array().into_iter().flatten();
        let acts = blocks.filter(|block| block["type"] == "tool_result").filter_map(|block| {
            let call = block["tool_use_id"].as_str()?;
            let (tool, begun) = self.open.remove(call)?;
            Some(Act::Say(AgentEvent::ToolCompleted {
                turn: self.turn,
                call: call.to_owned(),
                tool,
                ok: block["is_error"] != true,
                output: head(&text_of(&block["content"]), MOST_OUTPUT),
                millis: now.saturating_sub(begun),
            }))
        });
        acts.collect()
    }

    fn result(&mut self, value: &Value, subtype: &str) -> Vec<Act> {
        let usage = &value["usage"];
        self.cached = cached(usage);
        // Money by the program's own reckoning, in millionths; it knows the price of its vendor's models only.
        let cost = value["total_cost_usd"].as_f64().filter(|cost| cost.is_finite() && *cost >= 0.0);
        self.reported = Reported {
            input_tokens: sent(usage),
            output_tokens: usage["output_tokens"].as_u64().unwrap_or(0),
            micro_usd: cost.and_then(|cost| format!("{:.0}", cost * 1e6).parse().ok()),
        };
        let words = one_line(value["result"].as_str().unwrap_or(subtype), MOST_OUTPUT);
        let over = match (subtype, value["is_error"] == true) {
            ("success", false) => Over::Well,
            ("success", true) => Over::ModelFailed(words),
            (_other, _) => Over::Badly(format!("{subtype}: {words}")),
        };
        vec![Act::Over(over)]
    }
}

/// All tokens that were sent, from the cache or not.
fn sent(usage: &Value) -> u64 {
    let of = |name: &str| usage[name].as_u64().unwrap_or(0);
    let cached = of("cache_creation_input_tokens").saturating_add(of("cache_read_input_tokens"));
    of("input_tokens").saturating_add(cached)
}

fn cached(usage: &Value) -> Cached {
    let of = |name: &str| usage[name].as_u64().unwrap_or(0);
    Cached { read: of("cache_read_input_tokens"), written: of("cache_creation_input_tokens") }
}

fn reason(value: &Value) -> String {
    ["error", "message", "error_status"].iter().find_map(|name| value[*name].as_str()).unwrap_or("it failed").to_owned()
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _other => String::new(),
    }
}

/// A wish to use a tool.
fn ask(value: &Value) -> Option<Act> {
    let request = &value["request"];
    if request["subtype"] != "can_use_tool" {
        return None;
    }
    let (id, tool, input) = (value["request_id"].as_str()?, request["tool_name"].as_str()?, &request["input"]);
    let mut action = json!({"input": input});
    if let Some(command) = input["command"].as_str() {
        action["command"] = json!(command);
    }
    let path = ["file_path", "path", "notebook_path"].iter().find_map(|name| input[*name].as_str());
    if let Some(path) = path {
        action["path"] = json!(path);
    }
    let changes = if READERS.contains(&tool) { Changes::No } else { Changes::Yes };
    Some(Act::Ask(Asked { id: id.to_owned(), tool: tool.to_owned(), action, changes }))
}
