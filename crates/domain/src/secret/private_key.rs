//! Private keys in their usual wrapping, with or without line breaks that are written out, as in JSON.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::{Hit, pattern};

static HEAD: LazyLock<Regex> =
    LazyLock::new(|| pattern::compile("-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----"));
static TAIL: LazyLock<Regex> =
    LazyLock::new(|| pattern::compile("-----END (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----"));
static PUTTY: LazyLock<Regex> =
    LazyLock::new(|| pattern::compile(r"Private-Lines: [0-9]{1,3}(?:\\r|\\n|\s){1,4}[A-Za-z0-9+/=]{40,}"));

/// A key has at least so many letters; text about keys has none.
const SHORTEST_KEY: usize = 60;
/// Where no end is found, so much is looked at.
const LONGEST_KEY: usize = 16 * 1024;

pub(super) fn hits(text: &[u8]) -> Vec<Hit> {
    let mut hits = Vec::new();
    for head in HEAD.find_iter(text) {
        let rest = &text[head.end()..text.len().min(head.end() + LONGEST_KEY)];
        let tail = TAIL.find(rest);
        let body = body(&rest[..tail.map_or(rest.len(), |tail| tail.start())]);
        let end = match tail {
            Some(tail) if body.whole => head.end() + tail.end(),
            Some(_) | None => head.end() + body.end,
        };
        if body.letters >= SHORTEST_KEY {
            hits.push(Hit { kind: "private key", known_as: None, start: head.start(), end });
        }
    }
    let putty = PUTTY.find_iter(text);
    hits.extend(putty.map(|found| Hit { kind: "private key", known_as: None, start: found.start(), end: found.end() }));
    hits
}

struct Body {
    letters: usize,
    end: usize,
    whole: bool,
}

/// Counts the letters of a key; what is between its lines (breaks, quotes, joins, headers) does not count.
fn body(text: &[u8]) -> Body {
    let mut letters = 0;
    let mut end = 0;
    let mut lines = 0;
    for (start, line) in lines_of(text) {
        let line_letters = line.iter().filter(|byte| is_letter(**byte)).count();
        let strange = line.iter().filter(|byte| !is_letter(**byte) && !is_between(**byte)).count();
        // Headers such as `DEK-Info: AES-128-CBC,…` and one line of anything are passed over.
        let header = line.contains(&b':');
        if strange > 2 && !header {
            lines += 1;
            if lines > 1 {
                return Body { letters, end, whole: false };
            }
            continue;
        }
        if !header {
            letters += line_letters;
        }
        end = start + line.len();
    }
    Body { letters, end, whole: true }
}

/// Lines, also where their breaks are written out as `\n`.
fn lines_of(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let plain = rest.iter().position(|byte| *byte == b'\n').map(|end| (end, 1));
        let written = rest.windows(2).position(|pair| pair == b"\\n").map(|end| (end, 2));
        let (end, step) = match (plain, written) {
            (Some(plain), Some(written)) => plain.min(written),
            (Some(found), None) | (None, Some(found)) => found,
            (None, None) => (rest.len(), 0),
        };
        let line = (at, &rest[..end]);
        at += end + step;
        if step == 0 {
            at = text.len();
        }
        Some(line)
    })
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

fn is_between(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b',' | b';' | b'.' | b'>' | b'|' | b'#' | b'*' | b'-')
}
