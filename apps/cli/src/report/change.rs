//! A change of code for people: the whole list of files with true counts, and the diff of each. Hidden characters are
//! written as escapes; no name and no line is cut. Pure.

use wire::{BinaryView, ChangeTotals, ChangedFileView, ChangesView, FileDiffView, SideView, reveal};

use super::{
    style::{BAD, BOLD, DIM, GOOD},
    words::count,
};
use crate::change::{Loaded, Section};

/// A name on one line, with everything in it seen.
fn name(path: &str) -> String {
    reveal(path).replace('\n', "\\n").replace('\t', "\\t")
}

/// Every file of a change, and what they add up to.
pub(crate) fn list(change: &ChangesView) -> String {
    let longest = change.files.iter().map(|file| name(&file.path).chars().count()).max().unwrap_or(0).min(60);
    let mut lines: Vec<String> = change.files.iter().map(|file| line(file, longest)).collect();
    lines.push(format!("  {}", totals(&change.total)));
    lines.join("\n")
}

/// `3 files, +12 −1, 1 binary`
pub(crate) fn totals(total: &ChangeTotals) -> String {
    let binary = if total.binary > 0 { format!(", {} binary", total.binary) } else { String::new() };
    format!("{}, +{} −{}{binary}", count(total.files, "file", "files"), total.added, total.deleted)
}

fn line(file: &ChangedFileView, longest: usize) -> String {
    let about = about(file);
    let about = if about.is_empty() { String::new() } else { format!("  {DIM}{}{DIM:#}", about.join(", ")) };
    let counts = match (file.added, file.deleted) {
        (Some(added), Some(deleted)) => format!("{GOOD}+{added}{GOOD:#} {BAD}−{deleted}{BAD:#}"),
        (_, _) => format!("{DIM}binary{DIM:#}"),
    };
    format!("  {} {:<longest$}  {counts}{about}", name(&file.status), name(&file.path))
}

/// What a name and counts do not say.
pub(crate) fn about(file: &ChangedFileView) -> Vec<String> {
    let mut about: Vec<String> = file.from.iter().map(|from| format!("was {}", name(from))).collect();
    let mode = |side: &Option<SideView>| side.as_ref().map(|side| kind(&side.mode).to_owned());
    match (mode(&file.old), mode(&file.new)) {
        (Some(old), Some(new)) if old != new => about.push(format!("{old} → {new}")),
        (None, Some(new)) | (Some(_), Some(new)) if new != "file" => about.push(new),
        (Some(old), None) if old != "file" => about.push(old),
        (_, _) => {}
    }
    for side in file.old.iter().chain(&file.new) {
        about.extend(side.target.iter().map(|target| format!("→ {}", name(target))));
        if side.mode == "160000" {
            about.push(format!("commit {}", name(&side.object)));
        }
    }
    match file.content.as_str() {
        "binary" => {
            let size = |side: &Option<SideView>| side.as_ref().map(|side| format!("{} bytes", side.size));
            about.push(format!(
                "{} → {}",
                size(&file.old).unwrap_or("none".to_owned()),
                size(&file.new).unwrap_or("gone".to_owned())
            ));
        }
        "escaped" => about.push("text that git calls binary, shown with escapes".to_owned()),
        _ => {}
    }
    about
}

fn kind(mode: &str) -> &str {
    match mode {
        "100644" | "100664" => "file",
        "100755" => "executable",
        "120000" => "symlink",
        "160000" => "submodule",
        other => other,
    }
}

/// The diff of one file under its name.
pub(crate) fn section(file: &ChangedFileView, section: &Section) -> String {
    let head = format!("{BOLD}{}{BOLD:#}", line(file, 0).trim_start());
    match &section.binary {
        Some(binary) => format!("{head}\n{}", binary_lines(binary)),
        None if section.text.is_empty() => format!("{head}\n{DIM}no line differs{DIM:#}"),
        None => format!("{head}\n{}", diff(&section.text)),
    }
}

/// All that was loaded, and the names of what was not.
pub(crate) fn sections(change: &Loaded) -> String {
    let shown = change.sections.iter().filter_map(|part| Some(section(change.list.files.get(part.at)?, part)));
    shown.collect::<Vec<_>>().join("\n\n")
}

/// `3 of 120 files not shown: a, b, c`; all names, so that nobody has to guess.
pub(crate) fn unseen(missing: &[&ChangedFileView], all: usize, most: usize) -> Option<String> {
    if missing.is_empty() {
        return None;
    }
    let named: Vec<String> = missing.iter().take(most).map(|file| name(&file.path)).collect();
    let more = missing.len().saturating_sub(most);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("{} of {} not shown: {}{more}", missing.len(), count(all as u64, "file", "files"), named.join(", ")))
}

fn binary_lines(shown: &FileDiffView) -> String {
    let side = |word: &str, side: &Option<BinaryView>| {
        side.as_ref().map(|side| {
            let first = side.first.as_bytes().chunks(32).map(|row| String::from_utf8_lossy(row).into_owned());
            let rows: Vec<String> = first.map(|row| format!("    {DIM}{row}{DIM:#}")).collect();
            format!("  {word}: {}, {} bytes, sha256 {}\n{}", side.kind, side.size, side.sha256, rows.join("\n"))
        })
    };
    [side("before", &shown.old_binary), side("after", &shown.new_binary)]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("\n")
}

/// A unified diff with colours; every hidden character is seen.
pub(crate) fn diff(text: &str) -> String {
    let paint = |line: &str| match line.as_bytes().first() {
        Some(b'+') => format!("{GOOD}{line}{GOOD:#}"),
        Some(b'-') => format!("{BAD}{line}{BAD:#}"),
        Some(b'@') => format!("{DIM}{line}{DIM:#}"),
        _ => line.to_owned(),
    };
    reveal(text).lines().map(paint).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
pub(crate) mod sample {
    use super::*;

    pub(crate) fn file(path: &str, lines: Option<(u64, u64)>) -> ChangedFileView {
        ChangedFileView {
            id: path.bytes().map(|byte| format!("{byte:02x}")).collect(),
            path: path.to_owned(),
            status: "M".to_owned(),
            from: None,
            added: lines.map(|(added, _)| added),
            deleted: lines.map(|(_, deleted)| deleted),
            content: if lines.is_some() { "text" } else { "binary" }.to_owned(),
            old: side("100644"),
            new: side("100644"),
        }
    }

    pub(crate) fn side(mode: &str) -> Option<SideView> {
        Some(SideView { mode: mode.to_owned(), object: "0a".repeat(20), size: 12, target: None })
    }

    pub(crate) fn change(files: Vec<ChangedFileView>) -> ChangesView {
        let total = ChangeTotals {
            files: files.len() as u64,
            added: files.iter().filter_map(|file| file.added).sum(),
            deleted: files.iter().filter_map(|file| file.deleted).sum(),
            binary: files.iter().filter(|file| file.content == "binary").count() as u64,
        };
        ChangesView { base: "b".to_owned(), head: "h".to_owned(), total, files, next: None }
    }

    /// Files with that text each.
    pub(crate) fn loaded(files: &[(&str, &str)]) -> Loaded {
        let lines = |text: &str, sign| text.lines().filter(|line| line.starts_with(sign)).count() as u64;
        let list = files.iter().map(|(path, text)| file(path, Some((lines(text, '+'), lines(text, '-'))))).collect();
        let section = |(at, (_, text)): (usize, &(&str, &str))| Section { at, text: (*text).to_owned(), binary: None };
        Loaded { list: change(list), sections: files.iter().enumerate().map(section).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::sample::{change, file, side};
    use super::*;
    use crate::report::plain;

    #[test]
    fn a_list_adds_up_and_says_what_counts_do_not() {
        let link = SideView { target: Some("../out\u{202e}".to_owned()), ..side("120000").unwrap() };
        let files = vec![
            file("src/app.js", Some((12, 1))),
            file("logo.png", None),
            ChangedFileView { old: side("100644"), new: side("100755"), ..file("run.sh", Some((0, 0))) },
            ChangedFileView { status: "A".to_owned(), old: None, new: Some(link), ..file("link", Some((1, 0))) },
            ChangedFileView { status: "R".to_owned(), from: Some("old\nname".to_owned()), ..file("new", Some((0, 0))) },
            ChangedFileView { content: "escaped".to_owned(), ..file("deploy.sh", Some((3, 0))) },
        ];
        let expected = "  M src/app.js  +12 −1
  M logo.png    binary  12 bytes → 12 bytes
  M run.sh      +0 −0  file → executable
  A link        +1 −0  symlink, → ../out\\u{202e}
  R new         +0 −0  was old\\nname
  M deploy.sh   +3 −0  text that git calls binary, shown with escapes
  6 files, +16 −1, 1 binary";
        assert_eq!(plain(&list(&change(files))), expected);
    }

    #[test]
    fn nothing_in_a_diff_hides() {
        let text = plain(&diff("@@ -1 +1 @@\n-a\n+#!/bin/sh\0\u{1b}[8mevil\u{1b}[0m\u{202e}\r\n"));
        assert_eq!(text, "@@ -1 +1 @@\n-a\n+#!/bin/sh\\0\\x1b[8mevil\\x1b[0m\\u{202e}\\r");
    }

    #[test]
    fn a_long_name_is_not_cut() {
        let path = format!("{}/auth.ts", "deep/".repeat(60));
        assert!(plain(&list(&change(vec![file(&path, Some((1, 0)))]))).contains(&path));
    }

    #[test]
    fn what_was_not_shown_is_named() {
        let (a, b) = (file("a", None), file("b", None));
        assert_eq!(unseen(&[], 3, 5), None);
        assert_eq!(unseen(&[&a, &b], 120, 1).unwrap(), "2 of 120 files not shown: a and 1 more");
    }
}
