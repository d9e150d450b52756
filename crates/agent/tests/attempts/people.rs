//! What a person says to an agent at work.

use crate::fake::{Fake, Turn};
use drivers::{HandIn, JobKind};
use serde_json::json;

fn look(path: &str) -> Turn {
    Turn::Says("", vec![("list_directory", json!({"path": path}))])
}

fn done() -> Turn {
    Turn::Says("", vec![("complete_pulse", json!({"summary": "done"}))])
}

#[tokio::test]
async fn what_is_said_meanwhile_is_heard_at_the_next_turn_and_once_also_over_restarts() {
    let mut fake = Fake::new(vec![look("."), look("./."), done(), done()]).await;
    let mut job = fake.job(JobKind::Code);
    fake.tell(1, "use the blue one");
    job.max_turns = 1;
    assert!(matches!(fake.attempt(&job).await, HandIn::GaveUp { .. }));
    let heard = |at: usize, words: &str| fake.requests()[at]["messages"].to_string().matches(words).count();
    assert_eq!(heard(0, "ada, a person who watches your work, says:\\n\\nuse the blue one"), 1);

    fake.tell(2, "and the small one");
    job.max_turns = 2;
    assert!(matches!(fake.attempt(&job).await, HandIn::GaveUp { .. }));
    let heard = |at: usize, words: &str| fake.requests()[at]["messages"].to_string().matches(words).count();
    assert_eq!((heard(1, "the blue one"), heard(1, "the small one")), (1, 1));

    job.max_turns = 9;
    assert!(matches!(fake.attempt(&job).await, HandIn::Pulse(_)));
    let heard = |at: usize, words: &str| fake.requests()[at]["messages"].to_string().matches(words).count();
    assert_eq!((heard(2, "the blue one"), heard(2, "the small one")), (1, 1));
    assert_eq!(fake.records().iter().filter(|record| record.get("guidance").is_some()).count(), 2);
}

#[tokio::test]
async fn nothing_is_handed_in_over_words_that_were_not_heard() {
    let write_down = json!({"command":
        "printf '%s\\n' '{\"number\":1,\"by\":\"ada\",\"text\":\"wait\",\"at\":\"2026-01-01T00:00:00Z\"}' > ../session/guidance.jsonl"});
    // The person speaks while the model hands in: the command stands for the one who writes the file.
    let both = Turn::Says("", vec![("shell", write_down), ("complete_pulse", json!({"summary": "early"}))]);
    let last = Turn::Says("", vec![("complete_pulse", json!({"summary": "after"}))]);
    let mut fake = Fake::new(vec![both, last]).await;
    let job = fake.job(JobKind::Code);
    let HandIn::Pulse(pulse) = fake.attempt(&job).await else { panic!() };
    assert_eq!((pulse.summary.as_str(), fake.calls()), ("after", 2));
    let sent = fake.requests()[1]["messages"].to_string();
    assert!(sent.contains("not handed in yet: a person said something") && sent.contains("says:\\n\\nwait"), "{sent}");
}

#[tokio::test]
async fn a_call_that_needs_a_yes_waits_for_it_and_goes_on_with_what_the_person_said() {
    let push = || ("shell", json!({"command": "echo ran >> ran.txt; git push"}));
    let story = vec![
        Turn::Says(
            "",
            vec![("list_directory", json!({})), push(), ("shell", json!({"command": "echo after > after.txt"}))],
        ),
        Turn::Says("", vec![push()]),
        Turn::Says("", vec![("read_file", json!({"path": ".env"}))]),
        done(),
    ];
    let mut fake = Fake::new(story).await;
    crate::fake::write(&fake.work(".env"), "SECRET=1");
    let mut job = fake.job(JobKind::Code);
    let HandIn::Permission { request } = fake.attempt(&job).await else { panic!() };
    assert_eq!(request, "run `echo ran >> ran.txt; git push`: it sends work out of the workspace [turn 1, call 2]");
    assert_eq!(fake.attempt(&job).await, HandIn::Permission { request: request.clone() }, "a restart is not a yes");
    assert!(!fake.work("ran.txt").exists() && !fake.work("after.txt").exists());

    job.permissions.push(format!("allowed: {request}"));
    let HandIn::Permission { request: second } = fake.attempt(&job).await else { panic!() };
    assert!(second.ends_with("[turn 2, call 1]"), "one yes is for one call: {second}");
    assert_eq!(std::fs::read_to_string(fake.work("ran.txt")).unwrap(), "ran\n");
    assert!(fake.work("after.txt").exists(), "the calls after it ran too");
    assert_eq!(fake.calls(), 2);

    job.permissions.push(format!("not allowed: {second} (the branch is frozen)"));
    let HandIn::Permission { request: third } = fake.attempt(&job).await else { panic!() };
    assert!(third.starts_with("read `.env` with read_file"), "{third}");
    assert_eq!(std::fs::read_to_string(fake.work("ran.txt")).unwrap(), "ran\n", "what is denied is not run");

    job.permissions.push(format!("instead of: {third}: use .env.example"));
    assert!(matches!(fake.attempt(&job).await, HandIn::Pulse(_)));
    let sent = fake.requests().pop().unwrap()["messages"].to_string();
    assert!(sent.contains("did not allow it: the branch is frozen"), "{sent}");
    assert!(sent.contains("do this instead: use .env.example") && !sent.contains("SECRET"), "{sent}");
    assert_eq!(fake.calls(), 4, "waiting for a person costs no call");
}

#[tokio::test]
async fn a_yes_is_remembered_when_the_person_says_so_and_judges_are_not_asked_for() {
    let push = || Turn::Says("", vec![("shell", json!({"command": "echo ran >> ran.txt; git push"}))]);
    let mut fake = Fake::new(vec![push(), push(), done()]).await;
    let mut job = fake.job(JobKind::Code);
    let HandIn::Permission { request } = fake.attempt(&job).await else { panic!() };
    job.permissions.push(format!("allowed for the run: {request}"));
    assert!(matches!(fake.attempt(&job).await, HandIn::Pulse(_)));
    assert_eq!(std::fs::read_to_string(fake.work("ran.txt")).unwrap(), "ran\nran\n");

    let review = ("complete_review", json!({"verdict": "pass", "summary": "s", "findings": []}));
    let look = ("read_file", json!({"path": "key.pem"}));
    let mut fake = Fake::new(vec![Turn::Says("", vec![look]), Turn::Says("", vec![review])]).await;
    let job = fake.job(JobKind::Review);
    assert!(matches!(fake.attempt(&job).await, HandIn::Review(_)));
    assert!(fake.requests()[1]["messages"].to_string().contains("not allowed in this role: read `key.pem`"));
}

#[tokio::test]
async fn a_word_to_a_silent_model_stands_for_the_nudge() {
    let mut fake = Fake::new(vec![Turn::Says("I stop.", vec![]), done()]).await;
    let mut job = fake.job(JobKind::Code);
    job.max_turns = 1;
    assert!(matches!(fake.attempt(&job).await, HandIn::GaveUp { .. }));
    let cut: String =
        std::fs::read_to_string(fake.session("turns.jsonl")).unwrap().split_inclusive('\n').take(2).collect();
    std::fs::write(fake.session("turns.jsonl"), cut).unwrap();
    fake.tell(1, "go on");
    job.max_turns = 2;
    assert!(matches!(fake.attempt(&job).await, HandIn::Pulse(_)));
    let sent = fake.requests()[1]["messages"].to_string();
    assert!(sent.contains("go on") && !sent.contains("You stopped without"), "{sent}");
}
