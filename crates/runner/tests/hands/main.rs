//! Whole runs over the real path: engine, hands, sandboxed agent processes, git. Only the model is scripted.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod asks;
mod by_hand;
mod changed_tests;
mod direct;
mod embeddings;
mod forks;
mod goal;
mod hostile;
mod landing;
mod mcp;
mod memory;
mod program;
mod program_stops;
mod providers;
mod sandboxed;
mod secrets;
mod staged;
mod taint;
mod task;
mod task_md;
mod team;
mod tools;
mod world;
