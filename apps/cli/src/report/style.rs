//! The few colours there are.

use anstyle::{AnsiColor, Style};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WAIT: Style = AnsiColor::Yellow.on_default();
pub(crate) const BUSY: Style = AnsiColor::Cyan.on_default();

/// The colour of a run's status.
pub(crate) fn of_status(status: &str) -> Style {
    match status {
        "completed" => GOOD,
        "failed" => BAD,
        "awaiting_approval" | "awaiting_clarification" | "paused" | "stuck" => WAIT,
        "running" | "queued" => BUSY,
        _ => DIM,
    }
}
