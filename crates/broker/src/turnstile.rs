//! How many calls a provider gets at once and per minute, from all attempts of this machine together. The shims
//! are processes of their own, so the count is kept in locked files: the system gives a lock back when its holder
//! dies. Never fails open: a limit that cannot be kept refuses the call.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

const MINUTE_MS: i64 = 60_000;
/// How often a busy file is looked at again; it doubles up to the second one.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// What a provider allows; `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// Calls at the same time.
    pub concurrent: Option<u32>,
    /// Calls begun within any minute.
    pub per_minute: Option<u32>,
}

pub(crate) struct Turnstile {
    folder: PathBuf,
    limits: Limits,
}

/// The right to make one call. Dropping it lets the next one in.
pub(crate) struct Pass {
    _slot: Option<File>,
}

enum Entry {
    Open,
    Later(Duration),
}

impl Turnstile {
    /// `None` when there is nothing to keep.
    pub(crate) fn new(folder: Option<&Path>, provider: &str, limits: Limits) -> Option<Self> {
        let Limits { concurrent, per_minute } = limits;
        (concurrent.is_some() || per_minute.is_some()).then_some(())?;
        Some(Self { folder: folder?.join(plain(provider)), limits })
    }

    /// Waits for a free slot and for the minute to have room.
    pub(crate) async fn enter(&self) -> io::Result<Pass> {
        std::fs::create_dir_all(&self.folder)?;
        let slot = self.slot().await?;
        let mut pause = SHORTEST_PAUSE;
        while let Entry::Later(wait) = self.begin(Timestamp::now().as_millisecond())? {
            tokio::time::sleep(wait.max(pause)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Ok(Pass { _slot: slot })
    }

    async fn slot(&self) -> io::Result<Option<File>> {
        let Some(slots) = self.limits.concurrent else { return Ok(None) };
        let mut pause = SHORTEST_PAUSE;
        loop {
            for number in 0..slots.max(1) {
                if let Some(file) = locked(&self.folder.join(format!("slot-{number}")))? {
                    return Ok(Some(file));
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Books a call of this minute, or says when to look again.
    fn begin(&self, now: i64) -> io::Result<Entry> {
        let Some(most) = self.limits.per_minute else { return Ok(Entry::Open) };
        let Some(mut file) = locked(&self.folder.join("minute"))? else { return Ok(Entry::Later(SHORTEST_PAUSE)) };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let mut begun: Vec<i64> = bytes.as_chunks::<8>().0.iter().map(|at| i64::from_le_bytes(*at)).collect();
        // What lies ahead comes from a clock that was set back.
        begun.retain(|at| (now - MINUTE_MS..=now).contains(at));
        let room = usize::try_from(most.max(1)).unwrap_or(usize::MAX);
        if let Some(blocking) = begun.len().checked_sub(room) {
            let until = begun[blocking] + MINUTE_MS + 1 - now;
            return Ok(Entry::Later(Duration::from_millis(u64::try_from(until).unwrap_or(1))));
        }
        begun.push(now);
        let bytes: Vec<u8> = begun.iter().flat_map(|at| at.to_le_bytes()).collect();
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&bytes)?;
        file.set_len(bytes.len() as u64)?;
        Ok(Entry::Open)
    }
}

/// The file, locked for as long as it is open; `None` when another process holds it.
fn locked(path: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A provider's name as a folder's.
fn plain(provider: &str) -> String {
    provider.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turnstile(folder: &Path, concurrent: Option<u32>, per_minute: Option<u32>) -> Turnstile {
        Turnstile::new(Some(folder), "../acme", Limits { concurrent, per_minute }).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_slot_is_free_again_when_its_holder_is_gone() {
        let room = tempfile::tempdir().unwrap();
        let (one, two) = (turnstile(room.path(), Some(1), None), turnstile(room.path(), Some(1), None));
        let pass = one.enter().await.unwrap();
        let waiting = tokio::time::timeout(Duration::from_secs(9), two.enter()).await;
        assert!(waiting.is_err(), "the slot is taken");
        drop(pass);
        two.enter().await.unwrap();
        assert!(room.path().join("___acme/slot-0").exists());
    }

    #[test]
    fn a_minute_takes_so_many_and_then_says_when() {
        let room = tempfile::tempdir().unwrap();
        let turnstile = turnstile(room.path(), None, Some(2));
        std::fs::create_dir_all(&turnstile.folder).unwrap();
        let begin = |now| match turnstile.begin(now).unwrap() {
            Entry::Open => None,
            Entry::Later(wait) => Some(wait.as_millis()),
        };
        assert_eq!(begin(1_000_000), None);
        assert_eq!(begin(1_010_000), None);
        assert_eq!(begin(1_020_000), Some(40_001));
        assert_eq!(begin(1_060_001), None, "the first is a minute old");
        assert_eq!(begin(1_060_002), Some(9_999));
        assert_eq!(begin(500_000), None, "a clock that was set back does not block for ever");
    }

    #[test]
    fn a_torn_file_is_read_as_far_as_it_goes() {
        let room = tempfile::tempdir().unwrap();
        let turnstile = turnstile(room.path(), None, Some(1));
        std::fs::create_dir_all(&turnstile.folder).unwrap();
        let mut bytes = 1_000_000_i64.to_le_bytes().to_vec();
        bytes.extend([1, 2, 3]);
        std::fs::write(turnstile.folder.join("minute"), bytes).unwrap();
        assert!(matches!(turnstile.begin(1_000_001).unwrap(), Entry::Later(_)));
        assert!(matches!(turnstile.begin(1_060_001).unwrap(), Entry::Open));
    }

    #[test]
    fn nothing_to_keep_is_no_turnstile() {
        assert!(Turnstile::new(Some(Path::new("/x")), "a", Limits::default()).is_none());
    }
}
