//! The keys of one TOML table, each read with its type; what does not fit is noted with its line.

use std::fmt::Display;
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::Problems;

/// One table and where it begins.
pub(super) struct Keys<'a, 'i> {
    table: &'a DeTable<'i>,
    start: Range<usize>,
}

/// A value and where it stands.
pub(super) struct Found<T> {
    pub(super) value: T,
    pub(super) span: Range<usize>,
}

impl<'a, 'i> Keys<'a, 'i> {
    pub(super) fn new(table: &'a DeTable<'i>, start: Range<usize>) -> Self {
        Self { table, start }
    }

    /// Where the key stands; where the table begins, if it is not there.
    pub(super) fn span(&self, key: &str) -> Range<usize> {
        self.table.get_key_value(key).map_or_else(|| self.start.clone(), |(key, _)| key.span())
    }

    pub(super) fn names(&self) -> impl Iterator<Item = (&'a str, Range<usize>)> {
        self.table.keys().map(|key| (key.get_ref().as_ref(), key.span()))
    }

    pub(super) fn value(&self, key: &str) -> Option<&'a Spanned<DeValue<'i>>> {
        self.table.get(key)
    }

    pub(super) fn text(&self, key: &str, problems: &mut Problems<'_>) -> Option<Found<&'a str>> {
        let value = self.value(key)?;
        let text = value.get_ref().as_str();
        if text.is_none() {
            problems.refuse(value.span(), key, format!("`{key}` must be a text"), format!("write `{key} = \"…\"`"));
        }
        text.map(|text| Found { value: text, span: value.span() })
    }

    pub(super) fn flag(&self, key: &str, problems: &mut Problems<'_>) -> Option<bool> {
        let value = self.value(key)?;
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            problems.refuse(value.span(), key, format!("`{key}` must be yes or no"), "write `true` or `false`");
        }
        flag
    }

    /// A whole number within bounds.
    pub(super) fn number(&self, key: &str, bounds: RangeInclusive<u32>, problems: &mut Problems<'_>) -> Option<u32> {
        let value = self.value(key)?;
        let hint = format!("use {} to {}", bounds.start(), bounds.end());
        let Some(integer) = value.get_ref().as_integer() else {
            problems.refuse(value.span(), key, format!("`{key}` must be a whole number"), hint);
            return None;
        };
        let number = u32::from_str_radix(integer.as_str(), integer.radix()).ok();
        let number = number.filter(|number| bounds.contains(number));
        if number.is_none() {
            problems.refuse(value.span(), key, format!("`{key}` cannot be {}", integer.as_str()), hint);
        }
        number
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(&self, key: &str, of: &[(&str, T)], problems: &mut Problems<'_>) -> Option<T> {
        let found = self.text(key, problems)?;
        let chosen = of.iter().find(|(word, _)| *word == found.value).map(|(_, value)| *value);
        if chosen.is_none() {
            let hint = format!("use {}", listed(of.iter().map(|(word, _)| word), "or"));
            problems.refuse(found.span, key, format!("`{key}` cannot be `{}`", found.value), hint);
        }
        chosen
    }

    /// A name of a stage, role or playbook.
    pub(super) fn name(&self, key: &str, what: &str, problems: &mut Problems<'_>) -> Option<Found<&'a str>> {
        let found = self.text(key, problems)?;
        if is_name(found.value) {
            return Some(found);
        }
        let hint = "use lower-case letters, digits and dashes, a letter first, at most 40";
        problems.refuse(found.span, key, format!("`{}` is not a {what} name", plain(found.value)), hint);
        None
    }
}

/// Lower-case letters, digits and dashes, a letter first.
pub(super) fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.len() <= 40 && text.starts_with(|c: char| c.is_ascii_lowercase()) && text.bytes().all(fits)
}

/// `a`, `b` and `c`, each in backticks.
pub(super) fn listed(words: impl Iterator<Item = impl Display>, last: &str) -> String {
    let mut words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    match (words.pop(), words.is_empty()) {
        (Some(only), true) => only,
        (Some(end), false) => format!("{} {last} {end}", words.join(", ")),
        (None, _) => "nothing".to_owned(),
    }
}

/// A stranger's text, fit for a message.
pub(super) fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(60).collect()
}
