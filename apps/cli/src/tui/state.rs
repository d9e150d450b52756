//! What the screen shows and where the person is in it. Pure: news and keys come in, orders go out.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use wire::{HoldView, RunView};

use super::news::Order;
use super::page::{Detail, Tab};
use super::prompt::Prompt;
use crate::report::{clean_line, run::short};

/// Which list is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Inbox,
    Runs,
}

/// The agent of a run, told from its recorded process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Agent {
    Active,
    Crashed,
    Inactive,
}

/// Whether there is room for a run beside the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Breadth {
    Narrow,
    Wide,
}

/// How the screen hears from the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// Nothing was heard yet.
    Connecting,
    /// Everything comes as it happens.
    Live,
    /// No live feed; the server is asked again and again.
    Asking,
    /// Nothing comes: since when, and of when is what is shown.
    Lost { since: Timestamp, seen: Timestamp },
}

/// A line about what just happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Notice {
    Good(String),
    Bad(String),
}

/// A place in a list that stays with what was chosen while the list moves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cursor {
    id: Option<String>,
    at: usize,
}

impl Cursor {
    pub(super) fn index(&self, ids: &[&str]) -> Option<usize> {
        let known = self.id.as_deref().and_then(|id| ids.iter().position(|other| *other == id));
        known.or_else(|| ids.len().checked_sub(1).map(|last| self.at.min(last)))
    }

    pub(super) fn place(&mut self, index: usize, ids: &[&str]) {
        self.at = index;
        self.id = ids.get(index).map(|id| (*id).to_owned());
    }
}

/// Everything.
#[derive(Debug)]
pub(super) struct State {
    pub(super) now: Timestamp,
    pub(super) link: Link,
    /// Newest first.
    pub(super) runs: Vec<RunView>,
    /// Oldest first.
    pub(super) holds: Vec<HoldView>,
    pub(super) agents: BTreeMap<String, Agent>,
    pub(super) list: List,
    pub(super) inbox_at: Cursor,
    pub(super) runs_at: Cursor,
    pub(super) filter: String,
    pub(super) open: Option<Detail>,
    /// What stands beside the inbox on a wide screen: the run under the cursor.
    pub(super) beside: Option<Detail>,
    pub(super) breadth: Breadth,
    pub(super) prompt: Option<Prompt>,
    pub(super) notice: Option<Notice>,
    pub(super) help: bool,
    /// What is being sent and not yet answered.
    pub(super) sending: Option<String>,
    /// The hold that is shown, and since when it is shown without the person having moved there.
    shown: (Option<String>, Option<Timestamp>),
}

/// Keys pressed sooner than this after the screen changed under the person's hands decide nothing.
const LOOK: SignedDuration = SignedDuration::from_secs(1);

/// Who moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mover {
    Person,
    World,
}

impl State {
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            now,
            link: Link::Connecting,
            runs: Vec::new(),
            holds: Vec::new(),
            agents: BTreeMap::new(),
            list: List::Inbox,
            inbox_at: Cursor::default(),
            runs_at: Cursor::default(),
            filter: String::new(),
            open: None,
            beside: None,
            breadth: Breadth::Narrow,
            prompt: None,
            notice: None,
            help: false,
            sending: None,
            shown: (None, None),
        }
    }

    /// The holds that pass the filter.
    pub(super) fn listed_holds(&self) -> Vec<&HoldView> {
        self.holds.iter().filter(|hold| self.passes(&self.hold_words(hold))).collect()
    }

    /// The runs that pass the filter.
    pub(super) fn listed_runs(&self) -> Vec<&RunView> {
        let words = |run: &RunView| {
            let stage = run.stage.as_deref().unwrap_or_default();
            format!("{} {} {} {stage} {} {}", run.id, run.status, run.playbook, run.request, run.project)
        };
        self.runs.iter().filter(|run| self.passes(&words(run))).collect()
    }

    fn hold_words(&self, hold: &HoldView) -> String {
        let request = self.run(&hold.run).map(|run| run.request.as_str()).unwrap_or_default();
        let question = hold.question.as_deref().unwrap_or_default();
        format!("{} {} {} {question} {request}", hold.run, hold.kind, hold.summary)
    }

    fn passes(&self, words: &str) -> bool {
        let words = words.to_lowercase();
        self.filter.to_lowercase().split_whitespace().all(|wanted| words.contains(wanted))
    }

    pub(super) fn run(&self, id: &str) -> Option<&RunView> {
        self.runs.iter().find(|run| run.id == id)
    }

    /// The ids of the shown list, in its order.
    pub(super) fn ids(&self) -> Vec<&str> {
        match self.list {
            List::Inbox => self.listed_holds().iter().map(|hold| hold.run.as_str()).collect(),
            List::Runs => self.listed_runs().iter().map(|run| run.id.as_str()).collect(),
        }
    }

    pub(super) fn cursor(&self) -> &Cursor {
        match self.list {
            List::Inbox => &self.inbox_at,
            List::Runs => &self.runs_at,
        }
    }

    /// Where the cursor stands in the shown list.
    pub(super) fn index(&self) -> Option<usize> {
        self.cursor().index(&self.ids())
    }

    pub(super) fn move_to(&mut self, index: usize) {
        let ids = self.ids();
        let mut cursor = self.cursor().clone();
        cursor.place(index.min(ids.len().saturating_sub(1)), &ids);
        match self.list {
            List::Inbox => self.inbox_at = cursor,
            List::Runs => self.runs_at = cursor,
        }
    }

    /// The run the person looks at: the open one, or the one under the cursor.
    pub(super) fn current(&self) -> Option<&str> {
        match &self.open {
            Some(detail) => Some(detail.run.as_str()),
            None => self.index().and_then(|index| self.ids().get(index).copied()),
        }
    }

    /// The hold the person looks at. Of an open run it is the one whose content is on the screen.
    pub(super) fn hold(&self) -> Option<&HoldView> {
        match &self.open {
            Some(detail) => detail.page.as_ref().and_then(|page| page.run.hold.as_ref()),
            None => {
                let run = self.current()?;
                let beside = self.beside.as_ref().filter(|detail| detail.run == run);
                let read = beside.and_then(|detail| detail.page.as_ref()?.run.hold.as_ref());
                read.or_else(|| self.holds.iter().find(|hold| hold.run == run))
            }
        }
    }

    /// Remembers which hold is shown and who brought it there.
    pub(super) fn note_shown(&mut self, mover: Mover) {
        let shown = self.hold().map(|hold| format!("{} {}", hold.id, hold.digest));
        if shown != self.shown.0 {
            let since = (mover == Mover::World && self.shown.0.is_some()).then_some(self.now);
            self.shown = (shown, since);
        }
    }

    /// Whether what is shown has been there long enough to be decided on.
    pub(super) fn was_seen(&self) -> bool {
        self.shown.1.is_none_or(|since| self.now.duration_since(since) >= LOOK)
    }

    /// How the agent of a run stands.
    pub(super) fn agent(&self, run: &str) -> Agent {
        self.agents.get(run).copied().unwrap_or(Agent::Inactive)
    }

    /// A run as people call it, in a line.
    pub(super) fn name(&self, run: &str) -> String {
        let request = self.run(run).map(|run| clean_line(&run.request)).unwrap_or_default();
        format!("{} {request}", short(run))
    }

    /// On a wide screen the run under the inbox's cursor stands beside it; it is asked for when it is another one.
    pub(super) fn look_beside(&mut self) -> Vec<Order> {
        let shown = self.breadth == Breadth::Wide && self.list == List::Inbox && self.open.is_none();
        let wanted = self.current().filter(|_| shown).map(str::to_owned);
        if self.beside.as_ref().map(|detail| &detail.run) == wanted.as_ref() {
            return Vec::new();
        }
        self.beside = wanted.map(|run| Detail::new(run, Tab::Now));
        let asked = self.beside.as_mut().and_then(|detail| detail.ask().then(|| Order::Load(detail.run.clone())));
        asked.into_iter().collect()
    }

    /// Those runs that are shown whole.
    pub(super) fn details(&mut self) -> impl Iterator<Item = &mut Detail> {
        self.open.iter_mut().chain(&mut self.beside)
    }

    pub(super) fn open_run(&mut self, run: String, tab: Tab) {
        self.open = Some(Detail::new(run, tab));
    }
}
