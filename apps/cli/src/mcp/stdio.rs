//! Over standard input and output, for a client that starts this program itself. Ends when the client goes away.

use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use wire::ExitCode;

use super::face::Face;
use crate::{failure::Failure, session::Session};

/// A longer message is dropped: nothing that the server takes is that long.
const LONGEST: usize = 4 * 1024 * 1024;

pub(crate) async fn serve(session: Session) -> Result<ExitCode, Failure> {
    // Whatever keeps the server from starting is told now, not at the first call.
    session.connect().await?;
    let face = Face::new(session, std::env::current_dir().ok());
    let (read, write) = rmcp::transport::stdio();
    let transport = AsyncRwTransport::new_server(read, write).with_max_line_length(LONGEST);
    let running = match Box::pin(face.serve(transport)).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(ExitCode::Done),
        Err(error) => {
            let hint = "start it from an MCP client, e.g. `claude mcp add holdpoint -- holdpoint mcp`";
            return Err(Failure::failed(
                "mcp_handshake",
                format!("the client did not begin as it should: {error}"),
                hint,
            ));
        }
    };
    match running.waiting().await {
        Ok(_) => Ok(ExitCode::Done),
        Err(error) => Err(Failure::failed("mcp", format!("serving broke off: {error}"), "start it again")),
    }
}
