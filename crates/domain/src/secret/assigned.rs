//! A value that is given to something named like a secret, and looks made up.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::{Hit, pattern, random};

static NAMES: LazyLock<Regex> = LazyLock::new(|| {
    pattern::compile(
        "(?i)passwor[dt]|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|auth[_-]?key|private[_-]?key|\
         signing[_-]?key|encryption[_-]?key|credential",
    )
});

/// Letters of a name before and after the word.
const NAME_ROOM: usize = 48;
const LONGEST: usize = 512;

/// Files that hold the digests of others, and files that no person writes.
const NOT_HERE: [&str; 20] = [
    "cargo.lock",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "deno.lock",
    "poetry.lock",
    "pipfile.lock",
    "uv.lock",
    "pdm.lock",
    "composer.lock",
    "gemfile.lock",
    "podfile.lock",
    "mix.lock",
    "flake.lock",
    "pubspec.lock",
    "gradle.lockfile",
    "packages.lock.json",
    "go.sum",
];
const NOT_ENDING: [&str; 6] = [".sum", ".min.js", ".min.css", ".map", ".lock", ".svg"];

/// What a name goes on with that names something else than the secret itself.
const OTHERWISE: [&str; 34] = [
    "_id",
    "-id",
    "id",
    "_name",
    "-name",
    "name",
    "_url",
    "-url",
    "url",
    "_uri",
    "uri",
    "_path",
    "path",
    "_file",
    "file",
    "_type",
    "type",
    "_hash",
    "hash",
    "_header",
    "header",
    "_field",
    "field",
    "_env",
    "_endpoint",
    "endpoint",
    "_digest",
    "_ref",
    "ref",
    "izer",
    "_count",
    "_regex",
    "_pattern",
    "_version",
];

/// Where a value stands without quotes as a rule; elsewhere such a value is a name of something.
const PLAIN_FILES: [&str; 14] = [
    ".env",
    ".yml",
    ".yaml",
    ".ini",
    ".cfg",
    ".conf",
    ".properties",
    ".toml",
    ".txt",
    ".md",
    ".tfvars",
    ".sh",
    ".netrc",
    ".npmrc",
];

pub(super) fn hits(path: &str, text: &[u8]) -> Vec<Hit> {
    let file = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    if NOT_HERE.contains(&file.as_str()) || NOT_ENDING.iter().any(|end| file.ends_with(end)) {
        return Vec::new();
    }
    let plain = file.is_empty()
        || !file.contains('.')
        || file.starts_with(".env")
        || PLAIN_FILES.iter().any(|end| file.ends_with(end));
    let mut hits: Vec<Hit> = Vec::new();
    for word in NAMES.find_iter(text) {
        let Some((start, end)) = value_after(text, word.start(), word.end(), plain) else { continue };
        // Two words of one name lead to the same value.
        if hits.last().is_none_or(|last| last.start != start) {
            hits.push(Hit { kind: "secret value", known_as: None, start, end });
        }
    }
    hits
}

/// The value that the name around this word is given, if it looks made up.
fn value_after(text: &[u8], word_start: usize, word_end: usize, plain: bool) -> Option<(usize, usize)> {
    let name_start = back_over(text, word_start);
    let name_end = over(text, word_end, NAME_ROOM, is_name);
    let rest = String::from_utf8_lossy(&text[word_end..name_end]).to_ascii_lowercase();
    if OTHERWISE.iter().any(|other| rest.ends_with(other)) || name_end - word_end == NAME_ROOM {
        return None;
    }
    let quoted_name = matches!(text.get(name_end), Some(b'"' | b'\'' | b'`'));
    let mut at = name_end + usize::from(quoted_name);
    at += usize::from(text.get(at) == Some(&b']'));
    let before_sign = at;
    at = over(text, at, 8, is_blank);
    let sign = [&b":="[..], b"=>", b"=", b":"].into_iter().find(|sign| text[at..].starts_with(sign))?;
    if sign == b"=" && text.get(at + 1) == Some(&b'=') {
        return None;
    }
    let spaced = at > before_sign;
    at += sign.len();
    let after_sign = at;
    at = over(text, at, 8, is_blank);
    let spaced = spaced || at > after_sign;
    match text.get(at) {
        Some(quote @ (b'"' | b'\'' | b'`')) => quoted(text, at + 1, *quote),
        Some(_) if sign == b"=" && !spaced && is_setting(text, name_start) => unquoted(text, at),
        Some(_) if plain && (sign == b"=" || (sign == b":" && spaced)) => unquoted(text, at),
        Some(_) | None => None,
    }
}

fn quoted(text: &[u8], start: usize, quote: u8) -> Option<(usize, usize)> {
    let end = start + text[start..].iter().take(LONGEST + 1).position(|byte| *byte == quote || *byte == b'\n')?;
    let value = &text[start..end];
    let one = text[end] == quote && !value.iter().any(|byte| byte.is_ascii_whitespace() || b"(){}\\".contains(byte));
    (one && made_up(value)).then_some((start, end))
}

fn unquoted(text: &[u8], start: usize) -> Option<(usize, usize)> {
    let end = over(text, start, LONGEST, |byte| !byte.is_ascii_whitespace() && !b"\"'`,;<>\\|&".contains(&byte));
    let value = &text[start..end];
    // A path of names, a call or a place in a list is code.
    let code = value.iter().any(|byte| b"(){}[]$".contains(byte)) || value.windows(2).any(|pair| pair == b"::");
    let over = end - start == LONGEST;
    (!code && !over && made_up(value)).then_some((start, end))
}

fn made_up(value: &[u8]) -> bool {
    random::is_password(value) && !value.contains(&0)
}

/// A name at the beginning of its line, as files of settings and shells have it.
fn is_setting(text: &[u8], name_start: usize) -> bool {
    let line = text[..name_start].iter().rev().take(64).position(|byte| *byte == b'\n').unwrap_or(name_start.min(64));
    let before = &text[name_start - line..name_start];
    let before = before.trim_ascii();
    before.is_empty() || [&b"export"[..], b"ENV", b"ARG", b"-", b"-e", b"set", b"declare", b"local"].contains(&before)
}

fn back_over(text: &[u8], from: usize) -> usize {
    let room = from.min(NAME_ROOM);
    from - text[from - room..from].iter().rev().take_while(|byte| is_name(**byte)).count()
}

fn over(text: &[u8], from: usize, room: usize, fits: impl Fn(u8) -> bool) -> usize {
    from + text[from..].iter().take(room).take_while(|byte| fits(**byte)).count()
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}
