//! The product as a client sees it: a server process that may die at any time, and its API.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use anyhow::{Context as _, Result, anyhow, bail};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

/// A server on one data directory.
pub struct Product {
    home: PathBuf,
    child: Child,
    url: String,
    token: String,
    http: reqwest::Client,
}

/// The binary under test: beside the running test program, or where `HOLDPOINT_BIN` says.
pub fn binary() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("HOLDPOINT_BIN") {
        return Ok(path.into());
    }
    let own = std::env::current_exe()?;
    let folders = own.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join("holdpoint")).find(|path| path.is_file());
    found.context("the `holdpoint` binary is not built; run `cargo build -p holdpoint` first")
}

/// What a command of the product prints, for somebody who stands in this folder.
pub async fn command(folder: &Path, home: &Path, arguments: &[&str]) -> Result<Output> {
    let mut command = Command::new(binary()?);
    command.args(arguments).current_dir(folder).env("HOLDPOINT_HOME", home).kill_on_drop(true);
    Ok(command.output().await?)
}

impl Product {
    /// Starts a server in the foreground and waits until it says where it listens.
    pub async fn start(home: &Path, environment: &BTreeMap<String, String>) -> Result<Self> {
        Self::start_logging_to(Stdio::inherit(), home, environment).await
    }

    /// As `start`; what the server logs goes where it is told.
    pub async fn start_logging_to(log: Stdio, home: &Path, environment: &BTreeMap<String, String>) -> Result<Self> {
        Self::start_as(Command::new(binary()?), log, home, environment).await
    }

    /// As `start_logging_to`, by a command that ends with the program.
    pub async fn start_as(
        mut command: Command,
        log: Stdio,
        home: &Path,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self> {
        let mut child = command
            .args(["serve", "--foreground", "--json"])
            .env_clear()
            .envs(std::env::vars().filter(|(name, _)| matches!(name.as_str(), "PATH" | "HOME" | "LANG" | "TMPDIR")))
            .env("HOLDPOINT_HOME", home)
            .env("HOLDPOINT_LOG", "warn")
            .envs(environment)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().context("the server has a standard output")?;
        let mut lines = BufReader::new(stdout).lines();
        let Some(line) = lines.next_line().await? else {
            let status = child.wait().await?;
            bail!("the server ended before it listened: {status}");
        };
        let info: wire::ServerInfo = serde_json::from_str(&line).context("the server says where it listens")?;
        let url = info.url.trim_end_matches('/').to_owned();
        let token = std::fs::read_to_string(home.join("token"))?.trim().to_owned();
        Ok(Self { home: home.to_owned(), child, url, token, http: reqwest::Client::new() })
    }

    /// The server's process id.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// The server's data directory.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The token of its owner.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Kills it without a warning and waits for its end.
    pub async fn kill(mut self) -> Result<()> {
        self.child.kill().await?;
        Ok(())
    }

    /// Asks it to end, and waits.
    pub async fn stop(mut self) -> Result<std::process::ExitStatus> {
        if let Some(pid) = self.child.id().and_then(|pid| rustix::process::Pid::from_raw(pid.cast_signed())) {
            rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        }
        Ok(self.child.wait().await?)
    }

    /// Whether it has ended.
    pub fn ended_already(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    /// Waits for it to end by itself.
    pub async fn ended(&mut self) -> Result<std::process::ExitStatus> {
        Ok(self.child.wait().await?)
    }

    /// GET; the status and the body.
    pub async fn get(&self, path: &str) -> Result<(u16, Value)> {
        let request = self.http.get(format!("{}{path}", self.url)).bearer_auth(&self.token);
        answer(request.send().await?).await
    }

    /// POST; the status and the body.
    pub async fn post(&self, path: &str, key: Option<&str>, body: &Value) -> Result<(u16, Value)> {
        let mut request = self.http.post(format!("{}{path}", self.url)).bearer_auth(&self.token).json(body);
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        answer(request.send().await?).await
    }

    /// Starts a run.
    pub async fn run(&self, key: Option<&str>, body: &Value) -> Result<Value> {
        match self.post("/api/runs", key, body).await? {
            (200..=299, run) => Ok(run),
            (status, problem) => bail!("the run was refused with {status}: {problem}"),
        }
    }

    /// Waits, by the live feed, until a run satisfies a condition.
    pub async fn until(&self, run: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        self.live(run, |message| {
            let runs = match message["message"].as_str() {
                Some("snapshot") => message["runs"].as_array().cloned().unwrap_or_default(),
                Some("event") => vec![message["run"].clone()],
                _ => Vec::new(),
            };
            runs.into_iter().find(|view| view["id"] == run && wanted(view))
        })
        .await
    }

    /// Waits until an agent of the run has begun to use a tool.
    pub async fn until_tool(&self, run: &str, tool: &str) -> Result<Value> {
        let begins = |message: &Value| message["name"] == "turn:tool_started" && message["data"]["tool"] == tool;
        self.live(run, |message| begins(message).then(|| message.clone())).await
    }

    /// Waits until an agent of a stage has begun a turn.
    pub async fn until_turn(&self, run: &str, stage: &str, turn: u32) -> Result<Value> {
        let begins = |message: &Value| {
            let data = &message["data"];
            message["name"] == "turn:started" && data["stage"] == stage && data["turn"] == turn
        };
        self.live(run, |message| begins(message).then(|| message.clone())).await
    }

    /// Waits until a channel satisfies a condition, or an agent in it does something.
    pub async fn channel(&self, id: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        self.watch(&format!("/api/channels/{id}/live"), |message| wanted(message).then(|| message.clone())).await
    }

    /// Reads live messages about a run until one of them is what is looked for.
    async fn live<T>(&self, run: &str, look: impl FnMut(&Value) -> Option<T>) -> Result<T> {
        self.watch(&format!("/api/live?run={run}"), look).await
    }

    /// Reads the messages of a socket until one of them is what is looked for.
    pub async fn watch<T>(&self, path: &str, mut look: impl FnMut(&Value) -> Option<T>) -> Result<T> {
        let url = format!("{}{path}", self.url.replacen("http", "ws", 1));
        let mut request = url.into_client_request()?;
        request.headers_mut().insert("authorization", format!("Bearer {}", self.token).parse()?);
        let (mut live, _) = tokio_tungstenite::connect_async(request).await?;
        while let Some(message) = live.next().await {
            let Ok(text) = message?.into_text() else { continue };
            let Ok(message) = serde_json::from_str::<Value>(&text) else { continue };
            if let Some(found) = look(&message) {
                return Ok(found);
            }
        }
        Err(anyhow!("the live feed ended"))
    }

    /// Decides on the hold a run view shows.
    pub async fn decide(&self, view: &Value, decision: &Value) -> Result<(u16, Value)> {
        let hold = &view["hold"];
        let mut body = json!({"digest": hold["digest"], "hold": hold["id"]});
        for (name, value) in decision.as_object().into_iter().flatten() {
            body[name] = value.clone();
        }
        let key = format!("decide {}", hold["id"]);
        let id = view["id"].as_str().context("a run has an id")?;
        self.post(&format!("/api/runs/{id}/decide"), Some(&key), &body).await
    }
}

async fn answer(response: reqwest::Response) -> Result<(u16, Value)> {
    let status = response.status().as_u16();
    let text = response.text().await?;
    Ok((status, serde_json::from_str(&text).unwrap_or(Value::String(text))))
}
