//! Supervisor of the socket filter of the tier `Restricted`: answers every `socket` call that the filter lets through
//! with a stream that is connected to the broker. It looks at nothing the caller can change in the meantime: family and
//! type are in registers, and the only thing ever connected to is the broker.
//!
//! The thread is started before the walls of the init step and stays outside of them; the descriptor of the filter comes
//! when they stand. When it ends, sockets are refused (`ENOSYS`), never let through.

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
};

use seccompiler::{BpfProgram, sock_filter};

use super::{capabilities, socket_filter};
use crate::shim::sockets;

/// The way to the supervisor thread.
pub(super) struct Supervisor(mpsc::Sender<OwnedFd>);

impl Supervisor {
    /// Starts the thread, which must be before any wall stands.
    pub(super) fn start(door: PathBuf) -> io::Result<Self> {
        let (give, take) = mpsc::channel();
        let work = move || {
            // It needs none of them to connect to a socket of its own user.
            if capabilities::drop_all().is_ok()
                && let Ok(listener) = take.recv()
            {
                answer(&listener, &door);
            }
        };
        thread::Builder::new().name("broker-streams".into()).spawn(work)?;
        Ok(Self(give))
    }

    /// Installs the filter on this thread and all it starts. There is no way back.
    pub(super) fn filter(self) -> io::Result<()> {
        let listener = install(&socket_filter::program())?;
        self.0.send(listener).map_err(|_| io::Error::other("the supervisor of sockets has ended"))
    }
}

fn answer(listener: &OwnedFd, door: &Path) {
    loop {
        let asked = match receive(listener) {
            Ok(asked) => asked,
            // Who asked was killed, or a signal came.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => continue,
            Err(_) => return,
        };
        let kind = asked.data.args[1];
        let has = |flag: i32| kind & u64::from(flag.cast_unsigned()) != 0;
        let connected =
            sockets::connect(door).and_then(|stream| stream.set_nonblocking(has(libc::SOCK_NONBLOCK)).map(|()| stream));
        // A caller that was killed meanwhile needs no answer.
        let _ = match connected {
            Ok(stream) => hand_over(listener, asked.id, &stream, has(libc::SOCK_CLOEXEC)),
            Err(_) => refuse(listener, asked.id, libc::ECONNREFUSED),
        };
    }
}

#[repr(C)]
struct Program {
    length: libc::c_ushort,
    steps: *const sock_filter,
}

fn install(program: &BpfProgram) -> io::Result<OwnedFd> {
    let length = libc::c_ushort::try_from(program.len()).map_err(io::Error::other)?;
    let program = Program { length, steps: program.as_ptr() };
    #[expect(unsafe_code, reason = "seccomp with a listener has no safe wrapper")]
    // SAFETY: the kernel copies the program, which lives until the call returns. On success the
    // result is a new descriptor that nobody else owns.
    unsafe {
        let result = libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const program,
        );
        match i32::try_from(result) {
            Ok(descriptor) if descriptor >= 0 => Ok(OwnedFd::from_raw_fd(descriptor)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn receive(listener: &OwnedFd) -> io::Result<libc::seccomp_notif> {
    #[expect(unsafe_code, reason = "seccomp notifications have no safe wrapper")]
    // SAFETY: a notification is plain numbers, for which zero is a value; the kernel wants zeroes
    // and writes no more than the structure it was compiled with.
    let (asked, done) = unsafe {
        let mut asked: libc::seccomp_notif = std::mem::zeroed();
        let done = libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut asked);
        (asked, done)
    };
    if done == 0 { Ok(asked) } else { Err(io::Error::last_os_error()) }
}

/// The call returns the number that the stream has in the caller.
fn hand_over(listener: &OwnedFd, id: u64, stream: &UnixStream, cloexec: bool) -> io::Result<()> {
    #[expect(unsafe_code, reason = "seccomp notifications have no safe wrapper")]
    // SAFETY: plain numbers, for which zero is a value; the kernel reads the structure and
    // duplicates the descriptor, which stays ours.
    let done = unsafe {
        let mut answer: libc::seccomp_notif_addfd = std::mem::zeroed();
        answer.id = id;
        answer.flags = u32::try_from(libc::SECCOMP_ADDFD_FLAG_SEND).unwrap_or_default();
        answer.srcfd = stream.as_raw_fd().cast_unsigned();
        answer.newfd_flags = if cloexec { libc::O_CLOEXEC.cast_unsigned() } else { 0 };
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw mut answer)
    };
    if done >= 0 { Ok(()) } else { refuse(listener, id, libc::EMFILE) }
}

fn refuse(listener: &OwnedFd, id: u64, errno: i32) -> io::Result<()> {
    #[expect(unsafe_code, reason = "seccomp notifications have no safe wrapper")]
    // SAFETY: plain numbers, for which zero is a value; the kernel reads the structure.
    let done = unsafe {
        let mut answer: libc::seccomp_notif_resp = std::mem::zeroed();
        answer.id = id;
        answer.error = -errno;
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
