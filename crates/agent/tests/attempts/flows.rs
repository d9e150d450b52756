//! Whole attempts against a broker on a real socket: plan, code, review, questions, in both APIs.

use crate::fake::{Fake, Turn, answer, write};
use domain::Verdict;
use drivers::{AgentEvent, HandIn, JobKind};
use serde_json::{Value, json};

const PLAN: &str = "# Plan\n\n## Design\n```mermaid\nflowchart TD\n  a --> b\n```\n";

pub(crate) fn code_story() -> Vec<Turn> {
    vec![
        Turn::Says("I look first.", vec![("list_directory", json!({})), ("read_file", json!({"path": "a.txt"}))]),
        Turn::Says(
            "",
            vec![
                ("write_file", json!({"path": "src/b.txt", "content": "one\ntwo\n"})),
                ("edit_file", json!({"path": "a.txt", "old_text": "old", "new_text": "new"})),
            ],
        ),
        Turn::Says("", vec![("shell", json!({"command": "cat a.txt src/b.txt"}))]),
        Turn::Says("Done.", vec![("complete_pulse", json!({"summary": "made b"}))]),
    ]
}

#[tokio::test]
async fn a_plan_is_made_from_what_is_read_and_handed_in() {
    let mut fake = Fake::new(vec![
        Turn::Says("", vec![("grep", json!({"pattern": "needle"}))]),
        Turn::Says("", vec![("submit_plan", json!({"title": "T", "body": "no diagram"}))]),
        Turn::Says("", vec![("submit_plan", json!({"title": "T", "body": PLAN}))]),
    ])
    .await;
    write(&fake.work("a.txt"), "hay\nneedle\n");
    let job = fake.job(JobKind::Spec);
    let HandIn::Plan(plan) = fake.attempt(&job).await else { panic!() };
    assert_eq!((plan.title.as_str(), plan.body.as_str()), ("T", PLAN));
    let requests = fake.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[0]["model"], "scripted/story-high", "the name reaches the broker as it is");
    assert_eq!(requests[0].get("reasoning_effort"), None);
    let results: Vec<&Value> =
        requests[2]["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "tool").collect();
    assert_eq!(results[0]["content"], "a.txt:2:needle\n");
    assert!(results[1]["content"].as_str().unwrap().starts_with("Error: the plan has no Mermaid diagram"));
}

#[tokio::test]
async fn code_is_written_edited_checked_and_handed_in() {
    let mut fake = Fake::new(code_story()).await;
    write(&fake.work("a.txt"), "old\r\n");
    let job = fake.job(JobKind::Code);
    let HandIn::Pulse(pulse) = fake.attempt(&job).await else { panic!() };
    assert_eq!(pulse.summary, "made b");
    assert_eq!(std::fs::read_to_string(fake.work("a.txt")).unwrap(), "new\r\n");
    let last = fake.requests().pop().unwrap();
    assert!(last.to_string().contains("new\\r\\none\\ntwo"), "{last}");
    let turns = fake
        .events()
        .iter()
        .filter(|event| matches!(event, AgentEvent::TurnCompleted { input_tokens: 11, output_tokens: 7, .. }));
    assert_eq!(turns.count(), 4);
    let said: String = fake
        .events()
        .iter()
        .filter_map(|event| match event {
            AgentEvent::MessageDelta { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(said, "I look first.Done.");
}

#[tokio::test]
async fn anthropic_gets_its_thoughts_back_with_their_signature() {
    let mut fake = Fake::new(vec![
        Turn::Thinks("Where is it?", ("glob_search", json!({"pattern": "*.txt"}))),
        Turn::Says(
            "Good.",
            vec![("complete_review", json!({"verdict": "pass", "summary": "all there", "findings": []}))],
        ),
    ])
    .await;
    write(&fake.work("a.txt"), "");
    let mut job = fake.job(JobKind::Review);
    job.model = "anthropic/claude-x".into();
    let HandIn::Review(review) = fake.attempt(&job).await else { panic!() };
    assert_eq!(review.verdict, Verdict::Pass);
    let requests = fake.requests();
    assert_eq!(requests[0]["model"], "anthropic/claude-x");
    assert_eq!(requests[1]["system"][0]["cache_control"], json!({"type": "ephemeral"}));
    assert!(requests[1]["tools"].to_string().contains("complete_review"));
    let sent = &requests[1]["messages"];
    let thinking = json!({"type": "thinking", "thinking": "Where is it?", "signature": "c2lnbmVk"});
    assert_eq!(sent[1]["content"][0], thinking, "{sent}");
    assert_eq!(sent[1]["content"][1]["input"], json!({"pattern": "*.txt"}));
    assert_eq!(sent[2]["content"][0]["content"], "a.txt");
    assert!(fake.events().contains(&AgentEvent::ThoughtDelta { turn: 1, text: "Where is it?".into() }));
}

#[tokio::test]
async fn questions_end_the_attempt_and_their_answers_begin_the_next() {
    let ask = |question: &str| ("ask_questions", json!({"questions": [{"question": question}, {"question": "And?"}]}));
    let mut fake = Fake::new(vec![
        Turn::Says(
            "",
            vec![
                ("shell", json!({"command": "echo x >> ran.txt"})),
                ask("Which?"),
                ("complete_pulse", json!({"summary": "early"})),
            ],
        ),
        Turn::Says("", vec![ask("Sure?")]),
        Turn::Says("", vec![("complete_pulse", json!({"summary": "done"}))]),
    ])
    .await;
    let mut job = fake.job(JobKind::Code);
    let HandIn::Questions { questions } = fake.attempt(&job).await else { panic!() };
    assert_eq!(questions.iter().map(|q| q.question.as_str()).collect::<Vec<_>>(), ["Which?", "And?"]);

    assert!(matches!(fake.attempt(&job).await, HandIn::Questions { questions } if questions.len() == 2));
    job.answers = vec![answer("Which?", Some("this"))];
    assert!(matches!(fake.attempt(&job).await, HandIn::Questions { questions } if questions.len() == 1));
    assert_eq!(fake.calls(), 1, "asking again costs nothing");

    job.answers.push(answer("And?", None));
    assert!(matches!(fake.attempt(&job).await, HandIn::Questions { questions } if questions[0].question == "Sure?"));
    job.answers.extend([answer("Sure?", Some("yes")), answer("And?", Some("no"))]);
    let HandIn::Pulse(pulse) = fake.attempt(&job).await else { panic!() };
    assert_eq!((pulse.summary.as_str(), fake.calls()), ("done", 3));

    let sent = fake.requests()[1]["messages"].to_string();
    assert!(sent.contains("Answer: this") && sent.contains("chose not to answer: decide yourself"), "{sent}");
    assert!(sent.contains("ask or complete, not both"), "{sent}");
    assert!(fake.requests()[2]["messages"].to_string().contains("Question: Sure?\\nAnswer: yes"));
    assert_eq!(std::fs::read_to_string(fake.work("ran.txt")).unwrap(), "x\n", "the command ran once");
}

#[tokio::test]
async fn after_a_kill_around_questions_the_same_is_asked_and_handed_in() {
    let ask = json!({"questions": [{"question": "Which?"}]});
    let mut fake = Fake::new(vec![
        Turn::Says(
            "",
            vec![
                ("complete_pulse", json!({"summary": "early"})),
                ("complete_pulse", json!({"summary": "twice"})),
                ("ask_questions", ask),
            ],
        ),
        Turn::Says(
            "",
            vec![("complete_pulse", json!({"summary": "done"})), ("complete_pulse", json!({"summary": "again"}))],
        ),
    ])
    .await;
    let mut job = fake.job(JobKind::Code);
    let asked = fake.attempt(&job).await;
    assert!(matches!(asked, HandIn::Questions { .. }));
    let unanswered = std::fs::read_to_string(fake.session("turns.jsonl")).unwrap();
    for (kept, calls) in [(1, 1), (2, 0), (3, 0)] {
        let before = fake.calls();
        write(&fake.session("turns.jsonl"), &unanswered.split_inclusive('\n').take(kept).collect::<String>());
        assert_eq!(fake.attempt(&job).await, asked);
        assert_eq!(fake.calls() - before, calls, "kept {kept}");
    }
    job.answers = vec![answer("Which?", Some("that"))];
    let done = fake.attempt(&job).await;
    assert!(matches!(&done, HandIn::Pulse(pulse) if pulse.summary == "done"), "{done:?}");
    let answered = std::fs::read_to_string(fake.session("turns.jsonl")).unwrap();
    for (kept, calls) in [(3, 1), (4, 1), (5, 0), (6, 0)] {
        let before = fake.calls();
        write(&fake.session("turns.jsonl"), &answered.split_inclusive('\n').take(kept).collect::<String>());
        assert_eq!(fake.attempt(&job).await, done);
        assert_eq!(fake.calls() - before, calls, "kept {kept}");
    }
}

#[tokio::test]
async fn a_resumed_conversation_uses_the_very_words_it_began_with() {
    let mut fake = Fake::new(vec![
        Turn::Says("", vec![("list_directory", json!({}))]),
        Turn::Says("", vec![("complete_pulse", json!({"summary": "s"}))]),
    ])
    .await;
    let mut job = fake.job(JobKind::Code);
    job.max_turns = 1;
    assert!(matches!(fake.attempt(&job).await, HandIn::GaveUp { .. }));
    (job.request, job.max_turns) = ("Something else".into(), 2);
    assert!(matches!(fake.attempt(&job).await, HandIn::Pulse(_)));
    let requests = fake.requests();
    let opening = |request: &Value| (request["messages"][0].clone(), request["messages"][1].clone());
    assert_eq!(opening(&requests[0]), opening(&requests[1]));
}

#[tokio::test]
async fn a_refused_hand_in_goes_back_to_the_model_with_its_reason() {
    let mut fake = Fake::new(vec![
        Turn::Says("", vec![("complete_pulse", json!({"summary": "first"}))]),
        Turn::Says("", vec![("complete_pulse", json!({"summary": "second"}))]),
    ])
    .await;
    let mut job = fake.job(JobKind::Code);
    let HandIn::Pulse(first) = fake.attempt(&job).await else { panic!() };
    job.refusal = Some("no file was changed".to_owned());
    let HandIn::Pulse(second) = fake.attempt(&job).await else { panic!() };
    assert_eq!((first.summary.as_str(), second.summary.as_str()), ("first", "second"));
    let last = fake.requests().pop().unwrap();
    assert!(last.to_string().contains("not accepted: no file was changed"), "{last}");
}

#[tokio::test]
async fn what_the_person_answers_in_a_conversation_is_the_result_of_the_turn_that_asked() {
    let says = |status: &str, message: &str| ("clarify", json!({"status": status, "message": message}));
    let mut fake = Fake::new(vec![
        Turn::Says("", vec![says("questions", "Which page?")]),
        Turn::Says("", vec![says("ready", "The start page.")]),
        Turn::Says("", vec![says("ready", "The start page, in blue.")]),
    ])
    .await;
    let mut job = fake.job(JobKind::Converse);
    assert_eq!(fake.attempt(&job).await, HandIn::Said { ready: false, message: "Which page?".into() });
    assert!(matches!(fake.attempt(&job).await, HandIn::Said { ready: false, .. }));
    assert_eq!(fake.calls(), 1, "asking again costs nothing");
    job.answers.push(answer("Which page?", Some("the start page")));
    assert_eq!(fake.attempt(&job).await, HandIn::Said { ready: true, message: "The start page.".into() });
    job.answers.push(answer("The start page.", Some("in blue")));
    assert_eq!(fake.attempt(&job).await, HandIn::Said { ready: true, message: "The start page, in blue.".into() });
    let sent = fake.requests().pop().unwrap()["messages"].to_string();
    assert!(sent.contains("The person answers:\\nthe start page") && sent.contains("in blue"), "{sent}");
    assert_eq!(fake.calls(), 3);
}

#[tokio::test]
async fn more_time_is_asked_for_once_and_the_conversation_goes_on_when_it_is_granted() {
    let longer = |minutes: u32| ("request_extension", json!({"minutes": minutes, "reason": "slow tests"}));
    let mut fake = Fake::new(vec![
        Turn::Says("", vec![longer(20)]),
        Turn::Says("", vec![longer(5)]),
        Turn::Says(
            "",
            vec![("plan_tasks", json!({"tasks": [{"id": "1", "description": "d", "status": "completed"}]}))],
        ),
        Turn::Says("", vec![("observe", json!({}))]),
        Turn::Says("", vec![("reflect", json!({"goal_achieved": true, "progress": 1, "content": "met"}))]),
    ])
    .await;
    let mut job = fake.job(JobKind::Pursue);
    let asked = |minutes| HandIn::Extension { minutes, reason: "slow tests".into() };
    assert_eq!(fake.attempt(&job).await, asked(20));
    assert_eq!(fake.attempt(&job).await, asked(20), "a restart is not a yes");
    (job.extensions, job.minutes) = (1, Some(30));
    assert_eq!(fake.attempt(&job).await, asked(5), "one yes is good for one request");
    job.extensions = 2;
    assert!(matches!(fake.attempt(&job).await, HandIn::Reflection(said) if said.reflection.goal_achieved));
    assert!(fake.requests()[1]["messages"].to_string().contains("you have 30 minutes from now"));
}

#[tokio::test]
async fn each_further_kind_of_work_is_handed_in_and_none_of_another() {
    let task = json!({"id": "a", "title": "A", "description": "d"});
    let stories = [
        (JobKind::Tasks, "submit_plan", json!({"summary": "s", "tasks": [task]}), "tasks"),
        (JobKind::Scope, "submit_scope", json!({"in_scope": ["x"]}), "scope"),
        (JobKind::Research, "submit_research", json!({"key_files": [], "recommendations": ["r"]}), "research"),
        (JobKind::Handoff, "complete_pulse", json!({"summary": "s", "look_at": "l", "how_to_test": "t"}), "handoff"),
        (JobKind::Answer, "reply", json!({"text": "because"}), "answer"),
    ];
    for (kind, tool, input, word) in stories {
        let other = ("complete_review", json!({"verdict": "pass", "summary": "s", "findings": []}));
        let mut fake = Fake::new(vec![Turn::Says("", vec![other]), Turn::Says("", vec![(tool, input)])]).await;
        let job = fake.job(kind);
        let handed_in = fake.attempt(&job).await;
        assert!(handed_in.word() == word && handed_in.fits(kind), "{handed_in:?}");
        assert!(fake.requests()[1]["messages"].to_string().contains("there is no tool `complete_review`"));
    }
}
