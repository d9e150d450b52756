//! A conversation, a plan, two agents at once, a conflict that an agent resolves.

use crate::world::{World, git, yes};
use domain::{Decision, Ending, HoldKind, Phase, TaskStatus};

pub(crate) const SCRIPT: &str = r##"
[[conversation]]
role = "architect"
visit = 1
[[conversation.turn]]
[[conversation.turn.call]]
tool = "clarify"
input = { status = "questions", message = "One file or two?" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "clarify"
input = { status = "ready", message = "One file with both letters." }

[[conversation]]
role = "architect"
visit = 2
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_plan"
input = { summary = "Both letters.", tasks = [{ id = "a", title = "Write the letter A", description = "into both.txt" }, { id = "b", title = "Write the letter B", description = "into both.txt" }] }

[[conversation]]
role = "implementer"
when = "Write the letter A"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "both.txt", content = "A\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "wrote A" }

[[conversation]]
role = "implementer"
when = "Write the letter B"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "both.txt", content = "B\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "wrote B" }

[[conversation]]
role = "implementer"
when = ["Write the letter", "between conflict markers"]
[[conversation.turn]]
[[conversation.turn.call]]
tool = "shell"
input = { command = "grep -q '<<<<<<<' both.txt && printf 'A\\nB\\n' > both.txt" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "kept both letters" }

[[conversation]]
role = "reviewer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", summary = "fine", findings = [] }
"##;

#[tokio::test]
async fn a_team_talks_plans_works_at_once_and_resolves_its_conflict() {
    let world = World::new(SCRIPT);
    let mut holds = Vec::new();
    let run = world.work("team", "test -s both.txt", |_, hold| {
        holds.push(hold.kind);
        match hold.kind {
            HoldKind::Clarification => Decision::Answer { answer: vec!["One.".to_owned()] },
            _ => yes(),
        }
    });
    let run = run.await;
    let tasks: Vec<_> = run.tasks.iter().map(|task| (task.status, task.attempt, task.problem.clone())).collect();
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?} {holds:?} {tasks:?}", run.failure);
    assert_eq!(holds, [HoldKind::Clarification, HoldKind::Confirm, HoldKind::Approval]);
    assert!(run.tasks.iter().all(|task| task.status == TaskStatus::Merged), "{tasks:?}");
    assert_eq!(run.tasks.iter().map(|task| task.resolves).sum::<u32>(), 1, "one of the two met the other");
    assert_eq!(world.file("main", "both.txt"), "A\nB\n");

    let branch = &run.opened().branch;
    let requirement = world.file(branch, &format!(".autonomous/runs/{}/requirement.md", run.id));
    assert_eq!(requirement, "One file with both letters.");
    let planner = world.told(&run.id, "architect", 2);
    assert!(
        planner.contains("<requirement>\nOne file with both letters.") && planner.contains("ada: One."),
        "{planner}"
    );
    let merges =
        git(&world.repo(), &["log", "--merges", "--format=%s%n%(trailers:key=Holdpoint-Stage,valueonly)", branch]);
    assert!(merges.contains("Merge task a: Write the letter A") && merges.contains("execution"), "{merges}");
    let shown = git(&world.repo(), &["branch", "--list", &format!("{branch}-task-*")]);
    assert_eq!(shown.lines().count(), 1, "the branch in conflict was shown: {shown}");
}
