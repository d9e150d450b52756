//! How runs went, over HTTP: from stored facts, for every role; the state of the installation for admins only.

use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::common::{Bench, answer};

#[tokio::test]
async fn figures_follow_runs_as_they_end() {
    let bench = Bench::start().await;
    let (status, view) = bench.get("/api/metrics").await;
    assert_eq!(
        (status, &view["total"]["ended"], &view["total"]["successRate"]),
        (StatusCode::OK, &json!(0), &json!(null))
    );
    assert_eq!(view["weeks"].as_array().unwrap().len(), 12);
    let run = bench.run_until("Add a page", "awaiting_approval").await;
    let (_, view) = bench.get("/api/metrics").await;
    assert_eq!((&view["open"], &view["total"]["ended"]), (&json!(1), &json!(0)));
    bench.decide(&run, json!({"decision": "approve"})).await;
    bench.wait(run["id"].as_str().unwrap(), "completed").await;
    let (_, view) = bench.get("/api/metrics?weeks=2").await;
    let total = &view["total"];
    assert_eq!(
        (&view["open"], &total["completed"], &total["successRate"]),
        (&json!(0), &json!(1), &json!(1.0)),
        "{view}"
    );
    assert_eq!((&total["decisions"], &view["holds"][0]["kind"]), (&json!(1), &json!("approval")));
    assert_eq!(
        (&view["models"][0]["name"], &view["playbooks"][0]["name"]),
        (&json!("scripted/demo"), &json!("autonomous"))
    );
    assert_eq!((&total["usd"], &view["weeks"][1]["figures"]["usd"]), (&json!(0.0045), &json!(0.0045)));
    let (_, run) = bench.get(&format!("/api/runs/{}", run["id"].as_str().unwrap())).await;
    assert_eq!(run["spend"]["usd"], total["usd"], "the run says the same");
}

#[tokio::test]
async fn figures_are_of_one_repository_where_it_is_named() {
    let bench = Bench::start().await;
    let run = bench.run_until("Add a page", "awaiting_approval").await;
    let (_, ended) = bench.post(&format!("/api/runs/{}/cancel", run["id"].as_str().unwrap()), &json!({})).await;
    assert_eq!(ended["status"], "cancelled", "{ended}");
    let project = run["project"].as_str().unwrap();
    let (_, here) = bench.get(&format!("/api/metrics?project={project}")).await;
    assert_eq!((&here["total"]["cancelled"], &here["total"]["successRate"]), (&json!(1), &json!(0.0)));
    let (_, elsewhere) = bench.get("/api/metrics?project=/nowhere").await;
    assert_eq!(elsewhere["total"]["ended"], 0);
    let (_, projects) = bench.get("/api/projects").await;
    assert_eq!(
        (&projects[0]["path"], &projects[0]["runs"], &projects[0]["open"]),
        (&run["project"], &json!(1), &json!(0))
    );
    assert_eq!(projects[0]["present"], true);
}

#[tokio::test]
async fn weeks_that_are_none_or_too_many_are_refused() {
    let bench = Bench::start().await;
    for weeks in ["0", "521", "many"] {
        let (status, problem) = bench.get(&format!("/api/metrics?weeks={weeks}")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{problem}");
    }
}

#[tokio::test]
async fn the_installation_is_shown_to_admins_only() {
    let bench = Bench::start().await;
    let (status, view) = bench.get("/api/doctor").await;
    assert_eq!(status, StatusCode::OK, "{view}");
    let git = view["findings"].as_array().unwrap().iter().find(|one| one["name"] == "git").unwrap();
    assert_eq!(git["state"], "good", "{git}");
    let (_, viewer) = bench.post("/api/users", &json!({"name": "vera", "role": "viewer"})).await;
    let token = viewer["token"].as_str().unwrap();
    let (status, problem) = answer(bench.bare(Method::GET, "/api/doctor").bearer_auth(token)).await;
    assert_eq!((status, &problem["code"]), (StatusCode::FORBIDDEN, &json!("role_missing")));
    let (status, _) = answer(bench.bare(Method::GET, "/api/metrics").bearer_auth(token)).await;
    assert_eq!(status, StatusCode::OK, "figures are for everybody");
}
