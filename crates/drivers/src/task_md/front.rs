//! The front matter of a task's file: `key: value` lines between `---`. Reads the part of YAML that people and agents
//! write there, keeps every line it does not understand, and says which line is wrong.

use super::scan::{bare, lines};

/// The lines between the marks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Front {
    entries: Vec<Entry>,
}

/// One key with all of its lines, or lines without a key.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    key: Option<String>,
    value: String,
    /// As written, with line ends.
    raw: String,
}

/// A line of the front matter that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontProblem {
    /// Which line of the file, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl std::fmt::Display for FrontProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TASK.md, line {}: {}", self.line, self.message)
    }
}

impl Front {
    /// Reads what stands between the marks; the first of it is line `first` of the file.
    pub(super) fn read(text: &str, first: usize, problems: &mut Vec<FrontProblem>) -> Self {
        let mut front = Self::default();
        for (number, raw) in (first..).zip(lines(text)) {
            let line = bare(raw);
            let inner = line.trim();
            let inside = line.starts_with([' ', '\t']) || inner.starts_with("- ") || inner == "-";
            if inner.is_empty() || inner.starts_with('#') || inside {
                front.more(raw, inner);
                continue;
            }
            match key_of(line) {
                Ok((key, value)) => {
                    if front.get(key).is_some() {
                        let message = format!("`{key}` is there a second time; the first counts");
                        problems.push(FrontProblem { line: number, message });
                    }
                    let value = scalar(value).unwrap_or_else(|message| {
                        problems.push(FrontProblem { line: number, message });
                        value.trim().to_owned()
                    });
                    front.entries.push(Entry { key: Some(key.to_owned()), value, raw: raw.to_owned() });
                }
                Err(message) => {
                    problems.push(FrontProblem { line: number, message });
                    front.entries.push(Entry { key: None, value: String::new(), raw: raw.to_owned() });
                }
            }
        }
        front
    }

    /// A line that belongs to the key before it: of a block of text, or of something we only keep.
    fn more(&mut self, raw: &str, inner: &str) {
        match self.entries.last_mut() {
            Some(entry) => {
                entry.raw.push_str(raw);
                if let Some(block) = entry.value.strip_prefix(BLOCK) {
                    let gap = if block.is_empty() { "" } else { "\n" };
                    entry.value = format!("{BLOCK}{block}{gap}{inner}");
                }
            }
            None => self.entries.push(Entry { key: None, value: String::new(), raw: raw.to_owned() }),
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let entry = self.entries.iter().find(|entry| entry.key.as_deref() == Some(key))?;
        Some(entry.value.strip_prefix(BLOCK).unwrap_or(&entry.value))
    }

    /// Replaces the line of a key, or adds one.
    pub(super) fn set(&mut self, key: &str, value: &str) {
        let raw = format!("{key}: {}\n", quoted(value));
        let fresh = Entry { key: Some(key.to_owned()), value: value.to_owned(), raw };
        match self.entries.iter_mut().find(|entry| entry.key.as_deref() == Some(key)) {
            Some(entry) => *entry = fresh,
            None => self.entries.push(fresh),
        }
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(|entry| entry.key.as_deref())
    }

    pub(super) fn render(&self, out: &mut String) {
        self.entries.iter().for_each(|entry| out.push_str(&entry.raw));
    }
}

/// Marks a value whose text is on the lines after it.
const BLOCK: &str = "\u{0}|";

fn key_of(line: &str) -> Result<(&str, &str), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let (key, value) = line.split_once(':').ok_or("there is no `key: value` here")?;
    if key.is_empty() || !key.chars().all(plain) {
        return Err(format!("`{}` is not a key", key.chars().take(40).collect::<String>()));
    }
    if !value.is_empty() && !value.starts_with([' ', '\t']) {
        return Err(format!("there must be a space after `{key}:`"));
    }
    Ok((key, value))
}

/// The value of a line: plain, in quotes, or a mark that it follows.
fn scalar(value: &str) -> Result<String, String> {
    let value = value.trim();
    if matches!(value, "|" | "|-" | "|+" | ">" | ">-" | ">+") {
        return Ok(BLOCK.to_owned());
    }
    if value.starts_with('"') {
        let mut read = serde_json::Deserializer::from_str(value).into_iter::<String>();
        let text = read.next().and_then(Result::ok).ok_or("the quotes do not end, or have a strange escape")?;
        let rest = value.get(read.byte_offset()..).unwrap_or_default().trim();
        return if rest.is_empty() || rest.starts_with('#') { Ok(text) } else { Err(after_quotes()) };
    }
    if let Some(rest) = value.strip_prefix('\'') {
        let rest = rest.replace("''", "\u{0}");
        let (text, after) = rest.split_once('\'').ok_or("the quotes do not end")?;
        let after = after.trim();
        let text = text.replace('\u{0}', "'");
        return if after.is_empty() || after.starts_with('#') { Ok(text) } else { Err(after_quotes()) };
    }
    let text = value.split_once(" #").map_or(value, |(text, _)| text.trim_end());
    Ok(if matches!(text, "~" | "null") { String::new() } else { text.to_owned() })
}

fn after_quotes() -> String {
    "there is something after the closing quotes".to_owned()
}

/// A value as it can be read back by any reader of YAML.
fn quoted(value: &str) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '-' | '/' | '.' | ',' | '+' | '(' | ')');
    let first = value.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    let reserved = matches!(value, "null" | "true" | "false" | "yes" | "no" | "on" | "off");
    let number = value.chars().all(|c| c.is_ascii_digit()) && value.len() < 10;
    let plain = first && !reserved && value.trim() == value && value.chars().all(word);
    if value.is_empty() || plain || number {
        return value.to_owned();
    }
    // A string of JSON is one of YAML too.
    serde_json::Value::from(value).to_string()
}
