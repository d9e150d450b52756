//! opencode: `opencode run --format json`, one process per turn of ours, told on its standard input.
//!
//! Without a screen it refuses by itself whatever it would ask about, so its permissions are written as yes or no. The
//! settings of a repository are left out altogether.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::opencode_permission::permission;
use super::{Act, Brief, Cached, MOST_INPUT, MOST_OUTPUT, Over, Reported, Start, Stdin, head, one_line};
use crate::AgentEvent;

pub(super) fn start(brief: &Brief) -> Start {
    let config = format!("{}/opencode/holdpoint.json", brief.home);
    let model = model(brief);
    let mut argv: Vec<String> = ["opencode", "run", "--format", "json", "--thinking"].map(str::to_owned).to_vec();
    if let Some(model) = &model {
        argv.extend(["--model".to_owned(), model.clone()]);
    }
    match &brief.resume {
        Some(session) => argv.extend(["--session".to_owned(), session.clone()]),
        // With a title of ours it does not ask a model for one.
        None => argv.extend(["--title".to_owned(), "Holdpoint".to_owned()]),
    }
    Start {
        argv,
        env: environment(brief, &config),
        files: vec![(config, settings(brief, model.as_deref()).to_string())],
        first: vec![brief.prompt.clone()],
        stdin: Stdin::Closed,
    }
}

/// `provider/model` as it calls it; its own login is for providers it knows by itself.
fn model(brief: &Brief) -> Option<String> {
    match brief.is_direct() {
        true => Some(brief.model.clone()).filter(|model| !model.is_empty()),
        false => Some(format!("holdpoint/{}", brief.model)),
    }
}

/// The same for a host that can be asked.
pub(super) fn settings_that_ask(brief: &Brief) -> (BTreeMap<String, String>, Vec<(String, String)>) {
    let config = format!("{}/opencode/holdpoint.json", brief.home);
    let mut settings = settings(brief, model(brief).as_deref());
    settings["permission"] = json!({"edit": "ask", "bash": "ask", "webfetch": "deny"});
    (environment(brief, &config), vec![(config, settings.to_string())])
}

fn environment(brief: &Brief, config: &str) -> BTreeMap<String, String> {
    let folder = |name: &str| format!("{}/opencode/{name}", brief.home);
    let set = [
        ("OPENCODE_CONFIG", config.to_owned()),
        ("XDG_CONFIG_HOME", folder("config")),
        ("XDG_DATA_HOME", folder("data")),
        ("XDG_STATE_HOME", folder("state")),
        ("XDG_CACHE_HOME", folder("cache")),
        // A repository's own settings could allow what is held here, or start programs.
        ("OPENCODE_DISABLE_PROJECT_CONFIG", "1".to_owned()),
        ("OPENCODE_PURE", "1".to_owned()),
        ("OPENCODE_DISABLE_EXTERNAL_SKILLS", "1".to_owned()),
        ("OPENCODE_DISABLE_CLAUDE_CODE", "1".to_owned()),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1".to_owned()),
        ("OPENCODE_DISABLE_SHARE", "1".to_owned()),
    ];
    // Those it brings along know how to use its logins.
    let plugins = (!brief.is_direct()).then(|| ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1".to_owned()));
    set.into_iter().chain(plugins).map(|(name, value)| (name.to_owned(), value)).collect()
}

fn settings(brief: &Brief, model: Option<&str>) -> Value {
    let mut settings = common(brief);
    if let Some(model) = model {
        settings["model"] = json!(model);
        settings["small_model"] = json!(model);
    }
    if !brief.is_direct() {
        settings["enabled_providers"] = json!(["holdpoint"]);
        settings["provider"] = provider(brief);
    }
    settings
}

fn provider(brief: &Brief) -> Value {
    // The broker has a door for each protocol, and a provider speaks its own.
    let (package, door) = match brief.model.split('/').next().unwrap_or_default() {
        "anthropic" => ("@ai-sdk/anthropic", "anthropic/v1"),
        "gemini" | "google" => ("@ai-sdk/google", "gemini/v1beta"),
        _chat => ("@ai-sdk/openai-compatible", "openai/v1"),
    };
    json!({"holdpoint": {
        "npm": package,
        "name": "Holdpoint",
        // The key is added outside the sandbox.
        "options": {"baseURL": format!("{}/{door}", brief.broker), "apiKey": "holdpoint"},
        "models": {&brief.model: {"name": brief.model, "tool_call": true}},
    }})
}

fn common(brief: &Brief) -> Value {
    let tools = match brief.tools.as_slice() {
        [] => json!({}),
        command => json!({"holdpoint": {"type": "local", "command": command, "enabled": true}}),
    };
    json!({
        "mcp": tools,
        "permission": permission(brief),
        "share": "disabled",
        "autoupdate": false,
        "snapshot": false,
        "lsp": false,
        "formatter": false,
    })
}

/// A conversation with it.
#[derive(Debug)]
pub struct Opencode {
    turn: u32,
    session: Option<String>,
    /// How it ends, as far as it said something went wrong.
    failed: Option<Over>,
    /// Each step tells its own use, an attempt is the sum.
    reported: Reported,
    cached: Cached,
}

impl Opencode {
    pub(super) fn new(turns: u32) -> Self {
        Self { turn: turns, session: None, failed: None, reported: Reported::default(), cached: Cached::default() }
    }

    pub(super) fn turns(&self) -> u32 {
        self.turn
    }

    pub(super) fn cached(&self) -> Cached {
        self.cached
    }

    pub(super) fn reported(&self) -> Reported {
        self.reported
    }

    /// It ends without a closing word.
    pub(super) fn end(&mut self) -> Option<Over> {
        self.failed.take()
    }

    pub(super) fn line(&mut self, line: &str) -> Vec<Act> {
        let Ok(value) = serde_json::from_str::<Value>(line) else { return vec![Act::Unknown(line.to_owned())] };
        let mut acts = self.session(&value);
        let part = &value["part"];
        match value["type"].as_str().unwrap_or_default() {
            "step_start" => {
                self.turn += 1;
                // It goes on after all.
                self.failed = None;
                acts.push(Act::Say(AgentEvent::TurnStarted { turn: self.turn }));
            }
            "text" => {
                acts.extend(text(part).map(|text| AgentEvent::MessageDelta { turn: self.turn, text }).map(Act::Say))
            }
            "reasoning" => {
                acts.extend(text(part).map(|text| AgentEvent::ThoughtDelta { turn: self.turn, text }).map(Act::Say));
            }
            "tool_use" => match self.call(part) {
                Some(events) => acts.extend(events.map(Act::Say)),
                None => acts.push(Act::Unknown(line.to_owned())),
            },
            "step_finish" => acts.push(Act::Say(self.step(part))),
            "error" => acts.push(Act::Say(self.error(&value["error"]))),
            _other => acts.push(Act::Unknown(line.to_owned())),
        }
        acts
    }

    fn session(&mut self, value: &Value) -> Vec<Act> {
        let named = value["sessionID"].as_str().filter(|_| value["type"].is_string());
        match named {
            Some(named) if self.session.as_deref() != Some(named) => {
                self.session = Some(named.to_owned());
                vec![Act::Session(named.to_owned())]
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// A call is told when it is over.
    fn call(&self, part: &Value) -> Option<[AgentEvent; 2]> {
        let (call, tool) = (part["callID"].as_str()?.to_owned(), part["tool"].as_str()?.to_owned());
        let state = &part["state"];
        let ok = state["status"] == "completed";
        let words = if ok { &state["output"] } else { &state["error"] };
        let at = |name: &str| state["time"][name].as_u64().unwrap_or(0);
        let turn = self.turn;
        let input = one_line(&state["input"].to_string(), MOST_INPUT);
        let started = AgentEvent::ToolStarted { turn, call: call.clone(), tool: tool.clone(), input };
        let output = head(words.as_str().unwrap_or_default(), MOST_OUTPUT);
        let millis = at("end").saturating_sub(at("start"));
        Some([started, AgentEvent::ToolCompleted { turn, call, tool, ok, output, millis }])
    }

    fn step(&mut self, part: &Value) -> AgentEvent {
        let tokens = &part["tokens"];
        let count = |value: &Value| value.as_u64().unwrap_or(0);
        let cache = &tokens["cache"];
        let input_tokens =
            count(&tokens["input"]).saturating_add(count(&cache["read"])).saturating_add(count(&cache["write"]));
        let output_tokens = count(&tokens["output"]).saturating_add(count(&tokens["reasoning"]));
        self.cached.read = self.cached.read.saturating_add(count(&cache["read"]));
        self.cached.written = self.cached.written.saturating_add(count(&cache["write"]));
        let cost = part["cost"].as_f64().filter(|cost| cost.is_finite() && *cost > 0.0);
        // It knows no prices of models it was told about here, and says 0 then.
        let micro: Option<u64> = cost.and_then(|cost| format!("{:.0}", cost * 1e6).parse().ok());
        self.reported = Reported {
            input_tokens: self.reported.input_tokens.saturating_add(input_tokens),
            output_tokens: self.reported.output_tokens.saturating_add(output_tokens),
            micro_usd: match (self.reported.micro_usd, micro) {
                (None, None) => None,
                (sum, more) => Some(sum.unwrap_or(0).saturating_add(more.unwrap_or(0))),
            },
        };
        AgentEvent::TurnCompleted { turn: self.turn, input_tokens, output_tokens }
    }

    fn error(&mut self, error: &Value) -> AgentEvent {
        let name = error["name"].as_str().unwrap_or("error");
        let said = error["data"]["message"].as_str().or(error["message"].as_str()).unwrap_or(name);
        let words = one_line(said, MOST_OUTPUT);
        let model = matches!(name, "APIError" | "AI_APICallError" | "ProviderAuthError" | "MessageOutputLengthError");
        let over = if model { Over::ModelFailed(words.clone()) } else { Over::Badly(format!("{name}: {words}")) };
        self.failed = Some(over);
        AgentEvent::Trouble { message: words }
    }
}

fn text(part: &Value) -> Option<String> {
    part["text"].as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}
