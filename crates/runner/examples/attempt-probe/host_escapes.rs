//! Attempts on other programs of the user by calls that name them in another way, on what lies beside the content of files,
//! and by rarer calls.

use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::io;

use crate::escapes::{Came, call, came, target};

const IOPRIO_WHO_PROCESS: i64 = 1;
const IOPRIO_WHO_USER: i64 = 3;
/// Best effort, in the middle: what every program has that asks for nothing.
const USUAL_IO_PRIORITY: i64 = 2 << 13 | 4;

pub(crate) fn attempt(name: &str) -> Option<Came> {
    let pid: i64 = target("PID").parse().expect("a number");
    Some(match name {
        "renice-user" => all_of_the_user(libc::SYS_setpriority, &[libc::PRIO_USER.into(), 0, 0], pid),
        "renice-group" => all_of_the_user(libc::SYS_setpriority, &[libc::PRIO_PGRP.into(), 0, 0], pid),
        "io-priority-of-user" => all_of_the_user(libc::SYS_ioprio_set, &[IOPRIO_WHO_USER, 0, USUAL_IO_PRIORITY], pid),
        "io-priority-of-host" => came(call(libc::SYS_ioprio_set, &[IOPRIO_WHO_PROCESS, pid, USUAL_IO_PRIORITY])),
        "scheduler-of-host" => scheduler(pid),
        "settings-of-host" => settings(pid),
        "folders-of-host" => folders(pid),
        "namespaces-of-host" => came(fs::File::open(format!("/proc/{pid}/ns/net"))),
        "advise-host" => came(
            call(libc::SYS_pidfd_open, &[pid, 0]).and_then(|fd| call(libc::SYS_process_madvise, &[fd, 0, 0, 0, 0])),
        ),
        "pages-of-host" => came(call(libc::SYS_move_pages, &[pid, 0, 0, 0, 0, 0])),
        "signal-by-owner" => signal_by_owner(pid),
        "signal-queued" => came(call(libc::SYS_tgkill, &[pid, pid, 0])),
        "watch-outside" => watch(),
        "times-of-outside" => times(),
        "attributes-of-outside" => attributes(),
        "group-of-outside" => {
            let victim = victim();
            came(call(libc::SYS_chown, &[victim.as_ptr() as i64, -1, -1]))
        }
        "queues-of-host" => queues(),
        "semaphores" => semaphores(),
        "kexec-file" => denied_calls(&[libc::SYS_kexec_file_load, libc::SYS_swapon, libc::SYS_acct]),
        "keys" => denied_calls(&[libc::SYS_add_key, libc::SYS_request_key]),
        "write-memory-of-host" => denied_calls(&[libc::SYS_process_vm_writev, libc::SYS_kcmp]),
        "fanotify" => denied_calls(&[libc::SYS_fanotify_init]),
        "newer-calls" => newer(),
        "time-namespace" => denied_call(libc::SYS_unshare, &[0x80]),
        "pairs-of-other-families" => pairs(),
        "second-filter" => second_filter(),
        _ => return None,
    })
}

/// A call that concerns every process of the user that the caller can see. Not made where nothing holds it.
fn all_of_the_user(number: i64, arguments: &[i64], neighbour: i64) -> Came {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    if status.lines().any(|line| line == "Seccomp:\t0") {
        return Came::Reached("not made: it would reach every program of the user".to_owned());
    }
    match call(number, arguments) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => Came::Denied(error.to_string()),
        _ if !fs::exists(format!("/proc/{neighbour}")).unwrap_or(true) => {
            Came::Contained("no other program can be seen".to_owned())
        }
        other => Came::Reached(format!("{other:?}")),
    }
}

/// To the class that every program begins in, so that nothing is different afterwards.
fn scheduler(pid: i64) -> Came {
    let parameter = libc::sched_param { sched_priority: 0 };
    let ordinary = i64::from(libc::SCHED_OTHER);
    let by_class = call(libc::SYS_sched_setscheduler, &[pid, ordinary, (&raw const parameter) as i64]);
    let by_parameter = || call(libc::SYS_sched_setparam, &[pid, (&raw const parameter) as i64]);
    // Size, policy, flags, nice, priority, and three times.
    let attributes: [u32; 12] = [48, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let by_attributes = || call(libc::SYS_sched_setattr, &[pid, attributes.as_ptr() as i64, 0]);
    came(by_class.or_else(|_| by_parameter()).or_else(|_| by_attributes()))
}

fn settings(pid: i64) -> Came {
    let files = ["oom_score_adj", "coredump_filter", "autogroup", "timerslack_ns", "comm", "clear_refs", "uid_map"];
    let opened = files.iter().map(|file| OpenOptions::new().write(true).open(format!("/proc/{pid}/{file}")));
    came(opened.reduce(Result::or).expect("a list with members"))
}

fn folders(pid: i64) -> Came {
    let links = ["cwd", "root", "exe"].map(|link| fs::read_link(format!("/proc/{pid}/{link}")));
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).and_then(|text| match text.is_empty() {
        true => Err(io::Error::other("an empty map")),
        false => Ok("its map of memory".into()),
    });
    came(links.into_iter().fold(maps, Result::or))
}

/// A signal that the kernel sends in the caller's name once a descriptor has something to read.
fn signal_by_owner(pid: i64) -> Came {
    let mut ends = [0_i32; 2];
    let made = call(libc::SYS_pipe2, &[ends.as_mut_ptr() as i64, libc::O_NONBLOCK.into()]);
    let read = i64::from(ends[0]);
    let owned = made.and_then(|_| call(libc::SYS_fcntl, &[read, libc::F_SETOWN.into(), pid]));
    if let Err(error) = owned {
        return Came::Denied(error.to_string());
    }
    // SIGTERM in place of SIGIO; who is ended by it is seen from outside.
    let _ = call(libc::SYS_fcntl, &[read, 10, libc::SIGTERM.into()]);
    let _ = call(libc::SYS_fcntl, &[read, libc::F_SETFL.into(), i64::from(libc::O_ASYNC | libc::O_NONBLOCK)]);
    let _ = call(libc::SYS_write, &[ends[1].into(), b"x".as_ptr() as i64, 1]);
    Came::Contained("asked for; the program of the host must be there afterwards".to_owned())
}

fn path_of(text: String) -> CString {
    CString::new(text).expect("no zero in it")
}

fn victim() -> CString {
    path_of(format!("{}/victim", target("OUTSIDE")))
}

/// Names that are made in a folder of the user.
fn watch() -> Came {
    let folder = path_of(target("OUTSIDE"));
    let watched = call(libc::SYS_inotify_init1, &[0])
        .and_then(|fd| call(libc::SYS_inotify_add_watch, &[fd, folder.as_ptr() as i64, libc::IN_CREATE.into()]));
    came(watched)
}

fn times() -> Came {
    let victim = victim();
    let at: i64 = libc::AT_FDCWD.into();
    came(call(libc::SYS_utimensat, &[at, victim.as_ptr() as i64, 0, 0]))
}

fn attributes() -> Came {
    let (victim, name) = (victim(), c"user.escaped");
    let arguments = [victim.as_ptr() as i64, name.as_ptr() as i64, b"x".as_ptr() as i64, 1, 0];
    match call(libc::SYS_setxattr, &arguments) {
        // A file system without them.
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Came::Reached(error.to_string()),
        other => came(other),
    }
}

fn queues() -> Came {
    let made = call(libc::SYS_mq_open, &[c"holdpoint-escape".as_ptr() as i64, i64::from(libc::O_CREAT), 0o600, 0]);
    // It ends with the namespace that it is in.
    let removed = made.and_then(|_| call(libc::SYS_mq_unlink, &[c"holdpoint-escape".as_ptr() as i64]));
    own(removed.or_else(|_| call(libc::SYS_msgget, &[libc::IPC_PRIVATE.into(), 0o600])))
}

fn semaphores() -> Came {
    own(call(libc::SYS_semget, &[libc::IPC_PRIVATE.into(), 1, 0o600])
        .and_then(|id| call(libc::SYS_semctl, &[id, 0, libc::IPC_RMID.into()])))
}

/// Made in a namespace of its own, where the segment of the host is not seen.
fn own(made: io::Result<i64>) -> Came {
    let segments = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    let seen = segments.lines().any(|line| line.split_whitespace().nth(1) == Some(target("SHM_ID").as_str()));
    match made {
        Ok(_) if !seen => Came::Contained("a namespace of its own".to_owned()),
        other => came(other),
    }
}

fn denied_call(number: i64, arguments: &[i64]) -> Came {
    match call(number, arguments) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) => {
            Came::Denied(error.to_string())
        }
        other => Came::Reached(format!("{other:?}")),
    }
}

/// Every argument is one that no kernel accepts.
fn denied_calls(numbers: &[i64]) -> Came {
    let mut last = Came::Denied(String::new());
    for number in numbers {
        match denied_call(*number, &[-1, -1, -1, -1, -1]) {
            reached @ Came::Reached(_) => return reached,
            other => last = other,
        }
    }
    last
}

/// Calls that came to kernels after the list was begun; they have the same numbers on every processor.
fn newer() -> Came {
    const QUOTACTL_FD: i64 = 443;
    const OPEN_TREE_ATTR: i64 = 467;
    denied_calls(&[QUOTACTL_FD, OPEN_TREE_ATTR])
}

/// Families whose modules the kernel would load for it.
fn pairs() -> Came {
    let mut ends = [0_i32; 2];
    for family in [libc::AF_TIPC, libc::AF_VSOCK, libc::AF_RDS, libc::AF_KEY] {
        let arguments = [family.into(), libc::SOCK_SEQPACKET.into(), 0, ends.as_mut_ptr() as i64];
        match call(libc::SYS_socketpair, &arguments) {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {}
            other => return Came::Reached(format!("family {family}: {other:?}")),
        }
    }
    Came::Denied("none of them".to_owned())
}

/// A filter that allows everything, laid over those that are there.
fn second_filter() -> Came {
    let step = libc::sock_filter { code: 6, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW };
    let program = libc::sock_fprog { len: 1, filter: (&raw const step).cast_mut() };
    let _ = call(libc::SYS_seccomp, &[1, 0, (&raw const program) as i64]);
    denied_call(libc::SYS_ptrace, &[-1, 0, 0, 0])
}
