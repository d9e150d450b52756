//! The store in memory passes the suite.

use testkit::MemoryStore;

testkit::store_suite!(Box::new(MemoryStore::default()));
