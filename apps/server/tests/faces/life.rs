//! A server's life: where it says it is, who else may run, and when it ends by itself.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::common::{Bench, answer, sample};
use reqwest::Method;
use serde_json::{Value, json};
use server::{ServeError, Settings, remove_old_sessions, serve};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use wire::ServerInfo;

fn settings(home: &Path) -> Settings {
    Settings {
        home: home.to_owned(),
        port: None,
        listen: None,
        proxy: None,
        idle_exit: None,
        agents: 1,
        ready: None,
        last_resort: None,
        program: "/nonexistent".into(),
        environment: BTreeMap::from([("USER".to_owned(), "ada".to_owned())]),
        secrets: runner::ServerSecrets::default(),
    }
}

async fn started(mut settings: Settings) -> (ServerInfo, JoinHandle<Result<(), ServeError>>) {
    let (tell, told) = oneshot::channel();
    settings.ready = Some(Box::new(move |info| tell.send(info.clone()).unwrap()));
    let serving = tokio::spawn(serve(settings));
    (told.await.expect("the server starts"), serving)
}

async fn get(url: &str, token: &str) -> (u16, Value) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let (status, body) = answer(client.request(Method::GET, url).bearer_auth(token)).await;
    (status.as_u16(), body)
}

async fn refused(settings: Settings) -> wire::Problem {
    let error = serve(settings).await.expect_err("the server does not start");
    let problem = error.problem();
    assert!(!problem.hint.is_empty());
    problem
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_says_where_it_is_and_answers_there() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let (info, _serving) = started(settings(&home)).await;
    let said: ServerInfo = serde_json::from_slice(&std::fs::read(home.join("server.json")).unwrap()).unwrap();
    assert_eq!(said, info);
    assert_eq!(info.pid, std::process::id());
    let token = std::fs::read_to_string(home.join("token")).unwrap();
    assert_eq!(get(&format!("{}/api/runs", info.url), &token).await, (200, json!([])));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_server_on_the_same_directory_is_refused_with_the_place_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let (info, _serving) = started(settings(folder.path())).await;
    let problem = refused(settings(folder.path())).await;
    assert_eq!(problem.code, "already_running");
    assert!(problem.message.contains(&info.url), "{}", problem.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_in_use_is_refused_before_anything_is_announced() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let problem = refused(Settings { port: Some(port), ..settings(folder.path()) }).await;
    assert_eq!(problem.code, "port_in_use");
    assert!(problem.message.contains(&port.to_string()));
    assert!(!folder.path().join("server.json").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setting_that_means_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = settings(folder.path());
    wrong.environment.insert("ORCHESTRATOR_PORT".to_owned(), "eighty".to_owned());
    let problem = refused(wrong).await;
    assert_eq!(problem.code, "bad_setting");
    assert!(problem.message.contains("ORCHESTRATOR_PORT"), "{}", problem.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_database_is_refused_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("holdpoint.db");
    let rubbish = "this is no database ".repeat(500);
    std::fs::write(&database, &rubbish).unwrap();
    let problem = refused(settings(folder.path())).await;
    assert_eq!(problem.code, "database_damaged");
    assert_eq!(std::fs::read_to_string(&database).unwrap(), rubbish);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_nothing_to_do_ends_and_leaves_no_word() {
    let folder = tempfile::tempdir().unwrap();
    let idle = Settings { idle_exit: Some(Duration::from_millis(50)), ..settings(folder.path()) };
    let (_, serving) = started(idle).await;
    tokio::time::timeout(Duration::from_secs(30), serving).await.expect("it ends").unwrap().unwrap();
    assert!(!folder.path().join("server.json").exists());
    let (_, _serving) = started(settings(folder.path())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_a_live_client_does_not_end() {
    let folder = tempfile::tempdir().unwrap();
    sample(&folder.path().join("repository"));
    let home = folder.path().join("home");
    // Time enough to come in before the server ends, also on a busy machine.
    let idle = Settings { idle_exit: Some(Duration::from_secs(1)), ..settings(&home) };
    let (info, mut serving) = started(idle).await;
    let token = std::fs::read_to_string(home.join("token")).unwrap();
    let url = format!("{}/api/live", info.url.replace("http", "ws"));
    let mut request = tokio_tungstenite::tungstenite::client::IntoClientRequest::into_client_request(url).unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    let (socket, _) = tokio_tungstenite::connect_async(request).await.unwrap();
    tokio::time::timeout(Duration::from_secs(2), &mut serving).await.expect_err("somebody watches");
    drop(socket);
    tokio::time::timeout(Duration::from_secs(30), serving).await.expect("it ends").unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn session_folders_go_a_while_after_their_run_and_nothing_else_does() {
    let bench = Bench::start().await;
    let home = bench.folder.path();
    let waits = bench.run_until("add a page", "awaiting_approval").await;
    let over = bench.run_until("add another page", "awaiting_approval").await;
    let [waits, over] = [&waits, &over].map(|run| run["id"].as_str().unwrap().to_owned());
    let precious = home.join("precious");
    std::fs::create_dir_all(&precious).unwrap();
    for id in [&waits, &over] {
        let session = home.join("runs").join(id).join("sessions/planner-1");
        std::fs::create_dir_all(&session).unwrap();
        std::os::unix::fs::symlink(&precious, session.join("output")).unwrap();
    }
    bench.post(&format!("/api/runs/{over}/cancel"), &json!({})).await;
    bench.wait_for(&over, |run| run["completedAt"].is_string()).await;
    while !bench.engine.store().outbox(Some(&over.parse().unwrap())).unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let sweep = |before: jiff::Timestamp| remove_old_sessions(bench.engine.store().as_ref(), home, before).unwrap();
    let now = jiff::Timestamp::now();
    assert_eq!(sweep(now - jiff::SignedDuration::from_hours(24)), 0, "it ended just now");
    assert_eq!(sweep(now + jiff::SignedDuration::from_hours(24)), 1);
    assert!(!home.join("runs").join(&over).exists() && precious.is_dir());
    assert!(home.join("runs").join(&waits).join("sessions/planner-1").is_dir(), "it waits for a person");
}
