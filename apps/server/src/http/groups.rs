//! Several runs at once: batches, variants, and runs side by side.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::{Extension, Json};
use domain::{Actor, Group, Run, RunId, Start};
use jiff::Timestamp;
use serde::Deserialize;
use utoipa::IntoParams;
use wire::{BatchItem, BatchRequest, BatchView, CompareView, Fault, NewRun, VariantsRequest};

use super::Refusals;
use super::runs::{check_repeat, key, submit_new, with_estimate};
use crate::body::{Params, Sent};
use crate::problem::Failure;
use crate::{App, compare, from_wire, kin};

/// Runs in one batch.
const MOST_RUNS: usize = 200;
/// Ways to one end: a person has to look at all of them.
const MOST_VARIANTS: u32 = 20;

/// Starts several runs. Each stands for itself: one that cannot be started does not keep the others back.
#[utoipa::path(post, path = "/batch", tag = "runs", operation_id = "start_batch", request_body = BatchRequest,
    responses((status = 200, body = BatchView), Refusals))]
pub(super) async fn batch(
    State(app): State<App>,
    Extension(by): Extension<Actor>,
    headers: HeaderMap,
    Sent(request): Sent<BatchRequest>,
) -> Result<Json<BatchView>, Failure> {
    if request.runs.is_empty() || request.runs.len() > MOST_RUNS {
        let message = format!("a batch of {} runs cannot be started", request.runs.len());
        return Err(Failure::user("runs", "bad_batch", message, format!("send 1 to {MOST_RUNS}")));
    }
    start_all(&app, request.runs, Kind::Batch, &by, &headers).await
}

/// Starts one request in several ways, of which a person chooses one. None of them is merged before that.
#[utoipa::path(post, path = "/variants", tag = "runs", operation_id = "start_variants", request_body = VariantsRequest,
    responses((status = 200, body = BatchView), Refusals))]
pub(super) async fn variants(
    State(app): State<App>,
    Extension(by): Extension<Actor>,
    headers: HeaderMap,
    Sent(request): Sent<VariantsRequest>,
) -> Result<Json<BatchView>, Failure> {
    start_all(&app, ways(request)?, Kind::Variants, &by, &headers).await
}

/// The request once per way, with what is particular about it.
fn ways(request: VariantsRequest) -> Result<Vec<NewRun>, Failure> {
    let named = u32::try_from(request.approaches.len()).unwrap_or(u32::MAX);
    let count = request.count.unwrap_or(named).max(named);
    if !(2..=MOST_VARIANTS).contains(&count) {
        let message = format!("{count} variants cannot be started");
        return Err(Failure::user("count", "bad_variants", message, format!("use 2 to {MOST_VARIANTS}")));
    }
    if request.approaches.iter().any(|approach| approach.trim().is_empty()) {
        return Err(Failure::user(
            "approaches",
            "bad_variants",
            "an approach is empty",
            "say in a few words what it is",
        ));
    }
    Start::check_request(&request.run.request, false)
        .map_err(|reason| Failure::user("request", "bad_request", reason, "send another request text"))?;
    let said = request.approaches.iter().map(Some).chain(std::iter::repeat(None));
    let way = |(approach, number): (Option<&String>, u32)| {
        let words = match (approach, number) {
            (Some(words), _) => words.trim(),
            (None, 1) => "choose the design you would choose first.",
            (None, _) => "others work on the same request; choose a different design than the obvious first one.",
        };
        let text = request.run.request.trim_end();
        let request_text = format!("{text}\n\nApproach {number} of {count}: {words}");
        NewRun { request: request_text, review: Some(true), ..request.run.clone() }
    };
    Ok(said.zip(1..=count).map(way).collect())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Batch,
    Variants,
}

async fn start_all(
    app: &App,
    runs: Vec<NewRun>,
    kind: Kind,
    by: &Actor,
    headers: &HeaderMap,
) -> Result<Json<BatchView>, Failure> {
    let of = u32::try_from(runs.len()).unwrap_or(u32::MAX);
    let mut group = None;
    let mut items = Vec::new();
    for (new, index) in runs.into_iter().zip(1..) {
        let request = new.request.clone();
        let place = Place { group: group.clone(), index, of, variants: kind == Kind::Variants };
        let (run, problem) = match place.start(app, new, by, headers).await {
            Ok(run) => {
                group = group.or_else(|| run.opened().config.group.as_ref().and_then(|group| group.id.parse().ok()));
                (Some(run.id.to_string()), None)
            }
            Err(failure) => (None, Some(failure.into_problem())),
        };
        items.push(BatchItem { index, request, run, problem });
    }
    Ok(Json(BatchView { group: group.map(|group: RunId| group.to_string()), items }))
}

/// A run's place in its group.
struct Place {
    /// `None` until the first run is started, whose id is the group's name.
    group: Option<RunId>,
    index: u32,
    of: u32,
    variants: bool,
}

impl Place {
    async fn start(&self, app: &App, new: NewRun, by: &Actor, headers: &HeaderMap) -> Result<Run, Failure> {
        let key = key(headers, &format!("start:{}", self.index))?;
        let start = with_estimate(app, from_wire::start(&app.setup, new, by.clone()).await?).await?;
        let placed = |id: &RunId| {
            let mut start = start.clone();
            let group = self.group.as_ref().unwrap_or(id).to_string();
            start.config.group = Some(Group { id: group, index: self.index, of: self.of, variants: self.variants });
            start
        };
        let receipt = match &self.group {
            Some(group) => submit_new(app, kin::member_ids(group, self.index), placed, key).await?,
            None => submit_new(app, (0..20).map(|_| RunId::from_bits(rand::random())), placed, key).await?,
        };
        check_repeat(&receipt, &start)?;
        Ok(receipt.run.as_ref().clone())
    }
}

/// What to compare.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Runs, separated by commas; one run of a group stands for the whole group.
    runs: String,
}

/// Shows runs side by side.
#[utoipa::path(get, path = "/api/compare", tag = "reading", operation_id = "compare_runs", params(Which),
    responses((status = 200, body = CompareView), Refusals))]
pub(super) async fn compare(
    State(app): State<App>,
    Params(which): Params<Which>,
) -> Result<Json<CompareView>, Failure> {
    let given: Vec<&str> = which.runs.split(',').map(str::trim).filter(|given| !given.is_empty()).collect();
    let mut runs: Vec<Run> = Vec::new();
    for given in given.iter().take(MOST_VARIANTS as usize + 1) {
        let run = app.load(given).await?;
        if runs.iter().all(|known| known.id != run.id) {
            runs.push(run);
        }
    }
    if let [run] = runs.as_slice()
        && let Some(group) = run.opened().config.group.clone()
    {
        runs = members(&app, &group).await?;
    }
    if !(2..=MOST_VARIANTS as usize).contains(&runs.len()) {
        let message = format!("{} runs cannot be compared", runs.len());
        let hint = format!("name 2 to {MOST_VARIANTS} runs, or one that was started together with others");
        return Err(Failure::user("runs", "bad_compare", message, hint));
    }
    Ok(Json(compare::view(&app, &runs, Timestamp::now()).await?))
}

/// The runs of a group, in their order.
async fn members(app: &App, group: &Group) -> Result<Vec<Run>, Failure> {
    let Ok(name) = group.id.parse::<RunId>() else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for index in 1..=group.of.min(MOST_VARIANTS + 1) {
        for id in std::iter::once(name.clone()).chain(kin::member_ids(&name, index)) {
            if let Some(run) = app.engine.load(&id).await?.filter(|run| kin::is_member(run, &group.id, index)) {
                found.push(run);
                break;
            }
        }
    }
    if found.is_empty() {
        let message = format!("none of the runs of group {} is there", group.id);
        return Err(Failure::new(
            Fault::Missing,
            "no_such_run",
            message,
            "see `holdpoint list` for the runs there are",
        ));
    }
    Ok(found)
}
