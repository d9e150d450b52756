//! Makes text of strangers safe to print: agents, repositories and models may write what they like,
//! but never move the cursor, set the clipboard, reverse the reading order or hide letters.

/// What stands where something unprintable was, so that nothing is hidden.
const MARK: char = '\u{fffd}';

/// Keeps line breaks and tabs; colours are dropped, every other control or invisible character is marked.
pub(crate) fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("\r\n") {
            cleaned.push('\n');
            rest = after;
        } else if let Some(after) = after_colour(rest) {
            rest = after;
        } else {
            cleaned.push(if is_hidden(first) { MARK } else { first });
            rest = &rest[first.len_utf8()..];
        }
    }
    cleaned
}

/// The same on a single line.
pub(crate) fn clean_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Escapes what `clean` would mark; the result is the same JSON value.
pub(crate) fn escape_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if is_hidden(c) {
            let mut units = [0; 2];
            escaped.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// The rest after a colour sequence, `ESC [ digits and semicolons m`.
fn after_colour(text: &str) -> Option<&str> {
    let body = text.strip_prefix("\u{1b}[")?;
    let after = body.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
    after.strip_prefix('m')
}

fn is_hidden(c: char) -> bool {
    !matches!(c, '\n' | '\t') && wire::is_hidden(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_dropped_and_other_sequences_are_marked() {
        assert_eq!(clean("\u{1b}[1;31mred\u{1b}[0m"), "red");
        assert_eq!(clean("a\u{1b}[2Jb"), "a\u{fffd}[2Jb");
        assert_eq!(clean("\u{1b}]52;c;ZXZpbA==\u{7}x"), "\u{fffd}]52;c;ZXZpbA==\u{fffd}x");
        assert_eq!(clean("\u{9b}31mx\u{90}y\u{7f}"), "\u{fffd}31mx\u{fffd}y\u{fffd}");
    }

    #[test]
    fn reading_order_and_hidden_letters_are_marked() {
        assert_eq!(clean("safe\u{202e}txt.exe"), "safe\u{fffd}txt.exe");
        assert_eq!(clean("a\u{200b}b\u{2066}c\u{feff}d\u{e0041}"), "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}");
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        let text = "Größe\t→ 日本語 ✓ 🎉\nnext";
        assert_eq!(clean(text), text);
        assert_eq!(clean("a\r\nb\rc"), "a\nb\u{fffd}c");
        assert_eq!(clean_line(" a\n\n b\tc "), "a b c");
    }

    #[test]
    fn no_hostile_byte_survives() {
        let hostile: String = (0..=0x10_ffff).filter_map(char::from_u32).filter(|c| is_hidden(*c)).collect();
        assert!(clean(&hostile).chars().all(|c| !is_hidden(c)));
        assert!(escape_json(&hostile).is_ascii());
    }

    #[test]
    fn escaped_json_is_the_same_value() {
        let value = serde_json::json!({"text": "a\u{202e}b\u{9b}c\u{e0041}\u{1b}[2J"});
        let printed = escape_json(&value.to_string());
        assert!(printed.is_ascii());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&printed).unwrap(), value);
    }
}
