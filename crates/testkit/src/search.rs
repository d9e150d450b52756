//! The whole abstract machine of a playbook: breadth first from the start over all moves, each state once. Counters
//! stand as what is left of them, so that what people may repeat for ever gives no new states.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use domain::{
    Because, Checker, Command, Ctx, Decision, Effect, Gate, Phase, Playbook, Recorded, Run, RunConfig, Stage, Start,
    TaskState, TaskStatus, Transition, Work, decide,
};

use crate::moves::moves;
use crate::samples;

/// What a search found.
#[derive(Debug)]
pub struct Found {
    /// States, each other than all others in what can happen next.
    pub states: usize,
    /// Commands that were taken.
    pub taken: usize,
    /// Whether there are no more states than these.
    pub whole: bool,
    /// Time it took.
    pub time: Duration,
    /// Ways between visible states.
    pub transitions: BTreeSet<Transition>,
    /// What is wrong, each with the commands that lead there.
    pub wrong: Vec<String>,
}

struct Node {
    checker: Checker,
    from: usize,
    by: String,
    into: Vec<usize>,
}

/// States that are looked at: two tasks at once have more than fit into a test, so `team` and
/// `staged` are searched breadth first up to here; the random walks and the simulation go deeper.
pub const MOST: usize = 20_000;

/// Searches a playbook under a configuration. Stops at the first `most` states or the first few errors.
#[must_use]
pub fn search(start: Start, most: usize) -> Found {
    let began = Instant::now();
    let mut search =
        Search { nodes: Vec::new(), known: HashMap::new(), transitions: BTreeSet::new(), wrong: Vec::new() };
    let first = Checker::new(samples::run_id(7));
    let mut queue = VecDeque::new();
    let (mut taken, mut whole) = (0, true);
    search.step(&first, usize::MAX, Command::Start(Box::new(start)), &mut queue);
    while let Some(at) = queue.pop_front() {
        let checker = search.nodes[at].checker.clone();
        let mut alive = checker.run.is_ended() || checker.run.hold().is_some();
        for command in moves(&checker.run) {
            let by_itself = matches!(command, Command::Report(_) | Command::TimerFired { .. } | Command::ChildEnded(_));
            let worked = search.step(&checker, at, command, &mut queue);
            taken += usize::from(worked);
            alive |= worked && by_itself;
        }
        if !alive {
            search.wrong(at, "nothing will ever happen to it");
        }
        if search.nodes.len() > most || search.wrong.len() > 3 {
            whole = false;
            break;
        }
    }
    if whole {
        search.check_ends();
    }
    let Search { nodes, transitions, wrong, .. } = search;
    Found { states: nodes.len(), taken, whole, time: began.elapsed(), transitions, wrong }
}

struct Search {
    nodes: Vec<Node>,
    known: HashMap<String, usize>,
    transitions: BTreeSet<Transition>,
    wrong: Vec<String>,
}

impl Search {
    /// Takes one command; whether it was taken.
    fn step(&mut self, before: &Checker, at: usize, command: Command, queue: &mut VecDeque<usize>) -> bool {
        let said = word(&command);
        let because = because(&command);
        let now = samples::at(0);
        let Ok(events) = decide(&before.run, command, &Ctx { now }) else { return false };
        let mut checker = before.clone();
        let mut first = true;
        for event in events {
            let from = checker.run.visible();
            let rewind = checker.run.rewind.clone();
            let recorded = Recorded { sequence: checker.run.version + 1, at: now, event };
            checker.take(&recorded);
            let to = checker.run.visible();
            if from != to && from != "unopened" {
                let because = if first { because } else { Because::Work };
                let because = delayed(&to, rewind.as_deref(), because);
                first = false;
                self.transitions.insert(Transition { from, to, because });
            }
        }
        if !checker.found.is_empty() {
            let found = format!("{:?}", checker.found);
            checker.found.clear();
            self.wrong.push(format!("{found}\n  after {}", self.path(at, &said)));
        }
        let key = key(&checker.run);
        let next = match self.known.get(&key) {
            Some(known) => *known,
            None => {
                self.nodes.push(Node { checker, from: at, by: said, into: Vec::new() });
                self.known.insert(key, self.nodes.len() - 1);
                if !beyond(&self.nodes[self.nodes.len() - 1].checker.run) {
                    queue.push_back(self.nodes.len() - 1);
                }
                self.nodes.len() - 1
            }
        };
        if because != Because::Cancel && at != usize::MAX {
            self.nodes[next].into.push(at);
        }
        true
    }

    fn path(&self, mut at: usize, last: &str) -> String {
        let mut words = vec![last.to_owned()];
        while at != usize::MAX {
            words.push(self.nodes[at].by.clone());
            at = self.nodes[at].from;
        }
        words.reverse();
        words.join(" · ")
    }

    fn wrong(&mut self, at: usize, what: &str) {
        let node = &self.nodes[at];
        let tasks: Vec<_> = node.checker.run.tasks.iter().map(|task| task.status.word()).collect();
        let state = format!("{} {tasks:?} {:?}", node.checker.run.visible(), node.checker.run.open_effects.values());
        self.wrong.push(format!("{what}: {state}\n  after {}", self.path(node.from, &node.by)));
    }

    /// Rule 16, the strong way: from every state some end can be reached without giving up.
    fn check_ends(&mut self) {
        let ends = |run: &Run| run.is_ended() || beyond(run);
        let mut good: HashSet<usize> = HashSet::new();
        let mut queue: Vec<usize> = (0..self.nodes.len()).filter(|at| ends(&self.nodes[*at].checker.run)).collect();
        while let Some(at) = queue.pop() {
            if good.insert(at) {
                queue.extend(self.nodes[at].into.iter().copied());
            }
        }
        let dead: Vec<usize> = (0..self.nodes.len()).filter(|at| !good.contains(at)).take(2).collect();
        for at in dead {
            self.wrong(at, "only cancelling ends it");
        }
    }
}

/// Where the search stops: tasks are worked with nothing assumed, and those an agent hands out only when it does so at
/// once. What people overturn while children work, and what is handed out later, is left to the random walks and the
/// simulation; together they have more states than fit.
#[must_use]
pub fn beyond(run: &Run) -> bool {
    let Some(index) = run.current_stage() else { return false };
    let delegates = matches!(run.stage(index).work, Work::Delegate { .. });
    let late = |index: usize| {
        let before = &run.stages[index - 1];
        run.questions_asked > 0 || before.visits > 1 || before.crashes > 0 || before.revisions > 0
    };
    let on_demand = run.opened().playbook.is_on_demand(index);
    delegates && (run.assumptions.iter().any(|known| !known.overturned) || (on_demand && late(index)))
}

/// A pause or a correction that was asked for earlier shows when what was being done ends.
fn delayed(to: &str, rewind: Option<&str>, because: Because) -> Because {
    if to.ends_with(": paused") && !matches!(because, Because::Cancel) {
        return Because::Pause;
    }
    if rewind == Some(to) { Because::Overturn } else { because }
}

fn because(command: &Command) -> Because {
    match command {
        Command::Decide(decide) if matches!(decide.decision, Decision::Cancel { .. }) => Because::Cancel,
        Command::Decide(decide) => Because::Decided(decide.decision.kind().word()),
        Command::TimerFired { .. } => Because::Clock,
        Command::Pause { .. } | Command::Attach { .. } => Because::Pause,
        Command::Overturn { .. } => Because::Overturn,
        Command::Cancel { .. } => Because::Cancel,
        Command::ForceMerge { .. } => Because::Decided("force_merge"),
        Command::Start(_)
        | Command::Fork(_)
        | Command::Report(_)
        | Command::Spend(_)
        | Command::Pursue(_)
        | Command::Taint(_)
        | Command::ChildEnded(_)
        | Command::Guide { .. } => Because::Work,
    }
}

fn word(command: &Command) -> String {
    match command {
        Command::Report(report) => report.outcome.word().to_owned(),
        Command::Decide(decide) => decide.decision.kind().word().to_owned(),
        Command::ChildEnded(report) => format!("{}:{:?}", report.task, report.ending),
        Command::Start(_) => "start".to_owned(),
        Command::Fork(_) => "fork".to_owned(),
        Command::TimerFired { .. } => "clock".to_owned(),
        Command::Pause { .. } => "pause".to_owned(),
        Command::Attach { .. } => "attach".to_owned(),
        Command::Guide { .. } => "guide".to_owned(),
        Command::Overturn { .. } => "overturn".to_owned(),
        Command::Cancel { .. } => "CANCEL".to_owned(),
        Command::ForceMerge { .. } => "force_merge".to_owned(),
        Command::Spend(_) => "spend".to_owned(),
        Command::Pursue(_) => "pursue".to_owned(),
        Command::Taint(_) => "taint".to_owned(),
    }
}

/// What of a run decides how it can go on.
fn key(run: &Run) -> String {
    if run.is_ended() {
        return format!("{} {:?}", run.visible(), open(run));
    }
    let hold = run.hold().map(|hold| {
        (
            hold.kind,
            hold.allowed.clone(),
            hold.task.clone(),
            hold.question.is_some(),
            hold.at_deadline,
            hold.deadline.is_some(),
            !hold.findings.is_empty(),
        )
    });
    let pending: Vec<_> = run.pending_questions.iter().map(|question| question.rule()).collect();
    let code = run.code().map(|code| code.commit.clone());
    let first = first_again(run);
    let stages: Vec<_> = run
        .stages
        .iter()
        .zip(&run.opened().playbook.stages)
        .skip(first)
        .map(|(state, stage)| {
            let left = match stage.work {
                Work::Pursue { .. } => state.iterations.saturating_sub(state.iterations_granted),
                Work::Converse { .. } => state.turns.min(3),
                Work::Produce { .. } | Work::Judge { .. } | Work::Prove { .. } | Work::Delegate { .. } => {
                    state.fails.saturating_sub(state.rounds_granted)
                }
            };
            let passed = state.passed_for.is_some() && state.passed_for == code;
            (state.revisions, left, state.pulses, passed, state.completed_at.is_some())
        })
        .collect();
    let crashes = run.current_stage().map(|index| run.stages[index].crashes);
    let step = match &run.phase {
        Phase::Working { step, .. } => format!("{step:?}"),
        Phase::Finishing { step, .. } => format!("{step:?}"),
        Phase::Publishing { .. } => "publishing".to_owned(),
        Phase::Unopened
        | Phase::Opening { .. }
        | Phase::Delegating { .. }
        | Phase::Holding { .. }
        | Phase::Ended { .. } => String::new(),
    };
    let failed = run.failed_effect.as_ref().map(Effect::word);
    let assumed: Vec<_> = run.assumptions.iter().filter(|known| !known.overturned).map(|known| &known.stage).collect();
    let made = run.artifacts.last().map(|made| (made.kind, made.stage.clone(), made.risks.len()));
    let again = |stage: &&str| run.opened().playbook.index_of(stage).is_some_and(|index| index >= first);
    let artifacts: BTreeSet<&str> = run.artifacts.iter().map(|made| made.stage.as_str()).filter(again).collect();
    // Tasks that are not done are in doubt when the goal is said to be met; a question about a hold brings it back.
    let goal = (run.goal.tasks.len() > run.goal.completed(), run.goal.waits.is_some());
    let flags = (
        run.questions_asked,
        run.validated.is_some(),
        run.merged.is_some(),
        run.pausing.is_some(),
        run.merge_approved,
        run.wants_pr,
        run.awaits_look(),
    );
    if run.forced.is_some() {
        // Who forced a merge left the stages for good.
        let merged = run.merged.is_some();
        return format!("forced {} {step} {hold:?} {:?} {failed:?} {merged} {}", run.visible(), open(run), tasks(run));
    }
    format!(
        "{} {step} {hold:?} {pending:?} {:?} {stages:?} {failed:?} {assumed:?} {made:?} {artifacts:?} {goal:?} {flags:?} {crashes:?} {:?} {:?} {}",
        run.visible(),
        open(run),
        run.rewind,
        (&run.taken_over, run.attached.is_some()),
        tasks(run)
    )
}

/// The first stage the run can ever be in again: what is left of those before it decides nothing.
fn first_again(run: &Run) -> usize {
    let playbook = &run.opened().playbook;
    let current = match &run.phase {
        Phase::Unopened | Phase::Opening { .. } => 0,
        Phase::Working { .. }
        | Phase::Delegating { .. }
        | Phase::Publishing { .. }
        | Phase::Holding { .. }
        | Phase::Finishing { .. }
        | Phase::Ended { .. } => run.current_stage().unwrap_or(playbook.stages.len()),
    };
    let assumed = run.assumptions.iter().filter(|known| !known.overturned).map(|known| known.stage.as_str());
    let back = playbook.stages.iter().skip(current).filter_map(|stage| stage.work.on_fail());
    let again = assumed.chain(run.rewind.as_deref()).chain(back).filter_map(|name| playbook.index_of(name));
    again.chain([current]).min().unwrap_or(0)
}

fn open(run: &Run) -> Vec<String> {
    let one = |effect: &Effect| match effect {
        Effect::RunAgent(task) => format!("{} {:?}", task.stage, std::mem::discriminant(&task.purpose)),
        Effect::StartChild(child) => format!("start {} {}", child.task, child.resolve.len()),
        Effect::MergeChild(merge) => format!("merge {}", merge.task),
        Effect::TellChild { task, word, .. } => format!("tell {task} {word:?}"),
        Effect::OpenBranch
        | Effect::OpenChildBranch
        | Effect::OpenFork { .. }
        | Effect::Prove { .. }
        | Effect::StopAgent { .. }
        | Effect::CommitArtifact { .. }
        | Effect::Adopt { .. }
        | Effect::TellAgent { .. }
        | Effect::TellParent
        | Effect::Publish { .. }
        | Effect::WriteRecord
        | Effect::Land(_)
        | Effect::PushRemote { .. }
        | Effect::OpenPullRequest { .. }
        | Effect::CleanUp => effect.word().to_owned(),
    };
    run.open_effects.values().map(one).collect()
}

/// Tasks as they stand; repairs that are settled count only in what they leave.
fn tasks(run: &Run) -> String {
    let playbook = &run.opened().playbook;
    let delegates = run.current_stage().is_some_and(|index| matches!(run.stage(index).work, Work::Delegate { .. }));
    let on_demand = (0..playbook.stages.len()).any(|index| playbook.is_on_demand(index));
    if on_demand && !delegates && run.tasks.iter().all(|task| task.status.is_settled()) {
        // New ones would take their place.
        return String::new();
    }
    let repair = |task: &&TaskState| task.task.id.starts_with("repair-") && task.status.is_settled();
    let failed = |task: &TaskState| matches!(task.status, TaskStatus::Failed | TaskStatus::Skipped);
    let settled = run.tasks.iter().filter(repair).map(failed).collect::<BTreeSet<bool>>();
    let rest = run.tasks.iter().filter(|task| !repair(task));
    let rest: Vec<_> = rest
        .map(|task| {
            let id = task.task.id.split('-').next().unwrap_or_default().to_owned();
            // What a merged task went through decides nothing any more.
            let tried = (task.status != TaskStatus::Merged).then_some((
                task.retries.min(1),
                task.resolves,
                task.resolve_asked,
                task.marked.is_some(),
                task.commit.is_some(),
            ));
            (id, task.status, tried)
        })
        .collect();
    format!("{settled:?} {rest:?}")
}

/// A playbook whose loops are short enough to see all of it.
#[must_use]
pub fn bounded(name: &str) -> Playbook {
    let mut playbook = Playbook::built_in(name).expect("a built-in playbook");
    playbook.stages.iter_mut().for_each(bound);
    // With many stages, what each may have left multiplies.
    if playbook.stages.len() > 2 && name != "subtask" {
        playbook.stages.iter_mut().for_each(|stage| stage.crashes = 1);
    }
    playbook
}

fn bound(stage: &mut Stage) {
    (stage.crashes, stage.revisions) = (2, 1);
    match &mut stage.work {
        Work::Judge { rounds, .. } | Work::Prove { rounds, .. } => *rounds = 1,
        Work::Converse { rounds } => *rounds = 2,
        Work::Pursue { iterations } => *iterations = 2,
        Work::Delegate { agents, .. } => *agents = 2,
        Work::Produce { .. } => {}
    }
}

/// Searches that together reach everything a table names: with all trust and a question, whose answer can be overturned;
/// with none, where people send work back; and, where all of it fits, with text of strangers.
#[must_use]
pub fn searches(name: &str) -> Vec<(&'static str, Start)> {
    let child = name == "subtask";
    let mut open = samples::config();
    let playbook = bounded(name);
    // Two questions where they fit: one that is assumed, and another that waits while it is overturned.
    open.max_clarifications = if playbook.stages.len() > 1 { 1 } else { 2 };
    (open.budget, open.git.review, open.git.push) = (None, true, true);
    let mut closed = open.clone();
    closed.trust = domain::Trust { planning: Gate::Manual, implementation: Gate::Manual, fixes: Gate::Manual };
    closed.max_clarifications = 0;
    closed.on_failure = Some(domain::OnFailure::Stop);
    (closed.git.review, closed.git.create_pr) = (false, true);
    closed.require_approval = playbook.stages.iter().map(|stage| stage.name.clone()).collect();
    let mut trusting = playbook.clone();
    trusting.stages.iter_mut().for_each(|stage| stage.revisions = 0);
    let mut strange = open.clone();
    strange.git.review = false;
    strange.from = vec![samples::brought()];
    let mut searches =
        vec![("all trust", beginning(trusting.clone(), open, child)), ("no trust", beginning(playbook, closed, child))];
    if !matches!(name, "team" | "staged") {
        searches.push(("strangers", beginning(trusting, strange, child)));
    }
    searches
}

fn beginning(playbook: Playbook, config: RunConfig, child: bool) -> Start {
    let parent = child.then(|| domain::Parent {
        run: samples::run_id(99),
        branch: "autonomous/x".to_owned(),
        task: "one".to_owned(),
        number: 1,
        attempt: 1,
        at: samples::commit(1),
        resolve: Vec::new(),
        problem: None,
    });
    Start { playbook, parent, ..samples::start(config) }
}
