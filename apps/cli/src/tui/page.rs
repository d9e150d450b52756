//! One run, opened: everything known about it, in five tabs of text. Pure.

use jiff::Timestamp;
use ratatui::text::Line;
use serde_json::Value;
use wire::{DiffView, EventView, LiveName, RunView, SessionHistory, SpendCall, WhyView};

use super::ansi;
use crate::report::{
    clean, clean_line, fact, hold, rail, run, style::BUSY, style::DIM, table, talk, words::fit, words::wrap,
};

/// What of a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tab {
    Now,
    Diff,
    Session,
    Spend,
    Why,
}

impl Tab {
    pub(super) const ALL: [(Self, &'static str); 5] = [
        (Self::Now, "now"),
        (Self::Diff, "diff"),
        (Self::Session, "session"),
        (Self::Spend, "spend"),
        (Self::Why, "why"),
    ];

    pub(super) fn number(self) -> usize {
        Self::ALL.iter().position(|(tab, _)| *tab == self).unwrap_or(0)
    }

    /// The one `steps` further, round and round.
    pub(super) fn step(self, steps: usize) -> Self {
        Self::ALL[(self.number() + steps) % Self::ALL.len()].0
    }
}

/// Everything asked about a run at once. What could not be had is told instead.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) run: RunView,
    pub(super) shown: hold::Shown,
    pub(super) diff: Result<DiffView, String>,
    pub(super) history: Option<SessionHistory>,
    pub(super) calls: Vec<SpendCall>,
    pub(super) why: Option<WhyView>,
    pub(super) events: Vec<EventView>,
}

#[cfg(test)]
impl Page {
    /// A run of which nothing else is known.
    pub(super) fn of(run: RunView) -> Self {
        Self {
            run,
            shown: hold::Shown::Nothing,
            diff: Err("nothing is changed yet".to_owned()),
            history: None,
            calls: Vec::new(),
            why: None,
            events: Vec::new(),
        }
    }
}

/// The open run and how the person looks at it.
#[derive(Debug)]
pub(super) struct Detail {
    pub(super) run: String,
    pub(super) tab: Tab,
    pub(super) page: Option<Page>,
    /// What the agent does right now.
    pub(super) doing: rail::Activity,
    /// Whether it is being asked for.
    pub(super) loading: bool,
    /// Whether something happened since it was asked for.
    stale: bool,
    /// What the model said is complete, and in the next page.
    settled: bool,
    pub(super) scroll: usize,
    /// Whether the end stays in sight as it grows.
    pub(super) follows: bool,
    /// For which tab, width and time the lines were laid out.
    laid: Option<(Tab, usize, i64)>,
    pub(super) lines: Vec<Line<'static>>,
    /// Rows of the text that fit on the screen.
    pub(super) room: usize,
}

impl Detail {
    pub(super) fn new(run: String, tab: Tab) -> Self {
        Self {
            run,
            tab,
            page: None,
            doing: rail::Activity::default(),
            loading: false,
            stale: false,
            settled: false,
            scroll: 0,
            follows: tab == Tab::Session,
            laid: None,
            lines: Vec::new(),
            room: 0,
        }
    }

    /// Whether it shall be asked for now; if not, it will be asked for again.
    pub(super) fn ask(&mut self) -> bool {
        self.stale = self.loading;
        !std::mem::replace(&mut self.loading, true)
    }

    /// Whether something happened while the answer was on its way.
    pub(super) fn wants_again(&mut self) -> bool {
        std::mem::take(&mut self.stale) && self.ask()
    }

    /// Takes an answer.
    pub(super) fn show(&mut self, page: Page) {
        self.loading = false;
        if std::mem::take(&mut self.settled) {
            self.doing.said.clear();
        }
        if self.page.as_ref().is_none_or(|known| known.run.version <= page.run.version) {
            self.page = Some(page);
        }
        self.laid = None;
    }

    pub(super) fn turn_to(&mut self, tab: Tab) {
        if self.tab != tab {
            (self.tab, self.scroll, self.follows) = (tab, 0, tab == Tab::Session);
        }
    }

    /// What the agent does right now.
    pub(super) fn acts(&mut self, name: LiveName, data: &Value) {
        let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default();
        match name {
            LiveName::TurnStarted => {
                self.doing.said.clear();
                self.settled = false;
            }
            LiveName::TurnMessageDelta | LiveName::TurnThoughtDelta => self.doing.said.push_str(text("text")),
            LiveName::TurnToolStarted => self.doing.tool = Some(format!("{} {}", text("tool"), text("input"))),
            LiveName::TurnToolCompleted | LiveName::SessionCompleted => self.doing.tool = None,
            LiveName::TurnCompleted => self.settled = true,
            LiveName::WorkflowCreated
            | LiveName::WorkflowApprovalNeeded
            | LiveName::WorkflowStageChanged
            | LiveName::WorkflowCompleted
            | LiveName::WorkflowError
            | LiveName::WorkflowEvent
            | LiveName::AutoAdvanced
            | LiveName::AgentCrashed
            | LiveName::SessionStarted
            | LiveName::SessionError
            | LiveName::SessionNote => {}
        }
        self.laid = None;
    }

    /// Lays the text out for a screen, if anything about it changed.
    pub(super) fn lay(&mut self, (width, room): (usize, usize), now: Timestamp) {
        self.room = room;
        // Some say how long ago something was.
        let time = match self.tab {
            Tab::Now | Tab::Why => now.as_second() / 5,
            Tab::Diff | Tab::Session | Tab::Spend => 0,
        };
        if self.laid != Some((self.tab, width, time)) {
            self.laid = Some((self.tab, width, time));
            self.lines = match &self.page {
                Some(page) => ansi::lines(&text(page, self.tab, &self.doing, now, width)),
                None => ansi::lines(&format!("{DIM}asking the server …{DIM:#}")),
            };
        }
        let last = self.lines.len().saturating_sub(room);
        self.scroll = if self.follows { last } else { self.scroll.min(last) };
    }

    /// Moves by rows; the end is followed from when it is reached until it is left.
    pub(super) fn scroll_by(&mut self, rows: isize) {
        let last = self.lines.len().saturating_sub(self.room);
        self.scroll = self.scroll.saturating_add_signed(rows).min(last);
        self.follows = self.tab == Tab::Session && self.scroll == last;
    }
}

fn text(page: &Page, tab: Tab, doing: &rail::Activity, now: Timestamp, width: usize) -> String {
    match tab {
        Tab::Now => now_text(page, doing, now, width),
        Tab::Diff => match &page.diff {
            Ok(diff) if diff.files.is_empty() => "nothing is changed yet".to_owned(),
            Ok(diff) => {
                let cut =
                    if diff.truncated { "\n(cut, because it is very long; the branch has all of it)" } else { "" };
                format!("{}\n\n{}{cut}", table::diffstat(&diff.files, width), table::diff(&diff.diff))
            }
            Err(reason) => clean_line(reason),
        },
        Tab::Session => session_text(page, doing, width),
        Tab::Spend => run::cost(&page.run, &page.calls, width),
        Tab::Why => {
            let why = page.why.as_ref().map(|why| run::why(why, now)).unwrap_or_default();
            let told = page.events.iter().filter_map(|event| fact::line(event, width));
            format!("{why}\n\n{}", told.collect::<Vec<_>>().join("\n"))
        }
    }
}

/// What it waits for comes first; a run that waits for nobody shows what it does.
fn now_text(page: &Page, doing: &rail::Activity, now: Timestamp, width: usize) -> String {
    let shown = run::show(&page.run, now, width);
    // The request and the rail stand above already.
    let about: Vec<&str> = shown.lines().skip_while(|line| !line.contains("run  ")).collect();
    let mut parts = Vec::new();
    if let Some(held) = &page.run.hold {
        parts.push(hold::draw(held, &page.shown, now, width));
        parts.push(format!("  {DIM}takes: {}{DIM:#}", clean_line(&held.allowed.join(", "))));
        if let hold::Shown::Change(change) = &page.shown {
            parts.push(format!("\n{}", table::diff(&change.diff)));
        }
    } else {
        parts.extend(doing_lines(doing, width, 3));
    }
    let until_hold = about.iter().position(|line| line.contains("◆ waits for you")).unwrap_or(about.len());
    parts.push(format!("\n{}", about[..until_hold].join("\n")));
    parts.join("\n")
}

fn session_text(page: &Page, doing: &rail::Activity, width: usize) -> String {
    let told = page.history.as_ref().map(|history| talk::history(history, false, width));
    let mut parts = vec![told.unwrap_or_else(|| format!("{DIM}no agent has spoken yet{DIM:#}"))];
    parts.extend(doing_lines(doing, width, usize::MAX));
    parts.join("\n")
}

/// What is being said and done right now; only the last lines of what is said.
fn doing_lines(doing: &rail::Activity, width: usize, most: usize) -> Vec<String> {
    let said = clean(&doing.said);
    let said: Vec<String> = said.lines().flat_map(|line| wrap(line, width.saturating_sub(2))).collect();
    let mut lines: Vec<String> =
        said[said.len().saturating_sub(most)..].iter().map(|line| format!("{BUSY}│{BUSY:#} {line}")).collect();
    if let Some(tool) = &doing.tool {
        lines.push(format!("{BUSY}▸{BUSY:#} {}", fit(&clean_line(tool), width.saturating_sub(2))));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::run::sample;
    use serde_json::json;

    fn laid(detail: &mut Detail) -> String {
        detail.lay((80, 20), sample::at());
        detail.lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    fn opened(run: RunView, tab: Tab) -> Detail {
        let mut detail = Detail::new(run.id.clone(), tab);
        detail.show(Page::of(run));
        detail
    }

    #[test]
    fn what_a_run_waits_for_comes_before_what_it_is() {
        let run = RunView { hold: Some(sample::question()), ..sample::running() };
        let text = laid(&mut opened(run, Tab::Now));
        let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("`{what}` is missing in\n{text}"));
        assert!(place("1. Ignore case") < place("takes: answer, ignore, cancel"));
        assert!(place("takes: answer") < place("branch    autonomous/0193f2c4-search"));
    }

    #[test]
    fn what_an_agent_says_right_now_is_shown_clean_and_only_once() {
        let mut detail = opened(sample::running(), Tab::Session);
        detail.acts(LiveName::TurnMessageDelta, &json!({"text": "Now \u{1b}[2Jthe "}));
        detail.acts(LiveName::TurnMessageDelta, &json!({"text": "storage"}));
        detail.acts(LiveName::TurnToolStarted, &json!({"tool": "shell", "input": "ls"}));
        let text = laid(&mut detail);
        assert!(text.contains("│ Now \u{fffd}[2Jthe storage\n▸ shell ls"), "{text}");
        detail.acts(LiveName::TurnToolCompleted, &json!({}));
        detail.acts(LiveName::TurnCompleted, &json!({}));
        detail.show(Page::of(sample::running()));
        assert!(!laid(&mut detail).contains("storage"), "it is in the history now");
    }

    #[test]
    fn the_diff_is_scrolled_within_its_bounds() {
        let diff: String = (0..100).map(|n| format!("+line {n}\n")).collect();
        let file =
            wire::FileChangeView { path: "a".to_owned(), status: "A".to_owned(), added: Some(100), deleted: Some(0) };
        let diff = DiffView { base: "b".to_owned(), head: "h".to_owned(), files: vec![file], diff, truncated: false };
        let mut detail = opened(sample::running(), Tab::Diff);
        detail.show(Page { diff: Ok(diff), ..Page::of(sample::running()) });
        laid(&mut detail);
        detail.scroll_by(-5);
        assert_eq!(detail.scroll, 0);
        detail.scroll_by(1000);
        assert_eq!(detail.scroll, detail.lines.len() - 20);
    }

    #[test]
    fn a_change_that_waits_is_shown_whole_and_its_age_grows() {
        let run = RunView { hold: Some(sample::question()), ..sample::running() };
        let (base, head, diff) = ("b".to_owned(), "h".to_owned(), "+warmer\n-cold".to_owned());
        let change = DiffView { base, head, files: Vec::new(), diff, truncated: false };
        let mut detail = Detail::new(run.id.clone(), Tab::Now);
        detail.show(Page { shown: hold::Shown::Change(change), ..Page::of(run) });
        let text = laid(&mut detail);
        assert!(text.contains("+warmer\n-cold") && text.contains("(just now)"), "{text}");
        detail.lay((80, 20), sample::at() + jiff::SignedDuration::from_mins(3));
        assert!(detail.lines.iter().any(|line| line.to_string().contains("(3 min ago)")));
    }

    #[test]
    fn tabs_go_round() {
        assert_eq!((Tab::Why.step(1), Tab::Now.step(4)), (Tab::Now, Tab::Why));
    }
}
