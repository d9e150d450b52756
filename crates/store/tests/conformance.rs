//! SQLite passes the suite that every store must pass.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use engine::Store;

/// A database that goes with its directory.
struct Temporary {
    store: store::Sqlite,
    _directory: tempfile::TempDir,
}

impl std::ops::Deref for Temporary {
    type Target = dyn Store;
    fn deref(&self) -> &Self::Target {
        &self.store
    }
}

fn fresh() -> Temporary {
    let directory = tempfile::tempdir().unwrap();
    let store = store::Sqlite::open(&directory.path().join("holdpoint.db")).unwrap();
    Temporary { store, _directory: directory }
}

testkit::store_suite!(fresh());
