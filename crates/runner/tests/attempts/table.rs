//! Every escape that is tried, and how far it may come in each tier.

/// How far an attempt may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expect {
    /// The system refuses it.
    Denied,
    /// It is done, and reaches nothing but the attempt itself.
    Contained,
    /// It reaches something outside, which SECURITY.md says.
    Gap,
}

use Expect::{Contained, Denied, Gap};

/// One attempt.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) sandboxed: Expect,
    pub(crate) restricted: Expect,
}

const fn row(name: &'static str, what: &'static str, sandboxed: Expect, restricted: Expect) -> Row {
    Row { name, what, sandboxed, restricted }
}

const fn both(name: &'static str, what: &'static str) -> Row {
    row(name, what, Denied, Denied)
}

/// In this order: those that end the program they aim at come last.
pub(crate) const TABLE: &[Row] = &[
    both("inherited-descriptors", "descriptors left open by who started it"),
    both("write-outside", "a file beside the data directory"),
    both("write-usr", "a file below /usr/local"),
    row("write-data-directory", "a file in the data directory", Contained, Denied),
    both("write-toolchain", "a compiler in the user's home"),
    row("chmod-outside", "the mode of a file of the user", Denied, Gap),
    both("rename-out", "a file of its own moved out"),
    both("hard-link-out", "a file of its own linked out"),
    both("hard-link-in", "the owner's token linked in"),
    both("symlink-read", "the owner's token through a link"),
    both("symlink-write", "a folder outside through a link"),
    both("dot-dot", "the data directory above the workspace"),
    both("proc-root", "the files of another process through /proc"),
    both("read-home", "a file in the user's home"),
    both("read-ssh-key", "~/.ssh"),
    both("read-cargo-token", "a token beside a toolchain"),
    both("read-owner-token", "the owner's token"),
    both("read-database", "the database"),
    both("read-other-checkout", "another checkout"),
    both("list-srv-mnt-media-var", "/srv, /mnt, /media, /var, /boot"),
    both("read-shadow", "/etc/shadow"),
    both("list-ssh-host-keys", "keys of the host's services in /etc"),
    both("read-other-etc", "settings of the host's services in /etc"),
    row("stat-hidden", "size and times of a hidden file", Denied, Gap),
    both("truncate-outside", "a file of the user emptied"),
    both("remove-outside", "a file of the user removed"),
    both("proc-sys-write", "/proc/sys"),
    both("sysrq", "/proc/sysrq-trigger"),
    both("sys-write", "/sys"),
    both("cgroup-write", "the host's cgroups"),
    both("make-device", "a device node of its own"),
    both("open-devices", "disks, memory and other devices"),
    both("open-terminal", "the terminal of the user"),
    both("type-on-terminal", "typing on a terminal (TIOCSTI)"),
    both("shared-memory-file", "/dev/shm of other programs"),
    both("shared-memory-segment", "System V memory of other programs"),
    row("environ-of-1", "the environment of process 1", Contained, Denied),
    both("environ-of-all", "the environment of the server, shim and others"),
    both("memory-of-host", "/proc/PID/mem"),
    both("descriptors-of-host", "/proc/PID/fd"),
    row("arguments-of-host", "the arguments of other programs", Contained, Gap),
    both("ptrace-host", "ptrace"),
    both("read-memory-of-host", "process_vm_readv"),
    both("steal-descriptor", "pidfd_getfd"),
    both("renice-host", "the priority of another program"),
    both("limit-host", "the limits of another program"),
    row("affinity-of-host", "the processors of another program", Denied, Gap),
    both("capabilities", "capabilities of the superuser"),
    both("setuid", "a program that runs as another user"),
    both("mount", "mount"),
    both("umount", "umount"),
    both("new-mount-calls", "fsopen, open_tree, move_mount, mount_setattr"),
    both("user-namespace", "a user namespace inside"),
    both("user-namespace-by-clone", "the same by clone"),
    both("clone3", "clone3, whose flags a filter cannot see"),
    both("setns", "another namespace"),
    both("chroot", "chroot"),
    both("pivot-root", "pivot_root"),
    both("io-uring", "io_uring, past every filter"),
    both("bpf", "bpf"),
    both("keyctl", "the kernel's keys"),
    both("perf", "perf_event_open"),
    both("userfaultfd", "userfaultfd"),
    both("kexec", "another kernel"),
    both("module", "kernel modules"),
    both("reboot", "reboot"),
    both("open-by-handle", "files by handle, past every path"),
    both("kernel-log", "the kernel's log"),
    both("set-clock", "the clock"),
    both("x32-numbers", "calls by their x32 numbers"),
    both("32-bit-calls", "socketcall of the 32-bit calls"),
    both("tmux-socket", "a service at a path: tmux, D-Bus, ssh-agent"),
    both("abstract-socket", "a service with an abstract name"),
    both("connect-again", "a connected stream moved to a service"),
    both("log-socket", "a datagram to a service: /dev/log"),
    row("datagram-pair-sendmsg", "the same from a pair, by sendmsg", Denied, Denied),
    row("datagram-pair-sendmmsg", "the same from a pair, by sendmmsg", Denied, Denied),
    row("datagram-pair-sendto", "the same from a pair, by sendto", Denied, Denied),
    both("packet-pair-sendmsg", "a name given to a pair of packet sockets"),
    both("stream-pair-sendmsg", "a name given to a pair of streams"),
    row("listen", "a socket of its own that waits", Contained, Denied),
    both("tcp-loopback", "a service on the host's loopback"),
    both("tcp-loopback-ipv6", "the same over IPv6"),
    both("tcp-outside", "the internet (203.0.113.1)"),
    both("tcp-ipv6-outside", "the internet over IPv6"),
    both("metadata-service", "the cloud's metadata (169.254.169.254)"),
    row("udp-loopback", "UDP to the host's loopback", Contained, Denied),
    both("udp-outside", "UDP to the internet"),
    both("raw-socket", "raw packets"),
    both("packet-socket", "frames of the network card"),
    row("netlink", "the host's interfaces", Contained, Denied),
    both("vsock", "the hypervisor"),
    both("bluetooth-can-alg", "other families of sockets"),
    both("signal-group", "a signal to the host's process group"),
    both("pidfd-of-host", "a signal by descriptor"),
    both("signal-host", "a signal to a process of the user"),
];
