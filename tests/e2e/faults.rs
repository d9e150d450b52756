//! A sample of the suite in which git calls fail; `make faults` walks through every call of every playbook.

use serde_json::json;
use tests::disk_faults;
use tests::faults::{Fault, StandIn, When, play};
use tests::product::Product;
use tests::stories;
use tests::syscalls::Failure;
use tests::world::World;

#[tokio::test]
async fn a_git_call_that_fails_once_costs_nobody_anything() {
    let reference = play("autonomous", None).await.unwrap();
    assert_eq!((reference.held, &reference.problem), (0, &None));
    // Where a commit is made, where a branch has just moved, and where a whole tree is written or read.
    let of = |command: &str, nth: usize| {
        let found = reference.calls.iter().enumerate().filter(|(_, call)| call.starts_with(command)).nth(nth);
        u64::try_from(found.unwrap_or_else(|| panic!("no `{command}` call")).0 + 1).unwrap()
    };
    let moved = of("update-ref --no-deref -m holdpoint refs/heads/autonomous/", 1);
    let faults = [
        Fault { call: moved, when: When::After },
        Fault { call: moved + 1, when: When::Before },
        Fault { call: of("fast-import", 0), when: When::Before },
        Fault { call: of("cat-file --batch", 1), when: When::Before },
        Fault { call: of("commit-tree", 2), when: When::After },
    ];
    for fault in faults {
        let went = play("autonomous", Some(fault)).await.unwrap();
        let place = format!("{fault:?} {}", reference.calls[usize::try_from(fault.call).unwrap() - 1]);
        assert_eq!((went.held, went.problem), (0, None), "{place}");
        assert_eq!((went.paid, went.files), (reference.paid, reference.files.clone()), "{place}");
    }
}

#[tokio::test]
async fn locks_that_a_killed_git_left_in_the_users_repository_stop_no_run() {
    let reference = play("autonomous", None).await.unwrap();
    let moves =
        reference.calls.iter().enumerate().filter(|(_, call)| {
            call.starts_with("update-ref --no-deref -m holdpoint: ") && call.contains(" refs/heads/")
        });
    let moves: Vec<u64> = moves.map(|(index, _)| u64::try_from(index + 1).unwrap()).collect();
    assert!(moves.len() >= 2, "the run's branch and the base are moved: {:?}", reference.calls);
    for call in moves {
        let went = play("autonomous", Some(Fault { call, when: When::Locked })).await.unwrap();
        let place = &reference.calls[usize::try_from(call).unwrap() - 1];
        assert_eq!((went.held, went.problem), (0, None), "{place}");
        assert_eq!((went.paid, went.files), (reference.paid, reference.files.clone()), "{place}");
    }
}

/// A run that is stuck because what its implementer wrote could not be committed; then git is well again, and a person
/// says `retry`.
async fn retried(decision: serde_json::Value) -> (World, serde_json::Value) {
    let story = stories::of("autonomous").unwrap();
    let world = World::new(&story.script).unwrap();
    let stand_in = StandIn::new(&world).unwrap();
    // Only what an agent wrote is read this way.
    stand_in.fail_all("fast-import").unwrap();
    let product = Product::start(&world.home(), &stand_in.environment().unwrap()).await.unwrap();
    let mut request = story.request;
    request["project"] = json!(world.repository());
    request["trust"] = json!({"planning": "auto", "implementation": "auto", "fixes": "auto"});
    let run = product.run(None, &request).await.unwrap()["id"].as_str().unwrap().to_owned();
    let held = product.until(&run, |view| view["hold"].is_object()).await.unwrap();
    assert_eq!(held["hold"]["kind"], "stuck", "{held}");
    let summary = held["hold"]["summary"].as_str().unwrap();
    assert!(summary.contains("something is strange"), "{summary}");
    stand_in.fail_none().unwrap();
    let (status, body) = product.decide(&held, &decision).await.unwrap();
    assert_eq!(status, 200, "{body}");
    let ended = product.until(&run, |view| view["hold"].is_object() || view["status"] == "completed").await.unwrap();
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(world.git(&["show", "main:made.txt"]).unwrap(), "made");
    product.stop().await.unwrap();
    (world, ended)
}

/// Model calls of the story when nothing fails: a plan, two turns of the implementer, a verdict.
const PAID: u64 = 4;

#[tokio::test]
async fn what_an_agent_handed_in_is_committed_by_a_retry_and_not_paid_for_again() {
    let (world, ended) = retried(json!({"decision": "retry"})).await;
    assert_eq!(world.given().unwrap().0, PAID);
    assert_eq!(ended["spend"]["calls"].as_u64(), Some(PAID));
}

#[tokio::test]
async fn who_says_something_new_with_a_retry_lets_the_agent_work_again() {
    let (world, ended) = retried(json!({"decision": "retry", "text": "and be brief"})).await;
    assert_eq!(world.given().unwrap().0, PAID + 2);
    assert_eq!(ended["spend"]["calls"].as_u64(), Some(PAID + 2));
}

#[tokio::test]
async fn what_a_clean_up_could_not_give_back_is_given_back_with_the_next_run_and_kept() {
    let story = stories::of("autonomous").unwrap();
    let slow =
        "[[conversation.turn]]\n[[conversation.turn.call]]\ntool = \"shell\"\ninput = { command = \"sleep 600\" }\n";
    let done = "[[conversation.turn]]\n[[conversation.turn.call]]\ntool = \"complete_pulse\"";
    let world = World::new(&story.script.replacen(done, &format!("{slow}{done}"), 1)).unwrap();
    let stand_in = StandIn::new(&world).unwrap();
    let product = Product::start(&world.home(), &stand_in.environment().unwrap()).await.unwrap();
    let mut request = story.request.clone();
    request["project"] = json!(world.repository());
    request["trust"] = json!({"planning": "auto", "implementation": "auto", "fixes": "auto"});
    let start = || async { product.run(None, &request).await.unwrap()["id"].as_str().unwrap().to_owned() };
    let first = start().await;
    product.until_tool(&first, "shell").await.unwrap();
    stand_in.fail_all("fast-import").unwrap();
    let (status, body) = product.post(&format!("/api/runs/{first}/cancel"), None, &json!({})).await.unwrap();
    assert_eq!(status, 200, "{body}");
    cleaned(&product, &first).await;
    let workspace = world.home().join("runs").join(&first).join("workspace");
    assert!(workspace.join("made.txt").is_file(), "the clean-up did not fail");
    stand_in.fail_none().unwrap();
    world.tell(&story.script).unwrap();
    let second = start().await;
    let ended = product.until(&second, |view| view["hold"].is_object() || view["status"] == "completed").await.unwrap();
    assert_eq!(ended["status"], "completed", "{ended}");
    assert!(!workspace.exists());
    let projects = std::fs::read_dir(world.home().join("projects")).unwrap().next().unwrap().unwrap().path();
    let kept = tests::world::git(&projects.join("repo.git"), &["for-each-ref", "--format=%(refname)"]).unwrap();
    let rescued = kept.lines().find(|name| name.starts_with(&format!("refs/holdpoint/rescue/{first}/"))).unwrap();
    let made = tests::world::git(&projects.join("repo.git"), &["show", &format!("{rescued}:made.txt")]).unwrap();
    assert_eq!(made, "made");
    product.stop().await.unwrap();
}

/// Waits until the clean-up of an ended run was tried.
async fn cleaned(product: &Product, run: &str) {
    let tried = |events: &serde_json::Value| {
        let events = events.as_array().unwrap().clone();
        let wish = events.iter().find(|event| event["payload"]["effect"]["do"] == "clean_up").cloned();
        wish.is_some_and(|wish| {
            let number = &wish["payload"]["number"];
            events.iter().any(|event| event["type"] == "EFFECT_FINISHED" && event["payload"]["number"] == *number)
        })
    };
    loop {
        let (_, events) = product.get(&format!("/api/runs/{run}/events")).await.unwrap();
        if tried(&events) {
            return;
        }
        let seen = events.as_array().unwrap().len() as u64;
        product.until(run, |view| view["version"].as_u64() > Some(seen)).await.unwrap();
    }
}

/// A sample of the suite in which system calls on files of the data directory fail; `make faults` plays many more.
#[tokio::test]
async fn a_system_call_that_fails_once_loses_nothing_acknowledged() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let reference = disk_faults::play("task", None).await.unwrap();
    assert_eq!((reference.held, &reference.problem), (0, &None));
    // The nth call of this name on a file with this text in its path.
    let of = |name: &str, file: &str, nth: usize| {
        let is = |call: &&String| call.starts_with(name) && call.contains(file);
        let call = reference.calls.iter().filter(is).nth(nth).unwrap_or_else(|| panic!("no {name} of {file}"));
        let at = reference.calls.iter().position(|other| std::ptr::eq(other, call)).unwrap();
        u64::try_from(at + 1).unwrap()
    };
    let faults = [
        (of("fsync", "holdpoint.db-wal", 3), Failure::Io),
        (of("write", "holdpoint.db-wal", 9), Failure::NoSpace),
        (of("write", "holdpoint.db-wal", 14), Failure::Short),
        (of("rename", "projects", 0), Failure::Io),
        (of("write", "calls.jsonl", 1), Failure::Short),
        // The first line of a call that is not made yet.
        (of("write", "calls.jsonl", 0), Failure::NoSpace),
        (of("open", "runs", 2), Failure::Io),
    ];
    for (number, failure) in faults {
        let went = disk_faults::play("task", Some((number, failure))).await.unwrap();
        let place = format!("{failure:?} at {number}: {}", reference.calls[usize::try_from(number).unwrap() - 1]);
        assert_eq!(went.problem, None, "{place}");
        assert_eq!((went.paid, &went.files), (reference.paid, &reference.files), "{place}");
    }
}
