//! Calls at once and per minute, counted over several gateways as over the processes of a machine.

use broker::UpstreamKind::Anthropic;
use broker::calls::Outcome;
use broker::{Limits, Upstream};
use serde_json::json;
use tokio::sync::oneshot;

use crate::kit::{Door, Fake, Play, grant, reply};

fn door(upstream: Upstream, limits: Limits, folder: &tempfile::TempDir) -> Door {
    let mut grant = grant(vec![Upstream { limits, ..upstream }]);
    grant.limits_folder = Some(folder.path().to_owned());
    Door::open(grant)
}

#[tokio::test]
async fn a_second_gateway_waits_for_the_slot_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { concurrent: Some(1), per_minute: None };
    let (open, gate) = oneshot::channel();
    let fake = Fake::start(vec![Play::Held { gate, body: "{}".into() }, reply(200, &json!({}))]).await;
    let doors = [(); 2].map(|()| door(fake.upstream("house", Anthropic), limits, &folder));
    let body = json!({"model": "house/m"});
    let first = tokio::spawn(doors[0].post("/v1/messages", &body).send());
    fake.arrival().await;
    let mut second = std::pin::pin!(doors[1].ask("/v1/messages", &body));
    let early = tokio::time::timeout(std::time::Duration::from_millis(60), &mut second).await;
    assert!(early.is_err(), "the only slot is taken");
    assert_eq!(fake.seen().len(), 1);
    open.send(()).unwrap();
    first.await.unwrap().unwrap().bytes().await.unwrap();
    assert_eq!(second.await.0, 200);
    let settled = doors[1].one();
    assert_eq!((settled.outcome, settled.tries), (Outcome::Empty, 1));
    assert!(settled.waited_millis >= 50, "{settled:?}");
    assert!(settled.millis < settled.waited_millis, "waiting is no model time: {settled:?}");
}

#[tokio::test]
async fn a_slot_is_given_back_by_a_call_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { concurrent: Some(1), per_minute: None };
    let error = || reply(400, &json!({"type": "error", "error": {"message": "no"}}));
    let fake = Fake::start(vec![error(), error(), error()]).await;
    let door = door(fake.upstream("house", Anthropic), limits, &folder);
    for _ in 0..3 {
        assert_eq!(door.ask("/v1/messages", &json!({"model": "house/m"})).await.0, 400);
    }
}

#[tokio::test]
async fn a_call_that_still_waited_when_its_attempt_ended_cost_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { concurrent: Some(1), per_minute: None };
    let fake = Fake::start(vec![Play::Silence]).await;
    let [first, mut second] = [(); 2].map(|()| door(fake.upstream("house", Anthropic), limits, &folder));
    let body = json!({"model": "house/m"});
    let held = tokio::spawn(first.post("/v1/messages", &body).send());
    fake.arrival().await;
    let waiting = tokio::spawn(second.post("/v1/messages", &body).send());
    second.wait_for_lines(1).await;
    let settled = second.close().await;
    assert_eq!((settled[0].outcome, settled[0].tries), (Outcome::Abandoned, 0));
    assert_eq!(settled[0].micro_usd.unwrap().0, 0);
    drop(waiting.await.unwrap());
    held.abort();
}

#[tokio::test]
async fn a_full_minute_holds_the_next_call_back() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { concurrent: None, per_minute: Some(2) };
    let fake = Fake::start(vec![reply(200, &json!({})), reply(200, &json!({}))]).await;
    let doors = [(); 2].map(|()| door(fake.upstream("house", Anthropic), limits, &folder));
    let body = json!({"model": "house/m"});
    for door in &doors {
        assert_eq!(door.ask("/v1/messages", &body).await.0, 200);
    }
    let third = tokio::time::timeout(std::time::Duration::from_millis(60), doors[0].ask("/v1/messages", &body)).await;
    assert!(third.is_err(), "it waits for the next minute");
    assert_eq!(fake.seen().len(), 2);
}

#[tokio::test]
async fn limits_that_cannot_be_kept_refuse_the_call() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("house"), "in the way").unwrap();
    let fake = Fake::start(vec![]).await;
    let door = door(fake.upstream("house", Anthropic), Limits { concurrent: Some(1), per_minute: None }, &folder);
    let (status, said) = door.json("/v1/messages", &json!({"model": "house/m"})).await;
    assert_eq!((status, &said["error"]["type"]), (500, &json!("holdpoint_limits")));
    assert!(fake.seen().is_empty());
}
