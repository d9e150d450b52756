//! How many tokens models take in at once, by what is known of their families. Pure; never guesses.

const FAMILIES: [(&str, u64); 20] = [
    ("claude", 200_000),
    ("gpt-5", 272_000),
    ("gpt-4.1", 1_000_000),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-3.5", 16_000),
    ("gpt-oss", 128_000),
    ("codex", 200_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("gemini", 1_000_000),
    ("deepseek", 128_000),
    ("grok", 128_000),
    ("qwen", 32_000),
    ("llama", 32_000),
    ("mistral", 32_000),
    ("devstral", 128_000),
    ("story", 128_000),
];

/// Tokens that our own agent plans with for `provider/model`; `None` where nothing is known of its family.
#[must_use]
pub fn known_window(model: &str) -> Option<u64> {
    if model.starts_with("ollama/") {
        return Some(32_000);
    }
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    FAMILIES.iter().find(|(family, _)| name.starts_with(family)).map(|(_, tokens)| *tokens)
}
