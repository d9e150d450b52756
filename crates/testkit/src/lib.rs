//! What tests of several rooms need: a store in memory, runners that follow a script, samples, and the suite that
//! every store must pass. Never part of the product.
#![warn(clippy::wildcard_enum_match_arm)]

mod entry_suite;
pub mod faulty;
pub mod history;
pub mod memory;
pub mod moves;
pub mod runner;
pub mod samples;
pub mod search;
pub mod sim;
pub mod store_suite;

pub use faulty::{FaultyStore, StoreFault};
pub use history::{History, append};
pub use memory::MemoryStore;
pub use runner::{AgreeableRunner, ScriptedRunner, agree};
