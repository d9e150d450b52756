//! Runs side by side: what each plans, changes, proves and costs, and what they change together.

use std::collections::BTreeSet;

use domain::{ArtifactKind, CheckResult, Run, Status, Verdict};
use jiff::Timestamp;
use wire::{CompareView, ComparedRun, SharedFiles};

use crate::problem::Failure;
use crate::{App, to_wire};

/// What Holdpoint writes beside the work.
const RECORD: &str = ".autonomous/";

pub(crate) async fn view(app: &App, runs: &[Run], now: Timestamp) -> Result<CompareView, Failure> {
    let mut compared = Vec::new();
    for run in runs {
        compared.push(one(app, run, now).await?);
    }
    let (common, pairs) = shared(&compared);
    Ok(CompareView { runs: compared, common, pairs })
}

async fn one(app: &App, run: &Run, now: Timestamp) -> Result<ComparedRun, Failure> {
    let opened = run.opened();
    let changed = match &run.base {
        Some(_) => app.shelf.diff(run).await?.files,
        None => Vec::new(),
    };
    let changed: Vec<_> = changed.into_iter().filter(|(path, ..)| !path.starts_with(RECORD)).collect();
    let plan = run.artifacts.iter().rev().find(|made| matches!(made.kind, ArtifactKind::Plan | ArtifactKind::Spec));
    let checks = run.proof.as_ref().map(|proof| proof.checks.as_slice()).unwrap_or_default();
    let passed = checks.iter().filter(|check| CheckResult::passed(check)).count();
    let took = run.ended_at.unwrap_or(now).as_second().saturating_sub(opened.at.as_second());
    Ok(ComparedRun {
        id: run.id.to_string(),
        request: opened.request.clone(),
        index: opened.config.group.as_ref().map(|group| group.index),
        status: Status::of(run).word().to_owned(),
        plan: plan.map(|made| made.title.clone()),
        tasks: run.pulses(),
        added: changed.iter().filter_map(|(_, _, added, _)| *added).sum(),
        deleted: changed.iter().filter_map(|(_, _, _, deleted)| *deleted).sum(),
        files: changed.into_iter().map(|(path, ..)| path).collect(),
        checks_passed: count(passed),
        checks_failed: count(checks.len() - passed),
        verdict: run.review.as_ref().map(|review| word(review.verdict).to_owned()),
        review: run.review.as_ref().map(|review| review.summary.clone()),
        usd: run.cost().usd(),
        forked_from: opened.forked_from.as_ref().map(to_wire::forked_from),
        inherited_usd: opened.forked_from.as_ref().map(|_| run.inherited.cost.plus(run.inherited.children).usd()),
        input_tokens: run.spend.input_tokens,
        output_tokens: run.spend.output_tokens,
        seconds: took.max(0),
        hold: run.hold().map(|hold| to_wire::hold(&run.id, hold)),
    })
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// What all change, and what any two change.
fn shared(runs: &[ComparedRun]) -> (Vec<String>, Vec<SharedFiles>) {
    let sets: Vec<BTreeSet<&String>> = runs.iter().map(|run| run.files.iter().collect()).collect();
    let mut common: Vec<String> = Vec::new();
    if let Some((first, rest)) = sets.split_first() {
        common = first
            .iter()
            .filter(|file| rest.iter().all(|set| set.contains(*file)))
            .map(|file| (*file).clone())
            .collect();
    }
    let mut pairs = Vec::new();
    for (index, first) in sets.iter().enumerate() {
        for (second, later) in sets.iter().zip(runs).skip(index + 1) {
            let files: Vec<String> = first.intersection(second).map(|file| (*file).clone()).collect();
            if !files.is_empty() {
                pairs.push(SharedFiles { first: runs[index].id.clone(), second: later.id.clone(), files });
            }
        }
    }
    (common, pairs)
}
