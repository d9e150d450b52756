//! Which characters act on a reader's screen or hide from the reader. One list for every face.

use std::fmt::Write as _;

/// Whether a character moves the cursor, turns the reading order or is not seen; line breaks and tabs too.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    match c {
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        other => other.is_control(),
    }
}

/// A hidden character as something that is seen: `\0`, `\r`, `\x1b`, `\u{202e}`.
#[must_use]
pub fn escape_hidden(c: char) -> String {
    match c {
        '\0' => "\\0".to_owned(),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        c if u32::from(c) < 0x100 => format!("\\x{:02x}", u32::from(c)),
        c => format!("\\u{{{:x}}}", u32::from(c)),
    }
}

/// A text with every hidden character escaped but line breaks and tabs.
#[must_use]
pub fn reveal(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) && !matches!(c, '\n' | '\t') {
            let _infallible = write!(shown, "{}", escape_hidden(c));
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_become_seen_and_others_stay() {
        assert_eq!(reveal("a\u{202e}b\0c\u{1b}[2J\r\n\td\u{e0041}"), "a\\u{202e}b\\0c\\x1b[2J\\r\n\td\\u{e0041}");
        assert_eq!(reveal("Größe → 日本語 ✓ 🎉"), "Größe → 日本語 ✓ 🎉");
    }
}
