//! Many calls in a turn, long output, circles, and what is kept of every call.

use crate::fake::{Fake, Turn, write};
use drivers::{AgentEvent, HandIn, Job, JobKind, ObservationKind};
use serde_json::{Value, json};

fn done() -> Turn {
    Turn::Says("", vec![("complete_pulse", json!({"summary": "done"}))])
}

async fn attempt(turns: Vec<Turn>, prepare: impl Fn(&Fake, &mut Job)) -> (HandIn, Fake) {
    let mut fake = Fake::new(turns).await;
    let mut job = fake.job(JobKind::Code);
    prepare(&fake, &mut job);
    (fake.attempt(&job).await, fake)
}

/// The results the model got with its last request, in the order it got them.
fn results(fake: &Fake) -> Vec<String> {
    let last = fake.requests().pop().unwrap();
    let tools = last["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    tools.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn reading_calls_run_together_around_changes_and_results_keep_the_order_of_the_calls() {
    let read = || ("read_file", json!({"path": "a.txt"}));
    let edit = ("edit_file", json!({"path": "a.txt", "old_text": "old", "new_text": "new"}));
    let calls = vec![("fly", json!({})), read(), ("list_directory", json!({})), edit, read(), ("grep", json!({}))];
    let (hand_in, fake) =
        attempt(vec![Turn::Says("", calls), done()], |fake, _| write(&fake.work("a.txt"), "old\n")).await;
    assert!(matches!(hand_in, HandIn::Pulse(_)));
    let results = results(&fake);
    let expected = ["Error: there is no tool `fly`", "     1→old", "a.txt", "", "     1→new", "Error: invalid input"];
    assert_eq!(results.len(), expected.len());
    for (result, expected) in results.iter().zip(expected) {
        assert!(result.starts_with(expected), "{result}: {expected}");
    }
    let order: Vec<String> = fake
        .events()
        .iter()
        .filter_map(|event| match event {
            AgentEvent::ToolStarted { tool, .. } => Some(format!("+{tool}")),
            AgentEvent::ToolCompleted { tool, .. } => Some(format!("-{tool}")),
            _ => None,
        })
        .collect();
    let both = ["+read_file", "+list_directory", "-read_file", "-list_directory", "+edit_file", "-edit_file"];
    assert_eq!(order[..6], both, "the two reads began before either ended: {order:?}");
}

#[tokio::test]
async fn of_a_thousand_calls_in_a_turn_64_are_run_and_all_are_answered() {
    let calls = (0..1000).map(|n| ("write_file", json!({"path": format!("f{n}"), "content": "x"}))).collect();
    let (hand_in, fake) = attempt(vec![Turn::Says("", calls), done()], |_, _| {}).await;
    assert!(matches!(hand_in, HandIn::Pulse(_)));
    assert_eq!(std::fs::read_dir(fake.work("")).unwrap().count(), 64);
    let results = results(&fake);
    assert_eq!(results.len(), 1000);
    let refused = results.iter().filter(|result| result.contains("too many calls in one turn")).count();
    assert_eq!(refused, 936);
    assert_eq!(fake.observations().len(), 1000);
}

#[tokio::test]
async fn a_tool_that_was_taken_from_the_role_is_refused_and_handing_in_is_not() {
    let story = vec![
        Turn::Says("", vec![("shell", json!({"command": "echo x > ran"})), ("grep", json!({"pattern": "x"}))]),
        done(),
    ];
    let (hand_in, fake) = attempt(story, |_, job| job.settings.tools = Some(vec!["grep".into()])).await;
    assert!(matches!(hand_in, HandIn::Pulse(_)));
    let results = results(&fake);
    assert!(results[0].contains("`shell` was taken from this role"), "{results:?}");
    assert!(!results[1].contains("taken") && !fake.work("ran").exists());
}

#[tokio::test]
async fn a_circle_of_calls_is_told_and_then_ends_the_attempt() {
    let look = |path: &str| Turn::Says("", vec![("read_file", json!({"path": path}))]);
    let story: Vec<Turn> = (0..30).map(|at| look(if at % 2 == 0 { "a.txt" } else { "b.txt" })).collect();
    let (hand_in, fake) = attempt(story, |fake, job| {
        job.max_turns = 30;
        write(&fake.work("a.txt"), "a");
    })
    .await;
    let HandIn::GaveUp { reason } = hand_in else { panic!("{hand_in:?}") };
    assert!(reason.contains("made the same 2 calls (`read_file`, `read_file`) 5 times in a row"), "{reason}");
    assert_eq!(fake.calls(), 10);
    assert!(fake.requests()[6]["messages"].to_string().contains("made the same 2 calls"), "warned first");
}

#[tokio::test]
async fn every_call_leaves_an_observation_whatever_came_of_it() {
    let calls =
        vec![("fly", json!({})), ("read_file", json!({"path": "no"})), ("shell", json!({"command": "echo hi"}))];
    let (_, fake) = attempt(vec![Turn::Says("", calls), done()], |_, _| {}).await;
    let all = fake.observations();
    let told: Vec<_> = all.iter().map(|one| (one.source.as_str(), one.kind, one.success)).collect();
    let mut sorted = told.clone();
    sorted.sort_by_key(|(source, ..)| *source);
    assert_eq!(
        sorted,
        [
            ("fly", ObservationKind::Refusal, false),
            ("read_file", ObservationKind::ToolExecution, false),
            ("shell", ObservationKind::ToolExecution, true),
        ]
    );
    let shell = all.iter().find(|one| one.source == "shell").unwrap();
    assert_eq!((shell.input.clone(), shell.output.as_deref()), (json!({"command": "echo hi"}), Some("hi")));
    assert!(shell.at.is_some() && shell.error.is_none());
    let read = all.iter().find(|one| one.source == "read_file").unwrap();
    assert!(read.error.as_ref().unwrap().contains("does not exist"));
}

#[tokio::test]
async fn the_rest_of_long_output_is_in_a_file_that_can_be_read() {
    let long = ("shell", json!({"command": "seq 1 30000"}));
    let rest = json!({"path": ".holdpoint/output-1.txt", "start_line": 15000, "end_line": 15001});
    let other = json!({"path": ".holdpoint/../../secret"});
    let story =
        vec![Turn::Says("", vec![long]), Turn::Says("", vec![("read_file", rest), ("read_file", other)]), done()];
    let (hand_in, fake) = attempt(story, |_, _| {}).await;
    assert!(matches!(hand_in, HandIn::Pulse(_)));
    let results = results(&fake);
    assert!(results[0].contains("30000 lines, is in `.holdpoint/output-1.txt`"), "{}", &results[0][..9000]);
    assert!(results[0].len() < 40_000);
    assert_eq!(results[1], " 15000→15000\n 15001→15001\n");
    assert!(results[2].contains("leaves the workspace"), "{}", results[2]);
}

#[tokio::test]
async fn many_long_results_of_one_turn_are_shown_shortly_and_kept_whole() {
    let calls: Vec<(&str, Value)> = (0..10).map(|_| ("read_file", json!({"path": "big"}))).collect();
    // Ten calls with different inputs, so that they are no circle.
    let calls = calls.into_iter().zip(1..).map(|((tool, mut input), line)| {
        input["start_line"] = json!(line);
        (tool, input)
    });
    let story = vec![Turn::Says("", calls.collect()), done()];
    let (_, fake) =
        attempt(story, |fake, _| write(&fake.work("big"), &"some words in a line of text\n".repeat(3000))).await;
    let results = results(&fake);
    assert_eq!(results.len(), 10);
    let total: usize = results.iter().map(String::len).sum();
    assert!(total < 400 * 1024, "{total}");
    assert!(results[9].contains("is in `.holdpoint/output-") && results[9].len() < 5_000);
}
