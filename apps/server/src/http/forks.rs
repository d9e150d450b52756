//! Forks: where a run can be left for another one, and leaving it there.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json};
use domain::{
    Actor, Command, DecisionKind, Fork, ForkChanges, ForkPoint, ForkedFrom, Recorded, Run, RunId, TaintSource,
    fork_points, replay,
};
use engine::{CommandKey, Receipt, Refusal};
use wire::{Fault, ForkPointView, ForkRequest, ForkView};

use super::Refusals;
use super::runs::key;
use crate::body::{Named, Sent};
use crate::problem::Failure;
use crate::{App, from_wire, to_wire};

/// Lists the points of a run at which it can be forked, oldest first.
#[utoipa::path(get, path = "/{id}/checkpoints", tag = "runs", operation_id = "list_checkpoints",
    params(("id" = String, Path)), responses((status = 200, body = Vec<ForkPointView>), Refusals))]
pub(super) async fn points(
    State(app): State<App>,
    Named(id): Named<String>,
) -> Result<Json<Vec<ForkPointView>>, Failure> {
    let id = app.find(&id).await?;
    let log = log(&app, &id).await?;
    Ok(Json(fork_points(&id, &log).iter().map(|point| to_wire::fork_point(&id, point)).collect()))
}

/// Makes a new run that begins where this one stood. Nothing that came before is done or paid for again.
#[utoipa::path(post, path = "/{id}/fork", tag = "runs", operation_id = "fork_run", params(("id" = String, Path)),
    request_body = ForkRequest, responses((status = 201, body = ForkView),
    (status = 200, body = ForkView, description = "Repeated"), Refusals))]
pub(super) async fn fork(
    State(app): State<App>,
    Extension(by): Extension<Actor>,
    Named(id): Named<String>,
    headers: HeaderMap,
    Sent(request): Sent<ForkRequest>,
) -> Result<(StatusCode, Json<ForkView>), Failure> {
    let id = app.find(&id).await?;
    let key = key(&headers, &format!("fork:{id}"))?;
    let mut log = log(&app, &id).await?;
    let newest = replay(id.clone(), log.iter().cloned());
    let decides = request.decision.as_ref().map(from_wire::fork_decision).transpose()?;
    let point = choose(&id, &log, request.at, decides.map(|decision| decision.kind()))?;
    log.retain(|recorded| recorded.sequence <= point.at);
    let origin = replay(id.clone(), log.iter().cloned());
    let changes = from_wire::fork_changes(&app.setup, &origin, &request)?;
    let changes = ForkChanges { read_since: read_since(&newest, &origin), ..changes };
    app.shelf.check_commits(&origin, commits(&origin, &point)).await.map_err(gone)?;
    let fork = Fork { origin: id.clone(), log, changes, by };
    let receipt = submit(&app, &fork, key).await?;
    let from = ForkedFrom { run: id.clone(), at: point.at };
    if receipt.run.opened().forked_from.as_ref() != Some(&from) {
        let message = format!("the Idempotency-Key was used before, for run {}", receipt.run.id);
        return Err(Failure::new(Fault::Conflict, "key_reused", message, "use a new key for a new request"));
    }
    let status = if receipt.repeated { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(ForkView { run: to_wire::run(&receipt.run), point: to_wire::fork_point(&id, &point) })))
}

async fn log(app: &App, id: &RunId) -> Result<Vec<Recorded>, Failure> {
    let id = id.clone();
    app.read(move |store| store.events(&id, 0)).await
}

/// The point that is meant: the last one at or before the event; else the last that takes the decision; else the last.
fn choose(id: &RunId, log: &[Recorded], at: Option<u64>, decides: Option<DecisionKind>) -> Result<ForkPoint, Failure> {
    let run = replay(id.clone(), log.iter().cloned());
    if let Some(parent) = &run.opened().parent {
        let message = format!("run {} works on a task of run {}", id.short(), parent.run.short());
        let hint = format!("fork the whole: `holdpoint fork {}`", parent.run.short());
        return Err(Failure::new(Fault::Conflict, "child_run", message, hint));
    }
    let last = log.last().map_or(0, |recorded| recorded.sequence);
    if let Some(at) = at.filter(|at| !(1..=last).contains(at)) {
        let message = format!("run {} has no event {at}", id.short());
        return Err(Failure::user("at", "no_such_event", message, format!("its events are 1 to {last}; {}", list(id))));
    }
    let points = fork_points(id, log);
    let takes = |point: &&ForkPoint| match (at, decides) {
        (Some(at), _) => point.at <= at,
        (None, Some(kind)) => point.hold.as_ref().is_some_and(|hold| hold.allowed.contains(&kind)),
        (None, None) => true,
    };
    let found = points.iter().rev().find(takes).cloned();
    found.ok_or_else(|| match (at, decides, points.first()) {
        (None, Some(kind), Some(_)) => {
            let message = format!("run {} never asked for anything that `{}` would answer", id.short(), kind.word());
            Failure::user("decision", "no_checkpoint", message, list(id))
        }
        (at, _, first) => {
            let before = at.map(|at| format!(" at or before event {at}")).unwrap_or_default();
            let message = format!("there is nothing to begin with in run {}{before}", id.short());
            let hint = match first {
                Some(first) => format!("its first checkpoint is event {}; {}", first.at, list(id)),
                None => "it has no branch yet; wait until its first stage begins".to_owned(),
            };
            Failure::user("at", "no_checkpoint", message, hint)
        }
    })
}

fn list(id: &RunId) -> String {
    format!("see `holdpoint fork {} --list`", id.short())
}

/// Untrusted sources that a run read after it stood as the fork's origin does.
fn read_since(newest: &Run, origin: &Run) -> Vec<TaintSource> {
    let before = |source: &TaintSource| origin.taints.iter().any(|taint| taint.source == *source);
    newest.taints.iter().map(|taint| taint.source.clone()).filter(|source| !before(source)).collect()
}

/// Everything the fork would go on from.
fn commits(origin: &Run, point: &ForkPoint) -> Vec<domain::CommitId> {
    let unfinished = origin.stages.iter().filter_map(|stage| stage.wip.clone());
    std::iter::once(point.commit.clone()).chain(unfinished).collect()
}

fn gone(error: runner::ReadError) -> Failure {
    let hint = error.hint.unwrap_or_else(|| "see whether the repository is still where it was".to_owned());
    Failure::new(Fault::Conflict, "commit_gone", error.message, hint)
}

/// Tries ids until one is free, as for any new run.
async fn submit(app: &App, fork: &Fork, key: Option<CommandKey>) -> Result<Receipt, Refusal> {
    for _ in 0..20 {
        let command = Command::Fork(Box::new(fork.clone()));
        match app.engine.submit(RunId::from_bits(rand::random()), command, key.clone()).await {
            Err(Refusal::ShortIdTaken) => {}
            other => return other,
        }
    }
    Err(Refusal::ShortIdTaken)
}
