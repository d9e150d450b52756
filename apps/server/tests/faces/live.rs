//! Live messages: a snapshot, then everything after it, without loss, for those who may see it.

use std::time::Duration;

use crate::common::{Bench, TOKEN};
use drivers::AgentEvent;
use futures_util::{SinkExt as _, StreamExt as _};
use runner::Activity;
use serde_json::{Value, json};
use server::LiveLimits;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

pub(crate) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

pub(crate) async fn open(bench: &Bench, query: &str, headers: &[(&'static str, String)]) -> Result<Socket, u16> {
    let url = format!("ws://127.0.0.1:{}/api/live{query}", bench.port);
    let mut request = url.into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, HeaderValue::from_str(value).unwrap());
    }
    match connect_async(request).await {
        Ok((socket, _)) => Ok(socket),
        Err(Error::Http(response)) => Err(response.status().as_u16()),
        Err(error) => panic!("{error}"),
    }
}

pub(crate) async fn watch(bench: &Bench, query: &str) -> Socket {
    open(bench, query, &[("authorization", format!("Bearer {TOKEN}"))]).await.unwrap()
}

/// The next message that is JSON; `None` when the server closes.
pub(crate) async fn next(socket: &mut Socket) -> Option<Value> {
    loop {
        let message = tokio::time::timeout(Duration::from_secs(30), socket.next()).await.expect("a message comes");
        match message {
            Some(Ok(Message::Text(text))) => return Some(serde_json::from_str(&text).unwrap()),
            Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
            Some(Ok(_)) => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_sees_a_snapshot_and_then_every_event_in_order() {
    let bench = Bench::start().await;
    let mut socket = watch(&bench, "").await;
    let snapshot = next(&mut socket).await.unwrap();
    assert_eq!((&snapshot["message"], &snapshot["position"]), (&json!("snapshot"), &json!(0)));
    bench.run_until("add a page", "awaiting_approval").await;
    let mut expected = 1;
    loop {
        let event = next(&mut socket).await.unwrap();
        assert_eq!((&event["message"], &event["position"]), (&json!("event"), &json!(expected)));
        if expected == 1 {
            assert_eq!(event["name"], "workflow:created");
        }
        expected += 1;
        if event["name"] == "workflow:approval_needed" {
            assert_eq!(event["run"]["status"], "awaiting_approval");
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_that_comes_back_misses_nothing_and_sees_nothing_twice() {
    let bench = Bench::start().await;
    bench.run_until("add a page", "awaiting_approval").await;
    let all = bench.events_in_all().await;
    let mut seen = Vec::new();
    for round in 0..3 {
        let after = seen.last().copied().unwrap_or(0);
        let mut socket = watch(&bench, &format!("?after={after}")).await;
        while seen.last().copied().unwrap_or(0) < all && (round == 2 || seen.len() < 3 * (round + 1)) {
            seen.push(next(&mut socket).await.unwrap()["position"].as_u64().unwrap());
        }
    }
    assert_eq!(seen, (1..=all).collect::<Vec<_>>());
    let mut socket = watch(&bench, "?after=999999").await;
    assert_eq!(next(&mut socket).await.unwrap()["message"], "snapshot");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_too_far_behind_is_told_and_given_a_snapshot() {
    let bench = Bench::with_limits(LiveLimits { backlog: 5, ..LiveLimits::default() }).await;
    bench.run_until("add a page", "awaiting_approval").await;
    let mut socket = watch(&bench, "?after=0").await;
    assert_eq!(next(&mut socket).await.unwrap()["message"], "behind");
    let snapshot = next(&mut socket).await.unwrap();
    assert_eq!(snapshot["message"], "snapshot");
    assert_eq!(snapshot["position"], bench.events_in_all().await);
    assert_eq!(snapshot["runs"][0]["status"], "awaiting_approval");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_task_does_by_itself_goes_by_the_names_of_a_list_of_tasks() {
    let bench = Bench::start().await;
    let mut socket = watch(&bench, "").await;
    next(&mut socket).await.unwrap();
    let body = json!({"project": bench.repository, "request": "bad work on a page", "playbook": "task", "task": {},
        "models": {"*": "scripted/demo"}});
    bench.post("/api/runs", &body).await;
    let mut told = Vec::new();
    loop {
        let event = next(&mut socket).await.unwrap();
        if !event["event"]["task"].is_null() {
            let task = &event["event"]["task"];
            assert_eq!(event["name"] == "auto.advanced", event["event"]["type"] == "AUTO_ADVANCED", "{event}");
            told.push(format!("{} {} → {}", task["type"], task["from"], task["to"]).replace('"', ""));
        }
        if event["run"]["taskStatus"] == "stuck" {
            break;
        }
    }
    let expected = [
        "auto.advanced working → agent-review",
        "auto.advanced agent-review → working",
        "auto.advanced working → agent-review",
        "auto.advanced agent-review → stuck",
    ];
    assert_eq!(told[..], expected[..told.len()], "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_run_can_be_watched_alone() {
    let bench = Bench::start().await;
    let first = bench.run_until("linger", "running").await;
    let mut socket = watch(&bench, &format!("?run={}", first["id"].as_str().unwrap())).await;
    let snapshot = next(&mut socket).await.unwrap();
    assert_eq!(snapshot["runs"].as_array().unwrap().len(), 1);
    let other = bench.run_until("add a page", "awaiting_approval").await;
    let cancel = format!("/api/runs/{}/cancel", first["id"].as_str().unwrap());
    bench.post(&cancel, &json!({})).await;
    let event = next(&mut socket).await.unwrap();
    assert_eq!(event["run"]["id"], first["id"]);
    assert_ne!(event["run"]["id"], other["id"]);
    assert_eq!(open(&bench, "?run=zzz", &[("authorization", format!("Bearer {TOKEN}"))]).await.err(), Some(404));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_agents_do_is_shown_under_the_names_of_the_contract() {
    let bench = Bench::start().await;
    let run = bench.run_until("linger", "running").await;
    let mut socket = watch(&bench, "").await;
    next(&mut socket).await.unwrap();
    let event = AgentEvent::ToolStarted { turn: 1, call: "c".into(), tool: "grep".into(), input: "x".into() };
    let id = run["id"].as_str().unwrap().parse().unwrap();
    bench
        .activity
        .send(Activity { run: id, stage: "planning".to_owned(), session: engine::SessionId::named("s"), event })
        .unwrap();
    let shown = next(&mut socket).await.unwrap();
    assert_eq!((&shown["message"], &shown["name"]), (&json!("activity"), &json!("turn:tool_started")));
    assert_eq!((&shown["run"], &shown["data"]["tool"]), (&run["id"], &json!("grep")));
    assert_eq!(shown["data"]["stage"], "planning");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_needs_the_token_and_no_foreign_origin() {
    let bench = Bench::start().await;
    let bearer = ("authorization", format!("Bearer {TOKEN}"));
    assert_eq!(open(&bench, "", &[]).await.err(), Some(401));
    assert_eq!(open(&bench, &format!("?token={TOKEN}"), &[]).await.err(), Some(400));
    let foreign = ("origin", "https://evil.test".to_owned());
    assert_eq!(open(&bench, "", &[bearer, foreign]).await.err(), Some(403));
    let wrong = ("sec-websocket-protocol", "holdpoint, bearer.0000".to_owned());
    assert_eq!(open(&bench, "", &[wrong]).await.err(), Some(401));
    let right = ("sec-websocket-protocol", format!("holdpoint, bearer.{TOKEN}"));
    let mut socket = open(&bench, "", &[right, ("origin", bench.url.clone())]).await.unwrap();
    assert_eq!(next(&mut socket).await.unwrap()["message"], "snapshot");
    socket.send(Message::text("hello")).await.unwrap();
    socket.close(None).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_token_ends_an_open_socket_with_its_next_message() {
    let bench = Bench::start().await;
    let mut socket = watch(&bench, "").await;
    next(&mut socket).await.unwrap();
    std::fs::write(bench.folder.path().join("token"), "f".repeat(64)).unwrap();
    let body = bench.new_run("linger");
    let request = bench.bare(reqwest::Method::POST, "/api/runs").bearer_auth("f".repeat(64)).json(&body);
    assert_eq!(crate::common::answer(request).await.0.as_u16(), 201);
    assert_eq!(next(&mut socket).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_that_never_reads_is_given_up_and_holds_up_nobody() {
    // Long enough for whoever reads, also on a busy machine.
    let lost = Duration::from_secs(2);
    let bench = Bench::with_limits(LiveLimits { lost, ..LiveLimits::default() }).await;
    let run = bench.run_until("linger", "running").await;
    let id: domain::RunId = run["id"].as_str().unwrap().parse().unwrap();
    let mut deaf = watch(&bench, "").await;
    let mut keen = watch(&bench, "").await;
    next(&mut keen).await.unwrap();
    let text = "x".repeat(1024 * 1024);
    // A socket is open before its server side listens.
    let both = async {
        while bench.activity.receiver_count() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), both).await.expect("both listen");
    let given_up = async {
        for turn in 0.. {
            let event = AgentEvent::MessageDelta { turn, text: text.clone() };
            bench
                .activity
                .send(Activity {
                    run: id.clone(),
                    stage: "planning".to_owned(),
                    session: engine::SessionId::named("s"),
                    event,
                })
                .unwrap();
            assert_eq!(next(&mut keen).await.unwrap()["data"]["turn"], turn);
            if bench.activity.receiver_count() == 1 {
                return turn;
            }
        }
        0
    };
    let sent = tokio::time::timeout(Duration::from_secs(30), given_up).await.expect("the deaf one is given up");
    let mut heard = 0;
    while next(&mut deaf).await.is_some() {
        heard += 1;
    }
    assert!(heard <= sent, "{heard} of {sent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_watches_a_run_with_its_children_sees_what_happens_in_the_runs_of_its_tasks() {
    let bench = Bench::start().await;
    let mut body = bench.new_run("slow tasks");
    body["playbook"] = json!("team");
    body["models"] = json!({"*": "scripted/demo"});
    body["skipClarification"] = json!(true);
    let (_, run) = bench.post("/api/runs", &body).await;
    let id = run["id"].as_str().unwrap();
    let planned = bench.held(id, "approval").await;
    let mut alone = watch(&bench, &format!("?run={id}")).await;
    let mut family = watch(&bench, &format!("?run={id}&children=true")).await;
    assert_eq!(next(&mut family).await.unwrap()["message"], "snapshot");
    assert_eq!(bench.decide(&planned, json!({"decision": "approve"})).await.0, reqwest::StatusCode::OK);
    let child = loop {
        let message = next(&mut family).await.unwrap();
        if message["message"] == "event" && message["event"]["run"] != id {
            assert_eq!((&message["event"]["type"], &message["run"]["parent"]), (&json!("RUN_STARTED"), &json!(id)));
            break message["event"]["run"].as_str().unwrap().to_owned();
        }
    };
    let event = AgentEvent::MessageDelta { turn: 1, text: "working".to_owned() };
    let session = engine::SessionId::named("s");
    let activity = Activity { run: child.parse().unwrap(), stage: "implementing".to_owned(), session, event };
    bench.activity.send(activity).unwrap();
    loop {
        let message = next(&mut family).await.unwrap();
        if message["message"] == "activity" {
            assert_eq!((&message["run"], &message["data"]["stage"]), (&json!(child), &json!("implementing")));
            break;
        }
    }
    bench.wait_for(id, |run| run["tasks"][1]["status"] == "working").await;
    loop {
        let message = next(&mut alone).await.unwrap();
        if message["message"] == "event" {
            assert_eq!(message["event"]["run"], id);
        }
        if message["event"]["type"] == "CHILD_STARTED" {
            break;
        }
    }
}

/// Watchers of everything, while a run comes to its approval: each is told every position, once and in order.
async fn all_are_told(limits: LiveLimits) -> Vec<Vec<Value>> {
    let bench = Bench::with_limits(limits).await;
    let mut sockets = Vec::new();
    for _ in 0..20 {
        let mut socket = watch(&bench, "").await;
        assert_eq!(next(&mut socket).await.unwrap()["message"], "snapshot");
        sockets.push(socket);
    }
    bench.run_until("add a page", "awaiting_approval").await;
    let all = bench.events_in_all().await;
    let mut told = Vec::new();
    for socket in &mut sockets {
        let mut heard = Vec::new();
        for expected in 1..=all {
            let event = next(socket).await.unwrap();
            assert_eq!((&event["message"], &event["position"]), (&json!("event"), &json!(expected)));
            heard.push(event);
        }
        told.push(heard);
    }
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn many_watchers_of_everything_are_told_the_very_same() {
    let told = all_are_told(LiveLimits::default()).await;
    assert!(told.iter().all(|heard| *heard == told[0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_falls_out_of_what_is_kept_for_all_reads_on_from_the_store() {
    all_are_told(LiveLimits { ring: 1, ..LiveLimits::default() }).await;
}
