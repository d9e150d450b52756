//! Whole runs through the real binary.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tests::product::{Product, command};
use tests::world::World;

const PLAN: &str = r##"
[[conversation]]
role = "planner"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_plan"
input = { title = "A note", body = "# A note\n\n```mermaid\nflowchart TD\n  A[Ask] --> B[Note]\n```\n" }
"##;

const PASS: &str = r#"
[[conversation]]
role = "validator"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", severity = "minor", summary = "fine" }
"#;

/// A story in which the implementer runs one shell command and completes.
pub(crate) fn story(command: &str) -> String {
    let command = serde_json::to_string(command).unwrap();
    format!(
        "{PLAN}\n[[conversation]]\nrole = \"implementer\"\n[[conversation.turn]]\n[[conversation.turn.call]]\n\
         tool = \"shell\"\ninput = {{ command = {command} }}\n[[conversation.turn]]\n[[conversation.turn.call]]\n\
         tool = \"complete_pulse\"\ninput = {{ summary = \"done\" }}\n{PASS}"
    )
}

fn body(world: &World, request: &str) -> Value {
    json!({
        "project": world.repository(),
        "request": request,
        "trust": {"planning": "auto", "implementation": "auto", "fixes": "auto"},
        "models": {"planner": "scripted/story", "implementer": "scripted/story", "validator": "scripted/story"},
        "autoMerge": true,
        "checks": [{"name": "there", "command": "test -d notes"}],
    })
}

async fn start(world: &World) -> Product {
    Product::start(&world.home(), &BTreeMap::new()).await.unwrap()
}

fn ended(view: &Value) -> bool {
    view["completedAt"].is_string() || view["hold"].is_object()
}

/// `holdpoint verify` over a world's history; what it printed.
pub(crate) async fn verify(world: &World) -> String {
    let output = command(&world.repository(), &world.home(), &["verify"]).await.unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[tokio::test]
async fn thirty_runs_at_once_on_one_repository_all_end_and_leave_nothing_behind() {
    let name = "notes/$(echo $HOLDPOINT_ATTEMPT | tr / -).txt";
    let world = World::new(&story(&format!("mkdir -p notes && echo hello > {name}"))).unwrap();
    let product = start(&world).await;
    let bodies: Vec<Value> = (1..=30).map(|n| body(&world, &format!("Leave note {n}"))).collect();
    let started = futures_util::future::join_all(bodies.iter().map(|body| product.run(None, body))).await;
    let ids: Vec<String> = started.into_iter().map(|run| run.unwrap()["id"].as_str().unwrap().to_owned()).collect();
    let views = futures_util::future::join_all(ids.iter().map(|id| product.until(id, ended))).await;
    for view in views {
        let view = view.unwrap();
        assert_eq!(view["status"], "completed", "{view}");
    }
    assert_eq!(world.git(&["rev-list", "--count", "main"]).unwrap(), "31", "one squash commit a run");
    assert_eq!(world.git(&["status", "--porcelain"]).unwrap(), "");
    assert_eq!(std::fs::read_dir(world.repository().join("notes")).unwrap().count(), 30);
    for id in &ids {
        let left: Vec<_> = std::fs::read_dir(world.home().join("runs").join(id)).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "only the conversations of {id} are kept: {left:?}");
    }
    assert_eq!(processes_of(&world), Vec::<String>::new());
    product.stop().await.unwrap();
    let said = verify(&world).await;
    assert!(said.ends_with(" 0 violations"), "{said}");
}

/// Processes, other than servers, whose command line or environment names this world.
fn processes_of(world: &World) -> Vec<String> {
    let home = world.home().display().to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(command) = std::fs::read(entry.path().join("cmdline")) else { continue };
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        let named = command.contains(&home) || String::from_utf8_lossy(&environment).contains(&home);
        if named && !command.contains(" serve ") {
            found.push(command);
        }
    }
    found
}

#[tokio::test]
async fn history_that_was_edited_and_chained_anew_does_not_fit_its_record_in_git() {
    let world = World::new(&story("mkdir notes && echo x > notes/x")).unwrap();
    let product = start(&world).await;
    let run = product.run(None, &body(&world, "Leave a note")).await.unwrap();
    let id = run["id"].as_str().unwrap();
    let view = product.until(id, |view| view["completedAt"].is_string()).await.unwrap();
    assert_eq!(view["status"], "completed", "{view}");
    product.stop().await.unwrap();
    let output = command(&world.repository(), &world.home(), &["--json", "verify"]).await.unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["records"], &found["found"]), (&json!(1), &json!([])), "{found}");
    // Whoever does this knows how the chain is made: the database is chained anew over what they wrote.
    let database = rusqlite::Connection::open(world.home().join("holdpoint.db")).unwrap();
    let edit = "UPDATE workflow_events SET timestamp = timestamp - 1 WHERE sequence = 2;
        ALTER TABLE workflow_events DROP COLUMN run_hash; ALTER TABLE workflow_events DROP COLUMN log_hash;
        PRAGMA user_version = 3;";
    database.execute_batch(edit).unwrap();
    drop(database);
    let found = verify(&world).await;
    assert!(found.contains("is not the one that its record in git is of"), "{found}");
}

#[tokio::test]
async fn a_merge_of_another_tree_than_the_validated_one_is_found() {
    let world = World::new(&story("mkdir notes && echo x > notes/x")).unwrap();
    let product = start(&world).await;
    let run = product.run(None, &body(&world, "Leave a note")).await.unwrap();
    let id = run["id"].as_str().unwrap();
    let view = product.until(id, |view| view["completedAt"].is_string()).await.unwrap();
    assert_eq!(view["status"], "completed", "{view}");
    product.stop().await.unwrap();
    assert!(verify(&world).await.contains("0 violations"));
    // The log says that the base was what every gate passed for.
    let base = world.git(&["rev-parse", "main~1"]).unwrap();
    let database = rusqlite::Connection::open(world.home().join("holdpoint.db")).unwrap();
    let edit = "UPDATE workflow_events SET payload = json_set(payload, '$.validated', ?1) WHERE type = 'BRANCH_MERGED'";
    assert_eq!(database.execute(edit, [&base]).unwrap(), 1);
    drop(database);
    let found = verify(&world).await;
    assert!(found.contains("was merged with changes that were not validated") && found.contains("notes/x"), "{found}");
}

#[tokio::test]
async fn a_hostile_workspace_runs_no_code_outside_and_changes_nothing_outside() {
    let attack = "mkdir -p notes && echo x > notes/a.txt
        rm -rf .git && git init -q . && git config core.fsmonitor 'touch /tmp/canary-fsmonitor-HP; false'
        mkdir -p .git/hooks && for h in pre-commit post-checkout reference-transaction; do printf '#!/bin/sh\\ntouch /tmp/canary-hook-HP\\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done
        git config filter.evil.clean 'touch /tmp/canary-filter-HP; cat' && echo '*.txt filter=evil' > .gitattributes
        echo pwned > ../../../../sample/README.md; echo pwned >> ../../../token; echo pwned > /tmp/canary-plain-HP-outside
        true";
    let world = World::new(&story(attack)).unwrap();
    let canary = world.outside().join("canary");
    std::fs::write(&canary, "alive").unwrap();
    let config = std::fs::read(world.repository().join(".git/config")).unwrap();
    let product = start(&world).await;
    let run = product.run(None, &body(&world, "Leave a note")).await.unwrap();
    let id = run["id"].as_str().unwrap();
    // Every gate is open, but a file that steers git is shown to a person all the same.
    let view = product.until(id, ended).await.unwrap();
    assert_eq!(view["hold"]["artifact"]["risks"][0]["kind"], "hooks", "{view}");
    let (status, answer) = product.decide(&view, &json!({"decision": "approve"})).await.unwrap();
    assert_eq!(status, 200, "{answer}");
    let view = product.until(id, |view| view["completedAt"].is_string()).await.unwrap();
    assert_eq!(view["status"], "completed", "{view}");
    for name in ["canary-fsmonitor-HP", "canary-hook-HP", "canary-filter-HP", "canary-plain-HP-outside"] {
        assert!(!std::path::Path::new("/tmp").join(name).exists(), "{name}: code ran outside");
    }
    assert_eq!(std::fs::read_to_string(world.repository().join("README.md")).unwrap(), "# Sample\n");
    assert_eq!(std::fs::read(world.repository().join(".git/config")).unwrap(), config);
    assert_eq!(std::fs::read_to_string(&canary).unwrap(), "alive");
    let token = std::fs::read_to_string(world.home().join("token")).unwrap();
    assert!(!token.contains("pwned"));
    product.stop().await.unwrap();
}

#[tokio::test]
async fn a_workspace_that_cannot_be_committed_goes_back_to_the_agent_and_then_to_a_person() {
    for trick in ["git init -q nested", "ln -s /etc/passwd out", "mkfifo pipe"] {
        let world = World::new(&story(&format!("mkdir -p notes && touch notes/a && {trick}"))).unwrap();
        let product = start(&world).await;
        let run = product.run(None, &body(&world, "Leave a note")).await.unwrap();
        let view = product.until(run["id"].as_str().unwrap(), ended).await.unwrap();
        assert_eq!(view["hold"]["kind"], "stuck", "{trick}: {view}");
        product.stop().await.unwrap();
    }
}

#[tokio::test]
async fn a_killed_agent_is_a_crash_and_the_run_goes_on_after_its_last_turn() {
    killed_in_its_second_turn("agent").await;
}

#[tokio::test]
async fn a_killed_shim_is_a_crash_and_the_run_goes_on_after_its_last_turn() {
    killed_in_its_second_turn("shim").await;
}

/// The implementer thinks slowly in its second turn; the process of that name is killed meanwhile.
async fn killed_in_its_second_turn(process: &str) {
    let slow = story("mkdir -p notes && echo hello > notes/a.txt").replacen(
        "[[conversation.turn.call]]\ntool = \"complete_pulse\"",
        "delay_ms = 1500\n[[conversation.turn.call]]\ntool = \"complete_pulse\"",
        1,
    );
    let world = World::new(&slow).unwrap();
    let product = start(&world).await;
    let run = product.run(None, &body(&world, "Leave a note")).await.unwrap();
    let id = run["id"].as_str().unwrap();
    product.until_turn(id, "implementation", 2).await.unwrap();
    kill(&world, process);
    let view = tokio::time::timeout(Duration::from_secs(60), product.until(id, ended)).await.unwrap().unwrap();
    assert_eq!(view["status"], "completed", "{view}");
    let (_, events) = product.get(&format!("/api/runs/{id}/events")).await.unwrap();
    let count = |kind: &str| events.as_array().unwrap().iter().filter(|event| event["type"] == kind).count();
    assert_eq!(count("AGENT_CRASHED"), 1);
    assert_eq!(world.git(&["rev-list", "--count", "main"]).unwrap(), "2");
    product.stop().await.unwrap();
}

#[tokio::test]
async fn a_check_whose_supervisor_is_killed_is_run_again_and_nobody_is_asked() {
    let world = World::new(&story("mkdir -p notes && echo hello > notes/a.txt")).unwrap();
    let product = start(&world).await;
    let mut body = body(&world, "Leave a note");
    body["checks"] = serde_json::json!([{"name": "slow", "command": "touch started; sleep 2"}]);
    let run = product.run(None, &body).await.unwrap();
    let id = run["id"].as_str().unwrap();
    product.until(id, |view| view["stage"] == "validation").await.unwrap();
    let folder = world.home().join("runs").join(id);
    let started = || {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path().join("started")).any(|file| file.exists())
    };
    while !started() {
        tokio::task::yield_now().await;
    }
    kill(&world, "shim");
    let view = product.until(id, |view| ended(view) || view["hold"].is_object()).await.unwrap();
    assert_eq!(view["status"], "completed", "{view}");
    product.stop().await.unwrap();
}

/// Kills the implementer's agent or shim, found by the session or spool in its arguments and open files.
fn kill(world: &World, process: &str) {
    let home = world.home().display().to_string();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let Ok(command) = std::fs::read(entry.path().join("cmdline")) else { continue };
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        let is_ours = match process {
            "agent" => {
                command.contains(" agent work --session") && command.contains(&home) && !command.contains("bwrap")
            }
            _ => command.trim_end().ends_with(" shim") && holds_a_file_of(&entry.path(), &home),
        };
        if is_ours && !command.contains(" inside ") {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            // It may have ended by itself.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

fn holds_a_file_of(process: &std::path::Path, home: &str) -> bool {
    let open = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    open.filter_map(|entry| std::fs::read_link(entry.path()).ok()).any(|path| path.display().to_string().contains(home))
}
