//! Iterations towards a goal: each starts from the tree of the one before.

use crate::world::World;
use domain::{Decision, Ending, HoldKind, Phase};

const SCRIPT: &str = r##"
[[conversation]]
role = "pursuer"
visit = 1
[[conversation.turn]]
[[conversation.turn.call]]
tool = "plan_tasks"
input = { tasks = [{ id = "1", description = "make both files" }] }
[[conversation.turn.call]]
tool = "write_file"
input = { path = "half.txt", content = "half\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "request_extension"
input = { minutes = 5, reason = "slow tests" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "observe"
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
[[conversation.turn.call]]
tool = "update_task"
input = { id = "1", status = "completed" }
[[conversation.turn.call]]
tool = "observe"
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

/// A turn that plans, acts and looks; then one that reflects.
fn iteration(visit: u32, calls: &str, reflection: &str) -> String {
    format!(
        r##"
[[conversation]]
role = "pursuer"
visit = {visit}
[[conversation.turn]]
{calls}
[[conversation.turn.call]]
tool = "observe"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "reflect"
input = {{ {reflection} }}
"##
    )
}

fn call(tool: &str, input: &str) -> String {
    format!("[[conversation.turn.call]]\ntool = \"{tool}\"\ninput = {{ {input} }}\n")
}

fn plan() -> String {
    call("plan_tasks", r#"tasks = [{ id = "1", description = "make it" }]"#)
}

fn write(path: &str, content: &str) -> String {
    call("write_file", &format!(r#"path = "{path}", content = "{content}""#))
}

fn said(progress: u32, next: &str) -> String {
    format!(r#"goal_achieved = false, progress = {progress}, content = "so far", next_action = "{next}""#)
}

const MET: &str = r#"goal_achieved = true, progress = 1, content = "all is there""#;

fn done() -> String {
    call("update_task", r#"id = "1", status = "completed""#)
}

/// What is scripted, and how it ends: what the first hold says, if there is one.
async fn ends(script: &str, words: Option<&str>) -> domain::Run {
    let world = World::new(script);
    let mut holds: Vec<String> = Vec::new();
    let run = world.work("goal", "true", |_, hold| {
        holds.push(hold.summary.clone());
        Decision::Cancel { reason: None }
    });
    let run = run.await;
    match words {
        None => assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{holds:?} {:?}", run.failure),
        Some(words) => assert!(holds.len() == 1 && holds[0].contains(words), "{words}: {holds:?}"),
    }
    run
}

#[tokio::test]
async fn every_scripted_behaviour_ends_with_the_goal_or_a_hold() {
    let first = iteration(1, &(plan() + &write("a.txt", "1")), &said(10, "a"));
    let next =
        |visit, content: &str, progress, then: &str| iteration(visit, &write("a.txt", content), &said(progress, then));
    let success = first.clone() + &iteration(2, &(write("a.txt", "2") + &done()), MET);
    let helpless = r#"goal_achieved = false, progress = 0.1, content = "c", next_action = "", requires_user_intervention = true, issues = ["no database here"]"#;
    let stuck = iteration(1, &(plan() + &write("a.txt", "1")), helpless);
    let files = first.clone() + &next(2, "2", 20, "b") + &next(3, "1", 30, "c");
    let actions = first.clone() + &next(2, "2", 10, "b") + &next(3, "3", 10, "a");
    let standstill = first.clone() + &next(2, "2", 10, "b") + &next(3, "3", 10, "c");
    let falls = iteration(1, &(plan() + &write("a.txt", "1")), &said(80, "a")) + &next(2, "2", 30, "b");
    let half = MET.replace("progress = 1,", "progress = 0.5,");
    // Said once, it comes back to the model; said again, it goes to a person.
    let again =
        format!("[[conversation.turn]]\n[[conversation.turn.call]]\ntool = \"reflect\"\ninput = {{ {half} }}\n");
    let contradiction = iteration(1, &(plan() + &write("a.txt", "1")), &half) + &again;
    for (script, words) in [
        (success, None),
        (stuck, Some("it needs you: no database here")),
        (files, Some("the files are exactly as after iteration 1")),
        (actions, Some("what iteration 1 wanted to do next")),
        (standstill, Some("no progress in 3 iterations")),
        (falls, Some("progress fell from 80 % to 30 %")),
        (
            contradiction,
            Some("it says that the goal is met, but it says that 50 % are reached; these tasks are not done: 1"),
        ),
    ] {
        ends(&script, words).await;
    }
}

#[tokio::test]
async fn each_of_the_five_answers_leads_to_the_goal() {
    let helpless = r#"goal_achieved = false, progress = 0.1, content = "c", next_action = "", requires_user_intervention = true, issues = ["which way?"]"#;
    let first = iteration(1, &(plan() + &write("a.txt", "1")), helpless);
    let own = r#"[{"id": "mine", "description": "as ada wants it"}]"#;
    let text = || "the other way".to_owned();
    let finish = |before: &str, task: &str| {
        let done = call("update_task", &format!(r#"id = "{task}", status = "completed""#));
        iteration(2, &(before.to_owned() + &write("a.txt", "2") + &done), MET)
    };
    let rows = [
        (Decision::Approve { notes: Some(text()) }, finish("", "1"), "the other way"),
        (Decision::Reject { feedback: text() }, finish(&plan(), "1"), "the other way"),
        (Decision::Suggest { text: text() }, finish("", "1"), "the other way"),
        (Decision::ModifyPlan { plan: own.to_owned() }, finish("", "mine"), "- mine [pending] as ada wants it"),
    ];
    for (decision, second, words) in rows {
        let kind = decision.kind().word();
        let world = World::new(&(first.clone() + &second));
        let run = world.work("goal", "true", |_, _| decision.clone()).await;
        assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{kind}: {:?}", run.failure);
        let told = world.told(&run.id, "pursuer", 2);
        assert!(told.contains(words), "{kind}: {told}");
        assert_eq!(told.contains("<tasks>"), kind != "reject", "who says no wants another plan");
    }
}

#[tokio::test]
async fn a_question_is_answered_before_the_goal_goes_on() {
    let helpless = r#"goal_achieved = false, progress = 0.1, content = "c", next_action = "", requires_user_intervention = true, issues = ["which way?"]"#;
    let script = iteration(1, &(plan() + &write("a.txt", "1")), helpless)
        + "[[conversation]]\nrole = \"pursuer\"\nvisit = 2\n[[conversation.turn]]\n"
        + &call("reply", r#"text = "there are two""#)
        + &iteration(3, &(write("a.txt", "2") + &done()), MET);
    let world = World::new(&script);
    let mut asked = Vec::new();
    let run = world.work("goal", "true", |_, hold| {
        asked.extend(hold.asked.iter().map(|asked| asked.answer.clone()));
        assert!(hold.summary.contains("which way?"), "{hold:?}");
        match asked.len() {
            0 => Decision::Ask { question: "why?".to_owned() },
            _ => Decision::Approve { notes: None },
        }
    });
    let run = run.await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
    assert_eq!(asked, ["there are two"]);
}

#[tokio::test]
async fn a_rename_across_files_corrects_itself_after_a_failing_test_and_tells_its_phases() {
    let tasks = r#"tasks = [{ id = "1", description = "make the files" }, { id = "2", description = "rename greet", dependencies = ["1"] }]"#;
    let test = r#"[[conversation.turn.call]]
tool = "shell"
input = { command = "! grep -n greet a.txt b.txt" }
"#;
    let turn = "[[conversation.turn]]\n";
    let script = iteration(
        1,
        &(call("plan_tasks", tasks)
            + &write("a.txt", "greet()")
            + &write("b.txt", "greet()")
            + &done()
            + &call("edit_file", r#"path = "a.txt", old_text = "greet", new_text = "welcome""#)
            + test),
        &said(50, "rename in b.txt too"),
    ) + "[[conversation]]\nrole = \"pursuer\"\nvisit = 2\n"
        + turn
        + &call("delegate", r#"kind = "work", task = "Rename greet to welcome in b.txt""#)
        + turn
        + test
        + turn
        + &call("update_task", r#"id = "2", status = "completed""#)
        + &call("observe", "")
        + turn
        + &call("reflect", MET)
        + "[[conversation]]\nrole = \"pursuer\"\nwhen = [\"<errand>\"]\n"
        + turn
        + &call("edit_file", r#"path = "b.txt", old_text = "greet", new_text = "welcome""#)
        + turn
        + &call("complete_pulse", r#"summary = "renamed in b.txt""#);
    let world = World::new(&script);
    let run = world.work("goal", "! grep greet a.txt b.txt", |_, hold| panic!("{hold:?}")).await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
    let branch = &run.opened().branch;
    for file in ["a.txt", "b.txt"] {
        assert_eq!(world.file(branch, file), "welcome()", "{file}");
    }
    let told = world.told(&run.id, "pursuer", 2);
    assert!(told.contains("shell") && told.contains("b.txt:1:greet()"), "it is told what failed: {told}");
    assert!(told.contains("- 2 [pending] rename greet (after 1)"), "{told}");
    let phases: Vec<String> = world
        .events(&run.id)
        .iter()
        .filter_map(|event| match event {
            domain::Event::GoalPhaseEntered { iteration, phase, .. } => Some(format!("{iteration} {}", phase.word())),
            _ => None,
        })
        .collect();
    let of = |number: u32| ["planning", "acting", "observing", "reflecting"].map(|word| format!("{number} {word}"));
    assert_eq!(phases, [of(1), of(2)].concat());
    assert!(run.goal.tasks.iter().all(|task| task.status == domain::GoalTaskStatus::Completed));
}
