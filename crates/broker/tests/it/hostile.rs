//! Bad input gets a clear answer in the protocol's own shape, and nothing is sent anywhere.

use broker::UpstreamKind::{Anthropic, OpenAi};
use broker::calls::Outcome;
use serde_json::{Value, json};

use crate::kit::{Door, Fake, grant, scripted};

const SCRIPT: &str = "[[conversation]]\nrole='coder'\n[[conversation.turn]]\ntext='hello'\n";

async fn raw(door: &Door, path: &str, body: impl Into<reqwest::Body>) -> (u16, Value) {
    let request = door.client.post(format!("http://broker{path}")).body(body);
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}

#[tokio::test]
async fn a_body_that_is_no_json_object_is_refused() {
    let door = Door::open(grant(vec![scripted(SCRIPT)]));
    for body in ["", "{", "[]", "null", "\u{0}\u{1}", "{\"model\":"] {
        let (status, error) = raw(&door, "/v1/messages", body).await;
        assert_eq!((status, &error["type"]), (400, &json!("error")), "{body:?}");
        let (status, error) = raw(&door, "/v1/chat/completions", body).await;
        assert_eq!((status, &error["error"]["code"]), (400, &json!("invalid_request_error")));
    }
    assert!(door.records().is_empty());
}

#[tokio::test]
async fn deep_nesting_is_refused_and_not_followed() {
    let door = Door::open(grant(vec![scripted(SCRIPT)]));
    let deep = format!("{{\"model\":\"scripted/demo\",\"a\":{}", "[".repeat(200_000));
    assert_eq!(raw(&door, "/v1/messages", deep).await.0, 400);
}

#[tokio::test]
async fn a_body_over_32_mib_is_refused() {
    let door = Door::open(grant(vec![scripted(SCRIPT)]));
    let mut body = vec![b' '; 32 * 1024 * 1024 + 1];
    body[0] = b'{';
    let request = door.client.post("http://broker/v1/messages").body(body);
    // The gateway may close before all of it is written; then there is no answer to read.
    if let Ok(response) = request.send().await {
        assert_eq!(response.status(), 413);
        let error: Value = response.json().await.unwrap();
        assert!(error["error"]["message"].as_str().unwrap().contains("32 MiB"));
    }
    assert!(door.records().is_empty());
    let ask = json!({"model": "scripted/demo", "messages": []});
    assert_eq!(door.ask("/v1/messages", &ask).await.0, 200, "and the door is still open");
}

#[tokio::test]
async fn a_model_that_is_not_granted_is_refused_and_logged() {
    let fake = Fake::start(vec![]).await;
    let door = Door::open(grant(vec![fake.upstream("openai", OpenAi)]));
    let (status, error) = door.json("/v1/chat/completions", &json!({"model": "xai/grok"})).await;
    assert_eq!((status, &error["error"]["code"]), (403, &json!("holdpoint_model_not_granted")));
    assert!(error["error"]["message"].as_str().unwrap().contains("`xai`"));
    let settled = door.one();
    assert_eq!((settled.outcome, settled.model.as_str()), (Outcome::Refused, "xai/grok"));
    assert!(fake.seen().is_empty());
}

#[tokio::test]
async fn a_model_at_the_wrong_door_is_told_the_right_one() {
    let fake = Fake::start(vec![]).await;
    let door = Door::open(grant(vec![fake.upstream("anthropic", Anthropic)]));
    let (status, error) = door.json("/v1/responses", &json!({"model": "anthropic/claude"})).await;
    assert_eq!(status, 400);
    assert!(error["error"]["message"].as_str().unwrap().contains("/anthropic/v1/messages"));
    let (status, _) = door.json("/v1/responses", &json!({"model": "bare"})).await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn paths_that_lead_nowhere_answer_in_their_protocol() {
    let door = Door::open(grant(vec![scripted(SCRIPT)]));
    for path in ["/", "/openai/v1/files", "/v1/embeddings", "/openai/v1/chat/completions/../keys"] {
        let (status, error) = raw(&door, path, "{}").await;
        assert_eq!(status, 404, "{path}");
        assert!(error["error"]["message"].is_string() && error.get("type").is_none());
    }
    let (status, error) = raw(&door, "/anthropic/v1/messages/batches", "{}").await;
    assert_eq!((status, &error["type"]), (404, &json!("error")));
    let (status, error) = raw(&door, "/v1beta/models/m:embedContent", "{}").await;
    assert_eq!((status, &error["error"]["code"]), (404, &json!(404)));
    let (status, _) = raw(&door, "/v1beta/models/..%2f..%2fx:generateContent", "{}").await;
    assert_eq!(status, 400);
    let wrong_method = door.client.get("http://broker/v1/messages").send().await.unwrap();
    assert_eq!(wrong_method.status(), 404);
    let error: Value = wrong_method.json().await.unwrap();
    assert_eq!(error["error"]["type"], "not_found_error");
}

#[tokio::test]
async fn fields_of_the_wrong_kind_do_no_harm() {
    let door = Door::open(grant(vec![scripted(SCRIPT)]));
    let odd = json!({
        "model": "scripted/demo", "messages": {"role": 3}, "input": 7, "stream": "yes",
        "max_tokens": -1, "n": "many", "stream_options": [],
    });
    for path in ["/v1/messages", "/v1/chat/completions", "/v1/responses"] {
        assert_eq!(door.ask(path, &odd).await.0, 200, "{path}");
    }
}

#[tokio::test]
async fn a_full_disk_stops_calls_before_they_are_made() {
    use std::sync::Arc;
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
        return; // Not every system has a device that is always full.
    };
    let fake = Fake::start(vec![]).await;
    let grant = grant(vec![fake.upstream("house", Anthropic)]);
    let gateway = Arc::new(broker::Gateway::new(grant, full, Arc::new(|| ())).unwrap());
    let room = tempfile::tempdir().unwrap();
    let socket = room.path().join("s");
    let listener = tokio::net::UnixListener::bind(&socket).unwrap();
    let served = tokio::spawn(gateway.serve(listener, std::future::pending()));
    let client = reqwest::Client::builder().unix_socket(socket).no_proxy().build().unwrap();
    for _ in 0..2 {
        let request = client.post("http://broker/v1/messages").body(r#"{"model":"house/m"}"#);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 500);
        let error: Value = response.json().await.unwrap();
        assert_eq!(error["error"]["type"], "holdpoint_log");
    }
    assert!(fake.seen().is_empty());
    served.abort();
}
