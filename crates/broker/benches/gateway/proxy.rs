//! The LiteLLM proxy in a process of its own, if it is installed.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::Command;
use tokio::sync::mpsc;

use super::load::KEY;
use super::{Part, Result};

/// So long it may be silent while it starts.
const START: Duration = Duration::from_secs(120);

/// The proxy, ready for calls.
pub(super) struct Proxy {
    pub(super) part: Part,
    pub(super) address: String,
    pub(super) version: String,
}

/// Starts it before the fake upstream.
pub(super) async fn start(base: &str, folder: &Path) -> Result<Proxy> {
    let binary = binary()?;
    let version = Command::new(&binary).arg("--version").env("LITELLM_LOCAL_MODEL_COST_MAP", "True").output().await?;
    let version = String::from_utf8_lossy(&version.stdout);
    let version = version.split_whitespace().last().unwrap_or("of unknown version").to_owned();
    let config = folder.join("litellm.yaml");
    let model = |name: &str, model: &str, base: &str| {
        format!(
            "  - model_name: {name}\n    litellm_params:\n      model: {model}\n      api_base: {base}\n      api_key: sk-bench\n"
        )
    };
    let models = model("m", "openai/m", &format!("{base}/v1")) + &model("claude-m", "anthropic/claude-m", base);
    std::fs::write(&config, format!("model_list:\n{models}"))?;
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut child = Command::new(&binary)
        .args(["--host", "127.0.0.1", "--port", &port.to_string(), "--telemetry", "False", "--config"])
        .arg(&config)
        .current_dir(folder)
        .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        .env("LITELLM_MASTER_KEY", KEY)
        .env("NO_PROXY", "127.0.0.1,localhost")
        .env("no_proxy", "127.0.0.1,localhost")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let (ready, mut heard) = mpsc::unbounded_channel();
    let streams: [Option<Box<dyn AsyncRead + Send + Unpin>>; 2] = [
        child.stdout.take().map(|stream| Box::new(stream) as Box<_>),
        child.stderr.take().map(|stream| Box::new(stream) as Box<_>),
    ];
    for stream in streams.into_iter().flatten() {
        // Read to the end, so that it never waits for a full pipe.
        let ready = ready.clone();
        tokio::spawn(async move {
            let mut lines = BufReader::new(stream).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let _ = ready.send(line);
            }
        });
    }
    drop(ready);
    let mut last = String::new();
    while let Some(line) = tokio::time::timeout(START, heard.recv()).await.unwrap_or_default() {
        if line.contains("Uvicorn running on") {
            tokio::spawn(async move { while heard.recv().await.is_some() {} });
            let part = Part { child, said: line };
            return Ok(Proxy { part, address: format!("127.0.0.1:{port}"), version });
        }
        last = line;
    }
    Err(format!("it was not ready, or ended before; it last said: {last}").into())
}

fn binary() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("LITELLM_BIN") {
        return Ok(path.into());
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench-venv").join("bin/litellm");
    if path.is_file() { Ok(path) } else { Err("it is not installed (`make bench-broker` installs it)".into()) }
}
