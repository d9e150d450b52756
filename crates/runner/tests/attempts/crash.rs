//! A server that dies while it starts an attempt. Whoever comes next finds exactly one agent.

use std::{fs, os::unix::process::ExitStatusExt};

use runner::{
    sandbox::Tier,
    shim::{How, Launch, Seen, client::Attempt, look},
};

use crate::support::{Place, exit_of, program};

/// Counts its starts in a file.
const COUNTED: &str = "echo start >> starts; echo ready; while [ ! -e go ]; do sleep 0.05; done";

/// A binary that does `first` when it is started as a shim.
fn wrapped(place: &Place, order: &mut Launch, first: &str) {
    let wrapper = place.path("wrapper");
    let probe = program().display().to_string();
    let script = format!("#!/bin/sh\nif [ \"$1\" = shim ]; then {first}; fi\nexec {probe} \"$@\"\n");
    fs::write(&wrapper, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&wrapper, mode).unwrap();
    order.program = wrapper;
    order.extra_ro.push(program());
}

fn counted(place: &Place) -> Launch {
    place.order(Tier::Sandboxed, &["sh", "-c", COUNTED])
}

async fn one_agent_after(place: &Place, order: Launch) {
    let first = place.start(order.clone()).await;
    let second = place.start(order.clone()).await;
    fs::write(place.path("data/workspace/go"), "").unwrap();
    assert_eq!(exit_of(first.wait().await.unwrap()).exit, How::Code(0));
    assert_eq!(exit_of(second.wait().await.unwrap()).exit, How::Code(0));
    place.start(order).await;
    let starts = fs::read_to_string(place.path("data/workspace/starts")).unwrap();
    assert_eq!(starts, "start\n");
}

#[tokio::test]
async fn a_server_killed_while_preparing_leaves_an_attempt_that_can_start() {
    let place = Place::new();
    let order = counted(&place);
    let died = place.server(&order, "die", &[]);
    assert_eq!(died.status.signal(), Some(9));
    assert_eq!(look(&place.spool()).unwrap(), Seen::NeverStarted);
    one_agent_after(&place, order).await;
}

#[tokio::test]
async fn a_server_killed_before_it_has_told_all_leaves_an_attempt_that_can_start() {
    let place = Place::new();
    let mut order = counted(&place);
    // More than a pipe holds, so that the server is still writing when it dies.
    order.env.insert("PADDING".into(), "x".repeat(100_000));
    let sound = order.clone();
    wrapped(&place, &mut order, "kill -9 $PPID");
    let died = place.server(&order, "live", &[]);
    assert_eq!(died.status.signal(), Some(9));
    one_agent_after(&place, sound).await;
}

#[tokio::test]
async fn a_server_killed_after_it_has_told_all_is_followed_by_one_that_adopts() {
    let place = Place::new();
    let mut order = counted(&place);
    let heard = place.path("heard").display().to_string();
    let first = format!("cat > {heard}; exec < {heard}; rm {heard}");
    wrapped(&place, &mut order, &first);
    let lived = place.server(&order, "live", &[]);
    assert!(lived.status.success());
    one_agent_after(&place, order).await;
}

#[tokio::test]
async fn a_server_killed_between_order_and_greeting_is_followed_by_one_that_adopts() {
    let place = Place::new();
    let mut order = counted(&place);
    let heard = place.path("heard").display().to_string();
    let first = format!("cat > {heard}; kill -9 $PPID; exec < {heard}; rm {heard}");
    wrapped(&place, &mut order, &first);
    let died = place.server(&order, "live", &[]);
    assert_eq!(died.status.signal(), Some(9));
    one_agent_after(&place, order).await;
}

#[tokio::test]
async fn many_servers_at_once_start_one_agent() {
    let place = Place::new();
    let order = counted(&place);
    let all = (0..12).map(|_| place.start(order.clone()));
    let attempts: Vec<Attempt> = futures_util::future::join_all(all).await;
    fs::write(place.path("data/workspace/go"), "").unwrap();
    for attempt in attempts {
        assert_eq!(exit_of(attempt.wait().await.unwrap()).exit, How::Code(0));
    }
    let starts = fs::read_to_string(place.path("data/workspace/starts")).unwrap();
    assert_eq!(starts, "start\n");
}

#[tokio::test]
async fn a_binary_that_is_no_shim_is_an_error_with_its_log() {
    let place = Place::new();
    let mut order = counted(&place);
    wrapped(&place, &mut order, "echo broken on purpose >&2; exit 3");
    let prepare = async || Ok::<_, std::io::Error>(order);
    let refused = runner::shim::client::start_or_adopt(&place.spool(), prepare).await;
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("broken on purpose"), "{message}");
}
