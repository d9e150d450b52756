//! Notices of a server that is killed at the worst instants: each arrives, and what arrives twice has the same id.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use serde_json::{Value, json};
use tests::product::Product;
use tests::world::World;

const PLANNER: &str = r##"
[[conversation]]
role = "planner"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_plan"
input = { title = "A note", body = "# A note\n\n```mermaid\nflowchart TD\n  A[Ask] --> B[Note]\n```\n" }
"##;

type Seen = Arc<Mutex<Vec<(String, String)>>>;

/// A receiver that keeps the id and the event of what it gets.
async fn receiver() -> (String, Seen) {
    let seen = Seen::default();
    let take = |State(seen): State<Seen>, headers: HeaderMap| async move {
        let said = |name: &str| headers[name].to_str().unwrap().to_owned();
        seen.lock().unwrap().push((said("holdpoint-delivery"), said("holdpoint-event")));
    };
    let router = Router::new().route("/", post(take)).with_state(Arc::clone(&seen));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(axum::serve(listener, router).into_future());
    (url, seen)
}

/// A server that may die, and the next one that does not.
struct Pair<'a> {
    world: &'a World,
    product: Product,
    deaths: u32,
}

impl Pair<'_> {
    fn environment() -> BTreeMap<String, String> {
        BTreeMap::from([("NOTICE_SECRET".to_owned(), "0123456789abcdef".to_owned())])
    }

    /// Asks until it is answered; a server that died is replaced by one that stays.
    async fn ask(&mut self, path: &str, said: Option<(&str, Value)>) -> Value {
        loop {
            let answered = match &said {
                Some((key, body)) => self.product.post(path, Some(key), body).await,
                None => self.product.get(path).await,
            };
            if let Ok((200..=299, answer)) = answered {
                return answer;
            }
            if self.product.ended_already() {
                self.deaths += 1;
                self.product = Product::start(&self.world.home(), &Self::environment()).await.unwrap();
            }
        }
    }
}

/// One run that waits and is cancelled, told to one webhook by a server that dies at a boundary. With the names of the
/// boundaries it passed.
async fn told(kill_at: Option<usize>) -> (u32, Vec<(String, String)>, Vec<String>) {
    let world = World::new(PLANNER).unwrap();
    let (url, seen) = receiver().await;
    let config = format!(
        "[[notify.webhook]]\nname = \"ops\"\nurl = \"{url}\"\nsecret_env = \"NOTICE_SECRET\"\n\
         events = [\"hold.placed\", \"run.cancelled\"]\n"
    );
    std::fs::write(world.home().join("config.toml"), config).unwrap();
    let names = world.outside().join("boundaries");
    let mut first = Pair::environment();
    match kill_at {
        Some(number) => first.insert("HOLDPOINT_KILL_AT".to_owned(), number.to_string()),
        None => first.insert("HOLDPOINT_BOUNDARIES".to_owned(), names.display().to_string()),
    };
    let product = Product::start_logging_to(Stdio::null(), &world.home(), &first).await.unwrap();
    let mut pair = Pair { world: &world, product, deaths: 0 };
    let body = json!({"project": world.repository(), "request": "Leave a note", "models": {"*": "scripted/story"}});
    let run = pair.ask("/api/runs", Some(("start", body))).await;
    let path = format!("/api/runs/{}", run["id"].as_str().unwrap());
    while !pair.ask(&path, None).await["hold"].is_object() {}
    pair.ask(&format!("{path}/cancel"), Some(("cancel", json!({})))).await;
    loop {
        let ops = pair.ask("/api/notifications", None).await[0].clone();
        if ops["waiting"] == 0 && ops["recent"].as_array().unwrap().len() == 2 {
            break;
        }
    }
    let (deaths, got) = (pair.deaths, seen.lock().unwrap().clone());
    let passed = std::fs::read_to_string(names).unwrap_or_default().lines().map(str::to_owned).collect();
    (deaths, got, passed)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_beside_a_delivery_loses_no_notice_and_gives_none_a_second_id() {
    let (deaths, got, passed) = told(None).await;
    assert_eq!((deaths, got.len()), (0, 2), "{got:?}");
    let at = |word: &str| passed.iter().position(|name| name.contains(word)).map(|index| index + 1);
    for word in ["notice: before it is kept", "notice: before it is sent", "notice: sent, not yet noted"] {
        let (deaths, got, _) = told(at(word)).await;
        assert_eq!(deaths, 1, "killed at `{word}`: {got:?}");
        let events: Vec<&str> = got.iter().map(|(_, event)| event.as_str()).collect();
        assert!(events.contains(&"hold.placed") && events.contains(&"run.cancelled"), "`{word}`: {got:?}");
        assert_eq!(got.iter().map(|(id, _)| id).collect::<BTreeSet<_>>().len(), 2, "`{word}`: {got:?}");
    }
}
