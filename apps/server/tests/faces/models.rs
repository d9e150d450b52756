//! Models over HTTP: the list, and test calls that are made for real.

use reqwest::StatusCode;
use serde_json::json;

use crate::common::Bench;

#[tokio::test]
async fn models_are_listed_with_roles_prices_and_what_tests_cost() {
    let bench = Bench::start().await;
    let (status, view) = bench.get("/api/models").await;
    assert_eq!(status, StatusCode::OK, "{view}");
    let planner = view["roles"].as_array().unwrap().iter().find(|role| role["role"] == "planner").unwrap();
    assert_eq!(planner["models"], json!(["scripted/demo"]));
    let names: Vec<_> = view["providers"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    assert!(["house", "scripted", "anthropic", "ollama"].iter().all(|name| names.contains(&json!(name))), "{names:?}");
    assert_eq!(view["tests"]["calls"], 0);
}

#[tokio::test]
async fn a_test_without_names_calls_every_model_of_the_roles_and_is_recorded() {
    let bench = Bench::start().await;
    let (status, results) = bench.post("/api/models/test", &json!({})).await;
    assert_eq!(status, StatusCode::OK, "{results}");
    let demo = &results[0];
    assert_eq!((&demo["model"], &demo["ok"], &demo["outcome"]), (&json!("scripted/demo"), &json!(true), &json!("ok")));
    assert!(demo["usd"].as_f64().unwrap() > 0.0 && demo["firstByteMillis"].as_f64().unwrap() > 0.0, "{demo}");
    assert_eq!(results.as_array().unwrap().len(), 1, "one model for all roles is tested once");
    let (_, view) = bench.get("/api/models").await;
    assert_eq!((&view["tests"]["calls"], &view["tests"]["usd"]), (&json!(1), &demo["usd"]));
    assert_eq!(bench.events_in_all().await, 0, "no run was touched");
}

#[tokio::test]
async fn a_model_that_cannot_be_used_is_told_with_a_way_out() {
    let bench = Bench::start().await;
    let asked = json!({"models": ["house/m", "xai/grok-4", "scripted/none"]});
    let (status, results) = bench.post("/api/models/test", &asked).await;
    assert_eq!(status, StatusCode::OK, "{results}");
    let codes: Vec<_> = results.as_array().unwrap().iter().map(|one| one["problem"]["code"].clone()).collect();
    assert_eq!(codes, ["unreachable", "provider_not_configured", "unknown_model"]);
    assert!(results[1]["problem"]["hint"].as_str().unwrap().contains("XAI_API_KEY"));
    assert_eq!((&results[0]["outcome"], &results[1]["outcome"]), (&json!("error"), &json!("not_made")));
}

#[tokio::test]
async fn a_name_or_a_protocol_that_means_nothing_is_refused() {
    let bench = Bench::start().await;
    for (body, code) in [
        (json!({"models": ["the best"]}), "bad_model"),
        (json!({"protocol": "soap"}), "unknown_protocol"),
        (
            json!({"models": vec!["scripted/demo"; 51].iter().enumerate().map(|(n, m)| format!("{m}{n}")).collect::<Vec<_>>()}),
            "too_many",
        ),
        (json!({"model": "x"}), "bad_json"),
    ] {
        let (status, problem) = bench.post("/api/models/test", &body).await;
        assert_eq!((status, &problem["code"]), (StatusCode::BAD_REQUEST, &json!(code)), "{problem}");
    }
}
