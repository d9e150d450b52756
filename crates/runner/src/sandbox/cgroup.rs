//! A control group of an attempt's own: memory and number of processes of all its processes together. Made where this
//! process may: in a delegated v2 tree, or in v1 hierarchies that it may write. Where there is none, the attempt runs
//! without, and its marker says so.

use std::{
    fs::{self, OpenOptions},
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

use super::{handover, limits::Limits};

/// Folders of groups begin so.
const PREFIX: &str = "holdpoint-";
/// An empty group of this age was left by a supervisor that was killed.
const LEFT_OVER: Duration = Duration::from_secs(3600);

/// Whether a limit holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforced {
    /// The kernel enforces it.
    Enforced,
    /// There is no control group to put it on.
    #[default]
    Unavailable,
}

/// Which limits of all processes together hold for an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupLimits {
    /// Memory.
    pub memory: Enforced,
    /// Processes and threads.
    pub processes: Enforced,
}

/// The groups of one attempt; removed with this.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    folders: Vec<PathBuf>,
    pub(crate) limits: GroupLimits,
}

/// Where groups of a controller are made, and the file that limits one.
struct Place {
    parent: PathBuf,
    memory: Option<&'static str>,
    processes: Option<&'static str>,
}

impl Groups {
    /// Makes them, as far as this machine lets it; never fails.
    pub(crate) fn make(name: &str, limits: &Limits) -> Self {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut made = Self::default();
        for place in places(&mounts, &own) {
            if made.is_complete() {
                break;
            }
            sweep(&place.parent);
            // The next place may do.
            let _ = made.add(&place, name, limits);
        }
        made
    }

    fn is_complete(&self) -> bool {
        let GroupLimits { memory, processes } = self.limits;
        (memory, processes) == (Enforced::Enforced, Enforced::Enforced)
    }

    fn add(&mut self, place: &Place, name: &str, limits: &Limits) -> io::Result<()> {
        let folder = place.parent.join(format!("{PREFIX}{name}"));
        match fs::create_dir(&folder) {
            Ok(()) => {}
            // Of an earlier process of the same attempt, whose supervisor was killed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let put = |missing: Enforced, file: Option<&str>, value: Option<u64>| {
            let (Enforced::Unavailable, Some(file), Some(value)) = (missing, file, value) else { return false };
            fs::write(folder.join(file), value.to_string()).is_ok()
        };
        let memory = put(self.limits.memory, place.memory, limits.memory_bytes.or_else(most_of_the_memory));
        let processes = put(self.limits.processes, place.processes, limits.processes);
        if !(memory || processes) || !takes_processes(&folder) {
            return fs::remove_dir(&folder);
        }
        if memory {
            // Else what is over the limit goes to the swap; not every kernel counts it.
            let _ = fs::write(folder.join("memory.swap.max"), "0");
            self.limits.memory = Enforced::Enforced;
        }
        if processes {
            self.limits.processes = Enforced::Enforced;
        }
        self.folders.push(folder);
        Ok(())
    }

    /// Has `command` and all it starts run in them.
    pub(crate) fn hold(&self, command: &mut Command) -> io::Result<()> {
        let files = self.folders.iter().map(|folder| entrance(folder)).collect::<io::Result<Vec<OwnedFd>>>()?;
        handover::join_groups(command, files);
        Ok(())
    }
}

/// Which limits an attempt would have on this machine: makes its groups and removes them.
#[must_use]
pub fn group_limits(limits: &Limits) -> GroupLimits {
    Groups::make(&format!("trial-{}", std::process::id()), limits).limits
}

impl Drop for Groups {
    fn drop(&mut self) {
        for folder in &self.folders {
            // One with processes stays; the sweep of a later attempt finds it.
            let _ = fs::remove_dir(folder);
        }
    }
}

fn entrance(folder: &Path) -> io::Result<OwnedFd> {
    Ok(OpenOptions::new().write(true).open(folder.join("cgroup.procs"))?.into())
}

/// Tried with a process that does nothing: whether one may be moved depends on more than the rights of the file.
fn takes_processes(folder: &Path) -> bool {
    let Ok(file) = entrance(folder) else { return false };
    let mut trial = Command::new("true");
    trial.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    handover::join_groups(&mut trial, vec![file]);
    trial.status().is_ok_and(|status| status.success())
}

fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let old = entry
            .metadata()
            .and_then(|found| found.modified())
            .is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > LEFT_OVER));
        if old && entry.file_name().to_string_lossy().starts_with(PREFIX) {
            // One that is in use has processes and stays.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Three quarters of the machine's, so that the host goes on.
fn most_of_the_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = total.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024 / 4 * 3)
}

/// Where groups can be tried, the best first: v2 beside and below this process, then v1.
fn places(mounts: &str, own: &str) -> Vec<Place> {
    let mut places = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let inner = path.trim_start_matches('/');
        if number == "0" && controllers.is_empty() {
            let Some(root) = mounted(mounts, "cgroup2", "") else { continue };
            let here = root.join(inner);
            // A group with processes gives its children no controllers, so the parent's children are tried first.
            let beside = here.parent().filter(|parent| parent.starts_with(&root)).map(Path::to_owned);
            for parent in beside.into_iter().chain([here]) {
                places.push(Place { parent, memory: Some("memory.max"), processes: Some("pids.max") });
            }
            continue;
        }
        for controller in controllers.split(',') {
            let file = match controller {
                "memory" => "memory.limit_in_bytes",
                "pids" => "pids.max",
                _ => continue,
            };
            let Some(root) = mounted(mounts, "cgroup", controller) else { continue };
            let parent = root.join(inner);
            let memory = (controller == "memory").then_some(file);
            let processes = (controller == "pids").then_some(file);
            places.push(Place { parent, memory, processes });
        }
    }
    places.sort_by_key(|place| place.memory.is_none() || place.processes.is_none());
    places
}

/// Where a hierarchy is mounted: fields of `mountinfo` before and after the lone hyphen.
fn mounted(mounts: &str, kind: &str, controller: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut after = after.split(' ');
        let fits = after.next() == Some(kind)
            && (controller.is_empty() || after.nth(1).is_some_and(|all| all.split(',').any(|one| one == controller)));
        fits.then(|| before.split(' ').nth(4).map(PathBuf::from)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "30 24 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
        31 24 0:27 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n\
        32 24 0:28 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n";

    fn parents(own: &str) -> Vec<String> {
        places(MOUNTS, own).into_iter().map(|place| place.parent.display().to_string()).collect()
    }

    #[test]
    fn groups_are_tried_in_the_unified_tree_first_beside_and_then_below_this_process() {
        assert_eq!(
            parents("4:memory:/a\n8:pids:/\n3:cpuset:/\n0::/user.slice/app.scope\n"),
            [
                "/sys/fs/cgroup/unified/user.slice",
                "/sys/fs/cgroup/unified/user.slice/app.scope",
                "/sys/fs/cgroup/memory/a",
                "/sys/fs/cgroup/pids/",
            ]
        );
        assert_eq!(parents("0::/\n"), ["/sys/fs/cgroup/unified/"]);
        assert_eq!(parents(""), [""; 0]);
    }

    #[test]
    fn a_machine_without_control_groups_has_no_place_for_one() {
        assert!(places("", "0::/\n4:memory:/a\n").is_empty());
        let none = Groups::default();
        assert_eq!(none.limits, GroupLimits { memory: Enforced::Unavailable, processes: Enforced::Unavailable });
    }
}
