//! What is tried again, what is not, and what the agent gets when patience is used up.

use std::time::{Duration, Instant};

use broker::UpstreamKind::{Anthropic, OpenAi};
use broker::calls::Outcome;
use serde_json::{Value, json};

use crate::kit::{Door, Ending, Fake, Play, grant, reply};

fn fine() -> Play {
    reply(200, &json!({"content": [{"type": "text", "text": "hi"}], "usage": {"input_tokens": 1, "output_tokens": 1}}))
}

fn error(status: u16) -> Play {
    reply(status, &json!({"type": "error", "error": {"type": "from_upstream", "message": "no"}}))
}

#[tokio::test]
async fn passing_troubles_are_tried_again() {
    for status in [408, 429, 500, 502, 503, 504, 529] {
        let fake = Fake::start(vec![error(status), error(status), fine()]).await;
        let door = Door::open(grant(vec![fake.upstream("house", Anthropic)]));
        let response = door.post("/v1/messages", &json!({"model": "house/m"})).send().await.unwrap();
        assert_eq!(response.status(), 200, "{status}");
        assert_eq!(response.headers()["x-holdpoint-retries"], "2");
        response.bytes().await.unwrap();
        let settled = door.one();
        assert_eq!((settled.outcome, settled.tries), (Outcome::Ok, 3), "{status}");
    }
}

#[tokio::test]
async fn lasting_troubles_are_not_tried_again() {
    for status in [400, 401, 403, 404, 409, 413, 422] {
        let fake = Fake::start(vec![error(status)]).await;
        let door = Door::open(grant(vec![fake.upstream("house", Anthropic)]));
        let (got, body) = door.json("/v1/messages", &json!({"model": "house/m"})).await;
        assert_eq!(got, status);
        assert_eq!(body["error"]["type"], "from_upstream");
        let settled = door.one();
        assert_eq!((settled.outcome, settled.tries, settled.status), (Outcome::Error, 1, status));
        assert_eq!(settled.micro_usd.map(|cost| cost.0), Some(0));
    }
}

#[tokio::test]
async fn the_last_error_is_passed_on_when_patience_is_used_up() {
    let fake = Fake::start(vec![error(500), error(500), error(529)]).await;
    let door = Door::open(grant(vec![fake.upstream("house", Anthropic)]));
    let response = door.post("/v1/messages", &json!({"model": "house/m"})).send().await.unwrap();
    assert_eq!(response.status(), 529);
    assert_eq!(response.headers()["x-holdpoint-retries"], "2");
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["type"], "error");
    assert_eq!(door.one().tries, 3);
}

#[tokio::test]
async fn an_error_in_another_shape_is_put_into_the_protocols() {
    let play = Play::Reply { status: 400, headers: vec![], body: "<html>sk-the-real-key is wrong</html>".into() };
    let fake = Fake::start(vec![play]).await;
    let door = Door::open(grant(vec![fake.upstream("house", OpenAi)]));
    let (status, body) = door.json("/v1/responses", &json!({"model": "house/m"})).await;
    assert_eq!(status, 400);
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.contains("`house` answered 400"), "{message}");
    assert!(!message.contains("sk-the-real-key"), "a key must not come back: {message}");
}

#[tokio::test]
async fn the_asked_wait_is_kept() {
    let play = Play::Reply { status: 429, headers: vec![("retry-after", "0.2".into())], body: "{}".into() };
    let fake = Fake::start(vec![play, fine()]).await;
    let door = Door::open(grant(vec![fake.upstream("house", Anthropic)]));
    let start = Instant::now();
    let (status, _) = door.ask("/v1/messages", &json!({"model": "house/m"})).await;
    assert_eq!(status, 200);
    assert!(start.elapsed() >= Duration::from_millis(200));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_after_all_tries() {
    let fake = Fake::start(vec![]).await;
    let mut upstream = fake.upstream("house", OpenAi);
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    upstream.base_url = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let door = Door::open(grant(vec![upstream]));
    let (status, body) = door.json("/v1/chat/completions", &json!({"model": "house/m"})).await;
    assert_eq!((status, &body["error"]["code"]), (502, &json!("holdpoint_unreachable")));
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.contains("`house`") && message.contains("3 tries"), "{message}");
    let settled = door.one();
    assert_eq!((settled.outcome, settled.tries), (Outcome::Error, 3));
}

#[tokio::test]
async fn a_silent_server_is_asked_again_and_then_named() {
    let fake = Fake::start(vec![Play::Silence, Play::Silence]).await;
    let mut grant = grant(vec![fake.upstream("house", Anthropic)]);
    grant.retry.first_byte_ms = 30;
    grant.retry.attempts = 2;
    let door = Door::open(grant);
    let (status, body) = door.json("/v1/messages", &json!({"model": "house/m"})).await;
    assert_eq!((status, &body["error"]["type"]), (504, &json!("holdpoint_timeout")));
    let settled = door.one();
    assert_eq!(settled.tries, 2);
    assert!(!settled.usage_known && settled.output_tokens == 2 * 8_192, "each try may have been billed: {settled:?}");
}

#[tokio::test]
async fn an_answer_that_breaks_before_its_first_byte_is_tried_again() {
    for ending in [Ending::Broken, Ending::Clean] {
        let nothing = Play::Events { chunks: vec![], ending };
        let fake = Fake::start(vec![nothing, fine()]).await;
        let door = Door::open(grant(vec![fake.upstream("house", Anthropic)]));
        let (status, _) = door.ask("/v1/messages", &json!({"model": "house/m"})).await;
        assert_eq!(status, 200);
        assert_eq!(door.one().tries, 2);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let stranger = Fake::start(vec![]).await;
    let play = Play::Reply { status: 307, headers: vec![("location", stranger.url.clone())], body: String::new() };
    let fake = Fake::start(vec![play]).await;
    let door = Door::open(grant(vec![fake.upstream("house", Anthropic)]));
    let (status, body) = door.json("/v1/messages", &json!({"model": "house/m"})).await;
    assert_eq!(status, 502);
    assert!(body["error"]["message"].as_str().unwrap().contains("redirect"));
    assert!(stranger.seen().is_empty());
}

const OVERLOADED: &str =
    "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}\n\n";

#[tokio::test]
async fn a_stream_that_begins_with_an_error_is_tried_again() {
    let error = || Play::Events { chunks: vec![OVERLOADED.to_owned()], ending: Ending::Clean };
    let fake = Fake::start(vec![error(), fine(), error(), error(), error()]).await;
    let door = Door::open(grant(vec![fake.upstream("house", Anthropic)]));
    let body = json!({"model": "house/m", "stream": true});
    assert_eq!(door.ask("/v1/messages", &body).await.0, 200);
    let (status, said) = door.json("/v1/messages", &body).await;
    assert_eq!((status, &said["error"]["type"]), (529, &json!("overloaded_error")));
    let settled = door.settled();
    assert_eq!((settled[0].outcome, settled[0].tries), (Outcome::Ok, 2));
    assert_eq!((settled[1].outcome, settled[1].tries), (Outcome::Error, 3));
}

#[tokio::test]
async fn an_error_event_after_content_is_passed_on_and_logged() {
    let stream = format!(
        "data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"text\"}}}}\n\n{OVERLOADED}"
    );
    let fake = Fake::start(vec![Play::Events { chunks: vec![stream.clone()], ending: Ending::Clean }]).await;
    let door = Door::open(grant(vec![fake.upstream("house", Anthropic)]));
    let (status, text) = door.ask("/v1/messages", &json!({"model": "house/m", "stream": true})).await;
    assert_eq!((status, text), (200, stream));
    assert_eq!(door.one().outcome, Outcome::Error);
}

#[tokio::test]
async fn every_try_but_the_last_has_a_line_of_its_own() {
    let fake = Fake::start(vec![error(529), Play::Events { chunks: vec![], ending: Ending::Broken }, fine()]).await;
    let door = Door::open(grant(vec![fake.upstream("house", Anthropic)]));
    assert_eq!(door.ask("/v1/messages", &json!({"model": "house/m"})).await.0, 200);
    let tried = door.tried();
    let shown: Vec<_> = tried.iter().map(|tried| (tried.call, tried.attempt, tried.outcome, tried.status)).collect();
    assert_eq!(shown, [(1, 1, Outcome::Error, Some(529)), (1, 2, Outcome::Cut, None)]);
    assert_eq!(door.one().tries, 3);
}

#[tokio::test]
async fn an_upstream_that_says_not_to_is_not_asked_again() {
    let play = Play::Reply { status: 500, headers: vec![("x-should-retry", "false".into())], body: "{}".into() };
    let fake = Fake::start(vec![play]).await;
    let door = Door::open(grant(vec![fake.upstream("house", Anthropic)]));
    assert_eq!(door.ask("/v1/messages", &json!({"model": "house/m"})).await.0, 500);
    assert_eq!(door.one().tries, 1);
}
