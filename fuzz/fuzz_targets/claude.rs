#![no_main]

use domain::AgentProgram;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::drive(&AgentProgram::Claude, data));
