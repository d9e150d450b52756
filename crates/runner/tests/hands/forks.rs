//! A fork at a question: the conversation goes on in a copy, and nothing that was said before is asked of a model again.

use crate::world::{World, git};
use domain::{
    Command, Decision, Ending, Event, Fork, ForkChanges, HoldKind, Phase, Recorded, Run, RunId, check_fork, check_log,
    fork_points,
};
use testkit::samples;

const SCRIPT: &str = r##"
[[conversation]]
role = "planner"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_plan"
input = { title = "Plan", body = "# Plan\n\n```mermaid\nflowchart TD\n  A[Ask] --> B[Write]\n```\n" }

[[conversation]]
role = "implementer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "first.txt", content = "before the question\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "ask_questions"
input = { questions = [{ question = "Which colour?", responseType = "single_choice", options = ["red", "blue"] }] }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "second.txt", content = "after the answer\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "done" }

[[conversation]]
role = "validator"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", severity = "minor", summary = "fine" }
"##;

async fn origin(world: &World) -> Run {
    let person = |_: &Run, hold: &domain::Hold| match hold.kind {
        HoldKind::Clarification => Decision::Answer { answer: vec!["red".to_owned()] },
        _ => crate::world::yes(),
    };
    let run = world.work("autonomous", "test -e second.txt", person).await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
    run
}

async fn fork(world: &World, origin: &RunId, number: u64, changes: ForkChanges) -> Run {
    let log = world.log(origin);
    let asked = fork_points(origin, &log)
        .into_iter()
        .rev()
        .find(|point| point.hold.as_ref().is_some_and(|hold| hold.kind == HoldKind::Clarification));
    let at = asked.unwrap().at;
    let log: Vec<Recorded> = log.into_iter().filter(|recorded| recorded.sequence <= at).collect();
    let id = samples::run_id(number);
    let asked = Fork { origin: origin.clone(), log, changes, by: samples::actor("eve") };
    world.engine.submit(id.clone(), Command::Fork(Box::new(asked)), None).await.unwrap();
    // Who begins anew asks again, by the script.
    let person = |_: &Run, hold: &domain::Hold| match hold.kind {
        HoldKind::Clarification => Decision::Ignore,
        _ => crate::world::yes(),
    };
    world.drive(&id, person).await
}

fn answers(answer: &str) -> ForkChanges {
    ForkChanges { decision: Some(Decision::Answer { answer: vec![answer.to_owned()] }), ..ForkChanges::default() }
}

fn holds(world: &World, fork: &Run, origin: &Run) {
    assert_eq!(check_log(&fork.id, &world.log(&fork.id)), []);
    assert_eq!(check_fork(&world.log(&fork.id), &world.log(&origin.id)), []);
}

#[tokio::test]
async fn a_fork_at_a_question_pays_only_for_what_comes_after_it() {
    let world = World::new(SCRIPT);
    let origin = origin(&world).await;
    let before = world.calls(&origin.id);
    assert_eq!(
        before,
        ["planner 0", "implementer 0", "implementer 1", "implementer 2", "implementer 3", "validator 0"]
    );
    let turns = world.turns(&origin.id, "implementer", 1);
    let checkout = git(&world.repo(), &["status", "--porcelain"]);
    let fork = fork(&world, &origin.id, 2, answers("blue")).await;
    assert_eq!(fork.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", fork.failure);
    assert_eq!(world.calls(&fork.id), ["implementer 2", "implementer 3", "validator 0"], "by the model's own log");
    assert_eq!((fork.spend.calls, fork.inherited.calls), (3, 3));
    let carried = world.events(&fork.id).contains(&Event::ForkOpened { carried: true });
    assert!(carried, "the conversation goes on");
    let own = world.turns(&fork.id, "implementer", 1);
    assert!(own.contains("blue") && !own.contains("red\\\""), "{own}");
    assert!(!own.contains(&format!("runs/{}/workspace", origin.id)), "it is told of its own workspace: {own}");
    assert_eq!(
        world.file(&fork.opened().branch, "first.txt"),
        "before the question\n",
        "the unfinished tree came along"
    );
    assert_eq!(world.file(&fork.opened().branch, "second.txt"), "after the answer\n");
    assert_eq!(world.turns(&origin.id, "implementer", 1), turns, "nothing of the origin changed");
    assert_eq!(world.calls(&origin.id), before);
    assert_eq!(git(&world.repo(), &["status", "--porcelain"]), checkout);
    holds(&world, &fork, &origin);
}

#[tokio::test]
async fn a_conversation_that_cannot_be_had_begins_anew_and_is_told_the_answer() {
    let world = World::new(SCRIPT);
    let origin = origin(&world).await;
    std::fs::remove_dir_all(world.session_path(&origin.id, "marks")).unwrap();
    let fork = fork(&world, &origin.id, 2, answers("blue")).await;
    assert!(world.events(&fork.id).contains(&Event::ForkOpened { carried: false }));
    let told = world.told(&fork.id, "implementer", 2);
    assert!(told.contains("you asked before: Which colour?") && told.contains("answered: blue"), "{told}");
    holds(&world, &fork, &origin);
}

#[tokio::test]
async fn a_commit_that_is_gone_fails_the_fork_in_words_and_leaves_the_origin() {
    let world = World::new(SCRIPT);
    let origin = origin(&world).await;
    world.lose_private_repository();
    let fork = fork(&world, &origin.id, 2, answers("blue")).await;
    assert_eq!(fork.phase, Phase::Ended { ending: Ending::Failed });
    assert!(fork.failure.as_deref().unwrap().contains("any more"), "{:?}", fork.failure);
    holds(&world, &fork, &origin);
}
