//! The index on disk: one SQLite file with places, words and vectors, and no text. A file that cannot be used is made anew.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, params};

use crate::chunk::Chunk;
use crate::refresh::Refreshed;
use crate::spoken::{self, Digest};
use crate::words;

/// Changes whenever the same text would be stored otherwise; an index of another version is made anew.
const VERSION: i64 = 2;
const SCHEMA: &str = "
CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, mtime INTEGER NOT NULL,
    hash BLOB NOT NULL);
CREATE TABLE chunks (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    symbol TEXT, digest BLOB NOT NULL);
CREATE INDEX chunks_file ON chunks (file);
CREATE INDEX chunks_digest ON chunks (digest);
CREATE TABLE embedding (only INTEGER PRIMARY KEY CHECK (only = 1), model TEXT NOT NULL, dimension INTEGER NOT NULL);
CREATE TABLE vectors (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, vector BLOB NOT NULL);
CREATE VIRTUAL TABLE words USING fts5 (path, names, docs, body, content='', contentless_delete=1,
    tokenize='porter unicode61');
";
/// Bytes of a chunk's body whose words are kept.
const MOST_BODY: usize = 16 * 1024;

/// Why the index could not be used.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The database refused.
    #[error("the index `{}` cannot be used: {source}", .path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The folder cannot be read.
    #[error("`{}` cannot be indexed: {source}", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Numbers that are no vector of the model in use.
    #[error("a vector cannot be used: {0}")]
    Vector(String),
}

/// An open index.
#[derive(Debug)]
pub struct Index {
    pub(crate) connection: Connection,
    path: PathBuf,
}

/// What is known about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) id: i64,
    pub(crate) size: i64,
    /// Nanoseconds; 0 if the file was so young that a later change might not show.
    pub(crate) mtime: i64,
    pub(crate) hash: [u8; 16],
}

impl Index {
    /// Opens or creates it. A damaged one, or one of another version, is thrown away: it can be made again.
    pub fn open(path: &Path) -> Result<Self, IndexError> {
        match Self::try_open(path) {
            Err(error) if worthless(&error) => {
                throw_away(path);
                Self::try_open(path)
            }
            opened => opened,
        }
        .map_err(|source| IndexError::Database { path: path.to_owned(), source })
    }

    /// Opens the index and brings it up to date. Damage that shows only now has it made anew, too.
    pub fn open_for(path: &Path, root: &Path) -> Result<(Self, Refreshed), IndexError> {
        let mut index = Self::open(path)?;
        match index.refresh(root) {
            Err(error) if error.is_damage() => index.made_anew(root),
            done => done.map(|done| (index, done)),
        }
    }

    /// Throws the index away and makes it again.
    pub fn made_anew(self, root: &Path) -> Result<(Self, Refreshed), IndexError> {
        let Self { connection, path } = self;
        drop(connection);
        throw_away(&path);
        let mut index = Self::open(&path)?;
        let done = index.refresh(root)?;
        Ok((index, done))
    }

    fn try_open(path: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        // A copy of something else: after a power cut it is made again. A kill loses nothing.
        connection.execute_batch(
            "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = OFF; PRAGMA trusted_schema = OFF;
             PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY;",
        )?;
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        let empty: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        match (version, empty) {
            (0, 0) => {
                connection.execute_batch(&format!("BEGIN; {SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;"))?;
            }
            (VERSION, _) => {
                connection.query_row("SELECT count(*) FROM files", [], |row| row.get::<_, i64>(0))?;
            }
            (_, _) => return Err(rusqlite::Error::InvalidQuery),
        }
        Ok(Self { connection, path: path.to_owned() })
    }

    pub(crate) fn failed(&self, source: rusqlite::Error) -> IndexError {
        IndexError::Database { path: self.path.clone(), source }
    }
}

impl IndexError {
    /// Whether the file itself is broken, so that it has to be made anew.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Database { source, .. } => worthless(source),
            Self::Folder { .. } | Self::Vector(_) => false,
        }
    }
}

fn throw_away(path: &Path) {
    for ending in ["", "-journal", "-wal", "-shm"] {
        // What is not there need not be removed; what cannot be removed shows when it is opened again.
        let _ = std::fs::remove_file(format!("{}{ending}", path.display()));
    }
}

fn worthless(error: &rusqlite::Error) -> bool {
    let damaged = matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown)
    );
    damaged || matches!(error, rusqlite::Error::InvalidQuery)
}

pub(crate) fn known(connection: &Connection) -> rusqlite::Result<Vec<(String, Known)>> {
    let mut query = connection.prepare("SELECT path, id, size, mtime, hash FROM files")?;
    let rows = query.query_map([], |row| {
        Ok((row.get(0)?, Known { id: row.get(1)?, size: row.get(2)?, mtime: row.get(3)?, hash: row.get(4)? }))
    })?;
    rows.collect()
}

pub(crate) fn touch(connection: &Connection, id: i64, size: i64, mtime: i64) -> rusqlite::Result<()> {
    let mut update = connection.prepare_cached("UPDATE files SET size = ?2, mtime = ?3 WHERE id = ?1")?;
    update.execute(params![id, size, mtime]).map(drop)
}

pub(crate) fn remove(connection: &Connection, path: &str) -> rusqlite::Result<()> {
    let id: Option<i64> = connection
        .prepare_cached("SELECT id FROM files WHERE path = ?1")?
        .query_row([path], |row| row.get(0))
        .optional()?;
    let Some(id) = id else { return Ok(()) };
    connection
        .prepare_cached("DELETE FROM words WHERE rowid IN (SELECT id FROM chunks WHERE file = ?1)")?
        .execute([id])?;
    connection.prepare_cached("DELETE FROM chunks WHERE file = ?1")?.execute([id])?;
    connection.prepare_cached("DELETE FROM files WHERE id = ?1")?.execute([id]).map(drop)
}

/// The words of one chunk, ready to be stored.
#[derive(Debug)]
pub(crate) struct Row {
    first: i64,
    last: i64,
    symbol: Option<String>,
    names: String,
    docs: String,
    body: String,
    digest: Digest,
}

/// A file, ready to be stored.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) path: String,
    pub(crate) size: i64,
    pub(crate) mtime: i64,
    pub(crate) hash: [u8; 16],
    pub(crate) rows: Vec<Row>,
}

impl Row {
    pub(crate) fn of(path: &str, chunk: &Chunk) -> Self {
        let line = |line: usize| i64::try_from(line).unwrap_or(i64::MAX);
        let body = &chunk.body[..chunk.body.floor_char_boundary(MOST_BODY)];
        Self {
            first: line(chunk.first),
            last: line(chunk.last),
            symbol: chunk.symbol.clone(),
            names: words::of(chunk.symbol.as_deref().unwrap_or_default()),
            docs: words::of(&chunk.docs),
            body: words::of(body),
            digest: spoken::digest(&spoken::text(path, chunk)),
        }
    }
}

pub(crate) fn put(transaction: &Transaction<'_>, file: &Prepared) -> rusqlite::Result<()> {
    remove(transaction, &file.path)?;
    transaction
        .prepare_cached("INSERT INTO files (path, size, mtime, hash) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![file.path, file.size, file.mtime, file.hash])?;
    let id = transaction.last_insert_rowid();
    let path = words::of(&file.path);
    for row in &file.rows {
        transaction
            .prepare_cached("INSERT INTO chunks (file, first, last, symbol, digest) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![id, row.first, row.last, row.symbol, row.digest])?;
        let chunk = transaction.last_insert_rowid();
        transaction
            .prepare_cached("INSERT INTO words (rowid, path, names, docs, body) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![chunk, path, row.names, row.docs, row.body])?;
    }
    Ok(())
}
