//! `agent`: which agent programs are installed, who can serve them, and whether they work.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use serde::Serialize;
use wire::{DirectAgentView, ExitCode, ModelsView, RunView};

use crate::{
    demo,
    failure::Failure,
    report::{self, agent as words},
    session::Session,
};

/// Name, program, the protocol in which it asks models; no protocol: it depends on its settings.
const KNOWN: [(&str, &str, Option<&str>); 11] = [
    ("claude", "claude", Some("anthropic")),
    ("codex", "codex", Some("openai")),
    ("codex-exec", "codex", Some("openai")),
    ("gemini", "gemini", Some("gemini")),
    ("opencode", "opencode", Some("openai")),
    ("acp:claude-agent-acp", "claude-agent-acp", Some("anthropic")),
    ("acp:codex-acp", "codex-acp", Some("openai")),
    ("acp:copilot --acp", "copilot", Some("openai")),
    ("acp:gemini --acp --skip-trust", "gemini", Some("gemini")),
    ("acp:opencode acp", "opencode", Some("openai")),
    ("acp:qwen --acp --auth-type openai", "qwen", Some("openai")),
];
/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// An agent program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentView {
    /// As `--agent` takes it.
    pub(crate) name: String,
    /// Where its program is; none: it is not installed.
    pub(crate) path: Option<PathBuf>,
    /// What it says its version is.
    pub(crate) version: Option<String>,
    /// The protocol in which it asks models.
    pub(crate) protocol: Option<String>,
    /// Providers that are set up and speak it.
    pub(crate) served_by: Vec<String>,
    /// `broker`, or `direct` for one that uses its own login.
    pub(crate) way: &'static str,
    /// Where it may go and where its login is, of one that uses its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) direct: Option<DirectAgentView>,
}

/// What came of a test.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentTest {
    pub(crate) name: String,
    pub(crate) ok: bool,
    pub(crate) seconds: f64,
    pub(crate) status: String,
    pub(crate) model_calls: u64,
    /// Why it did not work.
    pub(crate) problem: Option<String>,
    /// Its own login, which the test does not use: it works with a scripted model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) direct: Option<DirectAgentView>,
}

pub(super) async fn list(session: &Session) -> Result<ExitCode, Failure> {
    let models = session.connect().await?.models().await?;
    let mut agents = vec![own(&models)];
    let others = models.direct.iter().map(|direct| direct.program.as_str());
    let others = others.filter(|name| KNOWN.iter().all(|(known, ..)| known != name));
    let others = others.map(|name| (name, name.split([':', ' ']).nth(1).unwrap_or(name), None));
    for (name, program, protocol) in KNOWN.into_iter().chain(others) {
        let path = find(program);
        let version = match &path {
            Some(path) => version(path).await,
            None => None,
        };
        let served_by = protocol.map_or_else(Vec::new, |protocol| served(&models, protocol));
        agents.push(AgentView {
            name: name.to_owned(),
            path,
            version,
            protocol: protocol.map(str::to_owned),
            served_by,
            way: if direct_of(&models, name).is_some() { "direct" } else { "broker" },
            direct: direct_of(&models, name),
        });
    }
    match session.report.is_json() {
        true => session.report.json(&agents),
        false => session.report.data(&words::list(&agents, report::width())),
    }
    Ok(ExitCode::Done)
}

fn own(models: &ModelsView) -> AgentView {
    let ready = models.providers.iter().filter(|provider| provider.set_up);
    AgentView {
        name: "own".to_owned(),
        path: std::env::current_exe().ok(),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        protocol: None,
        served_by: ready.map(|provider| provider.name.clone()).collect(),
        way: "broker",
        direct: None,
    }
}

fn direct_of(models: &ModelsView, name: &str) -> Option<DirectAgentView> {
    models.direct.iter().find(|direct| direct.program == name).cloned()
}

fn served(models: &ModelsView, protocol: &str) -> Vec<String> {
    let speaks = models.providers.iter().filter(|provider| provider.set_up && provider.protocol == protocol);
    speaks.map(|provider| provider.name.clone()).collect()
}

/// Looks a program up on the PATH, as the server does.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

async fn version(program: &Path) -> Option<String> {
    let asked = tokio::process::Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let answer = tokio::time::timeout(PATIENCE, asked).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let number = text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    number.map(|number| number.trim_end_matches([',', '.']).to_owned())
}

/// What the user's server says of a program's own login; the test itself needs neither.
async fn own_login(name: &str, session: &Session) -> Option<DirectAgentView> {
    direct_of(&session.connect().await.ok()?.models().await.ok()?, name)
}

/// Runs the demo's story with the program in every role, in a data directory of its own.
pub(super) async fn test(name: &str, session: &Session) -> Result<ExitCode, Failure> {
    let file: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(60).collect();
    let folder = session.home.path().join("agent-tests").join(file);
    let direct = own_login(name, session).await;
    if let Some(direct) = direct.as_ref().filter(|_| !session.report.is_json()) {
        session.report.note(&words::login(direct));
    }
    let begun = Instant::now();
    let programs = [("*".to_owned(), name.to_owned())].into();
    let run = Box::pin(demo::try_out(&folder, programs, session)).await?;
    let tested = AgentTest { direct, ..told(name, &run, begun.elapsed()) };
    match session.report.is_json() {
        true => session.report.json(&tested),
        false => session.report.data(&words::test(&tested)),
    }
    if tested.ok {
        // What was only for the test is not kept; after a failure it is there to look at.
        let _ = std::fs::remove_dir_all(&folder);
    } else if !session.report.is_json() {
        session.report.note(&format!("what happened is kept in {}", folder.display()));
    }
    Ok(if tested.ok { ExitCode::Done } else { ExitCode::Failed })
}

fn told(name: &str, run: &RunView, took: Duration) -> AgentTest {
    let ok = run.status == "completed";
    let problem = match &run.hold {
        Some(hold) => Some(hold.summary.clone()),
        None if ok => None,
        None => Some(format!("the run ended as {}", run.status)),
    };
    AgentTest {
        name: name.to_owned(),
        ok,
        seconds: took.as_secs_f64(),
        status: run.status.clone(),
        model_calls: run.spend.calls,
        problem,
        direct: None,
    }
}
