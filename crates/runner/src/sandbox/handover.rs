//! Descriptors across `exec`: handing chosen ones down at fixed numbers, closing all others,
//! and picking them up on the other side. Unsafe code of the runner is here and in `broker_streams`.

use std::{
    io,
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
        unix::process::CommandExt,
    },
    process::Command,
};

/// The first number that descriptors are handed down at.
const FIRST: RawFd = 3;

/// Above every number used for handing down, so that moving one never overwrites another.
const ASIDE: RawFd = 64;

/// Starts `command` in a session of its own with `descriptors` at 3, 4, … and nothing else open.
pub(crate) fn hand_down(command: &mut Command, descriptors: Vec<OwnedFd>) -> io::Result<()> {
    let aside = descriptors
        .iter()
        .map(|descriptor| rustix::io::fcntl_dupfd_cloexec(descriptor, ASIDE))
        .collect::<Result<Vec<OwnedFd>, _>>()?;
    let child_side = move || {
        rustix::process::setsid()?;
        close_from(FIRST)?;
        for (number, descriptor) in (FIRST..).zip(&aside) {
            duplicate_to(descriptor.as_raw_fd(), number)?;
        }
        Ok(())
    };
    #[expect(unsafe_code, reason = "descriptors are placed between fork and exec")]
    // SAFETY: the closure makes only the system calls setsid, close_range and dup2, which are
    // async-signal-safe; it allocates nothing, takes no lock, and the vector it reads was made
    // before the fork.
    unsafe {
        command.pre_exec(child_side);
    }
    Ok(())
}

/// Starts `command` with nothing open but its standard streams.
pub(crate) fn close_on_exec(command: &mut Command) {
    #[expect(unsafe_code, reason = "descriptors are closed between fork and exec")]
    // SAFETY: the closure makes one async-signal-safe system call and touches no memory.
    unsafe {
        command.pre_exec(|| close_from(FIRST));
    }
}

/// Starts `command` in the control groups whose `cgroup.procs` these are. It is not started when it cannot be moved.
pub(super) fn join_groups(command: &mut Command, files: Vec<OwnedFd>) {
    // A process that writes 0 moves itself.
    let child_side = move || {
        for file in &files {
            rustix::io::write(file, b"0")?;
        }
        Ok(())
    };
    #[expect(unsafe_code, reason = "the process is moved between fork and exec")]
    // SAFETY: the closure makes only the system call write, which is async-signal-safe; it allocates
    // nothing, and the vector it reads was made before the fork.
    unsafe {
        command.pre_exec(child_side);
    }
}

/// Takes descriptor `number`, which the parent handed down. `None` when it is not open.
/// Must be called once per number, before anything else is opened.
pub(crate) fn take_inherited(number: RawFd) -> Option<OwnedFd> {
    #[expect(unsafe_code, reason = "a number that was agreed with the parent")]
    // SAFETY: F_GETFD only asks whether the number is open.
    let open = unsafe { libc::fcntl(number, libc::F_GETFD) } != -1;
    if !open {
        return None;
    }
    #[expect(unsafe_code, reason = "a number that was agreed with the parent")]
    // SAFETY: the number is open, and by the contract of this function nobody else owns it.
    let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
    rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::CLOEXEC).ok()?;
    Some(descriptor)
}

/// Marks all descriptors from `first` on; they close at `exec`, not before, because the standard
/// library reports a failed `exec` through one of them.
fn close_from(first: RawFd) -> io::Result<()> {
    #[expect(unsafe_code, reason = "close_range has no safe wrapper")]
    // SAFETY: sets a flag on descriptors; no memory is touched.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn duplicate_to(from: RawFd, to: RawFd) -> io::Result<()> {
    #[expect(unsafe_code, reason = "the target number is owned by nobody yet")]
    // SAFETY: runs in the child before exec, where no Rust value owns the number `to`.
    let done = unsafe { libc::dup2(from, to) };
    if done == to { Ok(()) } else { Err(io::Error::last_os_error()) }
}
