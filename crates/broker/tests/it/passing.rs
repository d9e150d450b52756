//! Requests go through with our key and come back unchanged, and their tokens are counted.

use broker::UpstreamKind::{Anthropic, Gemini, OpenAi};
use broker::calls::{CallRecord, Outcome};
use broker::{Protocol, UpstreamKind};
use serde_json::{Value, json};

use crate::kit::{Door, Ending, Fake, Play, data, events, grant, micros, reply, split};

const MESSAGES_STREAM: &str = "event: message_start\n\
data: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"usage\":{\"input_tokens\":10,\"cache_creation_input_tokens\":20,\"cache_read_input_tokens\":300,\"output_tokens\":1}}}\n\n\
event: content_block_start\n\
data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
event: content_block_delta\n\
data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Grüße\"}}\n\n\
event: content_block_stop\n\
data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
event: message_delta\n\
data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":40}}\n\n\
event: message_stop\n\
data: {\"type\":\"message_stop\"}\n\n";

const CHAT_STREAM: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":null}]}\n\n\
data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
data: {\"choices\":[],\"usage\":{\"prompt_tokens\":310,\"completion_tokens\":40,\"prompt_tokens_details\":{\"cached_tokens\":300},\"completion_tokens_details\":{\"reasoning_tokens\":30}}}\n\n\
data: [DONE]\n\n";

const RESPONSES_STREAM: &str = "event: response.created\n\
data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\n\
event: response.output_text.delta\n\
data: {\"type\":\"response.output_text.delta\",\"delta\":\"hi\"}\n\n\
event: response.completed\n\
data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"output\":[{}],\"usage\":{\"input_tokens\":310,\"input_tokens_details\":{\"cached_tokens\":300},\"output_tokens\":40,\"output_tokens_details\":{\"reasoning_tokens\":30}}}}\n\n";

const GEMINI_STREAM: &str = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hm\",\"thought\":true}]}}],\"usageMetadata\":{\"promptTokenCount\":307}}\r\n\r\n\
data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"x\",\"args\":{}}}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":307,\"cachedContentTokenCount\":300,\"candidatesTokenCount\":10,\"thoughtsTokenCount\":30,\"toolUsePromptTokenCount\":3,\"totalTokenCount\":350}}\r\n\r\n";

struct Expected {
    protocol: Protocol,
    cache_write: u64,
    reasoning: u64,
    micro_usd: u64,
}

async fn check(
    kind: UpstreamKind,
    door_path: &str,
    sent_to: &str,
    play: Play,
    stream: bool,
    whole: &str,
    expected: Expected,
) {
    let fake = Fake::start(vec![play]).await;
    let door = Door::open(grant(vec![fake.upstream("house", kind)]));
    let mut body =
        json!({"model": "house/m", "stream": stream, "max_tokens": 9, "messages": [], "odd": {"z": 1, "a": 2}});
    if stream && expected.protocol == Protocol::Chat {
        body["stream_options"] = json!({"include_usage": true});
    }
    let (status, text) = door.ask(door_path, &body).await;
    assert_eq!((status, text.as_str()), (200, whole));

    let seen = fake.seen().remove(0);
    assert_eq!(seen.path, sent_to);
    match expected.protocol {
        Protocol::Gemini => assert!(seen.body.get("model").is_none(), "its path names it"),
        Protocol::Messages | Protocol::Chat | Protocol::Responses | Protocol::Embeddings => {
            assert_eq!(seen.body["model"], "m")
        }
    }
    assert!(seen.body.get("odd").is_none(), "a field that is not on the list is not passed on");

    assert!(matches!(door.records()[0], CallRecord::Reserved(_)));
    let settled = door.one();
    assert_eq!(settled.call, 1);
    assert_eq!(settled.model, "house/m");
    assert_eq!(settled.protocol, expected.protocol);
    assert_eq!((settled.outcome, settled.status, settled.tries), (Outcome::Ok, 200, 1));
    assert_eq!((settled.input_tokens, settled.output_tokens), (10, 40));
    assert_eq!((settled.cache_read_tokens, settled.cache_write_tokens), (300, expected.cache_write));
    assert_eq!(settled.reasoning_tokens, expected.reasoning);
    assert!(settled.price_known && settled.usage_known);
    assert_eq!(micros(&settled), expected.micro_usd);
}

// At the prices of the kit: 10 × 1 + 40 × 10 + 300 × 0.1 (+ 20 × 2).
const MESSAGES: Expected = Expected { protocol: Protocol::Messages, cache_write: 20, reasoning: 0, micro_usd: 480 };
const CHAT: Expected = Expected { protocol: Protocol::Chat, cache_write: 0, reasoning: 30, micro_usd: 440 };
const RESPONSES: Expected = Expected { protocol: Protocol::Responses, cache_write: 0, reasoning: 30, micro_usd: 440 };

const GEMINI: Expected = Expected { protocol: Protocol::Gemini, cache_write: 0, reasoning: 30, micro_usd: 440 };

#[tokio::test]
async fn messages_stream_through_unchanged() {
    let play = events(MESSAGES_STREAM);
    check(Anthropic, "/anthropic/v1/messages", "/v1/messages", play, true, MESSAGES_STREAM, MESSAGES).await;
}

#[tokio::test]
async fn messages_pass_whole() {
    let body = json!({"type": "message", "content": [{"type": "text", "text": "hi"}], "usage": {
        "input_tokens": 10, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300, "output_tokens": 40,
    }});
    let whole = body.to_string();
    check(Anthropic, "/v1/messages", "/v1/messages", reply(200, &body), false, &whole, MESSAGES).await;
}

#[tokio::test]
async fn chat_streams_through_unchanged() {
    let play = events(CHAT_STREAM);
    check(OpenAi, "/openai/v1/chat/completions", "/v1/chat/completions", play, true, CHAT_STREAM, CHAT).await;
}

#[tokio::test]
async fn chat_passes_whole() {
    let body = json!({"choices": [{"message": {"content": "hi"}}], "usage": {
        "prompt_tokens": 310, "completion_tokens": 40,
        "prompt_tokens_details": {"cached_tokens": 300}, "completion_tokens_details": {"reasoning_tokens": 30},
    }});
    let whole = body.to_string();
    check(OpenAi, "/v1/chat/completions", "/v1/chat/completions", reply(200, &body), false, &whole, CHAT).await;
}

#[tokio::test]
async fn responses_stream_through_unchanged() {
    let play = events(RESPONSES_STREAM);
    check(OpenAi, "/openai/v1/responses", "/v1/responses", play, true, RESPONSES_STREAM, RESPONSES).await;
}

#[tokio::test]
async fn responses_pass_whole() {
    let body = json!({"id": "r", "error": null, "output": [{}], "usage": {
        "input_tokens": 310, "input_tokens_details": {"cached_tokens": 300},
        "output_tokens": 40, "output_tokens_details": {"reasoning_tokens": 30},
    }});
    let whole = body.to_string();
    check(OpenAi, "/v1/responses", "/v1/responses", reply(200, &body), false, &whole, RESPONSES).await;
}

#[tokio::test]
async fn gemini_streams_through_unchanged() {
    let path = "/gemini/v1beta/models/house/m:streamGenerateContent?alt=sse";
    let sent_to = "/v1beta/models/m:streamGenerateContent";
    check(Gemini, path, sent_to, events(GEMINI_STREAM), true, GEMINI_STREAM, GEMINI).await;
}

#[tokio::test]
async fn gemini_passes_whole_and_as_an_array() {
    let usage = json!({
        "promptTokenCount": 307, "cachedContentTokenCount": 300, "candidatesTokenCount": 10,
        "thoughtsTokenCount": 30, "toolUsePromptTokenCount": 3, "totalTokenCount": 350,
    });
    let candidate = json!({"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"});
    let body = json!({"candidates": [candidate], "usageMetadata": usage});
    let path = "/v1beta/models/house/m:generateContent";
    let sent_to = "/v1beta/models/m:generateContent";
    check(Gemini, path, sent_to, reply(200, &body), false, &body.to_string(), GEMINI).await;
    let array = json!([{"candidates": [], "usageMetadata": {"promptTokenCount": 307}}, body]);
    let path = "/v1beta/models/house%2Fm:streamGenerateContent";
    let sent_to = "/v1beta/models/m:streamGenerateContent";
    check(Gemini, path, sent_to, reply(200, &array), true, &array.to_string(), GEMINI).await;
}

#[tokio::test]
async fn counting_tokens_passes_and_costs_nothing() {
    let rows = [
        (Gemini, "/v1beta/models/house/m:countTokens", "/v1beta/models/m:countTokens"),
        (Anthropic, "/v1/messages/count_tokens", "/v1/messages/count_tokens"),
    ];
    for (kind, path, sent_to) in rows {
        let fake = Fake::start(vec![reply(200, &json!({"totalTokens": 7})), reply(400, &json!({"error": {}}))]).await;
        let door = Door::open(grant(vec![fake.upstream("house", kind)]));
        let body = json!({"model": "house/m", "contents": []});
        assert_eq!(door.json(path, &body).await, (200, json!({"totalTokens": 7})));
        assert_eq!(door.json(path, &body).await.0, 400);
        assert_eq!(fake.seen()[0].path, sent_to);
        assert!(door.records().is_empty());
    }
}

#[tokio::test]
async fn a_gemini_stream_is_asked_for_as_events_with_our_key_in_its_header() {
    let fake = Fake::start(vec![events(GEMINI_STREAM)]).await;
    let door = Door::open(grant(vec![fake.upstream("house", Gemini)]));
    let request = door.post("/v1beta/models/house/m:streamGenerateContent?alt=sse&key=from-agent", &json!({}));
    request.header("x-goog-api-key", "from-agent").send().await.unwrap().bytes().await.unwrap();
    let seen = fake.seen().remove(0);
    assert_eq!(seen.query.as_deref(), Some("alt=sse"), "a key in the address is dropped");
    assert_eq!(seen.headers["x-goog-api-key"], "sk-the-real-key");
    assert!(!seen.headers.contains_key("authorization"));
}

#[tokio::test]
async fn our_key_is_added_and_the_agents_own_is_dropped() {
    for (kind, path) in [(Anthropic, "/v1/messages"), (OpenAi, "/v1/chat/completions")] {
        let fake = Fake::start(vec![reply(200, &json!({}))]).await;
        let mut upstream = fake.upstream("house", kind);
        upstream.hosted.beta_headers = vec!["two".into()];
        let door = Door::open(grant(vec![upstream]));
        let request = door.post(path, &json!({"model": "house/m"}));
        let request = request
            .header("authorization", "Bearer from-agent")
            .header("x-api-key", "from-agent")
            .header("cookie", "from-agent")
            .header("anthropic-beta", "one, mcp-client-2025-04-04")
            .header("anthropic-beta", "two");
        request.send().await.unwrap();
        let headers = fake.seen().remove(0).headers;
        let shown = format!("{headers:?}");
        assert!(!shown.contains("from-agent"), "{shown}");
        let betas: Vec<_> = headers.get_all("anthropic-beta").iter().collect();
        match kind {
            Anthropic => {
                assert_eq!(betas, ["two"], "only the beta features that the user configured are passed on");
                assert_eq!(headers["x-api-key"], "sk-the-real-key");
                assert_eq!(headers["anthropic-version"], "2023-06-01");
                assert!(!headers.contains_key("authorization"));
            }
            OpenAi | Gemini | UpstreamKind::Scripted => {
                assert_eq!(headers["authorization"], "Bearer sk-the-real-key");
                assert!(!headers.contains_key("x-api-key"));
            }
        }
    }
}

#[tokio::test]
async fn a_streamed_chat_is_always_asked_for_its_usage_and_the_agent_gets_what_it_asked_for() {
    let usage_event = CHAT_STREAM.lines().find(|line| line.contains("prompt_tokens")).unwrap();
    let without = CHAT_STREAM.replace(&format!("{usage_event}\n\n"), "");
    for options in [json!({"include_usage": false}), json!(null)] {
        let fake = Fake::start(vec![events(CHAT_STREAM)]).await;
        let door = Door::open(grant(vec![fake.upstream("house", OpenAi)]));
        let body = json!({"model": "m", "stream": true, "stream_options": options});
        let (_, text) = door.ask("/v1/chat/completions", &body).await;
        assert_eq!(fake.seen()[0].body["stream_options"]["include_usage"], true);
        assert_eq!(text, without);
        assert_eq!(door.one().output_tokens, 40, "it is counted all the same");
    }
}

#[tokio::test]
async fn the_call_is_on_record_before_the_agent_sees_its_end() {
    let play = Play::Events { chunks: split(MESSAGES_STREAM), ending: Ending::Never };
    let fake = Fake::start(vec![play]).await;
    let door = Door::open(grant(vec![fake.upstream("house", Anthropic)]));
    let body = json!({"model": "house/m", "stream": true});
    let mut response = door.post("/v1/messages", &body).send().await.unwrap();
    let mut text = Vec::new();
    while !String::from_utf8_lossy(&text).contains("message_stop\"}\n\n") {
        text.extend(response.chunk().await.unwrap().unwrap());
    }
    assert_eq!(door.one().outcome, Outcome::Ok);
}

#[tokio::test]
async fn a_broken_stream_is_passed_on_as_far_as_it_came() {
    let half = &MESSAGES_STREAM[..MESSAGES_STREAM.find("event: content_block_stop").unwrap()];
    let play = Play::Events { chunks: split(half), ending: Ending::Broken };
    let fake = Fake::start(vec![play]).await;
    let mut door = Door::open(grant(vec![fake.upstream("house", Anthropic)]));
    let body = json!({"model": "house/m", "stream": true});
    let mut response = door.post("/v1/messages", &body).send().await.unwrap();
    let mut text = Vec::new();
    let broken = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => text.extend(chunk),
            Ok(None) => break false,
            Err(_) => break true,
        }
    };
    assert!(broken, "the agent must see that the connection broke");
    assert_eq!(String::from_utf8(text).unwrap(), half);
    door.wait_for_lines(2).await;
    let settled = door.one();
    assert_eq!((settled.outcome, settled.tries), (Outcome::Cut, 1));
    assert_eq!((settled.input_tokens, settled.cache_read_tokens), (10, 300));
    assert!(!settled.usage_known);
    assert_eq!(fake.seen().len(), 1, "a byte was passed on, so nothing is repeated");
}

#[tokio::test]
async fn a_stream_that_stops_without_its_end_mark_is_cut() {
    let half = &CHAT_STREAM[..CHAT_STREAM.find("data: {\"choices\":[{\"index\":0,\"delta\":{},").unwrap()];
    let fake = Fake::start(vec![events(half)]).await;
    let door = Door::open(grant(vec![fake.upstream("house", OpenAi)]));
    let (status, text) = door.ask("/v1/chat/completions", &json!({"model": "house/m", "stream": true})).await;
    assert_eq!((status, text.as_str()), (200, half));
    assert_eq!(door.one().outcome, Outcome::Cut);
}

#[tokio::test]
async fn a_stream_that_goes_silent_is_given_up() {
    let half = MESSAGES_STREAM[..200].to_owned();
    let play = Play::Events { chunks: vec![half], ending: Ending::Never };
    let fake = Fake::start(vec![play]).await;
    let mut grant = grant(vec![fake.upstream("house", Anthropic)]);
    grant.retry.idle_ms = 20;
    let mut door = Door::open(grant);
    let body = json!({"model": "house/m", "stream": true});
    let response = door.post("/v1/messages", &body).send().await.unwrap();
    assert!(response.bytes().await.is_err());
    door.wait_for_lines(2).await;
    assert_eq!(door.one().outcome, Outcome::Stalled);
}

#[tokio::test]
async fn an_agent_that_leaves_is_settled_as_abandoned() {
    let play = Play::Events { chunks: vec![MESSAGES_STREAM[..300].to_owned()], ending: Ending::Never };
    let fake = Fake::start(vec![play]).await;
    let mut door = Door::open(grant(vec![fake.upstream("house", Anthropic)]));
    let body = json!({"model": "house/m", "stream": true});
    let mut response = door.post("/v1/messages", &body).send().await.unwrap();
    response.chunk().await.unwrap().unwrap();
    drop(response);
    door.wait_for_lines(2).await;
    let settled = door.one();
    assert_eq!(settled.outcome, Outcome::Abandoned);
    assert!(micros(&settled) > 0, "what was read so far is paid for");
}

#[tokio::test]
async fn closing_settles_calls_in_flight() {
    let fake = Fake::start(vec![Play::Silence]).await;
    let door = Door::open(grant(vec![fake.upstream("house", Anthropic)]));
    let request = door.post("/v1/messages", &json!({"model": "house/m"}));
    let asked = tokio::spawn(request.send());
    fake.arrival().await;
    let settled = door.close().await;
    assert_eq!(settled.len(), 1);
    assert_eq!(settled[0].outcome, Outcome::Abandoned);
    drop(asked.await.unwrap());
}

#[tokio::test]
async fn an_answer_without_usage_is_counted_from_its_bytes() {
    let text = "a".repeat(400);
    let body = json!({"content": [{"type": "text", "text": text}]});
    let fake = Fake::start(vec![reply(200, &body)]).await;
    let door = Door::open(grant(vec![fake.upstream("house", Anthropic)]));
    door.ask("/v1/messages", &json!({"model": "house/m"})).await;
    let settled = door.one();
    assert!(!settled.usage_known);
    assert_eq!(settled.output_tokens, 100);
    assert!(settled.input_tokens > 0 && micros(&settled) >= 1_000);
}

#[tokio::test]
async fn the_models_of_the_grant_are_listed() {
    let fake = Fake::start(vec![]).await;
    let door = Door::open(grant(vec![fake.upstream("house", OpenAi)]));
    for path in ["/v1/models", "/openai/v1/models"] {
        let response = door.client.get(format!("http://broker{path}")).send().await.unwrap();
        let list: Value = response.json().await.unwrap();
        assert_eq!(list["data"][0]["id"], "house/m");
    }
}

#[test]
fn the_fixtures_are_valid_events() {
    for stream in [MESSAGES_STREAM, CHAT_STREAM, RESPONSES_STREAM] {
        assert!(data(stream).len() >= 3);
    }
}
