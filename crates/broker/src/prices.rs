//! What tokens cost. A built-in table (`prices.toml`) that a user's table is merged over.
//! A model without a row has no price: nothing here ever guesses one.

use serde::{Deserialize, Serialize};

use crate::money::Micros;
use crate::usage::Usage;

const BUILT_IN: &str = include_str!("../prices.toml");

/// The price of one model, in micro-dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    /// Without the provider; ends in `*` to cover every model that starts so.
    pub model: String,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// What all of a call costs when its prompt is long.
    #[serde(default)]
    pub long: Option<LongPrice>,
}

/// The price of a call whose prompt is longer than `above` tokens, cached ones included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LongPrice {
    pub above: u64,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

/// How long what a call writes to the prompt cache may stay there; an hour is dearer than minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheEntries {
    Short,
    Long,
}

/// Prices by provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceTable {
    version: String,
    rows: Vec<(String, Price, PriceSource)>,
}

/// Who says what a model costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriceSource {
    BuiltIn,
    /// The user's own table.
    User,
}

/// A price table that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    #[error("price table, line {line}: {message}")]
    Syntax { line: usize, message: String },
    #[error("price of `{provider}/{model}`: `{field}` is {value}; prices are dollars per million tokens, 0 to 1000000")]
    OutOfRange { provider: String, model: String, field: &'static str, value: f64 },
}

/// The built-in table.
pub fn table() -> PriceTable {
    PriceTable::parse(BUILT_IN, PriceSource::BuiltIn).expect("the built-in price table is checked by a test")
}

impl PriceTable {
    /// The date the table was checked, as it names it.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The rows to grant with an upstream of this provider.
    pub fn for_provider(&self, provider: &str) -> Vec<Price> {
        self.rows_of(provider).map(|(price, _)| price.clone()).collect()
    }

    /// The rows of a provider, each with who says so.
    pub fn rows_of<'a>(&'a self, provider: &str) -> impl Iterator<Item = (&'a Price, PriceSource)> {
        let rows = self.rows.iter().filter(move |(name, ..)| name == provider);
        rows.map(|(_, price, source)| (price, *source))
    }

    /// The providers that have a price, each once, in the order of the table.
    pub fn providers(&self) -> Vec<&str> {
        let mut providers: Vec<&str> = Vec::new();
        for (provider, ..) in &self.rows {
            if !providers.contains(&provider.as_str()) {
                providers.push(provider);
            }
        }
        providers
    }

    /// The same with who says so.
    pub fn find_with_source(&self, provider: &str, model: &str) -> Option<(Price, PriceSource)> {
        let price = self.find(provider, model)?;
        let source = self.rows_of(provider).find(|(row, _)| row.model == price.model)?.1;
        Some((price, source))
    }

    /// The price of `provider/model`, if there is one.
    pub fn find(&self, provider: &str, model: &str) -> Option<Price> {
        find(&self.for_provider(provider), model).cloned()
    }

    /// Lays another table over this one: same provider and model replaces, others are added.
    pub fn merge(&mut self, toml: &str) -> Result<(), PriceError> {
        let other = Self::parse(toml, PriceSource::User)?;
        for row in other.rows {
            match self.rows.iter_mut().find(|known| known.0 == row.0 && known.1.model == row.1.model) {
                Some(known) => *known = row,
                None => self.rows.push(row),
            }
        }
        if !other.version.is_empty() {
            self.version = format!("{}+{}", self.version, other.version);
        }
        Ok(())
    }

    fn parse(text: &str, source: PriceSource) -> Result<Self, PriceError> {
        let file: File = toml::from_str(text).map_err(|error| PriceError::Syntax {
            line: crate::scripted::line_of(text, error.span()),
            message: error.message().to_owned(),
        })?;
        let rows =
            file.price.into_iter().map(|row| row.into_price().map(|(provider, price)| (provider, price, source)));
        Ok(Self { version: file.version, rows: rows.collect::<Result<_, _>>()? })
    }
}

/// The row for a model: its own, then that of its undated name, then the longest `*` row.
pub(crate) fn find<'a>(prices: &'a [Price], model: &str) -> Option<&'a Price> {
    let exact = |name: &str| prices.iter().find(|price| price.model == name);
    exact(model).or_else(|| exact(undated(model))).or_else(|| {
        let covers = |price: &&Price| {
            let prefix = price.model.strip_suffix('*');
            prefix.is_some_and(|prefix| model.starts_with(prefix))
        };
        let rows = prices.iter().filter(covers);
        rows.max_by_key(|price| price.model.len())
    })
}

fn undated(model: &str) -> &str {
    if let Some(name) = model.strip_suffix("-latest") {
        return name;
    }
    let digits_from = model.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
    let tail = &model[digits_from.len()..];
    let dated = |shape: &str| {
        tail.ends_with(|c: char| c.is_ascii_digit()) && tail.len() >= shape.len() && {
            let end = &tail[tail.len() - shape.len()..];
            let fits = |(c, s): (char, char)| (s == '-') == (c == '-');
            end.chars().zip(shape.chars()).all(fits)
        }
    };
    for shape in ["-00000000", "-0000-00-00"] {
        if dated(shape) {
            return &model[..model.len() - shape.len()];
        }
    }
    model
}

impl Price {
    /// What this many tokens cost, rounded up.
    pub(crate) fn cost(&self, usage: &Usage) -> Micros {
        let prompt = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        let (input, output, cache_read, cache_write) = match &self.long {
            Some(long) if prompt > long.above => (long.input, long.output, long.cache_read, long.cache_write),
            Some(_) | None => (self.input, self.output, self.cache_read, self.cache_write),
        };
        let long_lived = cache_write.max(input.saturating_mul(2));
        let parts = [
            (usage.input, input),
            (usage.output, output),
            (usage.cache_read, cache_read),
            (usage.cache_write.saturating_sub(usage.cache_write_long), cache_write),
            (usage.cache_write_long, long_lived),
        ];
        let total: u128 = parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(*price)).sum();
        Micros(u64::try_from(total.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }

    /// The usage for which a call of this size costs most: none of it read from the cache, all of it written there where
    /// that is dearer.
    pub(crate) fn dearest(&self, input: u64, output: u64, written: CacheEntries) -> Usage {
        let usage = Usage { output, ..Usage::default() };
        let (plain, write) = match &self.long {
            Some(long) if input > long.above => (long.input, long.cache_write),
            Some(_) | None => (self.input, self.cache_write),
        };
        match written {
            CacheEntries::Long => Usage { cache_write: input, cache_write_long: input, ..usage },
            CacheEntries::Short if write > plain => Usage { cache_write: input, ..usage },
            CacheEntries::Short => Usage { input, ..usage },
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    version: String,
    #[serde(default)]
    price: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    provider: String,
    model: String,
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    long: Option<LongRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LongRow {
    above: u64,
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

impl Row {
    fn into_price(self) -> Result<(String, Price), PriceError> {
        let micros = |field: &'static str, value: f64| {
            if (0.0..=1_000_000.0).contains(&value) {
                // In range, so the cast cannot lose more than the fraction of a micro-dollar.
                return Ok((value * 1_000_000.0).round() as u64);
            }
            Err(PriceError::OutOfRange { provider: self.provider.clone(), model: self.model.clone(), field, value })
        };
        // Without a cache price of its own, cached input costs what input costs.
        let long = self.long.as_ref().map(|long| {
            Ok(LongPrice {
                above: long.above,
                input: micros("long.input", long.input)?,
                output: micros("long.output", long.output)?,
                cache_read: micros("long.cache_read", long.cache_read.unwrap_or(long.input))?,
                cache_write: micros("long.cache_write", long.cache_write.unwrap_or(long.input))?,
            })
        });
        let price = Price {
            long: long.transpose()?,
            input: micros("input", self.input)?,
            output: micros("output", self.output)?,
            cache_read: micros("cache_read", self.cache_read.unwrap_or(self.input))?,
            cache_write: micros("cache_write", self.cache_write.unwrap_or(self.input))?,
            model: self.model.clone(),
        };
        Ok((self.provider, price))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_table_reads_and_is_dated() {
        let table = table();
        assert!(table.version().starts_with("20"));
        let sonnet = table.find("anthropic", "claude-sonnet-4-5").unwrap();
        assert_eq!((sonnet.input, sonnet.output), (3_000_000, 15_000_000));
        assert!(table.find("scripted", "anything").is_some());
    }

    #[test]
    fn dated_and_latest_names_find_their_model() {
        let table = table();
        let plain = table.find("anthropic", "claude-sonnet-4-5");
        assert!(plain.is_some());
        assert_eq!(table.find("anthropic", "claude-sonnet-4-5-20250929"), plain);
        assert_eq!(table.find("anthropic", "claude-sonnet-4-5-latest"), plain);
        assert!(table.find("openai", "gpt-5-2025-08-07").is_some());
    }

    #[test]
    fn an_unknown_model_has_no_price() {
        assert_eq!(table().find("openai", "gpt-5-ultra"), None);
        assert_eq!(table().find("openai", "gpt"), None);
        assert_eq!(table().find("nobody", "gpt-5"), None);
    }

    #[test]
    fn a_users_row_replaces_and_adds() {
        let mut table = table();
        table
            .merge(
                "[[price]]\nprovider='openai'\nmodel='gpt-5'\ninput=9\noutput=9\n\
                 [[price]]\nprovider='house'\nmodel='*'\ninput=0\noutput=0\n",
            )
            .unwrap();
        assert_eq!(table.find("openai", "gpt-5").unwrap().cache_read, 9_000_000);
        assert_eq!(table.find("house", "qwen3:8b").unwrap().output, 0);
        let source = |provider: &str, model: &str| {
            table.rows_of(provider).find(|(price, _)| price.model == model).map(|(_, source)| source)
        };
        assert_eq!(source("openai", "gpt-5"), Some(PriceSource::User));
        assert_eq!(source("openai", "gpt-4o"), Some(PriceSource::BuiltIn));
        assert_eq!(table.providers().iter().filter(|name| ["openai", "house"].contains(name)).count(), 2);
    }

    #[test]
    fn a_bad_table_names_the_line_or_the_row() {
        let mut table = table();
        let syntax = table.merge("version = '1'\n[[price]]\nprovider = 7\n").unwrap_err();
        assert!(syntax.to_string().contains("line 3"), "{syntax}");
        let range = table.merge("[[price]]\nprovider='a'\nmodel='b'\ninput=-1\noutput=1\n").unwrap_err();
        assert!(range.to_string().contains("`a/b`"), "{range}");
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let price = table().find("anthropic", "claude-sonnet-4-5").unwrap();
        let usage = Usage {
            input: 1_000,
            output: 100,
            cache_read: 10_000,
            cache_write: 2_000,
            cache_write_long: 1_000,
            reasoning: 50,
        };
        // 3000 + 1500 + 3000 + 1000 × 3.75 + 1000 × 6
        assert_eq!(price.cost(&usage), Micros(3_000 + 1_500 + 3_000 + 3_750 + 6_000));
    }

    #[test]
    fn a_long_prompt_has_a_price_of_its_own_also_when_it_is_estimated() {
        let price = table().find("gemini", "gemini-2.5-pro").unwrap();
        let usage = |input, cache_read| Usage { input, cache_read, output: 100, ..Usage::default() };
        assert_eq!(price.cost(&usage(200_000, 0)), Micros(250_000 + 1_000));
        assert_eq!(price.cost(&usage(100_001, 100_000)), Micros(250_003 + 25_000 + 1_500));
        let dearest = price.dearest(200_001, 100, CacheEntries::Short);
        assert_eq!(price.cost(&dearest), Micros(500_003 + 1_500));
    }

    #[test]
    fn a_call_may_write_all_of_its_input_to_the_cache() {
        let price = table().find("anthropic", "claude-sonnet-4-5").unwrap();
        let cost = |written| price.cost(&price.dearest(1_000, 100, written));
        assert_eq!(cost(CacheEntries::Short), Micros(3_750 + 1_500));
        assert_eq!(cost(CacheEntries::Long), Micros(6_000 + 1_500));
    }

    #[test]
    fn local_models_are_free_and_say_so() {
        let price = table().find("ollama", "qwen3:8b").unwrap();
        assert_eq!(price.cost(&Usage { input: 9, output: 9, ..Usage::default() }), Micros(0));
    }

    #[test]
    fn a_fraction_of_a_micro_dollar_is_rounded_up() {
        let price = table().find("openai", "gpt-5-nano").unwrap();
        let usage = Usage { input: 1, ..Usage::default() };
        assert_eq!(price.cost(&usage), Micros(1));
    }
}
