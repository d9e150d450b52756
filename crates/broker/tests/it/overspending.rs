//! Requests and answers that would spend more than was set aside for them, or book less than is billed.

use broker::UpstreamKind::{Anthropic, Gemini, OpenAi};
use broker::calls::{CallRecord, Outcome};
use broker::{Micros, UpstreamKind};
use serde_json::{Value, json};

use crate::kit::{Door, Fake, Play, events, grant, micros, reply};

/// What was set aside for each call.
fn set_aside(door: &Door) -> Vec<u64> {
    let reserved = |record| match record {
        CallRecord::Reserved(reserved) => Some(reserved.micro_usd.unwrap().0),
        _ => None,
    };
    door.records().into_iter().filter_map(reserved).collect()
}

async fn reserved_for(kind: UpstreamKind, path: &str, body: Value) -> u64 {
    let fake = Fake::start(vec![reply(200, &json!({"choices": [], "usage": {}}))]).await;
    let door = Door::open(grant(vec![fake.upstream("house", kind)]));
    let (status, text) = door.ask(path, &body).await;
    assert_eq!(status, 200, "{body}: {text}");
    set_aside(&door)[0]
}

#[tokio::test]
async fn the_largest_limit_in_any_spelling_is_what_is_set_aside() {
    // Output costs 10 micro-dollars a token here.
    let chat = |fields: Value| {
        let mut body = json!({"model": "house/m", "messages": []});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        reserved_for(OpenAi, "/v1/chat/completions", body)
    };
    assert!(chat(json!({"max_completion_tokens": 1, "max_tokens": 50_000})).await >= 500_000);
    assert!(chat(json!({"max_completion_tokens": 50_000, "max_tokens": 1})).await >= 500_000);
    assert!(chat(json!({"max_tokens": 10_000, "n": 5})).await >= 500_000);
    assert!(chat(json!({"reasoning": {"max_tokens": 50_000}})).await >= 500_000);
    let predicted = json!({"type": "content", "content": "x ".repeat(100_000)});
    assert!(chat(json!({"max_tokens": 1, "prediction": predicted})).await >= 500_000);
    for config in [
        json!({"generation_config": {"max_output_tokens": 50_000}}),
        json!({"generationConfig": {"max_output_tokens": 50_000}}),
        json!({"generationConfig": {"maxOutputTokens": 1}, "generation_config": {"maxOutputTokens": 50_000}}),
        json!({"generationConfig": {"maxOutputTokens": 1, "max_output_tokens": 50_000}}),
        json!({"generation_config": {"maxOutputTokens": 10_000, "candidate_count": 5}}),
    ] {
        let reserved = reserved_for(Gemini, "/v1beta/models/house/m:generateContent", config.clone()).await;
        assert!(reserved >= 500_000, "{config}: {reserved}");
    }
}

#[tokio::test]
async fn a_limit_that_providers_read_in_different_ways_is_refused() {
    let fake = Fake::start((0..40).map(|_| reply(200, &json!({}))).collect()).await;
    let kinds = [
        (Anthropic, "/v1/messages", &["max_tokens"][..]),
        (OpenAi, "/v1/chat/completions", &["max_tokens", "max_completion_tokens", "n"]),
        (OpenAi, "/v1/responses", &["max_output_tokens"]),
    ];
    for (kind, path, names) in kinds {
        let door = Door::open(grant(vec![fake.upstream("house", kind)]));
        for name in names {
            for value in [json!("64000"), json!(64000.0), json!(1e30), json!(-1), json!([64000]), json!(true)] {
                let body = json!({"model": "house/m", *name: value});
                let (status, text) = door.ask(path, &body).await;
                assert_eq!(status, 400, "{body}: {text}");
            }
        }
        // Servers that read this as a yes would stream, and say nothing of usage.
        for value in [json!("true"), json!(1), json!("yes"), json!([true])] {
            assert_eq!(door.ask(path, &json!({"model": "house/m", "stream": value})).await.0, 400, "{path} {value}");
        }
        assert!(door.records().is_empty());
    }
    assert!(fake.seen().is_empty());
}

#[tokio::test]
async fn a_limit_beyond_all_numbers_is_no_way_around_a_budget() {
    let fake = Fake::start(vec![]).await;
    let mut grant = grant(vec![fake.upstream("house", OpenAi)]);
    grant.limit = Some(Micros(1_000_000));
    let door = Door::open(grant);
    for body in [
        json!({"model": "house/m", "max_tokens": u64::MAX}),
        json!({"model": "house/m", "max_tokens": u64::MAX, "n": u64::MAX}),
        json!({"model": "house/m", "max_tokens": 2, "n": 1_u64 << 63}),
    ] {
        assert_eq!(door.ask("/v1/chat/completions", &body).await.0, 402, "{body}");
    }
    assert!(fake.seen().is_empty());
}

/// 4,000 tokens of input, which cost 4,000 read, 8,000 written to the cache and 8,000 written there for an hour.
fn long_request(ttl: &str) -> Value {
    let text = json!({"type": "text", "text": "x".repeat(16_000), "cache_control": {"type": "ephemeral", "ttl": ttl}});
    json!({"model": "house/m", "max_tokens": 100, "messages": [{"role": "user", "content": [text]}]})
}

#[tokio::test]
async fn an_abandoned_call_is_booked_as_if_all_of_it_had_been_written_to_the_cache() {
    let fake = Fake::start(vec![Play::Silence]).await;
    let mut door = Door::open(grant(vec![fake.upstream("house", Anthropic)]));
    let asked = tokio::spawn(door.post("/v1/messages", &long_request("5m")).send());
    fake.arrival().await;
    asked.abort();
    door.wait_for_lines(2).await;
    let (reserved, booked) = (set_aside(&door)[0], micros(&door.one()));
    assert!(booked >= reserved, "reserved {reserved}, booked {booked}");
}

#[tokio::test]
async fn a_broken_answer_that_never_told_its_input_is_booked_at_what_was_reserved() {
    let broken = Play::Events { chunks: vec![": ping\n\n".to_owned()], ending: crate::kit::Ending::Broken };
    let fake = Fake::start(vec![broken]).await;
    let door = Door::open(grant(vec![fake.upstream("house", Anthropic)]));
    let response = door.post("/v1/messages", &long_request("5m")).send().await.unwrap();
    drop(response.text().await);
    let (reserved, booked) = (set_aside(&door)[0], micros(&door.one()));
    assert!(booked >= reserved, "reserved {reserved}, booked {booked}");
}

#[tokio::test]
async fn an_hour_in_the_cache_is_reserved_at_its_own_price() {
    let fake = Fake::start(vec![]).await;
    let mut upstream = fake.upstream("house", Anthropic);
    upstream.prices[0].cache_write = 1_250_000;
    let mut limited = grant(vec![upstream]);
    // Enough for five minutes (5,000 + 1,000), not for an hour (8,000 + 1,000).
    limited.limit = Some(Micros(7_000));
    let door = Door::open(limited);
    assert_eq!(door.ask("/v1/messages", &long_request("1h")).await.0, 402);
    assert!(fake.seen().is_empty());
}

#[tokio::test]
async fn a_gateway_that_gave_up_on_the_model_may_have_been_billed() {
    let fake = Fake::start(vec![reply(504, &json!({})), reply(524, &json!({})), reply(504, &json!({}))]).await;
    let door = Door::open(grant(vec![fake.upstream("house", Anthropic)]));
    let (status, _) = door.ask("/v1/messages", &json!({"model": "house/m", "max_tokens": 100, "messages": []})).await;
    assert_eq!(status, 504);
    let (reserved, settled) = (set_aside(&door)[0], door.one());
    assert!(micros(&settled) >= 3 * reserved, "reserved {reserved}, booked {}", micros(&settled));
}

#[tokio::test]
async fn usage_that_lies_is_never_booked_as_nothing() {
    let chat = |usage: Value| json!({"choices": [{"message": {"content": "x".repeat(400)}}], "usage": usage});
    for usage in [
        json!(null),
        json!({}),
        json!([]),
        json!("none"),
        json!({"prompt_tokens": -1, "completion_tokens": -1}),
        json!({"prompt_tokens": "0", "completion_tokens": "0"}),
        json!({"prompt_tokens": 0.5, "completion_tokens": 1e-9}),
        json!({"prompt_tokens": 1e300, "completion_tokens": 1e300}),
    ] {
        let fake = Fake::start(vec![reply(200, &chat(usage.clone()))]).await;
        let door = Door::open(grant(vec![fake.upstream("house", OpenAi)]));
        let (status, _) = door.ask("/v1/chat/completions", &json!({"model": "house/m", "max_tokens": 100})).await;
        let settled = door.one();
        assert_eq!((status, settled.usage_known), (200, false), "{usage}");
        assert!(settled.output_tokens >= 100 && micros(&settled) >= 1_000, "{usage}: {settled:?}");
    }
    for usage in [
        json!({"prompt_tokens": 1_u64 << 63, "completion_tokens": 1_u64 << 63}),
        json!({"prompt_tokens": u64::MAX, "completion_tokens": 0}),
    ] {
        let fake = Fake::start(vec![reply(200, &chat(usage))]).await;
        let door = Door::open(grant(vec![fake.upstream("house", OpenAi)]));
        assert_eq!(door.ask("/v1/chat/completions", &json!({"model": "house/m", "max_tokens": 1})).await.0, 200);
        assert!(micros(&door.one()) >= 1_000_000_000_000, "{:?}", door.one());
    }
}

#[tokio::test]
async fn a_later_and_smaller_report_of_usage_does_not_take_an_earlier_one_back() {
    let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}],\"usage\":{\"prompt_tokens\":50,\"completion_tokens\":40}}\n\n\
        data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0}}\n\n\
        data: [DONE]\n\n";
    let fake = Fake::start(vec![events(stream)]).await;
    let door = Door::open(grant(vec![fake.upstream("house", OpenAi)]));
    door.ask("/v1/chat/completions", &json!({"model": "house/m", "max_tokens": 100, "stream": true})).await;
    let settled = door.one();
    assert_eq!((settled.outcome, settled.input_tokens, settled.output_tokens), (Outcome::Ok, 50, 40));
}

#[tokio::test]
async fn an_answer_that_costs_more_than_was_reserved_closes_the_budget() {
    let answer =
        json!({"content": [{"type": "text", "text": "hi"}], "usage": {"input_tokens": 1, "output_tokens": 5_000}});
    let fake = Fake::start(vec![reply(200, &answer)]).await;
    let mut limited = grant(vec![fake.upstream("house", Anthropic)]);
    limited.limit = Some(Micros(2_000));
    let door = Door::open(limited);
    let body = json!({"model": "house/m", "max_tokens": 100, "messages": []});
    assert_eq!(door.ask("/v1/messages", &body).await.0, 200);
    assert!(micros(&door.one()) >= 50_000);
    assert_eq!(door.ask("/v1/messages", &body).await.0, 402);
}

#[tokio::test]
async fn a_hundred_calls_at_once_with_money_for_one_make_one() {
    let answer =
        json!({"content": [{"type": "text", "text": "hi"}], "usage": {"input_tokens": 1, "output_tokens": 100}});
    let fake = Fake::start((0..100).map(|_| reply(200, &answer)).collect()).await;
    let mut limited = grant(vec![fake.upstream("house", Anthropic)]);
    limited.limit = Some(Micros(1_500));
    let door = Door::open(limited);
    let body = json!({"model": "house/m", "max_tokens": 100, "messages": []});
    let asked = futures_util::future::join_all((0..100).map(|_| door.ask("/v1/messages", &body))).await;
    assert_eq!(asked.iter().filter(|(status, _)| *status == 200).count(), 1);
    assert_eq!(fake.seen().len(), 1);
}
