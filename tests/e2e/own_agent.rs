//! Bring your own agent: a shell script as implementer, from the request to the merged branch. The script is the one of
//! the guide, so that the guide is true.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use tests::product::{Product, command};
use tests::world::World;

const OTHERS: &str = r##"
[[conversation]]
role = "planner"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_plan"
input = { title = "Who it is for", body = "# Who it is for\n\n```mermaid\nflowchart TD\n  A[Ask] --> B[Say]\n```\n" }

[[conversation]]
role = "validator"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", severity = "minor", summary = "fine" }
"##;

/// The script between the marks of the guide.
fn script_of_the_guide() -> String {
    let guide = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/bring-your-own-agent.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let (_, rest) = guide.split_once("```sh agent.sh\n").unwrap();
    rest.split_once("```\n").unwrap().0.to_owned()
}

/// A repository that has this script.
fn world(script: &str) -> World {
    let world = World::new(OTHERS).unwrap();
    let path = world.repository().join("agent.sh");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    world.git(&["add", "agent.sh"]).unwrap();
    world.git(&["commit", "--quiet", "--message", "An agent"]).unwrap();
    world
}

fn body(world: &World, program: &str, check: &str) -> Value {
    json!({
        "project": world.repository(), "request": "Say who it is for", "autoMerge": true,
        "trust": {"planning": "auto", "implementation": "auto", "fixes": "auto"},
        "models": {"*": "scripted/story"}, "programs": {"implementer": program},
        "checks": [{"name": "said", "command": check}],
    })
}

fn settled(view: &Value) -> bool {
    view["completedAt"].is_string() || view["hold"].is_object()
}

async fn worked(world: &World, program: &str, check: &str) -> (Product, Value) {
    let product = Product::start(&world.home(), &BTreeMap::new()).await.unwrap();
    let run = product.run(None, &body(world, program, check)).await.unwrap();
    let view = product.until(run["id"].as_str().unwrap(), settled).await.unwrap();
    (product, view)
}

async fn verified(world: &World, product: Product) {
    product.stop().await.unwrap();
    let said = command(&world.repository(), &world.home(), &["verify"]).await.unwrap();
    let said = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    assert!(said.ends_with(" 0 violations"), "{said}");
}

#[tokio::test]
async fn the_script_of_the_guide_asks_is_answered_and_its_change_is_checked_and_merged() {
    let script = script_of_the_guide();
    assert!(script.lines().count() <= 10, "the guide says ten lines");
    let world = world(&script);
    let (product, view) =
        worked(&world, "command:./agent.sh", "grep -q 'for everybody' README.md && ! test -e TASK.md").await;
    let hold = &view["hold"];
    assert_eq!((&hold["kind"], &hold["question"]), (&"clarification".into(), &"Who is this for?".into()), "{view}");
    let (status, answer) =
        product.decide(&view, &json!({"decision": "answer", "answer": ["everybody"]})).await.unwrap();
    assert_eq!(status, 200, "{answer}");
    let view = product.until(view["id"].as_str().unwrap(), settled).await.unwrap();
    assert_eq!(view["status"], "completed", "{view}");
    assert_eq!(world.git(&["show", "main:README.md"]).unwrap(), "# Sample\nMade for everybody.");
    let all = world.git(&["log", "--all", "--name-only", "--format="]).unwrap();
    assert!(all.contains("README.md") && !all.contains("TASK.md"), "{all}");
    verified(&world, product).await;
}

#[tokio::test]
async fn a_script_that_fails_has_crashed_and_is_stuck_with_its_last_words() {
    let world = world("#!/bin/sh\necho half > half.txt\necho 'no paper left'\nexit 1\n");
    let (product, view) = worked(&world, "command:./agent.sh", "true").await;
    assert_eq!(view["hold"]["kind"], "stuck", "{view}");
    let (_, events) = product.get(&format!("/api/runs/{}/events", view["id"].as_str().unwrap())).await.unwrap();
    let crashes: Vec<&Value> =
        events.as_array().unwrap().iter().filter(|event| event["type"] == "AGENT_CRASHED").collect();
    assert_eq!(crashes.len(), 2, "{events}");
    for crash in crashes {
        let told = crash.to_string();
        assert!(told.contains("exit code 1") && told.contains("no paper left"), "{told}");
    }
    verified(&world, product).await;
}

#[tokio::test]
async fn a_program_that_asks_for_more_than_the_limit_waits_for_money_and_did_not_crash() {
    let ask = r#"#!/bin/sh
exec node -e '
const body = JSON.stringify({ model: process.env.HOLDPOINT_MODEL, max_tokens: 1e7, messages: [] });
const headers = { "content-type": "application/json" };
fetch(process.env.OPENAI_BASE_URL + "/chat/completions", { method: "POST", headers, body })
  .then((answer) => process.exit(answer.ok ? 0 : 1));'
"#;
    let world = world(ask);
    let product = Product::start(&world.home(), &BTreeMap::new()).await.unwrap();
    let mut body = body(&world, "command:./agent.sh", "true");
    body["budgetUsd"] = json!(5.0);
    let run = product.run(None, &body).await.unwrap();
    let view = product.until(run["id"].as_str().unwrap(), settled).await.unwrap();
    assert_eq!(view["hold"]["kind"], "budget", "{view}");
    verified(&world, product).await;
}

#[tokio::test]
async fn a_script_that_ends_well_and_changes_nothing_is_not_done() {
    let world = world("#!/bin/sh\necho 'all is done'\n");
    let (product, view) = worked(&world, "command:./agent.sh", "true").await;
    assert_eq!(view["hold"]["kind"], "stuck", "{view}");
    verified(&world, product).await;
}

#[tokio::test]
async fn the_task_comes_as_a_file_as_an_argument_and_on_standard_input() {
    let world = world(
        "#!/bin/sh\nset -eu\ncat > read.txt\ncmp \"$1\" \"$HOLDPOINT_PROMPT_FILE\"\nprintf '%s\\n' \"$2\" | cmp - read.txt\n\
         grep -q 'Say who it is for' read.txt\ntest \"$PWD\" = \"$HOLDPOINT_WORKSPACE\"\n",
    );
    let (product, view) = worked(&world, "command:./agent.sh {file} {prompt}", "test -s read.txt").await;
    assert_eq!(view["status"], "completed", "{view}");
    verified(&world, product).await;
}

#[tokio::test]
async fn a_script_that_reads_nothing_and_prints_much_is_done_all_the_same() {
    let world = world(
        "#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' 'x'\nyes 'a line' | head -n 100000\necho done > done.txt\n",
    );
    let body = |request: &str| {
        let mut body = body(&world, "command:./agent.sh", "test -f done.txt");
        body["request"] = json!(request);
        body
    };
    let product = Product::start(&world.home(), &BTreeMap::new()).await.unwrap();
    // More than a pipe holds.
    let run = product.run(None, &body(&"Say who it is for. ".repeat(3_400))).await.unwrap();
    let view = product.until(run["id"].as_str().unwrap(), settled).await.unwrap();
    assert_eq!(view["status"], "completed", "{view}");
    verified(&world, product).await;
}
