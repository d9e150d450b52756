//! How many tokens a conversation has for a model, and how many the model takes. Counted for OpenAI's families,
//! estimated for others, and corrected by what the provider reported. Pure.

use tiktoken_rs::CoreBPE;

use crate::context;
use crate::turns::{Answer, CallResult, Record, Thought};

/// Longer texts are counted by their beginning: counting must not take longer than the call.
const SAMPLE: usize = 32 * 1024;
/// Around each message and call.
const OVERHEAD: u64 = 8;
/// Limits of the correction: a report beyond them is taken for wrong.
const CORRECTION: (f64, f64) = (0.5, 3.0);

/// Counts for one model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Counter {
    /// The vocabulary of GPT-4 and before.
    Cl100k,
    /// The vocabulary since GPT-4o.
    O200k,
    /// By so many bytes for a token.
    Estimate(f64),
}

impl Counter {
    pub(crate) fn of(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        let provider = model.split('/').next().unwrap_or_default();
        match (provider, name.as_str()) {
            (_, name) if name.starts_with("gpt-3.5") || name == "gpt-4" || name.starts_with("gpt-4-") => Self::Cl100k,
            ("openai", _) => Self::O200k,
            (_, name) if name.starts_with("gpt-") => Self::O200k,
            ("anthropic", _) => Self::Estimate(3.4),
            (_, name) if name.starts_with("claude") => Self::Estimate(3.4),
            (_, name) if name.starts_with("gemini") || name.starts_with("gemma") => Self::Estimate(4.0),
            (_, _) => Self::Estimate(3.6),
        }
    }

    pub(crate) fn text(self, text: &str) -> u64 {
        match self {
            Self::Cl100k => counted(tiktoken_rs::cl100k_base_singleton(), text),
            Self::O200k => counted(tiktoken_rs::o200k_base_singleton(), text),
            Self::Estimate(bytes) => estimated(text.len() as f64 / bytes),
        }
    }

    pub(crate) fn record(self, record: &Record) -> u64 {
        match record {
            Record::Opening { system, user } => self.text(system) + self.text(user) + 2 * OVERHEAD,
            Record::Assistant(answer) => self.answer(answer),
            Record::Results(results) => {
                results.iter().map(|CallResult { output, .. }| self.text(output) + OVERHEAD).sum()
            }
            Record::Nudge { text } => self.text(text) + OVERHEAD,
            Record::Guidance(guidance) => self.text(&guidance.text) + 4 * OVERHEAD,
            Record::Begun { .. } | Record::Compacted(_) => 0,
        }
    }

    fn answer(self, answer: &Answer) -> u64 {
        let thought = |thought: &Thought| match thought {
            Thought::Plain(text) | Thought::Signed { text, .. } => self.text(text),
            Thought::Sealed(data) => self.text(&data.to_string()),
        };
        let thoughts: u64 = answer.thoughts.iter().map(thought).sum();
        let call = |call: &crate::turns::Call| self.text(&call.tool) + self.text(&call.input.to_string()) + OVERHEAD;
        self.text(&answer.text) + thoughts + answer.calls.iter().map(call).sum::<u64>() + OVERHEAD
    }

    fn all(self, context: &[Record], tools: u64) -> u64 {
        tools + context.iter().map(|record| self.record(record)).sum::<u64>()
    }

    /// What the next request will have, by the count and by how far the last count was off.
    pub(crate) fn next_request(self, records: &[Record], tools: u64) -> u64 {
        let counted = self.all(&context::of(records), tools);
        estimated(counted as f64 * self.correction(records, tools))
    }

    fn correction(self, records: &[Record], tools: u64) -> f64 {
        let reported = records.iter().enumerate().rev().find_map(|(at, record)| match record {
            Record::Assistant(Answer { usage, .. }) if usage.input > 0 => Some((at, usage.input)),
            Record::Assistant(_)
            | Record::Opening { .. }
            | Record::Results(_)
            | Record::Nudge { .. }
            | Record::Begun { .. }
            | Record::Guidance(_)
            | Record::Compacted(_) => None,
        });
        let Some((at, reported)) = reported else { return 1.0 };
        let counted = self.all(&context::of(&records[..at]), tools).max(1);
        (reported as f64 / counted as f64).clamp(CORRECTION.0, CORRECTION.1)
    }
}

fn counted(vocabulary: &CoreBPE, text: &str) -> u64 {
    let sample = &text[..text.floor_char_boundary(SAMPLE)];
    let counted = vocabulary.count_ordinary(sample) as u64;
    match sample.len() as u64 {
        0 => 0,
        part => counted * text.len() as u64 / part,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes are small and never negative")]
fn estimated(tokens: f64) -> u64 {
    tokens.ceil() as u64
}

/// Tokens a model takes in at once; few where nothing is known of its family.
pub(crate) fn window(model: &str) -> u64 {
    drivers::known_window(model).unwrap_or(100_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turns::Usage;

    #[test]
    fn openai_is_counted_and_others_are_estimated() {
        assert_eq!(Counter::of("openai/gpt-4o").text("hello world"), 2);
        assert_eq!(Counter::of("openai/gpt-4").text("hello world"), 2);
        assert_eq!(Counter::of("openrouter/openai/gpt-5-mini").text("hello world"), 2);
        assert_eq!(Counter::of("anthropic/claude-x").text("hello world"), 4);
        assert_eq!(Counter::of("openai/gpt-4o").text(""), 0);
        let long = "hello world\n".repeat(20_000);
        let counted = Counter::of("openai/gpt-4o").text(&long);
        assert!((55_000..65_000).contains(&counted), "{counted}");
    }

    #[test]
    fn what_the_provider_reported_corrects_the_estimate_within_reason() {
        let counter = Counter::of("anthropic/claude-x");
        let opening = Record::Opening { system: "s".repeat(3400), user: "u".repeat(3400) };
        let said = |input| Record::Assistant(Answer { usage: Usage { input, output: 1 }, ..Answer::default() });
        let plain = counter.next_request(&[opening.clone(), said(0)], 0);
        assert!((2000..2100).contains(&plain), "{plain}");
        let more = counter.next_request(&[opening.clone(), said(4032)], 0);
        assert!((4000..4200).contains(&more), "twice as many were reported: {more}");
        let absurd = counter.next_request(&[opening, said(1_000_000)], 0);
        assert!(absurd < 6_200, "{absurd}");
    }

    #[test]
    fn windows_are_known_by_family_and_careful_otherwise() {
        for (model, tokens) in [
            ("anthropic/claude-opus-4", 200_000),
            ("openai/gpt-4", 8_192),
            ("openai/gpt-4.1-mini", 1_000_000),
            ("ollama/llama3", 32_000),
            ("someone/new", 100_000),
        ] {
            assert_eq!(window(model), tokens, "{model}");
        }
    }
}
