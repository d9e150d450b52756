//! Keeps the index in step with the folder: what did not change by size, time or content is not read again.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use ignore::WalkBuilder;
use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};

use crate::chunk;
use crate::language::Language;
use crate::store::{self, Index, IndexError, Known, Prepared, Row};

const MOST_BYTES: u64 = 1024 * 1024;
const MOST_FILES: usize = 50_000;
/// Files in one transaction: a kill in between loses no more than this.
const BATCH: usize = 500;
/// A file younger than this may be changed again without its time showing it.
const YOUNG: i64 = 2_000_000_000;

/// What a refresh did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// Files in the index now.
    pub files: usize,
    /// Read and cut into chunks.
    pub indexed: usize,
    /// Looked at again and found to be the same.
    pub same: usize,
    /// Gone from the folder.
    pub removed: usize,
}

/// A file of the folder.
struct Found {
    path: String,
    size: i64,
    mtime: i64,
    known: Option<Known>,
}

/// What looking at a file came to.
enum Looked {
    Same {
        id: i64,
        size: i64,
        mtime: i64,
    },
    New(Prepared),
    /// Binary, or gone in the meantime.
    Nothing {
        path: String,
    },
}

impl Index {
    /// Brings the index up to date with a folder.
    pub fn refresh(&mut self, root: &Path) -> Result<Refreshed, IndexError> {
        let known = store::known(&self.connection).map_err(|source| self.failed(source))?;
        let mut known: HashMap<String, Known> = known.into_iter().collect();
        let mut done = Refreshed::default();
        let mut changed = Vec::new();
        for mut found in walk(root)? {
            done.files += 1;
            match known.remove(&found.path) {
                Some(old) if old.mtime != 0 && (old.size, old.mtime) == (found.size, found.mtime) => {}
                old => {
                    found.known = old;
                    changed.push(found);
                }
            }
        }
        let gone: Vec<String> = known.into_keys().collect();
        done.removed = gone.len();
        self.forget(&gone).map_err(|source| self.failed(source))?;
        self.look(root, changed, &mut done).map_err(|source| self.failed(source))?;
        if done.indexed + done.removed > 0 {
            // Only now: a chunk that moved or came back with its file keeps its vector.
            self.forget_orphans().map_err(|source| self.failed(source))?;
        }
        Ok(done)
    }

    fn forget(&mut self, gone: &[String]) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        for path in gone {
            store::remove(&transaction, path)?;
        }
        transaction.commit()
    }

    /// Files are read and cut on as many threads as there are; only this one writes.
    fn look(&mut self, root: &Path, changed: Vec<Found>, done: &mut Refreshed) -> rusqlite::Result<()> {
        let threads = std::thread::available_parallelism().map_or(1, |count| count.get().min(8));
        let work = Mutex::new(changed.into_iter());
        let (sender, receiver) = sync_channel(64);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let sender = sender.clone();
                let work = &work;
                scope.spawn(move || {
                    let next = || work.lock().unwrap_or_else(PoisonError::into_inner).next();
                    while let Some(found) = next() {
                        if sender.send(look_at(root, found)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            // The receiver ends with this call, so that threads stop when the database refuses.
            self.take_in(receiver, done)
        })
    }

    fn take_in(&mut self, looked: Receiver<Looked>, done: &mut Refreshed) -> rusqlite::Result<()> {
        let mut open = true;
        while open {
            let transaction = self.connection.transaction()?;
            for _ in 0..BATCH {
                let Ok(looked) = looked.recv() else {
                    open = false;
                    break;
                };
                match looked {
                    Looked::Same { id, size, mtime } => {
                        store::touch(&transaction, id, size, mtime)?;
                        done.same += 1;
                    }
                    Looked::New(file) => {
                        store::put(&transaction, &file)?;
                        done.indexed += 1;
                    }
                    Looked::Nothing { path } => {
                        store::remove(&transaction, &path)?;
                        done.files -= 1;
                    }
                }
            }
            transaction.commit()?;
        }
        Ok(())
    }
}

fn walk(root: &Path) -> Result<Vec<Found>, IndexError> {
    let failed = |source| IndexError::Folder { path: root.to_owned(), source };
    std::fs::read_dir(root).map_err(failed)?;
    // Rules above the folder and in the user's home are not part of the repository.
    let entries = WalkBuilder::new(root)
        .hidden(false)
        .parents(false)
        .git_global(false)
        .require_git(false)
        .follow_links(false)
        .max_filesize(Some(MOST_BYTES))
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    let mut found = Vec::new();
    for entry in entries.filter_map(Result::ok).filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file())) {
        let Ok(metadata) = entry.metadata() else { continue };
        let path = entry.path().strip_prefix(root).map(PathBuf::from).unwrap_or_default();
        // A path that is not UTF-8 could not be named to anybody.
        let Some(path) = path.to_str().map(str::to_owned) else { continue };
        let mtime = metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec());
        let size = i64::try_from(metadata.size()).unwrap_or(i64::MAX);
        found.push(Found { path, size, mtime, known: None });
        if found.len() >= MOST_FILES {
            break;
        }
    }
    Ok(found)
}

fn look_at(root: &Path, found: Found) -> Looked {
    let Found { path, size, mtime, known } = found;
    let Some(bytes) = content(&root.join(&path)) else { return Looked::Nothing { path } };
    let mtime = if now() - mtime < YOUNG { 0 } else { mtime };
    let digest = Sha256::digest(&bytes);
    let mut hash = [0; 16];
    hash.copy_from_slice(&digest[..16]);
    if let Some(known) = known.filter(|known| known.hash == hash) {
        return Looked::Same { id: known.id, size, mtime };
    }
    let Ok(text) = String::from_utf8(bytes) else { return Looked::Nothing { path } };
    let chunks = chunk::of(Language::of(Path::new(&path)), Path::new(&path), &text);
    Looked::New(Prepared { rows: chunks.iter().map(|chunk| Row::of(&path, chunk)).collect(), path, size, mtime, hash })
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// The bytes of a regular text file; links are not followed and pipes not waited for.
pub(crate) fn content(path: &Path) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    let text = !bytes.iter().take(8 * 1024).any(|byte| *byte == 0);
    text.then_some(bytes)
}
