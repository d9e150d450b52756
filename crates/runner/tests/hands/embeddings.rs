//! A search by meaning through the whole of it: agent, sandbox, broker, a provider on loopback, and the run's spending.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use broker::{HostedFeatures, Limits, Secret, UpstreamKind};
use domain::{Ending, Event, Micros, Phase};
use runner::{Talk, Talked, UpstreamSettings};
use serde_json::{Value, json};

use crate::tools::SCRIPT;
use crate::world::{World, yes};

/// What each request told, with its key.
type Told = Arc<Mutex<Vec<(String, Vec<String>)>>>;

/// A model for which newcomers and a sample are one topic.
async fn vectors(State(told): State<Told>, headers: HeaderMap, body: Json<Value>) -> Json<Value> {
    let texts: Vec<String> = serde_json::from_value(body["input"].clone()).unwrap();
    let near = |text: &String| text.contains("Sample") || text.contains("newcomers");
    let vector = |text: &String| if near(text) { json!([1.0, 0.1]) } else { json!([0.1, 1.0]) };
    let data: Vec<Value> = texts.iter().map(|text| json!({"embedding": vector(text)})).collect();
    told.lock().unwrap().push((headers["authorization"].to_str().unwrap().to_owned(), texts));
    Json(json!({"data": data, "usage": {"prompt_tokens": 1_000_000, "total_tokens": 1_000_000}}))
}

async fn provider(router: Router) -> BTreeMap<String, UpstreamSettings> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let (kind, key) = (UpstreamKind::OpenAi, Secret::new("the-key"));
    BTreeMap::from([(
        "openai".to_owned(),
        UpstreamSettings { kind, base_url, key, limits: Limits::default(), hosted: HostedFeatures::default() },
    )])
}

fn embedded(event: Event) -> Option<Option<Micros>> {
    match event {
        Event::SpendRecorded { model, cost, .. } if model.contains("embedding") => Some(cost),
        _ => None,
    }
}

#[tokio::test]
async fn an_agent_finds_by_meaning_what_has_none_of_its_words_and_the_run_pays_once() {
    let told = Told::default();
    let upstreams = provider(Router::new().route("/v1/embeddings", post(vectors)).with_state(told.clone())).await;
    let script = SCRIPT.replace("the sample", "what newcomers look at");
    let world = World::with_embeddings(&script, upstreams, "openai/text-embedding-3-small");
    let run = world.work("staged", "grep -q zwei a.txt", |_, _| yes()).await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
    for role in ["scoper", "researcher"] {
        let found = &world.results(&run.id, role, 1)[0];
        assert!(found.0 && found.1.starts_with("README.md:1-1 Sample"), "{role}: {found:?}");
        assert!(!found.1.contains("ranked by words"), "{role}: {found:?}");
    }
    let told = told.lock().unwrap();
    let texts: Vec<&str> = told.iter().flat_map(|(_, texts)| texts).map(String::as_str).collect();
    let times = |text: &str| texts.iter().filter(|told| **told == text).count();
    assert_eq!(times("what newcomers look at"), 2, "{texts:?}");
    assert_eq!(times("README.md\nSample\n# Sample"), 1, "who comes next has the vectors of who was before: {texts:?}");
    assert!(told.iter().all(|(key, _)| key == "Bearer the-key"));
    let costs: Vec<_> = world.events(&run.id).into_iter().filter_map(embedded).collect();
    assert_eq!(costs, vec![Some(Micros(20_000)); told.len()], "a million tokens each, at two cents");
}

#[tokio::test]
async fn a_provider_that_says_no_leaves_the_words_and_the_run_goes_on() {
    let no = async || (StatusCode::UNAUTHORIZED, Json(json!({"error": {"message": "bad key: the-key"}})));
    let upstreams = provider(Router::new().route("/v1/embeddings", post(no))).await;
    let world = World::with_embeddings(SCRIPT, upstreams, "openai/text-embedding-3-small");
    let run = world.work("staged", "grep -q zwei a.txt", |_, _| yes()).await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
    let found = &world.results(&run.id, "scoper", 1)[0];
    assert!(found.0 && found.1.starts_with("README.md:1-1 Sample"), "{found:?}");
    assert!(found.1.contains("(ranked by words alone: bad key: [key])"), "{found:?}");
}

const ASKED: &str = r#"
[[conversation]]
role = "discussion"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "semantic_search"
input = { query = "what newcomers look at" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "reply"
input = { text = "the README" }
"#;

async fn ask(world: &World, channel: &str) -> Talked {
    let talk = Talk {
        channel: channel.to_owned(),
        number: 1,
        project: world.repo().canonicalize().unwrap(),
        model: "scripted/story".parse().unwrap(),
        question: "Where do I begin?".to_owned(),
        earlier: Vec::new(),
    };
    world.hands.discuss(talk, Box::new(|_| {})).await.unwrap()
}

#[tokio::test]
async fn the_next_question_of_a_channel_finds_the_vectors_of_the_one_before() {
    let told = Told::default();
    let upstreams = provider(Router::new().route("/v1/embeddings", post(vectors)).with_state(told.clone())).await;
    let world = World::with_embeddings(ASKED, upstreams, "openai/text-embedding-3-small");
    for (channel, requests) in [("ch-1", 2), ("ch-2", 3)] {
        let talked = ask(&world, channel).await;
        assert_eq!(talked.answer, Ok("the README".to_owned()));
        assert_eq!(told.lock().unwrap().len(), requests, "{channel}");
    }
}

#[tokio::test]
async fn a_model_for_vectors_without_a_price_is_not_asked_under_a_limit_and_costs_nothing() {
    let told = Told::default();
    let upstreams = provider(Router::new().route("/v1/embeddings", post(vectors)).with_state(told.clone())).await;
    let world = World::with_embeddings(ASKED, upstreams, "openai/of-tomorrow");
    let talked = ask(&world, "ch-1").await;
    assert_eq!(talked.answer, Ok("the README".to_owned()));
    assert!(talked.cost.is_some(), "what was not asked has no unknown price");
    assert!(told.lock().unwrap().is_empty());
}
