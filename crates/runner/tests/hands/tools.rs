//! What tools keep outlives the agent that used them: the index goes from stage to stage, notes from pulse to pulse,
//! comments into the report.

use crate::world::{World, yes};
use domain::{Ending, Phase};

pub(crate) const SCRIPT: &str = r##"
[[conversation]]
role = "scoper"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "semantic_search"
input = { query = "the sample" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_scope"
input = { in_scope = ["a.txt", "b.txt"], out_of_scope = [], constraints = [] }

[[conversation]]
role = "researcher"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "semantic_search"
input = { query = "the sample" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_research"
input = { key_files = [{ path = "README.md", why = "all there is" }], patterns = [], recommendations = ["add them"] }

[[conversation]]
role = "planner"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_plan"
input = { summary = "Two.", tasks = [{ id = "a", title = "The first", description = "a" }, { id = "b", title = "The second", description = "b", dependsOn = ["a"] }] }

[[conversation]]
role = "implementer"
when = "pulse 1 of 2"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "a.txt", content = "one\ntwo\n" }
[[conversation.turn.call]]
tool = "take_note"
input = { note = "text files end with a newline here" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "wrote a" }

[[conversation]]
role = "implementer"
when = "pulse 2 of 2"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "multi_edit"
input = { edits = [{ path = "a.txt", old_text = "two", new_text = "zwei" }, { path = "README.md", old_text = "Sample", new_text = "Example" }] }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "edited" }

[[conversation]]
role = "reviewer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "get_diff"
input = { path = "a.txt" }
[[conversation.turn.call]]
tool = "get_scope_card"
input = {}
[[conversation.turn.call]]
tool = "add_line_comment"
input = { path = "a.txt", line = 2, comment = "two languages" }
[[conversation.turn.call]]
tool = "add_line_comment"
input = { path = "a.txt", line = 9, comment = "not there" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", summary = "both are there" }
"##;

#[tokio::test]
async fn index_notes_and_comments_reach_who_comes_next() {
    let world = World::new(SCRIPT);
    let run = world.work("staged", "grep -q zwei a.txt", |_, _| yes()).await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);

    let found = world.results(&run.id, "scoper", 1);
    assert!(found[0].0 && found[0].1.starts_with("README.md:1-1 Sample"), "{found:?}");
    assert!(world.results(&run.id, "researcher", 1)[0].0);
    let (own, stored) = (world.session_file(&run.id, "researcher-1", "index.db"), world.project_file("index.db"));
    assert_eq!(own, stored, "the last index of who only reads is the project's");
    assert_eq!(&stored[..15], b"SQLite format 3");
    assert_eq!(world.session_file(&run.id, "implementer-1", "index.db"), stored, "it is handed on to who writes");

    let second = world.told(&run.id, "implementer", 2);
    assert!(second.contains("<own_note>\ntext files end with a newline here\n</own_note>"), "{second}");
    let judged = world.results(&run.id, "reviewer", 1);
    assert!(judged[0].1.contains("+zwei") && !judged[0].1.contains("README"), "{judged:?}");
    assert!(judged[1].1.contains("a.txt"), "{judged:?}");
    assert!(judged[2].0 && !judged[3].0 && judged[3].1.contains("shows its lines 1-2"), "{judged:?}");
    let report = world.file(&run.opened().branch, &format!(".autonomous/runs/{}/validation-report.md", run.id));
    assert!(report.contains("two languages") && report.contains("a.txt:2"), "{report}");
}
