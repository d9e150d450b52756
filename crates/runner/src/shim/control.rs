//! The conversation between a shim and servers over `control.sock`: JSON lines, any number of
//! listeners, none of whom can slow the agent down.

use std::{io, path::Path, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::{UnixListener, UnixStream, unix::OwnedReadHalf, unix::OwnedWriteHalf},
    sync::watch,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{sockets, spool};

/// Time for listeners to take the last message; they can read the spool instead.
const FAREWELL: Duration = Duration::from_secs(1);

/// Said by the shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Message {
    /// The marker is written; always the first.
    Started,
    /// `output.jsonl` has this many bytes now.
    Output {
        /// Size of the file.
        bytes: u64,
    },
    /// `calls.jsonl` has grown this often.
    Call {
        /// Number of times.
        count: u64,
    },
    /// `exit.json` is published; always the last.
    Exited,
}

/// Said to the shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum Request {
    Stop,
}

/// How far the attempt is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) output_bytes: u64,
    pub(super) calls: u64,
    pub(super) exited: bool,
}

/// Greets and serves everyone who connects, until the attempt has ended and they know it.
pub(super) async fn serve(listener: UnixListener, progress: watch::Receiver<Progress>, stop: CancellationToken) {
    let talks = TaskTracker::new();
    let mut end = progress.clone();
    let exited = end.wait_for(|progress| progress.exited);
    tokio::pin!(exited);
    loop {
        tokio::select! {
            _ = &mut exited => break,
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    talks.spawn(talk(stream, progress.clone(), stop.clone()));
                }
            }
        }
    }
    talks.close();
    let _ = tokio::time::timeout(FAREWELL, talks.wait()).await;
}

/// One listener. Its leaving, by error or by hanging up, is its own affair.
async fn talk(stream: UnixStream, progress: watch::Receiver<Progress>, stop: CancellationToken) {
    let (reading, writing) = stream.into_split();
    tokio::select! {
        _ = tell(writing, progress) => {}
        () = hear(reading, stop) => {}
    }
}

async fn tell(mut to: OwnedWriteHalf, mut progress: watch::Receiver<Progress>) -> io::Result<()> {
    send(&mut to, Message::Started).await?;
    let mut told = Progress::default();
    loop {
        let now = *progress.borrow_and_update();
        if now.output_bytes != told.output_bytes {
            let bytes = now.output_bytes;
            send(&mut to, Message::Output { bytes }).await?;
        }
        if now.calls != told.calls {
            send(&mut to, Message::Call { count: now.calls }).await?;
        }
        if now.exited {
            return send(&mut to, Message::Exited).await;
        }
        told = now;
        if progress.changed().await.is_err() {
            return Ok(());
        }
    }
}

async fn send(to: &mut OwnedWriteHalf, message: Message) -> io::Result<()> {
    let mut line = serde_json::to_vec(&message)?;
    line.push(b'\n');
    to.write_all(&line).await
}

async fn hear(from: OwnedReadHalf, stop: CancellationToken) {
    let mut lines = BufReader::new(from).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        match serde_json::from_str(&line) {
            Ok(Request::Stop) => stop.cancel(),
            Err(error) => tracing::warn!(%error, "a request that is not understood"),
        }
    }
}

/// A server's end of the conversation.
#[derive(Debug)]
pub(super) struct Conversation {
    lines: Lines<BufReader<OwnedReadHalf>>,
    writing: OwnedWriteHalf,
}

impl Conversation {
    /// Connects; the shim may not have started to answer yet.
    pub(super) fn open(spool: &Path) -> io::Result<Self> {
        let stream = sockets::connect(&spool.join(spool::CONTROL))?;
        stream.set_nonblocking(true)?;
        let (reading, writing) = UnixStream::from_std(stream)?.into_split();
        Ok(Self { lines: BufReader::new(reading).lines(), writing })
    }

    /// The next message; `None` when the shim is gone.
    pub(super) async fn next(&mut self) -> Option<Message> {
        let line = self.lines.next_line().await.ok()??;
        serde_json::from_str(&line).ok()
    }

    /// Asks for a stop.
    pub(super) async fn ask_to_stop(&mut self) -> io::Result<()> {
        let mut line = serde_json::to_vec(&Request::Stop)?;
        line.push(b'\n');
        self.writing.write_all(&line).await
    }
}
