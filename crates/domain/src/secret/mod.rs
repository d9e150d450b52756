//! Secrets in text: known values and what looks like one. Pure; linear in the text; names where, never what.

mod assigned;
mod known;
mod pattern;
mod private_key;
mod random;
mod told;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use known::KnownSecret;

use crate::Digest;
use known::KnownValues;

/// A place where something looks like a secret. Holds nothing of it but its first letters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretFinding {
    /// What it looks like: `GitHub token`, `private key` …
    pub kind: String,
    /// The setting it is the value of, where Holdpoint knows the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_as: Option<String>,
    /// The file.
    pub path: String,
    /// From 1.
    pub line: u32,
    /// In bytes, from 1.
    pub column: u32,
    /// Its first letters and its length.
    pub excerpt: String,
    /// The same for the same kind and value; nothing of the value can be read from it.
    pub fingerprint: String,
}

impl SecretFinding {
    /// So many are shown, and allowed, at a time.
    pub const MOST: usize = 100;

    /// Where and what, for people.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { kind, path, line, excerpt, .. } = self;
        match &self.known_as {
            Some(name) => format!("{path}:{line}: the value of {name}, which Holdpoint knows ({excerpt})"),
            None => format!("{path}:{line}: {kind} ({excerpt})"),
        }
    }
}

/// What stands in the place of a secret answer wherever it is shown or written down.
pub const SECRET_ANSWER: &str = "(secret, not recorded)";

/// How the note begins that sends work back for what looks like secrets in it.
pub const SENT_BACK_FOR_SECRETS: &str =
    "what you handed in was not committed, because it holds what looks like secrets";

/// Something found in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hit {
    kind: &'static str,
    known_as: Option<String>,
    start: usize,
    end: usize,
}

/// Looks for secrets: those of a list, and those that look like one.
#[derive(Debug, Clone, Default)]
pub struct SecretScanner {
    known: KnownValues,
}

impl SecretScanner {
    /// One that knows these values besides.
    #[must_use]
    pub fn knowing(secrets: &[KnownSecret]) -> Self {
        Self { known: KnownValues::of(secrets) }
    }

    /// What of a file's content looks like a secret. The whole content is looked at, text or not. The path is shown
    /// without secrets.
    #[must_use]
    pub fn scan(&self, path: &str, content: &[u8]) -> Vec<SecretFinding> {
        let text = readable(content);
        let hits = self.hits(path, &text);
        if hits.is_empty() {
            return Vec::new();
        }
        let named = self.redact(path);
        let mut lines = Lines::of(&text);
        let finding = |hit: Hit| {
            let value = &text[hit.start..hit.end];
            let (line, column) = lines.place(hit.start);
            SecretFinding {
                kind: hit.kind.to_owned(),
                path: named.clone(),
                line,
                column,
                excerpt: excerpt(value, hit.known_as.is_some()),
                fingerprint: fingerprint(hit.kind, value),
                known_as: hit.known_as,
            }
        };
        hits.into_iter().map(finding).collect()
    }

    /// The text with every secret in it replaced by what it was taken for.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        self.redact_after(text, 0)
    }

    /// The same for what follows the first bytes, which may begin in the middle of a secret: they are only looked at. A
    /// secret across that place is left out as a whole.
    #[must_use]
    pub fn redact_after(&self, text: &str, skipped: usize) -> String {
        let mut redacted: Vec<u8> = Vec::with_capacity(text.len());
        let mut at = skipped.min(text.len());
        for hit in self.hits("", text.as_bytes()) {
            if hit.end <= at {
                continue;
            }
            redacted.extend_from_slice(&text.as_bytes()[at..hit.start.max(at)]);
            redacted
                .extend_from_slice(format!("[redacted: {}]", hit.known_as.as_deref().unwrap_or(hit.kind)).as_bytes());
            at = hit.end;
        }
        redacted.extend_from_slice(&text.as_bytes()[at..]);
        String::from_utf8_lossy(&redacted).into_owned()
    }

    /// In the order of the text, none within another; a known value goes before what it looks like.
    fn hits(&self, path: &str, text: &[u8]) -> Vec<Hit> {
        let mut hits = self.known.hits(text);
        hits.extend(pattern::hits(text));
        hits.extend(private_key::hits(text));
        hits.extend(assigned::hits(path, text));
        // The sort is stable: where two begin together, the one looked for first is told.
        hits.sort_by_key(|hit| hit.start);
        let mut apart: Vec<Hit> = Vec::with_capacity(hits.len());
        for hit in hits {
            match apart.last() {
                Some(last) if hit.start < last.end => {}
                Some(_) | None => apart.push(hit),
            }
        }
        apart
    }
}

/// Whether a text that a person wrote holds what looks like a secret.
#[must_use]
pub fn looks_secret(text: &str) -> bool {
    let bytes = text.as_bytes();
    let alone = text.trim();
    !pattern::hits(bytes).is_empty()
        || !private_key::hits(bytes).is_empty()
        || !assigned::hits("", bytes).is_empty()
        || random::is_password(alone.as_bytes())
}

/// Text of two bytes a letter, as some editors write it, is read like any other.
fn readable(content: &[u8]) -> Cow<'_, [u8]> {
    let unit: fn([u8; 2]) -> u16 = match content {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return Cow::Borrowed(content),
    };
    let units = content[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    Cow::Owned(char::decode_utf16(units).map(|letter| letter.unwrap_or('\u{fffd}')).collect::<String>().into_bytes())
}

/// Its first letters, fewer of a short one and none of a known one, and how long it is.
fn excerpt(value: &[u8], known: bool) -> String {
    let text = String::from_utf8_lossy(value);
    let length = text.chars().count();
    let shown = if known { 0 } else { (length / 4).min(4) };
    let first: String = text.chars().take(shown).filter(|letter| !letter.is_control()).collect();
    if first.is_empty() { format!("{length} characters") } else { format!("{first}…, {length} characters") }
}

fn fingerprint(kind: &str, value: &[u8]) -> String {
    Digest::of([kind, &String::from_utf8_lossy(value)]).as_str().to_owned()
}

/// Places by line and column, asked for in rising order: the text is read once.
struct Lines<'a> {
    text: &'a [u8],
    at: usize,
    line: u32,
    begins: usize,
}

impl<'a> Lines<'a> {
    fn of(text: &'a [u8]) -> Self {
        Self { text, at: 0, line: 1, begins: 0 }
    }

    fn place(&mut self, at: usize) -> (u32, u32) {
        for (index, byte) in self.text[self.at..at].iter().enumerate() {
            if *byte == b'\n' {
                self.line = self.line.saturating_add(1);
                self.begins = self.at + index + 1;
            }
        }
        self.at = at;
        (self.line, u32::try_from(at - self.begins + 1).unwrap_or(u32::MAX))
    }
}
