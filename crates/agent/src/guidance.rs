//! What people say while the agent works, from the file Holdpoint appends to. Never writes it.

use std::io;
use std::path::Path;

use drivers::Guidance;

use crate::lines;

/// What was said after the given number, oldest first. A line that cannot be read is passed over: the file is written
/// beside a working agent, and a broken line must not end it.
pub(crate) fn after(path: &Path, number: u64) -> io::Result<Vec<Guidance>> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let lines = lines::whole(&bytes).split(|byte| *byte == b'\n');
    let mut said: Vec<Guidance> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    said.retain(|guidance| guidance.number > number);
    said.sort_by_key(|guidance| guidance.number);
    said.dedup_by_key(|guidance| guidance.number);
    Ok(said)
}

/// As the model reads it.
pub(crate) fn words(guidance: &Guidance) -> String {
    format!(
        "{}, a person who watches your work, says:\n\n{}\n\nTake this into account from here on and go on with the work.",
        guidance.by.trim(),
        guidance.text.trim()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_new_lines_are_taken_each_once_and_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("guidance.jsonl");
        assert_eq!(after(&path, 0).unwrap(), []);
        let line = |number: u32| {
            format!("{{\"number\":{number},\"by\":\"ada\",\"text\":\"t{number}\",\"at\":\"2026-01-01T00:00:00Z\"}}")
        };
        let text = [line(2), line(1), "broken".to_owned(), line(3), line(3), line(4)].join("\n");
        std::fs::write(&path, text).unwrap();
        let numbers = |after_number| -> Vec<u64> {
            after(&path, after_number).unwrap().iter().map(|guidance| guidance.number).collect()
        };
        assert_eq!(numbers(0), [1, 2, 3], "the fourth line is not whole yet");
        assert_eq!(numbers(2), [3]);
    }
}
