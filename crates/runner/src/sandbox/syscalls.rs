//! The filter on system calls: what no coding agent needs and what would weaken the other walls.
//! It is a deny list on purpose; the boundary for files is Landlock and the mount view.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};

use super::tier::Tier;

/// The filter could not be made or installed.
#[derive(Debug, thiserror::Error)]
pub(super) enum FilterError {
    /// No tables for this processor.
    #[error("there is no system-call table for this processor")]
    Processor,
    /// The rules did not compile.
    #[error("the system-call filter is malformed")]
    Malformed(#[from] seccompiler::BackendError),
    /// The kernel refused it.
    #[error("the kernel refused the system-call filter")]
    Refused(#[from] seccompiler::Error),
}

/// Always refused with `EPERM`, whatever the arguments.
const DENIED: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// The same, of calls that not every table of `libc` has; they have one number on every processor: `process_madvise`,
/// `quotactl_fd`, `process_mrelease`, `open_tree_attr`.
const DENIED_BY_NUMBER: &[i64] = &[440, 443, 448, 467];

/// Refused in `Restricted` too, which shares the host's namespaces. What can be made or reached with `socket`, `socketpair`
/// and `connect` is decided by `socket_filter`; nobody may wait for connections. System V and POSIX queues, semaphores
/// and memory would be those of the user's other programs.
const DENIED_ON_THE_HOST: &[i64] = &[
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Each of these makes a new namespace when given to `clone`.
const NAMESPACE_FLAGS: &[i32] = &[
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Installs the filter on this thread and all it starts. There is no way back.
pub(super) fn forbid(tier: Tier) -> Result<(), FilterError> {
    for program in programs(tier)? {
        apply_filter(&program)?;
    }
    Ok(())
}

fn programs(tier: Tier) -> Result<Vec<BpfProgram>, FilterError> {
    let mut denied: BTreeMap<i64, Vec<SeccompRule>> =
        DENIED.iter().chain(DENIED_BY_NUMBER).map(|number| (*number, Vec::new())).collect();
    match tier {
        Tier::Sandboxed | Tier::Unsandboxed => {
            denied.insert(libc::SYS_socket, vec![other_families()?]);
            denied.insert(libc::SYS_socketpair, vec![other_pairs()?]);
        }
        Tier::Restricted => {
            denied.extend(DENIED_ON_THE_HOST.iter().map(|number| (*number, Vec::new())));
            denied.insert(libc::SYS_sendto, vec![to_an_address()?]);
            denied.insert(libc::SYS_prlimit64, vec![of_another_process(0)?]);
            for call in [libc::SYS_sched_setscheduler, libc::SYS_sched_setparam, libc::SYS_sched_setattr] {
                denied.insert(call, vec![of_another_process(0)?]);
            }
            for (call, process) in [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)] {
                // A group of processes, or all of the user, is named by 0 too.
                denied.insert(call, vec![of_another_process(1)?, of_many_processes(process)?]);
            }
        }
    }
    denied.insert(libc::SYS_clone, clones_into_namespaces()?);
    denied.insert(libc::SYS_ioctl, terminal_injection()?);
    // The flags of clone3 lie behind a pointer that a filter cannot read. With ENOSYS the C
    // libraries fall back to clone, whose flags are checked above.
    let absent = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    Ok(vec![foreign_numbers(), compile(absent, libc::ENOSYS)?, compile(denied, libc::EPERM)?])
}

fn compile(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> Result<BpfProgram, FilterError> {
    let processor: TargetArch = std::env::consts::ARCH.try_into().map_err(|_| FilterError::Processor)?;
    let filter =
        SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno.unsigned_abs()), processor)?;
    Ok(BpfProgram::try_from(filter)?)
}

/// Matches the making of a socket of any family that is not on the list. The network namespace of `Sandboxed` has only
/// loopback; families that ignore it (vsock) stay shut.
fn other_families() -> Result<SeccompRule, FilterError> {
    let allowed = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    let conditions = allowed
        .iter()
        .map(|family| argument(0, SeccompCmpOp::Ne, family.unsigned_abs().into()))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(SeccompRule::new(conditions)?)
}

/// Matches `sendto` with an address; without one it is `send`.
fn to_an_address() -> Result<SeccompRule, FilterError> {
    let given = SeccompCondition::new(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    Ok(SeccompRule::new(vec![given])?)
}

/// Matches any process but the caller itself, which these calls know as 0.
fn of_another_process(index: u8) -> Result<SeccompRule, FilterError> {
    Ok(SeccompRule::new(vec![argument(index, SeccompCmpOp::Ne, 0)?])?)
}

/// Matches any kind of target but a process.
fn of_many_processes(process: u64) -> Result<SeccompRule, FilterError> {
    Ok(SeccompRule::new(vec![argument(0, SeccompCmpOp::Ne, process)?])?)
}

/// Matches a pair of sockets of any family but the one that every program uses: the kernel would load modules for them.
fn other_pairs() -> Result<SeccompRule, FilterError> {
    Ok(SeccompRule::new(vec![argument(0, SeccompCmpOp::Ne, libc::AF_UNIX.unsigned_abs().into())?])?)
}

fn clones_into_namespaces() -> Result<Vec<SeccompRule>, FilterError> {
    let one = |flag: &i32| -> Result<SeccompRule, FilterError> {
        let bit = u64::from(flag.unsigned_abs());
        let condition = argument(0, SeccompCmpOp::MaskedEq(bit), bit)?;
        Ok(SeccompRule::new(vec![condition])?)
    };
    NAMESPACE_FLAGS.iter().map(one).collect()
}

/// Types into a terminal (`TIOCSTI`), and pastes into one (`TIOCLINUX`). The C libraries disagree
/// about the type of the constants, not about their values.
const TERMINAL_INJECTION: [u64; 2] = [0x5412, 0x541c];

fn terminal_injection() -> Result<Vec<SeccompRule>, FilterError> {
    TERMINAL_INJECTION
        .into_iter()
        .map(|request| {
            let condition = argument(1, SeccompCmpOp::Eq, request)?;
            Ok(SeccompRule::new(vec![condition])?)
        })
        .collect()
}

fn argument(index: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, FilterError> {
    Ok(SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value)?)
}

/// On x86-64 every call has a second number in the x32 range, under the same architecture mark:
/// a deny list by number alone would miss it. No other processor has calls up there.
fn foreign_numbers() -> BpfProgram {
    const X32_BIT: u32 = 0x4000_0000;
    let step = |code: u32, jt: u8, jf: u8, k: u32| sock_filter {
        code: u16::try_from(code).expect("BPF opcodes are 16 bits wide"),
        jt,
        jf,
        k,
    };
    vec![
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32_BIT),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs()),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_of_both_holding_tiers_compile() {
        for tier in [Tier::Sandboxed, Tier::Restricted] {
            let compiled = programs(tier).unwrap();
            assert_eq!(compiled.len(), 3);
            assert!(compiled.iter().all(|program| program.len() < 4096));
        }
    }
}
