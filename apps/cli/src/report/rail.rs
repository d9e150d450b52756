//! The stage rail and the small live region below what is already done. Pure.

use jiff::Timestamp;
use wire::{RunView, StageView};

use super::run::status_word;
use super::{
    clean_line,
    style::{BOLD, BUSY, DIM, GOOD, WAIT, of_status},
    tasks::{self, Children},
    words::{clock, fit, money, tokens},
};

/// What is known of the agent at work, beyond the run itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Activity {
    /// Tool at work, with its input.
    pub(crate) tool: Option<String>,
    /// What the model is saying; only its last line is shown.
    pub(crate) said: String,
}

/// What is being done right now, by the run itself and by the runs of its tasks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Doing<'a> {
    pub(crate) activity: &'a Activity,
    pub(crate) children: &'a Children,
}

/// `● planning ─ ◐ implementation ─ ○ validation`.
pub(crate) fn rail(stages: &[StageView]) -> String {
    stages.iter().map(station).collect::<Vec<_>>().join(&format!(" {DIM}─{DIM:#} "))
}

/// The region that is redrawn in place: never wider than `width`.
pub(crate) fn region(run: &RunView, doing: Doing<'_>, now: Timestamp, (width, height): (usize, usize)) -> Vec<String> {
    let Doing { activity, children } = doing;
    let mut lines = vec![String::new()];
    if !run.stages.is_empty() {
        lines.push(format!("  {}", rail(&run.stages)));
    }
    if let Some(goal) = &run.goal {
        lines.push(format!("  {}", fit(&clean_line(&goal.line), width.saturating_sub(4))));
    }
    let room = width.saturating_sub(6);
    if let Some(tool) = &activity.tool {
        lines.push(format!("  {BUSY}▸{BUSY:#} {}", fit(&clean_line(tool), room)));
    }
    if let Some(said) = activity.said.lines().rev().map(clean_line).find(|line| !line.is_empty()) {
        lines.push(format!("  {DIM}“{}”{DIM:#}", fit(&said, room)));
    }
    if run.tasks.iter().any(|task| task.child.is_some() || task.status == "starting") {
        // Room is left for the rail, the meter and the line the cursor stands on.
        lines.extend(tasks::region(run, children, width, height.saturating_sub(8).max(3)));
    }
    lines.push(format!("  {}", meter(run, now)));
    lines.into_iter().map(|line| within(line, width)).collect()
}

/// A line that would wrap could not be erased again: it is cut, without its colours.
fn within(line: String, width: usize) -> String {
    let plain = anstream::adapter::strip_str(&line).to_string();
    let cut = fit(&plain, width.saturating_sub(1));
    if cut == plain { line } else { cut }
}

fn station(stage: &StageView) -> String {
    let name = clean_line(&stage.name);
    let again = if stage.visits > 1 { format!(" ×{}", stage.visits) } else { String::new() };
    match stage.state.as_str() {
        "done" => format!("{GOOD}●{GOOD:#} {name}{DIM}{again}{DIM:#}"),
        "active" => format!("{BUSY}◐{BUSY:#} {BOLD}{name}{BOLD:#}{DIM}{again}{DIM:#}"),
        "holding" => format!("{WAIT}◆{WAIT:#} {BOLD}{name}{BOLD:#}{DIM}{again}{DIM:#}"),
        _ => format!("{DIM}○ {name}{DIM:#}"),
    }
}

fn meter(run: &RunView, now: Timestamp) -> String {
    let colour = of_status(&run.status);
    let status = status_word(run);
    let spend = &run.spend;
    let limit = spend.limit_usd.map(|limit| format!(" of {}", money(limit))).unwrap_or_default();
    let elapsed = clock(run.created_at, run.completed_at.unwrap_or(now));
    format!(
        "{colour}{}{colour:#} {DIM}· {elapsed} · {} in, {} out · {}{limit}{DIM:#}",
        clean_line(&status),
        tokens(spend.input_tokens),
        tokens(spend.output_tokens),
        money(spend.usd),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{plain, run::sample};

    #[test]
    fn the_rail_shows_what_is_done_active_and_to_come() {
        let run = sample::running();
        assert_eq!(plain(&rail(&run.stages)), "● planning ─ ◐ implementation ×2 ─ ○ validation");
    }

    #[test]
    fn the_region_fits_into_its_columns_and_shows_no_hostile_byte() {
        let run = sample::running();
        let activity = Activity {
            tool: Some(format!("shell {}", "x".repeat(200))),
            said: "first\nNow the \u{1b}[2Jstorage layer.\n".to_owned(),
        };
        let now = run.created_at + jiff::SignedDuration::from_secs(65);
        let doing = Doing { activity: &activity, children: &Children::new() };
        let text = plain(&region(&run, doing, now, (60, 24)).join("\n"));
        let expected = format!(
            "\n  ● planning ─ ◐ implementation ×2 ─ ○ validation\n  ▸ shell {}…\n  “Now the \u{fffd}[2Jstorage layer.”\n  running · 1:05 · 12.3k in, 950 out · $0.0123 of $2.00",
            "x".repeat(47)
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn no_line_of_the_region_wraps_on_a_narrow_terminal() {
        let doing = Doing { activity: &Activity::default(), children: &Children::new() };
        let text = plain(&region(&sample::running(), doing, sample::at(), (30, 24)).join("\n"));
        assert_eq!(text, "\n  ● planning ─ ◐ implementat…\n  running · 0:00 · 12.3k in,…");
    }
}
