//! Agents that use up what the machine has: processes, memory, disk, temporary folders, output. Limits by control group are
//! shown where the machine lets one be made, and said to be unavailable otherwise.

use std::fs;

use runner::sandbox::{Enforced, GroupLimits, Tier};
use runner::shim::client::Attempt;
use runner::shim::{How, Launch};

use crate::support::{Place, exit_of};

const HOLDING: [Tier; 2] = [Tier::Sandboxed, Tier::Restricted];

/// Runs a script under changed limits to its end.
async fn run(place: &Place, tier: Tier, script: &str, change: impl FnOnce(&mut Launch)) -> (How, Attempt) {
    let mut order = place.order(tier, &["sh", "-c", script]);
    change(&mut order);
    let attempt = place.start(order).await;
    let exit = exit_of(attempt.wait().await.unwrap());
    assert_eq!(place.processes(), [0; 0], "{tier}: nothing is left");
    (exit.exit, attempt)
}

fn limits_of(attempt: &Attempt) -> GroupLimits {
    attempt.marker().unwrap().unwrap().limits
}

fn say(tier: Tier, what: &str, enforced: Enforced) {
    let word = if enforced == Enforced::Enforced { "contained" } else { "unavailable" };
    println!("{tier:<11} {word:<10} {what}");
}

#[tokio::test]
async fn a_fork_bomb_ends_at_the_limit_of_processes() {
    const BOMB: &str = r#"perl -e '$| = 1; $n = 0;
        while ($n < 400) { $p = fork(); last unless defined $p; if (!$p) { sleep 7777; exit } $n++ } print "$n\n"'"#;
    for tier in HOLDING {
        let place = Place::new();
        let (exit, attempt) = run(&place, tier, BOMB, |order| order.limits.processes = Some(64)).await;
        let held = limits_of(&attempt).processes;
        say(tier, "fork-bomb", held);
        assert_eq!(exit, How::Code(0), "{tier}: {}", place.errors());
        let made: u32 = place.output().trim().parse().unwrap();
        if held == Enforced::Enforced {
            assert!(made < 64, "{tier}: {made} processes");
        }
    }
}

#[tokio::test]
async fn memory_ends_at_the_limit_and_takes_only_the_attempt_with_it() {
    for tier in HOLDING {
        let place = Place::new();
        let script = r#"perl -e '$x = "x" x (512 << 20); print length($x), "\n"'; echo "code $?""#;
        let (exit, attempt) = run(&place, tier, script, |order| order.limits.memory_bytes = Some(128 << 20)).await;
        let held = limits_of(&attempt).memory;
        say(tier, "memory", held);
        if held == Enforced::Enforced {
            assert!(!place.output().contains("536870912"), "{tier}: {}", place.output());
        } else {
            assert_eq!(exit, How::Code(0), "{tier}");
        }
    }
}

#[tokio::test]
async fn an_attempt_that_fills_the_disk_is_stopped_and_says_what_it_filled() {
    for (tier, folder) in HOLDING.into_iter().flat_map(|tier| [(tier, "workspace"), (tier, "session")]) {
        let place = Place::new();
        fs::write(place.path("data/workspace/there-before"), vec![1; 24 << 20]).unwrap();
        let into = if folder == "session" { "$HOME" } else { "." };
        let script = format!("head -c 64000000 /dev/zero > {into}/filled; while :; do sleep 7777; done");
        let (exit, _) = run(&place, tier, &script, |order| order.limits.disk_bytes = 16 << 20).await;
        say(tier, &format!("disk of the {folder}"), Enforced::Enforced);
        match exit {
            How::DiskQuota(why) => {
                let named = why.contains(&format!("data/{folder}`")) && why.contains("16 MiB is the limit");
                assert!(named, "{tier}: {why}");
            }
            other => panic!("{tier} {folder}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn temporary_folders_in_memory_are_as_large_as_they_may_be() {
    let place = Place::new();
    let script =
        "for d in /tmp /var/tmp /dev/shm; do head -c 8000000 /dev/zero > $d/big 2>/dev/null; stat -c %s $d/big; done
                  for d in /run /dev /var /; do touch $d/made 2>/dev/null && echo \"$d is writable\"; done; true";
    let change = |order: &mut Launch| {
        order.limits.tmp_bytes = 2 << 20;
        order.limits.shm_bytes = 1 << 20;
    };
    run(&place, Tier::Sandboxed, script, change).await;
    say(Tier::Sandboxed, "/tmp, /var/tmp, /dev/shm", Enforced::Enforced);
    assert_eq!(place.output(), "2097152\n2097152\n1048576\n");
    let place = Place::new();
    let script = "for d in /tmp /var/tmp /dev/shm /run /dev /var; do touch $d/made 2>/dev/null && echo $d; done; true";
    run(&place, Tier::Restricted, script, |_| {}).await;
    say(Tier::Restricted, "/tmp, /var/tmp, /dev/shm", Enforced::Enforced);
    assert_eq!(place.output(), "", "nothing outside the session folder is for temporary files");
}

#[tokio::test]
async fn a_gibibyte_of_output_is_cut_at_its_cap_and_counted() {
    let place = Place::new();
    let script = "yes 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde | head -c 1073741824";
    let mut order = place.order(Tier::Sandboxed, &["sh", "-c", script]);
    order.limits.output_bytes = 1 << 20;
    let exit = exit_of(place.start(order).await.wait().await.unwrap());
    say(Tier::Sandboxed, "1 GiB of output", Enforced::Enforced);
    assert_eq!((exit.exit, exit.dropped_bytes), (How::Code(0), (1 << 30) - (1 << 20)));
    assert_eq!(place.output().len(), 1 << 20);
}
