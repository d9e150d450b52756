//! What the gateway reads of a request: model, stream, size. What is sent on is always written anew from what was read, so
//! that a provider sees one value where an agent wrote a field twice.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::protocol::Protocol;
use crate::refusal::Refusal;
use crate::request_filter;
use crate::request_size;

/// Bytes; no name of a model comes near.
const LONGEST_MODEL: usize = 512;

#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) protocol: Protocol,
    pub(crate) verb: Verb,
    pub(crate) model: String,
    pub(crate) stream: Streamed,
    /// Bytes of the request as the agent sent it.
    size: usize,
    fields: Map<String, Value>,
    /// What the provider does not get to see, by name.
    pub(crate) removed: Vec<String>,
}

/// What the agent wants of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Answer,
    /// Only how many tokens a request would have; no upstream charges for it.
    Count,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streamed {
    Yes,
    /// As elements of one JSON array: Gemini without `alt=sse`.
    Array,
    No,
}

/// Whether a Chat stream must be freed of the usage that only the gateway asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsageChunk {
    Wanted,
    OnlyForUs,
}

impl Ask {
    /// Reads a request that names its model in its body.
    pub(crate) fn read(protocol: Protocol, verb: Verb, bytes: Bytes) -> Result<Self, Refusal> {
        let fields = object(&bytes)?;
        let model = named(&fields).ok_or(Refusal::NoModel)?;
        if fields.get("background").is_some_and(|value| *value != json!(false) && !value.is_null()) {
            return Err(Refusal::Background);
        }
        request_size::check(protocol, &fields)?;
        let stream = match fields.get("stream") {
            Some(Value::Bool(true)) => Streamed::Yes,
            Some(Value::Bool(false) | Value::Null) | None => Streamed::No,
            // Some servers read more as a yes, and would stream without the usage that is asked for with it.
            Some(_) => return Err(Refusal::BadField("`stream` is neither true nor false".to_owned())),
        };
        Ok(Self { protocol, verb, model, stream, size: bytes.len(), fields, removed: Vec::new() })
    }

    /// Reads a Gemini request: `target` is `model:action` of the path. A model in the body goes before it, for
    /// clients that cannot put a name with slashes into a path.
    pub(crate) fn read_gemini(target: &str, sse: bool, bytes: Bytes) -> Result<Self, Refusal> {
        let (model, action) = target.rsplit_once(':').unwrap_or((target, ""));
        let (verb, stream) = match (action, sse) {
            ("generateContent", _) => (Verb::Answer, Streamed::No),
            ("streamGenerateContent", true) => (Verb::Answer, Streamed::Yes),
            ("streamGenerateContent", false) => (Verb::Answer, Streamed::Array),
            ("countTokens", _) => (Verb::Count, Streamed::No),
            _ => return Err(Refusal::NoAction(action.chars().take(60).collect())),
        };
        let fields = object(&bytes)?;
        request_size::check(Protocol::Gemini, &fields)?;
        let model = named(&fields).unwrap_or_else(|| model.to_owned());
        let model = model.strip_prefix("models/").unwrap_or(&model).to_owned();
        let plain = |part: &str| !matches!(part, "" | "." | "..") && part.chars().all(|c| c.is_ascii_graphic());
        if model.len() > LONGEST_MODEL || !model.split('/').all(plain) {
            return Err(Refusal::NoModel);
        }
        let (protocol, size) = (Protocol::Gemini, bytes.len());
        Ok(Self { protocol, verb, model, stream, size, fields, removed: Vec::new() })
    }

    /// A request of our own making, for a model that the route names.
    pub(crate) fn of_our_own(protocol: Protocol, fields: Map<String, Value>) -> Self {
        let size = Value::Object(fields.clone()).to_string().len();
        let (verb, stream) = (Verb::Answer, Streamed::No);
        Self { protocol, verb, model: String::new(), stream, size, fields, removed: Vec::new() }
    }

    /// Takes away what no provider gets to see, and names the hosted tools that stay.
    pub(crate) fn filter(&mut self, allowed: &[String]) -> Result<BTreeSet<String>, Refusal> {
        let fields = std::mem::take(&mut self.fields);
        let filtered = request_filter::filter(self.protocol, fields, allowed)?;
        self.fields = filtered.fields;
        self.removed = filtered.removed;
        Ok(filtered.hosted)
    }

    pub(crate) fn field(&self, name: &str) -> &Value {
        self.fields.get(name).unwrap_or(&Value::Null)
    }

    pub(crate) fn input_estimate(&self) -> u64 {
        (self.size as u64).div_ceil(4)
    }

    /// The most output tokens that all answers to it may have, as far as it says.
    pub(crate) fn output_estimate(&self) -> u64 {
        request_size::output(self.protocol, &self.fields)
    }

    /// Whether anything of it is to stay in the prompt cache for an hour, which is dearer to write.
    pub(crate) fn caches_for_long(&self) -> bool {
        self.fields.values().any(request_size::caches_for_long)
    }

    /// A value of Gemini's `generationConfig`.
    pub(crate) fn gemini_config(&self, name: &str) -> &Value {
        &self.field("generationConfig")[name]
    }

    /// Whether the agent itself asked a Chat stream for its usage.
    pub(crate) fn usage_chunk(&self) -> UsageChunk {
        let chat = self.protocol == Protocol::Chat && self.stream == Streamed::Yes;
        if chat && self.field("stream_options")["include_usage"] != json!(true) {
            UsageChunk::OnlyForUs
        } else {
            UsageChunk::Wanted
        }
    }

    /// The body for an upstream: the model without its provider, and usage always asked for.
    pub(crate) fn forward(&self, model: &str) -> Bytes {
        let mut fields = self.fields.clone();
        if self.protocol == Protocol::Gemini {
            // The path names the model.
            fields.shift_remove("model");
            return Bytes::from(Value::Object(fields).to_string());
        }
        fields.insert("model".into(), json!(model));
        if self.usage_chunk() == UsageChunk::OnlyForUs {
            let options = fields.entry("stream_options").or_insert_with(|| json!({}));
            if !options.is_object() {
                *options = json!({});
            }
            options["include_usage"] = json!(true);
        }
        Bytes::from(Value::Object(fields).to_string())
    }
}

fn object(bytes: &Bytes) -> Result<Map<String, Value>, Refusal> {
    serde_json::from_slice(bytes).map_err(|error| Refusal::NotJson(error.to_string()))
}

fn named(fields: &Map<String, Value>) -> Option<String> {
    let model = fields.get("model").and_then(Value::as_str).map(str::trim);
    // A refused name is written to the log of the calls.
    model.filter(|model| !model.is_empty() && model.len() <= LONGEST_MODEL).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(protocol: Protocol, body: &str) -> Result<Ask, Refusal> {
        Ask::read(protocol, Verb::Answer, Bytes::copy_from_slice(body.as_bytes()))
    }

    fn gemini(target: &str, body: &'static str) -> Result<Ask, Refusal> {
        Ask::read_gemini(target, true, Bytes::from_static(body.as_bytes()))
    }

    #[test]
    fn a_field_that_is_written_twice_is_sent_once() {
        let body = r#"{"model":"gpt-5","tools":[{"type":"web_search"}],"messages":[],"tools":[]}"#;
        let sent = ask(Protocol::Chat, body).unwrap().forward("gpt-5");
        assert_eq!(sent, r#"{"model":"gpt-5","tools":[],"messages":[]}"#);
        let body = r#"{ "contents":[{"parts":[{"fileData":{}}]}], "contents":[] }"#;
        assert_eq!(gemini("house/m:generateContent", body).unwrap().forward("m"), r#"{"contents":[]}"#);
    }

    #[test]
    fn only_the_model_changes_and_order_stays() {
        let ask = ask(Protocol::Messages, r#"{"z":1,"model":"a/b/c","a":{"y":1.50,"b":2}}"#).unwrap();
        assert_eq!(ask.forward("b/c"), r#"{"z":1,"model":"b/c","a":{"y":1.5,"b":2}}"#);
    }

    #[test]
    fn usage_is_asked_for_even_when_the_agent_declines() {
        for options in ["", r#","stream_options":{"include_usage":false}"#, r#","stream_options":null"#] {
            let body = format!(r#"{{"model":"m","stream":true{options}}}"#);
            let sent = ask(Protocol::Chat, &body).unwrap().forward("m");
            let sent: Value = serde_json::from_slice(&sent).unwrap();
            assert_eq!(sent["stream_options"]["include_usage"], true, "{body}");
        }
    }

    #[test]
    fn output_is_estimated_from_the_request() {
        let estimate = |protocol, body| ask(protocol, body).unwrap().output_estimate();
        assert_eq!(estimate(Protocol::Messages, r#"{"model":"m","max_tokens":5}"#), 5);
        assert_eq!(estimate(Protocol::Chat, r#"{"model":"m","max_tokens":5,"n":3}"#), 15);
        assert_eq!(estimate(Protocol::Responses, r#"{"model":"m"}"#), request_size::DEFAULT_OUTPUT);
        let body = r#"{"generationConfig":{"maxOutputTokens":7,"candidateCount":2}}"#;
        assert_eq!(gemini("m:generateContent", body).unwrap().output_estimate(), 14);
    }

    #[test]
    fn a_gemini_path_names_model_action_and_stream() {
        let read = |target| gemini(target, "{}").map(|ask| (ask.model, ask.verb, ask.stream));
        assert_eq!(read("m:generateContent").unwrap(), ("m".into(), Verb::Answer, Streamed::No));
        assert_eq!(read("g/a:b:streamGenerateContent").unwrap(), ("g/a:b".into(), Verb::Answer, Streamed::Yes));
        assert_eq!(read("m:countTokens").unwrap(), ("m".into(), Verb::Count, Streamed::No));
        let array = Ask::read_gemini("m:streamGenerateContent", false, Bytes::from_static(b"{}")).unwrap();
        assert_eq!(array.stream, Streamed::Array);
        assert!(matches!(read("m:embedContent"), Err(Refusal::NoAction(_))));
        assert!(matches!(read("m"), Err(Refusal::NoAction(_))));
        for bad in [":generateContent", "../x:generateContent", "a//b:generateContent", "a b:generateContent"] {
            assert!(matches!(read(bad), Err(Refusal::NoModel)), "{bad}");
        }
        let in_body = gemini("broker:generateContent", r#"{"a":1,"model":"gemini/m","z":2}"#).unwrap();
        assert_eq!((in_body.model.as_str(), in_body.forward("m")), ("gemini/m", Bytes::from(r#"{"a":1,"z":2}"#)));
    }

    #[test]
    fn what_cannot_be_metered_or_understood_is_refused() {
        let refused = |body| ask(Protocol::Responses, body).unwrap_err();
        assert!(matches!(refused(r#"{"model":"m","background":true}"#), Refusal::Background));
        assert!(matches!(refused("[1]"), Refusal::NotJson(_)));
        assert!(matches!(refused(""), Refusal::NotJson(_)));
        assert!(matches!(refused(r#"{"model":7}"#), Refusal::NoModel));
        assert!(matches!(refused(r#"{"model":" "}"#), Refusal::NoModel));
    }
}
