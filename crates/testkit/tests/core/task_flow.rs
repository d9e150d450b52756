//! The flow of a task: rounds, crashes, wishes of people, and the merge that is forced.

use domain::{
    AgentEnd, Command, Decision, DecisionKind, Event, HoldKind, Outcome, Rejection, RunConfig, Severity, TaskBrief,
    TaskRefusal, TaskSession, TaskStep, TaskTold, TaskWord, TaskWords, Verdict, check_log, task_complete, task_merge,
    task_respawn, task_step, task_told,
};
use testkit::{History, agree, samples};

use crate::kit::{agent, begin, count, end, good, held, keeps_every_rule, retry, until, yes};

fn word(history: &History) -> TaskWord {
    TaskWord::of(&history.run).unwrap()
}

fn crash(history: &mut History) {
    agent(history, AgentEnd::Crashed { reason: "process exited without ## Handoff".to_owned() });
}

/// The reviewer's verdict, after the checks.
fn verdict(history: &mut History, verdict: Verdict, severity: Severity) {
    until(history, "agent-review");
    good(history);
    let (number, effect) = history.run.open_effects.first_key_value().unwrap();
    let mut outcome = agree(&history.run, *number, effect);
    if let Outcome::AgentEnded { end: AgentEnd::Submitted(submission), .. } = &mut outcome {
        submission.review = Some(samples::review(verdict, severity));
    }
    end(history, outcome);
}

fn step(history: &History, to: &str) -> Result<TaskStep, TaskRefusal> {
    task_step(&history.run, TaskWord::parse(to).unwrap(), &TaskWords::default())
}

fn force(history: &mut History) -> Result<(), Rejection> {
    let command = Command::ForceMerge { by: samples::actor("ada"), reason: None, shown: None };
    history.take(command).map(drop)
}

#[test]
fn the_first_fail_goes_back_to_the_worker_and_the_second_is_stuck() {
    for severity in [Severity::Minor, Severity::Major] {
        let mut history = begin("task", samples::config());
        verdict(&mut history, Verdict::Fail, severity);
        assert_eq!(word(&history), TaskWord::Working);
        verdict(&mut history, Verdict::Fail, severity);
        assert_eq!((word(&history), held(&history).0), (TaskWord::Stuck, HoldKind::Fix));
        assert_eq!(held(&history).1, [DecisionKind::Retry, DecisionKind::Suggest, DecisionKind::Cancel]);
        keeps_every_rule(&history);
    }
}

#[test]
fn two_crashes_in_one_status_are_stuck_and_a_transition_forgets_them() {
    let mut history = begin("task", samples::config());
    until(&mut history, "working");
    crash(&mut history);
    assert_eq!((word(&history), history.run.stages[0].crashes), (TaskWord::Working, 1));
    until(&mut history, "agent-review");
    good(&mut history);
    crash(&mut history);
    assert_eq!(word(&history), TaskWord::AgentReview, "the crash of the worker is not counted here");
    crash(&mut history);
    assert_eq!((word(&history), TaskSession::of(&history.run)), (TaskWord::Stuck, TaskSession::Crashed));
    history.decide("ada", retry()).unwrap();
    assert_eq!((word(&history), history.run.stages[2].crashes), (TaskWord::AgentReview, 0));
    keeps_every_rule(&history);
}

#[test]
fn a_reviewer_that_is_stuck_can_be_passed_over_to_the_worker() {
    let mut history = begin("task", samples::config());
    until(&mut history, "agent-review");
    good(&mut history);
    (0..2).for_each(|_| crash(&mut history));
    let said = TaskWords { notes: Some("shorter".to_owned()), ..TaskWords::default() };
    let sent = task_step(&history.run, TaskWord::Working, &said).unwrap();
    assert_eq!(sent, TaskStep::Decide(Decision::Reject { feedback: "shorter".to_owned() }));
    let TaskStep::Decide(decision) = sent else { return };
    history.decide("ada", decision).unwrap();
    assert_eq!(word(&history), TaskWord::Working);
    let note = history.run.notes.last().unwrap();
    assert_eq!((note.stage.as_str(), note.text.as_str()), ("working", "shorter"));
    keeps_every_rule(&history);
}

#[test]
fn work_that_failed_twice_can_be_reviewed_again_or_mended_again() {
    let mut history = begin("task", samples::config());
    (0..2).for_each(|_| verdict(&mut history, Verdict::Fail, Severity::Minor));
    let mend = step(&history, "working").unwrap();
    assert_eq!(mend, TaskStep::Decide(retry()));
    let TaskStep::Decide(again) = step(&history, "agent-review").unwrap() else { panic!("a decision leads there") };
    assert_eq!(again.kind(), DecisionKind::Suggest);
    history.decide("ada", again).unwrap();
    assert_eq!(word(&history), TaskWord::AgentReview);
    verdict(&mut history, Verdict::Pass, Severity::Minor);
    assert_eq!(word(&history), TaskWord::Reviewing);
    yes(&mut history);
    history.go_on();
    assert_eq!(word(&history), TaskWord::Done);
    keeps_every_rule(&history);
}

#[test]
fn a_wish_becomes_the_decision_that_leads_there_or_is_refused_by_the_map() {
    let mut history = begin("task", samples::config());
    assert_eq!(step(&history, "cancelled"), Ok(TaskStep::Cancel));
    assert!(matches!(step(&history, "working"), Err(TaskRefusal::ByItself { .. })));
    until(&mut history, "working");
    assert_eq!(step(&history, "stuck"), Ok(TaskStep::Pause));
    assert!(matches!(step(&history, "agent-review"), Err(TaskRefusal::Missing { .. })));
    assert!(matches!(task_complete(&history.run), Err(TaskRefusal::Missing { .. })));
    assert!(matches!(step(&history, "clarification"), Err(TaskRefusal::ByItself { .. })));
    assert!(matches!(step(&history, "done"), Err(TaskRefusal::NotAllowed { .. })));
    assert!(matches!(task_respawn(&history.run, &TaskWords::default()), Err(TaskRefusal::ByItself { .. })));
    agent(&mut history, AgentEnd::Asked { questions: vec![samples::question("which?")] });
    assert_eq!(step(&history, "working"), Ok(TaskStep::Decide(Decision::Ignore)));
    let said = TaskWords { summary: Some("the first".to_owned()), notes: None };
    let answer = Decision::Answer { answer: vec!["the first".to_owned()] };
    assert_eq!(task_step(&history.run, TaskWord::Working, &said), Ok(TaskStep::Decide(answer.clone())));
    history.decide("ada", answer).unwrap();
    (0..2).for_each(|_| crash(&mut history));
    assert_eq!(step(&history, "working"), Ok(TaskStep::Decide(retry())));
    assert_eq!(task_respawn(&history.run, &TaskWords::default()), Ok(TaskStep::Decide(retry())));
    assert!(matches!(step(&history, "agent-review"), Err(TaskRefusal::Missing { .. })), "nothing to review");
    history.decide("ada", retry()).unwrap();
    until(&mut history, "agent-review: review");
    assert!(matches!(step(&history, "working"), Err(TaskRefusal::NotAllowed { .. })));
    assert_eq!(task_merge(&history.run), Ok(TaskStep::Decide(Decision::Approve { notes: None })));
    assert_eq!(step(&history, "done"), task_merge(&history.run));
}

#[test]
fn what_was_taken_over_is_handed_to_review_by_who_completes_it() {
    let mut history = begin("task", samples::config());
    until(&mut history, "working");
    (0..2).for_each(|_| crash(&mut history));
    history.decide("ada", Decision::TakeOver).unwrap();
    good(&mut history);
    assert_eq!(task_complete(&history.run), Ok(TaskStep::Decide(Decision::Resume)));
    history.decide("ada", Decision::Resume).unwrap();
    until(&mut history, "agent-review");
}

#[test]
fn a_forced_merge_is_recorded_by_name_and_keeps_every_rule() {
    let mut history = begin("task", samples::config());
    until(&mut history, "working");
    assert_eq!(force(&mut history), Err(Rejection::NothingToMerge));
    (0..2).for_each(|_| verdict(&mut history, Verdict::Fail, Severity::Minor));
    assert_eq!(task_merge(&history.run), Err(TaskRefusal::NotReviewed(TaskWord::Stuck)));
    let shown = Some(samples::commit(999));
    let other = Command::ForceMerge { by: samples::actor("ada"), reason: None, shown };
    assert_eq!(history.take(other).map(drop), Err(Rejection::DigestChanged));
    let code = history.run.code().unwrap().commit.clone();
    force(&mut history).unwrap();
    history.go_on();
    assert_eq!(word(&history), TaskWord::Done);
    assert_eq!(history.run.validated, Some(code.clone()));
    let named =
        |event: &Event| matches!(event, Event::MergeForced { by, commit, .. } if by.name == "ada" && *commit == code);
    assert_eq!(count(&history, named), 1);
    keeps_every_rule(&history);
    let mut log: Vec<_> = history.log.iter().filter(|recorded| !named(&recorded.event)).cloned().collect();
    log.iter_mut().zip(1..).for_each(|(recorded, sequence)| recorded.sequence = sequence);
    let found = check_log(&history.run.id, &log);
    assert!(
        found.iter().any(|violation| violation.rule == 7),
        "without the decision the merge breaks rule 7: {found:?}"
    );
}

#[test]
fn a_forced_merge_stops_the_agent_and_waits_for_what_is_half_done() {
    let mut history = begin("task", samples::config());
    until(&mut history, "agent-review");
    assert!(matches!(force(&mut history), Err(Rejection::NotNow(_))), "the checks run");
    good(&mut history);
    force(&mut history).unwrap();
    let open: Vec<_> = history.run.open_effects.values().map(domain::Effect::word).collect();
    assert_eq!(open, ["stop_agent", "write_record"]);
    assert_eq!(force(&mut history), Err(Rejection::TooLate));
    history.go_on();
    assert!(history.run.merged.is_some());
    keeps_every_rule(&history);
    let mut other = begin("autonomous", samples::config());
    until(&mut other, "validation");
    assert_eq!(force(&mut other), Err(Rejection::NotForced));
}

fn vague(request: &str, context: Option<&str>) -> History {
    let task = Some(TaskBrief { name: Some("tidy".to_owned()), context: context.map(str::to_owned) });
    let config = RunConfig { task: task.map(Box::new), ..samples::config() };
    let playbook = domain::Playbook::built_in("task").unwrap();
    let mut history = History::unopened(samples::run_id(1));
    let start = domain::Start { playbook, request: request.to_owned(), ..samples::start(config) };
    history.take(Command::Start(Box::new(start))).unwrap();
    good(&mut history);
    history
}

#[test]
fn a_task_that_says_too_little_asks_before_any_agent_works() {
    for (request, summary) in [("", "add a search"), ("Fix it", "Fix it: add a search")] {
        let mut history = vague(request, None);
        assert_eq!(word(&history), TaskWord::Clarification);
        let hold = history.run.hold().unwrap();
        assert_eq!(hold.question.as_ref().unwrap().question, "What would you like to work on?");
        assert_eq!(hold.allowed, [DecisionKind::Answer, DecisionKind::Cancel]);
        assert!(history.run.sessions.is_empty(), "no agent was asked for");
        assert!(matches!(step(&history, "working"), Err(TaskRefusal::ByItself { .. })), "it needs words");
        history.decide("ada", Decision::Answer { answer: vec!["add a search".to_owned()] }).unwrap();
        assert_eq!((word(&history), history.run.summary().as_str()), (TaskWord::Working, summary));
        history.go_on();
        yes(&mut history);
        history.go_on();
        assert_eq!(word(&history), TaskWord::Done);
        keeps_every_rule(&history);
    }
    let clear = vague("Fix it", Some("1. open `a.rs`"));
    assert_eq!(word(&clear), TaskWord::Working);
    assert_eq!(clear.run.wanted(), "Fix it\n\n1. open `a.rs`");
    assert!(clear.run.opened().branch.ends_with("-tidy"), "{}", clear.run.opened().branch);
}

#[test]
fn what_goes_on_by_itself_and_what_crashes_is_told_with_from_to_and_why() {
    let mut history = begin("task", samples::config());
    until(&mut history, "working");
    crash(&mut history);
    verdict(&mut history, Verdict::Fail, Severity::Minor);
    verdict(&mut history, Verdict::Pass, Severity::Minor);
    let told: Vec<_> = task_told(&history.run.id, &history.log).into_values().collect();
    let advanced = |told: &TaskTold| match told {
        TaskTold::AutoAdvanced { from, to, reason } => format!("{} → {}: {reason}", from.word(), to.word()),
        TaskTold::AgentCrashed { status, crash_count, reason } => format!("{} {crash_count}: {reason}", status.word()),
    };
    assert_eq!(
        told.iter().map(advanced).collect::<Vec<_>>(),
        [
            "working 1: process exited without ## Handoff",
            "working → agent-review: the gate is set to auto",
            "agent-review → working: minor failure, fix round 1 of 1",
            "working → agent-review: the gate is set to auto",
            "agent-review → reviewing: the review passed",
        ]
    );
    assert_eq!((told[0].name(), told[1].name()), ("agent.crashed", "auto.advanced"));
    let mut other = begin("autonomous", samples::config());
    other.go_on();
    assert!(task_told(&other.run.id, &other.log).is_empty());
}
