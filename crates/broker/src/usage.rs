//! Token counts as each protocol reports them, brought to one shape. Never prices anything.

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

// No real call comes near; it keeps sums of hostile numbers from overflowing.
const MOST_TOKENS: u64 = 1_000_000_000_000;

fn count(usage: &Value, pointer: &str) -> Option<u64> {
    let tokens = usage.pointer(pointer)?.as_u64()?;
    Some(tokens.min(MOST_TOKENS))
}

impl Usage {
    /// Anthropic reports in pieces: a later piece replaces only what it names.
    pub(crate) fn update_from_messages(&mut self, usage: &Value) {
        let mut set = |field: fn(&mut Self) -> &mut u64, pointer: &str| {
            if let Some(tokens) = count(usage, pointer) {
                *field(self) = tokens;
            }
        };
        set(|u| &mut u.input, "/input_tokens");
        set(|u| &mut u.output, "/output_tokens");
        set(|u| &mut u.cache_read, "/cache_read_input_tokens");
        set(|u| &mut u.cache_write, "/cache_creation_input_tokens");
        set(|u| &mut u.cache_write_long, "/cache_creation/ephemeral_1h_input_tokens");
    }

    pub(crate) fn from_chat(usage: &Value) -> Option<Self> {
        let prompt = count(usage, "/prompt_tokens")?;
        // DeepSeek counts cache hits in a field of its own.
        let cache_read = count(usage, "/prompt_tokens_details/cached_tokens")
            .or_else(|| count(usage, "/prompt_cache_hit_tokens"))
            .unwrap_or(0);
        Some(Self {
            input: prompt.saturating_sub(cache_read),
            output: count(usage, "/completion_tokens").unwrap_or(0),
            cache_read,
            reasoning: count(usage, "/completion_tokens_details/reasoning_tokens").unwrap_or(0),
            ..Self::default()
        })
    }

    pub(crate) fn from_responses(usage: &Value) -> Option<Self> {
        let total = count(usage, "/input_tokens")?;
        let cache_read = count(usage, "/input_tokens_details/cached_tokens").unwrap_or(0);
        let cache_write = count(usage, "/input_tokens_details/cache_write_tokens").unwrap_or(0);
        Some(Self {
            input: total.saturating_sub(cache_read).saturating_sub(cache_write),
            output: count(usage, "/output_tokens").unwrap_or(0),
            cache_read,
            cache_write,
            reasoning: count(usage, "/output_tokens_details/reasoning_tokens").unwrap_or(0),
            ..Self::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn later_pieces_keep_what_they_do_not_name() {
        let mut usage = Usage::default();
        usage.update_from_messages(&json!({
            "input_tokens": 10, "output_tokens": 1,
            "cache_read_input_tokens": 200, "cache_creation_input_tokens": 30,
            "cache_creation": {"ephemeral_1h_input_tokens": 20},
        }));
        usage.update_from_messages(&json!({"output_tokens": 50, "input_tokens": null}));
        assert_eq!(
            usage,
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
        let deepseek = json!({"prompt_tokens": 100, "completion_tokens": 7, "prompt_cache_hit_tokens": 60});
        let read = Usage::from_chat(&openai).unwrap();
        assert_eq!((read.input, read.cache_read, read.reasoning), (40, 60, 5));
        assert_eq!(Usage::from_chat(&deepseek).unwrap().input, 40);
    }

    #[test]
    fn nonsense_counts_are_not_usage() {
        assert_eq!(Usage::from_chat(&json!({"prompt_tokens": -4})), None);
        assert_eq!(Usage::from_responses(&json!("many")), None);
        let huge = Usage::from_responses(&json!({"input_tokens": u64::MAX})).unwrap();
        assert_eq!(huge.input, MOST_TOKENS);
    }
}
