//! What comes in with a client's key and what goes out as notices, in a file of its own: no run depends on it, and the
//! engine never reads it. Every step is one transaction, so that a kill leaves it before or after.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::StoreError;
use rusqlite::{Connection, TransactionBehavior};

use crate::fault::{fault, fault_at};
use crate::sqlite::alone;

const SCHEMA: &str = include_str!("../migrations/P1__post.sql");
const VERSION: i64 = 1;

/// The open file.
pub struct Post {
    connection: Mutex<Connection>,
}

impl Post {
    /// Opens the file, or makes one.
    ///
    /// # Errors
    /// When it cannot be written, is damaged or made by a newer version.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let at = |error| fault_at(path, error);
        let _alone = alone(path);
        let mut connection = Connection::open(path).map_err(at)?;
        connection.busy_timeout(Duration::from_secs(5)).map_err(at)?;
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).map_err(at)?;
        // A power cut may cost the last moments: what was read of the feed is then read again, under the same ids.
        connection.pragma_update(None, "synchronous", "NORMAL").map_err(at)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(at)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(at)?;
        let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(at)?;
        match found {
            0 => {
                transaction.execute_batch(SCHEMA).map_err(at)?;
                transaction.pragma_update(None, "user_version", VERSION).map_err(at)?;
            }
            VERSION => {}
            newer => {
                let text = format!("`{}` has schema {newer}, this version knows {VERSION}", path.display());
                return Err(StoreError::TooNew(text));
            }
        }
        transaction.commit().map_err(at)?;
        Ok(Self { connection: Mutex::new(connection) })
    }

    pub(crate) fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something whole or not at all.
    pub(crate) fn transact<T>(&self, work: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut connection = self.connection();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
        let done = work(&transaction)?;
        transaction.commit().map_err(fault)?;
        Ok(done)
    }
}
