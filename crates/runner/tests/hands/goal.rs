//! Iterations towards a goal: each starts from the tree of the one before.

use crate::world::World;
use domain::{Decision, Ending, HoldKind, Phase};

const SCRIPT: &str = r##"
[[conversation]]
role = "pursuer"
visit = 1
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "half.txt", content = "half\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "request_extension"
input = { minutes = 5, reason = "slow tests" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "reflect"
input = { goal_achieved = false, progress = 0.5, content = "half is there", next_action = "write the rest" }

[[conversation]]
role = "pursuer"
visit = 2
[[conversation.turn]]
[[conversation.turn.call]]
tool = "shell"
input = { command = "cat half.txt > whole.txt" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "reflect"
input = { goal_achieved = true, progress = 1, content = "all is there" }
"##;

#[tokio::test]
async fn an_iteration_goes_on_from_the_tree_and_the_words_of_the_one_before() {
    let world = World::new(SCRIPT);
    let mut holds = Vec::new();
    let run = world.work("goal", "true", |_, hold| {
        holds.push((hold.kind, hold.summary.clone()));
        Decision::Extend { minutes: 7 }
    });
    let run = run.await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?} {holds:?}", run.failure);
    assert_eq!(holds.len(), 1, "{holds:?}");
    assert!(holds[0].0 == HoldKind::Timeout && holds[0].1.contains("slow tests"), "{holds:?}");
    let said: Vec<u8> = run.reflections.iter().map(|said| said.progress).collect();
    assert_eq!(said, [50, 100]);
    let branch = &run.opened().branch;
    assert_eq!(world.file(branch, "whole.txt"), "half\n", "the second iteration saw the first one's file");
    assert_eq!(world.file(branch, "half.txt"), "half\n", "and what the first one made is handed in with it");
    let told = world.told(&run.id, "pursuer", 2);
    assert!(told.contains("iteration 2 of at most 15") && told.contains("Next: write the rest"), "{told}");
    assert!(told.contains("<observation>\nwrite_file {") && told.contains("half.txt"), "{told}");
}
