//! The stored form of every event, held by golden files. A test that fails here means that old databases would be
//! read differently: give the change a new form and an upcaster, or take it back. For an event type that is new,
//! run once with `HOLDPOINT_BLESS=1`; files that exist are never rewritten.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use domain::{
    ArtifactKind, Command, Decision, DecisionKind, DecisionNote, Digest, Effect, Event, Finding, Hold, HoldId,
    HoldKind, Micros, Outcome, Priority, Recorded, Severity, Verdict,
};
use testkit::{History, samples};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1")
}

/// Compares with a golden file; writes it only when it is missing and that is asked for.
#[track_caller]
fn check_golden(name: &str, found: &str) {
    let path = golden().join(name);
    if !path.exists() && std::env::var_os("HOLDPOINT_BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(found, expected, "the stored form of {name} has changed");
}

fn stored(event: &Event) -> (String, String) {
    let (kind, payload) = store::encode(event).unwrap();
    let text = format!("{{\"type\":\"{kind}\",\"payload\":{payload}}}\n");
    (kind, text)
}

fn hold(kind: HoldKind) -> Hold {
    let question = (kind == HoldKind::Clarification).then(|| samples::question("Which provider?"));
    Hold {
        id: HoldId(9),
        kind,
        stage: Some("planning".to_owned()),
        since: samples::at(1),
        summary: "planning is done: Login".to_owned(),
        artifact: (kind == HoldKind::Approval).then(|| samples::artifact(ArtifactKind::Spec, "planning", 1, 3)),
        memory: None,
        question,
        attempt_number: 1,
        asked: Vec::new(),
        task: None,
        deadline: None,
        at_deadline: None,
        purse: None,
        strangers: Vec::new(),
        findings: Vec::new(),
        digest: Digest::of(["shown"]),
        allowed: vec![DecisionKind::Approve, DecisionKind::Reject, DecisionKind::AcceptAnyway, DecisionKind::Cancel],
    }
}

fn note() -> DecisionNote {
    DecisionNote { topic: "provider".to_owned(), choice: "Google".to_owned(), rationale: "everybody has it".to_owned() }
}

/// One sample per event type.
fn every_event() -> Vec<Event> {
    let (digest, by) = (Digest::of(["shown"]), samples::actor("ada"));
    let mut review = samples::review(Verdict::Fail, Severity::Major);
    review.findings.push(Finding { message: "no test".to_owned(), place: Some("src/login.rs:3".to_owned()) });
    let start = samples::start(samples::config());
    let (commit, stage) = (samples::commit(4), "planning".to_owned());
    let decision = Decision::Reject { feedback: "use Google".to_owned() };
    let mut events = vec![
        Event::RunStarted {
            project: start.project,
            request: start.request,
            playbook: start.playbook,
            config: start.config,
            branch: "autonomous/100000-add-login-with-oauth".to_owned(),
            by: by.clone(),
            parent: None,
            forked_from: None,
        },
        Event::BranchCreated { base: commit.clone() },
        Event::StageStarted { stage: stage.clone(), visit: 2 },
        Event::StageCompleted { stage: stage.clone() },
        Event::EffectRequested { number: 2, effect: agent_effect() },
        Event::EffectFinished {
            number: 2,
            result: "crashed".to_owned(),
            tier: Some("sandboxed".to_owned()),
            program: None,
            wip: Some(commit.clone()),
            problem: Some("it is gone".to_owned()),
        },
        Event::ArtifactCreated {
            artifact: samples::artifact(ArtifactKind::Spec, "planning", 1, 3),
            decisions: vec![note()],
        },
        Event::ApprovalRequested { hold: hold(HoldKind::Approval), pending: Vec::new() },
        Event::ApprovalGranted { hold: HoldId(9), digest: digest.clone(), by: by.clone(), notes: None, secret: false },
        Event::ApprovalRejected { hold: HoldId(9), digest: digest.clone(), by: by.clone(), decision },
        Event::ClarificationRequested {
            hold: hold(HoldKind::Clarification),
            pending: vec![samples::question("Which button?")],
        },
        Event::ClarificationAnswered {
            hold: HoldId(9),
            digest: digest.clone(),
            by: by.clone(),
            decision: Decision::Answer { answer: vec!["Google".to_owned()] },
            secret: false,
        },
        Event::HoldPlaced { hold: hold(HoldKind::Fix) },
        Event::DecisionMade {
            hold: HoldId(9),
            digest,
            by: by.clone(),
            decision: Decision::AcceptAnyway { reason: Some("it is a demo".to_owned()) },
        },
        Event::AutoAdvanced { stage: stage.clone(), reason: "the gate is set to auto".to_owned() },
        Event::AgentCrashed { stage, count: 1, reason: "it is gone".to_owned() },
        Event::ImplementationSucceeded { commit: commit.clone() },
        Event::ImplementationFailed { reason: "it is gone".to_owned() },
        Event::ProofRecorded { proof: samples::proof(4, 1) },
        Event::ValidationPassed { commit: commit.clone(), review: samples::review(Verdict::Pass, Severity::Minor) },
        Event::ValidationFailed { commit: commit.clone(), review },
        Event::SpendRecorded {
            effect: 2,
            call: 1,
            model: "scripted/one".to_owned(),
            input_tokens: 10,
            output_tokens: 5,
            cost: Some(Micros(7)),
            reported_by: None,
        },
        Event::MergeForced { commit: commit.clone(), by: by.clone(), reason: Some("it is late".to_owned()) },
        Event::RecordWritten { commit: commit.clone(), memory: None },
        Event::BranchPublished { commit: commit.clone() },
        Event::BranchMerged { commit: commit.clone(), validated: samples::commit(3), onto: None },
        Event::BaseMoved { base: samples::commit(5) },
        Event::BranchPushed { remote: "origin".to_owned() },
        Event::RunCompleted { commit },
        Event::RunFailed { reason: "no such branch".to_owned() },
        Event::RunCancelled { by: by.clone(), reason: Some("changed my mind".to_owned()) },
    ];
    events.extend(team_events(by));
    events
}

/// Events of conversations, assumptions, tasks, pulses and goals.
fn team_events(by: domain::Actor) -> Vec<Event> {
    let (commit, stage, task) = (samples::commit(4), "execution".to_owned(), "one".to_owned());
    let child = samples::run_id(77);
    let plan = samples::plan();
    let first = plan.tasks[0].clone();
    let overlap = domain::Overlap { first: task.clone(), second: "two".to_owned(), files: vec!["src/x.rs".to_owned()] };
    vec![
        Event::DeadlinePassed { hold: HoldId(9), then: domain::AtDeadline::Assume },
        Event::AssumptionMade {
            number: 1,
            stage: stage.clone(),
            question: domain::Question {
                default: vec!["Google".to_owned()],
                deadline_minutes: Some(30),
                reversible: true,
                at_deadline: Some(domain::AtDeadline::Assume),
                ..samples::question("Which provider?")
            },
            answer: vec!["Google".to_owned()],
        },
        Event::AssumptionOverturned { number: 1, answer: vec!["GitHub".to_owned()], by: by.clone(), secret: false },
        Event::GuidanceGiven { stage: stage.clone(), text: "no new crates".to_owned(), by: by.clone() },
        Event::RunForked { from: samples::run_id(1), at: 9, by: by.clone(), changes: fork_changes() },
        Event::ForkOpened { carried: true },
        Event::PauseAsked { by: by.clone(), reason: Some("lunch".to_owned()) },
        Event::SessionTaken { stage: "building".to_owned(), by },
        Event::ConversationAdvanced {
            stage: stage.clone(),
            round: 1,
            ready: false,
            message: "Which pages?".to_owned(),
        },
        Event::AgentAnswered {
            stage: stage.clone(),
            question: "Why OAuth?".to_owned(),
            answer: "The request says so.".to_owned(),
        },
        Event::TasksPlanned { plan, overlaps: vec![overlap] },
        Event::TaskAdded { task: first },
        Event::ChildStarted { task: task.clone(), attempt: 1, child: child.clone() },
        Event::ChildEnded {
            task: task.clone(),
            child,
            ending: domain::Ending::Completed,
            commit: Some(commit.clone()),
            files: vec!["src/one.rs".to_owned()],
            cost: Micros(42),
            problem: None,
        },
        Event::ChildMerged {
            task: task.clone(),
            commit: commit.clone(),
            digest: Digest::of(["tree"]),
            files: vec!["src/one.rs".to_owned()],
        },
        Event::ChildConflicted {
            task: task.clone(),
            paths: vec!["src/one.rs".to_owned()],
            marked: Some(commit.clone()),
        },
        Event::TaskRetried { task: task.clone(), problem: "its checks failed".to_owned() },
        Event::TaskFailed { task: task.clone(), problem: "its checks failed".to_owned() },
        Event::TaskSkipped { task: "two".to_owned(), because: task.clone() },
        Event::TaskStrayed { task, files: vec!["README.md".to_owned()] },
        Event::PulseCompleted { stage: stage.clone(), pulse: 1, of: 2, commit },
        Event::ReflectionRecorded {
            stage: stage.clone(),
            iteration: 1,
            reflection: samples::reflection(40),
            tree: None,
        },
        Event::GoalPhaseEntered {
            stage: stage.clone(),
            iteration: 1,
            phase: domain::GoalPhase::Acting,
            effect: 2,
            step: 1,
        },
        Event::GoalTasksPlanned {
            stage: stage.clone(),
            tasks: samples::goal_tasks(),
            by: "agent".to_owned(),
            effect: 2,
            step: 2,
        },
        Event::GoalTaskUpdated { stage, task: samples::goal_tasks().remove(1), effect: 2, step: 3 },
        Event::PrOpened { url: "https://forge.example/ada/shop/pull/1".to_owned() },
        Event::RunTainted { source: domain::TaintSource::mcp("docs"), stage: Some("planning".to_owned()), child: None },
    ]
}

fn fork_changes() -> domain::ForkChanges {
    domain::ForkChanges {
        decision: Some(Decision::Answer { answer: vec!["GitHub".to_owned()] }),
        models: [("planner".to_owned(), "anthropic/claude-x".parse().unwrap())].into(),
        agents: [("implementer".to_owned(), domain::AgentProgram::Codex)].into(),
        direct: ["implementer".to_owned()].into(),
        budget: Some(Micros(2_000_000)),
        read_since: Vec::new(),
    }
}

fn agent_effect() -> Effect {
    Effect::RunAgent(domain::AgentTask {
        stage: "planning".to_owned(),
        session: domain::Session { role: "planner".to_owned(), visit: 1, attempt: 1 },
        at: samples::commit(3),
        deadline: samples::at(600_000),
        envelope: Some(Micros(10_000_000)),
        ask_after: None,
        waived: domain::Waived::default(),
        purpose: domain::Purpose::Stage,
        since: None,
    })
}

#[test]
fn the_stored_form_of_every_event_is_as_it_was() {
    for event in every_event() {
        let (kind, text) = stored(&event);
        check_golden(&format!("{kind}.json"), &text);
    }
}

#[test]
fn a_priority_is_stored_only_where_it_is_not_the_usual_one() {
    for (priority, stored) in [(Priority::Low, true), (Priority::Normal, false), (Priority::High, true)] {
        let config = domain::RunConfig { priority, ..samples::config() };
        let first = History::started(samples::run_id(1), config).log.remove(0).event;
        let (kind, payload) = store::encode(&first).unwrap();
        let word = format!("\"priority\":\"{}\"", priority.word());
        assert_eq!(payload.contains(&word), stored, "{payload}");
        assert_eq!(store::decode(1, &kind, &payload).unwrap(), first);
    }
}

#[test]
fn where_a_run_comes_from_is_stored_only_with_a_fork() {
    let origin = History::started(samples::run_id(1), samples::config());
    let plain = origin.log[0].event.clone();
    let mut forked = plain.clone();
    let Event::RunStarted { forked_from, .. } = &mut forked else { panic!() };
    *forked_from = Some(domain::ForkedFrom { run: samples::run_id(1), at: 9 });
    for (event, stored) in [(plain, false), (forked, true)] {
        let (kind, payload) = store::encode(&event).unwrap();
        let words = format!(r#""forkedFrom":{{"run":"{}","at":9}}"#, samples::run_id(1));
        assert_eq!(payload.contains(&words), stored, "{payload}");
        assert_eq!(store::decode(1, &kind, &payload).unwrap(), event);
    }
    assert_eq!(
        serde_json::to_string(&Effect::OpenFork { at: samples::commit(3) }).unwrap(),
        format!(r#"{{"do":"open_fork","at":"{}"}}"#, samples::commit(3))
    );
}

#[test]
fn strangers_are_stored_with_the_start_only_where_there_are_some() {
    let by = domain::TrustedBy::Configuration;
    let trusted = vec![domain::TrustedSource { source: "search".to_owned(), by }];
    let from = vec![domain::Brought { text: Some("help".to_owned()), ..samples::brought() }];
    let some = domain::RunConfig { from, trusted, ..samples::config() };
    for (config, stored) in [(some, true), (samples::config(), false)] {
        let first = History::started(samples::run_id(1), config).log.remove(0).event;
        let (kind, payload) = store::encode(&first).unwrap();
        let words =
            r#""from":[{"source":{"kind":"issue","source":"https://github.com/ada/shop/issues/7"},"text":"help"}]"#;
        assert_eq!(payload.contains(words), stored, "{payload}");
        assert_eq!(payload.contains(r#""trusted":[{"source":"search","by":"configuration"}]"#), stored, "{payload}");
        assert_eq!(store::decode(1, &kind, &payload).unwrap(), first);
    }
}

#[test]
fn every_event_type_has_a_golden_file() {
    let kinds: BTreeSet<String> = every_event().iter().map(|event| stored(event).0).collect();
    let whole: serde_json::Error = serde_json::from_str::<Event>(r#"{"type":"?","payload":{}}"#).unwrap_err();
    let known: BTreeSet<String> = whole.to_string().split('`').skip(3).step_by(2).map(str::to_owned).collect();
    assert_eq!(kinds, known);
}

#[test]
fn every_golden_file_decodes_and_encodes_to_itself() {
    let mut seen = 0;
    for entry in std::fs::read_dir(golden()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let kind = path.file_stem().unwrap().to_str().unwrap();
        let payload = text.trim_end().split_once("\"payload\":").unwrap().1.strip_suffix('}').unwrap();
        let event = store::decode(1, kind, payload).unwrap();
        assert_eq!(stored(&event).1, text, "{}", path.display());
        seen += 1;
    }
    assert_eq!(seen, every_event().len());
}

/// A run with a question, a rejection, a fix round, a crash, spend and a merge.
fn eventful() -> History {
    let mut config = samples::config();
    config.trust.planning = domain::Gate::Manual;
    let mut history = History::started(samples::run_id(1), config);
    let good = |history: &mut History| {
        let number = history.open().unwrap();
        let outcome = testkit::agree(&history.run, number, &history.run.open_effects[&number]);
        history.report(number, outcome).unwrap();
    };
    good(&mut history);
    let asked = domain::AgentEnd::Asked { questions: vec![samples::question("Which provider?")] };
    history.report(2, Outcome::AgentEnded { end: asked, tier: None, program: None, wip: None }).unwrap();
    history.decide("ada", Decision::Answer { answer: vec!["Google".to_owned()] }).unwrap();
    let spend = domain::SpendReport {
        effect: 3,
        call: 1,
        model: "scripted/one".to_owned(),
        input_tokens: 1000,
        output_tokens: 200,
        cost: Some(Micros(4200)),
        reported_by: None,
    };
    history.take(Command::Spend(spend)).unwrap();
    good(&mut history);
    history.decide("ada", Decision::Reject { feedback: "show the error path".to_owned() }).unwrap();
    let crashed = domain::AgentEnd::Crashed { reason: "it is gone".to_owned() };
    let number = history.open().unwrap();
    history
        .report(number, Outcome::AgentEnded { end: crashed, tier: None, program: None, wip: Some(samples::commit(90)) })
        .unwrap();
    good(&mut history);
    history.decide("bob", Decision::Approve { notes: Some("keep it small".to_owned()) }).unwrap();
    while history.run.open_effects.values().all(|effect| effect.word() != "prove") {
        good(&mut history);
    }
    let number = history.open().unwrap();
    history.report(number, Outcome::Proved { proof: samples::proof(5, 1) }).unwrap();
    history.go_on();
    history
}

fn line(recorded: &Recorded) -> String {
    let (kind, payload) = store::encode(&recorded.event).unwrap();
    let (sequence, at) = (recorded.sequence, recorded.at.as_millisecond());
    format!("{{\"sequence\":{sequence},\"timestamp\":{at},\"type\":\"{kind}\",\"payload\":{payload}}}\n")
}

fn read_line(line: &str) -> Recorded {
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    let at = jiff::Timestamp::from_millisecond(line["timestamp"].as_i64().unwrap()).unwrap();
    let event = store::decode(1, line["type"].as_str().unwrap(), &line["payload"].to_string()).unwrap();
    Recorded { sequence: line["sequence"].as_u64().unwrap(), at, event }
}

#[test]
fn an_old_log_adds_up_to_the_same_run() {
    let blessed: String = eventful().log.iter().map(line).collect();
    if !golden().join("events.jsonl").exists() {
        check_golden("events.jsonl", &blessed);
    }
    let text = std::fs::read_to_string(golden().join("events.jsonl")).unwrap();
    let log: Vec<Recorded> = text.lines().map(read_line).collect();
    let id = samples::run_id(1);
    assert_eq!(domain::check_log(&id, &log), []);
    let run = domain::replay(id, log);
    let state = format!("{:#?}\nnotes: {:#?}\nanswers: {:#?}\n", engine::Row::of(&run), run.notes, run.answers);
    check_golden("state.txt", &state);
}

#[test]
fn findings_and_secret_answers_are_stored_only_where_there_are_some() {
    let answered = |secret: bool| Event::ClarificationAnswered {
        hold: HoldId(9),
        digest: Digest::of(["shown"]),
        by: samples::actor("ada"),
        decision: Decision::Answer { answer: vec!["Google".to_owned()] },
        secret,
    };
    let placed = |findings| Event::HoldPlaced { hold: Hold { findings, ..hold(HoldKind::Permission) } };
    let question = domain::Question { secret: true, ..samples::question("Which password?") };
    let asked = Hold { question: Some(question), ..hold(HoldKind::Clarification) };
    for (event, word, stored) in [
        (answered(false), "secret", false),
        (answered(true), "\"secret\":true", true),
        (placed(Vec::new()), "findings", false),
        (placed(vec![samples::finding("src/login.rs")]), "\"fingerprint\"", true),
        (Event::ClarificationRequested { hold: asked, pending: Vec::new() }, "\"secret\":true", true),
    ] {
        let (kind, payload) = store::encode(&event).unwrap();
        assert_eq!(payload.contains(word), stored, "{payload}");
        assert_eq!(store::decode(1, &kind, &payload).unwrap(), event);
    }
}
