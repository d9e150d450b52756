//! Permission, skills and roles over the real path.

use crate::world::{World, git};
use domain::{Decision, Ending, HoldKind, Phase};

const SCRIPT: &str = r##"
[[conversation]]
role = "pursuer"
visit = 1
[[conversation.turn]]
[[conversation.turn.call]]
tool = "shell"
input = { command = "echo allowed >> made.txt; git push || true" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "shell"
input = { command = "echo denied >> made.txt; git push || true" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "glob_search"
input = { pattern = "*" }
[[conversation.turn.call]]
tool = "plan_tasks"
input = { tasks = [{ id = "1", description = "make it", status = "completed" }] }
[[conversation.turn.call]]
tool = "observe"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "reflect"
input = { goal_achieved = true, progress = 1, content = "all is there" }
"##;

#[tokio::test]
async fn what_needs_a_yes_waits_for_the_person_and_their_word_is_followed() {
    let world = World::new(SCRIPT);
    let repo = world.repo();
    for (path, text) in [
        (".autonomous/roles/pursuer.toml", "instructions = 'Keep it small.'\ntools = ['shell', 'read_file']\n"),
        (
            ".autonomous/skills/files.md",
            "---\nname: files\ndescription: how to make them\nmatch: files\n---\nEnd each with a line break.\n",
        ),
        (
            ".autonomous/runs/aaaaaa-bbbbbb/context.json",
            r#"{"originalRequest": "Make more files", "artifacts": [{"filesChanged": ["a.txt"]}], "decisions": []}"#,
        ),
        (".autonomous/skills/other.md", "---\nname: other\ndescription: not this\nmatch: database\n---\nNo.\n"),
    ] {
        std::fs::create_dir_all(repo.join(path).parent().unwrap()).unwrap();
        std::fs::write(repo.join(path), text).unwrap();
    }
    git(&repo, &["add", "-A"]);
    git(&repo, &["commit", "-q", "-m", "roles and skills"]);
    let mut asked = Vec::new();
    let run = world.work("goal", "true", |_, hold| {
        assert_eq!(hold.kind, HoldKind::Permission, "{}", hold.summary);
        asked.push(hold.summary.clone());
        match asked.len() {
            1 => Decision::Approve { notes: None },
            _ => Decision::Reject { feedback: "once is enough".to_owned() },
        }
    });
    let run = run.await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?} {asked:?}", run.failure);
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[0].contains("it sends work out of the workspace [turn 1, call 1]"), "{asked:?}");
    assert_eq!(world.file(&run.opened().branch, "made.txt"), "allowed\n", "what was denied did not run");

    let told = world.told(&run.id, "pursuer", 1);
    assert!(told.contains("<skill>\nEnd each with a line break.\n</skill>") && !told.contains("Skill other"), "{told}");
    assert!(told.contains("<instructions>\nKeep it small.\n</instructions>"), "{told}");
    assert!(told.contains("<past>\nasked: Make more files\nchanged: a.txt\n</past>"), "{told}");
    let turns = world.turns(&run.id, "pursuer", 1);
    assert!(turns.contains("a person did not allow it: once is enough"), "{turns}");
    assert!(turns.contains("`glob_search` was taken from this role"), "{turns}");
}
