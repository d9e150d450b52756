//! `serve`: runs the server of a data directory, in the foreground or detached.

mod keys;

use std::{
    collections::BTreeMap,
    fs::OpenOptions,
    io::{self, IsTerminal as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    sync::Arc,
    time::Duration,
};

use clap::Args;
use runner::ServerSecrets;
use server::Settings;
use tracing_subscriber::{Layer as _, prelude::*};
use wire::{ExitCode, Problem};

use self::keys::Environment;
use crate::{failure::Failure, home::Home, log_writer::LogWriter, session::Session, telemetry::Telemetry};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Port; ORCHESTRATOR_PORT or any free one unless said
    #[arg(long)]
    port: Option<u16>,
    /// Address to listen on, instead of 127.0.0.1; needs --behind-proxy and users
    #[arg(long, value_name = "IP")]
    listen: Option<std::net::IpAddr>,
    /// A proxy with TLS is in front, as browsers see it: https://NAME; needs users
    #[arg(long, value_name = "URL")]
    behind_proxy: Option<server::Proxy>,
    /// Minutes with nothing to do after which the server ends by itself
    #[arg(long, value_name = "MINUTES")]
    idle_exit: Option<u64>,
    /// Agents at once
    #[arg(long, default_value_t = 4)]
    agents: usize,
    /// Stay in this terminal (the default)
    #[arg(long, conflicts_with = "background")]
    foreground: bool,
    /// Detach, tell standard output when ready, and end after 15 idle minutes
    #[arg(long, hide = true)]
    background: bool,
}

/// How long a server that started by itself stays with nothing to do.
const IDLE_MINUTES: u64 = 15;

/// From here on only root reads this process's environment and memory, where keys are: no other program of the same user,
/// and no core dump. What the server starts is as readable as ever, and is given no key by its environment.
fn close_to_others() -> io::Result<()> {
    Ok(rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?)
}

pub(super) async fn run(arguments: Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let closed = close_to_others();
    let Environment { variables, exposed } = keys::environment().map_err(|error| {
        let message = format!("the server's keys cannot be read from its standard input: {error}");
        Failure::unavailable("keys", message, "unset HOLDPOINT_KEYS_FROM, and start the server again")
    })?;
    if arguments.background {
        // Fails only for a process that already leads its group, which then is detached enough.
        let _already_leader = rustix::process::setsid();
    }
    session.home.create()?;
    let secrets = keys::secrets(&variables);
    let writer = LogWriter::to_stderr(secrets.clone());
    writer.take_panics();
    let telemetry = trace(writer);
    if let Err(error) = closed {
        tracing::warn!(%error, "other programs of this user can read the keys in the server's environment");
    }
    if let Some(error) = exposed {
        tracing::warn!(%error, "keys stay in the server's environment block, which root can read");
    }
    let answer = server::serve(settings(&arguments, session, variables, secrets.clone())?).await;
    if let Some(telemetry) = telemetry {
        // Blocks until the last spans are gone.
        let _ended = tokio::task::spawn_blocking(move || telemetry.end()).await;
    }
    match answer {
        Ok(()) => Ok(ExitCode::Done),
        Err(error) => {
            let problem = error.problem();
            // It may quote a setting, and is the last line of the log.
            let problem = Problem { message: secrets.redact(&problem.message), ..problem };
            if arguments.background {
                tell(&problem);
            }
            Err(Failure { exit: ExitCode::Unavailable, problem })
        }
    }
}

fn settings(
    arguments: &Arguments,
    session: &Session,
    environment: BTreeMap<String, String>,
    secrets: ServerSecrets,
) -> Result<Settings, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::unavailable("no_program", format!("cannot find the own program: {error}"), "reinstall holdpoint")
    })?;
    let idle = arguments.idle_exit.or(arguments.background.then_some(IDLE_MINUTES));
    Ok(Settings {
        home: session.home.path().to_owned(),
        port: arguments.port,
        listen: arguments.listen,
        proxy: arguments.behind_proxy.clone(),
        idle_exit: idle.map(|minutes| Duration::from_secs(minutes.saturating_mul(60))),
        agents: arguments.agents,
        ready: Some(ready(arguments.background, session)),
        last_resort: Some(Arc::new(end_by_force)),
        program,
        environment,
        secrets,
    })
}

/// How long the server may take to end in order, shorter than a next command waits for the data directory.
const ORDERLY: Duration = Duration::from_secs(8);

/// Ends the process after a while, whatever hangs in it. It has written what it acknowledged.
#[expect(clippy::disallowed_methods, reason = "what it waits for may never come; only time is left to wait for")]
fn end_by_force() {
    let force = || {
        std::thread::sleep(ORDERLY);
        tracing::error!("the server did not end in order, and ends now");
        std::process::exit(ExitCode::Unavailable.number().into());
    };
    if std::thread::Builder::new().name("last-resort".to_owned()).spawn(force).is_err() {
        std::process::exit(ExitCode::Unavailable.number().into());
    }
}

fn ready(background: bool, session: &Session) -> server::Ready {
    let (home, report) = (session.home.clone(), session.report);
    if background {
        return Box::new(move |info| {
            tell(info);
            leave_pipe(&home);
        });
    }
    Box::new(move |info| {
        if report.is_json() {
            report.json_line(info);
        } else {
            report.note(&format!("holdpoint {} serves {} at {}", info.version, home.path().display(), info.url));
        }
    })
}

/// One line for whoever started this process.
fn tell(what: &impl serde::Serialize) {
    let line = serde_json::to_string(what).expect("plain text and numbers");
    let mut stdout = io::stdout().lock();
    // A starter that has gone does not need to know.
    let _gone = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

/// From here on standard output is the log, and the starter sees the pipe closed.
fn leave_pipe(home: &Home) {
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(home.log_file());
    // Without a log the pipe stays; nothing is written to it, so nothing is lost.
    let _kept = log.map(|log| rustix::stdio::dup2_stdout(&log));
}

/// Values that are not UTF-8 cannot be settings of ours.
pub(super) fn environment_block() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

fn trace(writer: LogWriter) -> Option<Telemetry> {
    let filter = tracing_subscriber::EnvFilter::try_from_env("HOLDPOINT_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let lines = tracing_subscriber::fmt::layer().with_ansi(colours).with_writer(writer).with_filter(filter);
    let (telemetry, problem) = match Telemetry::wished() {
        Ok(telemetry) => (telemetry, None),
        Err(problem) => (None, Some(problem)),
    };
    let spans = telemetry.as_ref().map(Telemetry::layer);
    tracing_subscriber::registry().with(lines).with(spans).init();
    if let Some(problem) = problem {
        tracing::warn!(problem, "no spans are sent: what OTEL_EXPORTER_OTLP_… says cannot be used");
    }
    telemetry
}

#[cfg(test)]
mod tests {
    use wire::{Problem, ServerInfo};

    #[test]
    fn a_starter_can_tell_readiness_from_a_problem() {
        let info = ServerInfo { url: "http://127.0.0.1:1".to_owned(), pid: 1, version: "0".to_owned() };
        let problem = Problem { code: "locked".to_owned(), message: "m".to_owned(), hint: "h".to_owned(), field: None };
        let info = serde_json::to_string(&info).unwrap();
        let problem = serde_json::to_string(&problem).unwrap();
        assert!(serde_json::from_str::<Problem>(&info).is_err());
        assert!(serde_json::from_str::<ServerInfo>(&problem).is_err());
    }
}
