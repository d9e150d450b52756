//! A short story for each built-in playbook, told by the scripted model. `subtask` is what the children of `team` play.

use anyhow::{Result, bail};
use serde_json::{Value, json};

/// What the fault loops play: every playbook, and a run whose branch is pushed to a remote.
pub const STORIES: [&str; 6] = ["autonomous", "staged", "task", "goal", "team", PUSHED];

const PUSHED: &str = "pushed";

/// What the model says, and what is asked for.
pub struct Story {
    /// The model's script.
    pub script: String,
    /// The request, without its project.
    pub request: Value,
    /// Whether the user's repository has a remote.
    pub has_remote: bool,
}

/// The story of a playbook, or of [`STORIES`].
pub fn of(name: &str) -> Result<Story> {
    let has_remote = name == PUSHED;
    let playbook = if has_remote { "autonomous" } else { name };
    let script = match playbook {
        "autonomous" => {
            let plan = "input = { title = \"Two words\", body = \"# Two words\\n\\n```mermaid\\nflowchart TD\\n  A --> B\\n```\\n\" }";
            [
                turns("planner", "", &[("submit_plan", plan)]),
                turns("implementer", "", &[WRITE, DONE]),
                turns("validator", "", &[PASS]),
            ]
            .concat()
        }
        "staged" => {
            let scope =
                "input = { summary = \"One file.\", in_scope = [\"made.txt\"], out_of_scope = [], constraints = [] }";
            let found = "input = { key_files = [{ path = \"README.md\", why = \"all there is\" }], patterns = [], recommendations = [\"add it\"] }";
            [
                turns("scoper", "", &[("submit_scope", scope)]),
                turns("researcher", "", &[("submit_research", found)]),
                turns("planner", "", &[("submit_plan", ONE_TASK)]),
                turns("implementer", "", &[WRITE, DONE]),
                turns("reviewer", "", &[PASS]),
            ]
            .concat()
        }
        "task" => {
            let over = "input = { summary = \"made it\", look_at = \"made.txt\", how_to_test = \"cat made.txt\" }";
            [turns("worker", "", &[WRITE, ("complete_pulse", over)]), turns("reviewer", "", &[PASS])].concat()
        }
        "goal" => {
            let plan = "input = { tasks = [{ id = \"1\", description = \"make it\", status = \"completed\" }] }";
            let met = "input = { goal_achieved = true, progress = 1, content = \"it is there\" }";
            turns("pursuer", "", &[("plan_tasks", plan), WRITE, ("observe", "input = {}"), ("reflect", met)])
        }
        "team" => [
            turns("architect", "", &[("submit_plan", TWO_TASKS)]),
            turns("implementer", "when = [\"The first\"]\n", &[WRITE, DONE]),
            turns("implementer", "when = [\"The second\"]\n", &[WRITE_OTHER, DONE]),
            turns("reviewer", "", &[PASS]),
        ]
        .concat(),
        other => bail!("there is no story of `{other}`"),
    };
    let request = json!({
        "request": "Make the files",
        "playbook": playbook,
        "skipClarification": true,
        "models": {"*": "scripted/story"},
        "autoMerge": !has_remote,
        "checks": [{"name": "there", "command": "true"}],
    });
    Ok(Story { script, request, has_remote })
}

type Turn = (&'static str, &'static str);

const WRITE: Turn = ("write_file", "input = { path = \"made.txt\", content = \"made\\n\" }");
const WRITE_OTHER: Turn = ("write_file", "input = { path = \"other.txt\", content = \"other\\n\" }");
const DONE: Turn = ("complete_pulse", "input = { summary = \"It is made\" }");
const PASS: Turn = ("complete_review", "input = { verdict = \"pass\", severity = \"minor\", summary = \"As asked\" }");
const ONE_TASK: &str =
    "input = { summary = \"One task.\", tasks = [{ id = \"all\", title = \"All\", description = \"made.txt\" }] }";
const TWO_TASKS: &str = "input = { summary = \"One file each.\", tasks = [{ id = \"a\", title = \"The first\", \
                         description = \"made.txt\", files = [\"made.txt\"] }, { id = \"b\", title = \"The second\", \
                         description = \"other.txt\", files = [\"other.txt\"] }] }";

fn turns(role: &str, when: &str, calls: &[(&str, &str)]) -> String {
    let turn = |(tool, input): &(&str, &str)| {
        format!("[[conversation.turn]]\n[[conversation.turn.call]]\ntool = \"{tool}\"\n{input}\n")
    };
    let turns: String = calls.iter().map(turn).collect();
    format!("\n[[conversation]]\nrole = \"{role}\"\n{when}{turns}")
}
