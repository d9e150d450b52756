//! The other end of Holdpoint's tools: carries the standard streams of an MCP server process to the host's socket and
//! back. It looks at no byte of what it carries.

use std::io;
use std::path::Path;

use tokio::net::UnixStream;

/// Carries until either side is done.
pub async fn relay(session: &Path) -> io::Result<()> {
    let folder = std::fs::File::open(session)?;
    let fd = std::os::fd::AsRawFd::as_raw_fd(&folder);
    let (mut read, mut write) =
        UnixStream::connect(format!("/proc/self/fd/{fd}/{}", super::tools::SOCKET)).await?.into_split();
    let (mut input, mut output) = (tokio::io::stdin(), tokio::io::stdout());
    tokio::select! {
        carried = tokio::io::copy(&mut input, &mut write) => carried.map(drop),
        carried = tokio::io::copy(&mut read, &mut output) => carried.map(drop),
    }
}
