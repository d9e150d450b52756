//! What a program with its own login says it has used: told to the broker as it grows, because nobody else counts it.
//! The broker says in return where the program wanted to go, and when it may use no more.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use domain::{AgentProgram, Shortage};
use drivers::driver::{Cached, Reported, Talk};
use drivers::{AgentEvent, HandIn, Job, Way};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::model::SOCKET;

const PATIENCE: Duration = Duration::from_secs(30);
/// Between two questions to the broker about a program that reports nothing.
const AGAIN: Duration = Duration::from_secs(10);
/// Hosts that are told of; a program that tries more is told enough about.
const MOST_TOLD: usize = 50;

/// Whether something said may be said otherwise later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// It may: the program names its price at the end.
    SoFar,
    /// So far as it went; only more can come.
    Surely,
    /// The process is over.
    AtLast,
}

/// How a word of this program in the middle of its work is meant.
pub(super) fn so_far(program: &AgentProgram) -> Said {
    match program {
        // Its price comes with its last word, and differs from what its tokens would cost by themselves.
        AgentProgram::Claude => Said::SoFar,
        AgentProgram::Own
        | AgentProgram::Codex
        | AgentProgram::CodexExec
        | AgentProgram::Gemini
        | AgentProgram::Opencode
        | AgentProgram::Acp(_)
        | AgentProgram::Command(_) => Said::Surely,
    }
}

/// What people should know about a program that has its own login.
pub(super) fn notice(job: &Job) -> Option<String> {
    let Way::Direct { login, hosts } = &job.way else { return None };
    let what = if login.is_empty() { "its own key" } else { "its own login" };
    Some(format!(
        "`{}` works with {what}, which is inside its sandbox: it and what it runs can read it. It reaches only {}. \
         What it costs is what it reports.",
        job.program,
        hosts.join(", ")
    ))
}

/// The account of one attempt.
pub(crate) struct Account {
    /// `None` for a program that the broker counts itself.
    broker: Option<reqwest::Client>,
    process: u32,
    told: Option<(Reported, Cached, Said)>,
    asked: Instant,
    seen: BTreeSet<String>,
    stopped: Option<HandIn>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Connection {
    to: String,
    verdict: String,
    #[serde(default)]
    reason: String,
}

impl Account {
    pub(crate) fn new(door: &Path, job: &Job) -> Self {
        let client = || {
            let client = reqwest::Client::builder().unix_socket(door.join(SOCKET)).no_proxy().tls_certs_only([]);
            client.timeout(PATIENCE).build().ok()
        };
        let broker = if job.way == Way::Broker { None } else { client() };
        let lost = job.way != Way::Broker && broker.is_none();
        let stopped = lost.then(|| uncounted("no client for the broker could be made"));
        Self { broker, process: 0, told: None, asked: Instant::now(), seen: BTreeSet::new(), stopped }
    }

    /// Another process of the program counts from nothing.
    pub(super) fn begin(&mut self) {
        self.process += 1;
        self.told = None;
    }

    /// Ready when the broker was not asked for a while: a program that gets nowhere says nothing by itself.
    pub(super) async fn due(&self) {
        match &self.broker {
            Some(_) => tokio::time::sleep_until(self.asked + AGAIN).await,
            None => std::future::pending().await,
        }
    }

    /// What is told next is told also when it is nothing new.
    pub(super) fn ask_again(&mut self) {
        self.told = None;
    }

    /// Why the program may not go on.
    pub(super) fn stopped(&self) -> Option<HandIn> {
        self.stopped.clone()
    }

    /// Tells the broker what is new, and gives what people should hear about it.
    pub(super) async fn report(&mut self, talk: &Talk, said: Said) -> Vec<AgentEvent> {
        let Some(broker) = &self.broker else { return Vec::new() };
        let now = (talk.reported(), talk.cached(), said);
        if said != Said::AtLast && self.told.is_some_and(|told| told == now) {
            return Vec::new();
        }
        self.told = Some(now);
        self.asked = Instant::now();
        let (reported, cached, _) = now;
        let report = json!({
            "process": self.process,
            "model": talk.model(),
            "inputTokens": reported.input_tokens,
            "outputTokens": reported.output_tokens,
            "cacheReadTokens": cached.read,
            "cacheWriteTokens": cached.written,
            "microUsd": reported.micro_usd,
            "last": said != Said::SoFar,
        });
        let answer = async {
            let answer = broker.post("http://broker/reported").json(&report).send().await?;
            let status = answer.status().as_u16();
            Ok::<(u16, Value), reqwest::Error>((status, answer.json().await?))
        };
        match answer.await {
            Ok((status, answer)) => self.hear(status, &answer),
            Err(error) => {
                self.stopped = Some(uncounted(&error.to_string()));
                Vec::new()
            }
        }
    }

    fn hear(&mut self, status: u16, answer: &Value) -> Vec<AgentEvent> {
        let connections: Vec<Connection> = serde_json::from_value(answer["connections"].clone()).unwrap_or_default();
        let events: Vec<AgentEvent> =
            connections.into_iter().filter_map(|connection| self.told_of(connection)).collect();
        let message = answer["error"]["message"].as_str().unwrap_or("it does not say why");
        match status {
            200 => {}
            402 => {
                let shortage: Option<Shortage> = serde_json::from_value(answer["error"]["shortage"].clone()).ok();
                let (reason, shortage) = (message.to_owned(), shortage.unwrap_or_default());
                self.stopped = Some(HandIn::BudgetSpent { reason, shortage });
            }
            _other => self.stopped = Some(uncounted(message)),
        }
        events
    }

    /// Each host once, with what came of it.
    fn told_of(&mut self, connection: Connection) -> Option<AgentEvent> {
        let Connection { to, verdict, reason } = connection;
        if self.seen.len() >= MOST_TOLD || !self.seen.insert(format!("{verdict} {to}")) {
            return None;
        }
        Some(match verdict.as_str() {
            "allowed" => AgentEvent::Noted { text: format!("connected to {to}") },
            _refused => AgentEvent::Trouble { message: format!("not connected to {to}: {reason}") },
        })
    }
}

fn uncounted(cause: &str) -> HandIn {
    HandIn::ModelFailed { reason: format!("what the program uses cannot be counted, so it does not go on: {cause}") }
}
