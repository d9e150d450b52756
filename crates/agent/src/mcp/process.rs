//! The process of an MCP server: a child of the agent in a group of its own, which is gone when this is dropped.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

/// Bytes of what it said last that people and models are shown.
const TAIL: usize = 1_000;
/// How long an end and the last words are waited for; somebody else may hold the pipe open.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Who ended the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    ByUs,
    ByIt,
}

/// A running server.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Option<Pid>,
    last_words: JoinHandle<String>,
}

impl Process {
    pub(super) fn start(
        command: &[String],
        folder: &Path,
        variables: &BTreeMap<String, String>,
    ) -> io::Result<(Self, ChildStdout, ChildStdin)> {
        let missing = || io::Error::from(io::ErrorKind::InvalidInput);
        let (program, arguments) = command.split_first().ok_or_else(missing)?;
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(folder)
            .envs(variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        // Asked for now because an ended child has no id; it leads its own group.
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(errors)) = (input, output, errors) else { return Err(missing()) };
        let last_words = tokio::spawn(tail(errors));
        Ok((Self { child, group, last_words }, output, input))
    }

    /// Ends it and everything in its group; tells how it ended by itself, if it had, and what it said last.
    pub(super) async fn end(mut self, closed: Closed) -> String {
        let by_itself = match closed {
            // A program whose input we closed may be gone by now, and that says nothing about it.
            Closed::ByUs => None,
            // What closes its pipes because it dies is seen to be dead a moment later.
            Closed::ByIt => tokio::time::timeout(LAST_WORDS, self.child.wait()).await.ok().and_then(Result::ok),
        };
        self.kill();
        // What was killed is reaped; an error would mean that it is gone.
        let _ = self.child.wait().await;
        let said = match tokio::time::timeout(LAST_WORDS, &mut self.last_words).await {
            Ok(Ok(said)) => said,
            Ok(Err(_)) | Err(_) => String::new(),
        };
        let ended = by_itself.map(|status| format!("it ended ({status})"));
        let said = Some(said).filter(|said| !said.is_empty()).map(|said| format!("its last words: {said}"));
        ended.into_iter().chain(said).collect::<Vec<_>>().join("; ")
    }

    fn kill(&self) {
        if let Some(group) = self.group {
            // No such group: it is gone, which is what is wanted.
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        self.last_words.abort();
    }
}

/// Reads to the end and keeps the last of it: a full pipe would hold the server up.
async fn tail(mut errors: ChildStderr) -> String {
    let mut kept: Vec<u8> = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = errors.read(&mut buffer).await {
        kept.extend_from_slice(&buffer[..count]);
        if kept.len() > 4 * TAIL {
            kept.drain(..kept.len() - TAIL);
        }
    }
    let text = String::from_utf8_lossy(&kept);
    crate::shorten::tail(&text.split_whitespace().collect::<Vec<_>>().join(" "), TAIL)
}
