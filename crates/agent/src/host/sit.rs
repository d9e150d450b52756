//! A program on a person's terminal: it runs on a terminal of its own inside the sandbox, and whoever connects to the
//! socket in the session folder sees it and types. Nobody has to be connected; a new one takes the place of the last.
//!
//! What comes from the person are frames: a letter, a length of two bytes, and so many bytes. `d` is typed, `r` is the
//! size of their window (rows, columns). What goes to them is the terminal's output as it is.

use std::io;
use std::path::Path;

use drivers::AgentEvent;
use drivers::driver::{self, Brief, Edits, Known, SIZE, Sitting, TERMINAL_SOCKET, TYPED};
use pty_process::{OwnedWritePty, Pty, Size};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

use super::state::{self, State};
use crate::AgentError;
use crate::events::Events;
use crate::run::Options;
use crate::session::SessionFolder;

const FIRST_SIZE: (u16, u16) = (24, 80);

/// Something that the person did.
enum Word {
    Typed(Vec<u8>),
    Resized(u16, u16),
    /// Whoever has this number is gone.
    Gone(u64),
}

/// Runs until the program ends.
pub async fn sit(options: Options, out: &mut (dyn io::Write + Send)) -> Result<(), AgentError> {
    let folder = SessionFolder::new(options.session.clone());
    let job = folder.job()?;
    let brief = Brief {
        prompt: String::new(),
        model: job.model.clone(),
        broker: std::env::var("HOLDPOINT_BROKER_URL").unwrap_or_default(),
        home: options.session.display().to_string(),
        workspace: job.workspace.clone(),
        tools: Vec::new(),
        resume: State::read(&options.session).session,
        turns: 0,
        protected: job.protected.clone(),
        edits: Edits::Kept,
        way: job.way.clone(),
    };
    let sitting = driver::sit(&job.program, &brief);
    lay_out(&sitting)?;
    let banner = match sitting.known {
        Known::Conversation => String::new(),
        Known::Nothing => banner(&folder),
    };
    // What it shows first is for somebody.
    let listener = listen(&options.session)?;
    let (first, _) = listener.accept().await?;
    let (pty, pts) = pty_process::open().map_err(terminal)?;
    pty.resize(Size::new(FIRST_SIZE.0, FIRST_SIZE.1)).map_err(terminal)?;
    let (program, arguments) =
        sitting.argv.split_first().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let command = pty_process::Command::new(program)
        .args(arguments)
        .envs(&sitting.env)
        .env("PWD", &job.workspace)
        .env("TERM", "xterm-256color")
        .env("COLORTERM", "truecolor")
        .current_dir(&job.workspace)
        .kill_on_drop(true);
    let mut child = command.spawn(pts).map_err(terminal)?;
    let mut events = Events::new(out);
    events.keep(&folder.stream())?;
    let text = format!("a person has the conversation on their terminal (`{program}`)");
    events.say(&AgentEvent::Noted { text })?;
    let status = serve(pty, &listener, first, &banner, child.wait()).await?;
    let text = format!("the conversation on the terminal ended ({status})");
    events.say(&AgentEvent::Noted { text })?;
    Ok(())
}

fn terminal(error: pty_process::Error) -> io::Error {
    match error {
        pty_process::Error::Io(error) => error,
        other => io::Error::other(other.to_string()),
    }
}

/// A path of any length: the folder is reached through a descriptor.
fn listen(session: &Path) -> io::Result<UnixListener> {
    let _ = std::fs::remove_file(session.join(TERMINAL_SOCKET));
    let folder = std::fs::File::open(session)?;
    let fd = std::os::fd::AsRawFd::as_raw_fd(&folder);
    UnixListener::bind(format!("/proc/self/fd/{fd}/{TERMINAL_SOCKET}"))
}

fn lay_out(sitting: &Sitting) -> io::Result<()> {
    for (path, text) in &sitting.files {
        make_room(path)?;
        std::fs::write(path, text)?;
    }
    for (path, set) in &sitting.patches {
        make_room(path)?;
        let known = std::fs::read(path).unwrap_or_default();
        let mut document: Value =
            serde_json::from_slice(&known).unwrap_or_else(|_| Value::Object(serde_json::Map::new()));
        merge(&mut document, set);
        std::fs::write(path, serde_json::to_vec(&document)?)?;
    }
    Ok(())
}

fn make_room(path: &str) -> io::Result<()> {
    match Path::new(path).parent() {
        Some(folder) => std::fs::create_dir_all(folder),
        None => Ok(()),
    }
}

/// Sets what is named and leaves the rest.
fn merge(document: &mut Value, set: &Value) {
    match (document, set) {
        (Value::Object(known), Value::Object(set)) => {
            for (name, value) in set {
                merge(known.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (document, set) => *document = set.clone(),
    }
}

/// What a person who sees no conversation is told.
fn banner(folder: &SessionFolder) -> String {
    let before = state::recap_lines(&folder.stream()).join("\n");
    let before = if before.is_empty() { String::new() } else { format!("What happened so far:\n{before}\n\n") };
    let text = format!(
        "\n{before}This is the agent's workspace, inside its sandbox. What you change here is what it goes on with.\n\
         `exit` leaves; you are asked then whether the agent shall go on.\n\n"
    );
    text.replace('\n', "\r\n")
}

/// Connects whoever comes with the terminal until the program has ended and all its output is passed on.
async fn serve(
    pty: Pty,
    listener: &UnixListener,
    first: UnixStream,
    banner: &str,
    ended: impl Future<Output = io::Result<std::process::ExitStatus>>,
) -> io::Result<std::process::ExitStatus> {
    let (mut output, mut input) = pty.into_split();
    let (sender, mut words) = mpsc::channel::<Word>(64);
    let mut seats = 0_u64;
    let mut seat = Some(sit_down(first, seats, &sender));
    show(&mut seat, banner.as_bytes()).await;
    let mut piece = vec![0; 16 << 10];
    let mut status = None;
    tokio::pin!(ended);
    loop {
        tokio::select! {
            read = output.read(&mut piece) => match read {
                // A terminal that nobody holds any more has no more output.
                Ok(0) | Err(_) => break,
                Ok(count) => show(&mut seat, &piece[..count]).await,
            },
            over = &mut ended, if status.is_none() => status = Some(over?),
            came = listener.accept() => {
                let (stream, _) = came?;
                seats += 1;
                seat = Some(sit_down(stream, seats, &sender));
                show(&mut seat, banner.as_bytes()).await;
            }
            Some(word) = words.recv() => hear(word, &mut input, &mut seat).await,
        }
        if status.is_some() && nothing_left(&mut output, &mut piece, &mut seat).await {
            break;
        }
    }
    match status {
        Some(status) => Ok(status),
        None => ended.await,
    }
}

/// The program itself is gone: what it printed last is passed on, and whoever it left behind is not waited for.
async fn nothing_left(
    output: &mut pty_process::OwnedReadPty,
    piece: &mut [u8],
    seat: &mut Option<(u64, OwnedWriteHalf)>,
) -> bool {
    let soon = std::time::Duration::from_millis(100);
    while let Ok(Ok(count @ 1..)) = tokio::time::timeout(soon, output.read(piece)).await {
        show(seat, &piece[..count]).await;
    }
    true
}

async fn show(seat: &mut Option<(u64, OwnedWriteHalf)>, bytes: &[u8]) {
    if let Some((_, writer)) = seat
        && writer.write_all(bytes).await.is_err()
    {
        *seat = None;
    }
}

async fn hear(word: Word, input: &mut OwnedWritePty, seat: &mut Option<(u64, OwnedWriteHalf)>) {
    match word {
        // A program that does not read any more is about to end; its end is told.
        Word::Typed(bytes) => drop(input.write_all(&bytes).await),
        Word::Resized(rows, columns) => {
            // Another size first: a program that thinks nothing changed draws nothing for who just came.
            let _ = input.resize(Size::new(rows.max(2) - 1, columns));
            let _ = input.resize(Size::new(rows.max(2), columns.max(2)));
        }
        Word::Gone(number) => {
            if seat.as_ref().is_some_and(|(seated, _)| *seated == number) {
                *seat = None;
            }
        }
    }
}

fn sit_down(stream: UnixStream, number: u64, words: &mpsc::Sender<Word>) -> (u64, OwnedWriteHalf) {
    let (reader, writer) = stream.into_split();
    tokio::spawn(listen_to(reader, number, words.clone()));
    (number, writer)
}

async fn listen_to(mut reader: OwnedReadHalf, number: u64, words: mpsc::Sender<Word>) {
    while let Ok(word) = frame(&mut reader).await {
        if words.send(word).await.is_err() {
            return;
        }
    }
    let _ = words.send(Word::Gone(number)).await;
}

async fn frame(reader: &mut OwnedReadHalf) -> io::Result<Word> {
    let letter = reader.read_u8().await?;
    let length = usize::from(reader.read_u16().await?);
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes).await?;
    match (letter, bytes.as_slice()) {
        (TYPED, _) => Ok(Word::Typed(bytes)),
        (SIZE, [r1, r2, c1, c2]) => Ok(Word::Resized(u16::from_be_bytes([*r1, *r2]), u16::from_be_bytes([*c1, *c2]))),
        (_, _) => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_kept_for_itself_stays_beside_what_is_set() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/settings.json").display().to_string();
        make_room(&path).unwrap();
        std::fs::write(&path, r#"{"id": 7, "projects": {"/other": {"x": 1}}}"#).unwrap();
        let set = serde_json::json!({"seen": true, "projects": {"/w": {"trusted": true}}});
        let sitting = Sitting {
            argv: Vec::new(),
            env: std::collections::BTreeMap::new(),
            files: Vec::new(),
            patches: vec![(path.clone(), set)],
            known: Known::Nothing,
        };
        lay_out(&sitting).unwrap();
        let now: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let wanted = r#"{"id": 7, "seen": true, "projects": {"/other": {"x": 1}, "/w": {"trusted": true}}}"#;
        assert_eq!(now, serde_json::from_str::<Value>(wanted).unwrap());
    }
}
