//! What was said in earlier rounds, fit for a prompt: the newest in full, older ones in a line each, never more than a
//! bound. Pure.

/// Bytes of all entries together.
const MOST: usize = 16 * 1024;
/// Bytes of the entries that are given in full.
const FULL: usize = 12 * 1024;
/// Bytes of a shortened entry.
const LINE: usize = 240;

/// The entries, oldest first, within the bound. What is left out is counted in a line of its own.
pub(crate) fn shorten(entries: &[String]) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    // Room for the line that counts what is left out.
    let (mut left, mut full) = (MOST - 64, FULL);
    for (age, entry) in entries.iter().rev().enumerate() {
        let text = if age == 0 || entry.len() <= full { clip(entry, FULL) } else { one_line(entry) };
        // Once one is shortened, so are all before it.
        full = if text.len() == entry.len() { full.saturating_sub(text.len()) } else { 0 };
        if text.len() > left {
            let rest = entries.len() - age;
            kept.push(format!("[{rest} earlier {} left out]", if rest == 1 { "one" } else { "ones" }));
            break;
        }
        left -= text.len();
        kept.push(text);
    }
    kept.reverse();
    kept
}

fn one_line(text: &str) -> String {
    clip(&text.split_whitespace().collect::<Vec<_>>().join(" "), LINE)
}

/// At most `most` bytes from the start, with a mark when something was cut.
pub(crate) fn clip(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(most - '…'.len_utf8())])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(count: usize, size: usize) -> Vec<String> {
        (1..=count).map(|round| format!("round {round}: {}", "long words\n".repeat(size / 11))).collect()
    }

    #[test]
    fn the_newest_rounds_are_whole_and_older_ones_are_a_line_each() {
        let said = rounds(8, 4000);
        let kept = shorten(&said);
        assert_eq!(kept.len(), 8);
        assert_eq!(kept[5..], said[5..], "as many as fit are given in full");
        for (short, whole) in kept[..5].iter().zip(&said) {
            assert!(short.len() <= LINE && !short.contains('\n') && short.ends_with('…'), "{short}");
            assert_eq!(short[..9], whole[..9], "it still says which round it was");
        }
    }

    #[test]
    fn however_much_was_said_the_bound_holds_and_the_rest_is_counted() {
        for (count, size) in [(0, 0), (1, 11), (1, 1 << 20), (3, 1 << 16), (500, 30), (5000, 3000)] {
            let kept = shorten(&rounds(count, size));
            let bytes: usize = kept.iter().map(String::len).sum();
            assert!(bytes <= MOST, "{count} of {size} bytes give {bytes}");
            assert!(count == 0 || kept.last().unwrap().starts_with(&format!("round {count}:")));
        }
        let kept = shorten(&rounds(5000, 3000));
        let left_out = 5000 - (kept.len() - 1);
        assert_eq!(kept[0], format!("[{left_out} earlier ones left out]"));
    }

    #[test]
    fn few_words_stay_as_they_are_and_cuts_fall_between_characters() {
        let said = ["first\nround".to_owned(), "second".to_owned()];
        assert_eq!(shorten(&said), said);
        assert_eq!(clip("ääää", 6), "ä…");
        assert_eq!(clip("ää", 4), "ää");
    }
}
