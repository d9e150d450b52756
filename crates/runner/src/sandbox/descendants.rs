//! Finding and ending every process that stems from one attempt, also those that left the process
//! group, the session or their parent.

use std::{
    collections::{HashMap, HashSet},
    fs, io,
    path::Path,
};

use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait},
};
use sha2::{Digest, Sha256};

/// The mark in the environment of every process of one attempt, derived from its spool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker(String);

impl Marker {
    pub(crate) const VARIABLE: &'static str = "HOLDPOINT_ATTEMPT";
    /// The same as an option of the init step.
    pub(super) const OPTION: &'static str = "--marker";

    /// The marker of the attempt whose spool this is.
    pub(crate) fn of_spool(spool: &Path) -> io::Result<Self> {
        let spool = fs::canonicalize(spool)?;
        let digest = Sha256::digest(spool.as_os_str().as_encoded_bytes());
        let short: String = digest[..12].iter().map(|b| format!("{b:02x}")).collect();
        Ok(Self(short))
    }

    pub(crate) fn value(&self) -> &str {
        &self.0
    }

    fn is_in(&self, environ: &[u8]) -> bool {
        let entry = format!("{}={}", Self::VARIABLE, self.0);
        environ.split(|byte| *byte == 0).any(|variable| variable == entry.as_bytes())
    }

    /// The init step is closed to others of its user; only its command line can be read.
    fn is_argument(&self, line: &[u8]) -> bool {
        let mut words = line.split(|byte| *byte == 0);
        words.any(|word| word == Self::OPTION.as_bytes()) && words.next() == Some(self.0.as_bytes())
    }

    fn marks(&self, pid: Pid) -> bool {
        let read = |name: &str| fs::read(format!("/proc/{}/{name}", pid.as_raw_pid()));
        match read("environ") {
            Ok(environ) => self.is_in(&environ),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                read("cmdline").is_ok_and(|line| self.is_argument(&line))
            }
            Err(_) => false,
        }
    }
}

/// Living processes with this marker, each with its start time. Processes of other users cannot
/// be read and are not ours.
pub(crate) fn marked_processes(marker: &Marker) -> io::Result<Vec<(Pid, u64)>> {
    let mut found = Vec::new();
    for pid in all_pids()? {
        if marker.marks(pid)
            && let Some(started) = start_time(pid)
        {
            found.push((pid, started));
        }
    }
    Ok(found)
}

/// When the process started, in the kernel's ticks since boot; with the pid it names a process
/// for as long as the machine is up. `None` when there is no such process.
pub(crate) fn start_time(pid: Pid) -> Option<u64> {
    const FIELD: usize = 22;
    stat_field(pid, FIELD)
}

/// Kills all descendants of this process and reaps them; returns when none is left, with how each
/// direct child or orphan ended. The process must be a subreaper or the init of its namespace.
pub(crate) fn end_descendants() -> io::Result<HashMap<i32, WaitStatus>> {
    let mut ended = HashMap::new();
    loop {
        for pid in descendants()? {
            // One that is gone already is what is wanted.
            let _ = kill_process(pid, Signal::KILL);
        }
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => {
                ended.insert(pid.as_raw_pid(), status);
            }
            Ok(None) | Err(Errno::INTR) => {}
            Err(Errno::CHILD) => return Ok(ended),
            Err(error) => return Err(error.into()),
        }
    }
}

fn descendants() -> io::Result<Vec<Pid>> {
    const PARENT_FIELD: usize = 4;
    let parents: Vec<(Pid, u64)> =
        all_pids()?.into_iter().filter_map(|pid| Some((pid, stat_field(pid, PARENT_FIELD)?))).collect();
    let mut family = HashSet::from([u64::from(std::process::id())]);
    let mut found = Vec::new();
    loop {
        let before = found.len();
        for (pid, parent) in &parents {
            let own = u64::from(pid.as_raw_nonzero().get().unsigned_abs());
            if family.contains(parent) && family.insert(own) {
                found.push(*pid);
            }
        }
        if found.len() == before {
            return Ok(found);
        }
    }
}

fn all_pids() -> io::Result<Vec<Pid>> {
    let number = |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    Ok(fs::read_dir("/proc")?.filter_map(number).filter_map(Pid::from_raw).collect())
}

/// A numeric field of `/proc/PID/stat`, counted from 1. The name in field 2 may hold anything,
/// so counting starts after its last parenthesis.
fn stat_field(pid: Pid, field: usize) -> Option<u64> {
    const FIRST_AFTER_NAME: usize = 3;
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(field - FIRST_AFTER_NAME)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_environment_or_as_an_init_step_by_its_arguments() {
        let marker = Marker("abc".to_owned());
        assert!(marker.is_in(b"A=1\0HOLDPOINT_ATTEMPT=abc\0"));
        assert!(!marker.is_in(b"A=1\0HOLDPOINT_ATTEMPT=abcd\0"));
        assert!(marker.is_argument(b"holdpoint\0inside\0--tier\0restricted\0--marker\0abc\0--\0sh\0"));
        assert!(!marker.is_argument(b"grep\0abc\0--marker\0"));
        assert!(!marker.is_argument(b"holdpoint\0inside\0--marker\0other\0--\0abc\0"));
    }
}
