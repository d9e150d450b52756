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
    /// Namespaces made by `bwrap` with exactly the options a launch uses.
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
        let installed = !why.contains("not installed");
        let restricts = std::fs::read_to_string("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
        Some(if !installed {
            "install bubblewrap 0.8 or newer (Debian, Ubuntu: `sudo apt install bubblewrap`)".to_owned()
        } else if restricts.is_ok_and(|value| value.trim() == "1") {
            // Ubuntu 23.10 and later.
            "AppArmor keeps bubblewrap from making namespaces: put `abi <abi/4.0>,` and \
             `profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }` into /etc/apparmor.d/bwrap and run \
             `sudo apparmor_parser -r /etc/apparmor.d/bwrap`"
                .to_owned()
        } else {
            "let bubblewrap 0.8 or newer make user namespaces (`sysctl kernel.unprivileged_userns_clone=1`, \
             `user.max_user_namespaces` above 0; in a container: a seccomp profile that allows them)"
                .to_owned()
        })
    }
}

/// Tries everything out; takes some tens of milliseconds.
pub fn probe() -> Probe {
    Probe { bubblewrap: try_bubblewrap(), landlock: landlocked::available(), seccomp: try_seccomp() }
}

fn try_bubblewrap() -> Works {
    let mut command = Command::new("bwrap");
    command
        .args(bubblewrap::namespaces())
        .args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"])
        .args(["--size", "65536", "--tmpfs", "/tmp"])
        .args(["--", "true"])
        .stdin(Stdio::null());
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
