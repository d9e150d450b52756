//! What the core answers to each command, one sentence per test, one file per thing.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod assumptions;
mod attach;
mod basics;
mod conversation;
mod family;
mod finishing;
mod forks;
mod gates;
mod goals;
mod handing_out;
mod kit;
mod limits;
mod memory;
mod pauses;
mod secrets;
mod taint;
mod task_flow;
mod tasks;
