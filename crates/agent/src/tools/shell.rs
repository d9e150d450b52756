//! `shell`: one command in the workspace. When it returns, its whole process group is gone.
//! Never waits longer than its limit, never keeps more output than it may.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde::Deserialize;
use serde_json::json;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

use super::{Definition, Desk, ToolError};
use crate::outputs;

const DEFAULT_SECONDS: u64 = 120;
const MOST_SECONDS: u64 = 600;
const HEAD: usize = 8 * 1024;
const TAIL: usize = 24 * 1024;
const MOST_KEPT: usize = 8 * 1024 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    command: String,
    #[serde(default)]
    timeout_seconds: Option<u64>,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "shell",
        description: "Run a shell command in the workspace, e.g. to build, test or use git. There is no terminal and no \
                      input, and no network. Output and errors come back together; of long output the start and the \
                      end. Each call is a new shell: `cd` and variables do not carry over, and processes left in the \
                      background are ended when the command returns. Default limit 120 seconds, at most 600.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["command"],
            "properties": {
                "command": {"type": "string", "description": "The command line."},
                "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": 600, "description": "Time limit; default 120."}
            }
        }),
    }
}

pub(super) async fn run(desk: &Desk, input: Input) -> Result<String, ToolError> {
    if input.command.trim().is_empty() {
        return Err(ToolError::Refused("`command` is empty".to_owned()));
    }
    let limit = Duration::from_secs(input.timeout_seconds.unwrap_or(DEFAULT_SECONDS).clamp(1, MOST_SECONDS));
    let io = |source| ToolError::Io { what: "the command could not be run".to_owned(), source };
    let (mut child, reader) = start(desk.workspace.root(), &input.command).map_err(io)?;
    // The shell leads its own group; the id is asked for now because an ended child has none.
    let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let mut output = Output::default();
    let ended = tokio::select! {
        ended = follow(&mut child, &reader, &mut output) => Some(ended.map_err(io)?),
        () = tokio::time::sleep(limit) => None,
    };
    end_group(&mut child, group).await.map_err(io)?;
    output.drain(&reader);
    let shown = output.shown(&desk.outputs).map_err(io)?;
    match ended {
        Some(status) if status.success() => Ok(if shown.is_empty() { "(no output)".to_owned() } else { shown }),
        Some(status) => Err(ToolError::Refused(format!("{shown}\n({status})").trim_start().to_owned())),
        None => Err(ToolError::Refused(format!("{shown}\n(ended after the limit of {} seconds)", limit.as_secs()))),
    }
}

fn start(root: &Path, command: &str) -> std::io::Result<(Child, pipe::Receiver)> {
    let (reader, writer) = std::io::pipe()?;
    let shell = if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" };
    let child = Command::new(shell)
        .arg("-c")
        .arg(command)
        .current_dir(root)
        .env("PWD", root)
        .env("PAGER", "cat")
        .env("GIT_PAGER", "cat")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    Ok((child, pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?))
}

/// Reads until the shell has ended; what background processes write afterwards is not waited for.
async fn follow(child: &mut Child, reader: &pipe::Receiver, output: &mut Output) -> std::io::Result<ExitStatus> {
    loop {
        tokio::select! {
            biased;
            readable = reader.readable() => {
                readable?;
                if output.drain(reader) == Flow::Ended {
                    return child.wait().await;
                }
            }
            status = child.wait() => return status,
        }
    }
}

/// Ends everything the command started, unless it made a group of its own; the sandbox ends those.
async fn end_group(child: &mut Child, group: Option<Pid>) -> std::io::Result<()> {
    if let Some(group) = group {
        match rustix::process::kill_process_group(group, Signal::KILL) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    child.wait().await.map(|_| ())
}

#[derive(Debug, PartialEq, Eq)]
enum Flow {
    Open,
    Ended,
}

/// What the command wrote: all of it up to a limit, and always the end.
#[derive(Debug, Default)]
struct Output {
    kept: Vec<u8>,
    /// The end of what no longer fitted into `kept`.
    overflow: Vec<u8>,
    total: usize,
}

impl Output {
    fn drain(&mut self, reader: &pipe::Receiver) -> Flow {
        let mut buffer = [0; 16 * 1024];
        loop {
            match reader.try_read(&mut buffer) {
                Ok(0) => return Flow::Ended,
                Ok(count) => self.push(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Flow::Open,
                // A broken pipe has nothing more to say.
                Err(_) => return Flow::Ended,
            }
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len();
        let room = MOST_KEPT.saturating_sub(self.kept.len()).min(bytes.len());
        self.kept.extend_from_slice(&bytes[..room]);
        self.overflow.extend_from_slice(&bytes[room..]);
        if self.overflow.len() > 4 * TAIL {
            self.overflow.drain(..self.overflow.len() - TAIL);
        }
    }

    /// What the model sees; long output is kept whole in a file of the session.
    fn shown(&self, outputs: &Path) -> std::io::Result<String> {
        if self.total <= HEAD + TAIL {
            return Ok(String::from_utf8_lossy(&self.kept).trim_end().to_owned());
        }
        let name = outputs::keep(outputs, &self.kept)?;
        let head = String::from_utf8_lossy(&self.kept[..HEAD]).into_owned();
        let end = if self.overflow.len() >= TAIL { &self.overflow } else { &self.kept };
        let mut tail = end[end.len().saturating_sub(TAIL)..].to_vec();
        if !self.overflow.is_empty() && self.overflow.len() < TAIL {
            tail.extend_from_slice(&self.overflow);
            tail.drain(..tail.len() - TAIL);
        }
        let tail = String::from_utf8_lossy(&tail).trim_end().to_owned();
        let kept = String::from_utf8_lossy(&self.kept);
        Ok(format!("{head}\n{}\n{tail}", outputs::left_out(self.total - HEAD - TAIL, &name, &kept)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::desk;
    use super::*;

    async fn sh(desk: &Desk, command: &str, timeout_seconds: Option<u64>) -> Result<String, String> {
        let input = Input { command: command.to_owned(), timeout_seconds };
        run(desk, input).await.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn output_and_errors_come_together_and_a_bad_exit_is_told() {
        let (_folder, desk) = desk(&[("a", "")]);
        assert_eq!(sh(&desk, "ls; echo x >&2; pwd | grep -c work", None).await.unwrap(), "a\nx\n1");
        assert_eq!(sh(&desk, "true", None).await.unwrap(), "(no output)");
        assert_eq!(sh(&desk, "echo no; exit 3", None).await.unwrap_err(), "no\n(exit status: 3)");
        assert!(sh(&desk, "read line", None).await.is_err(), "there is no input");
    }

    #[tokio::test]
    async fn at_the_limit_the_whole_group_is_ended() {
        let (folder, desk) = desk(&[]);
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.path().join("alive"), rustix::fs::Mode::from_raw_mode(0o600))
            .unwrap();
        // The grandchild holds the FIFO open; that the reader sees its end shows that the grandchild is gone.
        let alive = folder.path().join("alive");
        let reader = pipe::OpenOptions::new().open_receiver(&alive).unwrap();
        let command = format!("echo begun; (exec 3>'{}'; sleep 600) & wait", alive.display());
        let refused = sh(&desk, &command, Some(3)).await.unwrap_err();
        assert_eq!(refused, "begun\n(ended after the limit of 3 seconds)");
        reader.readable().await.unwrap();
        assert_eq!(reader.try_read(&mut [0; 1]).unwrap(), 0);
    }

    #[tokio::test]
    async fn a_process_left_in_the_background_neither_delays_the_answer_nor_stays() {
        let (folder, desk) = desk(&[]);
        let alive = folder.path().join("alive");
        rustix::fs::mkfifoat(rustix::fs::CWD, &alive, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
        let reader = pipe::OpenOptions::new().open_receiver(&alive).unwrap();
        let command = format!("exec 3>'{}'; sleep 600 & echo left", alive.display());
        assert_eq!(sh(&desk, &command, Some(60)).await.unwrap(), "left");
        reader.readable().await.unwrap();
        assert_eq!(reader.try_read(&mut [0; 1]).unwrap(), 0);
    }

    #[tokio::test]
    async fn of_long_output_the_model_sees_both_ends_and_the_file_has_all() {
        let (_folder, desk) = desk(&[]);
        let shown = sh(&desk, "seq 1 100000", None).await.unwrap();
        assert!(shown.starts_with("1\n2\n") && shown.ends_with("\n99999\n100000"), "{}", &shown[..40]);
        assert!(shown.len() < HEAD + TAIL + 300);
        let kept = std::fs::read_to_string(desk.outputs.join("output-1.txt")).unwrap();
        assert!(shown.contains("output-1.txt"));
        assert_eq!(kept.lines().count(), 100_000);
    }

    #[tokio::test]
    async fn endless_output_is_bounded() {
        let (_folder, desk) = desk(&[]);
        let shown = sh(&desk, "head -c 20000000 /dev/zero | tr '\\0' x; echo; echo the end", None).await.unwrap();
        assert!(shown.ends_with("the end"));
        let kept = std::fs::metadata(desk.outputs.join("output-1.txt")).unwrap().len();
        assert_eq!(kept, MOST_KEPT as u64);
    }
}
