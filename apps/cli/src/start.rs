//! Finds the server of a data directory, or starts one in the background.
//!
//! The starter holds `start.lock` until its server answers, so two commands at once end up with one server.
//! Readiness comes through the child's standard output: one line of JSON, a `ServerInfo` or a `Problem`.

use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::io::{AsyncBufReadExt as _, BufReader};
use wire::{Problem, ServerInfo};

use crate::{client::Client, failure::Failure, home::Home};

/// How a server is started when none runs.
#[derive(Debug, Clone)]
pub(crate) struct Starter {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
}

impl Starter {
    /// This very binary.
    pub(crate) fn own() -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(|error| {
            Failure::unavailable("no_program", format!("cannot find the own program: {error}"), "reinstall holdpoint")
        })?;
        let arguments = ["serve", "--background"].map(str::to_owned).to_vec();
        Ok(Self { program, arguments, environment: Vec::new() })
    }
}

/// A client of the one server of this data directory, started if need be.
pub(crate) async fn connect(home: &Home, starter: &Starter, channel: &'static str) -> Result<Client, Failure> {
    if let Some(client) = running(home, channel).await {
        return Ok(client);
    }
    home.create()?;
    let _lock = lock(home).await?;
    if let Some(client) = running(home, channel).await {
        return Ok(client);
    }
    match launch(home, starter).await? {
        Ok(info) => client_of(home, &info, channel),
        Err(problem) => someone_else(home, channel).await.ok_or_else(|| refused_to_start(problem)),
    }
}

/// A client of the server that runs now, if one does. A stale `server.json` counts as none.
pub(crate) async fn running(home: &Home, channel: &'static str) -> Option<Client> {
    let info = home.server()?;
    // A token that cannot be read now is reported by the start that follows.
    let client = client_of(home, &info, channel).ok()?;
    client.is_healthy().await.then_some(client)
}

fn client_of(home: &Home, info: &ServerInfo, channel: &'static str) -> Result<Client, Failure> {
    Client::new(&info.url, home.token()?, channel)
}

async fn lock(home: &Home) -> Result<File, Failure> {
    let path = home.start_lock();
    let opened = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
    let file = opened.map_err(|error| Failure::file("open", &path, &error))?;
    let locked = tokio::task::spawn_blocking(move || file.lock().map(|()| file)).await;
    match locked {
        Ok(result) => result.map_err(|error| Failure::file("lock", &path, &error)),
        Err(error) => Err(Failure::file("lock", &path, &std::io::Error::other(error))),
    }
}

async fn launch(home: &Home, starter: &Starter) -> Result<Result<ServerInfo, Problem>, Failure> {
    let log = open_log(&home.log_file())?;
    let mut child = tokio::process::Command::new(&starter.program)
        .args(&starter.arguments)
        .envs(starter.environment.iter().map(|(name, value)| (name, value)))
        .env("HOLDPOINT_HOME", home.path())
        .current_dir(home.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .kill_on_drop(false)
        .spawn()
        .map_err(|error| Failure::file("start the server", &starter.program, &error))?;
    let stdout = child.stdout.take().expect("standard output is piped");
    let mut line = String::new();
    let mut reader = BufReader::new(stdout);
    let read = reader.read_line(&mut line);
    match tokio::time::timeout(Duration::from_secs(60), read).await {
        Ok(Ok(_)) => Ok(first_words(&line).unwrap_or_else(|| Err(silent(home)))),
        Ok(Err(error)) => Err(Failure::file("hear from the server", &starter.program, &error)),
        Err(_) => Ok(Err(silent(home))),
    }
}

fn open_log(path: &Path) -> Result<File, Failure> {
    let opened = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    opened.map_err(|error| Failure::file("write", path, &error))
}

fn first_words(line: &str) -> Option<Result<ServerInfo, Problem>> {
    if let Ok(info) = serde_json::from_str::<ServerInfo>(line) {
        return Some(Ok(info));
    }
    serde_json::from_str::<Problem>(line).ok().map(Err)
}

/// A server started by other means may have been first: it is given time to say where it is.
async fn someone_else(home: &Home, channel: &'static str) -> Option<Client> {
    let mut pause = tokio::time::interval(Duration::from_millis(100));
    for _ in 0..30 {
        pause.tick().await;
        if let Some(client) = running(home, channel).await {
            return Some(client);
        }
        home.server()?;
    }
    None
}

fn silent(home: &Home) -> Problem {
    let tail = fs::read_to_string(home.log_file()).unwrap_or_default();
    let last = tail.lines().next_back().unwrap_or("it said nothing").to_owned();
    Problem {
        code: "server_not_ready".to_owned(),
        message: format!("the server ended before it was ready: {last}"),
        hint: format!("see `{}`, or run `holdpoint serve` to watch it start", home.log_file().display()),
        field: None,
    }
}

fn refused_to_start(problem: Problem) -> Failure {
    let message = format!("the server did not start: {}", problem.message);
    Failure { exit: wire::ExitCode::Unavailable, problem: Problem { message, ..problem } }
}
