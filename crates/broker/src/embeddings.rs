//! The door to a model that makes vectors of texts, where the user has set one up: `POST /embeddings` with
//! `{"input": ["…"]}`.
//!
//! The agent names only the texts; which model gets them is the user's setting. A call is reserved, metered, retried and
//! recorded like any other one. What is granted for embeddings is for nothing else: no conversation can be held there.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use crate::grant::{GrantError, Upstream};
use crate::protocol::Protocol;
use crate::refusal::Refusal;
use crate::request::Ask;

/// Texts in one request; servers take as many and hardly get faster with more.
const MOST_TEXTS: usize = 64;
const LONGEST_TEXT: usize = 16 * 1024;
const MOST_BYTES: usize = 512 * 1024;

/// The model that makes vectors.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmbeddingsGrant {
    /// Where it is; speaks the protocol of OpenAI.
    pub upstream: Upstream,
    /// Its name there.
    pub model: String,
}

impl EmbeddingsGrant {
    /// Checks what can be checked without a connection.
    pub fn check(&self) -> Result<(), GrantError> {
        let Upstream { provider, kind, .. } = &self.upstream;
        if provider.is_empty() || provider.contains('/') {
            return Err(GrantError::BadProvider(provider.clone()));
        }
        if !kind.speaks(Protocol::Embeddings) || self.model.is_empty() {
            return Err(GrantError::NoEmbeddings(provider.clone()));
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Texts {
    input: Vec<String>,
}

/// The request for the upstream, of what an agent sent.
pub(crate) fn read(body: &Bytes) -> Result<Ask, Refusal> {
    let bad = |reason: String| {
        Refusal::BadTexts(format!(
            "{reason}; a request for embeddings is `{{\"input\": [\"…\"]}}` with 1 to {MOST_TEXTS} texts of 1 to \
             {LONGEST_TEXT} bytes, together {MOST_BYTES}"
        ))
    };
    let Texts { input } = serde_json::from_slice(body).map_err(|error| bad(error.to_string()))?;
    if !(1..=MOST_TEXTS).contains(&input.len()) {
        return Err(bad(format!("these are {} texts", input.len())));
    }
    // Many servers refuse a whole request for one text without a word in it.
    if let Some(at) = input.iter().position(|text| text.trim().is_empty() || text.len() > LONGEST_TEXT) {
        return Err(bad(format!("text {} is empty or too long", at + 1)));
    }
    if input.iter().map(String::len).sum::<usize>() > MOST_BYTES {
        return Err(bad("these are too many bytes".to_owned()));
    }
    Ok(Ask::of_our_own(Protocol::Embeddings, Map::from_iter([("input".to_owned(), json!(input))])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(body: serde_json::Value, expected: &str) {
        let Err(Refusal::BadTexts(said)) = read(&Bytes::from(body.to_string())) else { panic!("taken: {body}") };
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn only_a_bounded_list_of_texts_is_taken() {
        let ask = read(&Bytes::from_static(br#"{"input":["a","b"]}"#)).unwrap();
        assert_eq!(ask.forward("m"), r#"{"input":["a","b"],"model":"m"}"#);
        assert_eq!((ask.output_estimate(), ask.input_estimate()), (0, 5));
        check_refused(json!({"input": []}), "0 texts");
        check_refused(json!({"input": vec!["a"; 65]}), "65 texts");
        check_refused(json!({"input": ["a", " \n"]}), "text 2 is empty");
        check_refused(json!({"input": ["a".repeat(LONGEST_TEXT + 1)]}), "text 1 is empty or too long");
        check_refused(json!({"input": vec!["a".repeat(LONGEST_TEXT); 33]}), "too many bytes");
        check_refused(json!({"input": ["a"], "model": "dearest"}), "unknown field `model`");
        check_refused(json!({"input": "a"}), "invalid type");
    }
}
