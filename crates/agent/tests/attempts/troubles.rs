//! What goes wrong with a model, and what the agent makes of it.

use crate::fake::{Fake, Turn};
use drivers::{AgentEvent, HandIn, Job, JobKind};
use serde_json::{Value, json};

fn done() -> Turn {
    Turn::Says("", vec![("complete_pulse", json!({"summary": "done"}))])
}

async fn attempt(turns: Vec<Turn>, change: impl Fn(&mut Job)) -> (HandIn, Fake) {
    let mut fake = Fake::new(turns).await;
    let mut job = fake.job(JobKind::Code);
    change(&mut job);
    (fake.attempt(&job).await, fake)
}

fn troubles(fake: &Fake) -> usize {
    fake.events().iter().filter(|event| matches!(event, AgentEvent::Trouble { .. })).count()
}

#[tokio::test]
async fn a_cut_answer_is_not_taken_for_a_whole_one() {
    for model in ["scripted/x", "anthropic/claude-x"] {
        let (hand_in, fake) = attempt(vec![Turn::Cut, Turn::Cut, done()], |job| job.model = model.into()).await;
        assert!(matches!(hand_in, HandIn::Pulse(_)), "{hand_in:?}");
        assert_eq!((fake.calls(), troubles(&fake)), (3, 2));
        let answers = fake.records().iter().filter(|record| record.get("assistant").is_some()).count();
        assert_eq!(answers, 1);
    }
}

#[tokio::test]
async fn three_passing_failures_of_one_turn_are_enough() {
    let busy = || Turn::Fails(503, json!({"error": {"message": "busy"}}));
    let (hand_in, fake) = attempt(vec![busy(), Turn::Cut, busy(), done()], |_| {}).await;
    assert_eq!(hand_in, HandIn::ModelFailed { reason: "busy (HTTP 503); tried 3 times".into() });
    assert_eq!(fake.calls(), 3);
}

#[tokio::test]
async fn a_lasting_failure_is_not_tried_again() {
    let (hand_in, fake) =
        attempt(vec![Turn::Fails(404, json!({"error": {"message": "no such model"}})), done()], |_| {}).await;
    assert_eq!(hand_in, HandIn::ModelFailed { reason: "no such model (HTTP 404)".into() });
    assert_eq!(fake.calls(), 1);
}

#[tokio::test]
async fn a_spent_usage_window_is_handed_in_with_its_time() {
    let body = json!({"error": {"message": "spent", "code": "holdpoint_quota", "resets_at": "2026-01-01T05:00:00Z"}});
    let (hand_in, fake) = attempt(vec![Turn::Fails(429, body)], |_| {}).await;
    let resets_at = Some("2026-01-01T05:00:00Z".parse().unwrap());
    assert_eq!(hand_in, HandIn::QuotaSpent { reason: "spent".into(), resets_at });
    assert_eq!(fake.calls(), 1, "nobody knocks again");
}

#[tokio::test]
async fn the_next_model_goes_on_in_the_same_conversation_without_the_others_thoughts() {
    let turns = vec![
        Turn::Thinks("a thought of the first", ("list_directory", json!({}))),
        Turn::Fails(404, json!({"error": {"message": "retired"}})),
        done(),
    ];
    let (hand_in, fake) = attempt(turns, |job| {
        job.model = "anthropic/first".into();
        job.fallbacks = vec!["openai/second".into(), "openai/third".into()];
    })
    .await;
    assert!(matches!(hand_in, HandIn::Pulse(_)), "{hand_in:?}");
    let requests = fake.requests();
    let asked: Vec<_> = requests.iter().map(|request| request["model"].as_str().unwrap()).collect();
    assert_eq!(asked, ["anthropic/first", "anthropic/first", "openai/second"]);
    let thought = |at: usize| requests[at].to_string().contains("a thought of the first");
    assert!(thought(1) && !thought(2));
    let records = fake.records();
    let by: Vec<_> = records.iter().filter_map(|record| record["assistant"]["model"].as_str()).collect();
    assert_eq!(by, ["anthropic/first", "openai/second"]);
    assert_eq!(troubles(&fake), 1);
}

#[tokio::test]
async fn a_spent_budget_goes_to_no_other_model() {
    let body = json!({"error": {"message": "spent", "code": "holdpoint_budget"}});
    let (hand_in, fake) =
        attempt(vec![Turn::Fails(402, body), done()], |job| job.fallbacks = vec!["openai/second".into()]).await;
    assert_eq!(hand_in, HandIn::BudgetSpent { reason: "spent".into(), shortage: domain::Shortage::default() });
    assert_eq!(fake.calls(), 1);
}

#[tokio::test]
async fn without_a_broker_nothing_is_handed_in_and_the_attempt_says_so() {
    let fake = Fake::new(vec![done()]).await;
    std::fs::remove_file(fake.folder.path().join("door/broker.sock")).unwrap();
    fake.put_job(&fake.job(JobKind::Code));
    let ended = agent::run_to(fake.options(), &mut Vec::new()).await;
    assert!(matches!(&ended, Err(agent::AgentError::Delivery(_))), "{ended:?}");
}

#[tokio::test]
async fn a_spent_budget_ends_the_attempt_and_the_next_one_goes_on() {
    for (model, body) in [
        ("openai/x", json!({"error": {"message": "2 of 2 USD are spent", "code": "holdpoint_budget"}})),
        (
            "anthropic/x",
            json!({"type": "error", "error": {"type": "holdpoint_price_unknown", "message": "2 of 2 USD are spent"}}),
        ),
    ] {
        let look = Turn::Says("", vec![("list_directory", json!({}))]);
        let (hand_in, mut fake) =
            attempt(vec![look, Turn::Fails(402, body), done()], |job| job.model = model.into()).await;
        assert_eq!(
            hand_in,
            HandIn::BudgetSpent { reason: "2 of 2 USD are spent".into(), shortage: domain::Shortage::default() }
        );
        let mut job = fake.job(JobKind::Code);
        job.model = model.into();
        assert!(matches!(fake.attempt(&job).await, HandIn::Pulse(_)));
        assert_eq!(fake.calls(), 3);
    }
}

#[tokio::test]
async fn a_silent_model_is_nudged_twice() {
    let quiet = || Turn::Says("I am done.", vec![]);
    let (hand_in, fake) = attempt(vec![quiet(), Turn::Says("", vec![]), done()], |_| {}).await;
    assert!(matches!(hand_in, HandIn::Pulse(_)));
    assert!(fake.requests()[2]["messages"].to_string().contains("hand in with complete_pulse"));
    let (hand_in, fake) = attempt(vec![quiet(), quiet(), quiet(), done()], |_| {}).await;
    assert!(matches!(hand_in, HandIn::GaveUp { .. }));
    assert_eq!(fake.calls(), 3);
}

#[tokio::test]
async fn what_the_model_gets_wrong_it_is_told() {
    let (hand_in, fake) = attempt(
        vec![
            Turn::Says(
                "",
                vec![("fly", json!({})), ("read_file", json!({"file": "a"})), ("read_file", json!("{\"pa"))],
            ),
            Turn::Says("", vec![("shell", json!({"command": "exit 1"})), ("complete_pulse", json!({"summary": "s"}))]),
            done(),
        ],
        |_| {},
    )
    .await;
    assert!(matches!(hand_in, HandIn::Pulse(_)));
    let records = fake.records();
    let results: Vec<&Value> =
        records.iter().filter_map(|record| record.get("results")?.as_array()).flatten().collect();
    for (id, words) in [
        ("call_1_0", "there is no tool `fly`; the tools are: read_file"),
        ("call_1_1", "unknown field `file`"),
        ("call_1_2", "perhaps cut off"),
        ("call_2_0", "exit status: 1"),
        ("call_2_1", "another call of the same turn failed"),
    ] {
        let result = results.iter().find(|result| result["id"] == id).unwrap();
        assert_eq!(result["ok"], false);
        assert!(result["output"].as_str().unwrap().contains(words), "{result}");
    }
}

#[tokio::test]
async fn the_turn_limit_of_the_job_holds() {
    let look = |path: &str| Turn::Says("", vec![("read_file", json!({"path": path}))]);
    let (hand_in, fake) = attempt(vec![look("a"), look("b"), look("c"), done()], |job| job.max_turns = 3).await;
    let HandIn::GaveUp { reason } = hand_in else { panic!() };
    assert!(reason.contains("within 3 model calls"), "{reason}");
    assert_eq!(fake.calls(), 3);
}

#[tokio::test]
async fn the_same_call_again_and_again_is_warned_and_then_ended() {
    let look = Turn::Says("", vec![("shell", json!({"command": "echo x >> ran.txt"}))]);
    let (hand_in, fake) = attempt(vec![look; 12], |_| {}).await;
    let HandIn::GaveUp { reason } = hand_in else { panic!() };
    assert!(reason.contains("8 times in a row"), "{reason}");
    assert_eq!(fake.calls(), 8);
    assert_eq!(std::fs::read_to_string(fake.work("ran.txt")).unwrap(), "x\n".repeat(3));
    assert!(
        fake.requests()[4]["messages"]
            .to_string()
            .contains("you called `shell` 4 times in a row with the same input and the same result")
    );
}

#[tokio::test]
async fn another_attempt_with_a_silent_model_asks_it_once_more() {
    let talk = || Turn::Says("Here is how you could do it.", vec![]);
    let done = Turn::Says("", vec![("complete_pulse", json!({"summary": "done"}))]);
    let mut fake = Fake::new(vec![talk(), talk(), talk(), talk(), done]).await;
    let job = fake.job(JobKind::Code);
    assert!(matches!(fake.attempt(&job).await, HandIn::GaveUp { .. }));
    assert_eq!(fake.calls(), 3, "told twice to go on");
    assert!(matches!(fake.attempt(&job).await, HandIn::GaveUp { .. }));
    assert_eq!(fake.calls(), 4);
    assert!(matches!(fake.attempt(&job).await, HandIn::Pulse(_)));
}
