//! Decisions on the hold a run waits on, and the end of a run.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::{Extension, Json};
use domain::{
    Actor, Command, CommitId, Decide, Decision, DecisionKind, Digest, Event, Hold, HoldId, HoldKind, Run, RunId, WayOut,
};
use runner::Listing;
use wire::{
    ApproveRequest, AttachRequest, AttachView, CancelRequest, DecideRequest, Fault, MessageRequest, OverturnRequest,
    PauseRequest, RequestChanges, ResumeRequest, RunView, WayOutRequest,
};

use super::Refusals;
use super::runs::key;
use crate::body::{Named, Sent};
use crate::problem::Failure;
use crate::{App, from_wire, to_wire};

/// Says yes to exactly what was shown.
#[utoipa::path(post, path = "/{id}/approve", tag = "decisions", operation_id = "approve_run",
    params(("id" = String, Path)), request_body = ApproveRequest,
    responses((status = 200, body = RunView), Refusals))]
pub(super) async fn approve(
    State(app): State<App>,
    Named(id): Named<String>,
    Extension(by): Extension<Actor>,
    headers: HeaderMap,
    Sent(request): Sent<ApproveRequest>,
) -> Result<Json<RunView>, Failure> {
    let decision = Decision::Approve { notes: request.notes };
    on_shown(&app, &id, Said { hold: None, digest: request.digest, decision, by }, &headers).await
}

/// Says no, with what to change.
#[utoipa::path(post, path = "/{id}/request-changes", tag = "decisions", operation_id = "request_changes",
    params(("id" = String, Path)), request_body = RequestChanges,
    responses((status = 200, body = RunView), Refusals))]
pub(super) async fn request_changes(
    State(app): State<App>,
    Named(id): Named<String>,
    Extension(by): Extension<Actor>,
    headers: HeaderMap,
    Sent(request): Sent<RequestChanges>,
) -> Result<Json<RunView>, Failure> {
    let decision = Decision::Reject { feedback: request.feedback };
    on_shown(&app, &id, Said { hold: None, digest: request.digest, decision, by }, &headers).await
}

/// Decides on a hold, with any of the decisions it takes.
#[utoipa::path(post, path = "/{id}/decide", tag = "decisions", operation_id = "decide_run",
    params(("id" = String, Path)), request_body = DecideRequest,
    responses((status = 200, body = RunView), Refusals))]
pub(super) async fn decide(
    State(app): State<App>,
    Named(id): Named<String>,
    Extension(by): Extension<Actor>,
    headers: HeaderMap,
    Sent(request): Sent<DecideRequest>,
) -> Result<Json<RunView>, Failure> {
    let decision = from_wire::decision(&request)?;
    from_wire::check_chosen(&app.setup, &app.load(&id).await?, &decision)?;
    on_shown(&app, &id, Said { hold: request.hold, digest: request.digest, decision, by }, &headers).await
}

/// Merges exactly what was shown, where the run waits for that; else says why not and what would help.
#[utoipa::path(post, path = "/{id}/merge", tag = "decisions", operation_id = "merge_run",
    params(("id" = String, Path)), request_body = WayOutRequest,
    responses((status = 200, body = RunView), Refusals))]
pub(super) async fn merge(
    State(app): State<App>,
    Named(id): Named<String>,
    Extension(by): Extension<Actor>,
    headers: HeaderMap,
    Sent(request): Sent<WayOutRequest>,
) -> Result<Json<RunView>, Failure> {
    leave(&app, &id, WayOut::Merge, request, by, &headers).await
}

/// Pushes exactly what was shown and opens a pull request for it, where the run waits for that.
#[utoipa::path(post, path = "/{id}/pull-request", tag = "decisions", operation_id = "offer_run",
    params(("id" = String, Path)), request_body = WayOutRequest,
    responses((status = 200, body = RunView), Refusals))]
pub(super) async fn pull_request(
    State(app): State<App>,
    Named(id): Named<String>,
    Extension(by): Extension<Actor>,
    headers: HeaderMap,
    Sent(request): Sent<WayOutRequest>,
) -> Result<Json<RunView>, Failure> {
    leave(&app, &id, WayOut::PullRequest, request, by, &headers).await
}

async fn leave(
    app: &App,
    id: &str,
    way: WayOut,
    request: WayOutRequest,
    by: Actor,
    headers: &HeaderMap,
) -> Result<Json<RunView>, Failure> {
    let run = app.load(id).await?;
    let decision = way.decision(&run)?;
    on_shown(app, id, Said { hold: None, digest: request.digest, decision, by }, headers).await
}

/// Ends a run, whatever it does.
#[utoipa::path(post, path = "/{id}/cancel", tag = "decisions", operation_id = "cancel_run",
    params(("id" = String, Path)), request_body = CancelRequest,
    responses((status = 200, body = RunView), Refusals))]
pub(super) async fn cancel(
    State(app): State<App>,
    Named(id): Named<String>,
    Extension(by): Extension<Actor>,
    headers: HeaderMap,
    Sent(request): Sent<CancelRequest>,
) -> Result<Json<RunView>, Failure> {
    let run = app.find(&id).await?;
    let key = key(&headers, &format!("cancel:{run}"))?;
    let receipt = app.engine.submit(run, Command::Cancel { by, reason: request.reason }, key).await?;
    Ok(Json(to_wire::run(&receipt.run)))
}

/// Lets a run wait: at once where an agent works, otherwise as soon as what is being done ends.
#[utoipa::path(post, path = "/{id}/pause", tag = "decisions", operation_id = "pause_run",
    params(("id" = String, Path)), request_body = PauseRequest,
    responses((status = 200, body = RunView), Refusals))]
pub(super) async fn pause(
    State(app): State<App>,
    Named(id): Named<String>,
    Extension(by): Extension<Actor>,
    headers: HeaderMap,
    Sent(request): Sent<PauseRequest>,
) -> Result<Json<RunView>, Failure> {
    let run = app.find(&id).await?;
    let key = key(&headers, &format!("pause:{run}"))?;
    let receipt = app.engine.submit(run, Command::Pause { by, reason: request.reason }, key).await?;
    Ok(Json(to_wire::run(&receipt.run)))
}

/// Takes the conversation of the agent at work to the person's own terminal; the run waits until it is handed back by
/// `resume`. Asked again by who has it, it says where the terminal is.
#[utoipa::path(post, path = "/{id}/attach", tag = "decisions", operation_id = "attach_run",
    params(("id" = String, Path)), request_body = AttachRequest,
    responses((status = 200, body = AttachView), Refusals))]
pub(super) async fn attach(
    State(app): State<App>,
    Named(id): Named<String>,
    Extension(by): Extension<Actor>,
    headers: HeaderMap,
    Sent(AttachRequest {}): Sent<AttachRequest>,
) -> Result<Json<AttachView>, Failure> {
    let run = app.load(&id).await?;
    let mine = run.attached.as_ref().is_some_and(|attached| attached.by.name == by.name);
    if mine && run.sitting().is_some() {
        return Ok(Json(attached(&app, &run)));
    }
    let key = key(&headers, &format!("attach:{}.{}", run.id, run.version))?;
    let receipt = app.engine.submit(run.id.clone(), Command::Attach { by }, key).await?;
    Ok(Json(attached(&app, &receipt.run)))
}

fn attached(app: &App, run: &Run) -> AttachView {
    let session = run.sitting().map(|(_, task)| task.session.clone());
    AttachView {
        terminal: app.shelf.terminal(run).map(|path| path.display().to_string()),
        window: session.map_or_else(|| "shell".to_owned(), |session| session.window()),
        run: to_wire::run(run),
    }
}

/// Lets a paused run go on.
#[utoipa::path(post, path = "/{id}/resume", tag = "decisions", operation_id = "resume_run",
    params(("id" = String, Path)), request_body = ResumeRequest,
    responses((status = 200, body = RunView), Refusals))]
pub(super) async fn resume(
    State(app): State<App>,
    Named(id): Named<String>,
    Extension(by): Extension<Actor>,
    headers: HeaderMap,
    Sent(request): Sent<ResumeRequest>,
) -> Result<Json<RunView>, Failure> {
    let run = app.load(&id).await?;
    let shown = request.digest.or_else(|| run.hold().map(|hold| hold.digest.to_string())).unwrap_or_default();
    on_shown(&app, &id, Said { hold: None, digest: shown, decision: Decision::Resume, by }, &headers).await
}

/// Says that an assumption was wrong, and what is right; the run goes back to the stage that used it.
#[utoipa::path(post, path = "/{id}/overturn", tag = "decisions", operation_id = "overturn_assumption",
    params(("id" = String, Path)), request_body = OverturnRequest,
    responses((status = 200, body = RunView), Refusals))]
pub(super) async fn overturn(
    State(app): State<App>,
    Named(id): Named<String>,
    Extension(by): Extension<Actor>,
    headers: HeaderMap,
    Sent(request): Sent<OverturnRequest>,
) -> Result<Json<RunView>, Failure> {
    let run = app.find(&id).await?;
    let OverturnRequest { assumption, answer } = request;
    let key = key(&headers, &format!("overturn:{run}.{assumption}"))?;
    let receipt = app.engine.submit(run, Command::Overturn { assumption, answer, by }, key).await?;
    Ok(Json(to_wire::run(&receipt.run)))
}

/// Says something to whoever works on the run's stage: to the agent at work, and to those that come after it.
#[utoipa::path(post, path = "/{id}/message", tag = "decisions", operation_id = "tell_run",
    params(("id" = String, Path)), request_body = MessageRequest,
    responses((status = 200, body = RunView), Refusals))]
pub(super) async fn message(
    State(app): State<App>,
    Named(id): Named<String>,
    Extension(by): Extension<Actor>,
    headers: HeaderMap,
    Sent(request): Sent<MessageRequest>,
) -> Result<Json<RunView>, Failure> {
    let run = app.find(&id).await?;
    tell(&app, run, request, by, &headers).await
}

/// As `/api/runs/{id}/message`, for the conversation that goes on now.
#[utoipa::path(post, path = "/api/sessions/{id}/message", tag = "sessions", operation_id = "tell_session",
    params(("id" = String, Path)), request_body = MessageRequest,
    responses((status = 200, body = RunView), Refusals))]
pub(super) async fn session_message(
    State(app): State<App>,
    Named(id): Named<String>,
    Extension(by): Extension<Actor>,
    headers: HeaderMap,
    Sent(request): Sent<MessageRequest>,
) -> Result<Json<RunView>, Failure> {
    let session = engine::SessionId::named(&id);
    let shown: String = id.chars().filter(|c| !c.is_control()).take(80).collect();
    let run = match session.run() {
        Some(run) => app.load(run.as_str()).await?,
        None => {
            let hint = "see `GET /api/runs/{run}/sessions` for those there are";
            let message = format!("there is no session `{shown}`");
            return Err(Failure::new(Fault::Missing, "no_such_session", message, hint));
        }
    };
    if !super::sessions::is_active(&run, &session) {
        let hint = format!("say it to whoever comes next: POST /api/runs/{}/message", run.id);
        let message = format!("nobody works in the session `{shown}` now");
        return Err(Failure::new(Fault::Conflict, "session_not_active", message, hint));
    }
    tell(&app, run.id, request, by, &headers).await
}

async fn tell(
    app: &App,
    run: RunId,
    request: MessageRequest,
    by: Actor,
    headers: &HeaderMap,
) -> Result<Json<RunView>, Failure> {
    let key = key(headers, &format!("message:{run}"))?;
    let receipt = app.engine.submit(run, Command::Guide { text: request.text, by }, key).await?;
    if let Err(error) = app.shelf.pass_on(&receipt.run).await {
        // It is recorded: the next agent of the stage is told.
        tracing::warn!(run = %receipt.run.id, %error, "a word could not be passed on to the agent at work");
    }
    Ok(Json(to_wire::run(&receipt.run)))
}

/// What a person said to what was shown.
struct Said {
    hold: Option<String>,
    digest: String,
    decision: Decision,
    by: Actor,
}

async fn on_shown(app: &App, given: &str, said: Said, headers: &HeaderMap) -> Result<Json<RunView>, Failure> {
    let run = app.load(given).await?;
    let hold = match &said.hold {
        Some(text) => named(&run, text)?,
        None => shown(app, &run, &said.digest).await?,
    };
    check_content(app, &run, hold, &said.decision).await?;
    let digest = Digest::claimed(&said.digest);
    submit(app, run.id, Decide { hold, digest, decision: said.decision, by: said.by }, headers).await
}

/// Hands a decision to the engine.
pub(super) async fn submit(
    app: &App,
    run: RunId,
    decide: Decide,
    headers: &HeaderMap,
) -> Result<Json<RunView>, Failure> {
    let key = key(headers, &format!("decide:{run}.{}", decide.hold))?;
    let receipt = app.engine.submit(run, Command::Decide(decide), key).await?;
    Ok(Json(to_wire::run(&receipt.run)))
}

/// A yes to code is refused when a part of that code cannot be shown: nobody can have seen it.
pub(super) async fn check_content(app: &App, run: &Run, hold: HoldId, decision: &Decision) -> Result<(), Failure> {
    // The engine says of any other hold that it is gone.
    let Some(held) = run.hold().filter(|held| held.id == hold) else { return Ok(()) };
    match (is_yes(decision), code_of(run, held)) {
        (true, Some(commit)) => check_readable(app, run, commit).await,
        (_, _) => Ok(()),
    }
}

/// Refuses when not every changed file of a commit can be read.
pub(super) async fn check_readable(app: &App, run: &Run, commit: &CommitId) -> Result<(), Failure> {
    // A git that was killed or found no memory says nothing about the content.
    if app.shelf.changes(run, commit, Listing::Fresh).await.is_ok() {
        return Ok(());
    }
    let Err(error) = app.shelf.changes(run, commit, Listing::Fresh).await else { return Ok(()) };
    let message = format!("a part of what would be approved cannot be shown, so nothing was decided: {error}");
    let hint = error.hint.unwrap_or_else(|| {
        "try again; if it stays so, have the work done again (`request-changes`), or cancel the run".to_owned()
    });
    Err(Failure::new(Fault::Conflict, "content_unavailable", message, hint))
}

/// The commit a hold shows for a decision, where it shows code.
fn code_of<'a>(run: &'a Run, hold: &'a Hold) -> Option<&'a CommitId> {
    match &hold.artifact {
        Some(artifact) => artifact.kind.is_code().then_some(&artifact.commit),
        None => {
            let shows_branch = matches!(hold.kind, HoldKind::Fix | HoldKind::Review | HoldKind::Conflict);
            run.head.as_ref().filter(|_| shows_branch && run.base.is_some())
        }
    }
}

/// Whether a decision lets the code that is shown go on.
fn is_yes(decision: &Decision) -> bool {
    matches!(decision.kind(), DecisionKind::Approve | DecisionKind::AcceptAnyway | DecisionKind::CreatePr)
}

fn named(run: &Run, text: &str) -> Result<HoldId, Failure> {
    let (of, hold) = from_wire::hold_id(text)?;
    if of == run.id {
        return Ok(hold);
    }
    let message = format!("the hold belongs to run {of}, not to {}", run.id);
    Err(Failure::user("hold", "foreign_hold", message, "send the hold's id as the run shows it"))
}

/// The hold a digest was shown with: also one that is gone, so that a late decision learns who was first.
async fn shown(app: &App, run: &Run, digest: &str) -> Result<HoldId, Failure> {
    if let Some(hold) = run.hold().filter(|hold| hold.digest.as_str() == digest) {
        return Ok(hold.id);
    }
    let (id, wanted) = (run.id.clone(), digest.to_owned());
    let log = app.read(move |store| store.events(&id, 0)).await?;
    let past = log.iter().find_map(|recorded| match &recorded.event {
        Event::ApprovalRequested { hold, .. }
        | Event::ClarificationRequested { hold, .. }
        | Event::HoldPlaced { hold }
            if hold.digest.as_str() == wanted =>
        {
            Some(hold.id)
        }
        _ => None,
    });
    // No hold has the number 0: the engine then says that the run does not wait.
    Ok(past.or_else(|| run.hold().map(|hold| hold.id)).unwrap_or(HoldId(0)))
}
