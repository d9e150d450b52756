//! Conflict markers left in files: `<<<<<<<`, `=======` and `>>>>>>>` at the start of lines, in
//! this order. One of them alone, as under a heading, is text like any other.

use super::names::shown;
use super::objects::{Blobs, EntryMode};
use super::{GitError, PrivateRepo, TreeIsh};

const MARKERS: [&[u8]; 3] = [b"<<<<<<<", b"=======", b">>>>>>>"];

/// Which of these paths, written as `shown` writes them, have conflict markers in the tree.
pub(crate) fn with_markers(
    private: &PrivateRepo,
    tree: &impl TreeIsh,
    paths: &[String],
) -> Result<Vec<String>, GitError> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let mut blobs = Blobs::of(private)?;
    let mut found = Vec::new();
    for (path, entry) in private.files(tree)?.0 {
        let name = shown(&path);
        let has_text = matches!(entry.mode, EntryMode::File | EntryMode::Executable);
        if has_text && paths.contains(&name) && has_markers(&blobs.read(&entry.id)?) {
            found.push(name);
        }
    }
    blobs.end()?;
    Ok(found)
}

fn has_markers(content: &[u8]) -> bool {
    let mut wanted = MARKERS.iter().peekable();
    for line in content.split(|b| *b == b'\n') {
        wanted.next_if(|marker| is_marker(line, marker));
    }
    wanted.peek().is_none()
}

/// A marker is followed by nothing or by a space and a label.
fn is_marker(line: &[u8], marker: &[u8]) -> bool {
    line.strip_prefix(marker).is_some_and(|rest| matches!(rest.first(), None | Some(b' ' | b'\r')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_count_only_all_three_in_order_at_line_starts() {
        for text in [
            "a\n<<<<<<< one\nb\n=======\nc\n>>>>>>> two\n",
            "<<<<<<<\r\n=======\r\n>>>>>>>",
            "<<<<<<< a\n||||||| base\nx\n=======\n>>>>>>> b",
        ] {
            assert!(has_markers(text.as_bytes()), "{text:?} was missed");
        }
        for text in [
            "",
            "Heading\n=======\n",
            "<<<<<<< one\n>>>>>>> two\n",
            ">>>>>>> a\n=======\n<<<<<<< b\n",
            " <<<<<<< a\n =======\n >>>>>>> b\n",
            "<<<<<<<< a\n========\n>>>>>>>> b\n",
            "<<<<<<< a\n=======\n",
        ] {
            assert!(!has_markers(text.as_bytes()), "{text:?} was taken for a conflict");
        }
    }
}
