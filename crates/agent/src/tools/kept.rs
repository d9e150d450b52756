//! A list in the session folder that only grows: one line of JSON each, on the disk before the call is answered.
//! A call that is made again after a crash adds nothing twice.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ToolError;

const MOST_ENTRIES: usize = 500;

/// Whether an entry is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Added {
    New,
    AlreadyThere,
}

/// All whole lines; a torn last one was never answered and does not count.
pub(super) fn all<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, ToolError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(failed(source)),
    };
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| serde_json::from_str(line).map_err(|error| failed(error.into()))).collect()
}

pub(super) fn add<T: Serialize + DeserializeOwned + PartialEq>(path: &Path, entry: &T) -> Result<Added, ToolError> {
    // Calls of one turn may run at the same time; this process is the only one in its session.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let there: Vec<T> = all(path)?;
    if there.contains(entry) {
        return Ok(Added::AlreadyThere);
    }
    if there.len() >= MOST_ENTRIES {
        return Err(ToolError::Refused(format!("there are {MOST_ENTRIES} already, which is all that is kept")));
    }
    append(path, entry).map_err(failed)?;
    Ok(Added::New)
}

fn append<T: Serialize>(path: &Path, entry: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    cut_torn_end(&file, path)?;
    file.write_all(&line)?;
    file.sync_data()
}

fn cut_torn_end(file: &File, path: &Path) -> io::Result<()> {
    let bytes = std::fs::read(path)?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    if whole < bytes.len() { file.set_len(whole as u64) } else { Ok(()) }
}

fn failed(source: io::Error) -> ToolError {
    ToolError::Io { what: "what you said could not be kept".to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_once_each_and_a_torn_line_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.jsonl");
        assert_eq!(add(&path, &"one\ntwo".to_owned()).unwrap(), Added::New);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, [whole.as_slice(), b"\"thr"].concat()).unwrap();
        assert_eq!(all::<String>(&path).unwrap(), ["one\ntwo"]);
        assert_eq!(add(&path, &"one\ntwo".to_owned()).unwrap(), Added::AlreadyThere);
        assert_eq!(add(&path, &"four".to_owned()).unwrap(), Added::New);
        assert_eq!(all::<String>(&path).unwrap(), ["one\ntwo", "four"]);
    }
}
