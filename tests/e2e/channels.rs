//! Questions about the code, asked while runs go on: through the product, with the real agent.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tests::product::Product;
use tests::world::World;

const SCRIPT: &str = r#"
[[conversation]]
role = "planner"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "ask_questions"
input = { questions = [{ question = "Which?" }] }

[[conversation]]
role = "discussion"
when = ["where is the greeting?"]
[[conversation.turn]]
[[conversation.turn.call]]
tool = "grep"
input = { pattern = "echo" }
[[conversation.turn]]
delay_ms = 3000
[[conversation.turn.call]]
tool = "reply"
input = { text = "In `src/greet.sh:2`." }

[[conversation]]
role = "discussion"
when = ["and who says so?", "In `src/greet.sh:2`."]
[[conversation.turn]]
[[conversation.turn.call]]
tool = "reply"
input = { text = "The file itself." }
"#;

fn answers(message: &Value) -> Vec<Option<&str>> {
    let questions = message["channel"]["questions"].as_array();
    questions.into_iter().flatten().map(|question| question["answer"].as_str()).collect()
}

#[tokio::test]
async fn a_question_is_answered_beside_three_runs_and_over_a_kill_and_paid_once() {
    let world = World::new(SCRIPT).unwrap();
    let product = Product::start(&world.home(), &BTreeMap::new()).await.unwrap();
    for number in 1..=3 {
        let body = json!({"project": world.repository(), "request": format!("run {number}"), "models": {"*": "scripted/story"}});
        let run = product.run(Some(&format!("run {number}")), &body).await.unwrap();
        product.until(run["id"].as_str().unwrap(), |view| view["hold"].is_object()).await.unwrap();
    }
    let new = json!({"project": world.repository(), "title": "greetings"});
    let (status, channel) = product.post("/api/channels", None, &new).await.unwrap();
    assert_eq!(status, 201, "{channel}");
    let id = channel["id"].as_str().unwrap().to_owned();
    let asking = format!("/api/channels/{id}/session");
    let where_is = json!({"text": "where is the greeting?", "model": "scripted/story"});
    let who_says = json!({"text": "and who says so?", "model": "scripted/story"});
    let (first, second) = tokio::join!(
        product.channel(&id, |message| message["name"] == "turn:tool_completed" || message["data"]["turn"] == 2),
        product.post(&asking, None, &where_is)
    );
    assert!(first.is_ok() && second.unwrap().0 == 202);
    // The second turn is being thought about: the server dies, the agent does not.
    product.kill().await.unwrap();
    let product = Product::start(&world.home(), &BTreeMap::new()).await.unwrap();
    let done = product.channel(&id, |message| answers(message) == [Some("In `src/greet.sh:2`.")]).await.unwrap();
    let session = done["channel"]["questions"][0]["session"].as_str().unwrap().to_owned();
    let (_, history) = product.get(&format!("/api/sessions/{session}")).await.unwrap();
    assert_eq!((history["turns"].as_array().unwrap().len(), &history["session"]["attempts"]), (2, &json!(1)));
    let (watched, also, asked) = tokio::join!(
        product.channel(&id, |message| answers(message).len() == 2 && answers(message)[1].is_some()),
        product.channel(&id, |message| answers(message).len() == 2 && answers(message)[1].is_some()),
        product.post(&asking, None, &who_says)
    );
    assert_eq!(asked.unwrap().0, 202);
    assert_eq!(answers(&watched.unwrap())[1], Some("The file itself."), "what was said before is known");
    assert_eq!(answers(&also.unwrap())[1], Some("The file itself."));
    let calls = world.home().join(format!("channels/{id}/1/spool/calls.jsonl"));
    let calls = std::fs::read_to_string(calls).unwrap();
    assert_eq!(calls.lines().filter(|line| line.contains("\"settled\"")).count(), 2, "{calls}");
    assert_eq!(world.git(&["status", "--porcelain"]).unwrap(), "");
    product.stop().await.unwrap();
}
