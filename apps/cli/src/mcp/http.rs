//! Over streamable HTTP on 127.0.0.1, for clients that do not start the program themselves. Who asks must have the very
//! token this face speaks to the server with, so nobody gains a right by asking here.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use server::TokenFile;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use wire::{ExitCode, Problem};

use super::face::Face;
use crate::{failure::Failure, session::Session};

const LONGEST: usize = 4 * 1024 * 1024;

pub(crate) async fn serve(session: Session, port: u16) -> Result<ExitCode, Failure> {
    session.connect().await?;
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await;
    let cannot = |error: std::io::Error| {
        let hint = "choose another with --port, or leave it out for a free one";
        Failure::unavailable("port_refused", format!("cannot listen on port {port}: {error}"), hint)
    };
    let listener = listener.map_err(cannot)?;
    let port = listener.local_addr().map_err(cannot)?.port();
    let mut end = signal(SignalKind::terminate()).map_err(cannot)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
    tell(&session, port);
    // Long answers may be open; they need not be waited for, since everything they tell is kept by the server.
    tokio::select! {
        served = axum::serve(listener, router(session, port)).into_future() => served.map_err(cannot)?,
        _ = end.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(ExitCode::Done)
}

fn tell(session: &Session, port: u16) {
    let (url, token) = (format!("http://127.0.0.1:{port}/mcp"), session.home.token_file());
    if session.report.is_json() {
        session.report.json_line(&serde_json::json!({"url": url, "tokenFile": token}));
    } else {
        let line = format!("MCP at {url}; send `Authorization: Bearer …` with the text of {}", token.display());
        session.report.note(&line);
    }
}

fn router(session: Session, port: u16) -> Router {
    let own = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
    let config = StreamableHttpServerConfig::default()
        .with_allowed_origins(own.each_ref().map(|host| format!("http://{host}")))
        .enforce_origin_validation()
        .with_allowed_hosts(own)
        .with_max_request_body_bytes(LONGEST);
    let token = Arc::new(TokenFile::new(session.home.token_file()));
    let face = move || Ok(Face::new(session.clone(), None));
    let service = StreamableHttpService::new(face, Arc::new(LocalSessionManager::default()), config);
    Router::new().nest_service("/mcp", service).layer(from_fn_with_state(token, gate))
}

async fn gate(State(token): State<Arc<TokenFile>>, request: Request, next: Next) -> Response {
    match bearer(request.headers()).map(|given| token.admits(given)) {
        Some(Ok(true)) => return next.run(request).await,
        Some(Err(error)) => return (StatusCode::SERVICE_UNAVAILABLE, Json(error.problem())).into_response(),
        Some(Ok(false)) | None => {}
    }
    let problem = Problem {
        code: "unauthorized".to_owned(),
        message: "the token is missing or wrong".to_owned(),
        hint: "send `Authorization: Bearer …` with the text of the token file that `holdpoint mcp --http` named"
            .to_owned(),
        field: None,
    };
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], Json(problem)).into_response()
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
