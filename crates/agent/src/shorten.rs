//! Cuts text to a size people and models can take, always at character borders. Pure.

/// At most `limit` bytes from the start, with a mark when something was cut.
pub(crate) fn head(text: &str, limit: usize) -> String {
    if text.len() <= limit { text.to_owned() } else { format!("{}…", &text[..text.floor_char_boundary(limit)]) }
}

/// At most `limit` bytes from the end, with a mark when something was cut.
pub(crate) fn tail(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    format!("…{}", &text[text.ceil_char_boundary(text.len() - limit)..])
}

/// Everything on one line, at most `limit` bytes.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    head(&text.split_whitespace().collect::<Vec<_>>().join(" "), limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_fall_between_characters() {
        assert_eq!(head("aéé", 2), "a…");
        assert_eq!(tail("éab", 3), "…ab");
        assert_eq!(tail("ab", 3), "ab");
        assert_eq!(one_line("a\n  b", 9), "a b");
    }
}
