//! One exact replacement in a text: keeps line endings and everything else of the file. Pure.

use serde::{Deserialize, Serialize};

use super::near;
use crate::shorten;

const SHOWN_PLACES: usize = 12;

/// What is to be replaced by what.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    pub(super) path: String,
    pub(super) old_text: String,
    pub(super) new_text: String,
    #[serde(default)]
    pub(super) replace_all: bool,
}

/// An edit that was made: the whole new text, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Edited {
    pub(super) text: String,
    /// Line numbers in the text before.
    pub(super) lines: Vec<usize>,
}

/// Why an edit does not fit; the words go to the model.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    /// The call itself makes no sense.
    Call(String),
    /// The text is not there, or more than once.
    Text(String),
}

pub(super) fn apply(content: &str, edit: &Edit) -> Result<Edited, Misfit> {
    if edit.old_text.is_empty() {
        return Err(Misfit::Call("`old_text` is empty; use write_file to make a new file".to_owned()));
    }
    if edit.old_text == edit.new_text {
        return Err(Misfit::Call("`old_text` and `new_text` are the same; nothing to do".to_owned()));
    }
    let (old, new) = in_line_ends_of(content, &edit.old_text, &edit.new_text);
    let lines: Vec<usize> = content.match_indices(&old).map(|(at, _)| line_of(content, at)).collect();
    match (lines.as_slice(), edit.replace_all) {
        ([], _) => {
            let hint = near::hint(content, &old);
            Err(Misfit::Text(format!("`old_text` does not occur in `{}`; {hint}", edit.path)))
        }
        ([_], _) | (_, true) => Ok(Edited { text: content.replace(&old, &new), lines }),
        (several, false) => Err(Misfit::Text(format!(
            "`old_text` occurs {} times in `{}`, at lines {}; add lines around it to make it unique, or set replace_all:\n{}",
            several.len(),
            edit.path,
            list(several),
            places(content, several)
        ))),
    }
}

/// Models write `\n`; in a file with `\r\n` that means `\r\n`.
fn in_line_ends_of(content: &str, old: &str, new: &str) -> (String, String) {
    let windows = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
    let newlines = content.matches('\n').count();
    let all_windows = newlines > 0 && content.matches("\r\n").count() == newlines;
    if all_windows || (!content.contains(old) && content.contains(&windows(old))) {
        (windows(old), windows(new))
    } else {
        (old.to_owned(), new.to_owned())
    }
}

fn line_of(content: &str, at: usize) -> usize {
    content[..at].matches('\n').count() + 1
}

pub(super) fn list(lines: &[usize]) -> String {
    let shown: Vec<String> = lines.iter().take(20).map(ToString::to_string).collect();
    shown.join(", ")
}

/// The lines themselves, with the one before: enough to see what tells them apart.
fn places(content: &str, lines: &[usize]) -> String {
    let all: Vec<&str> = content.lines().collect();
    let mut shown = String::new();
    for line in lines.iter().take(SHOWN_PLACES) {
        for number in line.saturating_sub(1).max(1)..=*line {
            let text = all.get(number - 1).copied().unwrap_or_default();
            shown.push_str(&format!("{number:>6}→{}\n", shorten::head(text, 200)));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn edit(old: &str, new: &str, replace_all: bool) -> Edit {
        Edit { path: "f".into(), old_text: old.into(), new_text: new.into(), replace_all }
    }

    /// What an edit means, said as simply as possible: on lists of characters, one line end at a time.
    fn naive(content: &str, old: &str, new: &str) -> String {
        let windows = content.contains("\r\n");
        let plain = content.replace("\r\n", "\n");
        let mut out = String::new();
        let mut rest = plain.as_str();
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix(old) {
                out.push_str(new);
                rest = after;
            } else {
                let mut chars = rest.chars();
                out.extend(chars.next());
                rest = chars.as_str();
            }
        }
        if windows { out.replace('\n', "\r\n") } else { out }
    }

    proptest! {
        #[test]
        fn random_edits_equal_a_naive_model(
            lines in prop::collection::vec("[ab é]{0,4}", 1..12),
            (from, length) in (0usize..40, 1usize..10),
            new in "[ab\n é]{0,6}",
            (windows, last_newline, mark) in any::<(bool, bool, bool)>(),
        ) {
            let ending = if windows { "\r\n" } else { "\n" };
            let mut content = lines.join(ending);
            if last_newline { content.push_str(ending); }
            if mark { content.insert(0, '\u{feff}'); }
            let plain: Vec<char> = content.replace("\r\n", "\n").chars().collect();
            let from = from % plain.len().max(1);
            let old: String = plain.iter().skip(from).take(length).collect();
            prop_assume!(!old.is_empty() && old != new);
            // With one line end of either kind only, there is nothing to tell the kinds apart by.
            prop_assume!(!windows || content.contains('\n'));
            let edited = apply(&content, &edit(&old, &new, true)).unwrap();
            prop_assert_eq!(edited.text, naive(&content, &old, &new));
        }

        #[test]
        fn around_the_place_every_byte_stays_whatever_the_line_ends_are(
            before in "(x[ab]{0,3}(\r\n|\n)){0,5}",
            middle in "(q[ab]{0,3}\n){1,3}",
            after in "(y[ab]{0,3}(\r\n|\n)){0,5}",
            ends in prop::collection::vec(any::<bool>(), 3),
        ) {
            let pieces: Vec<&str> = middle.split_inclusive('\n').collect();
            let all = ends[0];
            let there: String = pieces.iter().map(|line| if all { line.replace('\n', "\r\n") } else { (*line).to_owned() }).collect();
            let content = format!("{before}{there}{after}");
            let edited = apply(&content, &edit(&middle, "new", false)).unwrap();
            prop_assert_eq!(edited.text, format!("{before}new{after}"));
        }
    }

    #[test]
    fn of_several_places_each_is_shown_with_what_stands_before_it() {
        let Err(Misfit::Text(said)) = apply("one\nx = 1\ntwo\nx = 1\n", &edit("x = 1", "x = 2", false)) else {
            panic!()
        };
        assert!(said.contains("lines 2, 4") && said.contains("     3→two\n     4→x = 1"), "{said}");
    }
}
