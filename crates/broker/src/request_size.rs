//! Output limits of a request: how much a provider may bill for its answers. Every spelling that a provider may read
//! counts, and a value that a provider might read otherwise than we do is refused.

use serde_json::{Map, Value};

use crate::protocol::Protocol;
use crate::refusal::Refusal;

/// Output tokens assumed for a request that sets no limit of its own.
pub(crate) const DEFAULT_OUTPUT: u64 = 8_192;

type Fields = Map<String, Value>;

const MESSAGES_LIMITS: &[&str] = &["max_tokens"];
/// Servers read one or the other.
const CHAT_LIMITS: &[&str] = &["max_completion_tokens", "max_tokens"];
const RESPONSES_LIMITS: &[&str] = &["max_output_tokens"];
const GEMINI_LIMITS: &[&str] = &["maxOutputTokens", "max_output_tokens"];
const GEMINI_CONFIGS: &[&str] = &["generationConfig", "generation_config"];
const GEMINI_ANSWERS: &[&str] = &["candidateCount", "candidate_count"];
const CHAT_ANSWERS: &[&str] = &["n"];

/// Refuses numbers that are none: servers read `"64000"`, `64000.0` or `-1` as more than we would reserve.
pub(crate) fn check(protocol: Protocol, fields: &Fields) -> Result<(), Refusal> {
    for (name, value) in numbers(protocol, fields) {
        if !value.is_null() && value.as_u64().is_none() {
            return Err(Refusal::BadField(format!("`{name}` is no whole number of tokens or answers")));
        }
    }
    Ok(())
}

/// The most output tokens of all answers together.
pub(crate) fn output(protocol: Protocol, fields: &Fields) -> u64 {
    let most = |names: &[&str]| {
        let all = numbers(protocol, fields).into_iter();
        all.filter(|(name, _)| names.contains(name)).filter_map(|(_, value)| value.as_u64()).max()
    };
    let answers = most(&[CHAT_ANSWERS, GEMINI_ANSWERS].concat()).unwrap_or(1).max(1);
    let limits = [MESSAGES_LIMITS, CHAT_LIMITS, RESPONSES_LIMITS, GEMINI_LIMITS].concat();
    let asked = match (protocol, most(&limits)) {
        // Vectors are not counted in tokens.
        (Protocol::Embeddings, _) => return 0,
        (_, Some(asked)) => asked,
        (_, None) => DEFAULT_OUTPUT.max(thoughts(fields)),
    };
    // Words that were predicted wrongly are billed as output, beside the answer.
    let predicted = fields.get("prediction").map_or(0, |prediction| (prediction.to_string().len() as u64).div_ceil(4));
    asked.saturating_add(predicted).saturating_mul(answers)
}

/// The fields of a protocol that say how much may be answered.
fn numbers(protocol: Protocol, fields: &Fields) -> Vec<(&'static str, &Value)> {
    match protocol {
        Protocol::Messages => named(fields, &[MESSAGES_LIMITS]),
        Protocol::Chat => named(fields, &[CHAT_LIMITS, CHAT_ANSWERS]),
        Protocol::Responses => named(fields, &[RESPONSES_LIMITS]),
        Protocol::Gemini => {
            let configs = GEMINI_CONFIGS.iter().filter_map(|name| fields.get(*name)?.as_object());
            configs.flat_map(|config| named(config, &[GEMINI_LIMITS, GEMINI_ANSWERS])).collect()
        }
        Protocol::Embeddings => Vec::new(),
    }
}

fn named<'f>(fields: &'f Fields, names: &[&[&'static str]]) -> Vec<(&'static str, &'f Value)> {
    names.concat().into_iter().filter_map(|name| Some((name, fields.get(name)?))).collect()
}

/// Tokens that a request without a limit grants for thinking.
fn thoughts(fields: &Fields) -> u64 {
    let budgets = [("reasoning", "max_tokens"), ("thinking", "budget_tokens")];
    let granted = budgets.iter().filter_map(|(name, budget)| fields.get(*name)?.get(*budget)?.as_u64());
    granted.max().unwrap_or(0)
}

/// Whether a value asks anywhere for a cache entry that stays for an hour.
pub(crate) fn caches_for_long(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            fields.get("cache_control").is_some_and(|control| control["ttl"] == "1h")
                || fields.values().any(caches_for_long)
        }
        Value::Array(values) => values.iter().any(caches_for_long),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
