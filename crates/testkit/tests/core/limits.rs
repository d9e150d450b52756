//! Limits of money: 80 % asks, all of it waits, for the run itself and for what it shares with others.

use domain::{
    AgentEnd, Command, Decision, DecisionKind, Effect, HoldKind, Mark, Micros, Purse, RunConfig, Shortage, SpendReport,
};
use testkit::{History, samples};

use crate::kit::{agent, begin, held, keeps_every_rule, open, until};

fn limited(limit: u64) -> History {
    let mut history = begin("autonomous", RunConfig { budget: Some(Micros(limit)), ..samples::config() });
    until(&mut history, "planning");
    history
}

/// What the agent at work is given: all it may spend, and what before somebody is asked.
fn given(history: &History) -> (Option<Micros>, Option<Micros>) {
    let Some((_, task)) = history.run.agent() else { panic!("no agent is at work") };
    (task.envelope, task.ask_after)
}

fn spend(history: &mut History, cost: u64) {
    let (effect, _) = history.run.agent().unwrap();
    let call = history.run.spend.counted.get(&effect).copied().unwrap_or(0) + 1;
    let model = "house/m".to_owned();
    let report = SpendReport {
        effect,
        call,
        model,
        input_tokens: 1,
        output_tokens: 1,
        cost: Some(Micros(cost)),
        reported_by: None,
    };
    history.take(Command::Spend(report)).unwrap();
}

fn short(history: &mut History, shortage: Shortage) {
    agent(history, AgentEnd::BudgetSpent { reason: "not made".to_owned(), shortage });
}

fn ask(purse: Purse) -> Shortage {
    Shortage { purse, mark: Mark::Ask, resets_at: None }
}

#[test]
fn at_four_fifths_a_person_is_asked_once_and_a_yes_goes_on_to_the_limit() {
    let mut history = limited(1_000);
    assert_eq!(given(&history), (Some(Micros(1_000)), Some(Micros(800))));
    spend(&mut history, 850);
    short(&mut history, ask(Purse::Run));
    use DecisionKind::{Approve, Cancel, Raise, Retry};
    assert_eq!(held(&history), (HoldKind::Budget, vec![Approve, Raise, Retry, Cancel]));
    let summary = &history.run.hold().unwrap().summary;
    assert!(summary.contains("80 % of the spend limit of $0.0010 is spent ($0.0008"), "{summary}");
    history.decide("ada", Decision::Approve { notes: None }).unwrap();
    assert_eq!(given(&history), (Some(Micros(150)), None));
    keeps_every_rule(&history);
}

#[test]
fn after_a_raise_the_next_question_is_at_four_fifths_of_the_new_limit() {
    let mut history = limited(1_000);
    spend(&mut history, 1_000);
    short(&mut history, Shortage::default());
    assert!(!held(&history).1.contains(&DecisionKind::Approve), "a yes would change nothing");
    history.decide("ada", Decision::Raise { by: Micros(1_000) }).unwrap();
    assert_eq!(given(&history), (Some(Micros(1_000)), Some(Micros(600))));
    spend(&mut history, 700);
    short(&mut history, ask(Purse::Run));
    history.decide("ada", Decision::Raise { by: Micros(100) }).unwrap();
    assert_eq!(given(&history), (Some(Micros(400)), None), "who raises it by little was asked already");
    keeps_every_rule(&history);
}

#[test]
fn a_days_limit_lets_the_run_go_on_by_itself_on_the_next_day() {
    let mut history = limited(1_000);
    let at = history.now + jiff::SignedDuration::from_hours(9);
    short(&mut history, Shortage { purse: Purse::Day, mark: Mark::Limit, resets_at: Some(at) });
    assert_eq!((held(&history).0, history.run.timer().map(|timer| timer.at)), (HoldKind::Budget, Some(at)));
    let timer = history.run.timer().unwrap().id;
    history.take(Command::TimerFired { timer }).unwrap();
    assert_eq!(open(&history), ["run_agent"]);
    keeps_every_rule(&history);
}

#[test]
fn beyond_a_shared_limit_only_the_raised_run_may_spend() {
    let mut history = limited(1_000);
    short(&mut history, Shortage { purse: Purse::Day, ..Shortage::default() });
    history.decide("ada", Decision::Raise { by: Micros(70) }).unwrap();
    let Some((_, task)) = history.run.agent() else { panic!() };
    assert_eq!(task.waived.beyond, [(Purse::Day, Micros(70))].into());
    assert_eq!(history.run.budget, Some(Micros(1_000)), "its own limit is another matter");
    short(&mut history, ask(Purse::Project));
    history.decide("ada", Decision::Approve { notes: None }).unwrap();
    assert_eq!(history.run.waived.asked, [Purse::Day, Purse::Project].into());
    keeps_every_rule(&history);
}

#[test]
fn a_cheaper_model_goes_on_in_the_same_conversation() {
    let mut history = limited(1_000);
    short(&mut history, Shortage::default());
    let model = Some("house/small".parse().unwrap());
    history.decide("ada", Decision::Retry { feedback: None, model }).unwrap();
    let Some(Effect::RunAgent(task)) = history.run.open_effects.values().next() else { panic!() };
    assert_eq!((task.session.visit, task.session.attempt), (1, 2));
    assert_eq!(history.run.model(&task.session.role).unwrap().as_str(), "house/small");
}
