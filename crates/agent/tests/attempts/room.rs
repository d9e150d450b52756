//! Conversations longer than the model's window.

use crate::fake::{Fake, Turn, is_summary, write};
use drivers::{AgentEvent, HandIn, Job, JobKind};
use serde_json::{Value, json};

const WINDOW: u64 = 24_000;

fn look(number: usize) -> Turn {
    Turn::Says("I look.", vec![("read_file", json!({"path": format!("f{number}")})), ("list_directory", json!({}))])
}

fn done() -> Turn {
    Turn::Says("", vec![("complete_pulse", json!({"summary": "done"}))])
}

async fn fake(turns: Vec<Turn>, summaries: Vec<Turn>) -> (Fake, Job) {
    let fake = Fake::condensing(turns, summaries).await;
    for number in 0..12 {
        write(&fake.work(&format!("f{number}")), &"a line of some words that are read\n".repeat(300));
    }
    let mut job = fake.job(JobKind::Code);
    job.context_tokens = Some(WINDOW);
    (fake, job)
}

fn summary(words: &'static str) -> Turn {
    Turn::Says(words, vec![])
}

fn condensed(fake: &Fake) -> Vec<String> {
    let noted = fake.events().iter().filter_map(|event| match event {
        AgentEvent::Noted { text } => Some(text.clone()),
        _ => None,
    });
    noted.filter(|text| text.contains("condensed")).collect()
}

/// What the API would refuse, this refuses.
fn check_legal(request: &Value) {
    let messages = request["messages"].as_array().unwrap();
    assert_eq!((messages[0]["role"].as_str(), messages[1]["role"].as_str()), (Some("system"), Some("user")));
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        match message["role"].as_str().unwrap() {
            "tool" => assert_eq!(open.remove(0), message["tool_call_id"].as_str().unwrap()),
            role => {
                assert!(open.is_empty(), "{role} before the results of {open:?}");
                let calls = message["tool_calls"].as_array().into_iter().flatten();
                open = calls.map(|call| call["id"].as_str().unwrap()).collect();
            }
        }
    }
    assert!(open.is_empty());
}

#[tokio::test]
async fn a_long_conversation_is_condensed_before_it_overflows_and_goes_on_to_its_end() {
    let mut turns: Vec<Turn> = (0..12).map(look).collect();
    turns.push(done());
    let (mut fake, job) =
        fake(turns, vec![summary("It is decided: blue."), summary("Still blue."), summary("Blue.")]).await;
    fake.tell(1, "never touch f3");
    assert!(matches!(fake.attempt(&job).await, HandIn::Pulse(_)));
    let requests = fake.requests();
    let (mut summaries, mut turns) = (0, 0);
    for request in &requests {
        check_legal(request);
        assert!(request.to_string().len() / 4 < usize::try_from(WINDOW).unwrap(), "{}", request.to_string().len() / 4);
        let is_summary = is_summary(request["messages"].as_array().unwrap());
        (summaries, turns) = if is_summary { (summaries + 1, turns) } else { (summaries, turns + 1) };
    }
    assert_eq!(turns, 13, "no turn was asked for twice");
    assert!((1..=3).contains(&summaries) && condensed(&fake).len() == summaries, "{summaries}");
    let last = requests.last().unwrap()["messages"].to_string();
    for part in ["Make it so", "lue.", "ada: never touch f3", "Files you read:\\nf0"] {
        assert!(last.contains(part), "{part} in {last}");
    }
    assert!(last.contains("\\\"path\\\":\\\"f11\\\""), "the newest turn is whole");
}

#[tokio::test]
async fn after_a_restart_the_summary_is_there_and_not_paid_again() {
    let mut turns: Vec<Turn> = (0..9).map(look).collect();
    turns.extend([done(), done()]);
    let (mut fake, mut job) = fake(turns, vec![summary("S1"), summary("S2"), summary("S3")]).await;
    job.max_turns = 9;
    assert!(matches!(fake.attempt(&job).await, HandIn::GaveUp { .. }));
    let made = condensed(&fake).len();
    assert!(made >= 1);
    let before = fake.calls();
    job.max_turns = 20;
    assert!(matches!(fake.attempt(&job).await, HandIn::Pulse(_)));
    assert_eq!(fake.calls() - before, 1 + condensed(&fake).len(), "only what is new is asked for");
    assert_eq!(
        fake.records().iter().filter(|record| record.get("compacted").is_some()).count(),
        made + condensed(&fake).len()
    );
    assert!(fake.requests().last().unwrap()["messages"].to_string().contains("<summary>\\nS"));
}

#[tokio::test]
async fn a_provider_that_says_too_long_is_believed_once() {
    let too_long =
        || Turn::Fails(400, json!({"error": {"message": "This model's maximum context length is 8192 tokens."}}));
    let (mut fake, mut job) = fake(vec![look(0), look(1), too_long(), done()], vec![summary("short")]).await;
    job.context_tokens = Some(1_000_000);
    assert!(matches!(fake.attempt(&job).await, HandIn::Pulse(_)));
    assert_eq!(fake.calls(), 5, "two turns, the refusal, the summary, the last turn");
    assert_eq!(condensed(&fake).len(), 1);
    assert!(fake.requests()[4].to_string().len() < fake.requests()[2].to_string().len());

    let (mut fake, mut job) =
        self::fake(vec![look(0), look(1), too_long(), too_long(), done()], vec![summary("short")]).await;
    job.context_tokens = Some(1_000_000);
    let HandIn::ModelFailed { reason } = fake.attempt(&job).await else { panic!() };
    assert!(reason.contains("maximum context length"), "{reason}");
}

#[tokio::test]
async fn without_a_summary_of_the_model_the_records_speak() {
    let fails = || Turn::Fails(500, json!({"error": {"message": "no"}}));
    let mut turns: Vec<Turn> = (0..8).map(look).collect();
    turns.push(done());
    let (mut fake, job) = fake(turns, vec![fails(), fails(), fails()]).await;
    assert!(matches!(fake.attempt(&job).await, HandIn::Pulse(_)));
    assert!(condensed(&fake)[0].contains("gave no summary"), "{:?}", condensed(&fake));
    let last = fake.requests().last().unwrap()["messages"].to_string();
    assert!(last.contains("- I look. [read_file, list_directory]"), "{last}");
}
