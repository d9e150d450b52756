//! `open`: a link that logs one browser in, once; opened at once where there is somebody to look at it.

use std::process::Stdio;

use clap::Args;
use wire::{ExitCode, NewLoginCode};

use crate::{
    failure::Failure,
    report::{clean_line, stdout_is_terminal},
    session::Session,
};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// For this user, to be handed on; for you unless said
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
}

pub(super) async fn run(arguments: Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let for_somebody_else = arguments.user.is_some();
    let link = session.connect().await?.login_code(&NewLoginCode { user: arguments.user }).await?;
    if session.report.is_json() {
        session.report.json(&link);
        return Ok(ExitCode::Done);
    }
    let url = clean_line(&link.url);
    session.report.data(&url);
    let opened = !for_somebody_else && stdout_is_terminal() && has_display() && browse(&url).await;
    let what = if opened { "opened in your browser; the link" } else { "open it in a browser; it" };
    session.report.note(&format!(
        "{what} logs {} in once, within {} seconds",
        clean_line(&link.user),
        link.expires_in_seconds
    ));
    Ok(ExitCode::Done)
}

fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// A courtesy: the link is on the terminal, whatever becomes of this.
async fn browse(url: &str) -> bool {
    let mut command = tokio::process::Command::new("xdg-open");
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().await.is_ok_and(|status| status.success())
}
