//! A disk that fails under a running server: it ends and says so, and the next command starts another.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::{Value, json};

const STORY: &str = "[[conversation]]\nrole = \"planner\"\n[[conversation.turn]]\ntext = \"hello\"\n";

fn git(folder: &Path, arguments: &[&str]) {
    let done = Command::new("git").arg("-C").arg(folder).args(arguments).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// A server that survives SIGXFSZ, so that a limit on the size of files makes its writes fail as a disk does.
fn serve(home: &Path) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_holdpoint"), "--json", "serve"]);
    command.env("HOLDPOINT_HOME", home).env("USER", "ada").env_remove("ORCHESTRATOR_PORT");
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn holdpoint(home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.env("HOLDPOINT_HOME", home).env("USER", "ada").env_remove("ORCHESTRATOR_PORT");
    command.args(arguments).output().unwrap()
}

/// Ends the server that a command started, however the test ends.
struct Leftover<'a>(&'a Path);

impl Drop for Leftover<'_> {
    fn drop(&mut self) {
        let info = std::fs::read(self.0.join("server.json")).unwrap_or_default();
        let info: Value = serde_json::from_slice(&info).unwrap_or_default();
        let pid = info["pid"].as_i64().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        if let Some(pid) = pid {
            let _gone = kill_process(pid, Signal::KILL);
        }
    }
}

/// Ends a process of this test, if it still runs.
struct Ended(Pid);

impl Drop for Ended {
    fn drop(&mut self) {
        let _gone = kill_process(self.0, Signal::KILL);
    }
}

#[tokio::test]
async fn a_server_whose_disk_fails_ends_with_a_message_and_the_next_command_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (home, repository) = (folder.path().join("home"), folder.path().join("repository"));
    std::fs::create_dir_all(home.join("scripts")).unwrap();
    std::fs::write(home.join("scripts/story.toml"), STORY).unwrap();
    std::fs::create_dir_all(&repository).unwrap();
    git(&repository, &["init", "-q", "-b", "main"]);
    git(&repository, &["-c", "user.name=t", "-c", "user.email=t@t.test", "commit", "-q", "--allow-empty", "-m", "x"]);
    let mut server = serve(&home);
    let pid = Pid::from_child(&server);
    let guard = Ended(pid);
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let info: Value = serde_json::from_str(&line).unwrap();
    let token = std::fs::read_to_string(home.join("token")).unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let start = |request: &str| {
        let models = json!({"*": "scripted/story"});
        let body = json!({"project": repository, "request": request, "models": models});
        client.post(format!("{}/api/runs", info["url"].as_str().unwrap())).bearer_auth(&token).json(&body).send()
    };
    let taken = start("the first").await.unwrap();
    assert_eq!(taken.status().as_u16(), 201);
    let id = taken.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned();

    prlimit(Some(pid), Resource::Fsize, Rlimit { current: Some(1), maximum: None }).unwrap();
    let refused = start("the second").await;
    assert!(refused.is_err() || refused.unwrap().status().is_server_error());

    let status = tokio::task::spawn_blocking(move || {
        let mut said = String::new();
        server.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (server.wait().unwrap(), said)
    });
    let ended = tokio::time::timeout(std::time::Duration::from_secs(60), status).await;
    let (status, said) = ended.expect("the server ends by itself").unwrap();
    std::mem::forget(guard);
    assert_eq!(status.code(), Some(5), "{said}");
    assert!(said.contains("nothing could be written any more"), "{said}");

    let _leftover = Leftover(&home);
    let listed = holdpoint(&home, &["--json", "list"]);
    let runs: Value = serde_json::from_slice(&listed.stdout).unwrap_or_default();
    let kept = runs.as_array().is_some_and(|runs| runs.iter().any(|run| run["id"] == *id));
    assert!(kept, "{}{}", String::from_utf8_lossy(&listed.stdout), String::from_utf8_lossy(&listed.stderr));
}
