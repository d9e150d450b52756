//! Tables. Pure; every cell is cleaned here.

use comfy_table::{ContentArrangement, Table};
use jiff::Timestamp;
use wire::{ArtifactView, BatchView, CheckpointView, EventView, ForkPointView, HoldView, RunView, SpendCall, UserView};

use super::run::status_word;
use super::{
    clean_line,
    run::{short, short_commit},
    style::{DIM, of_status},
    words::{ago, fit, money, tokens, until},
};

/// `list`.
pub(crate) fn runs(runs: &[RunView], now: Timestamp, width: usize) -> String {
    if runs.is_empty() {
        return "no runs yet; start one with `holdpoint run \"what shall be done\"`".to_owned();
    }
    let room = width.saturating_sub(60).max(20);
    let rows = runs.iter().map(|run| {
        vec![
            if run.parent.is_some() { format!("└ {}", short(&run.id)) } else { short(&run.id) },
            status_word(run),
            run.stage.as_deref().map(clean_line).unwrap_or_default(),
            ago(now, run.created_at),
            money(run.spend.usd),
            fit(&about(run), room),
        ]
    });
    let text = table(&["run", "status", "stage", "started", "spend", "request"], rows, width);
    paint_statuses(&text, runs)
}

/// What was asked; a fork says first where it comes from.
fn about(run: &RunView) -> String {
    let request = clean_line(&run.request);
    match &run.forked_from {
        Some(from) => format!("(from {}@{}) {request}", short(&from.run), from.at),
        None => request,
    }
}

/// `fork --list`.
pub(crate) fn points(points: &[ForkPointView], now: Timestamp, width: usize) -> String {
    if points.is_empty() {
        return "there is no checkpoint yet; the first is where its first stage begins".to_owned();
    }
    let room = width.saturating_sub(50).max(20);
    let rows = points.iter().map(|point| {
        vec![
            point.at.to_string(),
            ago(now, point.time),
            point.stage.as_deref().map(clean_line).unwrap_or_default(),
            money(point.usd),
            fit(&clean_line(&point.what), room),
        ]
    });
    table(&["event", "when", "stage", "spent", "what happened"], rows, width)
}

/// `user list`.
pub(crate) fn users(users: &[UserView], now: Timestamp, width: usize) -> String {
    if users.is_empty() {
        return "nobody but you; let somebody in with `holdpoint user add NAME --role reviewer`".to_owned();
    }
    let rows = users.iter().map(|user| {
        let browsers = user.browsers.to_string();
        vec![clean_line(&user.name), user.role.word().to_owned(), ago(now, user.added_at), browsers]
    });
    table(&["user", "role", "since", "browsers"], rows, width)
}

/// `inbox`.
pub(crate) fn holds(holds: &[HoldView], now: Timestamp, width: usize) -> String {
    if holds.is_empty() {
        return "nothing waits for you".to_owned();
    }
    let room = width.saturating_sub(44).max(20);
    let rows = holds.iter().map(|hold| {
        let shown = hold.question.as_deref().unwrap_or(&hold.summary);
        let shown = match hold.deadline {
            Some(deadline) => format!("({}) {shown}", until(now, deadline)),
            None => shown.to_owned(),
        };
        let marked = if hold.strangers.is_empty() { String::new() } else { "(strangers) ".to_owned() };
        let shown = format!("{marked}{shown}");
        let shown = shown.as_str();
        vec![
            short(&hold.run),
            clean_line(&hold.kind),
            hold.stage.as_deref().map(clean_line).unwrap_or_default(),
            ago(now, hold.since),
            fit(&clean_line(shown), room),
        ]
    });
    table(&["run", "hold", "stage", "since", "what"], rows, width)
}

pub(crate) fn artifacts(artifacts: &[ArtifactView], now: Timestamp, width: usize) -> String {
    let room = width.saturating_sub(52).max(16);
    let rows = artifacts.iter().enumerate().map(|(index, artifact)| {
        vec![
            (index + 1).to_string(),
            format!("{} v{}", clean_line(&artifact.kind.replace('_', " ")), artifact.version),
            short_commit(&artifact.commit),
            ago(now, artifact.created_at),
            fit(&clean_line(&artifact.title), room),
        ]
    });
    table(&["#", "artifact", "commit", "made", "title"], rows, width)
}

/// Model calls, oldest first.
pub(crate) fn calls(calls: &[SpendCall], width: usize) -> String {
    if calls.is_empty() {
        return "no model was called yet".to_owned();
    }
    let rows = calls.iter().map(|call| {
        vec![
            clean_line(&call.stage),
            clean_line(&call.model),
            tokens(call.input_tokens),
            tokens(call.output_tokens),
            call.usd.map_or("unknown".to_owned(), money),
            source(call),
        ]
    });
    // Where all was metered there is nothing to tell apart.
    match calls.iter().any(|call| call.reported_by.is_some()) {
        true => table(&["stage", "model", "in", "out", "cost", "by whose word"], rows, width),
        false => {
            let rows = rows.map(|mut row| {
                row.truncate(5);
                row
            });
            table(&["stage", "model", "in", "out", "cost"], rows, width)
        }
    }
}

fn source(call: &SpendCall) -> String {
    match &call.reported_by {
        Some(program) => format!("reported by {}, not metered", clean_line(program)),
        None => "metered".to_owned(),
    }
}

/// Runs that were started together.
pub(crate) fn batch(started: &BatchView, width: usize) -> String {
    let room = width.saturating_sub(16).max(20);
    let rows = started.items.iter().map(|item| {
        let (run, said) = match (&item.run, &item.problem) {
            (Some(run), _) => (short(run), clean_line(&item.request)),
            (None, Some(problem)) => ("—".to_owned(), format!("not started: {}", clean_line(&problem.message))),
            (None, None) => ("—".to_owned(), clean_line(&item.request)),
        };
        vec![item.index.to_string(), run, fit(&said, room)]
    });
    table(&["#", "run", "request"], rows, width)
}

/// Named steps, one per line.
pub(crate) fn steps(steps: &[CheckpointView], width: usize) -> String {
    let line = |step: &CheckpointView| {
        let time = step.at.strftime("%H:%M:%S");
        let task = step.task.as_deref().map(|task| format!("{}: ", clean_line(task))).unwrap_or_default();
        let said = fit(&format!("{task}{}", clean_line(&step.detail)), width.saturating_sub(31));
        format!("{DIM}{time}{DIM:#} {:<20} {DIM}{said}{DIM:#}", clean_line(&step.step))
    };
    steps.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// One event on one line.
pub(crate) fn event(event: &EventView, width: usize) -> String {
    let payload = fit(&clean_line(&event.payload.to_string()), width.saturating_sub(50).max(20));
    let time = event.timestamp.strftime("%H:%M:%S");
    format!("{:>4} {DIM}{time}{DIM:#} {:<24} {DIM}{payload}{DIM:#}", event.sequence, clean_line(&event.kind))
}

pub(crate) fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>, width: usize) -> String {
    let mut table = Table::new();
    table
        .load_style(comfy_table::presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(120))
        .set_header(header.to_vec());
    for row in rows {
        table.add_row(row);
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// The table is laid out without colours, because their bytes would count as width.
fn paint_statuses(text: &str, runs: &[RunView]) -> String {
    let mut lines = text.lines();
    let header = lines.next().map(|line| format!("{DIM}{line}{DIM:#}"));
    let painted = lines.zip(runs).map(|(line, run)| {
        let status = status_word(run);
        let colour = of_status(&run.status);
        line.replacen(&status, &format!("{colour}{status}{colour:#}"), 1)
    });
    header.into_iter().chain(painted).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{plain, run::sample};

    #[test]
    fn a_list_fits_80_columns() {
        let run = RunView { request: "A very long request ".repeat(9), ..sample::running() };
        let text = plain(&runs(&[run], sample::at(), 80));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("0193f2c4"), "{text}");
        assert_eq!(text.lines().count(), 2, "{text}");
    }
}
