//! What a key does. Pure: it changes the state and may order something.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::news::{Order, told};
use super::page::Tab;
use super::prompt::{About, Outcome, Prompt};
use super::state::{Agent, List, Mover, State};
use crate::commands::is_yes;

/// Rows that a key for pages moves.
const PAGE: isize = 10;

impl State {
    /// Takes a key.
    pub(super) fn key(&mut self, key: KeyEvent) -> Vec<Order> {
        let mut orders = self.pressed(key);
        orders.extend(self.look_beside());
        self.note_shown(Mover::Person);
        orders
    }

    fn pressed(&mut self, key: KeyEvent) -> Vec<Order> {
        if let Some(prompt) = self.prompt.take() {
            let was_sure = matches!(prompt, Prompt::Sure { .. });
            return self.asked(prompt.key(key), was_sure);
        }
        self.notice = None;
        if std::mem::take(&mut self.help) {
            return Vec::new();
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return vec![Order::Quit],
            KeyCode::Char('?') => self.help = true,
            KeyCode::Char('/') => {
                let text = std::mem::take(&mut self.filter);
                self.prompt = Some(Prompt::Line { about: About::Filter, text });
            }
            KeyCode::Char('q') if self.open.is_none() => return vec![Order::Quit],
            KeyCode::Char('q') | KeyCode::Esc => self.back(),
            KeyCode::Tab | KeyCode::BackTab if self.open.is_none() => self.other_list(),
            KeyCode::Enter => return self.enter(),
            KeyCode::Char('A') => return self.attach(),
            KeyCode::Char('a') => return self.approve(),
            KeyCode::Char('r') => self.ask_with("reject", About::Feedback),
            KeyCode::Char('s') => self.answer_or_suggest(),
            KeyCode::Char('d') if !control => self.any_decision(),
            KeyCode::Char('e') => return self.edit(),
            KeyCode::Char('p') => return self.pull_request(),
            KeyCode::Char('m') => return self.merge(),
            KeyCode::Char('x') => self.cancel(),
            _ => self.moves(key.code, control),
        }
        Vec::new()
    }

    fn asked(&mut self, outcome: Outcome, was_sure: bool) -> Vec<Order> {
        match outcome {
            Outcome::Asking(prompt) => self.prompt = Some(prompt),
            Outcome::Left => {}
            Outcome::Filter(filter) => self.filter = filter,
            Outcome::Wrong(prompt, failure) => {
                self.prompt = Some(prompt);
                self.notice = Some(told(&failure));
            }
            Outcome::Do(Order::Decide { hold, request }) if is_yes(&request.decision) && !was_sure => {
                return self.say_yes("sending", Order::Decide { hold, request });
            }
            Outcome::Do(order) => return self.send("sending", order),
        }
        Vec::new()
    }

    fn moves(&mut self, code: KeyCode, control: bool) {
        let rows = match code {
            KeyCode::Char('j') | KeyCode::Down => 1,
            KeyCode::Char('k') | KeyCode::Up => -1,
            KeyCode::PageDown | KeyCode::Char(' ') => PAGE,
            KeyCode::PageUp => -PAGE,
            KeyCode::Char('d') if control => PAGE,
            KeyCode::Char('u') if control => -PAGE,
            KeyCode::Char('g') | KeyCode::Home => isize::MIN,
            KeyCode::Char('G') | KeyCode::End => isize::MAX,
            other => return self.turns(other),
        };
        match &mut self.open {
            Some(detail) => detail.scroll_by(rows),
            None => {
                let index = self.index().unwrap_or(0).saturating_add_signed(rows);
                self.move_to(index);
            }
        }
    }

    fn turns(&mut self, code: KeyCode) {
        let Some(detail) = &mut self.open else { return };
        let tab = match code {
            KeyCode::Right | KeyCode::Char('l') | KeyCode::Tab => detail.tab.step(1),
            KeyCode::Left | KeyCode::Char('h') | KeyCode::BackTab => detail.tab.step(Tab::ALL.len() - 1),
            KeyCode::Char(digit @ '1'..='5') => Tab::ALL[digit as usize - '1' as usize].0,
            _ => return,
        };
        detail.turn_to(tab);
    }

    fn other_list(&mut self) {
        self.list = match self.list {
            List::Inbox => List::Runs,
            List::Runs => List::Inbox,
        };
    }

    /// Leaves the open run, then the filter; it never leaves the program.
    fn back(&mut self) {
        if self.open.take().is_none() {
            self.filter.clear();
        }
    }

    fn enter(&mut self) -> Vec<Order> {
        let Some(run) = self.current().map(str::to_owned) else { return Vec::new() };
        if self.open.is_some() {
            return Vec::new();
        }
        // Of a run at work the person wants to see the work.
        let works = self.agent(&run) == Agent::Active && self.hold().is_none();
        self.enter_at(if works { Tab::Session } else { Tab::Now })
    }

    pub(super) fn enter_at(&mut self, tab: Tab) -> Vec<Order> {
        let Some(run) = self.current().map(str::to_owned) else { return Vec::new() };
        self.open_run(run.clone(), tab);
        if let Some(detail) = &mut self.open {
            detail.ask();
        }
        vec![Order::Load(run)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::run::sample;
    use crate::tui::news::{Force, News};
    use crate::tui::page::Page;
    use crate::tui::state::Notice;
    use wire::{HoldView, RunView};

    fn waiting(id: &str, allowed: &[&str]) -> RunView {
        let allowed = allowed.iter().map(|word| (*word).to_owned()).collect();
        let hold = HoldView { id: format!("{id}.1"), run: id.to_owned(), allowed, ..sample::question() };
        RunView { id: id.to_owned(), hold: Some(hold), ..sample::running() }
    }

    fn state(runs: Vec<RunView>) -> State {
        let mut state = State::new(sample::at());
        state.take(News::Snapshot(runs));
        state
    }

    fn press(state: &mut State, keys: &str) -> Vec<Order> {
        let code = |key| if key == '\n' { KeyCode::Enter } else { KeyCode::Char(key) };
        keys.chars().flat_map(|key| state.key(KeyEvent::from(code(key)))).collect()
    }

    /// The page of a run that waits.
    fn opened(id: &str, allowed: &[&str]) -> State {
        let mut state = state(vec![waiting(id, allowed)]);
        press(&mut state, "\n");
        state.take(News::Page(Box::new(Page::of(waiting(id, allowed)))));
        state
    }

    fn decision(orders: &[Order]) -> (&str, &str, &str) {
        match orders {
            [Order::Decide { request, .. }] => {
                (&request.decision, &request.digest, request.text.as_deref().unwrap_or_default())
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_yes_is_bound_to_the_digest_shown_and_sent_once() {
        let mut state = opened("a", &["approve", "reject"]);
        assert_eq!(decision(&press(&mut state, "a")), ("approve", "d1", ""));
        assert_eq!(press(&mut state, "a"), [], "the first is still on its way");
    }

    #[test]
    fn in_the_list_nothing_is_approved_by_its_title() {
        for keys in ["a", "dapprove\n", "dacc\n"] {
            let mut state = state(vec![waiting("a", &["approve", "accept_anyway", "reject"])]);
            assert_eq!(press(&mut state, keys), [Order::Load("a".to_owned())], "{keys}");
            assert_eq!(press(&mut state, "a"), [], "nothing is shown yet");
        }
    }

    #[test]
    fn a_yes_to_files_that_were_not_on_the_screen_is_asked_for_twice() {
        let mut state = opened("a", &["approve"]);
        let change = crate::report::change::sample::loaded(&[("src/auth.ts", "+evil\n"), ("b", "+b\n")]);
        let shown = crate::report::hold::Shown::Change(Box::new(change));
        state.take(News::Page(Box::new(Page { shown, ..Page::of(waiting("a", &["approve"])) })));
        assert_eq!(press(&mut state, "a"), []);
        let Some(Prompt::Sure { question, .. }) = &state.prompt else { panic!("{:?}", state.prompt) };
        assert_eq!(question, "Go on? 2 of 2 files not shown: src/auth.ts, b");
        assert_eq!(press(&mut state, "n"), []);
        assert_eq!(decision(&press(&mut state, "ay")), ("approve", "d1", ""));
    }

    #[test]
    fn a_yes_to_a_document_that_was_not_on_the_screen_is_asked_for_twice() {
        let mut state = opened("a", &["approve"]);
        let shown = crate::report::hold::Shown::Document(Box::new(sample::document("plan", "text")));
        state.take(News::Page(Box::new(Page { shown, ..Page::of(waiting("a", &["approve"])) })));
        assert_eq!(press(&mut state, "a"), []);
        let Some(Prompt::Sure { question, .. }) = &state.prompt else { panic!("{:?}", state.prompt) };
        assert_eq!(question, "Go on? the plan was not shown");
        assert_eq!(press(&mut state, "n"), []);
        assert_eq!(decision(&press(&mut state, "ay")), ("approve", "d1", ""));
    }

    #[test]
    fn a_no_asks_what_shall_be_different() {
        let mut state = state(vec![waiting("a", &["approve", "reject"])]);
        assert_eq!(press(&mut state, "r"), []);
        assert_eq!(decision(&press(&mut state, "qa smaller\n")), ("reject", "d1", "qa smaller"));
    }

    #[test]
    fn what_a_hold_does_not_take_is_refused_in_words() {
        let mut state = state(vec![waiting("a", &["answer", "ignore"])]);
        assert_eq!(press(&mut state, "a"), []);
        let said = "this does not take `approve`; it takes answer, ignore".to_owned();
        assert_eq!(state.notice, Some(Notice::Bad(said)));
    }

    #[test]
    fn a_run_is_cancelled_only_after_a_yes() {
        let mut state = state(vec![waiting("a", &["approve"])]);
        assert_eq!(press(&mut state, "xn"), []);
        assert_eq!(press(&mut state, "x\n"), []);
        assert_eq!(press(&mut state, "xy"), [Order::Cancel("a".to_owned())]);
    }

    #[test]
    fn of_an_open_run_the_hold_on_the_screen_is_decided_not_a_newer_one() {
        let mut state = state(vec![waiting("a", &["approve"])]);
        assert_eq!(press(&mut state, "\n"), [Order::Load("a".to_owned())]);
        assert_eq!(press(&mut state, "a"), [], "nothing is shown yet");
        state.take(News::Page(Box::new(Page::of(waiting("a", &["approve"])))));
        let mut newer = waiting("a", &["approve"]);
        newer.version += 1;
        if let Some(hold) = &mut newer.hold {
            hold.digest = "d2".to_owned();
        }
        state.take(News::Run(Box::new(newer)));
        assert_eq!(decision(&press(&mut state, "a")).1, "d1", "the server refuses it, which is right");
    }

    #[test]
    fn tasks_are_merged_and_pulled_and_other_runs_say_that_they_cannot() {
        let task = RunView { task_status: Some("reviewing".to_owned()), hold: None, ..waiting("t", &[]) };
        let mut state = state(vec![task.clone()]);
        state.list = List::Runs;
        assert_eq!(press(&mut state, "m"), [Order::Load("t".to_owned())], "it is looked at first");
        state.take(News::Page(Box::new(Page::of(task))));
        assert_eq!(press(&mut state, "m"), [Order::Merge { run: "t".to_owned(), force: Force::No }]);
        state.sending = None;
        assert_eq!(press(&mut state, "p"), [Order::PullRequest("t".to_owned())]);
        let mut state = self::state(vec![waiting("a", &["approve"])]);
        assert_eq!(press(&mut state, "mp"), []);
        assert!(matches!(&state.notice, Some(Notice::Bad(said)) if said.contains("pull request")));
    }

    #[test]
    fn attaching_needs_an_agent_at_work() {
        let mut state = state(vec![RunView { hold: None, ..waiting("a", &[]) }]);
        state.list = List::Runs;
        assert_eq!(press(&mut state, "A"), []);
        state.take(News::Agents(vec![("a".to_owned(), Agent::Active)]));
        assert_eq!(press(&mut state, "A"), [Order::Outside(vec!["attach".to_owned(), "a".to_owned()])]);
    }

    #[test]
    fn the_cursor_stays_with_what_was_chosen_and_the_filter_narrows() {
        let run = |id: &str, minute, request: &str| RunView {
            created_at: sample::at() + jiff::SignedDuration::from_mins(minute),
            request: request.to_owned(),
            hold: None,
            ..waiting(id, &[])
        };
        let mut state = state(vec![run("a", 2, "one"), run("b", 1, "two")]);
        state.list = List::Runs;
        press(&mut state, "j");
        assert_eq!(state.current(), Some("b"));
        state.take(News::Run(Box::new(run("c", 3, "three"))));
        assert_eq!((state.current(), state.index()), (Some("b"), Some(2)));
        press(&mut state, "g");
        assert_eq!(state.current(), Some("c"));
        press(&mut state, "/one\n");
        assert_eq!(state.ids(), ["a"]);
        state.key(KeyEvent::from(KeyCode::Esc));
        assert_eq!(state.ids().len(), 3);
    }

    #[test]
    fn q_goes_back_before_it_leaves() {
        let mut state = state(vec![waiting("a", &["approve"])]);
        press(&mut state, "\n");
        assert_eq!(press(&mut state, "q"), []);
        assert_eq!(press(&mut state, "q"), [Order::Quit]);
    }
}
