//! Money and calls are set aside before a call and never promised twice.

use broker::UpstreamKind::{Anthropic, OpenAi};
use broker::calls::Outcome;
use broker::purses::{Mark, Purse, SharedPurse};
use broker::{Grant, Micros};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::kit::{Door, Fake, Play, grant, micros, reply};

fn answer(output: u64) -> Value {
    json!({"content": [{"type": "text", "text": "hi"}], "usage": {"input_tokens": 1, "output_tokens": output}})
}

fn limited(fake: &Fake, limit: u64) -> Grant {
    let mut grant = grant(vec![fake.upstream("house", Anthropic)]);
    grant.limit = Some(Micros(limit));
    grant
}

/// Estimated at about 1,000 for its output and some 40 for its bytes.
fn ask() -> Value {
    json!({"model": "house/m", "max_tokens": 100, "messages": []})
}

#[tokio::test]
async fn a_call_over_the_limit_is_not_made() {
    let fake = Fake::start(vec![]).await;
    let door = Door::open(limited(&fake, 1_000));
    let (status, body) = door.json("/v1/messages", &ask()).await;
    assert_eq!((status, &body["error"]["type"]), (402, &json!("holdpoint_budget")));
    let message = body["error"]["message"].as_str().unwrap();
    for words in ["limit of $0.001", "spent $0.00", "needed $0.0010"] {
        assert!(message.contains(words), "{message}");
    }
    assert!(fake.seen().is_empty());
    let settled = door.one();
    assert_eq!((settled.outcome, settled.status, settled.tries), (Outcome::Budget, 402, 0));
}

#[tokio::test]
async fn openai_doors_carry_the_code_too() {
    let fake = Fake::start(vec![]).await;
    let mut grant = grant(vec![fake.upstream("house", OpenAi)]);
    grant.limit = Some(Micros(10));
    let door = Door::open(grant);
    for path in ["/v1/chat/completions", "/v1/responses"] {
        let (status, body) = door.json(path, &ask()).await;
        assert_eq!((status, &body["error"]["code"]), (402, &json!("holdpoint_budget")));
        assert_eq!(body["error"]["type"], "holdpoint_budget");
    }
}

#[tokio::test]
async fn what_was_not_used_is_given_back() {
    let fake = Fake::start(vec![reply(200, &answer(2)), reply(200, &answer(2))]).await;
    let door = Door::open(limited(&fake, 1_100));
    for _ in 0..2 {
        assert_eq!(door.ask("/v1/messages", &ask()).await.0, 200);
    }
    assert_eq!(door.settled().iter().map(micros).sum::<u64>(), 42);
}

#[tokio::test]
async fn what_was_spent_counts() {
    let fake = Fake::start(vec![reply(200, &answer(100))]).await;
    let door = Door::open(limited(&fake, 1_500));
    assert_eq!(door.ask("/v1/messages", &ask()).await.0, 200);
    let (status, body) = door.json("/v1/messages", &ask()).await;
    assert_eq!(status, 402);
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.contains("spent $0.001001"), "{message}");
}

#[tokio::test]
async fn two_calls_at_once_cannot_both_have_the_last_money() {
    let (open, gate) = oneshot::channel();
    let held = Play::Held { gate, body: answer(3).to_string() };
    let fake = Fake::start(vec![held, reply(200, &answer(3))]).await;
    let door = Door::open(limited(&fake, 1_500));
    let first = tokio::spawn(door.post("/v1/messages", &ask()).send());
    fake.arrival().await;
    let (status, body) = door.json("/v1/messages", &ask()).await;
    assert_eq!(status, 402, "the first call still holds its reservation");
    assert!(body["error"]["message"].as_str().unwrap().contains("reserved by calls in flight $0.0010"));
    open.send(()).unwrap();
    let first = first.await.unwrap().unwrap();
    assert_eq!(first.status(), 200);
    first.bytes().await.unwrap();
    assert_eq!(door.ask("/v1/messages", &ask()).await.0, 200, "and has given it back");
    assert_eq!(fake.seen().len(), 2);
}

#[tokio::test]
async fn a_limit_is_never_kept_by_guessing_a_price() {
    let fake = Fake::start(vec![reply(200, &answer(1))]).await;
    let body = json!({"model": "house/unpriced", "max_tokens": 1});
    let door = Door::open(limited(&fake, 1_000_000_000));
    let (status, error) = door.json("/v1/messages", &body).await;
    assert_eq!((status, &error["error"]["type"]), (402, &json!("holdpoint_price_unknown")));
    assert_eq!(door.one().outcome, Outcome::PriceUnknown);

    let free = Door::open(grant(vec![fake.upstream("house", Anthropic)]));
    assert_eq!(free.ask("/v1/messages", &body).await.0, 200);
    let settled = free.one();
    assert_eq!((settled.micro_usd, settled.price_known), (None, false));
    assert_eq!(settled.output_tokens, 1);
}

#[tokio::test]
async fn the_number_of_calls_can_be_limited() {
    let fake = Fake::start(vec![reply(200, &answer(1))]).await;
    let mut grant = grant(vec![fake.upstream("house", Anthropic)]);
    grant.max_calls = Some(1);
    let door = Door::open(grant);
    assert_eq!(door.ask("/v1/messages", &ask()).await.0, 200);
    let (status, body) = door.json("/v1/messages", &ask()).await;
    assert_eq!((status, &body["error"]["type"]), (402, &json!("holdpoint_call_limit")));
    assert_eq!(door.settled()[1].outcome, Outcome::CallLimit);
    assert_eq!(door.settled()[1].call, 2);
}

#[tokio::test]
async fn many_calls_at_once_stay_within_the_limit() {
    let plays = (0..20).map(|_| reply(200, &answer(100))).collect();
    let fake = Fake::start(plays).await;
    // Room for five calls of 1,001 with reservations of some 1,030.
    let door = Door::open(limited(&fake, 5_200));
    let asks = (0..20).map(|_| tokio::spawn(door.post("/v1/messages", &ask()).send()));
    let mut allowed = 0;
    for ask in asks.collect::<Vec<_>>() {
        let response = ask.await.unwrap().unwrap();
        allowed += usize::from(response.status() == 200);
        response.bytes().await.unwrap();
    }
    assert!((1..=5).contains(&allowed), "{allowed}");
    assert!(door.settled().iter().map(micros).sum::<u64>() <= 5_200);
    assert_eq!(fake.seen().len(), allowed);
}

#[tokio::test]
async fn at_its_mark_a_person_is_asked_before_the_next_call() {
    let fake = Fake::start(vec![reply(200, &answer(90))]).await;
    let mut grant = limited(&fake, 10_000);
    grant.ask_after = Some(Micros(800));
    let door = Door::open(grant);
    assert_eq!(door.ask("/v1/messages", &ask()).await.0, 200);
    let (status, body) = door.json("/v1/messages", &ask()).await;
    assert_eq!((status, &body["error"]["type"]), (402, &json!("holdpoint_budget")));
    assert_eq!(body["error"]["shortage"], json!({"purse": "run", "mark": "ask", "resetsAt": null}));
    assert_eq!(fake.seen().len(), 1);
    let shortage = door.settled().last().unwrap().shortage.unwrap();
    assert_eq!((shortage.purse, shortage.mark), (Purse::Run, Mark::Ask));
}

#[tokio::test]
async fn attempts_at_once_never_promise_a_days_money_twice() {
    const ATTEMPTS: usize = 12;
    let room = tempfile::tempdir().unwrap();
    let fake = Fake::start((0..ATTEMPTS).map(|_| reply(200, &answer(100))).collect()).await;
    let doors: Vec<Door> = (0..ATTEMPTS)
        .map(|number| {
            let mut grant = grant(vec![fake.upstream("house", Anthropic)]);
            grant.attempt = format!("a{number}");
            let limit = Micros(3_500);
            grant.purses =
                vec![SharedPurse { purse: Purse::Day, name: String::new(), limit, ask_at: None, beyond: Micros(0) }];
            grant.purses_folder = Some(room.path().to_owned());
            Door::open(grant)
        })
        .collect();
    let request = ask();
    let answers = futures_util::future::join_all(doors.iter().map(|door| door.json("/v1/messages", &request))).await;
    let made = answers.iter().filter(|(status, _)| *status == 200).count();
    assert!((1..=3).contains(&made), "{made} calls of about 1,000 each were let through a limit of 3,500");
    assert_eq!(fake.seen().len(), made);
    let refused = answers.iter().find(|(status, _)| *status == 402).unwrap();
    assert_eq!(refused.1["error"]["shortage"]["purse"], "day");
    assert!(refused.1["error"]["resets_at"].is_string(), "{}", refused.1);
    let (spent, _) = broker::purses::spent(room.path(), &grant_of_day(), jiff::Timestamp::now()).unwrap();
    let booked: u64 =
        doors.iter().flat_map(Door::settled).filter_map(|settled| settled.micro_usd).map(|cost| cost.0).sum();
    assert_eq!(spent.0, booked);
}

fn grant_of_day() -> SharedPurse {
    SharedPurse { purse: Purse::Day, name: String::new(), limit: Micros(0), ask_at: None, beyond: Micros(0) }
}
