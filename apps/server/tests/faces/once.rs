//! Keys of changes, and tags of views.

use crate::common::{AGENT_TOKEN, Bench, TOKEN, answer};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

async fn keyed(bench: &Bench, path: &str, body: &Value, key: &str) -> (StatusCode, bool, Value) {
    let request = bench.bare(Method::POST, path).bearer_auth(TOKEN).header("idempotency-key", key).json(body);
    let response = request.send().await.unwrap();
    let replayed = response.headers().contains_key("idempotency-replayed");
    (response.status(), replayed, response.json().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_request_gets_the_same_answer_word_for_word() {
    let bench = Bench::start().await;
    let body = bench.new_run("add a page");
    let (first, replayed, run) = keyed(&bench, "/api/runs", &body, "k1").await;
    assert_eq!((first, replayed), (StatusCode::CREATED, false), "{run}");
    bench.wait(run["id"].as_str().unwrap(), "awaiting_approval").await;
    assert_eq!(keyed(&bench, "/api/workflows", &body, "k1").await, (StatusCode::CREATED, true, run));
    let (status, _, problem) = keyed(&bench, "/api/runs", &bench.new_run("another"), "k1").await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("key_reused")));
    assert_eq!(bench.get("/api/runs").await.1.as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_under_a_key_is_made_once_also_after_the_run_moved_on() {
    let bench = Bench::start().await;
    let run = bench.run_until("linger for ever", "running").await;
    let path = format!("/api/runs/{}", run["id"].as_str().unwrap());
    let (status, _, _) = keyed(&bench, &format!("{path}/pause"), &json!({}), "k1").await;
    assert_eq!(status, StatusCode::OK);
    bench.held(run["id"].as_str().unwrap(), "paused").await;
    let (status, _, resumed) = keyed(&bench, &format!("{path}/resume"), &json!({}), "k1").await;
    assert_eq!(status, StatusCode::OK, "{resumed}");
    // It waits for nobody by now, and who did not hear the answer is given it.
    assert_eq!(keyed(&bench, &format!("{path}/resume"), &json!({}), "k1").await, (StatusCode::OK, true, resumed));
    assert_eq!(bench.post(&format!("{path}/resume"), &json!({})).await.0, StatusCode::CONFLICT);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_refused_may_come_again_under_its_key() {
    let bench = Bench::start().await;
    let run = bench.run_until("linger for ever", "running").await;
    let path = format!("/api/runs/{}/resume", run["id"].as_str().unwrap());
    assert_eq!(keyed(&bench, &path, &json!({}), "k1").await.0, StatusCode::CONFLICT);
    let pause = path.replace("resume", "pause");
    assert_eq!(bench.post(&pause, &json!({})).await.0, StatusCode::OK);
    bench.held(run["id"].as_str().unwrap(), "paused").await;
    assert_eq!(keyed(&bench, &path, &json!({}), "k1").await.0, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn channels_and_questions_are_made_once_and_a_token_is_kept_nowhere() {
    let bench = Bench::start().await;
    let body = json!({"project": bench.repository, "title": "how it works"});
    let (_, _, channel) = keyed(&bench, "/api/channels", &body, "k1").await;
    assert_eq!(keyed(&bench, "/api/channels", &body, "k1").await.2, channel);
    assert_eq!(bench.get("/api/channels").await.1.as_array().unwrap().len(), 1);
    let path = format!("/api/channels/{}/session", channel["id"].as_str().unwrap());
    let (status, _, asked) = keyed(&bench, &path, &json!({"text": "why?"}), "k1").await;
    assert_eq!(status, StatusCode::ACCEPTED, "{asked}");
    assert_eq!(keyed(&bench, &path, &json!({"text": "why?"}), "k1").await.2, asked);
    let eve = json!({"name": "eve", "role": "viewer"});
    let (status, _, user) = keyed(&bench, "/api/users", &eve, "k1").await;
    assert_eq!(status, StatusCode::CREATED);
    let (status, _, problem) = keyed(&bench, "/api/users", &eve, "k1").await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("answered_before")));
    let token = user["token"].as_str().unwrap().as_bytes();
    for file in ["post.db", "post.db-wal"] {
        let kept = std::fs::read(bench.folder.path().join(file)).unwrap();
        assert!(!kept.windows(token.len()).any(|part| part == token), "the token is in {file}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_belongs_to_who_used_it() {
    let bench = Bench::start().await;
    let (_, user) = bench.post("/api/users", &json!({"name": "eve", "role": "admin"})).await;
    let (_, _, mine) = keyed(&bench, "/api/runs", &bench.new_run("add a page"), "k1").await;
    let request = bench.bare(Method::POST, "/api/channels").bearer_auth(user["token"].as_str().unwrap());
    let body = json!({"project": bench.repository, "title": "hers"});
    let (status, hers) = answer(request.header("idempotency-key", "k1").json(&body)).await;
    assert_eq!((status, &hers["title"]), (StatusCode::CREATED, &json!("hers")), "{mine}");
}

/// A change under a key, by whoever has that token.
async fn by(bench: &Bench, token: &str, path: &str, body: &Value) -> (StatusCode, Value) {
    answer(bench.bare(Method::POST, path).bearer_auth(token).header("idempotency-key", "k1").json(body)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_under_another_users_key_is_not_taken_for_theirs() {
    let bench = Bench::start().await;
    let (_, user) = bench.post("/api/users", &json!({"name": "eve", "role": "admin"})).await;
    let eve = user["token"].as_str().unwrap();
    let body = bench.new_run("linger for ever");
    let (mine, hers) = (by(&bench, TOKEN, "/api/runs", &body).await, by(&bench, eve, "/api/runs", &body).await);
    assert_eq!((mine.0, hers.0), (StatusCode::CREATED, StatusCode::CREATED), "{mine:?} {hers:?}");
    assert_ne!(mine.1["id"], hers.1["id"], "each has a run of their own");
    let agents = by(&bench, AGENT_TOKEN, "/api/runs", &body).await;
    assert_eq!(agents.0, StatusCode::CREATED, "the agents' token has keys of its own: {agents:?}");
    let id = mine.1["id"].as_str().unwrap();
    bench.wait(id, "running").await;
    let path = format!("/api/runs/{id}/message");
    for (token, text) in [(TOKEN, "red"), (eve, "blue")] {
        let (status, told) = by(&bench, token, &path, &json!({"text": text})).await;
        assert!(status.is_success(), "{told}");
    }
    let (_, events) = bench.get(&format!("/api/runs/{id}/events")).await;
    let given: Vec<_> = events.as_array().unwrap().iter().filter(|event| event["type"] == "GUIDANCE_GIVEN").collect();
    assert_eq!(given.len(), 2, "{given:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_a_view_already_is_told_so_until_it_changes() {
    let bench = Bench::start().await;
    let run = bench.run_until("linger for ever", "running").await;
    let path = format!("/api/runs/{}", run["id"].as_str().unwrap());
    let look = |tag: &str| bench.bare(Method::GET, &path).bearer_auth(TOKEN).header("if-none-match", tag).send();
    let first = look("\"none\"").await.unwrap();
    assert_eq!(first.status(), StatusCode::OK);
    let tag = first.headers()["etag"].to_str().unwrap().to_owned();
    let again = look(&tag).await.unwrap();
    assert_eq!((again.status(), again.headers()["etag"].to_str().unwrap()), (StatusCode::NOT_MODIFIED, tag.as_str()));
    assert!(again.text().await.unwrap().is_empty());
    bench.post(&format!("{path}/cancel"), &json!({})).await;
    assert_eq!(look(&tag).await.unwrap().status(), StatusCode::OK);
    let refused = bench.bare(Method::GET, "/api/runs/none").bearer_auth(TOKEN).header("if-none-match", "*");
    assert_eq!(refused.send().await.unwrap().status(), StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_narrowed_and_paged() {
    let bench = Bench::start().await;
    let one = bench.run_until("ask about the Blue page", "awaiting_clarification").await;
    let two = bench.run_until("add a page", "awaiting_approval").await;
    let count = async |path: &str| bench.get(path).await.1.as_array().map(Vec::len);
    assert_eq!(count("/api/runs?q=blue").await, Some(1));
    assert_eq!(count("/api/runs?q=page&playbook=autonomous").await, Some(2));
    assert_eq!(count("/api/runs?playbook=team").await, Some(0));
    let since = two["createdAt"].as_str().unwrap();
    assert_eq!(count(&format!("/api/runs?since={since}")).await, Some(1));
    assert_eq!(bench.get("/api/runs?since=yesterday").await.1["code"], "bad_query");
    assert_eq!(bench.get(&format!("/api/runs?q={}", "x".repeat(201))).await.1["code"], "bad_text");
    let (_, holds) = bench.get("/api/holds?limit=1").await;
    assert_eq!((holds[0]["run"].clone(), holds.as_array().unwrap().len()), (one["id"].clone(), 1));
    let first = holds[0]["id"].as_str().unwrap();
    let (_, rest) = bench.get(&format!("/api/holds?after={first}")).await;
    assert_eq!((rest[0]["run"].clone(), rest.as_array().unwrap().len()), (two["id"].clone(), 1));
    assert_eq!(count("/api/holds?kind=clarification").await, Some(1));
    let path = format!("/api/runs/{}/events", one["id"].as_str().unwrap());
    assert_eq!(count(&format!("{path}?limit=2")).await, Some(2));
    for wrong in ["/api/holds?limit=0", "/api/tasks?limit=201", "/api/channels?limit=1001", &format!("{path}?limit=0")]
    {
        assert_eq!(bench.get(wrong).await.1["code"], "bad_limit", "{wrong}");
    }
}
