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
    let mut denied: BTreeMap<i64, Vec<SeccompRule>> = DENIED.iter().map(|number| (*number, Vec::new())).collect();
    denied.insert(libc::SYS_socket, vec![other_families(tier)?]);
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

/// Matches the making of a socket of any family that is not on the tier's list. In `Sandboxed`
/// the network namespace has only loopback; families that ignore it (vsock) stay shut.
fn other_families(tier: Tier) -> Result<SeccompRule, FilterError> {
    let allowed: &[i32] = match tier {
        Tier::Restricted => &[libc::AF_UNIX],
        Tier::Sandboxed | Tier::Unsandboxed => &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
    };
    let conditions = allowed
        .iter()
        .map(|family| argument(0, SeccompCmpOp::Ne, family.unsigned_abs().into()))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(SeccompRule::new(conditions)?)
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
