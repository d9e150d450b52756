//! Bad input gets a clear answer in the protocol's own shape, and nothing is sent anywhere.

use broker::UpstreamKind::{Anthropic, OpenAi};
use broker::calls::{CallRecord, Outcome, ReadSource};
use serde_json::{Value, json};

use crate::kit::{Door, Fake, grant, reply, scripted};

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
    let (status, error) = door.json("/v1/responses", &json!({"model": "anthropic/m"})).await;
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
    let odd = json!({"model": "scripted/demo", "metadata": 7, "temperature": "hot", "stop": {}, "stream_options": []});
    for path in ["/v1/messages", "/v1/chat/completions", "/v1/responses"] {
        assert_eq!(door.ask(path, &odd).await.0, 200, "{path}");
    }
    for (path, field, value, status) in [
        ("/v1/messages", "messages", json!({"role": 3}), 403),
        ("/v1/responses", "input", json!(7), 403),
        ("/v1/messages", "stream", json!("yes"), 400),
        ("/v1/messages", "max_tokens", json!(-1), 400),
        ("/v1/chat/completions", "n", json!("many"), 400),
    ] {
        let body = json!({"model": "scripted/demo", field: value});
        assert_eq!(door.ask(path, &body).await.0, status, "{body}");
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

#[tokio::test]
async fn tools_of_the_provider_and_addresses_for_it_to_fetch_are_not_passed_on_with_our_key() {
    let answer = json!({"content": [{"type": "text", "text": "hi"}], "usage": {"input_tokens": 1, "output_tokens": 1}});
    let fake = Fake::start(vec![reply(200, &answer)]).await;
    let door = Door::open(grant(vec![fake.upstream("house", Anthropic)]));
    let own = json!({"name": "edit", "input_schema": {}});
    let body = json!({"model": "house/m", "max_tokens": 5, "messages": [], "mcp_servers": [{"type": "url", "url": "https://evil.example"}],
        "tools": [own, {"type": "mcp_toolset", "mcp_server_name": "evil"}, {"type": "web_search_20250305", "name": "web_search"}]});
    let request = door.post("/v1/messages", &body).header("anthropic-beta", "mcp-client-2025-11-20");
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    let removed = response.headers()["x-holdpoint-removed"].to_str().unwrap().to_owned();
    assert_eq!(removed, "tools.mcp_toolset, tools.mcp_toolset, tools.web_search");
    let seen = fake.seen().remove(0);
    assert_eq!(seen.body, json!({"model": "m", "max_tokens": 5, "messages": [], "tools": [own]}));
    assert!(!seen.headers.contains_key("anthropic-beta"));

    let image = json!({"type": "image", "source": {"type": "url", "url": "https://evil.example/?secret"}});
    let body = json!({"model": "house/m", "max_tokens": 5, "messages": [{"role": "user", "content": [image]}]});
    for path in ["/v1/messages", "/v1/messages/count_tokens"] {
        let (status, error) = door.json(path, &body).await;
        assert_eq!((status, &error["error"]["type"]), (403, &json!("holdpoint_not_passed_on")), "{path}");
    }
    assert_eq!(fake.seen().len(), 1);
}

#[tokio::test]
async fn a_hosted_tool_that_the_user_configured_is_recorded_as_read_before_it_is_asked_for() {
    let fake = Fake::start(vec![reply(200, &json!({"content": []}))]).await;
    let mut upstream = fake.upstream("house", Anthropic);
    upstream.hosted.tools = vec!["web_search".into()];
    let door = Door::open(grant(vec![upstream]));
    let tool = json!({"type": "web_search_20250305", "name": "web_search"});
    door.ask("/v1/messages", &json!({"model": "house/m", "messages": [], "tools": [tool]})).await;
    assert_eq!(fake.seen()[0].body["tools"], json!([tool]));
    let first = door.records().remove(0);
    assert!(
        matches!(&first, CallRecord::Read(read) if read.source == ReadSource::Hosted("web_search".into())),
        "{first:?}"
    );
}

/// The largest size this process ever had, in MiB.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() / 1024
}

#[tokio::test]
async fn forty_large_requests_at_once_do_not_add_up_in_memory() {
    let mut upstream = Fake::start(vec![]).await.upstream("house", Anthropic);
    // Nothing listens there, so each request ends soon after it was read.
    upstream.base_url = "http://127.0.0.1:1".into();
    let mut grant = grant(vec![upstream]);
    grant.retry.attempts = 1;
    let door = Door::open(grant);
    let text = "x".repeat(31 * 1024 * 1024);
    let body =
        json!({"model": "house/m", "max_tokens": 1, "messages": [{"role": "user", "content": text}]}).to_string();
    let body = bytes::Bytes::from(body);
    let asked: Vec<_> = (0..40)
        .map(|_| {
            let request = door.client.post("http://broker/v1/messages").body(body.clone());
            tokio::spawn(async move { request.send().await.unwrap().status().as_u16() })
        })
        .collect();
    for asked in asked {
        assert_eq!(asked.await.unwrap(), 502);
    }
    let most = most_memory();
    assert!(most < 700, "{most} MiB");
}

#[tokio::test]
async fn a_body_of_nothing_but_small_values_is_refused_before_it_is_parsed() {
    let door = Door::open(grant(vec![scripted(SCRIPT)]));
    let body = format!("{{\"model\":\"scripted/demo\",\"a\":[{}0]}}", "0,".repeat(8 * 1024 * 1024));
    let (status, error) = raw(&door, "/v1/messages", body).await;
    assert_eq!((status, &error["error"]["type"]), (413, &json!("request_too_large")));
    assert!(most_memory() < 200, "{} MiB", most_memory());
}
