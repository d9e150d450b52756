//! How runs went: facts folded from events into one short story per run, and figures over those. Pure: no clock, no store.

use std::collections::{BTreeMap, HashMap};

use domain::{Event, ForkedFrom, HoldId, HoldKind, Micros, Recorded, RunId};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use wire::{FiguresView, MetricsView, NamedFigures, ProjectView, WaitView};

/// The events that stories are told from, as they are stored.
pub(crate) const TYPES: &[&str] = &[
    "RUN_STARTED",
    "STAGE_STARTED",
    "REFLECTION_RECORDED",
    "APPROVAL_REQUESTED",
    "CLARIFICATION_REQUESTED",
    "HOLD_PLACED",
    "APPROVAL_GRANTED",
    "APPROVAL_REJECTED",
    "CLARIFICATION_ANSWERED",
    "DECISION_MADE",
    "SPEND_RECORDED",
    "BRANCH_MERGED",
    "RUN_COMPLETED",
    "RUN_FAILED",
    "RUN_CANCELLED",
];

/// The stories of all runs, as far as their events were told.
#[derive(Default)]
pub(crate) struct Stories {
    /// Runs that somebody started.
    runs: HashMap<RunId, Story>,
    /// Runs of tasks, with the run they belong to in the end.
    kin: HashMap<RunId, RunId>,
    /// Forks, with what they begin with: their origin did that and paid for it.
    forks: HashMap<RunId, ForkedFrom>,
    /// Holds that were placed and not decided.
    open: HashMap<(RunId, HoldId), (HoldKind, Timestamp)>,
}

/// What figures need to know of one run, its tasks' runs included.
struct Story {
    project: String,
    playbook: String,
    started: Timestamp,
    ended: Option<(Timestamp, End)>,
    merged: bool,
    paid: BTreeMap<String, Micros>,
    waits: Vec<(HoldKind, i64)>,
    visits: u32,
    reflections: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Completed,
    Failed,
    Cancelled,
}

impl Stories {
    /// Takes in what happened next.
    pub(crate) fn tell(&mut self, run: &RunId, recorded: &Recorded) {
        let at = recorded.at;
        if let Event::RunStarted { project, playbook, parent, forked_from, .. } = &recorded.event {
            self.forks.extend(forked_from.clone().map(|from| (run.clone(), from)));
            return match parent {
                Some(parent) => {
                    let root = self.kin.get(&parent.run).unwrap_or(&parent.run).clone();
                    self.kin.insert(run.clone(), root);
                }
                None => {
                    self.runs.insert(run.clone(), Story::new(project, &playbook.name, at));
                }
            };
        }
        if self.forks.get(run).is_some_and(|from| from.has(recorded.sequence)) {
            return;
        }
        match &recorded.event {
            Event::ApprovalRequested { hold, .. }
            | Event::ClarificationRequested { hold, .. }
            | Event::HoldPlaced { hold } => {
                self.open.insert((run.clone(), hold.id), (hold.kind, at));
            }
            Event::ApprovalGranted { hold, .. }
            | Event::ApprovalRejected { hold, .. }
            | Event::ClarificationAnswered { hold, .. }
            | Event::DecisionMade { hold, .. } => {
                let placed = self.open.remove(&(run.clone(), *hold));
                if let (Some((kind, since)), Some(story)) = (placed, self.story(run)) {
                    story.waits.push((kind, at.as_second().saturating_sub(since.as_second()).max(0)));
                }
            }
            Event::SpendRecorded { model, cost: Some(cost), .. } => {
                if let Some(story) = self.story(run) {
                    let paid = story.paid.entry(model.clone()).or_default();
                    *paid = paid.plus(*cost);
                }
            }
            Event::SpendRecorded { model, .. } => {
                if let Some(story) = self.story(run) {
                    story.paid.entry(model.clone()).or_default();
                }
            }
            // The rest is about the run itself, not about those of its tasks.
            event => {
                if let Some(story) = self.runs.get_mut(run) {
                    story.tell(event, at);
                }
            }
        }
    }

    /// The story a run is a part of.
    fn story(&mut self, run: &RunId) -> Option<&mut Story> {
        let root = self.kin.get(run).unwrap_or(run);
        self.runs.get_mut(root)
    }

    /// Repositories with their runs, the one last used first; whether a folder is there is asked.
    pub(crate) fn projects(&self, present: impl Fn(&str) -> bool) -> Vec<ProjectView> {
        let mut projects: BTreeMap<&str, ProjectView> = BTreeMap::new();
        for story in self.runs.values() {
            let view = projects.entry(&story.project).or_insert_with(|| ProjectView {
                path: story.project.clone(),
                runs: 0,
                open: 0,
                merged: 0,
                usd: 0.0,
                last_started_at: story.started,
                present: present(&story.project),
            });
            view.runs += 1;
            view.open += u64::from(story.ended.is_none());
            view.merged += u64::from(story.merged);
            view.usd += story.cost().usd();
            view.last_started_at = view.last_started_at.max(story.started);
        }
        let mut views: Vec<ProjectView> = projects.into_values().collect();
        views.sort_by_key(|view| std::cmp::Reverse(view.last_started_at));
        views
    }

    /// Figures of the runs that ended in the last weeks, this one included.
    pub(crate) fn view(&self, project: Option<&str>, weeks: u16, now: Timestamp) -> MetricsView {
        let this_week = monday(now);
        let first = this_week.saturating_sub((i32::from(weeks) - 1).weeks());
        let mut total = Pile::default();
        let (mut playbooks, mut models) = (Piles::default(), Piles::default());
        let mut by_week: BTreeMap<Date, Pile> =
            (0..i32::from(weeks)).map(|week| (first.saturating_add(week.weeks()), Pile::default())).collect();
        let mut holds: BTreeMap<&'static str, Vec<i64>> = BTreeMap::new();
        let mut open = 0;
        for story in self.runs.values().filter(|story| project.is_none_or(|project| story.project == project)) {
            let Some((ended, end)) = story.ended else {
                open += 1;
                continue;
            };
            let Some(week) = by_week.get_mut(&monday(ended)) else { continue };
            for pile in [&mut total, week, playbooks.of(&story.playbook)] {
                pile.add(story, ended, end, story.cost());
            }
            for (model, cost) in &story.paid {
                models.of(model).add(story, ended, end, *cost);
            }
            for (kind, seconds) in story.decided() {
                holds.entry(kind.word()).or_default().push(seconds);
            }
        }
        let since = first.to_zoned(TimeZone::UTC).map_or(now, |zoned| zoned.timestamp());
        let weeks = by_week.into_iter().map(|(week, pile)| pile.named(&week.to_string())).collect();
        let mut holds: Vec<WaitView> = holds.into_iter().map(|(kind, waits)| wait(kind, waits)).collect();
        holds.sort_by_key(|wait| std::cmp::Reverse(wait.decisions));
        MetricsView {
            since,
            until: now,
            project: project.map(str::to_owned),
            open,
            total: total.figures(),
            playbooks: playbooks.named(|pile| pile.ended.iter().sum()),
            models: models.named(|pile| pile.cost.0),
            weeks,
            holds,
        }
    }
}

impl Story {
    fn new(project: &str, playbook: &str, started: Timestamp) -> Self {
        Self {
            project: project.to_owned(),
            playbook: playbook.to_owned(),
            started,
            ended: None,
            merged: false,
            paid: BTreeMap::new(),
            waits: Vec::new(),
            visits: 0,
            reflections: 0,
        }
    }

    fn tell(&mut self, event: &Event, at: Timestamp) {
        match event {
            Event::StageStarted { visit, .. } => self.visits = self.visits.max(*visit),
            Event::ReflectionRecorded { iteration, .. } => self.reflections = self.reflections.max(*iteration),
            Event::BranchMerged { .. } => self.merged = true,
            Event::RunCompleted { .. } => self.ended = Some((at, End::Completed)),
            Event::RunFailed { .. } => self.ended = Some((at, End::Failed)),
            Event::RunCancelled { .. } => self.ended = Some((at, End::Cancelled)),
            // Of other types; a store may tell them too.
            _ => {}
        }
    }

    fn cost(&self) -> Micros {
        self.paid.values().fold(Micros::default(), |sum, cost| sum.plus(*cost))
    }

    /// Waits for people. A pause is a wish of theirs, and a spent quota ends by itself.
    fn decided(&self) -> impl Iterator<Item = (HoldKind, i64)> {
        self.waits.iter().copied().filter(|(kind, _)| !matches!(kind, HoldKind::Paused | HoldKind::Quota))
    }

    fn iterations(&self) -> u32 {
        self.visits.max(self.reflections).max(1)
    }
}

#[derive(Default)]
struct Pile {
    ended: [u64; 3],
    merged: u64,
    cost: Micros,
    took: Vec<i64>,
    waits: Vec<i64>,
    iterations: u64,
    at_once: u64,
}

impl Pile {
    fn add(&mut self, story: &Story, ended: Timestamp, end: End, cost: Micros) {
        self.ended[end as usize] += 1;
        self.merged += u64::from(story.merged);
        self.cost = self.cost.plus(cost);
        if end == End::Completed {
            self.took.push(ended.as_second().saturating_sub(story.started.as_second()).max(0));
        }
        self.waits.extend(story.decided().map(|(_, seconds)| seconds));
        self.iterations += u64::from(story.iterations());
        self.at_once += u64::from(story.iterations() == 1);
    }

    fn named(self, name: &str) -> NamedFigures {
        NamedFigures { name: name.to_owned(), figures: self.figures() }
    }

    #[expect(clippy::cast_precision_loss, reason = "there are fewer runs than a float counts exactly")]
    fn figures(mut self) -> FiguresView {
        self.took.sort_unstable();
        self.waits.sort_unstable();
        let [completed, failed, cancelled] = self.ended;
        let ended = completed + failed + cancelled;
        let of = |part: f64, all: u64| (all > 0).then(|| part / all as f64);
        FiguresView {
            ended,
            completed,
            failed,
            cancelled,
            merged: self.merged,
            success_rate: of(completed as f64, ended),
            median_seconds: rank(&self.took, 50),
            p90_seconds: rank(&self.took, 90),
            usd: self.cost.usd(),
            usd_per_run: of(self.cost.usd(), ended),
            usd_per_merged: of(self.cost.usd(), self.merged),
            decisions: self.waits.len() as u64,
            decision_median_seconds: rank(&self.waits, 50),
            decision_p90_seconds: rank(&self.waits, 90),
            iterations: of(self.iterations as f64, ended),
            first_time: of(self.at_once as f64, ended),
        }
    }
}

#[derive(Default)]
struct Piles(BTreeMap<String, Pile>);

impl Piles {
    fn of(&mut self, name: &str) -> &mut Pile {
        if !self.0.contains_key(name) {
            self.0.insert(name.to_owned(), Pile::default());
        }
        self.0.get_mut(name).expect("it was put there")
    }

    /// The heaviest first.
    fn named(self, weight: impl Fn(&Pile) -> u64) -> Vec<NamedFigures> {
        let mut all: Vec<(String, Pile)> = self.0.into_iter().collect();
        all.sort_by_key(|(_, pile)| std::cmp::Reverse(weight(pile)));
        all.into_iter().map(|(name, pile)| pile.named(&name)).collect()
    }
}

fn wait(kind: &str, mut waits: Vec<i64>) -> WaitView {
    waits.sort_unstable();
    WaitView {
        kind: kind.to_owned(),
        decisions: waits.len() as u64,
        median_seconds: rank(&waits, 50).unwrap_or_default(),
        p90_seconds: rank(&waits, 90).unwrap_or_default(),
    }
}

/// The value that so many percent do not pass, of sorted ones.
fn rank(sorted: &[i64], percent: usize) -> Option<i64> {
    let place = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(place - 1).copied()
}

/// The Monday of a moment's week in UTC.
fn monday(at: Timestamp) -> Date {
    let date = at.to_zoned(TimeZone::UTC).date();
    date.saturating_sub(i32::from(date.weekday().to_monday_zero_offset()).days())
}

#[cfg(test)]
mod tests;
