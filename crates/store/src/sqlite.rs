//! The open database: one connection that writes, a few that read, and the port's calls over them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::{Recorded, RunId};
use engine::{
    Batch, CommandKey, Committed, DueTimer, EntryRule, FeedItem, NodeId, OutboxRow, QueueState, Row, RunFilter, Store,
    StoreError, boundary,
};
use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::fault::{fault, fault_at};
use crate::{chain, encode, entry, lease, read, schema, write};

/// More idle readers than this are closed again.
const IDLE_READERS: usize = 4;

/// SQLite behind the engine's port.
pub struct Sqlite {
    path: PathBuf,
    options: Options,
    // Invariant: dropped before the writer, because the last connection to close folds the WAL into the file.
    readers: Mutex<Vec<Connection>>,
    writer: Mutex<Connection>,
}

/// What may differ between databases.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long a write waits for another process.
    pub busy_timeout: Duration,
    /// The largest size of the file, in pages of 4 KiB; a write beyond it is `Full`.
    pub max_pages: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Self { busy_timeout: Duration::from_secs(5), max_pages: None }
    }
}

impl Sqlite {
    /// Opens a database, or makes one.
    ///
    /// # Errors
    /// When the file cannot be written, is damaged, belongs to another program or to a newer version. Nothing is
    /// changed then.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, Options::default())
    }

    /// Opens a database with limits of one's own.
    ///
    /// # Errors
    /// As `open`.
    pub fn open_with(path: &Path, options: Options) -> Result<Self, StoreError> {
        let _alone = alone(path);
        schema::check_file(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let at = |error| fault_at(path, error);
        let mut writer = Connection::open_with_flags(path, flags).map_err(at)?;
        if writer.is_readonly("main").map_err(at)? {
            return Err(StoreError::ReadOnly(format!("`{}` is write-protected", path.display())));
        }
        let journal = set_up_writer(&writer, &options).map_err(at)?;
        if journal != "wal" {
            let text = format!("`{}` lies on a file system without WAL; put it on a local disk", path.display());
            return Err(StoreError::Other(text));
        }
        schema::prepare(&mut writer, path)?;
        Ok(Self { path: path.to_owned(), options, readers: Mutex::new(Vec::new()), writer: Mutex::new(writer) })
    }

    /// Reads every page, and whether rows and events agree; what is found is for people. Slow on a large file.
    ///
    /// # Errors
    /// When the file cannot be read at all.
    pub fn check(&self) -> Result<Vec<String>, StoreError> {
        self.read(read::check)
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let idle = lock(&self.readers).pop();
        let reader = match idle {
            Some(reader) => reader,
            None => self.open_reader().map_err(|error| fault_at(&self.path, error))?,
        };
        let result = work(&reader);
        let mut readers = lock(&self.readers);
        if readers.len() < IDLE_READERS {
            readers.push(reader);
        }
        result
    }

    fn open_reader(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let reader = Connection::open_with_flags(&self.path, flags)?;
        reader.busy_timeout(self.options.busy_timeout)?;
        reader.pragma_update(None, "mmap_size", 0)?;
        reader.pragma_update(None, "cache_size", -8 * 1024)?;
        Ok(reader)
    }

    /// Runs work in one durable transaction; what fails leaves nothing behind.
    fn transact<T>(&self, work: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut writer = lock(&self.writer);
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
        let done = work(&transaction)?;
        boundary("store.commit.before");
        transaction.commit().map_err(fault)?;
        boundary("store.commit.after");
        Ok(done)
    }
}

/// Returns the journal mode: SQLite keeps another one where it cannot have a WAL.
fn set_up_writer(writer: &Connection, options: &Options) -> rusqlite::Result<String> {
    writer.busy_timeout(options.busy_timeout)?;
    writer.set_prepared_statement_cache_capacity(64);
    let journal = writer.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    // FULL: a commit that was reported survives a power cut.
    writer.pragma_update(None, "synchronous", "FULL")?;
    writer.pragma_update(None, "foreign_keys", true)?;
    writer.pragma_update(None, "mmap_size", 0)?;
    writer.pragma_update(None, "cache_size", -64 * 1024)?;
    writer.pragma_update_and_check(None, "wal_autocheckpoint", 4000, |_| Ok(()))?;
    writer.pragma_update_and_check(None, "journal_size_limit", 64 * 1024 * 1024, |_| Ok(()))?;
    if let Some(pages) = options.max_pages {
        writer.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    Ok(journal)
}

/// Held while a file is opened: two that turn a new file into a WAL at once make SQLite refuse one of them without
/// waiting. Where no lock can be had SQLite says better what is wrong with the place.
pub(crate) fn alone(path: &Path) -> Option<File> {
    let mut name = path.as_os_str().to_owned();
    name.push("-opening");
    let file = File::options().create(true).append(true).open(name).ok()?;
    file.lock().ok()?;
    Some(file)
}

/// A panic while the lock was held has rolled its transaction back, so what is behind it is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store for Sqlite {
    fn commit(&self, batch: &Batch) -> Result<Committed, StoreError> {
        self.transact(|connection| {
            let appended = write::appends(connection, &batch.appends)?;
            let (leased, queued) = match &batch.lease {
                Some(wish) => lease::lease(connection, wish)?,
                None => (Vec::new(), 0),
            };
            Ok(Committed { appended, leased, queued, position: read::position(connection)? })
        })
    }

    fn events(&self, run: &RunId, after: u64) -> Result<Vec<Recorded>, StoreError> {
        self.read(|connection| read::events(connection, run, after))
    }

    fn run_hash(&self, run: &RunId, sequence: u64) -> Result<Option<String>, StoreError> {
        self.read(|connection| chain::told(connection, run, sequence))
    }

    fn feed(&self, after: u64, limit: usize) -> Result<Vec<FeedItem>, StoreError> {
        self.read(|connection| read::feed(connection, after, limit))
    }

    fn feed_of(&self, types: &[&str], after: u64, limit: usize) -> Result<Vec<FeedItem>, StoreError> {
        self.read(|connection| read::feed_of(connection, types, after, limit))
    }

    fn position(&self) -> Result<u64, StoreError> {
        self.read(read::position)
    }

    fn row(&self, run: &RunId) -> Result<Option<Row>, StoreError> {
        self.read(|connection| read::row(connection, run))
    }

    fn rows(&self, filter: &RunFilter) -> Result<Vec<Row>, StoreError> {
        self.read(|connection| read::rows(connection, filter))
    }

    fn ids_with_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<RunId>, StoreError> {
        self.read(|connection| read::ids_with_prefix(connection, prefix, limit))
    }

    fn command(&self, key: &CommandKey) -> Result<Option<(RunId, u64)>, StoreError> {
        self.read(|connection| read::command(connection, key))
    }

    fn due_timers(&self, now: Timestamp, limit: usize) -> Result<Vec<DueTimer>, StoreError> {
        self.read(|connection| read::due_timers(connection, now, limit))
    }

    fn next_timer(&self) -> Result<Option<Timestamp>, StoreError> {
        self.read(|connection| {
            let sql = "SELECT min(due) FROM timers";
            let due: Option<i64> = connection.query_row(sql, [], |row| row.get(0)).map_err(fault)?;
            due.map(encode::timestamp).transpose()
        })
    }

    fn release_all_leases(&self) -> Result<u64, StoreError> {
        self.transact(lease::release_all)
    }

    fn renew(&self, node: &NodeId, until: Timestamp) -> Result<u64, StoreError> {
        self.transact(|connection| lease::renew(connection, node, until))
    }

    fn outbox(&self, run: Option<&RunId>) -> Result<Vec<OutboxRow>, StoreError> {
        self.read(|connection| read::outbox(connection, run))
    }

    fn queue(&self, run: &RunId, rule: &EntryRule) -> Result<Option<QueueState>, StoreError> {
        self.read(|connection| entry::state(connection, run, rule))
    }
}
