//! The dashboard's files and the figures for monitors.

use crate::common::{AGENT_TOKEN, Bench, TOKEN, answer};
use crate::live;
use reqwest::{Method, StatusCode};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn pages_need_no_token_and_come_with_strict_headers() {
    let bench = Bench::start().await;
    for path in ["/", "/login", "/runs/abc?tab=diff", "/index.html", "/apis"] {
        let response = bench.bare(Method::GET, path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap();
        assert_eq!(header("content-type"), "text/html; charset=utf-8", "{path}");
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("cross-origin-opener-policy"), "same-origin");
        let policy = header("content-security-policy");
        for part in ["default-src 'self'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert!(response.text().await.unwrap().contains("Holdpoint"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_guarded_by_host_and_origin_and_take_no_posts() {
    let bench = Bench::start().await;
    let (status, body) = answer(bench.bare(Method::GET, "/").header("host", "evil.test")).await;
    assert_eq!((status.as_u16(), &body["code"]), (421, &json!("foreign_host")));
    let (status, body) = answer(bench.bare(Method::GET, "/").header("origin", "http://evil.test")).await;
    assert_eq!((status.as_u16(), &body["code"]), (403, &json!("foreign_origin")));
    let (status, _) = answer(bench.bare(Method::POST, "/login").json(&json!({}))).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let (status, _) = answer(bench.bare(Method::POST, "/login").bearer_auth(TOKEN).json(&json!({}))).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (status, body) = answer(bench.bare(Method::GET, "/assets/none-0000.js")).await;
    assert_eq!((status.as_u16(), &body["code"]), (404, &json!("no_such_file")));
    assert_eq!(bench.events_in_all().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_need_a_token_and_say_what_is_there() {
    let bench = Bench::start().await;
    let (status, body) = answer(bench.bare(Method::GET, "/metrics")).await;
    assert_eq!((status.as_u16(), &body["code"]), (401, &json!("unauthorized")));
    let run = bench.run_until("add a page", "awaiting_approval").await;
    let figures = async || {
        let (status, text) = answer(bench.bare(Method::GET, "/metrics").bearer_auth(AGENT_TOKEN)).await;
        assert_eq!(status, StatusCode::OK);
        text.as_str().unwrap().to_owned()
    };
    let text = figures().await;
    for line in [
        "holdpoint_runs{status=\"awaiting_approval\"} 1",
        "holdpoint_holds_open{kind=\"approval\"} 1",
        "holdpoint_queue_length 0",
        "holdpoint_live_clients 0",
        "# TYPE holdpoint_spend_usd_total counter",
    ] {
        assert!(text.lines().any(|known| known == line), "{line} is not in\n{text}");
    }
    assert!(!text.contains("holdpoint_decisions_total{"), "{text}");
    assert!(!text.contains(run["id"].as_str().unwrap()) && !text.contains("add a page"), "{text}");
    let mut socket = live::open(&bench, "", &[("authorization", format!("Bearer {TOKEN}"))]).await.unwrap();
    live::next(&mut socket).await.unwrap();
    assert!(figures().await.contains("\nholdpoint_live_clients 1\n"));
    let (status, _) = bench.decide(&run, json!({"decision": "approve"})).await;
    assert_eq!(status, StatusCode::OK);
    let text = figures().await;
    assert!(text.contains("holdpoint_decisions_total{decision=\"approve\"} 1\n"), "{text}");
}
