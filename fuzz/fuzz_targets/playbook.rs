#![no_main]
//! A playbook that is accepted can be drawn and listed; one that is not is refused with reasons.

use domain::Playbook;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Playbook::parse("own.toml", text) {
        Ok(playbook) => {
            let _ = (playbook.mermaid(), playbook.page(), playbook.table(false), playbook.table(true), playbook.words());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let _ = Playbook::check("own.toml", text);
});
