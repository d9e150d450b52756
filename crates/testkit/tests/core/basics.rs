//! Starts, gates, questions, verdicts, crashes, clocks and money in the default playbook.

use domain::{
    AgentEnd, ArtifactKind, Command, Decide, Decision, DecisionKind, Digest, Effect, Event, Gate, HoldKind, Micros,
    Outcome, Rejection, RunConfig, Severity, Shortage, Status, Verdict,
};
use testkit::{History, agree, samples};

/// Hands a command to a run and compares the types of the events, or the rejection.
#[track_caller]
fn check(given: &History, command: Command, expected: Result<&[&str], Rejection>) -> History {
    let mut history = given.clone();
    let first = history.log.len();
    let taken = history.take(command).map(|_| ());
    match expected {
        Ok(words) => {
            assert_eq!(taken, Ok(()));
            let found: Vec<String> = history.log[first..].iter().map(|recorded| word(&recorded.event)).collect();
            assert_eq!(found, words);
        }
        Err(rejection) => assert_eq!(taken, Err(rejection)),
    }
    assert_eq!(domain::check_log(&history.run.id, &history.log), []);
    history
}

/// The variant's name, with the effect's word for requests.
fn word(event: &Event) -> String {
    let debug = format!("{event:?}");
    let name = debug.split([' ', '(']).next().unwrap_or_default().to_owned();
    if let Event::EffectRequested { effect, .. } = event { format!("{name}:{}", effect.word()) } else { name }
}

fn manual() -> RunConfig {
    let mut config = samples::config();
    config.trust.planning = Gate::Manual;
    config
}

fn started(config: RunConfig) -> History {
    History::started(samples::run_id(1), config)
}

/// A run whose planner works.
fn planning(config: RunConfig) -> History {
    let mut history = started(config);
    good(&mut history);
    history
}

/// Ends the newest effect well.
fn good(history: &mut History) {
    let number = history.open().unwrap();
    let outcome = agree(&history.run, number, &history.run.open_effects[&number]);
    history.report(number, outcome).unwrap();
}

/// Ends effects well until one of that word is open.
fn until(history: &mut History, word: &str) {
    while history.run.open_effects.values().all(|effect| effect.word() != word) {
        good(history);
    }
}

/// A run whose validator works.
fn validating(config: RunConfig) -> History {
    let mut history = started(config);
    until(&mut history, "prove");
    good(&mut history);
    history
}

fn report(history: &History, outcome: Outcome) -> Command {
    Command::Report(domain::Report { effect: history.open().unwrap(), outcome })
}

fn ended(end: AgentEnd) -> Outcome {
    Outcome::AgentEnded { end, tier: None, program: None, wip: None }
}

fn crashed() -> Outcome {
    ended(AgentEnd::Crashed { reason: "it is gone".to_owned() })
}

fn asks(count: usize) -> Outcome {
    let questions = (0..count).map(|n| samples::question(&format!("what about {n}?"))).collect();
    ended(AgentEnd::Asked { questions })
}

fn failed_with(history: &History, severity: Severity) -> Command {
    let number = history.open().unwrap();
    let mut outcome = agree(&history.run, number, &history.run.open_effects[&number]);
    if let Outcome::AgentEnded { end: AgentEnd::Submitted(submission), .. } = &mut outcome {
        submission.review = Some(samples::review(Verdict::Fail, severity));
    }
    report(history, outcome)
}

fn decide(history: &History, decision: Decision) -> Command {
    let hold = history.run.hold().unwrap();
    Command::Decide(Decide { hold: hold.id, digest: hold.digest.clone(), decision, by: samples::actor("ada") })
}

fn cancel() -> Command {
    Command::Cancel { by: samples::actor("bob"), reason: None }
}

fn hold(history: &History) -> (HoldKind, Vec<DecisionKind>) {
    let hold = history.run.hold().unwrap();
    (hold.kind, hold.allowed.clone())
}

#[test]
fn a_start_asks_for_the_branch() {
    let fresh = History::unopened(samples::run_id(1));
    let start = Command::Start(Box::new(samples::start(samples::config())));
    let history = check(&fresh, start.clone(), Ok(&["RunStarted", "EffectRequested:open_branch"]));
    check(&history, start, Err(Rejection::AlreadyStarted));
}

#[test]
fn an_empty_request_is_refused() {
    let fresh = History::unopened(samples::run_id(1));
    let start = domain::Start { request: " ".to_owned(), ..samples::start(samples::config()) };
    let reason = "the request is empty; say what you want done".to_owned();
    check(&fresh, Command::Start(Box::new(start)), Err(Rejection::BadRequest(reason)));
}

#[test]
fn nothing_but_a_start_is_taken_before_the_start() {
    check(&History::unopened(samples::run_id(1)), cancel(), Err(Rejection::NotStarted));
}

#[test]
fn a_branch_that_cannot_be_made_fails_the_run() {
    let history = started(samples::config());
    let failed = Outcome::Failed { message: "no such branch".to_owned(), hint: None };
    let expected = ["EffectFinished", "RunFailed", "EffectRequested:clean_up"];
    let history = check(&history, report(&history, failed), Ok(&expected));
    assert_eq!(history.run.failure.as_deref(), Some("no such branch"));
}

#[test]
fn an_open_gate_goes_on_by_itself() {
    let history = planning(samples::config());
    let outcome = agree(&history.run, 2, &history.run.open_effects[&2]);
    let expected = ["EffectFinished", "ArtifactCreated", "AutoAdvanced", "StageCompleted", "EffectRequested:publish"];
    check(&history, report(&history, outcome), Ok(&expected));
}

#[test]
fn a_manual_gate_asks_and_an_approval_goes_on() {
    let history = planning(manual());
    let outcome = agree(&history.run, 2, &history.run.open_effects[&2]);
    let expected = ["EffectFinished", "ArtifactCreated", "ApprovalRequested"];
    let history = check(&history, report(&history, outcome), Ok(&expected));
    assert_eq!(Status::of(&history.run), Status::AwaitingApproval);
    let approve = decide(&history, Decision::Approve { notes: None });
    check(&history, approve, Ok(&["ApprovalGranted", "StageCompleted", "EffectRequested:publish"]));
}

#[test]
fn a_rejection_does_the_stage_again_with_the_feedback() {
    let mut history = planning(manual());
    good(&mut history);
    let reject = decide(&history, Decision::Reject { feedback: "use Google".to_owned() });
    let history = check(&history, reject, Ok(&["ApprovalRejected", "StageStarted", "EffectRequested:run_agent"]));
    assert_eq!(history.run.notes[0].text, "use Google");
}

#[test]
fn a_rejection_without_a_word_is_refused() {
    let mut history = planning(manual());
    good(&mut history);
    let reject = decide(&history, Decision::Reject { feedback: String::new() });
    check(&history, reject, Err(Rejection::BadAnswer("say what shall be different".to_owned())));
}

#[test]
fn a_decision_on_what_has_changed_is_refused() {
    let mut history = planning(manual());
    good(&mut history);
    let Command::Decide(mut approve) = decide(&history, Decision::Approve { notes: None }) else { unreachable!() };
    approve.digest = Digest::claimed("what was shown yesterday");
    check(&history, Command::Decide(approve), Err(Rejection::DigestChanged));
}

#[test]
fn a_second_decision_hears_who_was_first() {
    let mut history = planning(manual());
    good(&mut history);
    let approve = decide(&history, Decision::Approve { notes: None });
    let at = history.now;
    let expected = ["ApprovalGranted", "StageCompleted", "EffectRequested:publish"];
    let history = check(&history, approve.clone(), Ok(&expected));
    let first = Rejection::AlreadyDecided { by: "ada".to_owned(), decision: DecisionKind::Approve, at };
    check(&history, approve, Err(first));
}

#[test]
fn questions_are_put_one_by_one_and_then_the_agent_goes_on() {
    let history = planning(samples::config());
    let history = check(&history, report(&history, asks(2)), Ok(&["EffectFinished", "ClarificationRequested"]));
    let answer = Decision::Answer { answer: vec!["Google".to_owned()] };
    let history =
        check(&history, decide(&history, answer.clone()), Ok(&["ClarificationAnswered", "ClarificationRequested"]));
    let history = check(
        &history,
        decide(&history, Decision::Ignore),
        Ok(&["ClarificationAnswered", "EffectRequested:run_agent"]),
    );
    let answers: Vec<_> = history.run.answers.iter().map(|answer| answer.answer.clone()).collect();
    assert_eq!(answers, [Some(vec!["Google".to_owned()]), None]);
}

#[test]
fn a_question_over_the_limit_becomes_a_full_approval() {
    let mut history = planning(samples::config());
    history.report(2, asks(3)).unwrap();
    history.decide("ada", Decision::Ignore).unwrap();
    let history =
        check(&history, decide(&history, Decision::Ignore), Ok(&["ClarificationAnswered", "ApprovalRequested"]));
    assert_eq!(
        hold(&history),
        (HoldKind::Approval, vec![DecisionKind::Approve, DecisionKind::Reject, DecisionKind::Cancel])
    );
    let approve = decide(&history, Decision::Approve { notes: Some("as you think".to_owned()) });
    check(&history, approve, Ok(&["ApprovalGranted", "EffectRequested:run_agent"]));
}

#[test]
fn a_full_approval_cannot_send_back_more_often_than_the_cap() {
    let mut config = samples::config();
    config.max_clarifications = 0;
    let mut history = History::unopened(samples::run_id(1));
    let mut start = samples::start(config);
    start.playbook.stages[0].revisions = 1;
    history.take(Command::Start(Box::new(start))).unwrap();
    good(&mut history);
    history.report(2, asks(1)).unwrap();
    history.decide("ada", Decision::Reject { feedback: "do not ask".to_owned() }).unwrap();
    let again = history.open().unwrap();
    history.report(again, asks(1)).unwrap();
    assert_eq!(hold(&history), (HoldKind::Approval, vec![DecisionKind::Approve, DecisionKind::Cancel]));
}

#[test]
fn a_minor_failure_starts_a_fix_round() {
    let history = validating(samples::config());
    let expected = [
        "EffectFinished",
        "ArtifactCreated",
        "ValidationFailed",
        "AutoAdvanced",
        "StageStarted",
        "EffectRequested:run_agent",
    ];
    let history = check(&history, failed_with(&history, Severity::Minor), Ok(&expected));
    assert_eq!(history.run.current_stage(), Some(1));
}

#[test]
fn a_major_failure_waits_for_a_person() {
    let history = validating(samples::config());
    let expected = ["EffectFinished", "ArtifactCreated", "ValidationFailed", "HoldPlaced"];
    let history = check(&history, failed_with(&history, Severity::Major), Ok(&expected));
    let allowed = vec![DecisionKind::Retry, DecisionKind::AcceptAnyway, DecisionKind::Cancel];
    assert_eq!(hold(&history), (HoldKind::Fix, allowed));
}

#[test]
fn after_its_fix_rounds_a_person_is_asked() {
    let mut history = validating(samples::config());
    for _ in 0..3 {
        history.take(failed_with(&history, Severity::Minor)).unwrap();
        until(&mut history, "prove");
        good(&mut history);
    }
    history.take(failed_with(&history, Severity::Minor)).unwrap();
    assert_eq!(hold(&history).0, HoldKind::Fix);
    assert!(history.run.hold().unwrap().summary.contains("the fix rounds are spent"));
}

#[test]
fn failing_checks_are_a_verdict_without_a_model() {
    let mut history = started(samples::config());
    until(&mut history, "prove");
    let failing = Outcome::Proved { proof: samples::proof(3, 1) };
    let history = check(
        &history,
        report(&history, failing),
        Ok(&[
            "EffectFinished",
            "ProofRecorded",
            "ValidationFailed",
            "AutoAdvanced",
            "StageStarted",
            "EffectRequested:run_agent",
        ]),
    );
    assert!(history.run.review.unwrap().summary.contains("checks failed: tests"));
}

#[test]
fn what_was_accepted_anyway_is_published_but_not_merged() {
    let mut history = validating(samples::config());
    history.take(failed_with(&history, Severity::Major)).unwrap();
    history.decide("ada", Decision::AcceptAnyway { reason: None }).unwrap();
    history.go_on();
    assert_eq!(Status::of(&history.run), Status::Completed);
    assert_eq!(history.run.merged, None);
    assert!(history.log.iter().all(|recorded| !matches!(recorded.event, Event::BranchMerged { .. })));
}

#[test]
fn what_passed_every_gate_is_merged() {
    let mut history = started(samples::config());
    history.go_on();
    assert_eq!(Status::of(&history.run), Status::Completed);
    assert!(history.run.merged.is_some());
    assert_eq!(history.run.validated, history.run.latest(ArtifactKind::Code).map(|code| code.commit.clone()));
}

#[test]
fn an_agent_that_crashes_goes_on_and_then_is_stuck() {
    let history = planning(samples::config());
    let expected = ["EffectFinished", "AgentCrashed", "EffectRequested:run_agent"];
    let history = check(&history, report(&history, crashed()), Ok(&expected));
    let history = check(&history, report(&history, crashed()), Ok(&["EffectFinished", "AgentCrashed", "HoldPlaced"]));
    assert_eq!(hold(&history), (HoldKind::Stuck, vec![DecisionKind::Retry, DecisionKind::Cancel]));
    let retry = decide(&history, Decision::Retry { feedback: None, model: None });
    check(&history, retry, Ok(&["DecisionMade", "StageStarted", "EffectRequested:run_agent"]));
}

#[test]
fn a_timeout_stops_the_agent_and_can_be_extended() {
    let history = planning(samples::config());
    let fire = Command::TimerFired { timer: 2 };
    let history = check(&history, fire.clone(), Ok(&["EffectRequested:stop_agent", "HoldPlaced"]));
    assert_eq!(hold(&history).0, HoldKind::Timeout);
    check(&history, fire, Err(Rejection::TimerGone));
    check(
        &history,
        Command::Report(domain::Report { effect: 2, outcome: crashed() }),
        Err(Rejection::EffectNotOpen(2)),
    );
    let now = history.now;
    let extend = decide(&history, Decision::Extend { minutes: 5 });
    let history = check(&history, extend, Ok(&["DecisionMade", "EffectRequested:run_agent"]));
    assert_eq!(history.run.timer().unwrap().at, now + jiff::SignedDuration::from_mins(5));
}

#[test]
fn the_failed_stop_of_an_old_agent_does_not_hide_what_is_to_be_retried() {
    let mut history = planning(samples::config());
    history.take(Command::TimerFired { timer: 2 }).unwrap();
    history.decide("ada", Decision::Extend { minutes: 5 }).unwrap();
    let failed = || Outcome::Failed { message: "away".to_owned(), hint: None };
    while history.run.open_effects.values().all(|effect| effect.word() != "write_record") {
        good(&mut history);
    }
    let record = history.open().unwrap();
    history.report(record, failed()).unwrap();
    history.report(3, failed()).unwrap();
    let retry = decide(&history, Decision::Retry { feedback: None, model: None });
    check(&history, retry, Ok(&["DecisionMade", "EffectRequested:write_record"]));
}

#[test]
fn a_clean_up_that_fails_does_not_hold_a_run_whose_work_is_done() {
    let mut history = planning(samples::config());
    while history.run.open_effects.values().all(|effect| effect.word() != "clean_up") {
        good(&mut history);
    }
    let failed = Outcome::Failed { message: "the disk is away".to_owned(), hint: None };
    let history = check(&history, report(&history, failed), Ok(&["EffectFinished", "RunCompleted"]));
    assert!(history.run.hold().is_none());
}

#[test]
fn a_model_that_fails_pauses_and_a_retry_goes_on_with_the_conversation() {
    let history = planning(samples::config());
    let outcome = ended(AgentEnd::ModelFailed { reason: "overloaded".to_owned() });
    let history = check(&history, report(&history, outcome), Ok(&["EffectFinished", "HoldPlaced"]));
    assert_eq!(hold(&history).0, HoldKind::Model);
    let retry = decide(&history, Decision::Retry { feedback: None, model: None });
    let history = check(&history, retry, Ok(&["DecisionMade", "EffectRequested:run_agent"]));
    let Some(Effect::RunAgent(task)) = history.run.open_effects.values().next() else { panic!("no agent") };
    assert_eq!((task.session.visit, task.session.attempt), (1, 2));
}

#[test]
fn a_spent_budget_pauses_and_a_raise_goes_on() {
    let history = planning(samples::config());
    let outcome = ended(AgentEnd::BudgetSpent { reason: "all of it".to_owned(), shortage: Shortage::default() });
    let history = check(&history, report(&history, outcome), Ok(&["EffectFinished", "HoldPlaced"]));
    let allowed = vec![DecisionKind::Raise, DecisionKind::Retry, DecisionKind::Cancel];
    assert_eq!(hold(&history), (HoldKind::Budget, allowed.clone()));
    let approve = decide(&history, Decision::Approve { notes: None });
    check(&history, approve, Err(Rejection::NotAllowed { decision: DecisionKind::Approve, allowed }));
    let raise = decide(&history, Decision::Raise { by: Micros(1) });
    let history = check(&history, raise, Ok(&["DecisionMade", "EffectRequested:run_agent"]));
    assert_eq!(history.run.budget, Some(Micros(10_000_001)));
}

#[test]
fn cancel_wins_and_only_clean_up_follows() {
    let history = planning(samples::config());
    let history = check(&history, cancel(), Ok(&["RunCancelled", "EffectRequested:clean_up"]));
    check(&history, cancel(), Err(Rejection::AlreadyEnded));
    let mut history = check(&history, report(&history, Outcome::CleanedUp), Ok(&["EffectFinished"]));
    assert_eq!(history.go_on().len(), 0);
    assert_eq!(Status::of(&history.run), Status::Cancelled);
}

#[test]
fn late_report_of_a_cancelled_run_is_refused() {
    let history = planning(samples::config());
    let late = report(&history, crashed());
    let history = check(&history, cancel(), Ok(&["RunCancelled", "EffectRequested:clean_up"]));
    check(&history, late, Err(Rejection::EffectNotOpen(2)));
}

#[test]
fn an_outcome_that_does_not_fit_is_refused() {
    let history = planning(samples::config());
    check(&history, report(&history, Outcome::Published), Err(Rejection::WrongOutcome(2)));
}

#[test]
fn a_paid_call_is_counted_once() {
    let history = planning(samples::config());
    let spend = Command::Spend(domain::SpendReport {
        effect: 2,
        call: 1,
        model: "scripted/one".to_owned(),
        input_tokens: 10,
        output_tokens: 5,
        cost: Some(Micros(7)),
        reported_by: None,
    });
    let history = check(&history, spend.clone(), Ok(&["SpendRecorded"]));
    check(&history, spend, Err(Rejection::CallCounted(2, 1)));
    assert_eq!(history.run.spend.cost, Micros(7));
}
