//! Several agents, stages with a say, a project's own playbook: through the product, with the real agent.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tests::product::Product;
use tests::world::World;

fn call(tool: &str, input: &str) -> String {
    format!("\n[[conversation.turn]]\n[[conversation.turn.call]]\ntool = \"{tool}\"\ninput = {input}\n")
}

fn conversation(role: &str, when: Option<&str>, turns: &[String]) -> String {
    let when = when.map(|when| format!("when = [\"{when}\"]\n")).unwrap_or_default();
    format!("\n[[conversation]]\nrole = \"{role}\"\n{when}{}", turns.concat())
}

fn writes(path: &str, text: &str) -> String {
    call("write_file", &format!("{{ path = \"{path}\", content = \"{text}\\n\" }}"))
}

fn done() -> String {
    call("complete_pulse", "{ summary = \"It is there\" }")
}

fn passes(role: &str) -> String {
    conversation(role, None, &[call("complete_review", "{ verdict = \"pass\", summary = \"As asked\" }")])
}

fn gives_up() -> String {
    "\n[[conversation.turn]]\ntext = \"I do not know how.\"\n".to_owned()
}

/// Five tasks, of which `docs` needs `api` and `tests` needs `model`; the one of `ui` is worked so.
fn team(ui: &[String]) -> String {
    let tasks = r#"{ summary = "Five files", tasks = [
      { id = "api", title = "Write the api", description = "src/api.sh", files = ["src/api.sh"] },
      { id = "model", title = "Write the model", description = "src/model.sh", files = ["src/model.sh"] },
      { id = "ui", title = "Write the ui", description = "src/ui.sh", files = ["src/ui.sh"] },
      { id = "docs", title = "Write the docs", description = "docs.md", files = ["docs.md"], dependsOn = ["api"] },
      { id = "tests", title = "Write the tests", description = "src/t.sh", files = ["src/t.sh"], dependsOn = ["model", "ui"] },
    ] }"#
    .replace('\n', " ");
    let worker = |task: &str, path: &str| {
        conversation("implementer", Some(&format!("Write the {task}")), &[writes(path, "echo x"), done()])
    };
    [
        conversation("architect", None, &[call("submit_plan", &tasks)]),
        worker("api", "src/api.sh"),
        worker("model", "src/model.sh"),
        worker("docs", "docs.md"),
        worker("tests", "src/t.sh"),
        conversation("implementer", Some("Write the ui"), ui),
        passes("reviewer"),
    ]
    .concat()
}

fn body(world: &World, playbook: &str) -> Value {
    json!({
        "project": world.repository(), "request": "Build the tool", "playbook": playbook, "autoMerge": true,
        "skipClarification": true, "models": {"*": "scripted/story"},
        "trust": {"planning": "auto", "implementation": "auto", "fixes": "auto"},
    })
}

async fn start(world: &World) -> Product {
    Product::start(&world.home(), &BTreeMap::new()).await.unwrap()
}

fn settled(view: &Value) -> bool {
    view["completedAt"].is_string() || view["hold"].is_object()
}

async fn says(product: &Product, view: &Value, decision: Value) {
    let (status, answer) = product.decide(view, &decision).await.unwrap();
    assert_eq!(status, 200, "{answer}");
}

/// Starts a run, says yes to its plan, and waits until it has ended or waits for something else.
async fn planned(product: &Product, body: &Value) -> Value {
    let run = product.run(None, body).await.unwrap();
    let id = run["id"].as_str().unwrap();
    let view = product.until(id, settled).await.unwrap();
    assert_eq!((&view["hold"]["kind"], &view["stage"]), (&json!("approval"), &json!("planning")), "{view}");
    says(product, &view, json!({"decision": "approve"})).await;
    let planning = view["hold"]["id"].clone();
    product.until(id, |view| settled(view) && view["hold"]["id"] != planning).await.unwrap();
    product.get(&format!("/api/runs/{id}")).await.unwrap().1
}

fn states(view: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    view["tasks"].as_array().unwrap().iter().map(|task| (text(&task["id"]), text(&task["status"]))).collect()
}

async fn kinds(product: &Product, view: &Value) -> Vec<String> {
    let id = view["id"].as_str().unwrap();
    let (_, events) = product.get(&format!("/api/runs/{id}/events")).await.unwrap();
    events.as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn five_tasks_are_worked_by_several_agents_and_land_as_one() {
    let world = World::new(&team(&[writes("src/ui.sh", "echo ui"), done()])).unwrap();
    let product = start(&world).await;
    let mut body = body(&world, "team");
    body["checks"] = json!([{"name": "syntax", "command": "for f in src/*.sh; do sh -n $f || exit 1; done"}]);
    let view = planned(&product, &body).await;
    assert_eq!(view["status"], "completed", "{view}");
    assert!(states(&view).iter().all(|(_, status)| status == "merged"), "{view}");
    assert_eq!(view["groups"], json!([["api", "model", "ui"], ["docs", "tests"]]), "{view}");
    let on_main = world.git(&["ls-tree", "-r", "--name-only", "main"]).unwrap();
    for path in ["src/api.sh", "src/model.sh", "src/ui.sh", "docs.md", "src/t.sh"] {
        assert!(on_main.lines().any(|line| line == path), "{path} in {on_main}");
    }
    let branch = view["branch"].as_str().unwrap();
    let merges = world.git(&["log", "--merges", "--first-parent", "--format=%s", branch]).unwrap();
    assert_eq!(merges.lines().count(), 5, "{merges}");
    assert_eq!(world.git(&["status", "--porcelain"]).unwrap(), "");
    product.stop().await.unwrap();
}

#[tokio::test]
async fn under_continue_a_failed_task_leaves_out_its_dependents_and_a_person_looks_before_it_is_merged() {
    let world = World::new(&team(&[gives_up()])).unwrap();
    let product = start(&world).await;
    let mut body = body(&world, "team");
    body["onFailure"] = json!("continue");
    let view = planned(&product, &body).await;
    assert_eq!(view["hold"]["kind"], "review", "{view}");
    assert!(view["hold"]["summary"].as_str().unwrap().contains("not done: ui, tests"), "{view}");
    let of = |wanted: &str| states(&view).into_iter().find(|(id, _)| id == wanted).map(|(_, status)| status);
    assert_eq!(
        (of("ui"), of("tests"), of("docs")),
        (Some("failed".into()), Some("skipped".into()), Some("merged".into()))
    );
    says(&product, &view, json!({"decision": "approve"})).await;
    let view = product.until(view["id"].as_str().unwrap(), |view| view["completedAt"].is_string()).await.unwrap();
    assert_eq!(view["status"], "completed", "{view}");
    assert!(!world.git(&["ls-tree", "-r", "--name-only", "main"]).unwrap().contains("src/ui.sh"));
    product.stop().await.unwrap();
}

#[tokio::test]
async fn under_retry_a_failed_task_is_tried_once_more() {
    let world = World::new(&team(&[gives_up()])).unwrap();
    let product = start(&world).await;
    let view = planned(&product, &body(&world, "team")).await;
    assert_eq!(view["hold"]["kind"], "review", "{view}");
    let kinds = kinds(&product, &view).await;
    assert_eq!(kinds.iter().filter(|kind| *kind == "TASK_RETRIED").count(), 1, "{kinds:?}");
    assert_eq!(kinds.iter().filter(|kind| *kind == "TASK_FAILED").count(), 1, "{kinds:?}");
    product.stop().await.unwrap();
}

#[tokio::test]
async fn under_stop_a_failed_task_fails_the_run_and_ends_its_other_children() {
    let world = World::new(&team(&[gives_up()])).unwrap();
    let product = start(&world).await;
    let mut body = body(&world, "team");
    body["onFailure"] = json!("stop");
    let view = planned(&product, &body).await;
    assert_eq!(view["status"], "failed", "{view}");
    assert!(view["failure"].as_str().unwrap().contains("task `ui` failed"), "{view}");
    let id = view["id"].as_str().unwrap();
    let (_, children) = product.get(&format!("/api/runs?parent={id}&limit=50")).await.unwrap();
    for child in children.as_array().unwrap() {
        product.until(child["id"].as_str().unwrap(), |view| view["completedAt"].is_string()).await.unwrap();
    }
    product.stop().await.unwrap();
}

#[tokio::test]
async fn a_staged_run_asks_three_times_takes_changes_each_time_and_goes_to_review_by_itself() {
    let plan =
        r#"{ summary = "One pulse", tasks = [{ id = "note", title = "Leave a note", description = "note.txt" }] }"#;
    let story = [
        conversation("scoper", None, &[call("submit_scope", r#"{ summary = "A note", in_scope = ["a note"], out_of_scope = ["a novel"], constraints = ["short"] }"#)]),
        conversation("researcher", None, &[call("submit_research", r#"{ summary = "Little", key_files = [{ path = "README.md", why = "the only text" }], patterns = ["plain text"], recommendations = ["keep it short"] }"#)]),
        conversation("planner", None, &[call("submit_plan", plan)]),
        conversation("implementer", None, &[writes("note.txt", "hello"), done()]),
        passes("reviewer"),
    ]
    .concat();
    let world = World::new(&story).unwrap();
    let product = start(&world).await;
    let run = product.run(None, &body(&world, "staged")).await.unwrap();
    let id = run["id"].as_str().unwrap();
    for stage in ["scoping", "research", "planning"] {
        let first = product.until(id, |view| settled(view) && view["stage"] == stage).await.unwrap();
        assert_eq!(first["hold"]["kind"], "approval", "{first}");
        says(&product, &first, json!({"decision": "reject", "text": "shorter"})).await;
        let hold = first["hold"]["id"].clone();
        let again = product.until(id, |view| settled(view) && view["hold"]["id"] != hold).await.unwrap();
        assert_eq!((&again["stage"], &again["hold"]["artifact"]["version"]), (&json!(stage), &json!(2)), "{again}");
        says(&product, &again, json!({"decision": "approve"})).await;
    }
    let view = product.until(id, |view| settled(view) && view["stage"] == "review").await.unwrap();
    says(&product, &view, json!({"decision": "approve"})).await;
    let view = product.until(id, |view| view["completedAt"].is_string()).await.unwrap();
    assert_eq!(view["status"], "completed", "{view}");
    let kinds = kinds(&product, &view).await;
    assert_eq!(kinds.iter().filter(|kind| *kind == "APPROVAL_REJECTED").count(), 3);
    product.stop().await.unwrap();
}

#[tokio::test]
async fn a_projects_own_playbook_with_a_stage_of_its_own_runs() {
    let plan = r##"{ title = "A note", body = "# A note\n\n```mermaid\nflowchart TD\n  A[Ask] --> B[Note]\n```\n" }"##;
    let story = [
        conversation("planner", None, &[call("submit_plan", plan)]),
        conversation("implementer", None, &[writes("note.txt", "hello"), done()]),
        passes("security-reviewer"),
        passes("validator"),
    ]
    .concat();
    let world = World::new(&story).unwrap();
    let folder = world.repository().join(".autonomous/playbooks");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("security.toml"), include_str!("../../docs/playbooks/security.toml")).unwrap();
    world.git(&["add", "."]).unwrap();
    world.git(&["commit", "--quiet", "--message", "A playbook"]).unwrap();
    let product = start(&world).await;
    let run = product.run(None, &body(&world, "security")).await.unwrap();
    let id = run["id"].as_str().unwrap();
    let view = product.until(id, settled).await.unwrap();
    assert_eq!((&view["stage"], &view["hold"]["kind"]), (&json!("security-review"), &json!("approval")), "{view}");
    says(&product, &view, json!({"decision": "approve"})).await;
    let view = product.until(id, |view| view["completedAt"].is_string()).await.unwrap();
    assert_eq!(view["status"], "completed", "{view}");
    product.stop().await.unwrap();
}
