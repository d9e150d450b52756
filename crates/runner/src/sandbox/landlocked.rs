//! Which files the agent may read and write, enforced by Landlock on the process that asks for it
//! and everything it starts. Paths that do not exist are left out, never created.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, PathFdError, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::{probe::Works, tier::Tier};

/// The newest set of rights asked for; an older kernel enforces the part it knows.
const NEWEST: ABI = ABI::V9;

/// Without this there is no tier `Restricted`: older kernels let a file be truncated.
const NEEDED: ABI = ABI::V3;

/// Devices that a program may expect to write to.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// These are the sandbox's own only where it has a `/dev` of its own: on the host they are the terminals and the shared
/// memory of the user's other programs.
const OWN_DEVICES: &[&str] = &["/dev/ptmx", "/dev/pts", "/dev/shm"];

/// Landlock could not be put in place.
#[derive(Debug, thiserror::Error)]
pub(super) enum LandlockError {
    /// A rule or the restriction was refused.
    #[error("the kernel refused a Landlock rule")]
    Refused(#[from] RulesetError),
    /// A path that must be reachable cannot be opened.
    #[error("a path of the sandbox cannot be opened")]
    Path(#[from] PathFdError),
    /// The kernel took the rules and enforces none of them.
    #[error("Landlock is not enforced by this kernel")]
    NotEnforced,
}

/// The paths of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Paths {
    /// Read, written and executed.
    pub(super) writable: Vec<PathBuf>,
    /// Read and executed.
    pub(super) readable: Vec<PathBuf>,
    /// Where the broker's socket lies; `None` in `Restricted`, where its filter on sockets is the only way there.
    pub(super) door: Option<PathBuf>,
}

impl Paths {
    pub(super) fn door_of(tier: Tier, socket: &Path) -> Option<PathBuf> {
        match tier {
            Tier::Restricted => None,
            Tier::Sandboxed | Tier::Unsandboxed => socket.parent().map(Path::to_owned),
        }
    }
}

/// Whether the kernel has what `Restricted` needs.
pub(super) fn available() -> Works {
    let tried = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))
        .and_then(Ruleset::create);
    match tried {
        Ok(_) => Works::Yes,
        Err(error) => Works::No { why: format!("is missing or too old in this kernel ({error})") },
    }
}

/// Restricts this thread and everything it starts. There is no way back.
pub(super) fn restrict(tier: Tier, paths: &Paths) -> Result<(), LandlockError> {
    let mut ruleset = Ruleset::default().handle_access(AccessFs::from_all(NEWEST))?.scope(Scope::from_all(NEWEST))?;
    if tier == Tier::Restricted {
        // A second lock behind the filter on sockets: no port is ever granted.
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let created = grant(ruleset.create()?, tier, paths)?;
    let status = created.restrict_self()?;
    match (status.ruleset, tier) {
        (RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced, _)
        // Namespaces and the filter hold without it; the probe shows that Landlock is missing.
        | (RulesetStatus::NotEnforced, Tier::Sandboxed | Tier::Unsandboxed) => Ok(()),
        (RulesetStatus::NotEnforced, Tier::Restricted) => Err(LandlockError::NotEnforced),
    }
}

fn grant(ruleset: RulesetCreated, tier: Tier, paths: &Paths) -> Result<RulesetCreated, LandlockError> {
    let everything = AccessFs::from_all(NEWEST);
    let reading = AccessFs::from_read(NEWEST);
    let mut ruleset = ruleset;
    for path in &paths.writable {
        ruleset = ruleset.add_rule(PathBeneath::new(PathFd::new(path)?, everything))?;
    }
    if let Some(door) = &paths.door {
        let rights = reading | AccessFs::ResolveUnix;
        ruleset = ruleset.add_rule(PathBeneath::new(PathFd::new(door)?, rights))?;
    }
    let own = if tier == Tier::Restricted { &[] } else { OWN_DEVICES };
    Ok(ruleset
        .add_rules(path_beneath_rules(&paths.readable, reading))?
        .add_rules(path_beneath_rules(DEVICES, device_rights()))?
        .add_rules(path_beneath_rules(own, device_rights()))?)
}

fn device_rights() -> BitFlags<AccessFs> {
    AccessFs::from_all(NEWEST) & !(AccessFs::MakeBlock | AccessFs::MakeChar)
}

/// The largest set of directories below `root` that contains nothing of `hidden`. Landlock can
/// only allow, so what is hidden has to be cut out of what is allowed.
pub(super) fn all_but(root: &Path, hidden: &[PathBuf]) -> Vec<PathBuf> {
    if hidden.iter().any(|path| root.starts_with(path)) {
        return Vec::new();
    }
    if !hidden.iter().any(|path| path.starts_with(root)) {
        return vec![root.to_owned()];
    }
    // A directory that cannot be listed cannot be granted piecewise, so nothing of it is.
    let Ok(entries) = std::fs::read_dir(root) else {
        return Vec::new();
    };
    entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()))
        .flat_map(|entry| all_but(&entry.path(), hidden))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_hidden_is_cut_out_of_what_is_readable() {
        let root = tempfile::tempdir().unwrap();
        for dir in ["usr/bin", "var/lib/secret", "var/log", "home/ada"] {
            fs::create_dir_all(root.path().join(dir)).unwrap();
        }
        let hidden = [root.path().join("home"), root.path().join("var/lib/secret")];
        let mut granted = all_but(root.path(), &hidden);
        granted.sort();
        assert_eq!(granted, [root.path().join("usr"), root.path().join("var/log")]);
    }
}
