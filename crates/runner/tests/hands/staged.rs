//! Scope, research, plan, each with a say; then pulses and a review.

use crate::world::{World, yes};
use domain::{ArtifactKind, Decision, Ending, HoldKind, Phase};

const SCRIPT: &str = r##"
[[conversation]]
role = "scoper"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_scope"
input = { summary = "Two files.", in_scope = ["a.txt", "b.txt"], out_of_scope = ["c.txt"], constraints = ["plain text"] }

[[conversation]]
role = "scoper"
when = "Why not c.txt?"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "reply"
input = { text = "Nobody asked for it." }

[[conversation]]
role = "researcher"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_research"
input = { key_files = [{ path = "README.md", why = "all there is" }], patterns = [], recommendations = ["add them at the top"] }

[[conversation]]
role = "planner"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_plan"
input = { summary = "One task.", tasks = [{ id = "all", title = "All", description = "both files" }] }

[[conversation]]
role = "implementer"
when = "pulse 1 of 2"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "a.txt", content = "a\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "wrote a" }

[[conversation]]
role = "implementer"
when = "pulse 2 of 2"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "b.txt", content = "b\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "wrote b" }

[[conversation]]
role = "reviewer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", summary = "both are there", findings = [] }
"##;

const OWN_PLAN: &str = r#"{"summary": "One file each.", "tasks": [
    {"id": "a", "title": "The first", "description": "write a.txt"},
    {"id": "b", "title": "The second", "description": "write b.txt", "dependsOn": ["a"]}]}"#;

#[tokio::test]
async fn a_staged_run_asks_at_each_stage_and_works_the_persons_own_plan_in_pulses() {
    let world = World::new(SCRIPT);
    let mut asked = None;
    let run = world.work("staged", "test -f a.txt && test -f b.txt", |_, hold| match hold.stage.as_deref() {
        Some("scoping") if hold.asked.is_empty() => Decision::Ask { question: "Why not c.txt?".to_owned() },
        Some("scoping") => {
            asked = Some(hold.asked[0].answer.clone());
            yes()
        }
        Some("planning") => Decision::ModifyPlan { plan: OWN_PLAN.to_owned() },
        _ => yes(),
    });
    let run = run.await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
    assert_eq!(asked.as_deref(), Some("Nobody asked for it."));
    let record = |file: &str| world.file(&run.opened().branch, &format!(".autonomous/runs/{}/{file}", run.id));
    assert!(record("scope.md").contains("outOfScope: [\"c.txt\"]"));
    assert!(record("research.md").contains("`README.md`: all there is"));
    assert!(record("plan.json").contains("One file each.") && record("plan.md").contains("```mermaid"));
    assert_eq!((world.file("main", "a.txt"), world.file("main", "b.txt")), ("a\n".to_owned(), "b\n".to_owned()));
    let kinds = |kind| run.artifacts.iter().filter(|made| made.kind == kind).count();
    assert_eq!((kinds(ArtifactKind::Plan), kinds(ArtifactKind::Code)), (2, 2));

    let second = world.told(&run.id, "implementer", 2);
    assert!(second.contains("pulse 2 of 2: The second") && second.contains("<done>\nwrote a (1 file)"), "{second}");
    assert!(second.contains("1. `a` [done] The first") && second.contains("write b.txt"), "{second}");
    assert!(second.contains("# Scope") && second.contains("# Research"), "{second}");
    let context = record("context.json");
    assert!(context.contains("\"tasks\"") && context.contains("\"originalRequest\""), "{context}");
}

#[tokio::test]
async fn a_run_whose_commit_is_in_no_repository_any_more_says_which_one() {
    let world = World::new(SCRIPT);
    let mut said = String::new();
    let run = world.work("staged", "true", |_, hold| match hold.kind {
        HoldKind::Stuck => {
            said = hold.summary.clone();
            Decision::Cancel { reason: None }
        }
        _ => {
            world.lose_private_repository();
            yes()
        }
    });
    let run = run.await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Cancelled });
    let commit = run.head.as_ref().unwrap().short();
    assert!(said.contains(&format!("commit {commit}")) && said.contains("neither"), "{said}");
}
