//! Channels over HTTP and WebSocket.

use std::path::Path;
use std::sync::Arc;

use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::response::Response;
use axum::{Extension, Json};
use domain::Actor;
use engine::{Channel, Question, StoreError};
use jiff::Timestamp;
use runner::project::inspect;
use serde::Deserialize;
use store::Diary;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;
use utoipa::IntoParams;
use wire::{AskRequest, ChannelMessage, ChannelView, Fault, NewChannel, QuestionView};

use super::{Refusals, paging};
use crate::body::{Named, Params, Sent};
use crate::channels::News;
use crate::config::{check_model, default_model, with_provider};
use crate::gate::Given;
use crate::problem::Failure;
use crate::{App, to_wire};

/// The role whose model answers.
const ROLE: &str = "discussion";
const MAX_TITLE: usize = 200;

/// Which channels.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Only channels about this repository.
    project: Option<String>,
    /// Only channels older than this one.
    before: Option<String>,
    /// At most so many, up to 1000; 100 unless said.
    limit: Option<usize>,
}

/// Lists channels, the newest first.
#[utoipa::path(get, path = "/api/channels", tag = "channels", operation_id = "list_channels", params(Which),
    responses((status = 200, body = Vec<ChannelView>), Refusals))]
pub(super) async fn list(
    State(app): State<App>,
    Params(which): Params<Which>,
) -> Result<Json<Vec<ChannelView>>, Failure> {
    let limit = paging::limit(which.limit, 100, paging::MOST)?;
    let mut channels = look(&app, Diary::channels).await?;
    if let Some(before) = &which.before {
        let place = channels.iter().position(|channel| channel.id == *before).ok_or_else(|| missing(before))?;
        channels.drain(..=place);
    }
    channels.retain(|channel| which.project.as_ref().is_none_or(|project| channel.project == *project));
    let shown = channels.into_iter().take(limit);
    Ok(Json(shown.map(|channel| to_wire::channel(channel, Vec::new())).collect()))
}

/// Opens a channel about a repository.
#[utoipa::path(post, path = "/api/channels", tag = "channels", operation_id = "open_channel",
    request_body = NewChannel, responses((status = 201, body = ChannelView), Refusals))]
pub(super) async fn open(
    State(app): State<App>,
    Extension(by): Extension<Actor>,
    Sent(new): Sent<NewChannel>,
) -> Result<(StatusCode, Json<ChannelView>), Failure> {
    let title: String = new.title.chars().filter(|c| !c.is_control()).take(MAX_TITLE).collect();
    let project = inspect(Path::new(&new.project), None, &app.setup.home).await?;
    let channel = Channel {
        id: format!("{}{:010x}", Channel::PREFIX, rand::random::<u64>() & 0xff_ffff_ffff),
        project: project.root.display().to_string(),
        title,
        created_by: by.name,
        created_at: Timestamp::now(),
    };
    let kept = channel.clone();
    look(&app, move |diary| diary.open_channel(&kept)).await?;
    Ok((StatusCode::CREATED, Json(to_wire::channel(channel, Vec::new()))))
}

/// Shows a channel with all that was said in it.
#[utoipa::path(get, path = "/api/channels/{id}", tag = "channels", operation_id = "show_channel",
    params(("id" = String, Path)), responses((status = 200, body = ChannelView), Refusals))]
pub(super) async fn show(State(app): State<App>, Named(id): Named<String>) -> Result<Json<ChannelView>, Failure> {
    Ok(Json(view(&app, &id).await?))
}

/// Asks something in a channel; the answer comes in a session of its own.
#[utoipa::path(post, path = "/api/channels/{id}/session", tag = "channels", operation_id = "ask_channel",
    params(("id" = String, Path)), request_body = AskRequest,
    responses((status = 202, body = QuestionView), Refusals))]
pub(super) async fn ask(
    State(app): State<App>,
    Named(id): Named<String>,
    Extension(by): Extension<Actor>,
    Sent(request): Sent<AskRequest>,
) -> Result<(StatusCode, Json<QuestionView>), Failure> {
    let text = request.text.trim();
    if text.is_empty() || text.len() > Channel::MAX_QUESTION {
        let message = format!("a question has 1 to {} bytes", Channel::MAX_QUESTION);
        return Err(Failure::user("text", "bad_question", message, "ask something shorter, or anything at all"));
    }
    let channel = find(&app, &id).await?;
    let question = Question {
        channel: channel.id,
        number: 0,
        asked_by: by.name,
        text: text.to_owned(),
        model: model(&app, request.model.as_deref())?,
        asked_at: Timestamp::now(),
        answered: None,
    };
    let channels = app.channels.clone();
    let joined = tokio::task::spawn_blocking(move || channels.ask(question)).await;
    let asked = joined.map_err(|_| Failure::bug("keeping the question broke off"))??;
    Ok((StatusCode::ACCEPTED, Json(to_wire::question(asked))))
}

fn model(app: &App, said: Option<&str>) -> Result<String, Failure> {
    let setup = &app.setup;
    let refused = |error: String| Failure::user("model", "bad_model", error, "write `provider/model`");
    let model = match (said, setup.defaults.models.get(ROLE).and_then(|models| models.first())) {
        (Some(said), _) => with_provider(said).map_err(|error| refused(error.to_string()))?,
        (None, Some(model)) => model.clone(),
        (None, None) => default_model(&setup.models).ok_or_else(|| {
            let hint = "set a provider's key and start the server again, or name a model";
            Failure::user("model", "no_model", "there is no model to answer with".to_owned(), hint)
        })?,
    };
    check_model(&setup.models, &model)
        .map_err(|problem| Failure::user("model", &problem.code, problem.message, problem.hint))?;
    Ok(model.to_string())
}

/// Opens a WebSocket: the whole channel, then what is done and said in it.
#[utoipa::path(get, path = "/api/channels/{id}/live", tag = "channels", operation_id = "live_channel",
    params(("id" = String, Path)), responses((status = 101, body = ChannelMessage), Refusals))]
pub(super) async fn live(
    State(app): State<App>,
    Named(id): Named<String>,
    Extension(given): Extension<Given>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Failure> {
    let upgrade = upgrade.map_err(|error| {
        let hint = "open it as a WebSocket, or poll /api/channels/{id}";
        Failure::new(Fault::User, "not_a_websocket", error.body_text(), hint)
    })?;
    let channel = find(&app, &id).await?.id;
    let visit = app.door.enter().ok_or_else(Failure::stopping)?;
    let watcher = app.watchers.enter();
    let upgrade = upgrade.protocols(["holdpoint"]).max_message_size(64 * 1024);
    Ok(upgrade.on_upgrade(|socket| async move {
        // The client left, or cannot be reached.
        let _ = watch(app, given, channel, socket).await;
        drop((visit, watcher));
    }))
}

struct Gone;

async fn watch(app: App, given: Given, id: String, mut socket: WebSocket) -> Result<std::convert::Infallible, Gone> {
    // Subscribed before anything is read: what comes in between is seen as a change.
    let mut news = app.channels.news();
    let mut stale = true;
    loop {
        if !matches!(app.caller(&given), Ok(Some(_))) {
            return Err(Gone);
        }
        if std::mem::take(&mut stale) {
            let channel = Box::new(view(&app, &id).await.map_err(|_| Gone)?);
            send(&app, &mut socket, &ChannelMessage::Channel { channel }).await?;
        }
        tokio::select! {
            said = socket.recv() => match said {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(Gone),
                Some(Ok(_)) => {}
            },
            heard = news.recv() => match heard {
                Ok(News::Changed { channel }) => stale = channel == id,
                Ok(News::Activity { channel, number, event }) if channel == id => {
                    send(&app, &mut socket, &to_wire::channel_activity(&id, number, &event)).await?;
                }
                Ok(News::Activity { .. }) => {}
                Err(RecvError::Lagged(_)) => stale = true,
                Err(RecvError::Closed) => return Err(Gone),
            },
        }
    }
}

async fn send(app: &App, socket: &mut WebSocket, message: &ChannelMessage) -> Result<(), Gone> {
    let text = serde_json::to_string(message).expect("live messages have text keys only");
    match timeout(app.live.lost, socket.send(Message::Text(text.into()))).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(Gone),
    }
}

async fn view(app: &App, id: &str) -> Result<ChannelView, Failure> {
    let channel = find(app, id).await?;
    let of = channel.id.clone();
    let questions = look(app, move |diary| diary.questions(&of)).await?;
    Ok(to_wire::channel(channel, questions))
}

async fn find(app: &App, id: &str) -> Result<Channel, Failure> {
    let wanted = id.to_owned();
    look(app, move |diary| diary.channel(&wanted)).await?.ok_or_else(|| missing(id))
}

fn missing(id: &str) -> Failure {
    let shown: String = id.chars().filter(|c| !c.is_control()).take(40).collect();
    let hint = "see `holdpoint channel list` for those there are";
    Failure::new(Fault::Missing, "no_such_channel", format!("there is no channel `{shown}`"), hint)
}

async fn look<T: Send + 'static>(
    app: &App,
    work: impl FnOnce(&Diary) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Failure> {
    let diary = Arc::clone(&app.diary);
    let joined = tokio::task::spawn_blocking(move || work(&diary)).await;
    Ok(joined.map_err(|_| Failure::bug("reading the channels broke off"))??)
}
