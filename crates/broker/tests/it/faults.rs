//! A table of what goes wrong with models. Each row says what the upstream does, what the agent gets, how often the
//! upstream was asked, how the call is recorded, and what it is taken to have cost. Nothing hangs: the whole table
//! has seconds, not minutes.

use std::time::Duration;

use broker::UpstreamKind::{self, Anthropic, Gemini, OpenAi};
use broker::calls::Outcome;
use serde_json::{Value, json};

use crate::kit::{Door, Ending, Fake, Play, grant};

/// One fault.
struct Fault {
    name: &'static str,
    kind: UpstreamKind,
    plays: Vec<Play>,
    expected: Expected,
}

struct Expected {
    /// What the agent gets: a status and words of the body, or a connection that breaks.
    got: Got,
    tries: u32,
    outcome: Outcome,
    /// Whether the tokens are the upstream's own.
    known: bool,
    /// What it cost; `None` when it is an estimate, which must be above nothing.
    cost: Option<u64>,
}

enum Got {
    Status(u16, &'static str),
    Broken,
}

fn said(status: u16, words: &'static str) -> Got {
    Got::Status(status, words)
}

/// Refused or failed: it costs nothing.
fn free(got: Got, tries: u32, outcome: Outcome) -> Expected {
    Expected { got, tries, outcome, known: true, cost: Some(0) }
}

/// Paid as the upstream said.
fn paid(got: Got, tries: u32, outcome: Outcome, cost: u64) -> Expected {
    Expected { got, tries, outcome, known: true, cost: Some(cost) }
}

/// A try without a known end may be billed whole: it is paid by what was reserved for it.
fn guessed(got: Got, tries: u32, outcome: Outcome) -> Expected {
    Expected { got, tries, outcome, known: false, cost: None }
}

const START: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}\n\n";
const BLOCK: &str = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\"}}\n\n";
const TEXT: &str = "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hello there\"}}\n\n";
const DELTA: &str =
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":4}}\n\n";
const STOP: &str = "data: {\"type\":\"message_stop\"}\n\n";
/// 8,192 tokens out at 10, of a request that sets no limit.
const RESERVED_OUTPUT: u64 = 81_920;
/// 10 tokens in at 1, 4 out at 10.
const WHOLE: u64 = 50;

fn whole() -> String {
    [START, BLOCK, TEXT, DELTA, STOP].concat()
}

fn stream(parts: &[&str], ending: Ending) -> Play {
    Play::Events { chunks: parts.iter().map(|part| (*part).to_owned()).collect(), ending }
}

fn raw(status: u16, headers: &[(&'static str, &str)], body: &str) -> Play {
    let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    Play::Reply { status, headers, body: body.to_owned() }
}

fn error(status: u16, kind: &str, message: &str) -> Play {
    raw(status, &[], &json!({"type": "error", "error": {"type": kind, "message": message}}).to_string())
}

fn fine() -> Play {
    let usage = json!({"input_tokens": 10, "output_tokens": 4});
    raw(200, &[], &json!({"content": [{"type": "text", "text": "hello there"}], "usage": usage}).to_string())
}

fn anthropic(name: &'static str, plays: Vec<Play>, expected: Expected) -> Fault {
    Fault { name, kind: Anthropic, plays, expected }
}

fn statuses() -> Vec<Fault> {
    let ok = || said(200, "hello there");
    vec![
        anthropic(
            "429 with seconds",
            vec![raw(429, &[("retry-after", "0.01")], "{}"), fine()],
            paid(ok(), 2, Outcome::Ok, WHOLE),
        ),
        anthropic(
            "429 with a date",
            vec![raw(429, &[("retry-after", "Thu, 01 Jan 2015 00:00:03 GMT")], "{}"), fine()],
            paid(ok(), 2, Outcome::Ok, WHOLE),
        ),
        anthropic(
            "429 without a wait",
            vec![error(429, "rate_limit_error", "slow"), fine()],
            paid(ok(), 2, Outcome::Ok, WHOLE),
        ),
        anthropic(
            "429 to the end",
            vec![error(429, "rate_limit_error", "slow"), error(429, "e", "slow"), error(429, "e", "slow down")],
            free(said(429, "slow down"), 3, Outcome::Error),
        ),
        anthropic(
            "429 with a wait of an hour",
            vec![raw(429, &[("retry-after", "3600")], "{}")],
            free(said(429, "holdpoint_quota"), 1, Outcome::Quota),
        ),
        anthropic(
            "no credit, told as 400",
            vec![error(400, "invalid_request_error", "Your credit balance is too low")],
            free(said(429, "holdpoint_quota"), 1, Outcome::Quota),
        ),
        anthropic(
            "402",
            vec![error(402, "billing_error", "pay first")],
            free(said(429, "pay first"), 1, Outcome::Quota),
        ),
        anthropic("500", vec![error(500, "api_error", "x"), fine()], paid(ok(), 2, Outcome::Ok, WHOLE)),
        anthropic(
            "502 as a page",
            vec![raw(502, &[("content-type", "text/html")], "<html>bad</html>"), fine()],
            paid(ok(), 2, Outcome::Ok, WHOLE),
        ),
        anthropic("503", vec![raw(503, &[], ""), fine()], paid(ok(), 2, Outcome::Ok, WHOLE)),
        // A gateway that did not wait for the model: it may have gone on and be billed.
        anthropic("504", vec![raw(504, &[], ""), fine()], guessed(ok(), 2, Outcome::Ok)),
        anthropic("529", vec![error(529, "overloaded_error", "x"), fine()], paid(ok(), 2, Outcome::Ok, WHOLE)),
        anthropic(
            "529 to the end",
            vec![raw(529, &[], ""), raw(529, &[], ""), raw(529, &[], "")],
            free(said(529, "without a reason"), 3, Outcome::Error),
        ),
        anthropic(
            "a bad key",
            vec![error(401, "authentication_error", "sk-the-real-key is bad")],
            free(said(401, "[key] is bad"), 1, Outcome::Error),
        ),
        anthropic(
            "a request that is too long",
            vec![error(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")],
            free(said(400, "prompt is too long"), 1, Outcome::Error),
        ),
        anthropic(
            "a redirect",
            vec![raw(307, &[("location", "http://127.0.0.1:9/")], "")],
            free(said(502, "redirect"), 1, Outcome::Error),
        ),
        anthropic(
            "an error page of many megabytes",
            vec![raw(400, &[], &"x".repeat(3_000_000))],
            free(said(400, "answered 400: xxx"), 1, Outcome::Error),
        ),
    ]
}

fn streams() -> Vec<Fault> {
    let overloaded =
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}\n\n";
    vec![
        anthropic(
            "cut before the first byte",
            vec![stream(&[], Ending::Broken), fine()],
            guessed(said(200, "hello there"), 2, Outcome::Ok),
        ),
        anthropic(
            "an empty answer with status 200",
            vec![stream(&[], Ending::Clean), fine()],
            guessed(said(200, "hello there"), 2, Outcome::Ok),
        ),
        anthropic("cut after the start", vec![stream(&[START], Ending::Broken)], guessed(Got::Broken, 1, Outcome::Cut)),
        anthropic(
            "cut within the text",
            vec![stream(&[START, BLOCK, &TEXT[..40]], Ending::Broken)],
            guessed(Got::Broken, 1, Outcome::Cut),
        ),
        anthropic(
            "cut after the text",
            vec![stream(&[START, BLOCK, TEXT], Ending::Broken)],
            guessed(Got::Broken, 1, Outcome::Cut),
        ),
        anthropic(
            "cut after the usage",
            vec![stream(&[START, BLOCK, TEXT, DELTA], Ending::Broken)],
            guessed(Got::Broken, 1, Outcome::Cut),
        ),
        anthropic(
            "ended without its end",
            vec![stream(&[START, BLOCK, TEXT], Ending::Clean)],
            guessed(said(200, "hello there"), 1, Outcome::Cut),
        ),
        anthropic(
            "cut after its end",
            vec![stream(&[&whole()], Ending::Broken)],
            paid(Got::Broken, 1, Outcome::Ok, WHOLE),
        ),
        anthropic(
            "silent from the start",
            vec![Play::Silence, fine()],
            guessed(said(200, "hello there"), 2, Outcome::Ok),
        ),
        anthropic(
            "silent for ever",
            vec![Play::Silence, Play::Silence, Play::Silence],
            guessed(said(504, "holdpoint_timeout"), 3, Outcome::Error),
        ),
        anthropic(
            "silent in the middle",
            vec![stream(&[START, BLOCK, TEXT], Ending::Never)],
            guessed(Got::Broken, 1, Outcome::Stalled),
        ),
        anthropic(
            "an error as the first event",
            vec![stream(&[overloaded], Ending::Clean), fine()],
            paid(said(200, "hello there"), 2, Outcome::Ok, WHOLE),
        ),
        anthropic(
            "an error after text",
            vec![stream(&[START, BLOCK, TEXT, overloaded], Ending::Clean)],
            guessed(said(200, "overloaded_error"), 1, Outcome::Error),
        ),
        anthropic(
            "JSON that breaks off",
            vec![raw(200, &[], "{\"content\":[{\"type\":\"text\",\"te")],
            guessed(said(200, "content"), 1, Outcome::Malformed),
        ),
        anthropic(
            "events that are no JSON",
            vec![stream(&["data: {\"type\n\n", "data: oops\n\n"], Ending::Clean)],
            guessed(said(200, "oops"), 1, Outcome::Malformed),
        ),
        anthropic(
            "a nonsense event between good ones",
            vec![stream(&[START, BLOCK, "data: {{{\n\n", TEXT, DELTA, STOP], Ending::Clean)],
            paid(said(200, "{{{"), 1, Outcome::Ok, WHOLE),
        ),
        anthropic(
            "JSON that is no answer",
            vec![raw(200, &[], "[1,2,3]")],
            guessed(said(200, "[1,2,3]"), 1, Outcome::Malformed),
        ),
        anthropic(
            "a page with status 200",
            vec![raw(200, &[("content-type", "text/html")], "<html>login first</html>")],
            guessed(said(200, "login first"), 1, Outcome::Malformed),
        ),
        anthropic(
            "events labelled as JSON",
            vec![raw(200, &[("content-type", "application/json")], &whole())],
            paid(said(200, "hello there"), 1, Outcome::Ok, WHOLE),
        ),
        anthropic(
            "comments to keep it alive",
            vec![stream(&[": hi\n\n", START, ": hi\n\n", BLOCK, TEXT, ": hi\n\n", DELTA, STOP], Ending::Clean)],
            paid(said(200, "hello there"), 1, Outcome::Ok, WHOLE),
        ),
        anthropic(
            "usage told twice",
            vec![stream(&[START, BLOCK, TEXT, DELTA, DELTA, STOP], Ending::Clean)],
            paid(said(200, "hello there"), 1, Outcome::Ok, WHOLE),
        ),
        anthropic(
            "usage before the text only",
            vec![stream(&[START, BLOCK, DELTA, TEXT, STOP], Ending::Clean)],
            paid(said(200, "hello there"), 1, Outcome::Ok, WHOLE),
        ),
        anthropic(
            "no usage at the end",
            vec![stream(&[START, BLOCK, TEXT, STOP], Ending::Clean)],
            guessed(said(200, "hello there"), 1, Outcome::Ok),
        ),
        anthropic(
            "nothing said",
            vec![stream(&[START, DELTA, STOP], Ending::Clean)],
            paid(said(200, "message_stop"), 1, Outcome::Empty, WHOLE),
        ),
        anthropic(
            "a line of a megabyte",
            vec![stream(&[START, BLOCK, &TEXT.replace("hello", &"x".repeat(1 << 20)), DELTA, STOP], Ending::Clean)],
            paid(said(200, "xxxx"), 1, Outcome::Ok, WHOLE),
        ),
        anthropic(
            "compressed though nobody asked",
            vec![raw(200, &[("content-encoding", "gzip")], "\u{1f}\u{8b} not readable here")],
            guessed(Got::Broken, 1, Outcome::Malformed),
        ),
    ]
}

fn other_protocols() -> Vec<Fault> {
    let openai = |name, plays, expected| Fault { name, kind: OpenAi, plays, expected };
    let gemini = |name, plays, expected| Fault { name, kind: Gemini, plays, expected };
    let chunk = |delta: Value, finish: Value| {
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))
    };
    let calls: Vec<Value> = (0..1_000)
        .map(|at| json!({"index": at, "id": format!("c{at}"), "function": {"name": "grep", "arguments": "{\"p\":1}"}}))
        .collect();
    let usage = format!("data: {}\n\n", json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 4}}));
    let part = |text: &str, reason: Value, usage: Value| {
        format!(
            "data: {}\n\n",
            json!({"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": reason}], "usageMetadata": usage})
        )
    };
    let counted = json!({"promptTokenCount": 10, "candidatesTokenCount": 4, "totalTokenCount": 14});
    let exhausted = json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "m", "details": [{"retryDelay": "7000s"}]}});
    vec![
        openai("1,000 tool calls in a turn", vec![stream(&[&chunk(json!({"tool_calls": calls}), Value::Null), &chunk(json!({}), json!("tool_calls")), &usage, "data: [DONE]\n\n"], Ending::Clean)], paid(said(200, "c999"), 1, Outcome::Ok, WHOLE)),
        openai("a stream that never tells its usage", vec![stream(&[&chunk(json!({"content": "hello there"}), Value::Null), &chunk(json!({}), json!("stop")), "data: [DONE]\n\n"], Ending::Clean)], guessed(said(200, "hello there"), 1, Outcome::Ok)),
        openai("a refusal of the model", vec![stream(&[&chunk(json!({"refusal": "I can't help with that"}), Value::Null), &chunk(json!({}), json!("content_filter")), &usage, "data: [DONE]\n\n"], Ending::Clean)], paid(said(200, "I can't help"), 1, Outcome::Ok, WHOLE)),
        openai("the context is too long", vec![raw(400, &[], &json!({"error": {"code": "context_length_exceeded", "message": "too long", "type": "invalid_request_error", "param": null}}).to_string())], free(said(400, "context_length_exceeded"), 1, Outcome::Error)),
        openai("no quota", vec![raw(429, &[], &json!({"error": {"code": "insufficient_quota", "message": "no quota"}}).to_string())], free(said(429, "holdpoint_quota"), 1, Outcome::Quota)),
        openai("bytes that are no text", vec![Play::Bytes(vec![b"data: \xff\xfe\n\n".to_vec(), chunk(json!({"content": "hello there"}), json!("stop")).into_bytes(), usage.clone().into_bytes(), b"data: [DONE]\n\n".to_vec()])], paid(Got::Status(200, "hello there"), 1, Outcome::Ok, WHOLE)),
        openai("a usage without the answer's tokens", vec![raw(200, &[], &json!({"choices": [{"message": {"content": "hello there"}}], "usage": {"prompt_tokens": 10}}).to_string())], guessed(said(200, "hello there"), 1, Outcome::Ok)),
        gemini("usage in every event", vec![stream(&[&part("hello", Value::Null, json!({"promptTokenCount": 10, "candidatesTokenCount": 1, "totalTokenCount": 11})), &part(" there", json!("STOP"), counted.clone())], Ending::Clean)], paid(said(200, "there"), 1, Outcome::Ok, WHOLE)),
        gemini("cut in the middle of a text", vec![stream(&[&part("hello", Value::Null, json!({"promptTokenCount": 10}))], Ending::Clean)], guessed(said(200, "hello"), 1, Outcome::Cut)),
        gemini("a blocked prompt", vec![raw(200, &[], &json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 10, "totalTokenCount": 10}}).to_string())], paid(said(200, "SAFETY"), 1, Outcome::Empty, 10)),
        gemini("exhausted for hours", vec![raw(429, &[], &exhausted.to_string())], free(said(429, "holdpoint_quota"), 1, Outcome::Quota)),
        gemini("unavailable for a moment", vec![raw(503, &[], &json!({"error": {"code": 503, "status": "UNAVAILABLE", "message": "overloaded"}}).to_string()), stream(&[&part("hello there", json!("STOP"), counted)], Ending::Clean)], paid(said(200, "hello there"), 2, Outcome::Ok, WHOLE)),
    ]
}

async fn check(fault: Fault) {
    let Fault { name, kind, plays, expected } = fault;
    let asked = plays.len();
    let fake = Fake::start(plays).await;
    let mut grant = grant(vec![fake.upstream("house", kind)]);
    grant.retry.first_byte_ms = 150;
    grant.retry.idle_ms = 150;
    let mut door = Door::open(grant);
    let path = match kind {
        Anthropic => "/v1/messages",
        OpenAi => "/v1/chat/completions",
        Gemini => "/v1beta/models/house/m:streamGenerateContent?alt=sse",
        UpstreamKind::Scripted => unreachable!("no fault is scripted"),
    };
    let body = json!({"model": "house/m", "stream": true, "messages": [{"role": "user", "content": "say hello"}]});
    let response = door.post(path, &body).send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.bytes().await.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    match (&expected.got, text) {
        (Got::Broken, Ok(text)) => assert!(!text.contains("message_stop") && !text.is_empty(), "{name}: {text}"),
        (Got::Broken, Err(_)) => {}
        (Got::Status(expected, words), Ok(text)) => {
            assert_eq!(status, *expected, "{name}: {}", &text[..text.len().min(300)]);
            assert!(text.contains(words), "{name}: {}", &text[..text.len().min(300)]);
        }
        (Got::Status(..), Err(error)) => panic!("{name}: {error}"),
    }
    let lines = door.tried().len() + 2;
    door.wait_for_lines(lines).await;
    let settled = door.one();
    assert_eq!((settled.outcome, settled.tries), (expected.outcome, expected.tries), "{name}");
    assert_eq!(fake.seen().len(), asked, "{name}: each answer was asked for once");
    assert_eq!(settled.usage_known, expected.known, "{name}: {settled:?}");
    match expected.cost {
        Some(cost) => assert_eq!(settled.micro_usd.unwrap().0, cost, "{name}"),
        None => {
            let unknown = if settled.outcome == Outcome::Ok { settled.tries - 1 } else { settled.tries };
            assert!(settled.micro_usd.unwrap().0 >= u64::from(unknown) * RESERVED_OUTPUT, "{name}: {settled:?}");
        }
    }
    // What is charged is charged once: the lines of earlier tries carry no money.
    let attempts: Vec<u32> = door.tried().iter().map(|tried| tried.attempt).collect();
    assert_eq!(attempts, (1..expected.tries).collect::<Vec<_>>(), "{name}");
}

async fn check_all(faults: Vec<Fault>) {
    for fault in faults {
        let name = fault.name;
        let checked = tokio::time::timeout(Duration::from_secs(20), check(fault)).await;
        assert!(checked.is_ok(), "{name}: it hangs");
    }
}

#[tokio::test]
async fn statuses_are_tried_again_or_told() {
    check_all(statuses()).await;
}

#[tokio::test]
async fn broken_streams_are_told_as_they_are() {
    check_all(streams()).await;
}

#[tokio::test]
async fn the_other_protocols_have_faults_of_their_own() {
    check_all(other_protocols()).await;
}

#[test]
fn the_table_has_at_least_thirty_rows() {
    assert!(statuses().len() + streams().len() + other_protocols().len() >= 50);
}
