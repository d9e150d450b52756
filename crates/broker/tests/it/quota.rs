//! A spent usage window is told at once, with the time it opens, and nobody knocks at it again before that.

use broker::UpstreamKind::{Anthropic, Gemini, OpenAi};
use broker::calls::Outcome;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::kit::{Door, Fake, Play, grant, micros};

fn refusal(headers: Vec<(&'static str, String)>, body: Value) -> Play {
    Play::Reply { status: 429, headers, body: body.to_string() }
}

#[tokio::test]
async fn a_wall_is_refused_with_its_reset_time_and_remembered() {
    let reset = Timestamp::now().checked_add(SignedDuration::from_hours(5)).unwrap();
    let headers = vec![
        ("anthropic-ratelimit-unified-status", "rejected".to_owned()),
        ("anthropic-ratelimit-unified-reset", reset.as_second().to_string()),
    ];
    let body = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "5-hour limit reached"}});
    let fake = Fake::start(vec![refusal(headers, body)]).await;
    let door = Door::open(grant(vec![fake.upstream("house", Anthropic)]));
    for _ in 0..2 {
        let response = door.post("/v1/messages", &json!({"model": "house/m"})).send().await.unwrap();
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()["x-should-retry"], "false");
        let wait: i64 = response.headers()["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((17_900..=18_000).contains(&wait), "{wait}");
        let said: Value = response.json().await.unwrap();
        assert_eq!(said["error"]["type"], "holdpoint_quota");
        let at: Timestamp = said["error"]["resets_at"].as_str().unwrap().parse().unwrap();
        assert_eq!(at.as_second(), reset.as_second());
        assert!(said["error"]["message"].as_str().unwrap().contains("5-hour limit reached"), "{said}");
    }
    assert_eq!(fake.seen().len(), 1, "the second call is refused without asking");
    for settled in door.settled() {
        assert_eq!((settled.outcome, settled.status, micros(&settled)), (Outcome::Quota, 429, 0));
        assert_eq!(settled.resets_at.unwrap().as_second(), reset.as_second());
    }
}

#[tokio::test]
async fn a_wall_without_a_time_is_asked_again_next_time() {
    let spent = || refusal(vec![], json!({"error": {"code": "insufficient_quota", "message": "no more"}}));
    let fake = Fake::start(vec![spent(), spent()]).await;
    let door = Door::open(grant(vec![fake.upstream("house", OpenAi)]));
    for _ in 0..2 {
        let (status, said) = door.json("/v1/responses", &json!({"model": "house/m"})).await;
        assert_eq!((status, &said["error"]["code"]), (429, &json!("holdpoint_quota")));
        assert!(said["error"].get("resets_at").is_none());
    }
    assert_eq!(fake.seen().len(), 2);
    assert!(door.tried().is_empty(), "a wall is not tried again");
}

#[tokio::test]
async fn a_gemini_delay_of_hours_is_a_wall_and_one_of_moments_is_waited() {
    let exhausted = |delay: &str| {
        let info = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay});
        let error = json!({"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "m", "details": [info]});
        refusal(vec![], json!({"error": error}))
    };
    let fine = Play::Reply { status: 200, headers: vec![], body: "{}".into() };
    let fake = Fake::start(vec![exhausted("0.01s"), fine, exhausted("7200s")]).await;
    let door = Door::open(grant(vec![fake.upstream("house", Gemini)]));
    let path = "/v1beta/models/house/m:generateContent";
    assert_eq!(door.ask(path, &json!({})).await.0, 200);
    assert_eq!(door.tried()[0].wait_millis, 10);
    let (status, said) = door.json(path, &json!({})).await;
    assert_eq!((status, &said["error"]["status"]), (429, &json!("holdpoint_quota")));
    assert!(said["error"]["resets_at"].is_string());
}

#[tokio::test]
async fn the_wall_of_one_provider_does_not_stop_another() {
    let wall = refusal(vec![("retry-after", "7200".into())], json!({}));
    let (first, second) = (
        Fake::start(vec![wall]).await,
        Fake::start(vec![Play::Reply { status: 200, headers: vec![], body: "{}".into() }]).await,
    );
    let door = Door::open(grant(vec![first.upstream("one", Anthropic), second.upstream("two", Anthropic)]));
    assert_eq!(door.ask("/v1/messages", &json!({"model": "one/m"})).await.0, 429);
    assert_eq!(door.ask("/v1/messages", &json!({"model": "two/m"})).await.0, 200);
}
