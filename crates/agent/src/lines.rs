//! Files of one JSON value per line that only grow. Cuts off a torn last line, never anything else.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::Serialize;

/// Opens or creates a file for appending.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

/// Reads the whole lines, cuts off the rest and stands at the end.
pub(crate) fn take_in(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    let whole = whole(&bytes).len();
    if whole < bytes.len() {
        file.set_len(whole as u64)?;
    }
    file.seek(SeekFrom::Start(whole as u64))?;
    bytes.truncate(whole);
    Ok(bytes)
}

/// Everything up to the last line break.
pub(crate) fn whole(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1)]
}

/// Appends one value; it is on the disk only after a sync.
pub(crate) fn append(file: &mut File, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    file.write_all(&line)
}
