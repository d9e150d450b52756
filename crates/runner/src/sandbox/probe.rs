//! Tries out what this machine can enforce, and says why not. Changes nothing, remembers nothing.

use std::{
    fmt, io,
    path::Path,
    process::{Command, Stdio},
};

use super::{bubblewrap, landlocked, tier::Tier};

/// Whether something works here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Works {
    /// It was tried and works.
    Yes,
    /// It does not.
    No {
        /// What was seen.
        why: String,
    },
}

impl fmt::Display for Works {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yes => f.write_str("works"),
            Self::No { why } => f.write_str(why),
        }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// A shell in namespaces made by `bwrap` with the options and the view of the system that a launch uses.
    pub bubblewrap: Works,
    /// Landlock of at least ABI 3 (older ones let a file be truncated).
    pub landlock: Works,
    /// Filters on system calls, for an architecture that there are tables for.
    pub seccomp: Works,
}

impl Probe {
    /// The strongest tier that works here.
    pub fn best(&self) -> Option<Tier> {
        [Tier::Sandboxed, Tier::Restricted].into_iter().find(|tier| self.supports(*tier) == Works::Yes)
    }

    /// Whether `tier` works here.
    pub fn supports(&self, tier: Tier) -> Works {
        let needs = match tier {
            Tier::Sandboxed => vec![("bubblewrap", &self.bubblewrap), ("seccomp", &self.seccomp)],
            Tier::Restricted => vec![("Landlock", &self.landlock), ("seccomp", &self.seccomp)],
            Tier::Unsandboxed => Vec::new(),
        };
        for (name, works) in needs {
            if let Works::No { why } = works {
                return Works::No { why: format!("{name} {why}") };
            }
        }
        Works::Yes
    }
}

impl Probe {
    /// What to do to get the full sandbox; `None` where it works.
    #[must_use]
    pub fn fix(&self) -> Option<String> {
        let Works::No { why } = self.supports(Tier::Sandboxed) else { return None };
        if self.bubblewrap == Works::Yes {
            return Some(format!("use a kernel with seccomp on x86-64 or aarch64 ({why})"));
        }
        let restricts = std::fs::read_to_string("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
        Some(for_bubblewrap(&why, restricts.is_ok_and(|value| value.trim() == "1")).to_owned())
    }
}

/// `apparmor`: whether unprivileged programs may make user namespaces only with a profile (Ubuntu 23.10 and later).
fn for_bubblewrap(why: &str, apparmor: bool) -> &'static str {
    if why.contains("not installed") {
        "install bubblewrap 0.8 or newer (Debian, Ubuntu: `sudo apt install bubblewrap`)"
    } else if why.contains("nknown option") {
        "this bubblewrap is too old: install 0.8 or newer (Debian 12, Ubuntu 24.04 and Fedora 38 have it)"
    } else if apparmor {
        "AppArmor keeps bubblewrap from making namespaces; allow it: `printf 'abi <abi/4.0>,\\ninclude \
         <tunables/global>\\nprofile bwrap /usr/bin/bwrap flags=(unconfined) {\\n  userns,\\n}\\n' | sudo tee \
         /etc/apparmor.d/bwrap && sudo apparmor_parser -r /etc/apparmor.d/bwrap`"
    } else {
        "let bubblewrap 0.8 or newer make user namespaces (`sudo sysctl kernel.unprivileged_userns_clone=1`, \
         `user.max_user_namespaces` above 0; in a container: a seccomp profile that allows them)"
    }
}

/// Tries everything out; takes some tens of milliseconds.
pub fn probe() -> Probe {
    Probe { bubblewrap: try_bubblewrap(), landlock: landlocked::available(), seccomp: try_seccomp() }
}

fn try_bubblewrap() -> Works {
    let mut command = Command::new("bwrap");
    command.args(bubblewrap::trial()).env_clear().stdin(Stdio::null());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    match command.output() {
        Ok(output) if output.status.success() => Works::Yes,
        Ok(output) => Works::No { why: format!("was refused: {}", String::from_utf8_lossy(&output.stderr).trim()) },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Works::No { why: "is not installed (`bwrap` is not on the PATH)".into() }
        }
        Err(error) => Works::No { why: format!("could not be started: {error}") },
    }
}

fn try_seccomp() -> Works {
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return Works::No { why: "has no table for this processor".into() };
    }
    if Path::new("/proc/sys/kernel/seccomp/actions_avail").exists() {
        Works::Yes
    } else {
        Works::No { why: "is not in this kernel".into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fix_is_the_one_for_what_was_seen() {
        for (why, apparmor, fix) in [
            ("bubblewrap is not installed (`bwrap` is not on the PATH)", true, "apt install bubblewrap"),
            ("bubblewrap was refused: bwrap: Unknown option --disable-userns", false, "too old"),
            ("bubblewrap was refused: bwrap: setting up uid map: Permission denied", true, "/etc/apparmor.d/bwrap"),
            ("bubblewrap was refused: bwrap: No permissions to create new namespace", false, "max_user_namespaces"),
        ] {
            assert!(for_bubblewrap(why, apparmor).contains(fix), "{why}");
        }
    }
}
