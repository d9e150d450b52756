//! A unified diff as git writes it, cut into files and their lines. Pure.

use std::ops::RangeInclusive;

/// What a diff says about one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileChange<'a> {
    /// Where the file is now; for a removed file, where it was.
    pub(super) path: String,
    /// Its part of the diff, header included.
    pub(super) text: &'a str,
    /// Lines of the new file that the diff shows, changed ones and those around them.
    pub(super) shown: Vec<RangeInclusive<usize>>,
    pub(super) added: usize,
    pub(super) removed: usize,
}

impl FileChange<'_> {
    pub(super) fn shows(&self, line: usize) -> bool {
        self.shown.iter().any(|range| range.contains(&line))
    }

    /// `3-9, 20`, for words to the model.
    pub(super) fn ranges(&self) -> String {
        let words = |range: &RangeInclusive<usize>| match range.start() == range.end() {
            true => range.start().to_string(),
            false => format!("{}-{}", range.start(), range.end()),
        };
        self.shown.iter().map(words).collect::<Vec<_>>().join(", ")
    }
}

pub(super) fn files(diff: &str) -> Vec<FileChange<'_>> {
    let starts: Vec<usize> = starts(diff);
    let ends = starts.iter().skip(1).copied().chain([diff.len()]);
    starts.iter().zip(ends).filter_map(|(start, end)| file(&diff[*start..end])).collect()
}

/// Only the first line of a section begins with these words: lines of content have a sign before them.
fn starts(diff: &str) -> Vec<usize> {
    let mut at = 0;
    let mut found = Vec::new();
    for line in diff.split_inclusive('\n') {
        if line.starts_with("diff --git ") {
            found.push(at);
        }
        at += line.len();
    }
    found
}

fn file(text: &str) -> Option<FileChange<'_>> {
    let mut change = FileChange { path: header_path(text)?, text, shown: Vec::new(), added: 0, removed: 0 };
    let mut body = false;
    for line in text.lines() {
        if let Some(range) = line.strip_prefix("@@ ").and_then(new_range) {
            change.shown.extend(range);
            body = true;
        } else if body {
            match line.as_bytes().first() {
                Some(b'+') => change.added += 1,
                Some(b'-') => change.removed += 1,
                _ => {}
            }
        }
    }
    Some(change)
}

fn header_path(text: &str) -> Option<String> {
    let head: Vec<&str> = text.lines().take_while(|line| !line.starts_with("@@ ")).collect();
    let named = |mark: &str| head.iter().find_map(|line| line.strip_prefix(mark)).map(unquote);
    let side = |mark: &str, letter: &str| named(mark).and_then(|path| path.strip_prefix(letter).map(str::to_owned));
    let named = side("+++ ", "b/").or_else(|| named("rename to ")).or_else(|| side("--- ", "a/"));
    // Without content (a mode, a binary file) both sides of the first line name the same path.
    named.or_else(|| {
        let both = head.first()?.strip_prefix("diff --git ")?;
        let half = both.len() / 2;
        unquote(both.get(half + 1..)?).strip_prefix("b/").map(str::to_owned)
    })
}

/// `-1,2 +3,4 @@ …` to the lines 3 to 6; `None` for a hunk that leaves nothing.
fn new_range(hunk: &str) -> Option<Option<RangeInclusive<usize>>> {
    let (start, count) = {
        let new = hunk.split(' ').find_map(|part| part.strip_prefix('+'))?;
        let (start, count) = new.split_once(',').unwrap_or((new, "1"));
        (start.parse::<usize>().ok()?, count.parse::<usize>().ok()?)
    };
    Some((count > 0).then(|| start..=start + count - 1))
}

/// Git quotes paths with unusual bytes; a tab ends a path with spaces.
fn unquote(path: &str) -> String {
    let path = path.trim_end_matches('\t');
    let Some(inner) = path.strip_prefix('"').and_then(|path| path.strip_suffix('"')) else { return path.to_owned() };
    let mut bytes = Vec::new();
    let mut rest = inner.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    if let Some(digit) = rest.next_if(|byte| (b'0'..=b'7').contains(byte)) {
                        value = value * 8 + u32::from(digit - b'0');
                    }
                }
                bytes.push(u8::try_from(value & 0xff).unwrap_or_default());
            }
            Some(b't') => bytes.push(b'\t'),
            Some(b'n') => bytes.push(b'\n'),
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) const DIFF: &str = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n\
        +++ b/src/a.rs\n@@ -1,3 +1,4 @@ fn x\n one\n-two\n+deux\n+zwei\n three\n@@ -20 +21 @@\n-diff --git a/x b/x\n+y\n\
        diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n\
        diff --git a/old name b/new name\nsimilarity index 100%\nrename from old name\nrename to new name\n\
        diff --git \"a/gr\\303\\274n\" \"b/gr\\303\\274n\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/gr\\303\\274n\"\n\
        @@ -0,0 +1,2 @@\n+a\n+b\ndiff --git a/i.png b/i.png\nindex 3..4 100644\nBinary files a/i.png and b/i.png differ\n";

    #[test]
    fn a_diff_is_cut_into_files_with_their_lines() {
        let files = files(DIFF);
        let seen: Vec<(&str, String, usize, usize)> =
            files.iter().map(|file| (file.path.as_str(), file.ranges(), file.added, file.removed)).collect();
        let wanted = [
            ("src/a.rs", "1-4, 21".to_owned(), 3, 2),
            ("gone.txt", String::new(), 0, 1),
            ("new name", String::new(), 0, 0),
            ("grün", "1-2".to_owned(), 2, 0),
            ("i.png", String::new(), 0, 0),
        ];
        assert_eq!(seen, wanted);
        assert_eq!(files.iter().map(|file| file.text).collect::<String>(), DIFF, "nothing is lost");
        assert!(files[0].shows(4) && !files[0].shows(5));
        assert_eq!(super::files("no diff"), []);
    }
}
