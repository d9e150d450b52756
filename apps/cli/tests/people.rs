//! Users and logins through the command line, with the real server.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

/// The real server of a data directory, ended with the test.
struct Server {
    home: Option<tempfile::TempDir>,
    process: Child,
    url: String,
}

impl Server {
    fn start() -> Self {
        Self::at(tempfile::tempdir().unwrap(), &[])
    }

    fn at(home: tempfile::TempDir, arguments: &[&str]) -> Self {
        let mut command = holdpoint(home.path());
        let mut process = command.args(["--json", "serve"]).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let info: Value = serde_json::from_str(&line).unwrap();
        Self { home: Some(home), process, url: info["url"].as_str().unwrap().to_owned() }
    }

    fn call(&self, arguments: &[&str]) -> Output {
        holdpoint(self.home.as_ref().unwrap().path()).args(arguments).output().unwrap()
    }

    fn said(&self, arguments: &[&str]) -> String {
        let done = self.call(arguments);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }
}

impl Server {
    /// Ends it; its data directory stays.
    fn end(mut self) -> tempfile::TempDir {
        self.home.take().unwrap()
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

#[tokio::test]
async fn being_reachable_from_elsewhere_takes_a_proxy_with_tls_and_named_users() {
    let home = tempfile::tempdir().unwrap();
    let proxy = ["--behind-proxy", "https://hold.example"];
    for (arguments, code) in [
        (&["--listen", "0.0.0.0"][..], "not_encrypted"),
        (&["--listen", "::"][..], "not_encrypted"),
        (&proxy[..], "no_users"),
        (&["--listen", "0.0.0.0", proxy[0], proxy[1]][..], "no_users"),
    ] {
        let refused = holdpoint(home.path()).args(["--json", "serve"]).args(arguments).output().unwrap();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(5), "{said}");
        let problem: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
        assert_eq!(problem["code"], code, "{said}");
    }
    let plain = holdpoint(home.path()).args(["serve", "--behind-proxy", "http://hold.example"]).output().unwrap();
    assert_eq!(plain.status.code(), Some(2), "a proxy that does not encrypt is none");

    let server = Server::at(home, &[]);
    server.said(&["user", "add", "grace", "--role", "viewer"]);
    let home = server.end();
    let server = Server::at(home, &proxy);
    let link = server.said(&["open", "--user", "grace"]);
    let code = link.strip_prefix("https://hold.example/login#").unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let log_in = |origin: &str, host: &str| {
        let request = client.post(format!("{}/api/login", server.url)).header("origin", origin).header("host", host);
        request.json(&json!({"code": code})).send()
    };
    assert_eq!(log_in("http://hold.example", "hold.example").await.unwrap().status().as_u16(), 403);
    assert_eq!(log_in("https://hold.example", "evil.test").await.unwrap().status().as_u16(), 421);
    let answer = log_in("https://hold.example", "hold.example").await.unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    assert!(answer.headers()["set-cookie"].to_str().unwrap().ends_with("; Secure"));
}
