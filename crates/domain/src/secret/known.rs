//! Values that Holdpoint holds itself, found as they are, in base64 and as in an address.

use std::collections::HashMap;
use std::sync::Arc;

use regex::bytes::{Regex, RegexBuilder};

use super::Hit;

/// A value that must not leave, and the name of what it is.
#[derive(Clone, PartialEq, Eq)]
pub struct KnownSecret {
    name: String,
    value: String,
}

impl KnownSecret {
    /// Shorter ones are in every second text; nobody can look for them.
    pub const SHORTEST: usize = 6;
    /// Of a longer one its beginning is looked for.
    const LONGEST: usize = 1024;

    /// A value that shall be looked for; `None` for one that is too short.
    #[must_use]
    pub fn new(name: impl Into<String>, value: &str) -> Option<Self> {
        let value = value.trim();
        (value.len() >= Self::SHORTEST).then(|| Self { name: name.into(), value: value.to_owned() })
    }

    fn looked_for(&self) -> &[u8] {
        let bytes = self.value.as_bytes();
        &bytes[..bytes.len().min(Self::LONGEST)]
    }
}

impl std::fmt::Debug for KnownSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KnownSecret({})", self.name)
    }
}

/// All forms of all values, as one search.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownValues {
    search: Option<Regex>,
    names: Arc<HashMap<Vec<u8>, String>>,
}

impl KnownValues {
    pub(super) fn of(secrets: &[KnownSecret]) -> Self {
        let mut names: HashMap<Vec<u8>, String> = HashMap::new();
        for secret in secrets {
            for form in forms(secret.looked_for()) {
                names.entry(form).or_insert_with(|| secret.name.clone());
            }
        }
        let mut all: Vec<&Vec<u8>> = names.keys().collect();
        // Of two that begin alike the longer one is found.
        all.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        let pattern: Vec<String> = all.into_iter().map(|form| literal(form)).collect();
        let search = (!pattern.is_empty()).then(|| {
            let mut builder = RegexBuilder::new(&pattern.join("|"));
            builder.unicode(false).size_limit(256 << 20).build().expect("escaped bytes are a pattern")
        });
        Self { search, names: Arc::new(names) }
    }

    pub(super) fn hits(&self, text: &[u8]) -> Vec<Hit> {
        let Some(search) = &self.search else { return Vec::new() };
        let hit = |found: regex::bytes::Match<'_>| Hit {
            kind: "known value",
            known_as: self.names.get(found.as_bytes()).cloned(),
            start: found.start(),
            end: found.end(),
        };
        search.find_iter(text).map(hit).collect()
    }
}

fn literal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 4), |mut text, byte| {
        write!(text, "\\x{byte:02x}").expect("writing to a String cannot fail");
        text
    })
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const FOR_ADDRESSES: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// A piece of base64 that is shorter says nothing.
const SHORTEST_BASE64: usize = 8;

fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![value.to_vec(), percent(value, false), percent(value, true), json(value), json(&json(value))];
    for shift in 0..3 {
        forms.extend([STANDARD, FOR_ADDRESSES].map(|letters| base64(value, shift, letters)));
    }
    let usable = |form: &Vec<u8>| *form == value || form.len() >= SHORTEST_BASE64;
    forms.retain(usable);
    forms
}

/// The letters that stand for the value in base64, whatever stands before and after it, when it begins at this place
/// of a group of three.
fn base64(value: &[u8], shift: usize, letters: &[u8; 64]) -> Vec<u8> {
    let mut bits: Vec<u8> = vec![0; shift];
    bits.extend_from_slice(value);
    let whole = bits.len() / 3 * 3;
    let mut text = Vec::new();
    for group in bits[..whole].chunks_exact(3) {
        let number = u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]);
        text.extend([18, 12, 6, 0].map(|by| letters[(number >> by & 63) as usize]));
    }
    // What the bytes left over decide wholly.
    match &bits[whole..] {
        [one] => text.push(letters[usize::from(one >> 2)]),
        [one, two] => {
            let number = u32::from(*one) << 8 | u32::from(*two);
            text.extend([10, 4].map(|by| letters[(number >> by & 63) as usize]));
        }
        _ => {}
    }
    // What the bytes before it decide too.
    let foreign = [0, 2, 3][shift];
    text.split_off(foreign.min(text.len()))
}

/// As in an address, or in a form that it is sent with.
fn percent(value: &[u8], form: bool) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len());
    for byte in value {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => text.push(*byte),
            b' ' if form => text.push(b'+'),
            byte => text.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
    text
}

/// As between the quotes of JSON.
fn json(value: &[u8]) -> Vec<u8> {
    let text = serde_json::Value::String(String::from_utf8_lossy(value).into_owned()).to_string();
    text.trim_start_matches('"').strip_suffix('"').unwrap_or_default().as_bytes().to_vec()
}
