//! `mcp`: this program as an MCP server, for an agent in the user's terminal.

use clap::Args;
use runner::ServerSecrets;
use wire::ExitCode;

use crate::{failure::Failure, log_writer::LogWriter, mcp, session::Session};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Serve streamable HTTP on 127.0.0.1 instead of standard input and output
    #[arg(long)]
    http: bool,
    /// Port for --http; any free one unless said
    #[arg(long, requires = "http", value_name = "PORT")]
    port: Option<u16>,
    /// Let the agent decide in your name: approve, reject, answer, cancel
    #[arg(long)]
    may_decide: bool,
}

pub(super) async fn run(arguments: &Arguments, session: &Session) -> Result<ExitCode, Failure> {
    trace();
    let home = if arguments.may_decide { session.home.clone() } else { session.home.for_agents() };
    let session = session.apart(home, &[], "mcp");
    if arguments.http {
        mcp::serve_http(session, arguments.port.unwrap_or(0)).await
    } else {
        mcp::serve_stdio(session).await
    }
}

/// Standard output belongs to the protocol.
fn trace() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("HOLDPOINT_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    let writer = LogWriter::to_stderr(ServerSecrets::default());
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(writer).init();
}
