#![no_main]
//! What a file says is still what it says after it was written and read again.

use drivers::JobKind;
use drivers::task_md::{TaskFile, hand_in, missing};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let file = TaskFile::parse(data);
    let again = TaskFile::parse(file.render().as_bytes());
    assert_eq!(file.verdict(), again.verdict());
    assert_eq!(file.artifacts(), again.artifacts());
    for kind in [JobKind::Code, JobKind::Handoff, JobKind::Lead, JobKind::Review] {
        let _ = (hand_in(kind, &file, &[]), missing(kind, &file));
    }
});
