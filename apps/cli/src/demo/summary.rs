//! What came of the demo, and what to try next.

use std::path::Path;

use jiff::Timestamp;
use wire::RunView;

use super::sample::git;
use crate::{
    failure::Failure,
    home::Home,
    report::{
        clean_line,
        run::{ending, short, short_commit},
        style::{BOLD, DIM},
        words::{count, money, tokens},
    },
};

pub(super) fn render(run: &RunView, repository: &Path, home: &Home) -> Result<String, Failure> {
    let mut lines = vec![String::new(), format!("{BOLD}{}{BOLD:#}", ending(run, Timestamp::now()))];
    let mut row = |name: &str, value: String| lines.push(format!("  {DIM}{name:<8}{DIM:#} {value}"));
    row("branch", clean_line(&run.branch));
    if let Some(commit) = &run.merged {
        row("commit", format!("{} on {}", short_commit(commit), clean_line(&run.base)));
        row("files", changed_files(repository, commit)?);
    }
    let spend = &run.spend;
    let (sent, received) = (tokens(spend.input_tokens), tokens(spend.output_tokens));
    let calls = count(spend.calls, "model call", "model calls");
    row("cost", format!("{} ({calls}, {sent} tokens in, {received} out)", money(spend.usd)));
    if let Some(tier) = &run.tier {
        row("sandbox", clean_line(tier));
    }
    lines.extend([String::new(), "Try next:".to_owned()]);
    let with_home = format!("HOLDPOINT_HOME={} holdpoint", home.path().display());
    if run.hold.is_some() {
        lines.push(format!("  {with_home} watch {}", short(&run.id)));
    }
    lines.extend([
        format!("  git -C {} log --stat", repository.display()),
        format!("  {with_home} show {}", short(&run.id)),
        format!("  {with_home} events {}", short(&run.id)),
        "  holdpoint run --watch \"what shall be done\"   (in a repository of yours)".to_owned(),
    ]);
    Ok(lines.join("\n"))
}

fn changed_files(repository: &Path, commit: &str) -> Result<String, Failure> {
    let files = git(repository, &["show", "--name-only", "--format=", commit])?;
    let (record, own): (Vec<&str>, Vec<&str>) = files.lines().partition(|path| path.starts_with(".autonomous/"));
    Ok(format!("{} and {} of the record in .autonomous/", own.join(", "), count(record.len() as u64, "file", "files")))
}
