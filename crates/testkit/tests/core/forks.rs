//! A fork begins where another run stood, with all that run did and nothing of what it spent.

use domain::{
    AgentEnd, AgentProgram, Command, Decision, Effect, Ending, Event, Fork, ForkChanges, ForkPoint, ForkStand, Gate,
    Micros, Outcome, Phase, Recorded, Rejection, SpendReport, TaskStatus, check_fork, check_log, fork_points, replay,
};
use testkit::{History, samples};

use crate::kit::{agent, begin, child, end, executing, good, good_until_held, keeps_every_rule, open, until, yes};

fn points(history: &History) -> Vec<ForkPoint> {
    fork_points(&history.run.id, &history.log)
}

fn fork_at(origin: &History, at: u64, changes: ForkChanges) -> Result<History, Rejection> {
    let mut fork = History::unopened(samples::run_id(8));
    fork.now = origin.now;
    let log: Vec<Recorded> = origin.log.iter().filter(|recorded| recorded.sequence <= at).cloned().collect();
    let origin = origin.run.id.clone();
    fork.take(Command::Fork(Box::new(Fork { origin, log, changes, by: samples::actor("eve") })))?;
    Ok(fork)
}

fn decides(decision: Decision) -> ForkChanges {
    ForkChanges { decision: Some(decision), ..ForkChanges::default() }
}

fn manual() -> domain::RunConfig {
    let mut config = samples::config();
    config.trust.planning = Gate::Manual;
    config
}

fn spends(history: &mut History, cost: u64) {
    let effect = history.open().unwrap();
    let call = history.run.spend.counted.get(&effect).copied().unwrap_or(0) + 1;
    let spend = SpendReport {
        effect,
        call,
        model: "scripted/one".to_owned(),
        input_tokens: 10,
        output_tokens: 5,
        cost: Some(Micros(cost)),
        reported_by: None,
    };
    history.take(Command::Spend(spend)).unwrap();
}

/// A run that has planned, at a price, and waits for a yes.
fn planned() -> History {
    let mut history = begin("autonomous", manual());
    until(&mut history, "planning");
    spends(&mut history, 700);
    good_until_held(&mut history);
    history
}

fn keeps_to(fork: &History, origin: &History) {
    keeps_every_rule(fork);
    assert_eq!(check_fork(&fork.log, &origin.log), []);
    assert_eq!(replay(fork.run.id.clone(), fork.log.iter().cloned()), fork.run);
}

#[test]
fn a_fork_at_a_hold_waits_on_the_same_hold_with_a_branch_of_its_own() {
    let origin = planned();
    let last = points(&origin).pop().unwrap();
    assert_eq!((last.stand, last.at, last.cost), (ForkStand::Hold, origin.run.version, Micros(700)));
    let mut fork = fork_at(&origin, last.at, ForkChanges::default()).unwrap();
    assert_eq!(open(&fork), ["open_fork"]);
    assert_ne!(fork.run.opened().branch, origin.run.opened().branch);
    good(&mut fork);
    let (held, there) = (fork.run.hold().unwrap(), origin.run.hold().unwrap());
    assert_eq!((held.id, &held.digest, &held.artifact), (there.id, &there.digest, &there.artifact));
    assert!(held.since > there.since, "it waits since it was forked");
    let from = fork.run.opened().forked_from.clone().unwrap();
    assert_eq!((from.run, from.at), (origin.run.id.clone(), last.at));
    fork.decide("eve", Decision::Approve { notes: None }).unwrap();
    fork.go_on();
    assert_eq!(fork.run.phase, Phase::Ended { ending: Ending::Completed });
    keeps_to(&fork, &origin);
}

#[test]
fn what_came_before_is_inherited_and_counts_against_nothing() {
    let mut config = manual();
    config.budget = Some(Micros(1000));
    let mut origin = begin("autonomous", config);
    until(&mut origin, "planning");
    spends(&mut origin, 900);
    good_until_held(&mut origin);
    let at = origin.run.version;
    let mut fork = fork_at(&origin, at, ForkChanges::default()).unwrap();
    good(&mut fork);
    assert_eq!((fork.run.cost(), fork.run.inherited.cost, fork.run.inherited.calls), (Micros(0), Micros(900), 1));
    assert_eq!(fork.run.envelope(), Some(Micros(1000)));
    let other = ForkChanges { budget: Some(Micros(50)), ..ForkChanges::default() };
    let mut cheap = fork_at(&origin, at, other).unwrap();
    good(&mut cheap);
    yes(&mut cheap);
    good(&mut cheap);
    assert_eq!(cheap.run.agent().unwrap().1.envelope, Some(Micros(50)), "its own limit, and only its own");
    keeps_to(&fork, &origin);
    keeps_to(&cheap, &origin);
}

#[test]
fn a_fork_at_a_question_goes_on_with_the_other_answer_in_the_same_conversation() {
    let mut origin = begin("autonomous", samples::config());
    until(&mut origin, "planning");
    agent(&mut origin, AgentEnd::Asked { questions: vec![samples::question("which?")] });
    let asked = points(&origin).pop().unwrap();
    origin.decide("ada", Decision::Answer { answer: vec!["Google".to_owned()] }).unwrap();
    origin.go_on();
    assert!(origin.run.is_ended());
    let answer = Decision::Answer { answer: vec!["GitHub".to_owned()] };
    let mut fork = fork_at(&origin, asked.at, decides(answer)).unwrap();
    assert_eq!(fork.run.carried_session().unwrap(), &origin.run.sessions["planner"].clone().before());
    good(&mut fork);
    let (_, task) = fork.run.agent().unwrap();
    assert_eq!((task.session.visit, task.session.attempt), (1, 2), "it goes on where it was");
    let said = fork.run.answers.last().unwrap();
    assert_eq!((said.answer.as_deref(), said.by.as_str()), (Some(["GitHub".to_owned()].as_slice()), "eve"));
    fork.go_on();
    assert!(fork.run.is_ended());
    keeps_to(&fork, &origin);
    let mut anew = fork_at(&origin, asked.at, ForkChanges::default()).unwrap();
    end(&mut anew, Outcome::ForkOpened { carried: false });
    anew.decide("eve", Decision::Ignore).unwrap();
    assert_eq!(anew.run.agent().unwrap().1.session.visit, 2, "what cannot be taken along begins anew");
    keeps_to(&anew, &origin);
}

trait Before {
    fn before(self) -> Self;
}

impl Before for domain::Session {
    fn before(self) -> Self {
        Self { attempt: self.attempt - 1, ..self }
    }
}

#[test]
fn a_completed_run_can_be_forked_at_every_point_it_passed_and_each_fork_ends_well() {
    for (name, config) in [("autonomous", manual()), ("staged", samples::config()), ("task", samples::config())] {
        let mut origin = begin(name, config);
        while !origin.run.is_ended() {
            if origin.run.hold().is_some() { yes(&mut origin) } else { good(&mut origin) }
        }
        let all = points(&origin);
        assert!(all.iter().any(|point| matches!(point.stand, ForkStand::Done(_))), "{name}");
        assert!(all.iter().any(|point| matches!(point.stand, ForkStand::Begun(_))), "{name}");
        for point in all {
            let mut fork = fork_at(&origin, point.at, ForkChanges::default()).unwrap();
            while !fork.run.is_ended() {
                if fork.run.hold().is_some() { yes(&mut fork) } else { good(&mut fork) }
            }
            assert_eq!(fork.run.phase, Phase::Ended { ending: Ending::Completed }, "{name} {point:?}");
            keeps_to(&fork, &origin);
        }
    }
}

#[test]
fn between_points_there_is_nothing_to_fork() {
    let origin = planned();
    let known: Vec<u64> = points(&origin).iter().map(|point| point.at).collect();
    for at in 0..=origin.run.version {
        let forked = fork_at(&origin, at, ForkChanges::default());
        assert_eq!(forked.is_ok(), known.contains(&at), "{at}");
    }
    let mut gap = origin.log.clone();
    gap.remove(2);
    let fork =
        Fork { origin: origin.run.id.clone(), log: gap, changes: ForkChanges::default(), by: samples::actor("eve") };
    let refused = History::unopened(samples::run_id(8)).take(Command::Fork(Box::new(fork)));
    assert!(matches!(refused, Err(Rejection::NotForkable(_))));
}

#[test]
fn a_decision_that_the_point_does_not_take_makes_nothing() {
    let origin = planned();
    let (first, held) = (points(&origin)[0].clone(), origin.run.version);
    let refused = |at, decision| fork_at(&origin, at, decides(decision)).unwrap_err();
    let answer = Decision::Answer { answer: vec!["x".to_owned()] };
    assert!(matches!(refused(first.at, answer.clone()), Rejection::NotForkable(_)), "nobody was asked");
    assert!(matches!(refused(held, answer), Rejection::NotAllowed { .. }));
    assert!(matches!(refused(held, Decision::Reject { feedback: " ".to_owned() }), Rejection::BadAnswer(_)));
    assert!(matches!(refused(held, Decision::Cancel { reason: None }), Rejection::NotForkable(_)));
}

#[test]
fn the_persons_own_plan_takes_the_place_of_the_one_that_was_shown() {
    let origin = planned();
    let plan = Decision::ModifyPlan { plan: "# Mine\n".to_owned() };
    let mut fork = fork_at(&origin, origin.run.version, decides(plan)).unwrap();
    good(&mut fork);
    assert_eq!(open(&fork), ["commit_artifact"]);
    fork.go_on();
    assert!(fork.run.is_ended());
    keeps_to(&fork, &origin);
}

#[test]
fn another_model_or_program_plays_the_role_from_there_on() {
    let mut origin = begin("autonomous", samples::config());
    until(&mut origin, "planning");
    agent(&mut origin, AgentEnd::Asked { questions: vec![samples::question("which?")] });
    let changes = ForkChanges {
        models: [("implementer".to_owned(), "other/big".parse().unwrap())].into(),
        agents: [("planner".to_owned(), AgentProgram::Claude)].into(),
        direct: ["planner".to_owned()].into(),
        ..decides(Decision::Ignore)
    };
    let mut fork = fork_at(&origin, origin.run.version, changes).unwrap();
    assert_eq!(fork.run.carried_session(), None, "another program cannot go on in it");
    good(&mut fork);
    assert_eq!(fork.run.agent().unwrap().1.session.visit, 2);
    assert_eq!((fork.run.program("planner"), fork.run.is_direct("planner")), (AgentProgram::Claude, true));
    assert_eq!(fork.run.model("implementer").unwrap().to_string(), "other/big");
    assert_ne!(origin.run.model("implementer").unwrap().to_string(), "other/big");
    keeps_to(&fork, &origin);
}

#[test]
fn a_fork_of_a_fork_inherits_from_both() {
    let origin = planned();
    let mut fork = fork_at(&origin, origin.run.version, ForkChanges::default()).unwrap();
    good(&mut fork);
    yes(&mut fork);
    until(&mut fork, "implementation");
    spends(&mut fork, 50);
    good_until_held(&mut fork);
    fork.go_on();
    let mut second = History::unopened(samples::run_id(9));
    let last = points(&fork).pop().unwrap();
    let log: Vec<Recorded> = fork.log.iter().filter(|recorded| recorded.sequence <= last.at).cloned().collect();
    let asked = Fork { origin: fork.run.id.clone(), log, changes: ForkChanges::default(), by: samples::actor("eve") };
    second.take(Command::Fork(Box::new(asked))).unwrap();
    assert_eq!(second.run.inherited.cost, Micros(750));
    second.go_on();
    assert!(second.run.is_ended());
    keeps_to(&second, &fork);
    let early = points(&fork).into_iter().find(|point| point.at < origin.run.version).unwrap();
    let log: Vec<Recorded> = fork.log.iter().filter(|recorded| recorded.sequence <= early.at).cloned().collect();
    let asked = Fork { origin: fork.run.id.clone(), log, changes: ForkChanges::default(), by: samples::actor("eve") };
    let mut third = History::unopened(samples::run_id(10));
    third.take(Command::Fork(Box::new(asked))).unwrap();
    good_until_held(&mut third);
    keeps_to(&third, &fork);
}

#[test]
fn a_paused_run_is_forked_once_its_agent_is_gone() {
    let mut origin = begin("autonomous", samples::config());
    until(&mut origin, "planning");
    origin.take(Command::Pause { by: samples::actor("bob"), reason: None }).unwrap();
    let held = origin.run.version;
    assert!(points(&origin).iter().all(|point| point.at < held), "the agent is being stopped");
    good(&mut origin);
    let point = points(&origin).pop().unwrap();
    assert_eq!((point.at, point.stand), (origin.run.version, ForkStand::Hold));
    let mut fork = fork_at(&origin, point.at, decides(Decision::Resume)).unwrap();
    good(&mut fork);
    assert_eq!(open(&fork), ["run_agent"]);
    keeps_to(&fork, &origin);
}

#[test]
fn while_a_child_works_there_is_no_point_and_its_parent_is_what_is_forked() {
    let tasks = vec![crate::kit::task("a", &[]), crate::kit::task("b", &["a"])];
    let mut origin = executing(samples::config(), tasks);
    let begun = points(&origin).pop().unwrap();
    assert_eq!(begun.stage.as_deref(), Some("execution"));
    crate::kit::start_children(&mut origin);
    child(&mut origin, "a", Ending::Completed);
    assert_eq!(points(&origin).pop().unwrap().at, begun.at);
    let mut fork = fork_at(&origin, begun.at, ForkChanges::default()).unwrap();
    good(&mut fork);
    assert_eq!(fork.run.tasks[0].status, TaskStatus::Starting);
    let Some(Effect::StartChild(wanted)) = fork.run.open_effects.values().next().cloned() else { panic!() };
    assert_eq!((wanted.task.as_str(), wanted.attempt), ("a", 1));
    keeps_to(&fork, &origin);
}

#[test]
fn a_branch_that_cannot_be_made_fails_the_fork_and_nothing_else() {
    let origin = planned();
    let mut fork = fork_at(&origin, origin.run.version, ForkChanges::default()).unwrap();
    end(&mut fork, Outcome::Failed { message: "its commit is gone".to_owned(), hint: None });
    assert_eq!(fork.run.failure.as_deref(), Some("its commit is gone"));
    fork.go_on();
    keeps_to(&fork, &origin);
}

#[test]
fn what_an_agent_of_the_origin_spends_or_reads_late_is_not_the_forks() {
    let origin = planned();
    let mut fork = fork_at(&origin, origin.run.version, ForkChanges::default()).unwrap();
    let spend = SpendReport {
        effect: 2,
        call: 9,
        model: "scripted/one".to_owned(),
        input_tokens: 1,
        output_tokens: 1,
        cost: None,
        reported_by: None,
    };
    assert_eq!(fork.take(Command::Spend(spend)).unwrap_err(), Rejection::EffectNotOpen(2));
    let read = domain::TaintReport { effect: 2, source: domain::TaintSource::mcp("docs") };
    assert_eq!(fork.take(Command::Taint(read)).unwrap_err(), Rejection::EffectNotOpen(2));
}

#[test]
fn what_the_origin_read_after_the_point_taints_the_fork_that_takes_its_folders_along() {
    let origin = planned();
    let read_since = vec![domain::TaintSource::mcp("docs"), domain::TaintSource::mcp("docs")];
    let changes = ForkChanges { read_since, ..ForkChanges::default() };
    let fork = fork_at(&origin, origin.run.version, changes).unwrap();
    let strangers: Vec<String> = fork.run.strangers().map(domain::TaintSource::words).collect();
    assert_eq!(strangers, ["MCP server docs"]);
    assert_eq!(fork.run.reach(), domain::Reach::NoSecrets);
    assert!(fork.run.awaits_look());
    keeps_to(&fork, &origin);
}

#[test]
fn a_pause_that_is_asked_for_while_the_branch_is_made_lets_nothing_be_decided() {
    let origin = planned();
    let mut fork = fork_at(&origin, origin.run.version, decides(Decision::Approve { notes: None })).unwrap();
    fork.take(Command::Pause { by: samples::actor("bob"), reason: None }).unwrap();
    good(&mut fork);
    assert_eq!((fork.run.visible().as_str(), &fork.run.pausing), ("planning: approval", &None));
    keeps_to(&fork, &origin);
}

#[test]
fn a_question_with_a_deadline_gives_the_fork_as_long_as_its_origin_had() {
    let mut origin = begin("autonomous", samples::config());
    until(&mut origin, "planning");
    let mut question = samples::question("which?");
    question.deadline_minutes = Some(30);
    agent(&mut origin, AgentEnd::Asked { questions: vec![question] });
    let at = origin.run.version;
    origin.now += jiff::SignedDuration::from_hours(20);
    let mut fork = fork_at(&origin, at, ForkChanges::default()).unwrap();
    good(&mut fork);
    let hold = fork.run.hold().unwrap();
    assert_eq!(hold.deadline.unwrap(), origin.now + jiff::SignedDuration::from_mins(30));
    assert_eq!(fork.run.timer().unwrap().at, hold.deadline.unwrap());
    keeps_to(&fork, &origin);
}

#[test]
fn a_fork_that_changed_what_it_inherited_is_found_out() {
    let origin = planned();
    let mut fork = fork_at(&origin, origin.run.version, ForkChanges::default()).unwrap();
    good(&mut fork);
    let rules = |log: &[Recorded]| {
        let mut found = check_log(&fork.run.id, log);
        found.extend(check_fork(log, &origin.log));
        found.into_iter().map(|violation| violation.rule).collect::<Vec<_>>()
    };
    let mut looser = fork.log.clone();
    let Event::RunStarted { config, .. } = &mut looser[0].event else { panic!() };
    config.trust.planning = Gate::Auto;
    assert_eq!(rules(&looser), [23]);
    let mut other = fork.log.clone();
    let place = other.iter().position(|recorded| matches!(recorded.event, Event::ArtifactCreated { .. })).unwrap();
    let Event::ArtifactCreated { artifact, .. } = &mut other[place].event else { panic!() };
    artifact.title = "something else".to_owned();
    assert!(rules(&other).contains(&23));
    let mut silent = fork.log.clone();
    let Event::RunStarted { forked_from, .. } = &mut silent[0].event else { panic!() };
    *forked_from = None;
    assert!(rules(&silent).contains(&23), "it says that it was forked, but not from where");
    let mut half = fork.log.clone();
    let forked = half.iter_mut().find(|recorded| matches!(recorded.event, Event::RunForked { .. })).unwrap();
    let Event::RunForked { at, .. } = &mut forked.event else { panic!() };
    *at -= 1;
    assert!(rules(&half).contains(&23));
}
