//! A program as a child process: lines in, lines out, and its end. Whatever it floods, only so much is kept.

use std::collections::VecDeque;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use drivers::driver::Start;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;

/// Bytes of one line; what is longer is cut, and counts as one that is not understood.
const LONGEST_LINE: usize = 8 << 20;
/// Bytes of its raw output that are kept.
const MOST_KEPT: usize = 64 << 20;
/// Bytes of the end of its standard error that are told.
const LAST_WORDS: usize = 4 << 10;

/// Lines that wait until a program reads them; one that leaves more unread does not listen.
const MOST_UNREAD: usize = 1_000;
/// How long output may still come after the process has ended.
const LAST_OUTPUT: Duration = Duration::from_millis(500);

/// A running program.
pub(super) struct Child {
    process: tokio::process::Child,
    input: Option<mpsc::Sender<String>>,
    output: ChildStdout,
    buffer: Vec<u8>,
    lines: VecDeque<String>,
    /// Whether the rest of a line that was too long is still to come.
    cutting: bool,
    over: bool,
    /// Whether the process itself has ended.
    gone: bool,
    transcript: Option<std::fs::File>,
    kept: usize,
    last_words: Arc<Mutex<Vec<u8>>>,
    listener: tokio::task::JoinHandle<()>,
}

pub(super) enum Heard {
    Line(String),
    End,
}

/// How a program left.
pub(super) struct Left {
    status: Option<std::process::ExitStatus>,
    said: String,
}

impl Left {
    /// Its exit code, if it left by itself.
    pub(super) fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// Why it is not simply silent: how it ended, and its last words.
    pub(super) fn silent(&self) -> Option<String> {
        let how = match &self.status {
            Some(status) if status.success() => return None,
            Some(status) => format!("ended with {status}"),
            None => "had to be ended".to_owned(),
        };
        Some(if self.said.is_empty() { how } else { format!("{how}: {}", self.said) })
    }
}

impl Child {
    pub(super) fn start(start: &Start, workspace: &str, session: &Path) -> std::io::Result<Self> {
        for (path, text) in &start.files {
            if let Some(folder) = Path::new(path).parent() {
                std::fs::create_dir_all(folder)?;
            }
            std::fs::write(path, text)?;
        }
        let (program, arguments) = start.argv.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
        let mut process = Command::new(program)
            .args(arguments)
            .envs(&start.env)
            .env("PWD", workspace)
            .current_dir(workspace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let taken = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let (Some(input), Some(output), Some(errors)) = taken else {
            return Err(std::io::ErrorKind::BrokenPipe.into());
        };
        let last_words = Arc::<Mutex<Vec<u8>>>::default();
        let listener = tokio::spawn(listen(errors, Arc::clone(&last_words)));
        let transcript = std::fs::OpenOptions::new().create(true).append(true).open(session.join("transcript.jsonl"));
        Ok(Self {
            process,
            input: Some(speak(input)),
            output,
            buffer: Vec::new(),
            lines: VecDeque::new(),
            cutting: false,
            over: false,
            gone: false,
            // What is kept for looking at later must not end the work.
            transcript: transcript.ok(),
            kept: 0,
            last_words,
            listener,
        })
    }

    /// Of its process, while it lives.
    pub(super) fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Says a line without waiting until it is read: a program that prints before it reads would wait for us too. One
    /// that no longer listens is found out by its end.
    pub(super) fn send(&mut self, line: &str) {
        if self.input.as_ref().is_some_and(|input| input.try_send(format!("{line}\n")).is_err()) {
            self.input = None;
        }
    }

    pub(super) fn close_input(&mut self) {
        self.input = None;
    }

    /// The next line, or the end of its output. May be dropped and called again.
    pub(super) async fn hear(&mut self) -> Heard {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Heard::Line(line);
            }
            if self.over {
                return Heard::End;
            }
            let mut piece = vec![0; 64 << 10];
            let read = if self.gone {
                // Something it left behind may keep its output open for ever.
                tokio::time::timeout(LAST_OUTPUT, self.output.read(&mut piece)).await.unwrap_or(Ok(0))
            } else {
                tokio::select! {
                    biased;
                    read = self.output.read(&mut piece) => read,
                    _ = self.process.wait() => {
                        self.gone = true;
                        continue;
                    }
                }
            };
            match read {
                Ok(0) | Err(_) => {
                    self.over = true;
                    let rest = std::mem::take(&mut self.buffer);
                    if !rest.is_empty() {
                        self.lines.push_back(String::from_utf8_lossy(&rest).into_owned());
                    }
                }
                Ok(count) => self.take(&piece[..count]),
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.keep(bytes);
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let whole = part.ends_with(b"\n");
            if !self.cutting {
                self.buffer.extend_from_slice(part);
            }
            if self.buffer.len() > LONGEST_LINE {
                self.buffer.truncate(LONGEST_LINE);
                self.cutting = true;
            }
            if whole {
                self.cutting = false;
                let line = std::mem::take(&mut self.buffer);
                let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                if !line.is_empty() {
                    self.lines.push_back(line);
                }
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = MOST_KEPT.saturating_sub(self.kept).min(bytes.len());
        self.kept += room;
        if let Some(file) = &mut self.transcript
            && file.write_all(&bytes[..room]).is_err()
        {
            self.transcript = None;
        }
    }

    /// Lets it leave by itself for a while, then ends it.
    pub(super) async fn leave(mut self, patience: Duration) -> Left {
        self.input = None;
        let status = tokio::time::timeout(patience, self.process.wait()).await.ok().and_then(Result::ok);
        if status.is_none() {
            // It may be gone already.
            let _ = self.process.kill().await;
        }
        // What it left behind may keep its standard error open.
        let _ = tokio::time::timeout(LAST_OUTPUT, &mut self.listener).await;
        let said = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        let said = String::from_utf8_lossy(&said).split_whitespace().collect::<Vec<_>>().join(" ");
        Left { status, said }
    }
}

/// Writes what is said, in order, and closes the program's input after the last word.
fn speak(mut input: ChildStdin) -> mpsc::Sender<String> {
    let (sender, mut lines) = mpsc::channel::<String>(MOST_UNREAD);
    tokio::spawn(async move {
        while let Some(line) = lines.recv().await {
            if input.write_all(line.as_bytes()).await.is_err() {
                return;
            }
        }
    });
    sender
}

/// Keeps the end of what it says on its standard error, and passes it on.
async fn listen(mut errors: ChildStderr, last_words: Arc<Mutex<Vec<u8>>>) {
    let mut piece = vec![0; 16 << 10];
    while let Ok(count) = errors.read(&mut piece).await {
        if count == 0 {
            return;
        }
        // Nobody may be listening.
        let _ = std::io::stderr().write_all(&piece[..count]);
        let mut kept = last_words.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&piece[..count]);
        let extra = kept.len().saturating_sub(LAST_WORDS);
        kept.drain(..extra);
    }
}
