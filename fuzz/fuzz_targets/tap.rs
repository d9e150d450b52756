#![no_main]
//! Answers of models in any protocol, in pieces of any size.

libfuzzer_sys::fuzz_target!(|data: &[u8]| broker::fuzzing::tap(data));
