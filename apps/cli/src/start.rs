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

/// Between two looks at a directory that another server holds.
const PAUSE: Duration = Duration::from_millis(250);
const ROUNDS: u32 = 40;

/// How a server is started when none runs.
#[derive(Debug, Clone)]
pub(crate) struct Starter {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    /// Variables the server must not see.
    pub(crate) without: &'static [&'static str],
}

impl Starter {
    /// This very binary.
    pub(crate) fn own() -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(|error| {
            Failure::unavailable("no_program", format!("cannot find the own program: {error}"), "reinstall holdpoint")
        })?;
        let arguments = ["serve", "--background"].map(str::to_owned).to_vec();
        Ok(Self { program, arguments, environment: Vec::new(), without: &[] })
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
    // A server started by other means may hold the directory and not answer yet, or be on its way out.
    let mut pause = tokio::time::interval(PAUSE);
    for _ in 0..ROUNDS {
        pause.tick().await;
        match launch(home, starter).await? {
            Ok(info) => return client_of(home, &info, channel),
            Err(problem) if problem.code != "already_running" => return Err(refused_to_start(problem)),
            Err(_) => {}
        }
        if let Some(client) = running(home, channel).await {
            return Ok(client);
        }
    }
    Err(Failure::unavailable(
        "server_busy",
        format!("a server holds `{}` but does not answer", home.path().display()),
        format!("see `{}`; stop that server and try again", home.log_file().display()),
    ))
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
    let mut command = tokio::process::Command::new(&starter.program);
    starter.without.iter().for_each(|name| {
        command.env_remove(name);
    });
    let mut child = command
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

fn silent(home: &Home) -> Problem {
    let tail = fs::read_to_string(home.log_file()).unwrap_or_default();
    let last = tail.lines().next_back().unwrap_or("it said nothing").to_owned();
    Problem {
        code: "server_not_ready".to_owned(),
        message: format!("it ended before it was ready: {last}"),
        hint: format!("see `{}`, or run `holdpoint serve` to watch it start", home.log_file().display()),
        field: None,
    }
}

fn refused_to_start(problem: Problem) -> Failure {
    let message = format!("the server did not start: {}", problem.message);
    Failure { exit: wire::ExitCode::Unavailable, problem: Problem { message, ..problem } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    struct Stage {
        folder: tempfile::TempDir,
        info: String,
    }

    impl Stage {
        /// A server that answers `/healthz`, and does so before anybody "started" it.
        async fn new() -> Self {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            let router = axum::Router::new().route("/healthz", axum::routing::get(|| async { "ok" }));
            tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
            let info = ServerInfo { url, pid: 1, version: "0".to_owned() };
            Self { folder: tempfile::tempdir().unwrap(), info: serde_json::to_string(&info).unwrap() }
        }

        fn home(&self) -> Home {
            Home::at(self.folder.path().join("home"))
        }

        /// Stands in for the server: a shell script that may announce the real one.
        fn starter(&self, script: &str) -> Starter {
            let program = self.folder.path().join("stand-in");
            fs::write(&program, format!("#!/bin/sh\ncd \"$HOLDPOINT_HOME\"\necho x >> starts\n{script}\n")).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
            let environment = vec![("INFO".to_owned(), self.info.clone())];
            Starter { program, arguments: Vec::new(), environment, without: &[] }
        }

        fn starts(&self) -> usize {
            fs::read_to_string(self.home().path().join("starts")).unwrap_or_default().lines().count()
        }
    }

    const GOOD: &str = r#"printf secret > token; echo "$INFO" > server.json; echo "$INFO""#;

    #[tokio::test]
    async fn two_commands_at_once_end_up_with_one_server() {
        let stage = Stage::new().await;
        let (home, starter) = (stage.home(), stage.starter(GOOD));
        let (one, two) = tokio::join!(connect(&home, &starter, "cli"), connect(&home, &starter, "cli"));
        assert_eq!(one.unwrap().url(), two.unwrap().url());
        assert_eq!(stage.starts(), 1);
    }

    #[tokio::test]
    async fn a_stale_server_file_is_no_server() {
        let stage = Stage::new().await;
        let home = stage.home();
        home.create().unwrap();
        let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let stale = format!(r#"{{"url":"http://{closed}","pid":1,"version":"0"}}"#);
        fs::write(home.path().join("server.json"), stale).unwrap();
        fs::write(home.token_file(), "secret").unwrap();
        let client = connect(&home, &stage.starter(GOOD), "cli").await.unwrap();
        assert!(client.is_healthy().await);
        assert_eq!(stage.starts(), 1);
    }

    #[tokio::test]
    async fn a_server_that_was_first_is_used() {
        let stage = Stage::new().await;
        let lost = r#"printf secret > token; echo "$INFO" > server.json
            echo '{"code":"already_running","message":"m","hint":"h"}'"#;
        let client = connect(&stage.home(), &stage.starter(lost), "cli").await.unwrap();
        assert!(client.is_healthy().await);
    }

    #[tokio::test]
    async fn a_server_that_refuses_says_why() {
        let stage = Stage::new().await;
        let damaged = r#"echo '{"code":"damaged","message":"the database is damaged","hint":"restore a copy"}'"#;
        let failure = connect(&stage.home(), &stage.starter(damaged), "cli").await.unwrap_err();
        assert_eq!(failure.exit, wire::ExitCode::Unavailable);
        assert_eq!(failure.problem.message, "the server did not start: the database is damaged");
        assert_eq!(failure.problem.hint, "restore a copy");
    }

    #[tokio::test]
    async fn a_server_that_dies_is_told_with_its_last_words() {
        let stage = Stage::new().await;
        let failure = connect(&stage.home(), &stage.starter("echo boom >&2; exit 1"), "cli").await.unwrap_err();
        assert!(failure.problem.message.ends_with("it ended before it was ready: boom"), "{failure:?}");
        assert_eq!(failure.exit, wire::ExitCode::Unavailable);
    }
}
