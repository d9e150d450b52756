//! The core under random commands, over every built-in playbook: it never panics, breaks no rule, and cancel always
//! leads to an end. A failing case is shrunk and printed with its seed.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use domain::{
    Command, Effect, Fork, ForkChanges, Gate, Micros, Phase, Playbook, Run, SpendReport, TaskStatus, check_fork,
    check_log, fork_points, replay,
};
use proptest::prelude::*;
use testkit::moves::{children, moves, outcomes};
use testkit::{History, samples};

/// What one random step asks for; numbers choose among what is possible then.
#[derive(Debug, Clone)]
enum Step {
    Move { which: usize },
    Good,
    Any { which: usize, outcome: usize },
    Spend { effect: u32, cost: u64 },
    Pursue { which: usize },
    Taint { which: usize },
    Fork { which: usize },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        40 => (0..1000_usize).prop_map(|which| Step::Move { which }),
        50 => Just(Step::Good),
        // Not in order, late, or twice: the core must refuse or cope.
        6 => (0..40_usize, 0..40_usize).prop_map(|(which, outcome)| Step::Any { which, outcome }),
        8 => (0..1000_usize).prop_map(|which| Step::Pursue { which }),
        3 => (0..1000_usize).prop_map(|which| Step::Taint { which }),
        3 => (0..1000_usize).prop_map(|which| Step::Fork { which }),
        4 => (0..9_u32, 0..3_000_000_u64).prop_map(|(effect, cost)| Step::Spend { effect, cost }),
    ]
}

fn command(run: &Run, step: &Step) -> Option<Command> {
    match step {
        Step::Move { which } => {
            let all: Vec<Command> = moves(run);
            // Cancelling is rare, so that most walks are long.
            let command = all.get(which % all.len().max(1))?.clone();
            (!matches!(command, Command::Cancel { .. }) || *which > 950).then_some(command)
        }
        Step::Good => good(run),
        Step::Any { which, outcome } => {
            let number = u32::try_from(*which).unwrap();
            let effect = run.open_effects.get(&number)?;
            let mut all = outcomes(run, number, effect);
            let outcome = all.swap_remove(outcome % all.len());
            Some(Command::Report(domain::Report { effect: number, outcome }))
        }
        Step::Pursue { which } => testkit::moves::pursuit(run, *which),
        Step::Taint { which } => Some(testkit::moves::taint(run, *which)),
        Step::Fork { .. } => None,
        Step::Spend { effect, cost } => Some(Command::Spend(SpendReport {
            effect: *effect,
            call: run.spend.counted.get(effect).copied().unwrap_or(0) + 1,
            model: "scripted/one".to_owned(),
            input_tokens: 10,
            output_tokens: 5,
            cost: Some(Micros(*cost)),
            reported_by: None,
        })),
    }
}

/// The next thing that leads on: the good end of an effect, a child that ends well, or the first decision.
fn good(run: &Run) -> Option<Command> {
    if let Some((number, effect)) = run.open_effects.first_key_value() {
        let outcome = testkit::agree(run, *number, effect);
        return Some(Command::Report(domain::Report { effect: *number, outcome }));
    }
    if let Some(report) = children(run).into_iter().next() {
        return Some(Command::ChildEnded(report));
    }
    let decision = testkit::moves::decisions(run).into_iter().next()?;
    Some(testkit::moves::decide(run, decision))
}

/// A run that is not over works on something, waits for a child, or waits for a decision that can still be made.
fn check_alive(run: &Run) {
    if run.is_ended() {
        return;
    }
    let undecided = run.hold().is_some_and(|hold| run.decided.iter().all(|decided| decided.hold != hold.id));
    let stops = |effect: &Effect| matches!(effect, Effect::StopAgent { .. } | Effect::TellChild { .. });
    let works = run.open_effects.values().any(|effect| !stops(effect));
    let child = run.tasks.iter().any(|task| task.status == TaskStatus::Working);
    assert!(works || child || undecided, "nothing will ever happen to {run:#?}");
}

fn check_cancel(mut history: History) {
    if history.run.is_ended() {
        return;
    }
    history.take(Command::Cancel { by: samples::actor("bob"), reason: None }).unwrap();
    assert_eq!(history.run.phase, Phase::Ended { ending: domain::Ending::Cancelled });
    history.go_on();
    assert_eq!(history.run.open_effects.len(), 0);
    assert_eq!(check_log(&history.run.id, &history.log), []);
}

fn config() -> impl Strategy<Value = domain::RunConfig> {
    let gate = || prop_oneof![Just(Gate::Auto), Just(Gate::Manual)];
    let flags = prop::collection::vec(any::<bool>(), 7);
    (gate(), gate(), gate(), flags, 0..3_u32).prop_map(|(planning, implementation, fixes, flags, questions)| {
        let mut config = samples::config();
        config.trust = domain::Trust { planning, implementation, fixes };
        (config.git.auto_merge, config.git.push, config.git.review) = (flags[0], flags[1], flags[2]);
        (config.git.create_pr, config.skip_clarification) = (flags[3], flags[4]);
        config.max_clarifications = questions;
        if flags[5] {
            config.budget = Some(Micros(3000));
        }
        if flags[6] {
            config.from = vec![samples::brought()];
        }
        config
    })
}

/// From here on the walk goes on in a fork of the run, at one of the points it has passed.
fn fork(origin: &History, which: usize, number: u64) -> Option<History> {
    let points = fork_points(&origin.run.id, &origin.log);
    let point = points.get(which % points.len().max(1))?;
    let log = origin.log.iter().filter(|recorded| recorded.sequence <= point.at).cloned().collect();
    let mut fork = History::unopened(samples::run_id(number));
    fork.now = origin.now;
    let (origin, by) = (origin.run.id.clone(), samples::actor("eve"));
    let asked = Fork { origin, log, changes: ForkChanges::default(), by };
    fork.take(Command::Fork(Box::new(asked))).expect("every point can be forked");
    Some(fork)
}

fn walk(name: &str, config: domain::RunConfig, caps: u32, steps: &[Step]) {
    let mut playbook = Playbook::built_in(name).unwrap();
    for stage in &mut playbook.stages {
        (stage.crashes, stage.revisions) = (caps, caps);
    }
    let mut history = History::unopened(samples::run_id(7));
    let start = domain::Start { playbook, ..samples::start(config) };
    history.take(Command::Start(Box::new(start))).unwrap();
    let mut origins: Vec<History> = Vec::new();
    for (step, number) in steps.iter().zip(100..) {
        if let Some(command) = command(&history.run, step) {
            let _ = history.take(command);
        }
        if let Step::Fork { which } = step
            && let Some(fork) = fork(&history, *which, number)
        {
            origins.push(std::mem::replace(&mut history, fork));
        }
        check_alive(&history.run);
    }
    for (fork, origin) in origins.iter().skip(1).chain([&history]).zip(&origins) {
        assert_eq!(check_fork(&fork.log, &origin.log), []);
    }
    assert_eq!(check_log(&history.run.id, &history.log), []);
    assert_eq!(replay(history.run.id.clone(), history.log.iter().cloned()), history.run);
    check_cancel(history);
}

macro_rules! walks {
    ($($test:ident: $name:literal)*) => {
        proptest! {
            #![proptest_config(ProptestConfig { cases: 1700, failure_persistence: None, ..ProptestConfig::default() })]
            $(#[test]
            fn $test(config in config(), caps in 1..3_u32, steps in prop::collection::vec(step(), 1..60)) {
                walk($name, config, caps, &steps);
            })*
        }
    };
}

walks! {
    no_walk_through_autonomous_breaks_a_rule: "autonomous"
    no_walk_through_team_breaks_a_rule: "team"
    no_walk_through_subtask_breaks_a_rule: "subtask"
    no_walk_through_staged_breaks_a_rule: "staged"
    no_walk_through_goal_breaks_a_rule: "goal"
    no_walk_through_task_breaks_a_rule: "task"
}
