//! Boundaries: the instants before and after every durable write and every effect.
//!
//! With `HOLDPOINT_KILL_AT=n` in the environment the process ends itself with SIGKILL at the n-th boundary it
//! reaches; with `HOLDPOINT_BOUNDARIES=file` it appends the name of each. The crash suite walks through all of
//! them. Without these variables a boundary costs one atomic load.

use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Marks a boundary.
pub fn boundary(name: &str) {
    static PLAN: OnceLock<Plan> = OnceLock::new();
    let plan = PLAN.get_or_init(Plan::from_env);
    if plan.kill_at.is_none() && plan.log.is_none() {
        return;
    }
    plan.reached(name);
}

struct Plan {
    kill_at: Option<u64>,
    log: Option<std::path::PathBuf>,
    count: AtomicU64,
}

impl Plan {
    fn from_env() -> Self {
        let kill_at = std::env::var("HOLDPOINT_KILL_AT").ok().and_then(|text| text.parse().ok());
        let log = std::env::var_os("HOLDPOINT_BOUNDARIES").map(Into::into);
        Self { kill_at, log, count: AtomicU64::new(0) }
    }

    fn reached(&self, name: &str) {
        let count = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(path) = &self.log {
            let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
            // The log only helps to name a boundary; a run must not fail over it.
            let _ = file.and_then(|mut file| writeln!(file, "{count} {name}"));
        }
        if self.kill_at == Some(count) {
            kill_self();
        }
    }
}

fn kill_self() {
    let pid = rustix::process::getpid();
    // If the signal cannot be sent, aborting is the nearest thing to a power cut.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    std::process::abort();
}
