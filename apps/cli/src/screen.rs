//! Draws a watched run: facts as lines that stay, and below them a region that is redrawn in place.

use jiff::Timestamp;
use serde_json::Value;
use wire::{EventView, LiveName, RunView};

use crate::report::{
    self, Report, fact, rail,
    tasks::{Child, Children},
};

/// Whether the region is redrawn or left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drawing {
    Lines,
    Region,
}

/// What is on the screen.
pub(crate) struct Screen {
    report: Report,
    drawing: Drawing,
    activity: rail::Activity,
    children: Children,
    /// Lines of the region that stand below the cursor's start.
    drawn: usize,
}

impl Screen {
    pub(crate) fn new(report: Report) -> Self {
        let drawing = if report::can_redraw() && !report.is_json() { Drawing::Region } else { Drawing::Lines };
        Self { report, drawing, activity: rail::Activity::default(), children: Children::new(), drawn: 0 }
    }

    pub(crate) fn drawing(&self) -> Drawing {
        self.drawing
    }

    /// An event: a line that stays, if it is worth one.
    pub(crate) fn event(&mut self, event: &EventView) {
        if matches!(event.kind.as_str(), "STAGE_STARTED" | "STAGE_COMPLETED" | "ARTIFACT_CREATED") {
            self.activity = rail::Activity::default();
        }
        if let Some(line) = fact::line(event, report::width()) {
            self.line(&line);
        }
    }

    /// A line that stays.
    pub(crate) fn line(&mut self, line: &str) {
        self.erase();
        if self.report.is_json() { self.report.note(line) } else { self.report.data(line) }
    }

    /// The run of a task, as it is now.
    pub(crate) fn child(&mut self, run: RunView) {
        let activity = match self.children.remove(&run.id) {
            Some(known) if known.run.stage == run.stage => known.activity,
            Some(_) | None => rail::Activity::default(),
        };
        self.children.insert(run.id.clone(), Child { run, activity });
    }

    /// What the agent of the run, or of the run of a task, does right now.
    pub(crate) fn activity(&mut self, child: Option<&str>, name: LiveName, data: &Value) {
        let activity = match child {
            None => &mut self.activity,
            Some(id) => match self.children.get_mut(id) {
                Some(child) => &mut child.activity,
                None => return,
            },
        };
        let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default();
        match name {
            LiveName::TurnStarted => activity.said.clear(),
            LiveName::TurnMessageDelta | LiveName::TurnThoughtDelta => {
                activity.tool = None;
                activity.said.push_str(text("text"));
            }
            LiveName::TurnToolStarted => activity.tool = Some(format!("{} {}", text("tool"), text("input"))),
            LiveName::TurnToolCompleted | LiveName::SessionCompleted => activity.tool = None,
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
            | LiveName::SessionNote
            | LiveName::TurnCompleted => {}
        }
    }

    /// Draws the region anew.
    pub(crate) fn draw(&mut self, run: &RunView) {
        if self.drawing == Drawing::Region {
            self.erase();
            let doing = rail::Doing { activity: &self.activity, children: &self.children };
            let size = (report::width(), report::height());
            let lines = rail::region(run, doing, Timestamp::now(), size);
            self.drawn = lines.len();
            self.report.note(&lines.join("\n"));
        }
    }

    /// Takes the region away, so that something else can be printed.
    pub(crate) fn erase(&mut self) {
        if self.drawn > 0 {
            self.report.control(&format!("\u{1b}[{}A\r\u{1b}[J", self.drawn));
            self.drawn = 0;
        }
    }
}
