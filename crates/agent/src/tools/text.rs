//! The text of a file that a model may look at or change. Binary, huge and foreign encodings are refused with a way on.

use std::io::Read;

use super::{Desk, ToolError};

pub(super) const MOST_BYTES: u64 = 8 * 1024 * 1024;
const LOOKED_AT: usize = 8 * 1024;

/// What the bytes of a file are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Text {
    Utf8(String),
    /// Some 8-bit encoding; shown with replacement characters, never written back.
    Foreign(String),
}

/// Reads a whole text file.
pub(super) fn read(desk: &Desk, path: &str) -> Result<Text, ToolError> {
    let io = |source| ToolError::Io { what: format!("`{path}` cannot be read"), source };
    let file = desk.kept_output(path).map_or_else(|| desk.workspace.open_file(path), Ok)?;
    let size = file.metadata().map_err(io)?.len();
    if size > MOST_BYTES {
        return Err(ToolError::Refused(format!(
            "`{path}` has {size} bytes, more than can be handled at once; look for what you need with grep"
        )));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(io)?;
    if let [0xff, 0xfe, ..] | [0xfe, 0xff, ..] = bytes.as_slice() {
        return Err(ToolError::Refused(format!(
            "`{path}` is UTF-16 text; see it with a shell command such as `iconv -f UTF-16 -t UTF-8 {path}`"
        )));
    }
    if bytes.iter().take(LOOKED_AT).any(|byte| *byte == 0) {
        return Err(ToolError::Refused(format!("`{path}` is a binary file ({size} bytes); it is not shown")));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => Text::Utf8(text),
        Err(error) => Text::Foreign(String::from_utf8_lossy(error.as_bytes()).into_owned()),
    })
}

/// Reads a file that is to be changed: only UTF-8 can be written back as it was.
pub(super) fn for_change(desk: &Desk, path: &str) -> Result<String, ToolError> {
    if desk.kept_output(path).is_some() {
        return Err(ToolError::Refused(format!("`{path}` is the output of a command, kept to be read; it is no file")));
    }
    match read(desk, path)? {
        Text::Utf8(text) => Ok(text),
        Text::Foreign(_) => Err(ToolError::Refused(format!(
            "`{path}` is not UTF-8, so an edit could damage other parts of it; change it with a shell command that works \
             on bytes (`LC_ALL=C sed -i …`), or convert it first with iconv if the task asks for that"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::desk;
    use super::*;

    #[test]
    fn each_kind_of_content_is_read_or_refused_with_a_way_on() {
        let (_folder, desk) = desk(&[("plain", "\u{feff}grün\r\n"), ("bin", "a\0b")]);
        let root = desk.workspace.root().to_owned();
        std::fs::write(root.join("latin"), b"gr\xfcn\n").unwrap();
        std::fs::write(root.join("wide"), b"\xff\xfea\0\n\0").unwrap();
        std::fs::File::create(root.join("huge")).unwrap().set_len(MOST_BYTES + 1).unwrap();
        assert_eq!(read(&desk, "plain").unwrap(), Text::Utf8("\u{feff}grün\r\n".to_owned()));
        assert_eq!(read(&desk, "latin").unwrap(), Text::Foreign("gr\u{fffd}n\n".to_owned()));
        for (path, words) in
            [("latin", "not UTF-8"), ("wide", "UTF-16"), ("bin", "binary"), ("huge", "grep"), ("no", "does not exist")]
        {
            let refused = for_change(&desk, path).unwrap_err().to_string();
            assert!(refused.contains(words), "{path}: {refused}");
        }
    }
}
