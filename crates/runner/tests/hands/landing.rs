//! What leaves the run's branch: only onto a base it was proved on, and only to a remote after a yes to the code.

use domain::{Decision, DecisionKind, Ending, Event, Hold, HoldKind, Phase, Run, check_log};

use crate::world::{World, git, yes};

const SCRIPT: &str = r##"
[[conversation]]
role = "worker"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "a.txt", content = "a\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "made", look_at = "a.txt", how_to_test = "cat a.txt" }

[[conversation]]
role = "reviewer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", summary = "fine", findings = [] }
"##;

fn head(world: &World) -> String {
    git(&world.repo(), &["rev-parse", "main"]).trim().to_owned()
}

fn completed(world: &World, run: &Run) {
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
    assert_eq!(check_log(&run.id, &world.log(&run.id)), []);
}

/// Works a task whose base moves while a person reviews it; the summaries of all holds.
async fn with_a_moved_base(check: &'static str) -> (World, Run, Vec<String>) {
    let world = World::new(SCRIPT);
    if check.is_empty() {
        *world.configure.lock().unwrap() = Some(|config| config.checks.clear());
    }
    let mut holds = Vec::new();
    let run = world
        .work("task", check, |_: &Run, hold: &Hold| -> Decision {
            if holds.len() < 2 {
                world.commit(&[(if holds.is_empty() { "b.txt" } else { "c.txt" }, "of somebody else\n")]);
            }
            holds.push(hold.summary.clone());
            assert_eq!(hold.kind, HoldKind::Review, "{}", hold.summary);
            yes()
        })
        .await;
    (world, run, holds)
}

#[tokio::test]
async fn without_checks_work_on_a_moved_base_waits_for_a_yes_to_that_base() {
    let (world, run, holds) = with_a_moved_base("").await;
    completed(&world, &run);
    assert_eq!(holds.len(), 3, "the review, the first move, and the move while that was shown: {holds:#?}");
    assert!(holds[1].contains("`main` has moved") && holds[2].contains("`main` has moved"), "{holds:#?}");
    let moves: Vec<_> =
        world.events(&run.id).into_iter().filter(|event| matches!(event, Event::BaseMoved { .. })).collect();
    assert!(moves.len() == 2 && moves[0] != moves[1], "{moves:?}");
    assert_eq!(world.file("main", "a.txt"), "a\n");
    assert_eq!(world.file("main", "c.txt"), "of somebody else\n");
}

#[tokio::test]
async fn with_checks_that_pass_on_the_moved_base_nobody_is_asked_again() {
    let (world, run, holds) = with_a_moved_base("test -f a.txt").await;
    completed(&world, &run);
    assert_eq!(holds.len(), 1, "{holds:#?}");
    let proved = |event: &Event| matches!(event, Event::BranchMerged { onto: Some(_), .. });
    assert!(world.events(&run.id).iter().any(proved));
}

/// A bare repository as the remote of the user's.
fn remote(world: &World) -> std::path::PathBuf {
    let remote = world.repo().with_file_name("remote.git");
    git(&world.repo(), &["init", "-q", "--bare", &remote.display().to_string()]);
    git(&world.repo(), &["remote", "add", "origin", &remote.display().to_string()]);
    remote
}

fn branches(remote: &std::path::Path) -> Vec<String> {
    git(remote, &["for-each-ref", "--format=%(refname)"]).lines().map(str::to_owned).collect()
}

pub(crate) const AUTONOMOUS: &str = r##"
[[conversation]]
role = "planner"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_plan"
input = { title = "A file", body = "# A file\n\n```mermaid\nflowchart TD\n  A[Start] --> B[End]\n```\n" }

[[conversation]]
role = "implementer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "a.txt", content = "a\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "made" }

[[conversation]]
role = "validator"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", summary = "fine", findings = [] }
"##;

#[tokio::test]
async fn code_that_nobody_approved_is_not_pushed_before_a_person_says_yes_to_it() {
    let world = World::new(AUTONOMOUS);
    let remote = remote(&world);
    *world.configure.lock().unwrap() = Some(|config| {
        config.git = domain::GitPolicy { auto_merge: false, push: true, ask_push: true, ..config.git.clone() };
        config.trust = domain::Trust::default();
    });
    let before = head(&world);
    let mut holds = Vec::new();
    let run = world
        .work("autonomous", "test -f a.txt", |run: &Run, hold: &Hold| -> Decision {
            assert!(branches(&remote).is_empty(), "pushed before the yes at: {}", hold.summary);
            assert!(run.validated.is_some() == (hold.kind == HoldKind::Review));
            holds.push((hold.kind, hold.summary.clone(), hold.allowed.clone()));
            yes()
        })
        .await;
    completed(&world, &run);
    let (kind, summary, allowed) = &holds[1];
    assert!(*kind == HoldKind::Review && summary.contains("approve to push it to `origin`"), "{holds:?}");
    assert_eq!(*allowed, [DecisionKind::Approve, DecisionKind::CreatePr, DecisionKind::Cancel]);
    assert_eq!((holds.len(), branches(&remote).len()), (2, 1));
    assert_eq!(head(&world), before, "yes to a push is no yes to a merge");
}

#[tokio::test]
async fn code_that_was_approved_at_its_gate_is_pushed_without_another_question() {
    let world = World::new(AUTONOMOUS);
    let remote = remote(&world);
    *world.configure.lock().unwrap() = Some(|config| {
        config.git = domain::GitPolicy { auto_merge: false, push: true, ask_push: true, ..config.git.clone() };
        config.trust = domain::Trust { implementation: domain::Gate::Manual, ..domain::Trust::default() };
    });
    let mut holds = Vec::new();
    let person = |_: &Run, hold: &Hold| -> Decision {
        holds.push(hold.kind);
        yes()
    };
    let run = world.work("autonomous", "test -f a.txt", person).await;
    completed(&world, &run);
    assert_eq!((holds, branches(&remote).len()), (vec![HoldKind::Approval, HoldKind::Approval], 1));
}

#[tokio::test]
async fn without_a_remote_nobody_is_asked_about_a_push() {
    let world = World::new(AUTONOMOUS);
    *world.configure.lock().unwrap() = Some(|config| {
        config.git = domain::GitPolicy { auto_merge: false, push: true, ask_push: true, ..config.git.clone() };
    });
    let run = world.work("autonomous", "test -f a.txt", |_, hold| panic!("it waits: {}", hold.summary)).await;
    completed(&world, &run);
}
