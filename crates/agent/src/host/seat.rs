//! The person's end of a conversation on their terminal: what they type goes in, what the program shows comes out.
//! One thread that waits for both, so that nothing of what they type later is swallowed.

use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use drivers::driver::{SIZE, TYPED};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags, fstat};
use rustix::termios::{OptionalActions, Termios, Winsize, tcgetattr, tcgetwinsize, tcsetattr};

/// `Ctrl-]`: leaves the conversation without ending it.
const LEAVE: u8 = 0x1d;
/// How often the size of the window is looked at.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };

/// Why a person rose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rose {
    /// The conversation is over.
    Over,
    /// They left it; it goes on without them.
    Left,
}

/// Puts a person's terminal in front of the conversation at a socket, until it is over or they leave it.
pub fn take_seat(socket: &Path) -> io::Result<Rose> {
    let stream = connect(socket)?;
    let _raw = Raw::enter()?;
    attend(stream, &mut io::stdin().lock(), &mut io::stdout().lock())
}

/// A path of any length, through a descriptor of the socket itself. The folder is the agent's: a link there could lead to
/// any socket of the person who types.
fn connect(socket: &Path) -> io::Result<UnixStream> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(socket, flags, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&opened)?.st_mode) != FileType::Socket {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not the socket of a conversation"));
    }
    UnixStream::connect(Path::new("/proc/self/fd").join(opened.as_raw_fd().to_string()))
}

fn attend(mut stream: UnixStream, input: &mut (impl Read + AsFd), output: &mut impl Write) -> io::Result<Rose> {
    let mut size = (0, 0);
    let mut typing = true;
    let mut piece = vec![0; 16 << 10];
    loop {
        let now = window();
        if now != size {
            size = now;
            let [r1, r2] = now.0.to_be_bytes();
            let [c1, c2] = now.1.to_be_bytes();
            if send(&mut stream, SIZE, &[r1, r2, c1, c2]).is_err() {
                return Ok(Rose::Over);
            }
        }
        let (shown, typed) = {
            let mut waits = vec![PollFd::new(&stream, PollFlags::IN)];
            if typing {
                waits.push(PollFd::new(input, PollFlags::IN));
            }
            match poll(&mut waits, Some(&LOOK)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let ready = |index: usize| waits.get(index).is_some_and(|wait| !wait.revents().is_empty());
            (ready(0), ready(1))
        };
        if shown {
            match stream.read(&mut piece) {
                Ok(0) | Err(_) => return Ok(Rose::Over),
                Ok(count) => {
                    output.write_all(&piece[..count])?;
                    output.flush()?;
                }
            }
        }
        if typed {
            match input.read(&mut piece)? {
                0 => typing = false,
                count if piece[..count].contains(&LEAVE) => return Ok(Rose::Left),
                count => {
                    if send(&mut stream, TYPED, &piece[..count]).is_err() {
                        return Ok(Rose::Over);
                    }
                }
            }
        }
    }
}

fn send(stream: &mut UnixStream, letter: u8, bytes: &[u8]) -> io::Result<()> {
    let length = u16::try_from(bytes.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut frame = vec![letter];
    frame.extend(length.to_be_bytes());
    frame.extend(bytes);
    stream.write_all(&frame)
}

/// Rows and columns; a guess where there is no window.
fn window() -> (u16, u16) {
    match tcgetwinsize(io::stdout()) {
        Ok(Winsize { ws_row: rows @ 1.., ws_col: columns @ 1.., .. }) => (rows, columns),
        Ok(_) | Err(_) => (24, 80),
    }
}

/// A terminal that passes on every key as it is; as it was again when this is dropped.
struct Raw(Option<Termios>);

impl Raw {
    fn enter() -> io::Result<Self> {
        if !io::stdin().is_terminal() {
            return Ok(Self(None));
        }
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        Ok(Self(Some(before)))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
            // What a full-screen program may have left behind: its other screen, a hidden cursor, mouse reports.
            let mut out = io::stdout();
            let _ = out.write_all(
                b"\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[0m\r\n\x1b[J",
            );
            let _ = out.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_told_the_end_and_can_leave_before_it() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (keys, mut fingers) = UnixStream::pair().unwrap();
        let mut keys = keys;
        let seat = std::thread::spawn(move || {
            let mut shown = Vec::new();
            (attend(ours, &mut keys, &mut shown).unwrap(), shown)
        });
        let mut size = [0; 7];
        theirs.read_exact(&mut size).unwrap();
        assert_eq!((size[0], &size[1..3]), (SIZE, [0, 4].as_slice()));
        fingers.write_all(b"ls\r").unwrap();
        let mut typed = [0; 6];
        theirs.read_exact(&mut typed).unwrap();
        assert_eq!(&typed, b"d\0\x03ls\r");
        theirs.write_all(b"files").unwrap();
        drop(theirs);
        assert_eq!(seat.join().unwrap(), (Rose::Over, b"files".to_vec()));

        let (ours, _theirs) = UnixStream::pair().unwrap();
        let (mut keys, mut fingers) = UnixStream::pair().unwrap();
        fingers.write_all(&[LEAVE]).unwrap();
        assert_eq!(attend(ours, &mut keys, &mut Vec::new()).unwrap(), Rose::Left);
    }

    #[test]
    fn a_link_that_an_agent_planted_does_not_lead_to_another_socket() {
        let folder = tempfile::tempdir().unwrap();
        let (mine, planted) = (folder.path().join("tmux.sock"), folder.path().join("terminal.sock"));
        let _listener = std::os::unix::net::UnixListener::bind(&mine).unwrap();
        std::os::unix::fs::symlink(&mine, &planted).unwrap();
        assert!(connect(&planted).is_err(), "what a person types would go to tmux");
        connect(&mine).unwrap();
    }
}
