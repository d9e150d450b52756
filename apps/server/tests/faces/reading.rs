//! What is shown: prefixes of ids, lists, events, artifacts, diff, why, spend.

use crate::common::Bench;
use domain::{Actor, Command, RunId, Start};
use reqwest::StatusCode;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn everything_about_a_run_can_be_read() {
    let bench = Bench::start().await;
    let run = bench.run_until("add a page", "awaiting_approval").await;
    let of = |rest: &str| format!("/api/runs/{}{rest}", run["id"].as_str().unwrap());
    let (_, events) = bench.get(&of("/events")).await;
    let events = events.as_array().unwrap();
    assert_eq!((&events[0]["type"], &events[0]["sequence"]), (&json!("RUN_STARTED"), &json!(1)));
    assert_eq!(events[0]["payload"]["request"], "add a page");
    let (_, later) = bench.get(&of(&format!("/events?after={}", events.len() - 1))).await;
    assert_eq!(later.as_array().unwrap().len(), 1);
    let (_, artifacts) = bench.get(&of("/artifacts")).await;
    assert_eq!(artifacts[0]["type"], "spec");
    let (_, spec) = bench.get(&of("/artifacts/1")).await;
    assert!(spec["content"].as_str().unwrap().starts_with("# Plan"));
    assert!(spec["drawings"][0].as_str().unwrap().contains("Start"), "{spec}");
    for wrong in ["/artifacts/0", "/artifacts/2", "/artifacts/x"] {
        assert_eq!(bench.get(&of(wrong)).await.0, StatusCode::NOT_FOUND, "{wrong}");
    }
    let (_, diff) = bench.get(&of("/diff")).await;
    assert_eq!((&diff["files"][0]["status"], &diff["truncated"]), (&json!("M"), &json!(false)));
    let (_, why) = bench.get(&of("/why")).await;
    assert!(why["unblockedBy"][0].as_str().unwrap().contains("approve"), "{why}");
    let (_, calls) = bench.get(&of("/spend")).await;
    assert_eq!((&calls[0]["stage"], &calls[0]["usd"]), (&json!("planning"), &json!(0.0015)));
    let (_, same) = bench.get(&of("").replace("/api/runs", "/api/workflows")).await;
    assert_eq!(same, run);
    let (_, playbooks) = bench.get("/api/playbooks").await;
    assert_eq!(playbooks[0]["roles"], json!(["planner", "implementer", "validator"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn any_unique_beginning_of_an_id_will_do() {
    let bench = Bench::start().await;
    let first = put(&bench, "abc111-000000").await;
    put(&bench, "abc222-000000").await;
    let (status, run) = bench.get("/api/runs/ABC1").await;
    assert_eq!((status, &run["id"]), (StatusCode::OK, &json!(first)));
    let (status, problem) = bench.get("/api/runs/abc").await;
    assert_eq!((status, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("ambiguous_id")));
    let message = problem["message"].as_str().unwrap();
    assert!(message.contains("abc111-000000") && message.contains("abc222-000000"), "{message}");
    assert_eq!(bench.get("/api/runs/abd").await.0, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_filtered_and_paged() {
    let bench = Bench::start().await;
    let old = bench.run_until("linger one", "running").await;
    let new = bench.run_until("add a page", "awaiting_approval").await;
    let ids = |list: &Value| -> Vec<Value> { list.as_array().unwrap().iter().map(|run| run["id"].clone()).collect() };
    assert_eq!(ids(&bench.get("/api/runs").await.1), [new["id"].clone(), old["id"].clone()]);
    assert_eq!(ids(&bench.get("/api/runs?limit=1").await.1), [new["id"].clone()]);
    assert_eq!(ids(&bench.get("/api/runs?status=awaiting_approval,failed").await.1), [new["id"].clone()]);
    let before = format!("/api/runs?before={}", new["id"].as_str().unwrap());
    assert_eq!(ids(&bench.get(&before).await.1), [old["id"].clone()]);
    assert!(ids(&bench.get("/api/holds?project=/elsewhere").await.1).is_empty());
}

/// Starts a run under a chosen id.
async fn put(bench: &Bench, id: &str) -> String {
    let id: RunId = id.parse().unwrap();
    let config = serde_json::from_value(json!({
        "trust": {"planning": "manual", "implementation": "auto", "fixes": "auto"}, "maxClarifications": 3,
        "models": {}, "git": {"baseBranch": "main", "autoMerge": false, "push": false}, "budget": null,
    }));
    let start = Start {
        project: bench.repository.display().to_string(),
        request: "linger".to_owned(),
        playbook: domain::Playbook::built_in("autonomous").unwrap(),
        config: config.unwrap(),
        by: Actor { name: "ada".to_owned(), channel: "http".to_owned() },
        parent: None,
    };
    bench.engine.submit(id.clone(), Command::Start(Box::new(start)), None).await.unwrap();
    id.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_can_be_read_while_they_go_on_and_page_by_page() {
    let bench = Bench::start().await;
    let run = bench.run_until("linger one", "running").await;
    let id: RunId = run["id"].as_str().unwrap().parse().unwrap();
    let session = domain::Session { role: "planner".to_owned(), visit: 1, attempt: 1 };
    let session = engine::SessionId::of_run(&id, &session);
    let notes: Vec<(u64, engine::Note)> = (1..=3)
        .map(|turn| (u64::from(turn), engine::Note::Said { turn, text: format!("<b>turn {turn}</b>") }))
        .collect();
    let (stage, role, at) = ("planning".to_owned(), "planner".to_owned(), jiff::Timestamp::now());
    bench.diary.keep(&engine::Page { session, stage, role, attempt: 2, upto: 3, at, notes }).unwrap();
    let (_, list) = bench.get(&format!("/api/runs/{id}/sessions")).await;
    assert_eq!(
        (&list[0]["role"], &list[0]["turns"], &list[0]["state"]),
        (&json!("planner"), &json!(3), &json!("active"))
    );
    let of = format!("/api/sessions/{}", list[0]["id"].as_str().unwrap());
    let (_, first) = bench.get(&format!("{of}?limit=2")).await;
    assert_eq!((first["turns"].as_array().unwrap().len(), &first["more"]), (2, &json!(true)));
    let (_, rest) = bench.get(&format!("{of}?after=2")).await;
    assert_eq!(rest["turns"][0]["items"], json!([{"kind": "message", "text": "<b>turn 3</b>"}]));
    assert_eq!(bench.get("/api/sessions/nothing.here-1").await.0, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_listed_whole_in_pages_and_each_file_is_read_by_its_id() {
    let bench = Bench::start().await;
    let run = bench.code_awaiting_approval("add a page").await;
    let artifacts = run["artifacts"].as_array().unwrap();
    let code = artifacts.iter().position(|made| made["type"] == "code").unwrap() + 1;
    for of in ["/diff".to_owned(), format!("/artifacts/{code}")] {
        let of = |rest: &str| format!("/api/runs/{}{of}{rest}", run["id"].as_str().unwrap());
        let (status, first) = bench.get(&of("/files?limit=2")).await;
        assert_eq!((status, &first["next"]), (StatusCode::OK, &json!(2)), "{first}");
        assert_eq!(first["total"], json!({"files": 3, "added": 6, "deleted": 3, "binary": 0}));
        let (_, rest) = bench.get(&of("/files?offset=2")).await;
        assert_eq!((&rest["files"][0]["path"], &rest["files"][0]["added"]), (&json!("c"), &json!(3)));
        assert_eq!((&rest["next"], &rest["total"]), (&Value::Null, &first["total"]));
        let (_, page) = bench.get(&of("/file?file=63&offset=5")).await;
        assert_eq!((&page["file"]["path"], &page["text"]), (&json!("c"), &json!("@@ at 5\n")));
        let (_, patch) = bench.get(&of("/text")).await;
        assert_eq!((&patch["text"], &patch["next"]), (&json!("from 0\n"), &json!(7)));
        let head = first["head"].as_str().unwrap();
        assert_eq!(bench.get(&of(&format!("/text?offset=7&head={head}"))).await.0, StatusCode::OK);
        for (rest, status, code) in [
            ("/file?file=64", StatusCode::NOT_FOUND, "no_such_file"),
            ("/file?file=../x", StatusCode::BAD_REQUEST, "bad_file_id"),
            ("/files?limit=0", StatusCode::BAD_REQUEST, "bad_limit"),
            ("/files?head=elsewhere", StatusCode::CONFLICT, "change_moved"),
            ("/file?file=63&head=elsewhere", StatusCode::CONFLICT, "change_moved"),
            ("/text?head=elsewhere", StatusCode::CONFLICT, "change_moved"),
        ] {
            let (got, problem) = bench.get(&of(rest)).await;
            assert_eq!((got, &problem["code"]), (status, &json!(code)), "{rest}");
        }
    }
    let (status, problem) = bench.get(&format!("/api/runs/{}/artifacts/1/files", run["id"].as_str().unwrap())).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("not_code")));
}
