//! What the gateway reads of a request: model, stream, size. The rest is passed on as it came.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::protocol::Protocol;
use crate::refusal::Refusal;

/// Output tokens assumed for a request that sets no limit of its own.
const DEFAULT_OUTPUT: u64 = 8_192;

#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) protocol: Protocol,
    pub(crate) model: String,
    pub(crate) stream: Streamed,
    bytes: Bytes,
    fields: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streamed {
    Yes,
    No,
}

impl Ask {
    pub(crate) fn read(protocol: Protocol, bytes: Bytes) -> Result<Self, Refusal> {
        let fields: Map<String, Value> =
            serde_json::from_slice(&bytes).map_err(|error| Refusal::NotJson(error.to_string()))?;
        let model = fields.get("model").and_then(Value::as_str).map(str::trim);
        let model = model.filter(|model| !model.is_empty());
        let model = model.ok_or(Refusal::NoModel)?.to_owned();
        if fields.get("background").is_some_and(|value| *value != json!(false) && !value.is_null()) {
            return Err(Refusal::Background);
        }
        let stream = match fields.get("stream") {
            Some(Value::Bool(true)) => Streamed::Yes,
            Some(_) | None => Streamed::No,
        };
        Ok(Self { protocol, model, stream, bytes, fields })
    }

    pub(crate) fn field(&self, name: &str) -> &Value {
        self.fields.get(name).unwrap_or(&Value::Null)
    }

    pub(crate) fn input_estimate(&self) -> u64 {
        (self.bytes.len() as u64).div_ceil(4)
    }

    pub(crate) fn output_estimate(&self) -> u64 {
        let names: &[&str] = match self.protocol {
            Protocol::Messages => &["max_tokens"],
            Protocol::Chat => &["max_completion_tokens", "max_tokens"],
            Protocol::Responses => &["max_output_tokens"],
        };
        let asked = names.iter().find_map(|name| self.field(name).as_u64());
        let answers = match self.protocol {
            Protocol::Chat => self.field("n").as_u64().unwrap_or(1).max(1),
            Protocol::Messages | Protocol::Responses => 1,
        };
        asked.unwrap_or(DEFAULT_OUTPUT).saturating_mul(answers)
    }

    /// The body for an upstream: the model without its provider, and usage always asked for.
    /// Without a need to change anything the very bytes of the agent are sent.
    pub(crate) fn forward(&self, model: &str) -> Bytes {
        let meter = self.protocol == Protocol::Chat
            && self.stream == Streamed::Yes
            && self.field("stream_options")["include_usage"] != json!(true);
        if !meter && self.field("model") == model {
            return self.bytes.clone();
        }
        let mut fields = self.fields.clone();
        fields.insert("model".into(), json!(model));
        if meter {
            let options = fields.entry("stream_options").or_insert_with(|| json!({}));
            if !options.is_object() {
                *options = json!({});
            }
            options["include_usage"] = json!(true);
        }
        Bytes::from(Value::Object(fields).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(protocol: Protocol, body: &str) -> Result<Ask, Refusal> {
        Ask::read(protocol, Bytes::copy_from_slice(body.as_bytes()))
    }

    #[test]
    fn an_unchanged_request_is_sent_byte_for_byte() {
        let body = r#"{ "model":"gpt-5",  "messages":[] }"#;
        let ask = ask(Protocol::Chat, body).unwrap();
        assert_eq!(ask.forward("gpt-5"), body);
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
        assert_eq!(estimate(Protocol::Responses, r#"{"model":"m"}"#), DEFAULT_OUTPUT);
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
