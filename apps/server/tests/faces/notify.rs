//! Notices: told once each, again after trouble and after a kill under the same id, and never at another's cost.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};
use server::{Desktop, Notify, Patience, Topic, Webhook};
use tokio::sync::{Mutex, mpsc};

use crate::common::Bench;

const SECRET: &str = "whsec-0123456789abcdef";

/// One request as a receiver saw it.
struct Got {
    id: String,
    attempt: u32,
    signature: String,
    timestamp: String,
    text: String,
    body: Value,
}

/// A receiver that answers with these statuses in turn, then with 200; on 0 it never answers.
struct Receiver {
    url: String,
    got: mpsc::UnboundedReceiver<Got>,
}

type Desk = Arc<(Mutex<Vec<u16>>, mpsc::UnboundedSender<Got>)>;

async fn receiver(statuses: &[u16]) -> Receiver {
    let (seen, got) = mpsc::unbounded_channel();
    let desk: Desk = Arc::new((Mutex::new(statuses.to_vec()), seen));
    let router = Router::new().route("/hook", post(take)).with_state(desk);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(axum::serve(listener, router).into_future());
    Receiver { url, got }
}

async fn take(State(desk): State<Desk>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let said = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
    let text = String::from_utf8(body.to_vec()).unwrap();
    let got = Got {
        id: said("holdpoint-delivery"),
        attempt: said("holdpoint-attempt").parse().unwrap(),
        signature: said("holdpoint-signature"),
        timestamp: said("holdpoint-timestamp"),
        body: serde_json::from_str(&text).unwrap(),
        text,
    };
    let status = {
        let mut left = desk.0.lock().await;
        if left.is_empty() { 200 } else { left.remove(0) }
    };
    desk.1.send(got).unwrap();
    if status == 0 {
        std::future::pending::<()>().await;
    }
    StatusCode::from_u16(status).unwrap()
}

impl Receiver {
    async fn next(&mut self) -> Got {
        tokio::time::timeout(Duration::from_secs(30), self.got.recv()).await.expect("something is sent").unwrap()
    }
}

fn webhook(name: &str, url: &str) -> Webhook {
    let secret = broker::Secret::new(SECRET);
    Webhook { name: name.to_owned(), url: url.parse().unwrap(), secret, topics: Topic::ALL.to_vec() }
}

fn hasty(webhooks: Vec<Webhook>) -> Notify {
    let first = Duration::from_millis(1);
    // Longer than any test: on a busy machine an answer that is late must not count as none.
    let patience = Patience { tries: 3, first, longest: first, one: Duration::from_secs(600) };
    Notify { webhooks, desktop: None, patience }
}

/// How a destination stands, once that is so.
async fn standing(bench: &Bench, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let reached = async {
        loop {
            let (_, all) = bench.get("/api/notifications").await;
            let found = all.as_array().unwrap().iter().find(|one| one["name"] == name).cloned().unwrap();
            if wanted(&found) {
                return found;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), reached).await.expect("the destination gets there")
}

/// The check a receiver makes, as the guide shows it, by the same program.
fn check_with_python(got: &Got, secret: &str) -> bool {
    let guide = include_str!("../../../../docs/notifications.md");
    let program = guide.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    let call = "import sys\nprint(is_ours(sys.argv[1], sys.argv[2], sys.argv[3], sys.stdin.buffer.read()))\n";
    let mut python = std::process::Command::new("python3")
        .args(["-c", &format!("{program}\n{call}"), secret, &got.timestamp, &got.signature])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut python.stdin.take().unwrap(), got.text.as_bytes()).unwrap();
    let said = python.wait_with_output().unwrap();
    assert!(said.status.success());
    String::from_utf8(said.stdout).unwrap().trim() == "True"
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_and_the_end_of_a_run_are_told_once_each_with_a_signature_that_holds() {
    let mut ops = receiver(&[]).await;
    let bench = Bench::telling(hasty(vec![webhook("ops", &ops.url)])).await;
    let run = bench.run_until("ask about the\u{202e} page", "awaiting_clarification").await;
    let got = ops.next().await;
    let hold = run["hold"]["id"].as_str().unwrap();
    assert_eq!((got.id.as_str(), got.attempt), (hold, 1));
    assert_eq!((&got.body["event"], &got.body["hold"]["kind"]), (&json!("hold.placed"), &json!("clarification")));
    assert_eq!(got.body["run"]["request"], "ask about the\u{fffd} page");
    assert_eq!(got.body["link"], format!("{}/runs/{}", bench.url, run["id"].as_str().unwrap()));
    assert!(check_with_python(&got, SECRET), "{}", got.signature);
    assert!(!check_with_python(&got, "another secret"));
    bench.post(&format!("/api/runs/{}/cancel", run["id"].as_str().unwrap()), &json!({})).await;
    let end = ops.next().await;
    assert_eq!((&end.body["event"], &end.body["id"]), (&json!("run.cancelled"), &json!(end.id)));
    let stands = standing(&bench, "ops", |ops| ops["waiting"] == 0).await;
    assert_eq!((stands["recent"].as_array().unwrap().len(), &stands["dead"]), (2, &json!(0)), "{stands}");
    assert!(!stands.to_string().contains(SECRET) && !stands.to_string().contains("/hook"), "{stands}");
    assert!(ops.got.try_recv().is_err(), "nothing is told twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_is_tried_again_under_the_same_id_and_then_given_up() {
    let mut ops = receiver(&[500, 503]).await;
    let bench = Bench::telling(hasty(vec![webhook("ops", &ops.url)])).await;
    bench.run_until("add a page", "awaiting_approval").await;
    let tries = [ops.next().await, ops.next().await, ops.next().await];
    assert_eq!(tries.iter().map(|got| got.attempt).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(tries.iter().map(|got| &got.id).collect::<BTreeSet<_>>().len(), 1);
    standing(&bench, "ops", |ops| ops["recent"][0]["state"] == "delivered").await;

    let mut bad = receiver(&[500, 302, 410, 200]).await;
    let bench = Bench::telling(hasty(vec![webhook("bad", &bad.url)])).await;
    bench.run_until("add a page", "awaiting_approval").await;
    for _ in 0..3 {
        bad.next().await;
    }
    let stands = standing(&bench, "bad", |bad| bad["dead"] == 1).await;
    let last = &stands["recent"][0];
    assert_eq!(
        (&last["state"], &last["tries"], &last["problem"]),
        (&json!("dead"), &json!(3), &json!("it answered 410"))
    );
    let (_, revived) = bench.post("/api/notifications/bad/retry", &json!({})).await;
    assert_eq!(revived["revived"], 1);
    assert_eq!(bad.next().await.id, last["id"].as_str().unwrap());
    standing(&bench, "bad", |bad| bad["dead"] == 0 && bad["waiting"] == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_server_had_not_noted_is_told_again_under_the_same_id() {
    // The first server is never answered, and is gone.
    let mut ops = receiver(&[0]).await;
    let bench = Bench::telling(hasty(vec![webhook("ops", &ops.url)])).await;
    bench.run_until("add a page", "awaiting_approval").await;
    let first = ops.next().await;
    let next = bench.killed_and_started_again().await;
    let again = ops.next().await;
    // The link names the port of the server that sends it.
    let before = next.first_url.clone().unwrap();
    assert_eq!((first.id, first.text), (again.id, again.text.replace(&next.url, &before)));
    standing(&next, "ops", |ops| ops["waiting"] == 0).await;
    assert!(ops.got.try_recv().is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_never_answers_holds_up_nobody_else() {
    let (mut slow, mut quick) = (receiver(&[0, 0, 0]).await, receiver(&[]).await);
    let bench = Bench::telling(hasty(vec![webhook("slow", &slow.url), webhook("quick", &quick.url)])).await;
    let one = bench.run_until("add a page", "awaiting_approval").await;
    let two = bench.run_until("add another page", "awaiting_approval").await;
    slow.next().await;
    let told = [quick.next().await, quick.next().await].map(|got| got.body["run"]["id"].clone());
    assert_eq!(told, [one["id"].clone(), two["id"].clone()]);
    // A receiver has a notice before the answer to it is noted.
    standing(&bench, "quick", |quick| quick["waiting"] == 0).await;
    let slow = standing(&bench, "slow", |slow| slow["recent"][0].is_object()).await;
    assert!(slow["recent"].as_array().unwrap().iter().all(|one| one["state"] == "waiting"), "{slow}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_notice_goes_the_same_way_and_says_what_became_of_it() {
    let mut ops = receiver(&[200, 500]).await;
    let bench = Bench::telling(hasty(vec![webhook("ops", &ops.url)])).await;
    let (status, sent) = bench.post("/api/notifications/ops/test", &json!({})).await;
    assert_eq!(
        (status, &sent["state"], &sent["event"]),
        (StatusCode::OK, &json!("delivered"), &json!("test")),
        "{sent}"
    );
    assert_eq!(ops.next().await.id, sent["id"].as_str().unwrap());
    let (status, failed) = bench.post("/api/notifications/ops/test", &json!({})).await;
    assert_eq!((status, &failed["state"]), (StatusCode::OK, &json!("dead")), "{failed}");
    assert_eq!((&failed["tries"], &failed["problem"]), (&json!(1), &json!("it answered 500")));
    let (status, problem) = bench.post("/api/notifications/none/test", &json!({})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::NOT_FOUND, &json!("no_such_destination")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_screen_is_told_once_and_hostile_text_stays_text() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("show");
    let script = format!(
        "#!/bin/sh\nfor word in \"$@\"; do printf '%s\\n' \"$word\"; done >> {0}/said\necho >> {0}/times\n",
        folder.path().display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let desktop = Desktop {
        name: "desktop".to_owned(),
        program: program.display().to_string(),
        sound: false,
        topics: Topic::USUAL.to_vec(),
    };
    let notify = Notify { desktop: Some(desktop), ..hasty(Vec::new()) };
    let bench = Bench::telling(notify).await;
    bench.run_until("--help $(touch x) <b>\u{202e}", "awaiting_approval").await;
    standing(&bench, "desktop", |desktop| desktop["recent"][0]["state"] == "delivered").await;
    let said = async {
        loop {
            if folder.path().join("times").exists() {
                return std::fs::read_to_string(folder.path().join("said")).unwrap();
            }
            tokio::task::yield_now().await;
        }
    };
    let said = tokio::time::timeout(Duration::from_secs(30), said).await.unwrap();
    assert!(said.contains("--\nA run waits for you\n--help $(touch x) &lt;b&gt;\u{fffd}\n"), "{said}");
    assert!(!said.contains("sound"), "{said}");
}
