//! Gemini CLI: `gemini --output-format stream-json`, one process per turn of ours, told on its standard input.
//!
//! It cannot wait for a person, so what would need a yes is refused by its own policy engine. It reads the settings
//! before it is told to trust the folder, so a repository's own `.gemini/settings.json` changes nothing.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::gemini_policy::policy;
use super::{Act, Brief, MOST_INPUT, MOST_OUTPUT, Over, Reported, Start, Stdin, head, one_line};
use crate::{AgentEvent, Way};

/// What it asks models for on the side; each has a model of its own, which may not be granted.
const SIDE_JOBS: &[&str] = &[
    "classifier",
    "prompt-completion",
    "fast-ack-helper",
    "edit-corrector",
    "summarizer-default",
    "summarizer-shell",
    "web-search",
    "web-fetch",
    "web-fetch-fallback",
    "loop-detection",
    "loop-detection-double-check",
    "llm-edit-fixer",
    "next-speaker-checker",
    "context-snapshotter",
    "chat-compression-default",
    "agent-history-provider-summarizer",
];

pub(super) fn start(brief: &Brief) -> Start {
    let home = format!("{}/gemini", brief.home);
    let rules = format!("{home}/holdpoint.toml");
    let mut argv: Vec<String> = [
        "gemini",
        "--output-format",
        "stream-json",
        "--approval-mode",
        "yolo",
        "--admin-policy",
        &rules,
        "--allowed-mcp-server-names",
        "holdpoint",
        "--skip-trust",
    ]
    .map(str::to_owned)
    .to_vec();
    if let Some(model) = brief.own_model() {
        argv.extend(["--model", model].map(str::to_owned));
    }
    if let Some(session) = &brief.resume {
        argv.extend(["--resume".to_owned(), session.clone()]);
    }
    Start {
        argv,
        env: environment(brief, &home),
        files: vec![(format!("{home}/.gemini/settings.json"), settings(brief).to_string()), (rules, policy(brief))],
        first: vec![brief.prompt.clone()],
        stdin: Stdin::Closed,
    }
}

/// Variables and files alone, for a host that speaks to it in another way.
pub(super) fn placed(brief: &Brief) -> (BTreeMap<String, String>, Vec<(String, String)>) {
    let Start { mut env, files, .. } = start(brief);
    env.extend(brief.own_model().map(|model| ("GEMINI_MODEL".to_owned(), model.to_owned())));
    (env, files)
}

/// A shell line before it takes up an earlier session over ACP. It keeps a session in a file that is named after the
/// minute, and begins a new one of the same name before it looks for the old one: within the same minute that wipes it
/// out. Under another name the old one is found.
pub(super) const KEEP_SESSIONS: &str = "for kept in \"$GEMINI_CLI_HOME\"/.gemini/tmp/*/chats/session-[0-9]*.jsonl; do \
     [ ! -f \"$kept\" ] || mv \"$kept\" \"${kept%/*}/session-kept-${kept##*/session-}\"; done; ";

fn environment(brief: &Brief, home: &str) -> BTreeMap<String, String> {
    let broker = format!("{}/gemini", brief.broker);
    let system = format!("{home}/no-system-settings.json");
    // The key is added outside the sandbox.
    let served = [("GOOGLE_GEMINI_BASE_URL", broker.as_str()), ("GEMINI_API_KEY", "holdpoint")];
    let served = served.into_iter().filter(|_| !brief.is_direct());
    let set = [
        ("GEMINI_CLI_HOME", home),
        // It would start itself again as a child that does not hear the signals of its parent, and that reads the
        // settings when the folder is trusted already.
        ("GEMINI_CLI_NO_RELAUNCH", "true"),
        ("GEMINI_TELEMETRY_ENABLED", "false"),
        // A repository's `.gemini/.env` is read once the folder is trusted, but sets only what is not set.
        ("GEMINI_SYSTEM_MD", "false"),
        ("GEMINI_WRITE_SYSTEM_MD", "false"),
        ("GEMINI_SANDBOX", "false"),
        ("GEMINI_CLI_SYSTEM_SETTINGS_PATH", &system),
        ("GEMINI_CLI_SYSTEM_DEFAULTS_PATH", &system),
        ("NO_COLOR", "1"),
    ];
    set.into_iter().chain(served).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// How it gets in: the broker's way is a key, its own may be the login of a Google account.
fn auth(brief: &Brief) -> &'static str {
    match &brief.way {
        Way::Direct { login, .. } if login.iter().any(|file| file.ends_with("oauth_creds.json")) => "oauth-personal",
        Way::Broker | Way::Direct { .. } => "gemini-api-key",
    }
}

fn settings(brief: &Brief) -> Value {
    let tools = brief.tools.split_first().map_or_else(
        || json!({}),
        |(program, arguments)| json!({"holdpoint": {"command": program, "args": arguments, "trust": true}}),
    );
    let side = json!({"modelConfig": {"model": brief.model}});
    // At its own vendor its own small models are there.
    let side_jobs = if brief.is_direct() { &[] } else { SIDE_JOBS };
    let aliases: Map<String, Value> = side_jobs.iter().map(|name| ((*name).to_owned(), side.clone())).collect();
    json!({
        "security": {"auth": {"selectedType": auth(brief)}, "folderTrust": {"enabled": true}},
        "mcpServers": tools,
        "modelConfigs": {"customAliases": aliases},
        "general": {
            "enableAutoUpdate": false,
            "enableAutoUpdateNotification": false,
            // The broker asks again already; ten tries of its own on top take minutes.
            "maxAttempts": 3,
            // A conversation may go on after months.
            "sessionRetention": {"enabled": false},
            "plan": {"enabled": false},
            "topicUpdateNarration": false,
        },
        "tools": {"shell": {"enableInteractiveShell": false}},
        "context": {"fileName": ["AGENTS.md", "GEMINI.md"]},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
        "hooksConfig": {"enabled": false},
        "skills": {"enabled": false},
        "experimental": {"enableAgents": false},
        "admin": {"extensions": {"enabled": false}},
    })
}

/// A conversation with it.
#[derive(Debug)]
pub struct Gemini {
    turn: u32,
    state: State,
    /// Calls that have no result yet: their tool and when they began.
    open: BTreeMap<String, (String, u64)>,
    /// The last thing it said went wrong.
    trouble: Option<String>,
    reported: Reported,
    model: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The model's next word begins a turn.
    Between,
    InTurn,
}

impl Gemini {
    pub(super) fn new(turns: u32) -> Self {
        Self {
            turn: turns,
            state: State::Between,
            open: BTreeMap::new(),
            trouble: None,
            reported: Reported::default(),
            model: None,
        }
    }

    pub(super) fn turns(&self) -> u32 {
        self.turn
    }

    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    pub(super) fn reported(&self) -> Reported {
        self.reported
    }

    pub(super) fn line(&mut self, line: &str, now: u64) -> Vec<Act> {
        let unknown = || vec![Act::Unknown(line.to_owned())];
        let Ok(value) = serde_json::from_str::<Value>(line) else { return unknown() };
        match value["type"].as_str().unwrap_or_default() {
            "init" => match value["session_id"].as_str() {
                Some(session) => {
                    self.model = value["model"].as_str().map(str::to_owned);
                    vec![Act::Session(session.to_owned())]
                }
                None => unknown(),
            },
            "message" => match (value["role"].as_str(), value["content"].as_str()) {
                (Some("assistant"), Some(text)) => {
                    let mut acts = self.begin();
                    acts.push(Act::Say(AgentEvent::MessageDelta { turn: self.turn, text: text.to_owned() }));
                    acts
                }
                // What it was told.
                (Some("user"), _) => Vec::new(),
                (_, _) => unknown(),
            },
            "tool_use" => self.call(&value, now).unwrap_or_else(unknown),
            "tool_result" => self.result_of(&value, now).unwrap_or_else(unknown),
            "error" => {
                let words = one_line(value["message"].as_str().unwrap_or("it does not say what"), MOST_OUTPUT);
                self.trouble = Some(words.clone());
                vec![Act::Say(AgentEvent::Trouble { message: words })]
            }
            "result" => self.result(&value),
            _other => unknown(),
        }
    }

    /// A turn has no mark of its own: it begins with the first word after the results of the one before.
    fn begin(&mut self) -> Vec<Act> {
        match self.state {
            State::InTurn => Vec::new(),
            State::Between => {
                self.turn += 1;
                self.state = State::InTurn;
                vec![Act::Say(AgentEvent::TurnStarted { turn: self.turn })]
            }
        }
    }

    /// It counts tokens once, at the end: they are told with the last turn.
    fn end(&mut self, input_tokens: u64, output_tokens: u64) -> Option<Act> {
        let ends = self.state == State::InTurn;
        self.state = State::Between;
        ends.then_some(Act::Say(AgentEvent::TurnCompleted { turn: self.turn, input_tokens, output_tokens }))
    }

    fn call(&mut self, value: &Value, now: u64) -> Option<Vec<Act>> {
        let (call, tool) = (value["tool_id"].as_str()?.to_owned(), value["tool_name"].as_str()?.to_owned());
        let mut acts = self.begin();
        if self.open.insert(call.clone(), (tool.clone(), now)).is_none() {
            let input = one_line(&value["parameters"].to_string(), MOST_INPUT);
            acts.push(Act::Say(AgentEvent::ToolStarted { turn: self.turn, call, tool, input }));
        }
        Some(acts)
    }

    fn result_of(&mut self, value: &Value, now: u64) -> Option<Vec<Act>> {
        let call = value["tool_id"].as_str()?;
        let (tool, begun) = self.open.remove(call)?;
        let words = value["error"]["message"].as_str().or(value["output"].as_str()).unwrap_or_default();
        let completed = AgentEvent::ToolCompleted {
            turn: self.turn,
            call: call.to_owned(),
            tool,
            ok: value["status"] == "success",
            output: head(words, MOST_OUTPUT),
            millis: now.saturating_sub(begun),
        };
        let mut acts = vec![Act::Say(completed)];
        if self.open.is_empty() {
            acts.extend(self.end(0, 0));
        }
        Some(acts)
    }

    fn result(&mut self, value: &Value) -> Vec<Act> {
        let stats = &value["stats"];
        let of = |name: &str| stats[name].as_u64().unwrap_or(0);
        let input_tokens = of("input_tokens");
        // Thoughts are in the total only.
        let output_tokens = of("output_tokens").max(of("total_tokens").saturating_sub(input_tokens));
        self.reported = Reported { input_tokens, output_tokens, micro_usd: None };
        let mut acts: Vec<Act> = self.end(input_tokens, output_tokens).into_iter().collect();
        let said = value["error"]["message"].as_str().map(|words| one_line(words, MOST_OUTPUT));
        acts.extend(said.clone().map(|message| Act::Say(AgentEvent::Trouble { message })));
        let kind = value["error"]["type"].as_str().unwrap_or_default();
        acts.push(Act::Over(match value["status"].as_str() {
            Some("success") => Over::Well,
            // The model is there; told to go on, it does.
            _failed if said.as_deref().is_some_and(broke_off) => Over::Well,
            // Its own troubles have names that begin so; everything else comes from the model or its network.
            _failed if kind.starts_with("Fatal") => Over::Badly(said.unwrap_or_else(|| kind.to_owned())),
            _failed => {
                let words = said.or(self.trouble.take()).unwrap_or_else(|| "it does not say why".to_owned());
                Over::ModelFailed(words)
            }
        }));
        acts
    }
}

/// Whether it says that an answer broke off in the middle.
fn broke_off(words: &str) -> bool {
    ["terminated", "ECONNRESET", "socket hang up", "other side closed", "Premature close", "Incomplete JSON"]
        .iter()
        .any(|sign| words.contains(sign))
}
