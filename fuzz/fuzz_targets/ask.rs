#![no_main]
//! Requests of agents in any protocol, and what a scripted model answers to them.

libfuzzer_sys::fuzz_target!(|data: &[u8]| broker::fuzzing::ask(data));
