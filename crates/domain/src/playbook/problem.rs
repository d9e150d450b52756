//! What is wrong with a playbook, where, and the way out. Collects; never stops at the first.

use std::ops::Range;

/// Something wrong with a playbook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct PlaybookError {
    /// Where it was read from.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// The key at fault, where one is.
    pub key: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
    /// Whether the playbook can be used all the same.
    pub weight: Weight,
}

/// How bad a problem of a playbook is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// It cannot be used.
    Refused,
    /// It can be used, but may not do what was meant.
    Warned,
}

impl Weight {
    /// The word used in views.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Refused => "error",
            Self::Warned => "warning",
        }
    }
}

/// The problems of one file, as they are found.
pub(super) struct Problems<'a> {
    file: &'a str,
    source: &'a str,
    found: Vec<PlaybookError>,
}

impl<'a> Problems<'a> {
    pub(super) fn new(file: &'a str, source: &'a str) -> Self {
        Self { file, source, found: Vec::new() }
    }

    pub(super) fn refuse(&mut self, span: Range<usize>, key: &str, message: String, hint: impl Into<String>) {
        self.add(span, Some(key), message, hint.into(), Weight::Refused);
    }

    pub(super) fn warn(&mut self, span: Range<usize>, key: &str, message: String, hint: impl Into<String>) {
        self.add(span, Some(key), message, hint.into(), Weight::Warned);
    }

    /// The file as a whole.
    pub(super) fn refuse_file(&mut self, message: String, hint: impl Into<String>) {
        self.add(0..0, None, message, hint.into(), Weight::Refused);
    }

    pub(super) fn not_toml(&mut self, error: &toml::de::Error) {
        let message = format!("this is not TOML: {}", error.message().replace('\n', " "));
        let hint = "mend the syntax; a text stands in double quotes, a stage begins with `[[stage]]`";
        self.add(error.span().unwrap_or(0..0), None, message, hint.to_owned(), Weight::Refused);
    }

    pub(super) fn refused(&self) -> bool {
        self.found.iter().any(|problem| problem.weight == Weight::Refused)
    }

    /// All of them, in the order of the file.
    pub(super) fn into_sorted(mut self) -> Vec<PlaybookError> {
        self.found.sort_by_key(|problem| problem.line);
        self.found
    }

    fn add(&mut self, span: Range<usize>, key: Option<&str>, message: String, hint: String, weight: Weight) {
        let before = self.source.bytes().take(span.start);
        let line = before.filter(|byte| *byte == b'\n').count() + 1;
        let (file, key) = (self.file.to_owned(), key.map(str::to_owned));
        self.found.push(PlaybookError { file, line, key, message, hint, weight });
    }
}
