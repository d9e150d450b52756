//! What SQLite says, in the words of the port.

use engine::StoreError;
use rusqlite::ErrorCode;

/// Tells the kinds of trouble apart: full, busy, read-only, damaged, a failing disk.
pub(crate) fn fault(error: rusqlite::Error) -> StoreError {
    let text = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy,
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => StoreError::ReadOnly(text),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged(text),
        Some(ErrorCode::SystemIoFailure) => StoreError::Disk(text),
        Some(_) => StoreError::Other(text),
        None if is_conversion(&error) => StoreError::Damaged(text),
        None => StoreError::Other(text),
    }
}

/// A column that does not hold what was written there.
fn is_conversion(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..)
            | rusqlite::Error::InvalidColumnType(..)
    )
}

/// The same for the opening of a file, which the message names.
pub(crate) fn fault_at(path: &std::path::Path, error: rusqlite::Error) -> StoreError {
    match fault(error) {
        StoreError::ReadOnly(text) => StoreError::ReadOnly(format!("`{}`: {text}", path.display())),
        StoreError::Damaged(text) => StoreError::Damaged(format!("`{}`: {text}", path.display())),
        StoreError::Disk(text) => StoreError::Disk(format!("`{}`: {text}", path.display())),
        StoreError::Other(text) => StoreError::Other(format!("`{}`: {text}", path.display())),
        plain @ (StoreError::Full | StoreError::Busy | StoreError::TooNew(_) | StoreError::RunUnreadable { .. }) => {
            plain
        }
    }
}
