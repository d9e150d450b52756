//! Cuts what programs say to what events carry, always at character borders. Pure.

/// Bytes of a tool's input in an event.
pub const MOST_INPUT: usize = 400;
/// Bytes of a tool's output in an event.
pub const MOST_OUTPUT: usize = 2_000;

/// At most `limit` bytes from the start, with a mark when something was cut.
#[must_use]
pub fn head(text: &str, limit: usize) -> String {
    if text.len() <= limit { text.to_owned() } else { format!("{}…", &text[..text.floor_char_boundary(limit)]) }
}

/// Everything on one line, at most `limit` bytes.
#[must_use]
pub fn one_line(text: &str, limit: usize) -> String {
    head(&text.split_whitespace().collect::<Vec<_>>().join(" "), limit)
}
