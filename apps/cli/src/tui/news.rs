//! What the server tells, what it does to the state, and what the state wants done. Pure.

use std::cmp::Reverse;

use serde_json::Value;
use wire::{DecideRequest, HoldView, LiveName, RunView};

use super::page::Page;
use super::prompt::Prompt;
use super::state::{Agent, Link, Mover, Notice, State};
use crate::failure::Failure;
use crate::report::{clean_line, run::short};

/// Something to be done outside the state.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Order {
    /// Ask for everything about a run.
    Load(String),
    Decide {
        hold: Box<HoldView>,
        request: Box<DecideRequest>,
    },
    AnswerFile {
        hold: Box<HoldView>,
        path: String,
    },
    Cancel(String),
    PullRequest(String),
    Merge {
        run: String,
        force: Force,
    },
    /// Leave the screen, run this command of ours on the terminal, come back.
    Outside(Vec<String>),
    Quit,
}

/// Whether work that nobody reviewed may be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Force {
    Yes,
    No,
}

impl Order {
    pub(super) fn decide(hold: &HoldView, request: DecideRequest) -> Self {
        Self::Decide { hold: Box::new(hold.clone()), request: Box::new(request) }
    }

    /// The plan in the person's editor, bound to the digest shown.
    pub(super) fn edit(hold: &HoldView) -> Self {
        let words = ["decide", &hold.run, "modify_plan", "--edit", "--digest", &hold.digest];
        Self::Outside(words.map(str::to_owned).to_vec())
    }
}

/// Something that came in.
#[derive(Debug)]
pub(super) enum News {
    Link(Link),
    /// All runs, as of now.
    Snapshot(Vec<RunView>),
    /// Everything that waits.
    Holds(Vec<HoldView>),
    /// A run after something happened to it.
    Run(Box<RunView>),
    Activity(String, LiveName, Value),
    Agents(Vec<(String, Agent)>),
    Page(Box<Page>),
    /// A run could not be loaded.
    NoPage(String, Failure),
    /// What was ordered is done.
    Done(String),
    /// What was ordered was refused.
    Refused(Failure),
    /// A merge was refused because nobody reviewed the work.
    NotReviewed(String, Failure),
}

impl State {
    /// Takes something in; what follows from it is to be done.
    pub(super) fn take(&mut self, news: News) -> Vec<Order> {
        let mut orders = self.taken(news);
        orders.extend(self.look_beside());
        self.note_shown(Mover::World);
        orders
    }

    fn taken(&mut self, news: News) -> Vec<Order> {
        match news {
            News::Link(link) => self.link = link,
            News::Snapshot(runs) => {
                self.runs = runs;
                self.runs.sort_by_key(|run| Reverse(run.created_at));
                self.holds = self.runs.iter().filter_map(|run| run.hold.clone()).collect();
                self.holds.sort_by_key(|hold| hold.since);
                return self.reload();
            }
            News::Holds(holds) => {
                self.holds = holds;
                self.holds.sort_by_key(|hold| hold.since);
            }
            News::Run(run) => return self.changed(*run),
            News::Activity(run, name, data) => return self.acts(&run, name, &data),
            News::Agents(agents) => self.agents.extend(agents),
            News::Page(page) => {
                let Some(detail) = self.details().find(|detail| detail.run == page.run.id) else { return Vec::new() };
                detail.show(*page);
                // Something may have happened while it was on its way.
                if detail.wants_again() {
                    return vec![Order::Load(detail.run.clone())];
                }
            }
            News::NoPage(run, failure) => {
                self.details().filter(|detail| detail.run == run).for_each(|detail| detail.loading = false);
                self.notice = Some(told(&failure));
            }
            News::Done(what) => {
                self.sending = None;
                self.notice = Some(Notice::Good(what));
                return self.reload();
            }
            News::Refused(failure) => {
                self.sending = None;
                self.notice = Some(told(&failure));
                return self.reload();
            }
            News::NotReviewed(run, failure) => {
                self.sending = None;
                let question = format!("{}: {}. Force merge?", short(&run), clean_line(&failure.problem.message));
                self.prompt = Some(Prompt::Sure { question, then: Order::Merge { run, force: Force::Yes } });
            }
        }
        Vec::new()
    }

    fn changed(&mut self, run: RunView) -> Vec<Order> {
        self.holds.retain(|hold| hold.run != run.id);
        if let Some(hold) = &run.hold {
            let at = self.holds.partition_point(|other| other.since <= hold.since);
            self.holds.insert(at, hold.clone());
        }
        let id = run.id.clone();
        match self.runs.iter_mut().find(|known| known.id == run.id) {
            // Events may come again after a connection broke; an older state would show a hold that is gone.
            Some(known) if known.version > run.version => {
                let newest = known.hold.clone();
                self.holds.retain(|hold| hold.run != id);
                self.holds.extend(newest);
                self.holds.sort_by_key(|hold| hold.since);
            }
            Some(known) => *known = run,
            None => {
                let at = self.runs.partition_point(|other| other.created_at > run.created_at);
                self.runs.insert(at, run);
            }
        }
        if self.details().any(|detail| detail.run == id) { self.reload() } else { Vec::new() }
    }

    fn acts(&mut self, run: &str, name: LiveName, data: &Value) -> Vec<Order> {
        let Some(detail) = self.open.as_mut().filter(|detail| detail.run == run) else { return Vec::new() };
        detail.acts(name, data);
        match name {
            LiveName::TurnCompleted | LiveName::TurnToolCompleted | LiveName::SessionCompleted => self.reload(),
            _ => Vec::new(),
        }
    }

    /// Asks again for what is shown whole, unless that is already being done.
    fn reload(&mut self) -> Vec<Order> {
        self.details().filter_map(|detail| detail.ask().then(|| Order::Load(detail.run.clone()))).collect()
    }
}

/// A failure on one line; who was first is in the server's words.
pub(super) fn told(failure: &Failure) -> Notice {
    let (message, hint) = (clean_line(&failure.problem.message), clean_line(&failure.problem.hint));
    Notice::Bad(if hint.is_empty() { message } else { format!("{message} ({hint})") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::run::sample;
    use crate::tui::page::Tab;
    use crate::tui::state::Breadth;

    fn waiting(id: &str, minute: i64, version: u64) -> RunView {
        let at = sample::at() + jiff::SignedDuration::from_mins(minute);
        let hold = HoldView { id: format!("{id}.1"), run: id.to_owned(), since: at, ..sample::question() };
        RunView { id: id.to_owned(), created_at: at, hold: Some(hold), version, ..sample::running() }
    }

    fn state(runs: Vec<RunView>) -> State {
        let mut state = State::new(sample::at());
        state.take(News::Snapshot(runs));
        state
    }

    fn inbox(state: &State) -> Vec<&str> {
        state.holds.iter().map(|hold| hold.run.as_str()).collect()
    }

    #[test]
    fn the_inbox_is_oldest_first_and_the_runs_are_newest_first() {
        let mut state = state(vec![waiting("a", 2, 1), waiting("b", 1, 1)]);
        assert_eq!(inbox(&state), ["b", "a"]);
        state.take(News::Run(Box::new(waiting("c", 0, 1))));
        assert_eq!(inbox(&state), ["c", "b", "a"]);
        assert_eq!(state.runs.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
        state.take(News::Run(Box::new(RunView { hold: None, ..waiting("b", 1, 2) })));
        assert_eq!(inbox(&state), ["c", "a"]);
    }

    #[test]
    fn an_older_state_of_a_run_does_not_bring_its_hold_back() {
        let mut state = state(vec![RunView { hold: None, ..waiting("a", 0, 5) }]);
        state.take(News::Run(Box::new(waiting("a", 0, 4))));
        assert!(inbox(&state).is_empty());
    }

    #[test]
    fn a_hold_that_took_anothers_place_by_itself_is_not_decided_at_once() {
        let mut state = state(vec![waiting("a", 0, 1), waiting("b", 1, 1)]);
        assert!(state.was_seen());
        state.take(News::Run(Box::new(RunView { hold: None, ..waiting("a", 0, 2) })));
        assert_eq!(state.hold().unwrap().run, "b");
        assert!(!state.was_seen());
        state.now += jiff::SignedDuration::from_secs(1);
        assert!(state.was_seen());
    }

    #[test]
    fn an_open_run_is_asked_for_once_at_a_time() {
        let mut state = state(vec![waiting("a", 0, 1)]);
        state.open_run("a".to_owned(), Tab::Now);
        assert_eq!(state.reload(), [Order::Load("a".to_owned())]);
        assert_eq!(state.take(News::Run(Box::new(waiting("a", 0, 2)))), []);
        let page = Page::of(waiting("a", 0, 1));
        assert_eq!(state.take(News::Page(Box::new(page))), [Order::Load("a".to_owned())], "it has changed since");
        assert_eq!(state.take(News::Page(Box::new(Page::of(waiting("a", 0, 2))))), []);
    }

    #[test]
    fn who_was_first_is_told_and_the_screen_is_free_again() {
        let mut state = state(vec![waiting("a", 0, 1)]);
        state.sending = Some("approving".to_owned());
        state.take(News::Refused(Failure::failed("already_decided", "bob approved it on the web", "look again")));
        assert_eq!(state.notice, Some(Notice::Bad("bob approved it on the web (look again)".to_owned())));
        assert_eq!(state.sending, None);
    }

    #[test]
    fn on_a_wide_screen_what_stands_beside_the_inbox_is_what_is_decided_on() {
        let mut state = state(vec![waiting("a", 0, 1), waiting("b", 1, 1)]);
        state.breadth = Breadth::Wide;
        assert_eq!(state.look_beside(), [Order::Load("a".to_owned())]);
        assert_eq!(state.look_beside(), []);
        state.take(News::Page(Box::new(Page::of(waiting("a", 0, 1)))));
        let mut newer = waiting("a", 0, 2);
        newer.hold.as_mut().unwrap().digest = "d2".to_owned();
        assert_eq!(state.take(News::Run(Box::new(newer.clone()))), [Order::Load("a".to_owned())]);
        assert_eq!(state.hold().unwrap().digest, "d1", "that is what stands there");
        state.take(News::Page(Box::new(Page::of(newer))));
        assert_eq!(state.hold().unwrap().digest, "d2");
        assert!(!state.was_seen());
    }
}
