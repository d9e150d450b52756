//! The disk quota of an attempt, by poll: its workspace may grow, and its session folder be, as large as its limit says,
//! and no attempt goes on while the disk under it is nearly full. Both folders are walked by handle on a blocking thread;
//! how often depends on how long a walk takes and on how fast the disk fills.

use std::{
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::fs::statvfs;
use tokio::time::{MissedTickBehavior, interval};

use super::launch::Launch;
use crate::dir_fd::Dir;

/// Between two looks at the free space.
const TICK: Duration = Duration::from_millis(500);
/// Between two walks while the disk does not fill.
const PAUSE: Duration = Duration::from_secs(5);
/// A walk may take this part of the time.
const SHARE: u32 = 20;
/// A part of the quota that the free space may shrink by before it is looked again.
const PART: u64 = 16;
/// Files and folders; more of them is a quota of its own, for the disk's inodes.
const MOST_ENTRIES: u64 = 4_000_000;
/// Free space below which nobody writes on.
const FLOOR: u64 = 1 << 30;
/// The same as a part of a small disk.
const FLOOR_PART: u64 = 50;

/// Why an attempt is stopped, for people.
pub(super) type Over = String;

#[derive(Debug, Clone)]
pub(super) struct Quota {
    workspace: PathBuf,
    session: PathBuf,
    bytes: u64,
    /// What the workspace took before the attempt.
    before: u64,
    /// Free space that must stay; `None` where there was less from the beginning.
    floor: Option<u64>,
}

impl Quota {
    /// Takes the measure before anything is started.
    pub(super) fn new(order: &Launch) -> io::Result<Self> {
        let before = Dir::open(&order.workspace)?.usage(MOST_ENTRIES)?.bytes;
        let disk = Disk::under(&order.workspace)?;
        let floor = FLOOR.min(disk.size / FLOOR_PART);
        Ok(Self {
            workspace: order.workspace.clone(),
            session: order.session.clone(),
            bytes: order.limits.disk_bytes,
            before,
            floor: (disk.free > floor).then_some(floor),
        })
    }

    /// Returns when the attempt has written too much, and never otherwise.
    pub(super) async fn exceeded(&self) -> Over {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last = Walked { at: None, took: Duration::ZERO, free: u64::MAX };
        loop {
            ticks.tick().await;
            let (quota, before) = (self.clone(), last);
            let looked = tokio::task::spawn_blocking(move || quota.look(before)).await;
            match looked {
                Ok(Ok(Look::Fine(walked))) => last = walked,
                Ok(Ok(Look::Over(why))) => return why,
                // A folder that is being changed is looked at again.
                Ok(Err(_)) | Err(_) => {}
            }
        }
    }

    fn look(&self, last: Walked) -> io::Result<Look> {
        let disk = Disk::under(&self.workspace)?;
        if let Some(floor) = self.floor.filter(|floor| disk.free < *floor) {
            let (free, floor) = (size(disk.free), size(floor));
            let place = self.workspace.display();
            return Ok(Look::Over(format!("the disk of `{place}` is nearly full ({free} free, {floor} must stay)")));
        }
        let due = last.at.is_none_or(|at| at.elapsed() >= PAUSE.max(last.took * SHARE));
        let filling = last.free.saturating_sub(disk.free) >= self.bytes / PART;
        if !due && !filling {
            return Ok(Look::Fine(last));
        }
        let begun = Instant::now();
        if let Some(over) = self.over()? {
            return Ok(Look::Over(over));
        }
        Ok(Look::Fine(Walked { at: Some(Instant::now()), took: begun.elapsed(), free: disk.free }))
    }

    fn over(&self) -> io::Result<Option<Over>> {
        for (folder, before, grew) in [(&self.workspace, self.before, "grew by"), (&self.session, 0, "holds")] {
            let usage = Dir::open(folder)?.usage(MOST_ENTRIES)?;
            let more = usage.bytes.saturating_sub(before);
            let place = folder.display();
            if more > self.bytes {
                let (more, limit) = (size(more), size(self.bytes));
                return Ok(Some(format!("`{place}` {grew} {more}, and {limit} is the limit of one attempt")));
            }
            if usage.cut {
                return Ok(Some(format!("`{place}` holds more than {MOST_ENTRIES} files, or folders without end")));
            }
        }
        Ok(None)
    }
}

enum Look {
    Fine(Walked),
    Over(Over),
}

/// The last walk.
#[derive(Debug, Clone, Copy)]
struct Walked {
    at: Option<Instant>,
    took: Duration,
    /// Free space then.
    free: u64,
}

struct Disk {
    free: u64,
    size: u64,
}

impl Disk {
    fn under(folder: &Path) -> io::Result<Self> {
        let found = statvfs(folder)?;
        Ok(Self { free: found.f_bavail * found.f_frsize, size: found.f_blocks * found.f_frsize })
    }
}

/// In the largest unit that leaves a whole number.
fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 30 => format!("{} GiB", bytes >> 30),
        bytes if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        bytes => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn quota(root: &Path, bytes: u64) -> Quota {
        let (workspace, session) = (root.join("workspace"), root.join("session"));
        for folder in [&workspace, &session] {
            fs::create_dir_all(folder).unwrap();
        }
        let before = Dir::open(&workspace).unwrap().usage(MOST_ENTRIES).unwrap().bytes;
        Quota { workspace, session, bytes, before, floor: None }
    }

    const NEVER: Walked = Walked { at: None, took: Duration::ZERO, free: u64::MAX };

    #[test]
    fn a_workspace_counts_by_what_was_added_and_a_session_folder_by_what_it_holds() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("workspace")).unwrap();
        fs::write(root.path().join("workspace/before"), vec![1; 4 << 20]).unwrap();
        let quota = quota(root.path(), 1 << 20);
        assert_eq!(quota.over().unwrap(), None);
        fs::write(root.path().join("workspace/more"), vec![1; 2 << 20]).unwrap();
        let why = quota.over().unwrap().unwrap();
        assert!(why.contains("workspace` grew by 2 MiB, and 1 MiB is the limit"), "{why}");
        fs::remove_file(root.path().join("workspace/more")).unwrap();
        fs::write(root.path().join("session/more"), vec![1; 3 << 20]).unwrap();
        assert!(quota.over().unwrap().unwrap().contains("session` holds 3 MiB"));
    }

    #[test]
    fn folders_are_walked_again_only_when_it_is_time_or_the_disk_fills() {
        let root = tempfile::tempdir().unwrap();
        let quota = quota(root.path(), 1 << 20);
        let Look::Fine(walked) = quota.look(NEVER).unwrap() else { panic!() };
        fs::write(root.path().join("workspace/more"), vec![1; 2 << 20]).unwrap();
        let later = Walked { free: 0, ..walked };
        assert!(matches!(quota.look(later).unwrap(), Look::Fine(same) if same.at == later.at), "not walked");
        let filling = Walked { free: u64::MAX, ..walked };
        assert!(matches!(quota.look(filling).unwrap(), Look::Over(_)), "the disk fills");
        assert!(matches!(quota.look(NEVER).unwrap(), Look::Over(_)), "it is time");
    }

    #[test]
    fn nobody_writes_on_while_the_disk_is_nearly_full() {
        let root = tempfile::tempdir().unwrap();
        let quota = Quota { floor: Some(u64::MAX), ..quota(root.path(), 1 << 40) };
        assert!(matches!(quota.look(NEVER).unwrap(), Look::Over(why) if why.contains("is nearly full")));
    }
}
