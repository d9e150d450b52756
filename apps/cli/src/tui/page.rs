//! One run, opened: everything known about it, in five tabs of text. Pure.

use jiff::Timestamp;
use ratatui::text::Line;
use serde_json::Value;
use wire::{ChangedFileView, EventView, HoldView, LiveName, RunView, SessionHistory, SpendCall, WhyView};

use super::ansi;
use super::seen::{Layout, Seen};
use crate::change::{Loaded, Of};
use crate::report::{
    change, clean, clean_line, fact, hold, rail, run, style::BUSY, style::DIM, talk, words::fit, words::wrap,
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
    pub(super) diff: Result<Loaded, String>,
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
    /// Where the files of a change stand in the lines.
    layout: Layout,
    pub(super) seen: Seen,
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
            layout: Layout::default(),
            seen: Seen::default(),
        }
    }

    /// What a hold shows besides a change and was not on the screen, in words.
    pub(super) fn unseen_text(&self) -> Option<String> {
        let page = self.page.as_ref()?;
        let hold = page.run.hold.as_ref()?;
        let what = match &page.shown {
            hold::Shown::Document(made) => clean_line(&made.artifact.kind.replace('_', " ")),
            hold::Shown::Nothing | hold::Shown::Change(_) | hold::Shown::Failing(_) => "hold".to_owned(),
        };
        match self.seen.unseen_rows(&hold.digest) {
            Some((0, _)) => None,
            Some((unseen, all)) => Some(format!("{unseen} of {all} lines of the {what} not shown")),
            // Its own few words stand in the list too.
            None if matches!(page.shown, hold::Shown::Document(_)) => Some(format!("the {what} was not shown")),
            None => None,
        }
    }

    /// Files of the change that waits which were not on the screen, out of how many; none where no change waits.
    pub(super) fn unseen(&self) -> Option<(Vec<&ChangedFileView>, usize)> {
        let page = self.page.as_ref()?;
        let change = change_of(page, page.run.hold.as_ref())?;
        let unseen = self.seen.missing(change);
        (!unseen.is_empty()).then_some((unseen, change.list.files.len()))
    }

    /// What is on the screen now has been seen.
    pub(super) fn note_seen(&mut self) {
        let end = self.lines.len().min(self.scroll + self.room);
        self.seen.note(&self.layout, self.scroll..end);
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
            (self.lines, self.layout) = match &self.page {
                Some(page) => laid(page, self.tab, &self.doing, now, width),
                None => (ansi::lines(&format!("{DIM}asking the server …{DIM:#}")), Layout::default()),
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

/// The change that is decided on with a hold, as far as it is here.
fn change_of<'a>(page: &'a Page, hold: Option<&HoldView>) -> Option<&'a Loaded> {
    match &page.shown {
        hold::Shown::Change(loaded) => Some(loaded),
        hold::Shown::Nothing | hold::Shown::Document(_) | hold::Shown::Failing(_) => {
            let shows = hold.is_none_or(|hold| Of::shown_by(hold, &page.run).is_some());
            page.diff.as_ref().ok().filter(|_| shows)
        }
    }
}

/// The lines of a tab, and where files of a change stand in them. Nothing is cut at the right edge.
fn laid(page: &Page, tab: Tab, doing: &rail::Activity, now: Timestamp, width: usize) -> (Vec<Line<'static>>, Layout) {
    let (before, change, after) = match tab {
        Tab::Now => now_text(page, doing, now, width),
        Tab::Diff => match &page.diff {
            Ok(diff) if diff.list.files.is_empty() => ("nothing is changed yet".to_owned(), None, String::new()),
            Ok(diff) => (change::list(&diff.list), Some(diff), String::new()),
            Err(reason) => (clean_line(reason), None, String::new()),
        },
        Tab::Session | Tab::Spend | Tab::Why => (text(page, tab, doing, now, width), None, String::new()),
    };
    let mut lines = ansi::wrapped(&before, width);
    let hold = page.run.hold.as_ref().filter(|_| tab == Tab::Now);
    let mut layout = Layout {
        head: change.map(|change| change.list.head.clone()),
        files: Vec::new(),
        text: hold.map(|hold| (hold.digest.clone(), 0..lines.len())),
    };
    for part in change.iter().flat_map(|change| &change.sections) {
        let Some(file) = change.and_then(|change| change.list.files.get(part.at)) else { continue };
        lines.push(Line::default());
        let from = lines.len();
        lines.extend(ansi::wrapped(&change::section(file, part), width));
        layout.files.push((part.at, from..lines.len()));
    }
    for file in change.iter().flat_map(|change| change.missing()) {
        let path = wire::reveal(&file.path);
        let said = format!(
            "\n{path} is not shown here, it is too long: holdpoint diff {} --file {path}",
            run::short(&page.run.id)
        );
        lines.extend(ansi::wrapped(&said, width));
    }
    lines.extend(ansi::wrapped(&after, width));
    (lines, layout)
}

fn text(page: &Page, tab: Tab, doing: &rail::Activity, now: Timestamp, width: usize) -> String {
    match tab {
        Tab::Now | Tab::Diff => String::new(),
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
fn now_text<'a>(
    page: &'a Page,
    doing: &rail::Activity,
    now: Timestamp,
    width: usize,
) -> (String, Option<&'a Loaded>, String) {
    let shown = run::show(&page.run, now, width);
    // The request and the rail stand above already.
    let about: Vec<&str> = shown.lines().skip_while(|line| !line.contains("run  ")).collect();
    let (mut parts, mut change) = (Vec::new(), None);
    if let Some(held) = &page.run.hold {
        parts.push(hold::draw(held, &page.shown, now, width));
        parts.push(format!("  {DIM}takes: {}{DIM:#}", clean_line(&held.allowed.join(", "))));
        if let hold::Shown::Change(loaded) = &page.shown {
            change = Some(&**loaded);
        }
    } else {
        parts.extend(doing_lines(doing, width, 3));
    }
    let until_hold = about.iter().position(|line| line.contains("◆ waits for you")).unwrap_or(about.len());
    (parts.join("\n"), change, format!("\n{}", about[..until_hold].join("\n")))
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
        let diff = change::sample::loaded(&[("a", &diff)]);
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
        let change = Box::new(change::sample::loaded(&[("a", "+warmer\n-cold")]));
        let mut detail = Detail::new(run.id.clone(), Tab::Now);
        detail.show(Page { shown: hold::Shown::Change(change), ..Page::of(run) });
        let text = laid(&mut detail);
        assert!(text.contains("+warmer\n-cold") && text.contains("(just now)"), "{text}");
        detail.lay((80, 20), sample::at() + jiff::SignedDuration::from_mins(3));
        assert!(detail.lines.iter().any(|line| line.to_string().contains("(3 min ago)")));
    }

    #[test]
    fn a_file_is_seen_once_all_of_its_lines_were_on_the_screen() {
        let long: String = (0..60).map(|n| format!("+line {n}\n")).collect();
        let files = [("fixtures.txt", long.as_str()), ("src/auth.ts", "+export const allowed = true;\n")];
        let run = RunView { hold: Some(sample::question()), ..sample::running() };
        let mut detail = Detail::new(run.id.clone(), Tab::Now);
        detail.show(Page { shown: hold::Shown::Change(Box::new(change::sample::loaded(&files))), ..Page::of(run) });
        let look = |detail: &mut Detail, rows: isize| {
            detail.scroll_by(rows);
            laid(detail);
            detail.note_seen();
            let names = |(files, all): (Vec<&ChangedFileView>, usize)| {
                (files.iter().map(|file| file.path.clone()).collect(), all)
            };
            detail.unseen().map(names).unwrap_or((Vec::<String>::new(), 2)).0
        };
        assert_eq!(look(&mut detail, 0), ["fixtures.txt", "src/auth.ts"]);
        // A jump to the end shows the last file, and not what lies between.
        assert_eq!(look(&mut detail, isize::MAX), ["fixtures.txt"]);
        for _ in 0..3 {
            look(&mut detail, -20);
        }
        assert_eq!(look(&mut detail, -20), Vec::<String>::new());
    }

    #[test]
    fn a_document_is_seen_once_all_of_its_lines_were_on_the_screen() {
        let mut detail = documented(&(0..60).map(|n| format!("line {n}\n\n")).collect::<String>());
        assert_eq!(detail.unseen_text().as_deref(), Some("the spec was not shown"));
        let all = look(&mut detail, 0);
        assert_eq!(detail.unseen_text(), Some(format!("{} of {all} lines of the spec not shown", all - 20)));
        // A jump to the end shows the end, and not what lies between.
        look(&mut detail, isize::MAX);
        assert!(detail.unseen_text().is_some_and(|said| said.contains(" lines of the spec not shown")));
        for _ in 0..all / 20 {
            look(&mut detail, -20);
        }
        assert_eq!(detail.unseen_text(), None);
    }

    #[test]
    fn a_newer_version_of_a_document_has_not_been_seen() {
        let mut detail = documented("short\n");
        look(&mut detail, 0);
        assert_eq!(detail.unseen_text(), None);
        let mut page = detail.page.take().unwrap();
        if let Some(hold) = &mut page.run.hold {
            hold.digest = "d2".to_owned();
        }
        detail.show(page);
        assert_eq!(detail.unseen_text().as_deref(), Some("the spec was not shown"));
    }

    #[test]
    fn a_document_that_fits_is_seen_at_once_and_so_is_a_question() {
        let mut detail = documented("short\n");
        look(&mut detail, 0);
        assert_eq!(detail.unseen_text(), None);
        let run = RunView { hold: Some(sample::question()), ..sample::running() };
        let mut detail = opened(run, Tab::Now);
        assert_eq!(detail.unseen_text(), None);
        look(&mut detail, 0);
        assert_eq!(detail.unseen_text(), None);
    }

    fn documented(content: &str) -> Detail {
        let run = RunView { hold: Some(sample::question()), ..sample::running() };
        let mut detail = Detail::new(run.id.clone(), Tab::Now);
        let shown = hold::Shown::Document(Box::new(sample::document("spec", content)));
        detail.show(Page { shown, ..Page::of(run) });
        detail
    }

    /// Moves, draws, and says how many rows the hold has.
    fn look(detail: &mut Detail, rows: isize) -> usize {
        detail.scroll_by(rows);
        laid(detail);
        detail.note_seen();
        detail.layout.text.as_ref().map_or(0, |(_, place)| place.len())
    }

    #[test]
    fn nothing_is_pushed_over_the_right_edge() {
        let line = format!("+ok();{}evil();\n", " ".repeat(300));
        let mut detail = opened(sample::running(), Tab::Diff);
        detail.show(Page { diff: Ok(change::sample::loaded(&[("a.ts", &line)])), ..Page::of(sample::running()) });
        assert!(laid(&mut detail).contains("evil();"));
        assert!(detail.lines.iter().all(|line| line.width() <= 80));
    }

    #[test]
    fn tabs_go_round() {
        assert_eq!((Tab::Why.step(1), Tab::Now.step(4)), (Tab::Now, Tab::Why));
    }
}
