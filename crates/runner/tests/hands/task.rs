//! A worker hands over; what is risky is looked at whatever the gates say.

use crate::world::{World, git, yes};
use domain::{ArtifactKind, Ending, HoldKind, Phase, RiskKind, TaskStatus};

pub(crate) const SCRIPT: &str = r##"
[[conversation]]
role = "worker"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "nothing yet", look_at = "-", how_to_test = "-" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "package.json", content = "{}\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "added a manifest", look_at = "package.json", how_to_test = "cat package.json" }

[[conversation]]
role = "reviewer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", summary = "fine", findings = [] }
"##;

#[tokio::test]
async fn a_handoff_is_in_the_commit_of_its_code_and_its_risks_are_shown() {
    let world = World::new(SCRIPT);
    let mut holds = Vec::new();
    let run = world.work("task", "test -f package.json", |_, hold| {
        let risks = hold.artifact.as_ref().map(|made| made.risks.clone()).unwrap_or_default();
        holds.push((hold.kind, risks.first().map(|risk| risk.kind)));
        yes()
    });
    let run = run.await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
    assert_eq!(holds[0], (HoldKind::Approval, Some(RiskKind::Dependencies)));
    assert_eq!(holds[1].0, HoldKind::Review);
    let handoff = run.latest(ArtifactKind::Handoff).unwrap();
    let changed = git(&world.repo(), &["show", "--name-only", "--format=", handoff.commit.as_str()]);
    let note = format!(".autonomous/runs/{}/handoff.md", run.id);
    assert_eq!(changed.lines().collect::<Vec<_>>(), [note.as_str(), "package.json"]);
    let text = world.hands.artifact_text(&run, handoff).await.unwrap().text;
    assert!(text.starts_with("# Handoff") && text.contains("+++ b/package.json"), "{text}");
    assert_eq!(run.stages[0].crashes, 1, "a handoff without a change was refused once");
}

#[tokio::test]
async fn a_lost_repository_has_again_what_the_user_has_of_a_run() {
    let world = World::new(SCRIPT);
    let run = world.work("task", "true", |_, _| yes()).await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
    world.lose_private_repository();
    let diff = world.hands.diff(&run).await.unwrap();
    assert!(diff.text.contains("+++ b/package.json"), "{}", diff.text);
    assert_eq!(diff.head, run.head.as_ref().unwrap().as_str());
}

const HANDS_OUT: &str = r##"
[[conversation]]
role = "worker"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "scratch.txt", content = "?\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_plan"
input = { summary = "Two letters.", tasks = [{ id = "a", title = "Write the letter A", description = "into a.txt" }, { id = "b", title = "Write the letter B", description = "into b.txt, after A", dependsOn = ["a"] }] }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "shell"
input = { command = "rm scratch.txt" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_plan"
input = { summary = "Two letters.", tasks = [{ id = "a", title = "Write the letter A", description = "into a.txt" }, { id = "b", title = "Write the letter B", description = "into b.txt, after A", dependsOn = ["a"] }] }

[[conversation]]
role = "implementer"
when = "Write the letter A"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "a.txt", content = "A\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "wrote A" }

[[conversation]]
role = "implementer"
when = "Write the letter B"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "shell"
input = { command = "cat a.txt > b.txt" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "wrote B" }

[[conversation]]
role = "reviewer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", summary = "fine", findings = [] }
"##;

#[tokio::test]
async fn tasks_that_a_worker_hands_out_are_merged_in_order_and_its_scratch_is_not() {
    let world = World::new(HANDS_OUT);
    let run = world.work("task", "true", |_, _| yes()).await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
    assert_eq!(run.stages[0].crashes, 1, "tasks beside a changed workspace were refused once");
    assert!(run.tasks.iter().all(|task| task.status == TaskStatus::Merged), "{:?}", run.tasks);
    let merged = run.merged.clone().unwrap();
    let files = git(&world.repo(), &["ls-tree", "--name-only", merged.as_str()]);
    assert!(files.lines().any(|file| file == "b.txt") && !files.contains("scratch"), "{files}");
}
