//! What a person decides on, or has done to, the run they look at. Pure: everything is bound to the hold on the screen.

use wire::HoldView;

use super::news::{Force, Order};
use super::page::Tab;
use super::prompt::{About, Prompt};
use super::state::{Agent, Notice, State};
use crate::ask;
use crate::report::{change, clean_line, run::short};

/// Names of files in one question.
const FEW: usize = 3;

impl State {
    pub(super) fn attach(&mut self) -> Vec<Order> {
        let Some(run) = self.current().map(str::to_owned) else { return Vec::new() };
        let attached = self.run(&run).is_some_and(|run| run.hold.as_ref().is_some_and(|hold| hold.kind == "paused"));
        if self.agent(&run) != Agent::Active && !attached {
            self.notice =
                Some(Notice::Bad(format!("no agent is at work in {}; there is nothing to attach to", short(&run))));
            return Vec::new();
        }
        vec![Order::Outside(vec!["attach".to_owned(), run])]
    }

    pub(super) fn approve(&mut self) -> Vec<Order> {
        let Some(hold) = self.decidable("approve") else { return Vec::new() };
        let request = ask::request(&hold, "approve");
        self.say_yes("approving", Order::decide(&hold, request))
    }

    /// A yes is said on the page of a run, where the content is. What of a document or a change was not on the screen is named,
    /// and asked about once more.
    pub(super) fn say_yes(&mut self, what: &str, order: Order) -> Vec<Order> {
        let Some(detail) = &self.open else {
            self.notice = Some(Notice::Good("look at what is shown here, then press the key again".to_owned()));
            return self.enter_at(Tab::Now);
        };
        let files = detail.unseen().and_then(|(files, all)| change::unseen(&files, all, FEW));
        let unseen: Vec<String> = detail.unseen_text().into_iter().chain(files).collect();
        if !unseen.is_empty() {
            self.prompt = Some(Prompt::Sure { question: format!("Go on? {}", unseen.join("; ")), then: order });
            return Vec::new();
        }
        self.send(what, order)
    }

    /// Asks for the words of a decision.
    pub(super) fn ask_with(&mut self, word: &str, about: fn(Box<HoldView>) -> About) {
        if let Some(hold) = self.decidable(word) {
            self.prompt = Some(Prompt::line(about(Box::new(hold))));
        }
    }

    pub(super) fn answer_or_suggest(&mut self) {
        let answers = self.hold().is_some_and(|hold| allows(hold, "answer"));
        if answers { self.ask_with("answer", About::Answer) } else { self.ask_with("suggest", About::Suggestion) }
    }

    pub(super) fn any_decision(&mut self) {
        let first = self.hold().and_then(|hold| hold.allowed.first().cloned()).unwrap_or_default();
        self.ask_with(&first, About::Decision);
    }

    pub(super) fn edit(&mut self) -> Vec<Order> {
        self.decidable("modify_plan").map(|hold| Order::edit(&hold)).into_iter().collect()
    }

    pub(super) fn pull_request(&mut self) -> Vec<Order> {
        let Some(run) = self.current().map(str::to_owned) else { return Vec::new() };
        if self.hold().is_some_and(|hold| allows(hold, "create_pr")) {
            let Some(hold) = self.decidable("create_pr") else { return Vec::new() };
            let request = ask::request(&hold, "create_pr");
            return self.say_yes("opening a pull request", Order::decide(&hold, request));
        }
        if self.is_task(&run) {
            return self.say_yes("opening a pull request", Order::PullRequest(run));
        }
        self.notice = Some(Notice::Bad(format!("{} has nothing to open a pull request from now", short(&run))));
        Vec::new()
    }

    pub(super) fn merge(&mut self) -> Vec<Order> {
        let Some(run) = self.current().map(str::to_owned) else { return Vec::new() };
        if self.is_task(&run) {
            return self.say_yes("merging", Order::Merge { run, force: Force::No });
        }
        if self.hold().is_some_and(|hold| hold.kind == "review") {
            return self.approve();
        }
        self.notice = Some(Notice::Bad(format!("{} has nothing to merge now", short(&run))));
        Vec::new()
    }

    pub(super) fn cancel(&mut self) {
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

    pub(super) fn send(&mut self, what: &str, order: Order) -> Vec<Order> {
        if !matches!(order, Order::Outside(_)) {
            self.sending = Some(what.to_owned());
        }
        vec![order]
    }
}

fn allows(hold: &HoldView, word: &str) -> bool {
    hold.allowed.iter().any(|allowed| allowed == word)
}
