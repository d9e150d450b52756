//! What a key does. Pure: it changes the state and may order something.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use wire::HoldView;

use super::news::{Force, Order, told};
use super::page::Tab;
use super::prompt::{About, Outcome, Prompt};
use super::state::{Agent, List, Mover, Notice, State};
use crate::ask;
use crate::report::{clean_line, run::short};

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
            return self.asked(prompt.key(key));
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

    fn asked(&mut self, outcome: Outcome) -> Vec<Order> {
        match outcome {
            Outcome::Asking(prompt) => self.prompt = Some(prompt),
            Outcome::Left => {}
            Outcome::Filter(filter) => self.filter = filter,
            Outcome::Wrong(prompt, failure) => {
                self.prompt = Some(prompt);
                self.notice = Some(told(&failure));
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
        self.open_run(run.clone(), if works { Tab::Session } else { Tab::Now });
        if let Some(detail) = &mut self.open {
            detail.ask();
        }
        vec![Order::Load(run)]
    }

    fn attach(&mut self) -> Vec<Order> {
        let Some(run) = self.current().map(str::to_owned) else { return Vec::new() };
        let attached = self.run(&run).is_some_and(|run| run.hold.as_ref().is_some_and(|hold| hold.kind == "paused"));
        if self.agent(&run) != Agent::Active && !attached {
            self.notice =
                Some(Notice::Bad(format!("no agent is at work in {}; there is nothing to attach to", short(&run))));
            return Vec::new();
        }
        vec![Order::Outside(vec!["attach".to_owned(), run])]
    }

    fn approve(&mut self) -> Vec<Order> {
        let Some(hold) = self.decidable("approve") else { return Vec::new() };
        let request = ask::request(&hold, "approve");
        self.send("approving", Order::decide(&hold, request))
    }

    fn ask_with(&mut self, word: &str, about: fn(Box<HoldView>) -> About) {
        if let Some(hold) = self.decidable(word) {
            self.prompt = Some(Prompt::line(about(Box::new(hold))));
        }
    }

    fn answer_or_suggest(&mut self) {
        let answers = self.hold().is_some_and(|hold| allows(hold, "answer"));
        if answers { self.ask_with("answer", About::Answer) } else { self.ask_with("suggest", About::Suggestion) }
    }

    fn any_decision(&mut self) {
        let first = self.hold().and_then(|hold| hold.allowed.first().cloned()).unwrap_or_default();
        self.ask_with(&first, About::Decision);
    }

    fn edit(&mut self) -> Vec<Order> {
        self.decidable("modify_plan").map(|hold| Order::edit(&hold)).into_iter().collect()
    }

    fn pull_request(&mut self) -> Vec<Order> {
        let Some(run) = self.current().map(str::to_owned) else { return Vec::new() };
        if self.hold().is_some_and(|hold| allows(hold, "create_pr")) {
            let Some(hold) = self.decidable("create_pr") else { return Vec::new() };
            let request = ask::request(&hold, "create_pr");
            return self.send("opening a pull request", Order::decide(&hold, request));
        }
        if self.is_task(&run) {
            return self.send("opening a pull request", Order::PullRequest(run));
        }
        self.notice = Some(Notice::Bad(format!("{} has nothing to open a pull request from now", short(&run))));
        Vec::new()
    }

    fn merge(&mut self) -> Vec<Order> {
        let Some(run) = self.current().map(str::to_owned) else { return Vec::new() };
        if self.is_task(&run) {
            return self.send("merging", Order::Merge { run, force: Force::No });
        }
        if self.hold().is_some_and(|hold| hold.kind == "review") {
            return self.approve();
        }
        self.notice = Some(Notice::Bad(format!("{} has nothing to merge now", short(&run))));
        Vec::new()
    }

    fn cancel(&mut self) {
        let Some(run) = self.current().map(str::to_owned) else { return };
        let over = self.run(&run).is_some_and(|run| run.completed_at.is_some());
        if over {
            self.notice = Some(Notice::Bad(format!("{} is over already", short(&run))));
        } else {
            let question = format!("cancel {}? The end is final.", self.name(&run));
            self.prompt = Some(Prompt::Sure { question, then: Order::Cancel(run) });
        }
    }

    fn is_task(&self, run: &str) -> bool {
        self.run(run).is_some_and(|run| run.task_status.is_some())
    }

    /// The hold that is shown, if it takes the decision now; else it is said why not.
    fn decidable(&mut self, word: &str) -> Option<HoldView> {
        let reason = match self.hold() {
            None => match self.current() {
                Some(run) => format!("{} waits for nobody", short(run)),
                None => "nothing waits for you".to_owned(),
            },
            Some(_) if self.sending.is_some() => "the last decision is still on its way".to_owned(),
            Some(_) if !self.was_seen() => "what waits here has just changed; look again".to_owned(),
            Some(hold) if !allows(hold, word) => {
                format!("this does not take `{word}`; it takes {}", clean_line(&hold.allowed.join(", ")))
            }
            Some(hold) => return Some(hold.clone()),
        };
        self.notice = Some(Notice::Bad(reason));
        None
    }

    fn send(&mut self, what: &str, order: Order) -> Vec<Order> {
        if !matches!(order, Order::Outside(_)) {
            self.sending = Some(what.to_owned());
        }
        vec![order]
    }
}

fn allows(hold: &HoldView, word: &str) -> bool {
    hold.allowed.iter().any(|allowed| allowed == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::run::sample;
    use crate::tui::news::News;
    use crate::tui::page::Page;
    use wire::RunView;

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
        let mut state = state(vec![waiting("a", &["approve", "reject"])]);
        assert_eq!(decision(&press(&mut state, "a")), ("approve", "d1", ""));
        assert_eq!(press(&mut state, "a"), [], "the first is still on its way");
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
        let mut state = state(vec![task]);
        state.list = List::Runs;
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
