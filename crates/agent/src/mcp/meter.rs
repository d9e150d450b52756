//! Counts what a server writes: between two questions to it only so much is taken. Beyond that the stream is broken,
//! which ends the connection and no more.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

/// Bytes of one line, which is one message.
const MOST_LINE: usize = 8 * 1024 * 1024;
/// Bytes in answer to one question.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// Lines in answer to one question.
const MOST_LINES: usize = 20_000;

/// What was counted so far.
#[derive(Debug, Default)]
pub(super) struct Meter {
    bytes: AtomicUsize,
    lines: AtomicUsize,
    over: OnceLock<String>,
}

impl Meter {
    /// A new question: counting begins again.
    pub(super) fn reset(&self) {
        self.bytes.store(0, Ordering::Relaxed);
        self.lines.store(0, Ordering::Relaxed);
    }

    /// Why the stream was broken, if it was.
    pub(super) fn over(&self) -> Option<&str> {
        self.over.get().map(String::as_str)
    }

    /// Counts; the bytes of the line that is not ended yet.
    fn count(&self, new: &[u8], open: usize) -> io::Result<usize> {
        let bytes = self.bytes.fetch_add(new.len(), Ordering::Relaxed) + new.len();
        let ended = new.iter().filter(|byte| **byte == b'\n').count();
        let lines = self.lines.fetch_add(ended, Ordering::Relaxed) + ended;
        let open = match new.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => new.len() - at - 1,
            None => open + new.len(),
        };
        let why = if open > MOST_LINE {
            format!("it sent a message of more than {MOST_LINE} bytes")
        } else if bytes > MOST_BYTES {
            format!("it sent more than {MOST_BYTES} bytes at once")
        } else if lines > MOST_LINES {
            format!("it sent more than {MOST_LINES} messages at once")
        } else {
            return Ok(open);
        };
        // Only the first reason is kept; later ones follow from it.
        let _ = self.over.set(why);
        Err(io::ErrorKind::FileTooLarge.into())
    }
}

/// A stream under a meter.
pub(super) struct Metered<R> {
    inner: R,
    meter: Arc<Meter>,
    open: usize,
}

impl<R> Metered<R> {
    pub(super) fn new(inner: R, meter: Arc<Meter>) -> Self {
        Self { inner, meter, open: 0 }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Metered<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.inner).poll_read(cx, buffer) {
            Poll::Ready(Ok(())) => {
                self.open = self.meter.count(&buffer.filled()[before..], self.open)?;
                Poll::Ready(Ok(()))
            }
            other => other,
        }
    }
}
