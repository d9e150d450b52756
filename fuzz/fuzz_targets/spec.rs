#![no_main]
//! Plans with diagrams, and diagrams alone.

use spec::{Diagram, Spec};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Spec::parse(text) {
        Ok(spec) => {
            let _ = spec.constraints().to_json();
        }
        Err(error) => assert!(!error.retry_prompt().is_empty()),
    }
    if let Ok(diagram) = Diagram::parse(text) {
        let _ = spec::Constraints::from_diagrams([&diagram]).all();
    }
});
