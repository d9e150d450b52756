//! Long output: the model sees both ends, the whole is kept in the session folder, and `read_file` can open it there.
//! Never throws anything away below the size of a file it refuses to read.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::tools::Desk;

/// How kept output is named to the model; no file of the workspace.
const PREFIX: &str = ".holdpoint/";
/// Bytes of one result the model is shown: as much as `read_file` gives at once.
const MOST: usize = 68 * 1024;
/// Bytes of all results of one turn, from which on each is shown shortly.
const MOST_OF_TURN: usize = 256 * 1024;
const SHORT: usize = 4 * 1024;
/// Bytes kept: as many as `read_file` opens.
const MOST_KEPT: usize = 8 * 1024 * 1024;

/// How much of the next result is shown when the turn's results have that many bytes already.
pub(crate) fn limit(shown: usize) -> usize {
    if shown < MOST_OF_TURN { MOST } else { SHORT }
}

/// The text as the model sees it.
pub(crate) fn cut(folder: &Path, text: String, limit: usize) -> io::Result<String> {
    if text.len() <= limit {
        return Ok(text);
    }
    let kept = &text[..text.floor_char_boundary(MOST_KEPT)];
    let name = keep(folder, kept.as_bytes())?;
    let head = &text[..text.floor_char_boundary(limit / 3)];
    let tail = &text[text.ceil_char_boundary(text.len() - (limit - limit / 3))..];
    Ok(format!("{head}\n{}\n{tail}", left_out(text.len() - head.len() - tail.len(), &name, kept)))
}

/// What stands where something is missing.
pub(crate) fn left_out(bytes: usize, name: &str, kept: &str) -> String {
    let lines = kept.lines().count();
    format!("… ({bytes} bytes left out; the whole output, {lines} lines, is in `{name}`: read parts with read_file) …")
}

/// Keeps bytes in a new file and says by what name `read_file` knows it.
pub(crate) fn keep(folder: &Path, bytes: &[u8]) -> io::Result<String> {
    std::fs::create_dir_all(folder)?;
    let mut number = std::fs::read_dir(folder)?.count() + 1;
    while folder.join(file_name(number)).exists() {
        number += 1;
    }
    std::fs::write(folder.join(file_name(number)), bytes)?;
    Ok(format!("{PREFIX}{}", file_name(number)))
}

fn file_name(number: usize) -> String {
    format!("output-{number}.txt")
}

impl Desk {
    /// The kept output of that name, if it is one.
    pub(crate) fn kept_output(&self, path: &str) -> Option<File> {
        let name = path.strip_prefix("./").unwrap_or(path).strip_prefix(PREFIX)?;
        let number: usize = name.strip_prefix("output-")?.strip_suffix(".txt")?.parse().ok()?;
        File::open(self.outputs.join(file_name(number))).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_text_stays_and_long_text_is_cut_in_the_middle_between_characters() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(cut(folder.path(), "short".into(), 10).unwrap(), "short");
        let text = format!("start\n{}\nend", "é\n".repeat(40_000));
        let shown = cut(folder.path(), text.clone(), limit(0)).unwrap();
        assert!(shown.len() < limit(0) + 200, "{}", shown.len());
        assert!(shown.starts_with("start\n") && shown.ends_with("\nend"));
        assert!(shown.contains("40003 lines, is in `.holdpoint/output-1.txt`"), "{}", shown.len());
        assert_eq!(std::fs::read_to_string(folder.path().join("output-1.txt")).unwrap(), text);
        assert!(cut(folder.path(), text, limit(usize::MAX)).unwrap().len() < SHORT + 200);
        assert!(folder.path().join("output-2.txt").exists());
    }
}
