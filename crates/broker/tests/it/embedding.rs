//! The door to embeddings as an agent meets it.

use broker::UpstreamKind::{Anthropic, OpenAi};
use broker::calls::{CallRecord, Outcome};
use broker::purses::{Mark, Purse};
use broker::{EmbeddingsGrant, Grant, Micros, Protocol};
use serde_json::{Value, json};

use crate::kit::{Door, Fake, Play, grant, micros, reply};

fn granted(fake: &Fake) -> Grant {
    let embeddings = EmbeddingsGrant { upstream: fake.upstream("house", OpenAi), model: "m".into() };
    Grant { embeddings: Some(embeddings), ..grant(Vec::new()) }
}

fn vectors(tokens: Option<u64>) -> Value {
    let data = json!([{"object": "embedding", "index": 0, "embedding": [0.5, -0.25]}]);
    let usage = tokens.map(|tokens| json!({"prompt_tokens": tokens, "total_tokens": tokens}));
    json!({"object": "list", "data": data, "model": "m", "usage": usage})
}

fn texts() -> Value {
    json!({"input": ["fn dun() {}"]})
}

#[tokio::test]
async fn texts_go_to_the_granted_model_with_the_key_and_are_paid_by_the_token() {
    let fake = Fake::start(vec![reply(200, &vectors(Some(700)))]).await;
    let door = Door::open(granted(&fake));
    let (status, answer) = door.json("/embeddings", &texts()).await;
    assert_eq!((status, &answer["data"][0]["embedding"]), (200, &json!([0.5, -0.25])));
    let seen = &fake.seen()[0];
    assert_eq!(seen.path, "/v1/embeddings");
    assert_eq!(seen.headers["authorization"], "Bearer sk-the-real-key");
    assert_eq!(seen.body, json!({"input": ["fn dun() {}"], "model": "m"}));
    let settled = door.one();
    assert_eq!(
        (settled.model.as_str(), settled.protocol, settled.outcome),
        ("house/m", Protocol::Embeddings, Outcome::Ok)
    );
    assert_eq!((settled.input_tokens, settled.output_tokens, settled.usage_known), (700, 0, true));
    assert_eq!((micros(&settled), settled.price_known), (700, true), "a dollar a million");
    assert!(matches!(&door.records()[0], CallRecord::Reserved(reserved) if reserved.micro_usd.is_some()));
}

#[tokio::test]
async fn tokens_that_are_not_told_are_counted_from_the_bytes_and_an_unknown_price_is_said() {
    let fake = Fake::start(vec![reply(200, &vectors(None)), reply(200, &vectors(Some(9)))]).await;
    let door = Door::open(granted(&fake));
    assert_eq!(door.ask("/embeddings", &texts()).await.0, 200);
    let settled = door.one();
    assert_eq!((settled.input_tokens, settled.output_tokens, settled.usage_known), (7, 0, false));
    let mut unpriced = granted(&fake);
    unpriced.embeddings.as_mut().unwrap().model = "new".into();
    let door = Door::open(unpriced.clone());
    assert_eq!(door.ask("/embeddings", &texts()).await.0, 200);
    assert_eq!((door.one().micro_usd, door.one().price_known), (None, false));
    unpriced.limit = Some(Micros(1_000_000));
    let door = Door::open(unpriced);
    let (status, said) = door.json("/embeddings", &texts()).await;
    assert_eq!((status, &said["error"]["code"]), (402, &json!("holdpoint_price_unknown")));
    assert_eq!(fake.seen().len(), 2, "a limit is not kept by guessing");
}

#[tokio::test]
async fn a_spent_envelope_refuses_and_what_was_paid_counts_against_conversations() {
    let fake = Fake::start(vec![reply(200, &vectors(Some(900)))]).await;
    let mut grant = granted(&fake);
    grant.upstreams = vec![fake.upstream("talk", Anthropic)];
    (grant.limit, grant.ask_after) = (Some(Micros(1_000)), Some(Micros(800)));
    let door = Door::open(grant);
    assert_eq!(door.ask("/embeddings", &texts()).await.0, 200);
    let (status, said) = door.json("/embeddings", &texts()).await;
    assert_eq!((status, &said["error"]["code"]), (402, &json!("holdpoint_budget")));
    let talk = json!({"model": "talk/m", "max_tokens": 10, "messages": []});
    assert_eq!(door.ask("/v1/messages", &talk).await.0, 402);
    let refused = &door.settled()[1..];
    assert!(refused.iter().all(|settled| settled.outcome == Outcome::Budget && settled.tries == 0), "{refused:#?}");
    let shortage = refused[0].shortage.unwrap();
    assert_eq!((shortage.purse, shortage.mark), (Purse::Run, Mark::Ask));
    assert_eq!(fake.seen().len(), 1);
}

#[tokio::test]
async fn faults_of_the_upstream_are_tried_again_or_passed_on_without_the_key() {
    let overloaded = json!({"error": {"message": "slow down", "type": "rate_limit"}});
    let wrong = json!({"error": {"message": "no such model for sk-the-real-key", "type": "invalid_request_error"}});
    let plays = vec![
        reply(503, &json!({})),
        reply(429, &overloaded),
        reply(200, &vectors(Some(3))),
        reply(404, &wrong),
        Play::Reply { status: 307, headers: vec![("location", "http://elsewhere/".into())], body: String::new() },
        reply(200, &json!({"data": []})),
        Play::Reply { status: 200, headers: vec![], body: "<html>".into() },
    ];
    let fake = Fake::start(plays).await;
    let door = Door::open(granted(&fake));
    assert_eq!(door.ask("/embeddings", &texts()).await.0, 200);
    let (status, said) = door.json("/embeddings", &texts()).await;
    assert_eq!((status, &said["error"]["message"]), (404, &json!("no such model for [key]")));
    let (status, said) = door.json("/embeddings", &texts()).await;
    assert_eq!(status, 502);
    assert!(said["error"]["message"].as_str().unwrap().contains("is not followed"), "{said}");
    for _ in 0..2 {
        assert_eq!(door.ask("/embeddings", &texts()).await.0, 200);
    }
    let settled = door.close().await;
    let ends: Vec<(Outcome, u32)> = settled.iter().map(|settled| (settled.outcome, settled.tries)).collect();
    let (error, once) = (Outcome::Error, 1);
    assert_eq!(
        ends,
        [(Outcome::Ok, 3), (error, once), (error, once), (Outcome::Empty, once), (Outcome::Malformed, once)]
    );
    assert_eq!(settled[1].micro_usd, Some(Micros(0)), "who says no is not paid");
}

#[tokio::test]
async fn what_is_granted_for_embeddings_is_for_nothing_else() {
    let fake = Fake::start(Vec::new()).await;
    let door = Door::open(granted(&fake));
    let talk = json!({"model": "house/m", "messages": []});
    assert_eq!(door.ask("/v1/chat/completions", &talk).await.0, 403);
    let bare = json!({"model": "m", "messages": []});
    assert_eq!(door.ask("/v1/chat/completions", &bare).await.0, 400);
    let listed: Value = door.client.get("http://broker/v1/models").send().await.unwrap().json().await.unwrap();
    assert_eq!(listed["data"], json!([]));
    for bad in [json!({"input": []}), json!({"input": ["x"], "model": "house/other"}), json!(7)] {
        assert_eq!(door.ask("/embeddings", &bad).await.0, 400, "{bad}");
    }
    let (status, said) = Door::open(grant(vec![fake.upstream("house", OpenAi)])).json("/embeddings", &texts()).await;
    assert_eq!(status, 404);
    assert!(said["error"]["message"].as_str().unwrap().contains("no embeddings are set up"), "{said}");
    assert!(fake.seen().is_empty());
}
