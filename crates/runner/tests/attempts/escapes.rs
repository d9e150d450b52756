//! The list of escapes: what a hostile agent tries from inside, in each tier, by the launch path of every attempt. Each
//! attempt must come as far as the table says and no farther; known gaps are in it too, so that one that closes is seen.

use std::fmt::Write as _;
use std::fs;

use runner::sandbox::Tier;
use runner::shim::client::Attempt;

use crate::scene::Scene;
use crate::table::{Expect, Row, TABLE};

/// Attempts that work for any user where there are no walls; so the attempts themselves are real.
const WORK_WITHOUT_WALLS: &[&str] = &[
    "write-outside",
    "write-data-directory",
    "write-toolchain",
    "chmod-outside",
    "rename-out",
    "truncate-outside",
    "remove-outside",
    "read-home",
    "read-ssh-key",
    "read-cargo-token",
    "read-owner-token",
    "read-database",
    "read-other-checkout",
    "list-srv-mnt-media-var",
    "read-other-etc",
    "stat-hidden",
    "hard-link-in",
    "hard-link-out",
    "symlink-read",
    "symlink-write",
    "dot-dot",
    "proc-root",
    "open-terminal",
    "shared-memory-file",
    "shared-memory-segment",
    "environ-of-all",
    "descriptors-of-host",
    "arguments-of-host",
    "renice-host",
    "limit-host",
    "affinity-of-host",
    "setuid",
    "signal-group",
    "signal-host",
    "tmux-socket",
    "abstract-socket",
    "log-socket",
    "datagram-pair-sendmsg",
    "datagram-pair-sendmmsg",
    "datagram-pair-sendto",
    "tcp-loopback",
    "udp-loopback",
    "netlink",
];

/// What each attempt printed: its name, how far it came, and why.
fn attempts(scene: &Scene, tier: Tier) -> Vec<(String, String, String)> {
    let names: Vec<&str> = TABLE.iter().map(|row| row.name).collect();
    let script = format!(
        "for name in {}; do \"$HOLDPOINT_BIN\" escape $name; code=$?
           if [ $code -gt 128 ]; then echo \"$name denied killed by signal $((code - 128))\"
           elif [ $code -ne 0 ]; then echo \"$name broken code $code\"; fi; done",
        names.join(" ")
    );
    let order = scene.order(tier, &["sh", "-c", &script]);
    let output = scene.start(&order);
    assert!(output.status.success(), "{output:?}");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(Attempt::of_spool(&scene.place.spool()).wait()).unwrap();
    let printed = scene.place.output();
    let parts = |line: &str| {
        let mut words = line.splitn(3, ' ').map(str::to_owned);
        Some((words.next()?, words.next()?, words.next().unwrap_or_default()))
    };
    let came: Vec<_> = printed.lines().filter_map(parts).collect();
    assert_eq!(came.len(), TABLE.len(), "{printed} {}", scene.place.errors());
    came
}

/// The table as it is printed, and what is not as it says.
fn compare(tier: Tier, came: &[(String, String, String)], expect: impl Fn(&Row) -> Expect) -> (String, Vec<String>) {
    let (mut text, mut wrong, mut counts) = (String::new(), Vec::new(), [0; 3]);
    for (row, (name, far, why)) in TABLE.iter().zip(came) {
        assert_eq!(row.name, name);
        let expected = expect(row);
        let (index, word, fits) = match expected {
            Expect::Denied => (0, "denied", far == "denied"),
            Expect::Contained => (1, "contained", far == "contained" || far == "denied"),
            Expect::Gap => (2, "known gap", far == "reached"),
        };
        counts[index] += 1;
        let _ = writeln!(text, "{tier:<11} {word:<10} {name:<24} {} ({why})", row.what);
        match (expected, fits) {
            (_, true) => {}
            (Expect::Gap, false) => {
                wrong.push(format!("{name}: this gap is closed ({why}); say so in the table and SECURITY.md"))
            }
            (_, false) => wrong.push(format!("{name}: {far}, {why}")),
        }
    }
    let [denied, contained, gaps] = counts;
    let _ =
        writeln!(text, "{tier}: {} attempts, {denied} denied, {contained} contained, {gaps} known gaps", came.len());
    (text, wrong)
}

fn check(tier: Tier, expect: impl Fn(&Row) -> Expect) {
    let mut scene = Scene::new();
    let came = attempts(&scene, tier);
    let (text, wrong) = compare(tier, &came, expect);
    println!("{text}");
    assert!(wrong.is_empty(), "{tier}:\n{}", wrong.join("\n"));
    scene.is_as_before(tier);
}

#[test]
fn no_attempt_leaves_the_full_sandbox() {
    check(Tier::Sandboxed, |row| row.sandboxed);
}

#[test]
fn no_attempt_leaves_the_restricted_tier_but_by_its_known_gaps() {
    check(Tier::Restricted, |row| row.restricted);
}

#[test]
fn the_attempts_are_real_without_walls_they_reach_what_they_aim_at() {
    let scene = Scene::new();
    let came = attempts(&scene, Tier::Unsandboxed);
    let failed: Vec<_> =
        came.iter().filter(|(name, far, _)| WORK_WITHOUT_WALLS.contains(&name.as_str()) && far != "reached").collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert!(fs::exists(scene.place.path("outside/canary")).unwrap());
}

#[test]
fn the_table_has_no_attempt_twice_and_knows_those_that_work_without_walls() {
    let mut names: Vec<&str> = TABLE.iter().map(|row| row.name).collect();
    assert!(WORK_WITHOUT_WALLS.iter().all(|name| names.contains(name)));
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}
