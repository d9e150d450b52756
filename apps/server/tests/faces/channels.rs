//! Channels: what is asked is kept, answered, and seen by everybody who watches.

use futures_util::StreamExt as _;
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::common::Bench;

async fn opened(bench: &Bench) -> String {
    let body = json!({"project": bench.repository, "title": "how it works"});
    let (status, channel) = bench.post("/api/channels", &body).await;
    assert_eq!(status, StatusCode::CREATED, "{channel}");
    channel["id"].as_str().unwrap().to_owned()
}

/// Messages of a channel until one satisfies a condition.
async fn watch(bench: &Bench, id: &str, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
    let url = format!("{}/api/channels/{id}/live", bench.url.replacen("http", "ws", 1));
    let mut request = url.into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {}", crate::common::TOKEN).parse().unwrap());
    let (mut live, _) = tokio_tungstenite::connect_async(request).await.unwrap();
    let mut seen = Vec::new();
    while let Some(Ok(message)) = live.next().await {
        let Ok(message) = serde_json::from_str::<Value>(&message.into_text().unwrap()) else { continue };
        seen.push(message);
        if wanted(seen.last().unwrap()) {
            return seen;
        }
    }
    panic!("the channel went silent after {seen:?}");
}

fn answered(number: usize) -> impl Fn(&Value) -> bool {
    move |message| {
        message["channel"]["questions"]
            .as_array()
            .is_some_and(|all| all.len() >= number && all.iter().all(|question| question["state"] != "open"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_watchers_see_the_same_answers_and_whoever_comes_later_the_whole_history() {
    let bench = Bench::start().await;
    let id = opened(&bench).await;
    let ask = |text: &'static str| {
        let path = format!("/api/channels/{id}/session");
        let bench = &bench;
        async move { bench.post(&path, &json!({"text": text})).await }
    };
    let first = watch(&bench, &id, answered(2));
    let second = watch(&bench, &id, answered(2));
    let asking = async {
        let (status, question) = ask("where is x?").await;
        assert_eq!(
            (status, &question["state"], &question["number"]),
            (StatusCode::ACCEPTED, &json!("open"), &json!(1))
        );
        watch(&bench, &id, answered(1)).await;
        ask("who wrote this?").await;
    };
    let (first, second, ()) = tokio::join!(first, second, asking);
    for seen in [&first, &second] {
        let questions = &seen.last().unwrap()["channel"]["questions"];
        assert_eq!(questions[0]["answer"], "where is x? After 0 words: `src/x.rs:3`.");
        assert_eq!((&questions[0]["by"], &questions[0]["usd"]), (&json!("ada"), &json!(0.0015)));
        assert_eq!(
            (&questions[1]["state"], &questions[1]["problem"]),
            (&json!("failed"), &json!("the model does not answer"))
        );
    }
    let (_, later) = bench.get(&format!("/api/channels/{id}")).await;
    assert_eq!(later, first.last().unwrap()["channel"]);
    ask("and then?").await;
    let seen = watch(&bench, &id, answered(3)).await;
    let last = &seen.last().unwrap()["channel"]["questions"][2];
    assert_eq!(last["answer"], "and then? After 3 words: `src/x.rs:3`.", "what was said before is told");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_questions_and_unknown_channels_are_refused_with_a_hint() {
    let bench = Bench::start().await;
    let (status, problem) = bench.post("/api/channels", &json!({"project": "/nowhere"})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("no_such_folder")));
    let id = opened(&bench).await;
    let path = format!("/api/channels/{id}/session");
    for body in [json!({"text": "  "}), json!({"text": "x".repeat(20_000)}), json!({"text": "?", "model": "no/such"})] {
        let (status, problem) = bench.post(&path, &body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{problem}");
        assert!(!problem["hint"].as_str().unwrap().is_empty());
    }
    assert_eq!(bench.get("/api/channels/ch-nothing").await.0, StatusCode::NOT_FOUND);
    let (_, list) = bench.get("/api/channels").await;
    assert_eq!((list.as_array().unwrap().len(), &list[0]["title"]), (1, &json!("how it works")));
}
