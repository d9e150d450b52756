//! Driving a run of any playbook to the place a test is about.

use domain::{
    AgentEnd, ChildReport, Command, Decision, DecisionKind, Effect, Ending, Event, HoldKind, Outcome, Plan, Playbook,
    RunConfig, Task, TaskStatus, check_log,
};
use testkit::moves::child_report;
use testkit::{History, agree, samples};

pub(crate) fn begin(name: &str, config: RunConfig) -> History {
    begin_as(Playbook::built_in(name).unwrap(), config)
}

pub(crate) fn begin_as(playbook: Playbook, config: RunConfig) -> History {
    let mut history = History::unopened(samples::run_id(1));
    let start = domain::Start { playbook, ..samples::start(config) };
    history.take(Command::Start(Box::new(start))).unwrap();
    history
}

/// Ends the first open effect well.
pub(crate) fn good(history: &mut History) {
    let (number, effect) = history.run.open_effects.first_key_value().unwrap();
    let outcome = agree(&history.run, *number, effect);
    let number = *number;
    history.report(number, outcome).unwrap();
}

/// Ends the first open effect in some way.
pub(crate) fn end(history: &mut History, outcome: Outcome) {
    let number = *history.run.open_effects.first_key_value().unwrap().0;
    history.report(number, outcome).unwrap();
}

pub(crate) fn agent(history: &mut History, end_: AgentEnd) {
    end(history, Outcome::AgentEnded { end: end_, tier: None, program: None, wip: None });
}

/// Ends effects well until the run stands at a place, as the transition table names it.
pub(crate) fn until(history: &mut History, place: &str) {
    while history.run.visible() != place {
        good(history);
    }
}

pub(crate) fn yes(history: &mut History) {
    history.decide("ada", Decision::Approve { notes: None }).unwrap();
}

pub(crate) fn retry() -> Decision {
    Decision::Retry { feedback: None, model: None }
}

pub(crate) fn held(history: &History) -> (HoldKind, Vec<DecisionKind>) {
    let hold = history.run.hold().unwrap();
    (hold.kind, hold.allowed.clone())
}

/// Words of the open effects, in order.
pub(crate) fn open(history: &History) -> Vec<&'static str> {
    history.run.open_effects.values().map(Effect::word).collect()
}

pub(crate) fn statuses(history: &History) -> Vec<TaskStatus> {
    history.run.tasks.iter().map(|task| task.status).collect()
}

/// The newest child of a task ends.
pub(crate) fn child(history: &mut History, task: &str, ending: Ending) {
    let report: ChildReport = child_report(&history.run, history.run.task(task).unwrap(), ending);
    history.take(Command::ChildEnded(report)).unwrap();
}

pub(crate) fn task(id: &str, depends_on: &[&str]) -> Task {
    let mut task = samples::plan().tasks.remove(0);
    task.id = id.to_owned();
    task.depends_on = depends_on.iter().map(|id| (*id).to_owned()).collect();
    task.files = vec![format!("src/{id}.rs")];
    task
}

/// A team run whose execution has just begun on a plan.
pub(crate) fn executing(config: RunConfig, tasks: Vec<Task>) -> History {
    let mut history = begin("team", RunConfig { skip_clarification: true, ..config });
    until(&mut history, "planning");
    good_until_held(&mut history);
    let plan = Plan { summary: "all of it".to_owned(), tasks };
    history.decide("ada", Decision::ModifyPlan { plan: samples::plan_text(&plan) }).unwrap();
    until(&mut history, "execution");
    history
}

pub(crate) fn good_until_held(history: &mut History) {
    while history.run.hold().is_none() && !history.run.open_effects.is_empty() {
        good(history);
    }
}

/// All children that are being begun are.
pub(crate) fn start_children(history: &mut History) {
    while open(history).first() == Some(&"start_child") {
        good(history);
    }
}

pub(crate) fn keeps_every_rule(history: &History) {
    assert_eq!(check_log(&history.run.id, &history.log), []);
}

pub(crate) fn count(history: &History, wanted: impl Fn(&Event) -> bool) -> usize {
    history.log.iter().filter(|recorded| wanted(&recorded.event)).count()
}
