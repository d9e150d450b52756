//! The shim's end of the leash: hears how the agent ended, and can ask it to end.

use std::{
    io::{self, Write},
    os::fd::OwnedFd,
    os::unix::net::UnixStream as StdUnixStream,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
};

use super::nonce::Nonce;
use crate::sandbox::inside::{ASK_TO_END, Said};

/// More than the init step ever says; what an agent that took it over says beyond is ignored.
const MOST: usize = 64 << 10;

pub(super) struct Leash {
    stream: UnixStream,
    heard: Vec<u8>,
}

impl Leash {
    /// A leash and the end that becomes the standard input of the init step. The nonce is the first that it reads.
    pub(super) fn new(nonce: Option<&Nonce>) -> io::Result<(Self, OwnedFd)> {
        let (mut ours, theirs) = StdUnixStream::pair()?;
        if let Some(nonce) = nonce {
            // It fits into the socket's buffer.
            ours.write_all(nonce.line())?;
        }
        ours.set_nonblocking(true)?;
        let leash = Self { stream: UnixStream::from_std(ours)?, heard: Vec::new() };
        Ok((leash, theirs.into()))
    }

    /// Waits until everyone who held the other end is gone. May be dropped and called again.
    pub(super) async fn until_end(&mut self) {
        let mut rest = [0; 4096];
        loop {
            match self.stream.read(&mut rest).await {
                Ok(0) | Err(_) => return,
                Ok(read) => {
                    let room = MOST.saturating_sub(self.heard.len()).min(read);
                    self.heard.extend_from_slice(&rest[..room]);
                }
            }
        }
    }

    /// Asks the agent to end.
    pub(super) async fn ask_to_end(&mut self) {
        // When nobody listens it has ended.
        let _ = self.stream.write_all(&[ASK_TO_END]).await;
    }

    /// What was said last, whole lines only.
    pub(super) fn last_said(&self) -> Option<Said> {
        self.heard
            .split_inclusive(|byte| *byte == b'\n')
            .filter(|line| line.ends_with(b"\n"))
            .filter_map(|line| serde_json::from_slice(line).ok())
            .next_back()
    }
}
