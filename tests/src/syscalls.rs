//! System calls that fail: a program is started under a seccomp filter that asks this process before every call that
//! opens, writes, syncs, renames or removes a file. Calls on files below one folder are counted, and one of them fails.
//! Needs root, to look into the processes it supervises. The only unsafe code of the tests.
#![expect(unsafe_code, reason = "seccomp notifications have no safe interface")]

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The disk is broken.
    Io,
    /// The disk is full.
    NoSpace,
    /// Half of what should be written is.
    Short,
}

impl Failure {
    /// The name on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Io => "io",
            Self::NoSpace => "no-space",
            Self::Short => "short",
        }
    }

    /// The failure of this name.
    pub fn parse(name: &str) -> Result<Self> {
        let all = [Self::Io, Self::NoSpace, Self::Short];
        all.into_iter()
            .find(|failure| failure.as_str() == name)
            .with_context(|| format!("no failure is called `{name}`"))
    }
}

/// Which calls are counted, and which of them fails.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The folder whose files count.
    pub below: PathBuf,
    /// Gets a line per counted call: its name and its file.
    pub log: PathBuf,
    /// The number of the call that fails, from 1, and how.
    pub fails: Option<(u64, Failure)>,
}

/// Where the file of a call is named in its arguments.
#[derive(Clone, Copy)]
enum Named {
    Descriptor,
    Path,
    PathBelow,
}

const CALLS: &[(libc::c_long, &str, Named)] = &[
    (libc::SYS_openat, "open", Named::PathBelow),
    (libc::SYS_openat2, "open", Named::PathBelow),
    (libc::SYS_write, "write", Named::Descriptor),
    (libc::SYS_pwrite64, "write", Named::Descriptor),
    (libc::SYS_writev, "write", Named::Descriptor),
    (libc::SYS_ftruncate, "truncate", Named::Descriptor),
    (libc::SYS_fsync, "fsync", Named::Descriptor),
    (libc::SYS_fdatasync, "fsync", Named::Descriptor),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_rename, "rename", Named::Path),
    (libc::SYS_renameat, "rename", Named::PathBelow),
    (libc::SYS_renameat2, "rename", Named::PathBelow),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_unlink, "unlink", Named::Path),
    (libc::SYS_unlinkat, "unlink", Named::PathBelow),
];

/// Becomes the program, supervised by a process of its own; returns only if that fails. `supervisor` is a command that
/// calls [`supervise`] with its standard input.
pub fn become_supervised(mut supervisor: Command, program: &OsStr, arguments: &[std::ffi::OsString]) -> Result<()> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    supervisor.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).spawn()?;
    let listener = install()?;
    // From here on a `write` would wait for the supervisor, which has no listener yet.
    let word = format!("{} {}\n", std::process::id(), listener.as_raw_fd());
    rustix::net::send(&ours, word.as_bytes(), rustix::net::SendFlags::empty())?;
    let mut answer = [0; 1];
    let (read, _) = rustix::net::recv(&ours, &mut answer, rustix::net::RecvFlags::empty())?;
    ensure!(read == 1, "the supervisor went away");
    Err(Command::new(program).args(arguments).exec().into())
}

fn install() -> io::Result<OwnedFd> {
    let statement = |code: u32, k: u32| libc::sock_filter { code: narrow(code), jt: 0, jf: 0, k };
    let jump = |k: u32, jt: usize, jf: usize| libc::sock_filter {
        code: narrow(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K),
        jt: u8::try_from(jt).unwrap_or(u8::MAX),
        jf: u8::try_from(jf).unwrap_or(u8::MAX),
        k,
    };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let give = libc::BPF_RET | libc::BPF_K;
    let count = CALLS.len();
    // The architecture, then the number of the call.
    let mut program = vec![statement(load, 4), jump(ARCHITECTURE, 0, count + 1), statement(load, 0)];
    let numbers = CALLS.iter().enumerate();
    program.extend(numbers.map(|(at, (number, ..))| jump(u32::try_from(*number).unwrap_or(u32::MAX), count - at, 0)));
    program.extend([statement(give, libc::SECCOMP_RET_ALLOW), statement(give, libc::SECCOMP_RET_USER_NOTIF)]);
    let filter =
        libc::sock_fprog { len: u16::try_from(program.len()).unwrap_or(u16::MAX), filter: program.as_mut_ptr() };
    // SAFETY: the filter and its program live until the call returns; the kernel copies them.
    let number = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, std::ptr::from_ref(&filter))
    };
    let number = RawFd::try_from(number).unwrap_or(-1);
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

fn narrow(code: u32) -> u16 {
    u16::try_from(code).unwrap_or(u16::MAX)
}

/// Takes the listener of the process that started this one, and answers until no supervised process is left.
pub fn supervise(plan: &Plan) -> Result<()> {
    let socket = std::os::unix::net::UnixStream::from(rustix::io::dup(rustix::stdio::stdin())?);
    let word = first_line(&socket)?;
    let (process, listener) = word.split_once(' ').context("the supervised process says who it is")?;
    let process = pidfd(process.parse()?)?;
    let listener = pidfd_getfd(&process, listener.parse()?, PidfdGetfdFlags::empty())?;
    (&socket).write_all(b"k")?;
    drop(socket);
    let mut log = fs::File::create(&plan.log)?;
    let mut counted = 0;
    while let Some(call) = receive(&listener)? {
        let counts = counts(plan, &call);
        let mut failure = None;
        if let Some((name, path)) = counts {
            counted += 1;
            writeln!(log, "{name} {}", path.display())?;
            failure = plan.fails.filter(|(number, _)| *number == counted).map(|(_, failure)| failure);
        }
        respond(&listener, &call, failure)?;
    }
    Ok(())
}

fn first_line(mut socket: &std::os::unix::net::UnixStream) -> Result<String> {
    let mut text = Vec::new();
    let mut byte = [0];
    loop {
        ensure!(socket.read(&mut byte)? == 1, "the supervised process went away");
        if byte[0] == b'\n' {
            return Ok(String::from_utf8(text)?);
        }
        text.push(byte[0]);
    }
}

fn pidfd(process: u32) -> Result<OwnedFd> {
    let process = Pid::from_raw(process.cast_signed()).context("a process has a number")?;
    Ok(pidfd_open(process, PidfdFlags::empty())?)
}

/// The next call; `None` when no process is left.
fn receive(listener: &OwnedFd) -> Result<Option<libc::seccomp_notif>> {
    loop {
        let mut polled = [rustix::event::PollFd::new(listener, rustix::event::PollFlags::IN)];
        rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, None))?;
        if polled[0].revents().contains(rustix::event::PollFlags::HUP) {
            return Ok(None);
        }
        // SAFETY: the kernel wants the structure zeroed, and fills it.
        let (answer, call) = unsafe {
            let mut call: libc::seccomp_notif = std::mem::zeroed();
            let answer = libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut call);
            (answer, call)
        };
        if answer == 0 {
            return Ok(Some(call));
        }
        match io::Error::last_os_error() {
            // The caller was killed before we looked.
            error if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => {}
            error => bail!("the next call cannot be received: {error}"),
        }
    }
}

fn respond(listener: &OwnedFd, call: &libc::seccomp_notif, failure: Option<Failure>) -> Result<()> {
    let mut response = libc::seccomp_notif_resp { id: call.id, val: 0, error: 0, flags: 0 };
    match failure {
        None => response.flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE)?,
        Some(Failure::Io) => response.error = -libc::EIO,
        Some(Failure::NoSpace) => response.error = -libc::ENOSPC,
        Some(Failure::Short) => match write_half(call) {
            Ok(written) => response.val = i64::try_from(written)?,
            Err(_) => response.error = -libc::EIO,
        },
    }
    // SAFETY: the response lives until the call returns.
    let answer = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut response) };
    if answer != 0 {
        let error = io::Error::last_os_error();
        // A caller that was killed meanwhile needs no answer.
        ensure!(error.raw_os_error() == Some(libc::ENOENT), "a call cannot be answered: {error}");
    }
    Ok(())
}

/// Writes the first half of what a `write` or `pwrite64` wants written.
fn write_half(call: &libc::seccomp_notif) -> Result<usize> {
    let [descriptor, address, length, offset, ..] = call.data.args;
    let half = usize::try_from(length)? / 2;
    ensure!(half > 0, "there is no half of it");
    let status = fs::read_to_string(format!("/proc/{}/status", call.pid))?;
    let leader = status.lines().find_map(|line| line.strip_prefix("Tgid:")).context("a thread has a process")?;
    let file = pidfd_getfd(pidfd(leader.trim().parse()?)?, i32::try_from(descriptor)?, PidfdGetfdFlags::empty())?;
    let mut bytes = vec![0; half];
    memory(call.pid)?.read_exact_at(&mut bytes, address)?;
    let mut file = fs::File::from(file);
    match libc::c_long::from(call.data.nr) {
        libc::SYS_write => file.write_all(&bytes)?,
        libc::SYS_pwrite64 => file.write_all_at(&bytes, offset)?,
        other => bail!("call {other} is not written in halves"),
    }
    Ok(half)
}

fn memory(thread: u32) -> io::Result<fs::File> {
    fs::File::open(format!("/proc/{thread}/mem"))
}

/// The name and file of a call that counts: one of a process outside the sandbox, on a file below the folder.
fn counts(plan: &Plan, call: &libc::seccomp_notif) -> Option<(&'static str, PathBuf)> {
    let number = libc::c_long::from(call.data.nr);
    let (_, name, named) = CALLS.iter().find(|(known, ..)| *known == number)?;
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    if namespace(&call.pid.to_string())? != namespace("self")? {
        return None;
    }
    let descriptor = |number: u64| fs::read_link(format!("/proc/{}/fd/{}", call.pid, number & 0xffff_ffff)).ok();
    let path = match named {
        Named::Descriptor => descriptor(call.data.args[0])?,
        Named::Path => within(call.pid, &text(call.pid, call.data.args[0])?, None)?,
        Named::PathBelow => {
            let folder = call.data.args[0] & 0xffff_ffff;
            let folder = if folder == u64::from(libc::AT_FDCWD.cast_unsigned()) { None } else { descriptor(folder) };
            within(call.pid, &text(call.pid, call.data.args[1])?, folder)?
        }
    };
    // The scripted model's own account is no part of the product.
    let ours = path.starts_with(&plan.below) && !path.starts_with(plan.below.join("scripted"));
    ours.then_some((name, path))
}

fn within(thread: u32, path: &Path, folder: Option<PathBuf>) -> Option<PathBuf> {
    if path.is_absolute() {
        return Some(path.to_owned());
    }
    Some(folder.or_else(|| fs::read_link(format!("/proc/{thread}/cwd")).ok())?.join(path))
}

/// A path in the memory of a thread.
fn text(thread: u32, address: u64) -> Option<PathBuf> {
    let mut file = memory(thread).ok()?;
    file.seek(SeekFrom::Start(address)).ok()?;
    let mut bytes = Vec::new();
    let mut part = [0; 256];
    while bytes.len() < 4096 {
        let read = file.read(&mut part).ok().filter(|read| *read > 0)?;
        match part[..read].iter().position(|byte| *byte == 0) {
            Some(end) => {
                bytes.extend_from_slice(&part[..end]);
                return Some(PathBuf::from(OsStr::from_bytes(&bytes)));
            }
            None => bytes.extend_from_slice(&part[..read]),
        }
    }
    None
}
