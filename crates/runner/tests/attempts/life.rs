//! How attempts end, and that nothing of them is left.

use std::{
    fs,
    time::{Duration, Instant},
};

use runner::{
    sandbox::{Tier, TierChoice},
    shim::{
        How, Seen,
        client::{Attempt, Ended, stop},
        look,
    },
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open},
};

use crate::support::{Place, exit_of, until_output};

const ALL: [Tier; 3] = [Tier::Sandboxed, Tier::Restricted, Tier::Unsandboxed];

/// Leaves a daemon that is in another session and another group and has lost its parent. It and
/// [`STAY`] never replace themselves by another program: a process is not seen while it does.
const DAEMON: &str = "mkfifo up; (setsid sh -c '(trap \"\" TERM HUP; echo up > up; \
    while :; do sleep 7777; done) &' &); read x < up; echo ready;";
const STAY: &str = "while :; do sleep 7777; done";

async fn check(tier: Tier, argv: &[&str], expected: How) {
    let place = Place::new();
    let attempt = place.start(place.order(tier, argv)).await;
    let exit = exit_of(attempt.wait().await.unwrap());
    assert_eq!((exit.exit, exit.stop_requested), (expected, false), "{tier}");
    assert_eq!(attempt.marker().unwrap().unwrap().tier, tier);
}

#[tokio::test]
async fn codes_and_signals_are_reported_as_they_were() {
    for tier in ALL {
        check(tier, &["sh", "-c", "exit 0"], How::Code(0)).await;
        check(tier, &["sh", "-c", "exit 137"], How::Code(137)).await;
        check(tier, &["sh", "-c", "kill -9 $$"], How::Signal(9)).await;
        check(tier, &["sh", "-c", "kill -15 $$"], How::Signal(15)).await;
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_a_failed_launch_with_its_name() {
    for tier in ALL {
        let place = Place::new();
        let attempt = place.start(place.order(tier, &["no-such-agent"])).await;
        match exit_of(attempt.wait().await.unwrap()).exit {
            How::LaunchFailed(why) => assert!(why.contains("no-such-agent"), "{why}"),
            other => panic!("{tier}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn best_is_the_strongest_tier_and_stands_in_the_marker() {
    let place = Place::new();
    let mut order = place.order(Tier::Sandboxed, &["true"]);
    order.tier = TierChoice::Best;
    let attempt = place.start(order).await;
    attempt.wait().await.unwrap();
    assert_eq!(attempt.marker().unwrap().unwrap().tier, Tier::Sandboxed);
}

#[tokio::test]
async fn a_daemon_is_gone_when_the_agent_has_ended() {
    for tier in ALL {
        let place = Place::new();
        let script = format!("{DAEMON} exit 5");
        let attempt = place.start(place.order(tier, &["sh", "-c", &script])).await;
        let exit = exit_of(attempt.wait().await.unwrap());
        assert_eq!(exit.exit, How::Code(5), "{tier}");
        assert_eq!(place.processes(), [0; 0], "{tier}");
    }
}

#[tokio::test]
async fn stop_ends_an_agent_that_ignores_it_and_its_daemon_within_ten_seconds() {
    for tier in ALL {
        let place = Place::new();
        let script = format!("trap '' TERM; {DAEMON} {STAY}");
        let attempt = place.start(place.order(tier, &["sh", "-c", &script])).await;
        until_output(&attempt).await;
        assert!(place.processes().len() > 2, "{tier}");
        let asked = Instant::now();
        let exit = exit_of(attempt.stop().await.unwrap());
        assert!(asked.elapsed() < Duration::from_secs(10), "{tier}");
        assert_eq!((exit.exit, exit.stop_requested), (How::Stopped, true), "{tier}");
        assert_eq!(place.processes(), [0; 0], "{tier}");
    }
}

#[tokio::test]
async fn a_polite_agent_may_finish_its_sentence_when_stopped() {
    for tier in ALL {
        let place = Place::new();
        let script = "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.1; done";
        let attempt = place.start(place.order(tier, &["sh", "-c", script])).await;
        until_output(&attempt).await;
        attempt.stop().await.unwrap();
        assert_eq!(place.output(), "ready\nsaved\n", "{tier}");
    }
}

#[tokio::test]
async fn an_attempt_stopped_before_its_start_never_starts() {
    let place = Place::new();
    stop(&place.spool()).await.unwrap();
    let order = place.order(Tier::Sandboxed, &["touch", "ran"]);
    let attempt = place.start(order).await;
    assert_eq!(exit_of(attempt.wait().await.unwrap()).exit, How::Stopped);
    assert!(!place.path("data/workspace/ran").exists());
}

fn shim_of(attempt: &Attempt) -> Pid {
    Pid::from_raw(attempt.marker().unwrap().unwrap().pid).unwrap()
}

#[tokio::test]
async fn killing_the_shim_ends_everything_and_leaves_it_lost() {
    for tier in ALL {
        let place = Place::new();
        let script = format!("{DAEMON} {STAY}");
        let attempt = place.start(place.order(tier, &["sh", "-c", &script])).await;
        until_output(&attempt).await;
        let alive: Vec<_> = place
            .processes()
            .into_iter()
            .filter_map(|pid| pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).ok())
            .collect();
        assert!(alive.len() > 2, "{tier}");
        kill_process(shim_of(&attempt), Signal::KILL).unwrap();
        assert_eq!(attempt.wait().await.unwrap(), Ended::Lost, "{tier}");
        let soon = Timespec { tv_sec: 5, tv_nsec: 0 };
        for process in &alive {
            let ended = poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&soon)).unwrap();
            assert_eq!(ended, 1, "{tier}: a process outlived its shim");
        }
        assert_eq!(place.processes(), [0; 0], "{tier}");
        assert_eq!(attempt.stop().await.unwrap(), Ended::Lost, "{tier}");
    }
}

#[tokio::test]
async fn a_shim_that_hangs_is_stopped_by_force() {
    let place = Place::new();
    let script = format!("{DAEMON} {STAY}");
    let order = place.order(Tier::Restricted, &["sh", "-c", &script]);
    let attempt = place.start(order).await;
    until_output(&attempt).await;
    kill_process(shim_of(&attempt), Signal::STOP).unwrap();
    let asked = Instant::now();
    assert_eq!(attempt.stop().await.unwrap(), Ended::Lost);
    assert!(asked.elapsed() < Duration::from_secs(10));
    assert_eq!(place.processes(), [0; 0]);
}

#[tokio::test]
async fn leftovers_of_a_dead_shim_and_a_dead_init_are_found_by_their_marker() {
    let place = Place::new();
    let script = format!("{DAEMON} {STAY}");
    let order = place.order(Tier::Unsandboxed, &["sh", "-c", &script]);
    let attempt = place.start(order).await;
    until_output(&attempt).await;
    let shim = shim_of(&attempt);
    let init = fs::read_to_string(format!("/proc/{0}/task/{0}/children", shim.as_raw_pid()));
    kill_process(shim, Signal::STOP).unwrap();
    let init = Pid::from_raw(init.unwrap().trim().parse().unwrap()).unwrap();
    kill_process(init, Signal::KILL).unwrap();
    kill_process(shim, Signal::KILL).unwrap();
    assert_eq!(attempt.wait().await.unwrap(), Ended::Lost);
    assert!(!place.processes().is_empty(), "there must be leftovers to find");
    stop(&place.spool()).await.unwrap();
    assert_eq!(place.processes(), [0; 0]);
}

#[tokio::test]
async fn a_flood_is_capped_and_counted_and_does_not_block_the_agent() {
    let place = Place::new();
    let script = "yes 0123456789abcde | head -c 64000000; echo done >&2";
    let mut order = place.order(Tier::Sandboxed, &["sh", "-c", script]);
    order.limits.output_bytes = 1 << 20;
    let exit = exit_of(place.start(order).await.wait().await.unwrap());
    assert_eq!(exit.exit, How::Code(0));
    assert_eq!(place.output().len(), 1 << 20);
    assert_eq!(exit.dropped_bytes, 64_000_000 - (1 << 20));
    assert_eq!(place.errors(), "done\n");
}

#[tokio::test]
async fn a_line_of_a_hundred_megabytes_is_cut_and_does_not_fill_the_memory() {
    let place = Place::new();
    let script = "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo next; exec sleep 7777";
    let order = place.order(Tier::Sandboxed, &["sh", "-c", script]);
    let attempt = place.start(order).await;
    until_output(&attempt).await;
    let status = fs::read_to_string(format!("/proc/{}/status", shim_of(&attempt).as_raw_pid()));
    let peak: u64 = status
        .unwrap()
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok())
        .unwrap();
    let exit = exit_of(attempt.stop().await.unwrap());
    let lines: Vec<usize> = place.output().lines().map(str::len).collect();
    assert_eq!(lines.first(), Some(&(256 << 10)));
    assert_eq!(exit.dropped_bytes, 100_000_000 - (256 << 10));
    assert!(peak < 64 << 10, "the shim used {peak} kB");
}

#[tokio::test]
async fn waiting_and_looking_at_a_finished_attempt_agree() {
    let place = Place::new();
    let attempt = place.start(place.order(Tier::Sandboxed, &["true"])).await;
    let exit = exit_of(attempt.wait().await.unwrap());
    assert_eq!(look(&place.spool()).unwrap(), Seen::Exited(exit.clone()));
    assert_eq!(exit_of(attempt.wait().await.unwrap()), exit);
}
