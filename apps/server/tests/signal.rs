//! A signal ends the server in order. Alone in its program, since a signal is for the whole process.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use server::{Settings, serve};
use tokio::sync::oneshot;

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_ends_the_server_and_takes_its_word_back() {
    let folder = tempfile::tempdir().unwrap();
    let (tell, told) = oneshot::channel();
    let settings = Settings {
        home: folder.path().to_owned(),
        port: None,
        listen: None,
        proxy: None,
        idle_exit: None,
        agents: 1,
        ready: Some(Box::new(move |info| tell.send(info.clone()).unwrap())),
        last_resort: None,
        program: "/nonexistent".into(),
        environment: BTreeMap::new(),
        secrets: runner::ServerSecrets::default(),
    };
    let serving = tokio::spawn(serve(settings));
    let info = told.await.unwrap();
    assert!(folder.path().join("server.json").exists());
    kill_process(getpid(), Signal::TERM).unwrap();
    tokio::time::timeout(Duration::from_secs(30), serving).await.expect("it ends").unwrap().unwrap();
    assert!(!folder.path().join("server.json").exists());
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    assert!(client.get(format!("{}/healthz", info.url)).send().await.is_err());
}
