//! Users and logins through the command line, with the real server.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

/// The real server of a data directory, ended with the test.
struct Server {
    home: tempfile::TempDir,
    process: Child,
    url: String,
}

impl Server {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut command = holdpoint(home.path());
        let mut process = command.args(["--json", "serve"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let info: Value = serde_json::from_str(&line).unwrap();
        Self { home, process, url: info["url"].as_str().unwrap().to_owned() }
    }

    fn call(&self, arguments: &[&str]) -> Output {
        holdpoint(self.home.path()).args(arguments).output().unwrap()
    }

    fn said(&self, arguments: &[&str]) -> String {
        let done = self.call(arguments);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}

fn holdpoint(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.env("HOLDPOINT_HOME", home).env("USER", "ada").env_remove("ORCHESTRATOR_PORT").stderr(Stdio::piped());
    command
}

async fn me(server: &Server, token: &str) -> (u16, Value) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let answer = client.get(format!("{}/api/me", server.url)).bearer_auth(token).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

#[tokio::test]
async fn a_user_is_let_in_listed_and_let_out_again() {
    let server = Server::start();
    assert!(server.said(&["user", "list"]).starts_with("nobody but you"));
    let token = server.said(&["user", "add", "grace", "--role", "reviewer"]);
    assert_eq!(me(&server, &token).await, (200, json!({"name": "grace", "role": "reviewer"})));
    let listed = server.said(&["user", "list"]);
    assert!(listed.contains("grace") && listed.contains("reviewer") && !listed.contains(&token), "{listed}");
    let again = server.call(&["user", "add", "grace", "--role", "admin"]);
    assert!(!again.status.success() && String::from_utf8_lossy(&again.stderr).contains("already"));
    server.said(&["user", "revoke", "grace"]);
    assert_eq!(me(&server, &token).await.0, 401);
}

#[tokio::test]
async fn a_link_logs_a_browser_in_once_as_who_it_was_made_for() {
    let server = Server::start();
    server.said(&["user", "add", "grace", "--role", "viewer"]);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    for (arguments, name, role) in
        [(&["open"][..], "ada", "admin"), (&["open", "--user", "grace"][..], "grace", "viewer")]
    {
        let link = server.said(arguments);
        let (page, code) = link.split_once('#').unwrap();
        assert_eq!(page, format!("{}/login", server.url));
        let log_in = || {
            let request = client.post(format!("{}/api/login", server.url)).header("origin", &server.url);
            request.json(&json!({"code": code})).send()
        };
        let answer = log_in().await.unwrap();
        assert_eq!(answer.status().as_u16(), 200);
        assert!(answer.headers()["set-cookie"].to_str().unwrap().starts_with("holdpoint="));
        assert_eq!(answer.json::<Value>().await.unwrap(), json!({"name": name, "role": role}));
        assert_eq!(log_in().await.unwrap().status().as_u16(), 401);
    }
    let nobody = server.call(&["open", "--user", "nobody"]);
    assert_eq!(nobody.status.code(), Some(2), "{}", String::from_utf8_lossy(&nobody.stderr));
}
