//! How much one attempt may use. Memory is bounded only where an address-space limit is set:
//! runtimes such as V8 reserve far more than they touch, so there is no default for it.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use super::tier::Tier;

/// Caps of one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of `output.jsonl`; what comes after is counted and dropped.
    pub output_bytes: u64,
    /// Bytes of one line of output.
    pub line_bytes: usize,
    /// Open files per process.
    pub open_files: u64,
    /// Bytes of any one file the agent writes.
    pub file_bytes: u64,
    /// Bytes of the private `/tmp`, and of `/var/tmp` (tier `Sandboxed`, where they are memory).
    pub tmp_bytes: u64,
    /// Bytes of the private `/dev/shm` (tier `Sandboxed`).
    pub shm_bytes: u64,
    /// Processes and threads. Counted per user namespace, hence only set in `Sandboxed`;
    /// the kernel does not apply it to the superuser.
    pub processes: Option<u64>,
    /// Bytes of address space per process.
    pub address_space: Option<u64>,
    /// Seconds of processor time per process.
    pub cpu_seconds: Option<u64>,
    /// Bytes of memory of all processes together, where a cgroup can be made; `None`: three quarters of the machine's.
    pub memory_bytes: Option<u64>,
    /// Bytes that the workspace may grow by, and that the session folder may hold.
    pub disk_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            output_bytes: 64 << 20,
            line_bytes: 256 << 10,
            open_files: 16_384,
            file_bytes: 8 << 30,
            tmp_bytes: 2 << 30,
            shm_bytes: 512 << 20,
            processes: Some(4096),
            address_space: None,
            cpu_seconds: None,
            memory_bytes: None,
            disk_bytes: 10 << 30,
        }
    }
}

impl Limits {
    /// Sets them on this process, for it and all it starts.
    pub(super) fn apply(&self, tier: Tier) -> rustix::io::Result<()> {
        lower(Resource::Core, Some(0))?;
        lower(Resource::Nofile, Some(self.open_files))?;
        lower(Resource::Fsize, Some(self.file_bytes))?;
        lower(Resource::As, self.address_space)?;
        lower(Resource::Cpu, self.cpu_seconds)?;
        match tier {
            Tier::Sandboxed => lower(Resource::Nproc, self.processes),
            Tier::Restricted | Tier::Unsandboxed => Ok(()),
        }
    }
}

fn lower(resource: Resource, to: Option<u64>) -> rustix::io::Result<()> {
    let Some(wanted) = to else { return Ok(()) };
    let now = getrlimit(resource);
    let value = now.maximum.map_or(wanted, |hard| hard.min(wanted));
    setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) })
}
