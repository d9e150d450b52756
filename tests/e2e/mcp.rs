//! An agent in the user's terminal, through `holdpoint mcp`: it creates a task and watches it; it decides only with the
//! right to.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use rmcp::model::{CallToolRequestParams, ClientConfig, ProgressNotificationParam, ReadResourceRequestParams};
use rmcp::service::{NotificationContext, RunningService};
use rmcp::{ClientHandler, RoleClient, ServiceExt as _};
use serde_json::{Value, json};
use tests::product::{Product, binary};
use tests::world::World;

const STORY: &str = r#"
[[conversation]]
role = "worker"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "login.txt", content = "login\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "added a login", look_at = "login.txt", how_to_test = "cat login.txt" }

[[conversation]]
role = "reviewer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", summary = "fine", findings = [] }
"#;

/// Keeps what it is told on the way.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<String>>>);

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::default()
    }

    async fn on_progress(&self, told: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.0.lock().unwrap().extend(told.message);
    }
}

struct Orchestrator {
    client: RunningService<RoleClient, Listener>,
    heard: Listener,
    _child: tokio::process::Child,
}

impl Orchestrator {
    async fn start(world: &World, arguments: &[&str]) -> Self {
        let mut child = tokio::process::Command::new(binary().unwrap())
            .arg("mcp")
            .args(arguments)
            .env("HOLDPOINT_HOME", world.home())
            .current_dir(world.repository())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let heard = Listener::default();
        let pipes = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        Self { client: heard.clone().serve(pipes).await.unwrap(), heard, _child: child }
    }

    /// Calls a tool; its answer, or what it said about why not.
    async fn call(&self, tool: &'static str, arguments: Value) -> Result<Value, String> {
        let request = CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone());
        let told = self.client.call_tool(request).await.unwrap();
        match told.is_error {
            Some(true) => Err(told.content[0].as_text().unwrap().text.clone()),
            Some(false) | None => Ok(told.structured_content.unwrap()),
        }
    }

    /// Watches a run until it has ended or needs somebody.
    async fn settle(&self, run: &str, seen: Option<&str>) -> Value {
        loop {
            let mut asked = json!({"run": run, "timeout_seconds": 60});
            if let Some(seen) = seen {
                asked["seen_holds"] = json!([seen]);
            }
            let told = self.call("watch_run", asked).await.unwrap();
            if told["outcome"] == "ended" || told["outcome"] == "waits_for_a_person" {
                return told;
            }
        }
    }
}

async fn events(product: &Product, run: &str) -> Vec<Value> {
    product.get(&format!("/api/runs/{run}/events")).await.unwrap().1.as_array().unwrap().clone()
}

/// A server whose owner lets agents name the scripted model.
async fn start(world: &World) -> Product {
    let listed = "[agents_token]\nmodels = [\"scripted/story\"]\n";
    std::fs::write(world.home().join("config.toml"), listed).unwrap();
    Product::start(&world.home(), &BTreeMap::new()).await.unwrap()
}

#[tokio::test]
async fn a_task_is_created_and_watched_over_mcp_and_decided_only_with_the_right_to() {
    let world = World::new(STORY).unwrap();
    let product = start(&world).await;
    let agent = Orchestrator::start(&world, &[]).await;

    let task =
        json!({"summary": "Add a login", "context": "## Plan\n1. Write login.txt", "models": {"*": "scripted/story"}});
    let run = agent.call("create_task", task).await.unwrap();
    let id = run["id"].as_str().unwrap().to_owned();
    assert_eq!((&run["playbook"], &run["project"]), (&json!("task"), &json!(world.repository())));
    let told = agent.settle(&id, None).await;
    assert_eq!(
        (&told["outcome"], &told["run"]["taskStatus"]),
        (&json!("waits_for_a_person"), &json!("reviewing")),
        "{told}"
    );
    assert!(!agent.heard.0.lock().unwrap().is_empty(), "there was progress on the way");

    let shown = agent.call("get_hold", json!({"run": id})).await.unwrap();
    let hold = &shown["hold"];
    assert!(shown["howToDecide"].as_str().unwrap().contains("holdpoint approve"), "{shown}");
    let diff = agent.call("get_diff", json!({"run": id})).await.unwrap();
    assert!(diff["text"].as_str().unwrap().contains("login.txt"), "{diff}");
    let why = agent.call("why", json!({"run": id})).await.unwrap();
    assert_eq!(why["run"], json!(id));
    let listed = agent.call("list_holds", json!({})).await.unwrap();
    assert_eq!(listed["holds"][0]["digest"], hold["digest"]);
    let detail = agent.call("get_run", json!({"run": id})).await.unwrap();
    assert!(!detail["artifacts"].as_array().unwrap().is_empty(), "{detail}");
    let address = format!("holdpoint://runs/{id}/artifacts/1");
    let read = agent.client.read_resource(ReadResourceRequestParams::new(address)).await.unwrap();
    assert!(serde_json::to_string(&read.contents).unwrap().contains("# Handoff"));

    let before = events(&product, &id).await;
    let yes = json!({"run": id, "decision": "approve", "digest": hold["digest"], "hold": hold["id"]});
    let refused = agent.call("decide", yes.clone()).await.unwrap_err();
    assert!(refused.contains("scope_missing") && refused.contains("holdpoint inbox"), "{refused}");
    let refused = agent.call("cancel_run", json!({"run": id})).await.unwrap_err();
    assert!(refused.contains("scope_missing"), "{refused}");
    let free = json!({"request": "Add a logout", "trust": {"planning": "auto"}, "models": {"*": "scripted/story"}});
    let refused = agent.call("create_run", free).await.unwrap_err();
    assert!(refused.contains("scope_missing") && refused.contains("`trust`"), "{refused}");
    assert_eq!(events(&product, &id).await, before, "nothing happened");
    assert_eq!(agent.call("list_runs", json!({})).await.unwrap()["runs"].as_array().unwrap().len(), 1);

    let trusted = Orchestrator::start(&world, &["--may-decide"]).await;
    let stale = json!({"run": id, "decision": "approve", "digest": "0000", "hold": hold["id"]});
    let refused = trusted.call("decide", stale).await.unwrap_err();
    assert!(refused.contains("digest_changed"), "{refused}");
    let waiting = agent.settle(&id, hold["id"].as_str());
    let (told, decided) = tokio::join!(waiting, trusted.call("decide", yes));
    decided.unwrap();
    assert_eq!((&told["outcome"], &told["run"]["status"]), (&json!("ended"), &json!("completed")), "{told}");
    let log = events(&product, &id).await;
    let by = |event: &Value| event["payload"]["by"]["channel"].clone();
    assert_eq!(by(&log[0]), "mcp", "{}", log[0]);
    let granted = log.iter().find(|event| event["payload"]["hold"] == hold_number(hold)).unwrap();
    assert_eq!(by(granted), "mcp", "{granted}");
    product.stop().await.unwrap();
}

/// The number of a hold within its run, as events have it.
fn hold_number(hold: &Value) -> Value {
    let id = hold["id"].as_str().unwrap();
    json!(id.rsplit('.').next().unwrap().parse::<u64>().unwrap())
}

const SLOW: &str = r#"
[[conversation]]
role = "worker"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "shell"
input = { command = "until test -e go; do sleep 0.1; done; rm go; echo login > login.txt" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "ask_questions"
input = { questions = [{ question = "Which colour?" }] }
"#;

#[tokio::test]
async fn the_server_may_be_killed_while_an_agent_watches() {
    let world = World::new(SLOW).unwrap();
    let product = start(&world).await;
    let agent = Orchestrator::start(&world, &[]).await;
    let task = json!({"summary": "Add a login", "context": "1. Write login.txt", "models": {"*": "scripted/story"}});
    let id = agent.call("create_task", task).await.unwrap()["id"].as_str().unwrap().to_owned();
    let killed = async {
        product.until_tool(&id, "shell").await.unwrap();
        product.kill().await.unwrap();
        std::fs::write(world.home().join(format!("runs/{id}/workspace/go")), "").unwrap();
    };
    // The watching itself starts another server, as every command does.
    let (told, ()) = tokio::join!(agent.settle(&id, None), killed);
    assert_eq!(told["run"]["hold"]["question"], "Which colour?", "{told}");
    let info: Value = serde_json::from_slice(&std::fs::read(world.home().join("server.json")).unwrap()).unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(info["pid"].as_i64().unwrap()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
}
