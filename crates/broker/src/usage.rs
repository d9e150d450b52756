//! Token counts as each protocol reports them, brought to one shape. Never prices anything, and never takes a
//! number that did not come for a zero.

use serde_json::Value;

/// Tokens of one call. `input` excludes what went through the prompt cache; `cache_write_long`
/// is a part of `cache_write`, `reasoning` a part of `output`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write: u64,
    pub(crate) cache_write_long: u64,
    pub(crate) reasoning: u64,
}

impl Usage {
    /// That many calls of this usage.
    pub(crate) fn times(&self, calls: u64) -> Self {
        self.each(&Self::default(), |own, _| own.saturating_mul(calls))
    }

    /// All of them.
    pub(crate) fn tokens(&self) -> u64 {
        [self.input, self.output, self.cache_read, self.cache_write].into_iter().fold(0, u64::saturating_add)
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        self.each(other, u64::saturating_add)
    }

    fn each(&self, other: &Self, made: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            input: made(self.input, other.input),
            output: made(self.output, other.output),
            cache_read: made(self.cache_read, other.cache_read),
            cache_write: made(self.cache_write, other.cache_write),
            cache_write_long: made(self.cache_write_long, other.cache_write_long),
            reasoning: made(self.reasoning, other.reasoning),
        }
    }
}

/// Usage as far as the upstream has reported it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reported {
    pub(crate) usage: Usage,
    /// The tokens of the prompt have come.
    pub(crate) input: bool,
    /// The final number of output tokens has come.
    pub(crate) output: bool,
}

// No real call comes near; it keeps sums of hostile numbers from overflowing.
const MOST_TOKENS: u64 = 1_000_000_000_000;

fn count(usage: &Value, pointer: &str) -> Option<u64> {
    let tokens = usage.pointer(pointer)?.as_u64()?;
    Some(tokens.min(MOST_TOKENS))
}

impl Reported {
    /// Anthropic reports in pieces: a later piece replaces only what it names, and none of it by nothing.
    pub(crate) fn messages_piece(&mut self, usage: &Value) {
        let mut set = |field: fn(&mut Usage) -> &mut u64, pointer: &str| {
            let tokens = count(usage, pointer);
            if let Some(tokens) = tokens.filter(|tokens| *tokens > 0) {
                *field(&mut self.usage) = tokens;
            }
            tokens.is_some()
        };
        let input = set(|u| &mut u.input, "/input_tokens");
        let output = set(|u| &mut u.output, "/output_tokens");
        set(|u| &mut u.cache_read, "/cache_read_input_tokens");
        set(|u| &mut u.cache_write, "/cache_creation_input_tokens");
        set(|u| &mut u.cache_write_long, "/cache_creation/ephemeral_1h_input_tokens");
        self.input |= input;
        self.output |= output;
    }

    /// The beginning of an Anthropic stream: its output tokens are only those of the first piece.
    pub(crate) fn messages_start(&mut self, usage: &Value) {
        self.messages_piece(usage);
        self.output = false;
    }

    pub(crate) fn from_chat(usage: &Value) -> Option<Self> {
        let hits = count(usage, "/prompt_cache_hit_tokens");
        // DeepSeek counts cache hits and misses in fields of its own.
        let prompt = count(usage, "/prompt_tokens")
            .or_else(|| Some(hits?.saturating_add(count(usage, "/prompt_cache_miss_tokens")?)));
        let output = count(usage, "/completion_tokens");
        if prompt.is_none() && output.is_none() {
            return None;
        }
        let cache_read = count(usage, "/prompt_tokens_details/cached_tokens").or(hits).unwrap_or(0);
        let reasoning = count(usage, "/completion_tokens_details/reasoning_tokens").unwrap_or(0);
        let usage = Usage {
            input: prompt.unwrap_or(0).saturating_sub(cache_read),
            output: output.unwrap_or(0).max(beside(usage, prompt, output, reasoning)),
            cache_read,
            reasoning,
            ..Usage::default()
        };
        Some(Self { usage, input: prompt.is_some(), output: output.is_some() })
    }

    pub(crate) fn from_responses(usage: &Value) -> Option<Self> {
        let (input, output) = (count(usage, "/input_tokens"), count(usage, "/output_tokens"));
        if input.is_none() && output.is_none() {
            return None;
        }
        let cache_read = count(usage, "/input_tokens_details/cached_tokens").unwrap_or(0);
        let cache_write = count(usage, "/input_tokens_details/cache_write_tokens").unwrap_or(0);
        let usage = Usage {
            input: input.unwrap_or(0).saturating_sub(cache_read).saturating_sub(cache_write),
            output: output.unwrap_or(0),
            cache_read,
            cache_write,
            reasoning: count(usage, "/output_tokens_details/reasoning_tokens").unwrap_or(0),
            ..Usage::default()
        };
        Some(Self { usage, input: input.is_some(), output: output.is_some() })
    }

    /// A vector has no output tokens, so nothing is missing when none are told.
    pub(crate) fn from_embeddings(usage: &Value) -> Option<Self> {
        let input = count(usage, "/prompt_tokens").or_else(|| count(usage, "/total_tokens"))?;
        Some(Self { usage: Usage { input, ..Usage::default() }, input: true, output: true })
    }

    /// Gemini counts thoughts beside the answer, and what its own tools read beside the prompt.
    pub(crate) fn from_gemini(usage: &Value) -> Option<Self> {
        let prompt = count(usage, "/promptTokenCount");
        let candidates = count(usage, "/candidatesTokenCount");
        let thoughts = count(usage, "/thoughtsTokenCount");
        if prompt.is_none() && candidates.is_none() && thoughts.is_none() {
            return None;
        }
        let cache_read = count(usage, "/cachedContentTokenCount").unwrap_or(0);
        let tools = count(usage, "/toolUsePromptTokenCount").unwrap_or(0);
        let reasoning = thoughts.unwrap_or(0);
        let total = count(usage, "/totalTokenCount");
        let usage = Usage {
            input: prompt.unwrap_or(0).saturating_sub(cache_read) + tools,
            output: candidates.unwrap_or(0) + reasoning,
            cache_read,
            reasoning,
            ..Usage::default()
        };
        // A count of nothing is left out of Gemini's JSON; the total tells it from a count that is missing.
        let nothing_more = total == Some(prompt.unwrap_or(0) + tools + reasoning);
        Some(Self { usage, input: prompt.is_some(), output: candidates.is_some() || nothing_more })
    }
}

/// xAI leaves reasoning out of the completion and adds it to the total only.
fn beside(usage: &Value, prompt: Option<u64>, output: Option<u64>, reasoning: u64) -> u64 {
    let (Some(prompt), Some(output)) = (prompt, output) else { return 0 };
    let sum = output.saturating_add(reasoning);
    let apart = reasoning > 0 && count(usage, "/total_tokens") == Some(prompt.saturating_add(sum));
    if apart { sum } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn later_pieces_keep_what_they_do_not_name() {
        let mut reported = Reported::default();
        reported.messages_start(&json!({
            "input_tokens": 10, "output_tokens": 1,
            "cache_read_input_tokens": 200, "cache_creation_input_tokens": 30,
            "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
        }));
        assert!(reported.input && !reported.output, "the first piece does not know the end");
        reported.messages_piece(&json!({"output_tokens": 50, "input_tokens": null}));
        assert!(reported.output);
        assert_eq!(
            reported.usage,
            Usage { input: 10, output: 50, cache_read: 200, cache_write: 30, cache_write_long: 20, reasoning: 0 }
        );
    }

    #[test]
    fn chat_cache_hits_are_taken_out_of_the_input() {
        let openai = json!({
            "prompt_tokens": 100, "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 60},
            "completion_tokens_details": {"reasoning_tokens": 5},
        });
        let read = |usage: &Value| Reported::from_chat(usage).unwrap().usage;
        let first = read(&openai);
        assert_eq!((first.input, first.cache_read, first.output, first.reasoning), (40, 60, 7, 5));
        let hit = json!({"prompt_tokens": 100, "completion_tokens": 7, "prompt_cache_hit_tokens": 60});
        assert_eq!(read(&hit).input, 40);
        let miss = json!({"completion_tokens": 7, "prompt_cache_hit_tokens": 60, "prompt_cache_miss_tokens": 40});
        assert_eq!((read(&miss).input, read(&miss).cache_read), (40, 60));
    }

    #[test]
    fn reasoning_that_only_the_total_contains_is_output() {
        let usage = |total| {
            json!({
                "prompt_tokens": 100, "completion_tokens": 7, "total_tokens": total,
                "completion_tokens_details": {"reasoning_tokens": 5},
            })
        };
        assert_eq!(Reported::from_chat(&usage(112)).unwrap().usage.output, 12);
        assert_eq!(Reported::from_chat(&usage(107)).unwrap().usage.output, 7);
    }

    #[test]
    fn gemini_counts_are_brought_together() {
        let usage = json!({
            "promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 7,
            "thoughtsTokenCount": 20, "toolUsePromptTokenCount": 3, "totalTokenCount": 130,
        });
        let read = Reported::from_gemini(&usage).unwrap();
        assert_eq!(read.usage, Usage { input: 43, output: 27, cache_read: 60, reasoning: 20, ..Usage::default() });
        assert!(read.input && read.output);
        let only_calls = Reported::from_gemini(&json!({"promptTokenCount": 9, "totalTokenCount": 9})).unwrap();
        assert!(only_calls.output, "the total says that there is no output");
        let early = Reported::from_gemini(&json!({"promptTokenCount": 9})).unwrap();
        assert!(!early.output);
    }

    #[test]
    fn a_part_that_is_missing_is_not_known() {
        let half = Reported::from_chat(&json!({"prompt_tokens": 9})).unwrap();
        assert!(half.input && !half.output);
        let half = Reported::from_responses(&json!({"output_tokens": 9})).unwrap();
        assert!(!half.input && half.output);
    }

    #[test]
    fn nonsense_counts_are_not_usage() {
        assert_eq!(Reported::from_chat(&json!({"prompt_tokens": -4})), None);
        assert_eq!(Reported::from_responses(&json!("many")), None);
        assert_eq!(Reported::from_gemini(&json!({"promptTokenCount": "9"})), None);
        let huge = Reported::from_responses(&json!({"input_tokens": u64::MAX})).unwrap();
        assert_eq!(huge.usage.input, MOST_TOKENS);
    }
}
