//! What a run will probably cost, said before it starts: from runs that ended here, or a rough guess and called so.
//! Never guesses a price that is not known.

use broker::{Price, purses};
use domain::{ArtifactKind, Estimate, Micros, ModelName, Stage, Start, Status, Work};
use engine::{RunFilter, Store, StoreError};
use jiff::Timestamp;
use wire::{EstimateView, SharedLimitView};

use crate::config::Setup;

/// So many of the newest runs are looked at.
const PAST: usize = 20;
/// A guess may be so many times too low.
const GUESS_SPREAD: u64 = 3;
/// Share of what is sent that comes from a prompt cache, in percent: an agent sends its conversation again each turn.
const CACHED: u128 = 70;

/// What runs of the same playbook in the same project cost that were completed, newest first.
pub(crate) fn past(store: &dyn Store, start: &Start) -> Result<Vec<Micros>, StoreError> {
    let mut filter = RunFilter {
        project: Some(start.project.clone()),
        statuses: vec![Status::Completed],
        limit: 100,
        ..RunFilter::default()
    };
    let mut costs = Vec::new();
    loop {
        let page = store.rows(&filter)?;
        let like = page
            .iter()
            .filter(|row| row.parent.is_none() && row.forked_from.is_none() && row.playbook == start.playbook.name);
        costs.extend(like.map(|row| row.cost).filter(|cost| cost.0 > 0));
        if costs.len() >= PAST || page.len() < filter.limit {
            costs.truncate(PAST);
            return Ok(costs);
        }
        filter.before = page.last().map(|row| row.id.clone());
    }
}

/// The middle and the dearest of what is past, or a guess by the prices of the models.
///
/// # Errors
/// The model whose price is not known, when there is nothing but prices to go by.
pub(crate) fn estimate(setup: &Setup, start: &Start, past: &[Micros]) -> Result<Estimate, String> {
    let mut sorted = past.to_vec();
    sorted.sort_unstable();
    if let (Some(likely), Some(high)) = (sorted.get(sorted.len() / 2), sorted.last()) {
        let runs = u32::try_from(sorted.len()).unwrap_or(u32::MAX);
        return Ok(Estimate { likely: *likely, high: *high, runs });
    }
    let mut likely = Micros(0);
    for stage in &start.playbook.stages {
        let Some(price) = price(setup, start, stage)? else { continue };
        let (sent, received) = typical(&stage.work);
        let cached = u128::from(sent) * CACHED / 100;
        let fresh = u128::from(sent) - cached;
        let cost = fresh * u128::from(price.input)
            + cached * u128::from(price.cache_read)
            + u128::from(received) * u128::from(price.output);
        likely = likely.plus(Micros(u64::try_from(cost / 1_000_000).unwrap_or(u64::MAX)));
    }
    Ok(Estimate { likely, high: Micros(likely.0.saturating_mul(GUESS_SPREAD)), runs: 0 })
}

/// What the model of a stage costs; tasks are worked by any of the run's, so the dearest is taken.
fn price(setup: &Setup, start: &Start, stage: &Stage) -> Result<Option<Price>, String> {
    let of =
        |model: &ModelName| setup.models.prices.find(model.provider(), model.model()).ok_or_else(|| model.to_string());
    let models = &start.config.models;
    match stage.work {
        Work::Prove { .. } => Ok(None),
        Work::Delegate { .. } => {
            let prices = models.values().map(of).collect::<Result<Vec<_>, _>>()?;
            Ok(prices.into_iter().max_by_key(|price| price.output))
        }
        Work::Converse { .. } | Work::Produce { .. } | Work::Judge { .. } | Work::Pursue { .. } => {
            models.get(&stage.role).map(of).transpose()
        }
    }
}

/// Tokens sent and received by one visit of a stage, as a starting point until runs have ended.
fn typical(work: &Work) -> (u64, u64) {
    match work {
        Work::Converse { .. } => (30_000, 2_000),
        Work::Produce { artifact: ArtifactKind::Code, .. } => (600_000, 25_000),
        Work::Produce { .. } => (150_000, 8_000),
        Work::Judge { .. } => (120_000, 4_000),
        // Three tasks, each worked and looked at.
        Work::Delegate { .. } => (2_100_000, 87_000),
        Work::Pursue { .. } => (1_200_000, 50_000),
        Work::Prove { .. } => (0, 0),
    }
}

/// As it is shown, with what may not be enough.
pub(crate) fn view(setup: &Setup, start: &Start, estimate: &Result<Estimate, String>) -> EstimateView {
    let limit = start.config.budget;
    let shared = shared(setup, &start.project);
    let mut warnings: Vec<String> = start.config.direct.iter().map(|role| own_login(setup, start, role)).collect();
    if let Ok(estimate) = estimate {
        if let Some(limit) = limit.filter(|limit| *limit < estimate.likely) {
            warnings.push(format!("the limit of {limit} is below what it will probably cost; it will ask at 80 %"));
        }
        for purse in &shared {
            let left = (purse.limit_usd - purse.spent_usd).max(0.0);
            if left < estimate.likely.usd() {
                warnings.push(format!("only ${left:.2} of the limit {} are left", purse.name));
            }
        }
    }
    let (likely, high) =
        (estimate.as_ref().ok().map(|it| it.likely.usd()), estimate.as_ref().ok().map(|it| it.high.usd()));
    EstimateView {
        likely_usd: likely,
        high_usd: high,
        basis: match estimate {
            Ok(Estimate { runs: 0, .. }) => "a rough guess: no run of this playbook was completed here yet".to_owned(),
            Ok(Estimate { runs: 1, .. }) => "from 1 completed run of this playbook here".to_owned(),
            Ok(Estimate { runs, .. }) => format!("from the last {runs} completed runs of this playbook here"),
            Err(model) => format!("unknown: there is no price for `{model}`"),
        },
        limit_usd: limit.map(Micros::usd),
        shared,
        warnings,
    }
}

/// What a person should know before a program gets its own login.
fn own_login(setup: &Setup, start: &Start, role: &str) -> String {
    let program = start.config.agents.get(role).map(ToString::to_string).unwrap_or_default();
    let hosts = setup
        .direct
        .0
        .get(&program)
        .map(|settings| settings.hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
    format!(
        "{role}: `{program}` uses its own login, which is inside its sandbox where it and what it runs can read it; it \
         reaches only {}; its cost is what it reports and is not in the estimate",
        hosts.unwrap_or_default()
    )
}

/// What is spent of the limits a project shares with others; what cannot be read is left out.
fn shared(setup: &Setup, project: &str) -> Vec<SharedLimitView> {
    let (folder, now) = (setup.home.join("spend"), Timestamp::now());
    let limits = setup.models.shared.purses(project, None);
    let views = limits.iter().filter_map(|purse| {
        let (spent, resets_at) = purses::spent(&folder, purse, now).ok()?;
        let name = match purse.purse {
            purses::Purse::Project => "of this project for the month",
            purses::Purse::Day | purses::Purse::Run => "for the day",
        };
        let (limit_usd, spent_usd) = (Micros(purse.limit.0).usd(), Micros(spent.0).usd());
        Some(SharedLimitView { name: name.to_owned(), limit_usd, spent_usd, resets_at })
    });
    views.collect()
}
