//! A provider that bills everything it was asked for, and agents that do not stay for the answer: what is recorded is
//! never less than what is billed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use axum::{Json, Router};
use broker::calls::Outcome;
use broker::{Micros, UpstreamKind};
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Value, json};

use crate::kit::{Door, Fake, Play, grant, micros};

const MAX_TOKENS: u64 = 500;

/// Bills a request when it comes in: its words, and all the output it allows, whoever reads it.
#[derive(Clone, Default)]
struct Biller {
    billed: Arc<AtomicU64>,
}

async fn bill(State(biller): State<Biller>, Json(body): Json<Value>) -> Response {
    let input = body.to_string().len() as u64 / 4;
    let output = body["max_tokens"].as_u64().unwrap();
    biller.billed.fetch_add(input + output * 10, Ordering::SeqCst);
    let start = json!({"type": "message_start", "message": {"usage": {"input_tokens": input, "output_tokens": 1}}});
    let mut events = vec![format!("data: {start}\n\n")];
    let delta = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "word "}});
    events.extend((0..100).map(|_| format!("data: {delta}\n\n")));
    let end =
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": output}});
    events.push(format!("data: {end}\n\ndata: {{\"type\":\"message_stop\"}}\n\n"));
    let events = stream::unfold(events.into_iter(), |mut events| async move {
        tokio::task::yield_now().await;
        events.next().map(|event| (Ok::<_, std::io::Error>(Bytes::from(event)), events))
    });
    Response::builder().header("content-type", "text/event-stream").body(Body::from_stream(events)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_calls_abandoned_at_random_instants_are_recorded_at_no_less_than_billed() {
    let biller = Biller::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let app = Router::new().route("/v1/messages", post(bill)).with_state(biller.clone());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    let mut upstream = Fake::start(vec![]).await.upstream("house", UpstreamKind::Anthropic);
    upstream.base_url = url;
    let mut door = Door::open(grant(vec![upstream]));
    let mut dice = Dice(12);
    for number in 0..200 {
        let body = json!({"model": "house/m", "max_tokens": MAX_TOKENS, "stream": true,
            "messages": [{"role": "user", "content": "x".repeat(dice.below(2_000))}]});
        // Some leave before the provider answers, some in the middle of it, some stay to the end.
        let asked = async {
            let mut response = door.post("/v1/messages", &body).send().await.unwrap();
            let chunks = dice.below(200);
            for _ in 0..chunks {
                if response.chunk().await.unwrap().is_none() {
                    break;
                }
            }
        };
        let patience = Duration::from_micros(if number % 3 == 0 { 50 + 30 * number } else { 10_000_000 });
        // Leaving is the point.
        let _ = tokio::time::timeout(patience, asked).await;
    }
    while door.settled().len() < reserved(&door) {
        door.next_line().await;
    }
    let settled = door.close().await;
    let recorded: u64 = settled.iter().map(micros).sum();
    let billed = biller.billed.load(Ordering::SeqCst);
    let abandoned = settled.iter().filter(|call| call.outcome == Outcome::Abandoned).count();
    assert!(abandoned > 50 && billed > 0, "{abandoned} of {} were abandoned", settled.len());
    assert!(recorded >= billed, "recorded {recorded}, billed {billed}");
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % limit).unwrap()
    }
}

fn reserved(door: &Door) -> usize {
    let reserved = |record: &broker::calls::CallRecord| matches!(record, broker::calls::CallRecord::Reserved(_));
    door.records().iter().filter(|record| reserved(record)).count()
}

#[tokio::test]
async fn hang_ups_use_up_the_limit_they_may_be_billed_for() {
    let plays = (0..60).map(|_| Play::Silence).collect();
    let fake = Fake::start(plays).await;
    let mut grant = grant(vec![fake.upstream("house", UpstreamKind::Anthropic)]);
    // Room for five calls of 500 tokens at 10.
    grant.limit = Some(Micros(26_000));
    let mut door = Door::open(grant);
    let body = json!({"model": "house/m", "max_tokens": MAX_TOKENS, "messages": []});
    let mut sent = 0;
    loop {
        let refused = tokio::select! {
            () = fake.arrival() => None,
            answer = door.post("/v1/messages", &body).send() => Some(answer.unwrap().status().as_u16()),
        };
        if let Some(status) = refused {
            assert_eq!(status, 402);
            break;
        }
        sent += 1;
        assert!(sent <= 60, "the limit is never reached");
        // The request that was dropped is the hang-up.
        door.wait_for_lines(2 * sent).await;
    }
    assert_eq!(sent, 5, "five may be billed whole, a sixth would pass the limit");
}

#[tokio::test]
async fn a_limit_that_covers_one_try_is_not_spent_on_two() {
    let fake = Fake::start(vec![Play::Silence, Play::Silence]).await;
    let mut grant = grant(vec![fake.upstream("house", UpstreamKind::Anthropic)]);
    grant.retry.first_byte_ms = 30;
    grant.limit = Some(Micros(6_000));
    let door = Door::open(grant);
    let body = json!({"model": "house/m", "max_tokens": MAX_TOKENS, "messages": []});
    let (status, error) = door.json("/v1/messages", &body).await;
    assert_eq!((status, &error["error"]["type"]), (402, &json!("holdpoint_budget")), "{error}");
    assert_eq!(fake.seen().len(), 1, "the first try may be billed, and a second would pass the limit");
    assert!(micros(&door.one()) >= 5_000, "{:?}", door.one());
}
