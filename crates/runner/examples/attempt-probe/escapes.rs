//! Attempts to leave a sandbox, one per name. Each says how far it came: `denied` (the system refused), `contained` (it was
//! let do it, and only to itself) or `reached` (it got at something outside). What it aims at stands in its environment.
#![expect(unsafe_code, reason = "attacks are made with bare system calls")]

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::{host_escapes, socket_escapes};

/// How far an attempt came.
pub(crate) enum Came {
    Denied(String),
    Contained(String),
    Reached(String),
}

pub(crate) fn main(name: &str) -> ExitCode {
    let (word, detail) = match attempt(name) {
        Came::Denied(why) => ("denied", why),
        Came::Contained(how) => ("contained", how),
        Came::Reached(what) => ("reached", what),
    };
    let _ = writeln!(io::stdout(), "{name} {word} {}", detail.replace('\n', " "));
    ExitCode::SUCCESS
}

pub(crate) fn target(name: &str) -> String {
    std::env::var(format!("TARGET_{name}")).unwrap_or_else(|_| panic!("no target {name}"))
}

fn attempt(name: &str) -> Came {
    files(name)
        .or_else(|| processes(name))
        .or_else(|| calls(name))
        .or_else(|| socket_escapes::attempt(name))
        .or_else(|| host_escapes::attempt(name))
        .unwrap_or_else(|| panic!("no attempt is called {name}"))
}

pub(crate) fn came<T: std::fmt::Debug>(result: io::Result<T>) -> Came {
    match result {
        Ok(what) => Came::Reached(format!("{what:?}").chars().take(80).collect()),
        Err(error) => Came::Denied(error.to_string()),
    }
}

fn below(root: &str, name: &str) -> PathBuf {
    Path::new(&target(root)).join(name)
}

fn write_to(path: &Path) -> Came {
    came(fs::write(path, "escaped"))
}

/// Opens for writing and writes nothing.
fn writable(path: &str) -> Came {
    came(OpenOptions::new().write(true).open(path))
}

fn files(name: &str) -> Option<Came> {
    Some(match name {
        "write-outside" => write_to(&below("OUTSIDE", "canary")),
        "write-usr" => write_to(Path::new(&target("USR_CANARY"))),
        "write-data-directory" => match write_to(&below("DATA", "canary")) {
            Came::Reached(_) if !below("DATA", "token").exists() => Came::Contained("a folder of its own".to_owned()),
            other => other,
        },
        "write-toolchain" => came(
            OpenOptions::new()
                .append(true)
                .open(below("HOME", ".cargo/bin/tool"))
                .and_then(|mut file| file.write(b"x")),
        ),
        "truncate-outside" => came(OpenOptions::new().write(true).truncate(true).open(below("OUTSIDE", "victim"))),
        "remove-outside" => came(fs::remove_file(below("OUTSIDE", "victim"))),
        "rename-out" => {
            let _ = fs::write("leaving", "escaped");
            came(fs::rename("leaving", below("OUTSIDE", "renamed")))
        }
        "chmod-outside" => came(fs::set_permissions(below("OUTSIDE", "victim"), PermissionsExt::from_mode(0o606))),
        "read-home" => came(fs::read_to_string(below("HOME", "notes.txt"))),
        "read-ssh-key" => came(fs::read_to_string(below("HOME", ".ssh/id_ed25519"))),
        "read-cargo-token" => came(fs::read_to_string(below("HOME", ".cargo/credentials.toml"))),
        "read-owner-token" => came(fs::read_to_string(below("DATA", "token"))),
        "read-database" => came(fs::read_to_string(below("DATA", "holdpoint.db"))),
        "read-other-checkout" => came(fs::read_to_string(target("CHECKOUT")).map(|text| text.len())),
        "list-srv-mnt-media-var" => {
            list(&["/srv", "/mnt", "/media", "/var/log", "/var/spool", "/var/backups", "/boot"])
        }
        "read-shadow" => came(fs::read_to_string("/etc/shadow").map(|text| text.len())),
        "list-ssh-host-keys" => list(&["/etc/ssh", "/etc/ssl/private"]),
        "read-other-etc" => list(&["/etc/sudoers.d", "/etc/cron.d", "/etc/pam.d", "/etc/apt"]),
        "stat-hidden" => came(fs::metadata(below("DATA", "token")).map(|file| file.size())),
        "hard-link-in" => {
            came(fs::hard_link(below("DATA", "token"), "linked").and_then(|()| fs::read_to_string("linked")))
        }
        "hard-link-out" => {
            let _ = fs::write("leaving", "escaped");
            came(fs::hard_link("leaving", below("OUTSIDE", "linked")))
        }
        "symlink-read" => {
            let _ = symlink(below("DATA", "token"), "link");
            came(fs::read_to_string("link"))
        }
        "symlink-write" => {
            let _ = symlink(target("OUTSIDE"), "folder");
            write_to(Path::new("folder/through"))
        }
        "dot-dot" => came(fs::read_to_string("../token").or_else(|_| fs::read_to_string("../../data/token"))),
        "proc-root" => {
            came(fs::read_to_string(format!("/proc/{}/root{}", target("PID"), below("DATA", "token").display())))
        }
        "proc-sys-write" => writable("/proc/sys/kernel/core_pattern"),
        "sysrq" => writable("/proc/sysrq-trigger"),
        "sys-write" => writable("/sys/kernel/mm/transparent_hugepage/enabled"),
        "cgroup-write" => first_of(&["/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/pids/cgroup.procs"], writable),
        "make-device" => made_device(),
        "open-devices" => open_devices(),
        "open-terminal" => {
            came(OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open(target("PTY")))
        }
        "shared-memory-file" => came(fs::read_to_string(target("SHM_FILE"))),
        "inherited-descriptors" => inherited(),
        _ => return None,
    })
}

fn first_of(paths: &[&str], attack: impl Fn(&str) -> Came) -> Came {
    let mut last = Came::Denied("none is there".to_owned());
    for path in paths {
        match attack(path) {
            reached @ Came::Reached(_) => return reached,
            other => last = other,
        }
    }
    last
}

/// Reached if any of them shows a name.
fn list(folders: &[&str]) -> Came {
    first_of(folders, |folder| match fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            Some(entry) => Came::Reached(format!("{folder}: {:?}", entry.map(|entry| entry.file_name()))),
            None => Came::Denied(format!("{folder} shows nothing")),
        },
        Err(error) => Came::Denied(error.to_string()),
    })
}

fn made_device() -> Came {
    let made = [(libc::S_IFCHR, 1, 1), (libc::S_IFBLK, 8, 0)].into_iter().find(|(kind, major, minor)| {
        let path = CString::new(format!("device-{major}")).expect("no zero in it");
        // SAFETY: the path lives until the call returns.
        unsafe { libc::mknod(path.as_ptr(), kind | 0o600, libc::makedev(*major, *minor)) == 0 }
    });
    match made {
        Some((_, major, _)) => came(File::open(format!("device-{major}")).map(|_| "a device node of its own")),
        None => Came::Denied(io::Error::last_os_error().to_string()),
    }
}

/// Devices beyond those every program has.
fn open_devices() -> Came {
    const USUAL: &[&str] = &["null", "zero", "full", "random", "urandom", "tty", "ptmx", "console"];
    for entry in fs::read_dir("/dev").into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let device = entry.file_type().is_ok_and(|kind| kind.is_block_device() || kind.is_char_device());
        if device && !USUAL.contains(&name.as_str()) {
            let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(entry.path());
            if opened.is_ok() {
                return Came::Reached(name);
            }
        }
    }
    Came::Denied("no other device opens".to_owned())
}

fn inherited() -> Came {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let open: Vec<String> = entries
        .filter_map(|entry| {
            let number: i32 = entry.file_name().to_str()?.parse().ok()?;
            let to = fs::read_link(entry.path()).ok()?;
            // The last one is the listing itself.
            (number > 2 && !to.starts_with("/proc")).then(|| format!("{number}: {}", to.display()))
        })
        .collect();
    if open.is_empty() {
        Came::Denied("nothing but the standard streams".to_owned())
    } else {
        Came::Reached(open.join(", "))
    }
}

fn processes(name: &str) -> Option<Came> {
    let pid: i32 = target("PID").parse().expect("a number");
    Some(match name {
        "environ-of-1" => match fs::read("/proc/1/environ") {
            Ok(environ) if contains_secret(&environ) => Came::Reached("the secret".to_owned()),
            Ok(_) => Came::Contained("process 1 is the sandbox's own, or holds nothing".to_owned()),
            Err(error) => Came::Denied(error.to_string()),
        },
        "environ-of-all" => {
            let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
            let found =
                pids.filter(|entry| fs::read(entry.path().join("environ")).is_ok_and(|text| contains_secret(&text)));
            match found.count() {
                0 => Came::Denied("no environment shows the secret".to_owned()),
                count => Came::Reached(format!("{count} environments")),
            }
        }
        "memory-of-host" => came(File::open(format!("/proc/{pid}/mem"))),
        "descriptors-of-host" => came(fs::read_link(format!("/proc/{pid}/fd/1"))),
        "arguments-of-host" => match fs::read(format!("/proc/{pid}/cmdline")) {
            Ok(line) if String::from_utf8_lossy(&line).contains("7777") => Came::Reached("its arguments".to_owned()),
            Ok(_) => Came::Contained("another process has that number here".to_owned()),
            Err(error) => Came::Denied(error.to_string()),
        },
        "signal-host" => came(call(libc::SYS_kill, &[i64::from(pid), libc::SIGKILL.into()])),
        "signal-group" => {
            came(call(libc::SYS_kill, &[i64::from(target("GROUP").parse::<i32>().expect("a number")), 0]))
        }
        "pidfd-of-host" => came(
            call(libc::SYS_pidfd_open, &[pid.into(), 0])
                .and_then(|fd| call(libc::SYS_pidfd_send_signal, &[fd, libc::SIGKILL.into(), 0, 0])),
        ),
        "renice-host" => came(call(libc::SYS_setpriority, &[0, pid.into(), 5])),
        "limit-host" => limit(pid),
        "affinity-of-host" => came(call(libc::SYS_sched_setaffinity, &[pid.into(), 8, (&raw const CPUS) as i64])),
        "ptrace-host" => came(call(libc::SYS_ptrace, &[libc::PTRACE_ATTACH.into(), pid.into(), 0, 0])),
        "read-memory-of-host" => came(call(libc::SYS_process_vm_readv, &[pid.into(), 0, 0, 0, 0, 0])),
        "steal-descriptor" => {
            came(call(libc::SYS_pidfd_open, &[pid.into(), 0]).and_then(|fd| call(libc::SYS_pidfd_getfd, &[fd, 0, 0])))
        }
        "capabilities" => capabilities(),
        "setuid" => setuid(),
        "type-on-terminal" => type_on_terminal(),
        _ => return None,
    })
}

/// Every processor, so that nothing is different afterwards.
static CPUS: u64 = u64::MAX;

/// The limit of core files of a program of the host, set to what it is.
fn limit(pid: i32) -> Came {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    let resource = i64::from(libc::RLIMIT_CORE);
    let now = call(libc::SYS_prlimit64, &[pid.into(), resource, 0, (&raw mut limit) as i64]);
    came(now.and_then(|_| call(libc::SYS_prlimit64, &[pid.into(), resource, (&raw const limit) as i64, 0])))
}

fn contains_secret(bytes: &[u8]) -> bool {
    let secret = b"HOST_SECRET=";
    bytes.windows(secret.len()).any(|window| window == secret)
}

fn status(field: &str) -> String {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    text.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default().trim().to_owned()
}

fn capabilities() -> Came {
    let held: Vec<String> = ["CapEff:", "CapPrm:", "CapInh:", "CapAmb:"].map(status).to_vec();
    if held.iter().all(|set| set.trim_start_matches('0').is_empty()) {
        Came::Denied("none".to_owned())
    } else {
        Came::Reached(held.join(" "))
    }
}

/// A program of another user that runs as that user.
fn setuid() -> Came {
    if status("NoNewPrivs:") == "1" {
        Came::Denied("no_new_privs".to_owned())
    } else {
        Came::Reached("su would work".to_owned())
    }
}

fn type_on_terminal() -> Came {
    const TIOCSTI: i64 = 0x5412;
    let opened = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open(target("PTY"));
    let letter = b"x";
    // Without a terminal of the host the request itself must be refused, on any descriptor.
    let fd = opened.as_ref().map_or(0, |file| i64::from(std::os::fd::AsRawFd::as_raw_fd(file)));
    match call(libc::SYS_ioctl, &[fd, TIOCSTI, letter.as_ptr() as i64]) {
        Ok(_) => Came::Reached("typed".to_owned()),
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => Came::Denied(error.to_string()),
        Err(error) => Came::Reached(format!("the kernel was asked: {error}")),
    }
}

/// A bare system call.
pub(crate) fn call(number: i64, arguments: &[i64]) -> io::Result<i64> {
    let at = |index: usize| arguments.get(index).copied().unwrap_or_default();
    // SAFETY: addresses among the arguments are zero or of buffers that outlive the call.
    let result = unsafe { libc::syscall(number, at(0), at(1), at(2), at(3), at(4), at(5)) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Refused only if the filter says so; any other error comes from the kernel's own code, which then was reached.
fn filtered(number: i64, arguments: &[i64]) -> Came {
    match call(number, arguments) {
        Ok(_) => Came::Reached("it worked".to_owned()),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) => {
            Came::Denied(error.to_string())
        }
        Err(error) => Came::Reached(format!("the kernel's own code: {error}")),
    }
}

fn calls(name: &str) -> Option<Came> {
    const NEWUSER: i64 = libc::CLONE_NEWUSER as i64;
    const ODD: i64 = 0x7fff_ffff;
    Some(match name {
        "mount" => filtered(libc::SYS_mount, &[0, 0, 0, 0, 0]),
        "umount" => filtered(libc::SYS_umount2, &[0, 0]),
        "new-mount-calls" => {
            first_call(&[libc::SYS_fsopen, libc::SYS_open_tree, libc::SYS_move_mount, libc::SYS_mount_setattr])
        }
        "user-namespace" => filtered(libc::SYS_unshare, &[NEWUSER]),
        "user-namespace-by-clone" => cloned(NEWUSER),
        "clone3" => filtered(libc::SYS_clone3, &[0, 0]),
        "setns" => filtered(libc::SYS_setns, &[-1, 0]),
        "chroot" => filtered(libc::SYS_chroot, &[0]),
        "pivot-root" => filtered(libc::SYS_pivot_root, &[0, 0]),
        "io-uring" => filtered(libc::SYS_io_uring_setup, &[1, 0]),
        "bpf" => filtered(libc::SYS_bpf, &[ODD, 0, 0]),
        "keyctl" => filtered(libc::SYS_keyctl, &[ODD]),
        "perf" => filtered(libc::SYS_perf_event_open, &[0, 0, 0, 0, ODD]),
        "userfaultfd" => filtered(libc::SYS_userfaultfd, &[ODD]),
        "kexec" => filtered(libc::SYS_kexec_load, &[0, 0, 0, ODD]),
        "module" => first_call(&[libc::SYS_init_module, libc::SYS_delete_module]),
        "reboot" => filtered(libc::SYS_reboot, &[0, 0, 0]),
        "open-by-handle" => filtered(libc::SYS_open_by_handle_at, &[-1, 0, 0]),
        "kernel-log" => filtered(libc::SYS_syslog, &[ODD, 0, 0]),
        "set-clock" => filtered(libc::SYS_clock_settime, &[0, 0]),
        "shared-memory-segment" => segment(),
        "x32-numbers" => x32(),
        "32-bit-calls" => socketcall_of_32_bits(),
        _ => return None,
    })
}

fn first_call(numbers: &[i64]) -> Came {
    let mut last = Came::Denied(String::new());
    for number in numbers {
        match filtered(*number, &[0, 0, 0, 0, 0]) {
            reached @ Came::Reached(_) => return reached,
            other => last = other,
        }
    }
    last
}

fn cloned(flags: i64) -> Came {
    match call(libc::SYS_clone, &[flags | i64::from(libc::SIGCHLD), 0, 0, 0, 0]) {
        // The child has nothing to do.
        Ok(0) => std::process::exit(0),
        Ok(_) => Came::Reached("a namespace of its own".to_owned()),
        Err(error) => Came::Denied(error.to_string()),
    }
}

/// A segment of System V memory that a program of the host made.
fn segment() -> Came {
    let id: i64 = target("SHM_ID").parse().expect("a number");
    match call(libc::SYS_shmat, &[id, 0, libc::SHM_RDONLY.into()]) {
        Ok(_) => Came::Reached("attached".to_owned()),
        Err(error) => Came::Denied(error.to_string()),
    }
}

/// Every call has a second number on x86-64.
fn x32() -> Came {
    const BIT: i64 = 0x4000_0000;
    filtered(BIT + libc::SYS_getpid, &[])
}

/// `socketcall` of the 32-bit calls; a process that makes one is killed, which its caller sees.
#[cfg(target_arch = "x86_64")]
fn socketcall_of_32_bits() -> Came {
    const SOCKETCALL: i64 = 102;
    let result: i64;
    // SAFETY: the call gets an address of zero, which it refuses to read.
    unsafe {
        std::arch::asm!(
            "xchg {first}, rbx", "int 0x80", "xchg {first}, rbx",
            first = inout(reg) 1_i64 => _,
            inlateout("rax") SOCKETCALL => result,
            in("rcx") 0_i64,
        );
    }
    match result {
        result if result == -i64::from(libc::ENOSYS) => Came::Denied("this kernel has none".to_owned()),
        result => Came::Reached(format!("result {result}")),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn socketcall_of_32_bits() -> Came {
    Came::Denied("this processor has none".to_owned())
}
