//! The core under random commands: it never panics, breaks no rule, and cancel always leads to an end.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::{HashSet, VecDeque};

use domain::{
    AgentEnd, Command, Decide, Decision, DecisionKind, Effect, Gate, Micros, Outcome, Phase, Severity, SpendReport,
    Verdict, check_log, replay,
};
use proptest::prelude::*;
use testkit::{History, agree, samples};

/// What one random step asks for; numbers choose among what is possible then.
#[derive(Debug, Clone)]
enum Step {
    Report { which: usize, outcome: u8 },
    Decide { which: usize },
    Fire,
    Spend { effect: u32, cost: u64 },
    Cancel,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        60 => (0..4_usize, 0..12_u8).prop_map(|(which, outcome)| Step::Report { which, outcome }),
        40 => (0..10_usize).prop_map(|which| Step::Decide { which }),
        8 => Just(Step::Fire),
        4 => (0..9_u32, 0..3_000_000_u64).prop_map(|(effect, cost)| Step::Spend { effect, cost }),
        1 => Just(Step::Cancel),
    ]
}

fn outcome(history: &History, number: u32, effect: &Effect, choice: u8) -> Outcome {
    let good = agree(&history.run, number, effect);
    let failed = Outcome::Failed { message: "the disk is away".to_owned(), hint: None };
    let agent = |end| Outcome::AgentEnded { end, tier: None, wip: Some(samples::commit(77)) };
    match (effect, choice) {
        (_, 0) => failed,
        (Effect::RunAgent(_), 1) => agent(AgentEnd::Crashed { reason: "it is gone".to_owned() }),
        (Effect::RunAgent(_), 2) => agent(AgentEnd::ModelFailed { reason: "overloaded".to_owned() }),
        (Effect::RunAgent(_), 3) => agent(AgentEnd::BudgetSpent { reason: "all of it".to_owned() }),
        (Effect::RunAgent(_), 4 | 5) => {
            let questions = (0..choice - 3).map(|n| samples::question(&format!("what about {n}?"))).collect();
            agent(AgentEnd::Asked { questions })
        }
        (Effect::RunAgent(_), 6 | 7) => with_verdict(good, if choice == 6 { Severity::Minor } else { Severity::Major }),
        (Effect::Prove { .. }, 1..=4) => Outcome::Proved { proof: samples::proof(u64::from(number), 1) },
        (Effect::Land(_), 1) => Outcome::NotLanded { reason: "a conflict".to_owned(), paths: vec!["a".to_owned()] },
        (Effect::Land(_), 2) => Outcome::LandingUnproven { proof: samples::proof(u64::from(number), 1) },
        (Effect::PushRemote { .. }, 1) => Outcome::PushRefused { reason: "no".to_owned() },
        _ => good,
    }
}

/// Turns a verdict into FAIL; what is no verdict stays.
fn with_verdict(mut outcome: Outcome, severity: Severity) -> Outcome {
    if let Outcome::AgentEnded { end: AgentEnd::Submitted(submission), .. } = &mut outcome
        && submission.review.is_some()
    {
        submission.review = Some(samples::review(Verdict::Fail, severity));
    }
    outcome
}

fn decision(kind: DecisionKind) -> Decision {
    let text = "think again".to_owned();
    match kind {
        DecisionKind::Approve => Decision::Approve { notes: Some(text) },
        DecisionKind::Reject => Decision::Reject { feedback: text },
        DecisionKind::Suggest => Decision::Suggest { text },
        DecisionKind::Answer => Decision::Answer { answer: vec![text] },
        DecisionKind::Ignore => Decision::Ignore,
        DecisionKind::Retry => Decision::Retry { feedback: Some(text), model: None },
        DecisionKind::AcceptAnyway => Decision::AcceptAnyway { reason: None },
        DecisionKind::Extend => Decision::Extend { minutes: 5 },
        DecisionKind::Raise => Decision::Raise { by: Micros(1_000_000) },
        DecisionKind::ModifyPlan => Decision::ModifyPlan { plan: serde_json::to_string(&samples::plan()).unwrap() },
        DecisionKind::Ask => Decision::Ask { question: text },
        DecisionKind::Resolve => Decision::Resolve,
        DecisionKind::CreatePr => Decision::CreatePr,
        DecisionKind::TakeOver => Decision::TakeOver,
        DecisionKind::Resume => Decision::Resume,
        DecisionKind::Cancel => Decision::Cancel { reason: None },
    }
}

/// The command a step asks for, where it is possible.
fn command(history: &History, step: &Step) -> Option<Command> {
    match step {
        Step::Report { which, outcome: choice } => {
            let open: Vec<_> = history.run.open_effects.iter().collect();
            let (number, effect) = open.get(which % open.len().max(1))?;
            let outcome = outcome(history, **number, effect, *choice);
            Some(Command::Report(domain::Report { effect: **number, outcome }))
        }
        Step::Decide { which } => {
            let hold = history.run.hold()?;
            // Cancel comes last and rarely, so that most walks are long.
            let kind = hold.allowed[which % hold.allowed.len()];
            let kind = if kind == DecisionKind::Cancel && *which < 8 { hold.allowed[0] } else { kind };
            let by = samples::actor("ada");
            Some(Command::Decide(Decide { hold: hold.id, digest: hold.digest.clone(), decision: decision(kind), by }))
        }
        Step::Fire => history.run.timer().map(|timer| Command::TimerFired { timer: timer.id }),
        Step::Spend { effect, cost } => Some(Command::Spend(SpendReport {
            effect: *effect,
            call: history.run.spend.counted.get(effect).copied().unwrap_or(0) + 1,
            model: "scripted/one".to_owned(),
            input_tokens: 10,
            output_tokens: 5,
            cost: Some(Micros(*cost)),
        })),
        Step::Cancel => Some(Command::Cancel { by: samples::actor("bob"), reason: None }),
    }
}

/// A run that is not over either works on something or waits for a decision that can still be made.
fn check_alive(history: &History) {
    if history.run.is_ended() {
        return;
    }
    let undecided =
        history.run.hold().is_some_and(|hold| history.run.decided.iter().all(|decided| decided.hold != hold.id));
    let stops = |effect: &Effect| matches!(effect, Effect::StopAgent { .. });
    let works = history.run.open_effects.values().any(|effect| !stops(effect));
    assert!(works || undecided, "nothing will ever happen to {:#?}", history.run);
    assert!(!(works && history.run.hold().is_some()), "works while it waits: {:#?}", history.run);
}

fn check_cancel(history: &History) {
    if history.run.is_ended() {
        return;
    }
    let mut history = history.clone();
    history.take(Command::Cancel { by: samples::actor("bob"), reason: None }).unwrap();
    assert_eq!(history.run.phase, Phase::Ended { ending: domain::Ending::Cancelled });
    history.go_on();
    assert_eq!(history.run.open_effects.len(), 0);
    assert_eq!(check_log(&history.run.id, &history.log), []);
}

fn walk(config: domain::RunConfig, playbook: domain::Playbook, steps: &[Step]) {
    let mut history = History::unopened(samples::run_id(7));
    let start = domain::Start { playbook, ..samples::start(config) };
    history.take(Command::Start(Box::new(start))).unwrap();
    for step in steps {
        if let Some(command) = command(&history, step) {
            let _ = history.take(command);
        }
        check_alive(&history);
    }
    assert_eq!(check_log(&history.run.id, &history.log), []);
    assert_eq!(replay(history.run.id.clone(), history.log.iter().cloned()), history.run);
    check_cancel(&history);
}

fn config() -> impl Strategy<Value = domain::RunConfig> {
    let gate = || prop_oneof![Just(Gate::Auto), Just(Gate::Manual)];
    (gate(), gate(), gate(), any::<bool>(), any::<bool>(), 0..3_u32).prop_map(
        |(planning, implementation, fixes, auto_merge, push, max_clarifications)| {
            let mut config = samples::config();
            config.trust = domain::Trust { planning, implementation, fixes };
            config.git.auto_merge = auto_merge;
            config.git.push = push;
            config.max_clarifications = max_clarifications;
            config
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_walk_breaks_a_rule_and_every_walk_can_be_cancelled(
        config in config(),
        caps in 1..3_u32,
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut playbook = samples::playbook();
        for stage in &mut playbook.stages {
            stage.crashes = caps;
            stage.revisions = caps;
        }
        walk(config, playbook, &steps);
    }
}

/// What of a run decides how it can go on; counters stand as what is left of them.
fn key(run: &domain::Run) -> String {
    let hold = run.hold().map(|hold| (hold.kind, hold.allowed.clone(), run.pending_questions.len()));
    let open: Vec<_> = run.open_effects.values().map(Effect::word).collect();
    let stages: Vec<_> = run
        .stages
        .iter()
        .map(|stage| (stage.revisions, stage.crashes, stage.fails.saturating_sub(stage.rounds_granted)))
        .collect();
    let failed = run.failed_effect.as_ref().map(Effect::word);
    let step = match &run.phase {
        Phase::Finishing { step, .. } => Some(*step),
        Phase::Unopened
        | Phase::Opening { .. }
        | Phase::Working { .. }
        | Phase::Delegating { .. }
        | Phase::Publishing { .. }
        | Phase::Holding { .. }
        | Phase::Ended { .. } => None,
    };
    let rest = (run.is_ended(), run.questions_asked, run.validated.is_some(), run.merged.is_some());
    format!("{:?} {step:?} {hold:?} {open:?} {stages:?} {failed:?} {rest:?}", run.current_stage())
}

/// Every command that could be taken next.
fn commands(history: &History) -> Vec<Command> {
    let open = &history.run.open_effects;
    let reports = (0..open.len()).flat_map(|which| (0..9).map(move |outcome| Step::Report { which, outcome }));
    let decisions =
        (0..history.run.hold().map_or(0, |hold| hold.allowed.len() - 1)).map(|which| Step::Decide { which });
    // One stop at a time: effects are worked on in order, so a second agent only begins after it.
    let stopping = open.values().any(|effect| matches!(effect, Effect::StopAgent { .. }));
    let fire = (!stopping).then_some(Step::Fire);
    let steps: Vec<Step> = reports.chain(decisions).chain(fire).collect();
    steps.iter().filter_map(|step| command(history, step)).collect()
}

#[test]
fn every_reachable_state_is_alive_and_can_be_cancelled() {
    let mut playbook = samples::playbook();
    for stage in &mut playbook.stages {
        (stage.crashes, stage.revisions) = (1, 1);
        if let domain::Work::Judge { rounds, .. } = &mut stage.work {
            *rounds = 1;
        }
    }
    let mut config = samples::config();
    config.trust.planning = Gate::Manual;
    config.max_clarifications = 1;
    let mut first = History::unopened(samples::run_id(7));
    let start = domain::Start { playbook, ..samples::start(config) };
    first.take(Command::Start(Box::new(start))).unwrap();
    let mut seen = HashSet::from([key(&first.run)]);
    let mut queue = VecDeque::from([first]);
    while let Some(history) = queue.pop_front() {
        check_alive(&history);
        for next in commands(&history) {
            // The log is left behind: it grows with the depth, and the random walks check it.
            let mut history = History { run: history.run.clone(), log: Vec::new(), now: samples::at(0) };
            if history.take(next).is_ok() && seen.insert(key(&history.run)) {
                queue.push_back(history);
            }
        }
        if !history.run.is_ended() {
            let mut ended = history;
            ended.take(Command::Cancel { by: samples::actor("bob"), reason: None }).unwrap();
            ended.go_on();
            assert!(ended.run.is_ended() && ended.run.open_effects.is_empty());
        }
        assert!(seen.len() < 50_000, "the machine has more states than its caps allow");
    }
    assert!(seen.iter().any(|key| key.contains("land")) && seen.len() > 100, "{} states", seen.len());
}
