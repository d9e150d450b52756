//! Money: what a run spent is what its model gave, a model that never ends is stopped, a person is asked at four fifths,
//! and runs share a day's limit.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use tests::product::Product;
use tests::world::World;

/// What each turn of the endless agent costs: 100,000 tokens sent and 1,000 received, at the prices of a script.
const TURN: f64 = 0.105;
const TURNS: usize = 40;

/// An implementer that looks at something else again and again.
fn endless() -> String {
    let mut story = r##"
[[conversation]]
role = "planner"
[[conversation.turn]]
usage = { input = 1000, output = 100 }
[[conversation.turn.call]]
tool = "submit_plan"
input = { title = "A note", body = "# A note\n\n```mermaid\nflowchart TD\n  A[Ask] --> B[Note]\n```\n" }

[[conversation]]
role = "validator"
[[conversation.turn]]
usage = { input = 1000, output = 100 }
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", summary = "fine" }

[[conversation]]
role = "implementer"
"##
    .to_owned();
    for number in 0..TURNS {
        write!(
            story,
            "[[conversation.turn]]\nusage = {{ input = 100000, output = 1000 }}\n[[conversation.turn.call]]\n\
             tool = \"grep\"\ninput = {{ pattern = \"word{number}\" }}\n"
        )
        .unwrap();
    }
    story.push_str(
        "[[conversation.turn]]\nusage = { input = 1000, output = 100 }\n\
         [[conversation.turn.call]]\ntool = \"write_file\"\ninput = { path = \"note.txt\", content = \"hello\\n\" }\n\
         [[conversation.turn]]\nusage = { input = 1000, output = 100 }\n\
         [[conversation.turn.call]]\ntool = \"complete_pulse\"\ninput = { summary = \"A note is there\" }\n",
    );
    story
}

fn body(world: &World) -> Value {
    json!({
        "project": world.repository(), "request": "Leave a note", "models": {"*": "scripted/story"},
        "trust": {"planning": "auto", "implementation": "auto", "fixes": "auto"},
    })
}

fn stands(view: &Value) -> bool {
    view["completedAt"].is_string() || view["hold"].is_object()
}

fn spent(view: &Value) -> f64 {
    view["spend"]["usd"].as_f64().unwrap()
}

fn allowed(view: &Value) -> Vec<&str> {
    view["hold"]["allowed"].as_array().unwrap().iter().filter_map(Value::as_str).collect()
}

async fn decide(product: &Product, view: &Value, decision: Value) -> Value {
    let (status, said) = product.decide(view, &decision).await.unwrap();
    assert_eq!(status, 200, "{said}");
    let hold = view["hold"]["id"].clone();
    let after = |view: &Value| stands(view) && view["hold"]["id"] != hold;
    product.until(view["id"].as_str().unwrap(), after).await.unwrap()
}

/// The model counts by itself, apart from the broker.
#[tokio::test]
async fn what_a_run_spent_is_what_the_model_says_it_gave() {
    let story = endless()
        .replacen(
            "usage = { input = 1000, output = 100 }",
            "usage = { input = 700, output = 90, cache_read = 300 }\nfault = { kind = \"status\", status = 503, times = 2 }",
            1,
        )
        .replacen("usage = { input = 100000, output = 1000 }", "", 1);
    let world = World::new(&story).unwrap();
    let product = Product::start(&world.home(), &BTreeMap::new()).await.unwrap();
    let run = product.run(None, &body(&world)).await.unwrap();
    let over = product.until(run["id"].as_str().unwrap(), stands).await.unwrap();
    let count = |name: &str| over["spend"][name].as_u64().unwrap();
    let spent = (count("calls"), count("inputTokens"), count("outputTokens"));
    assert_eq!(spent, world.given().unwrap(), "{over}");
    assert_eq!(spent.0, TURNS as u64 + 4, "{over}");
    product.stop().await.unwrap();
}

#[tokio::test]
async fn a_model_that_never_ends_asks_at_four_fifths_stops_at_the_limit_and_goes_on_when_it_is_raised() {
    let world = World::new(&endless()).unwrap();
    let product = Product::start(&world.home(), &BTreeMap::new()).await.unwrap();
    let mut body = body(&world);
    body["budgetUsd"] = json!(1.0);
    let run = product.run(None, &body).await.unwrap();
    assert!(run["spend"]["estimateUsd"].as_f64().unwrap() > 0.0, "{run}");
    let asked = product.until(run["id"].as_str().unwrap(), stands).await.unwrap();
    assert_eq!((&asked["hold"]["kind"], &asked["hold"]["purse"]), (&json!("budget"), &json!("run")), "{asked}");
    assert_eq!(allowed(&asked), ["approve", "raise", "retry", "cancel"]);
    let at = spent(&asked);
    assert!((0.8..0.8 + TURN).contains(&at), "asked at {at}");
    let stopped = decide(&product, &asked, json!({"decision": "approve"})).await;
    assert_eq!(allowed(&stopped), ["raise", "retry", "cancel"], "{stopped}");
    let at = spent(&stopped);
    assert!(at > 0.8 && at <= 1.0 + TURN, "stopped at {at}");
    let done = decide(&product, &stopped, json!({"decision": "raise", "usd": 9.0})).await;
    assert_eq!(done["status"], "completed", "{done}");
    let turns = f64::from(u32::try_from(TURNS).unwrap()) * TURN;
    assert!((spent(&done) - turns).abs() < 0.02, "every turn was paid once: {}", spent(&done));
    product.stop().await.unwrap();
}

#[tokio::test]
async fn runs_at_once_share_the_days_limit_and_one_may_be_let_beyond_it() {
    let world = World::new(&endless()).unwrap();
    std::fs::write(world.home().join("config.toml"), "budget_day_usd = 2.0\n").unwrap();
    let product = Product::start(&world.home(), &BTreeMap::new()).await.unwrap();
    let mut views = Vec::new();
    for _ in 0..3 {
        views.push(product.run(None, &body(&world)).await.unwrap());
    }
    for view in &mut views {
        *view = product.until(view["id"].as_str().unwrap(), stands).await.unwrap();
        assert_eq!((&view["hold"]["kind"], &view["hold"]["purse"]), (&json!("budget"), &json!("day")), "{view}");
    }
    let asked: f64 = views.iter().map(spent).sum();
    assert!((1.6..1.6 + 3.0 * TURN).contains(&asked), "asked at {asked}");
    for view in &mut views {
        *view = decide(&product, view, json!({"decision": "approve"})).await;
        assert!(view["hold"]["deadline"].is_string(), "it goes on by itself when the day is over: {view}");
    }
    let stopped: f64 = views.iter().map(spent).sum();
    assert!(stopped <= 2.0 + 3.0 * TURN, "stopped at {stopped}");
    let (_, said) = product.post("/api/runs/estimate", None, &body(&world)).await.unwrap();
    let booked = said["shared"][0]["spentUsd"].as_f64().unwrap();
    assert!((booked - stopped).abs() < 0.001, "{booked} is booked, {stopped} was spent");
    assert!(!said["warnings"].as_array().unwrap().is_empty(), "{said}");
    let done = decide(&product, &views[0], json!({"decision": "raise", "usd": 20.0})).await;
    assert_eq!(done["status"], "completed", "{done}");
    product.stop().await.unwrap();
}
