//! What a test call says about a model, in words: what happened, and what to do about it. Pure.

use broker::Protocol;
use broker::calls::{Outcome, Settled};
use domain::ModelName;
use jiff::Timestamp;
use runner::{ModelTry, TryError};
use wire::{ModelTestView, Problem};

use crate::config::{Setup, known};
use crate::problem::Failure;

/// What may be said of a provider's key.
pub(super) struct Key {
    /// Where it was found.
    pub(super) from: Option<String>,
    /// Where to put it.
    pub(super) place: String,
}

impl Key {
    pub(super) fn of(setup: &Setup, provider: &str) -> Self {
        let variable = known().find(|known| known.name == provider).map(|known| known.key_variable);
        let place = variable.unwrap_or_else(|| format!("`key` of [providers.{provider}] in config.toml"));
        Self { from: setup.keys.get(provider).cloned(), place }
    }
}

/// The protocol of that name.
pub(super) fn protocol(word: &str) -> Result<Protocol, Failure> {
    match word {
        "messages" => Ok(Protocol::Messages),
        "chat" => Ok(Protocol::Chat),
        "responses" => Ok(Protocol::Responses),
        "gemini" => Ok(Protocol::Gemini),
        "embeddings" => Ok(Protocol::Embeddings),
        _ => {
            let hint = "there are messages, chat, responses, gemini, embeddings";
            let word: String = word.chars().filter(|c| !c.is_control()).take(40).collect();
            Err(Failure::user("protocol", "unknown_protocol", format!("`{word}` is not a protocol"), hint))
        }
    }
}

/// A call that was not made.
pub(super) fn not_made(model: &ModelName, problem: Problem) -> ModelTestView {
    ModelTestView {
        model: model.to_string(),
        ok: false,
        protocol: None,
        at: Timestamp::now(),
        first_byte_millis: None,
        total_millis: None,
        input_tokens: 0,
        output_tokens: 0,
        usage_known: false,
        usd: None,
        price_known: false,
        outcome: "not_made".to_owned(),
        problem: Some(problem),
    }
}

/// Why no call could be made.
pub(super) fn no_call(error: &TryError) -> Problem {
    let (code, hint) = match error {
        TryError::Model(error) => ("unknown_model", error.hint()),
        TryError::Grant(_) => ("bad_provider", "mend the provider's settings and start the server again".to_owned()),
        TryError::Record { .. } | TryError::Read(_) => {
            ("no_record", "check the disk and the data directory; without a record no call is made".to_owned())
        }
        TryError::Client(_) => ("bug", "this should not happen; please report it with the server's log".to_owned()),
    };
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    problem(code, format!("{error}{cause}"), hint)
}

/// What came of a call.
pub(super) fn view(model: &ModelName, tried: &ModelTry, key: &Key) -> ModelTestView {
    let settled = tried.settled.as_ref();
    let wrong = wrong(model, tried, key);
    let cached = |settled: &Settled| settled.cache_read_tokens + settled.cache_write_tokens;
    ModelTestView {
        model: model.to_string(),
        ok: wrong.is_none(),
        protocol: Some(word(tried.protocol).to_owned()),
        at: tried.started_at,
        first_byte_millis: tried.first_byte.map(|time| time.as_secs_f64() * 1000.0),
        total_millis: Some(tried.total.as_secs_f64() * 1000.0),
        input_tokens: settled.map_or(0, |settled| settled.input_tokens + cached(settled)),
        output_tokens: settled.map_or(0, |settled| settled.output_tokens),
        usage_known: settled.is_some_and(|settled| settled.usage_known),
        usd: settled.and_then(|settled| settled.micro_usd).map(|cost| domain::Micros(cost.0).usd()),
        price_known: settled.is_some_and(|settled| settled.price_known),
        outcome: settled.map_or("unrecorded", |settled| outcome_word(settled.outcome)).to_owned(),
        problem: wrong,
    }
}

fn wrong(model: &ModelName, tried: &ModelTry, key: &Key) -> Option<Problem> {
    let provider = model.provider();
    let seconds = tried.total.as_secs_f64();
    let said = said(&tried.said);
    let Some(status) = tried.status else {
        let message = format!("`{model}` gave no answer within {seconds:.0} s");
        return Some(problem("timeout", message, "try again; a local model may still be loading".to_owned()));
    };
    if (200..300).contains(&status) {
        return broken(model, tried);
    }
    let text = tried.said.to_ascii_lowercase();
    let no_such = ["not exist", "not found", "unknown", "no such"].iter().any(|words| text.contains(words));
    Some(match (tried.code.as_str(), status) {
        ("holdpoint_unreachable", _) => problem(
            "unreachable",
            format!("`{provider}` cannot be reached{said}"),
            format!("check the base URL of `{provider}`, that a server of your own runs, and the network"),
        ),
        ("holdpoint_timeout", _) => problem(
            "timeout",
            format!("`{model}` sent nothing for {seconds:.0} s"),
            "try again; a local model may still be loading".to_owned(),
        ),
        ("holdpoint_quota", _) | (_, 402) => problem(
            "quota",
            format!("the quota of `{provider}` is spent{said}"),
            "wait for its usage window, or look at the plan and the credit of the account".to_owned(),
        ),
        ("holdpoint_wrong_door", _) => {
            let hint = "leave the protocol out, or use one that it speaks".to_owned();
            problem("wrong_protocol", format!("`{provider}` does not speak {}{said}", word(tried.protocol)), hint)
        }
        ("holdpoint_no_conversation", _) => problem(
            "no_conversation",
            format!("`{model}` has nothing to say to a test{said}"),
            "give the script a conversation without `when`".to_owned(),
        ),
        (code, _) if code.starts_with("holdpoint_") && code != "holdpoint_upstream" => {
            problem(code, format!("the call was refused{said}"), "the message says what to change".to_owned())
        }
        (_, 401 | 403) => refused_key(provider, status, &said, key),
        (_, 400) if text.contains("api key") => refused_key(provider, status, &said, key),
        (_, 404) => unknown_model(model, status, &said),
        (_, 400 | 422) if text.contains("model") && no_such => unknown_model(model, status, &said),
        (_, 429) => problem(
            "rate_limited",
            format!("`{provider}` takes no more calls right now (429){said}"),
            format!("try again in a while; `max_calls_per_minute` of [providers.{provider}] keeps below its limit"),
        ),
        (_, 408 | 500..=599) => problem(
            "provider_trouble",
            format!("`{provider}` has trouble of its own ({status}){said}"),
            "try again later, or use another model".to_owned(),
        ),
        (_, _) => problem(
            "refused",
            format!("`{provider}` refused the call ({status}){said}"),
            "the message says why; check the model's name, its protocol and the base URL".to_owned(),
        ),
    })
}

/// An answer that began well.
fn broken(model: &ModelName, tried: &ModelTry) -> Option<Problem> {
    let how = match tried.settled.as_ref().map(|settled| settled.outcome) {
        // So few tokens may all have gone into thinking.
        Some(Outcome::Ok | Outcome::Empty | Outcome::ScriptOver) => return None,
        Some(Outcome::Cut) => "broke off",
        Some(Outcome::Stalled) => "stopped coming",
        Some(Outcome::Malformed) => "cannot be read as its protocol",
        Some(Outcome::Error) => "ended with an error",
        Some(Outcome::Abandoned) | None => "took too long",
        Some(Outcome::Budget | Outcome::PriceUnknown | Outcome::CallLimit | Outcome::Quota | Outcome::Refused) => {
            "was refused"
        }
    };
    let message = format!("the answer of `{model}` {how}{}", said(&tried.said));
    let hint = "try again; if it stays so, check that the base URL leads to a server of this protocol".to_owned();
    Some(problem("broken_answer", message, hint))
}

fn refused_key(provider: &str, status: u16, said: &str, key: &Key) -> Problem {
    let place = &key.place;
    match &key.from {
        Some(from) => {
            let hint = format!(
                "put a valid key into {from} and start the server again; it may also lack the right to this model"
            );
            problem("key_refused", format!("`{provider}` refused the key from {from} ({status}){said}"), hint)
        }
        None => {
            let hint = format!("set {place} and start the server again");
            problem("no_key", format!("`{provider}` wants a key and none is set ({status}){said}"), hint)
        }
    }
}

fn unknown_model(model: &ModelName, status: u16, said: &str) -> Problem {
    let message = format!("`{}` knows no model `{}` ({status}){said}", model.provider(), model.model());
    let hint = "check the name (`holdpoint model list` has those with a known price) and the provider's base URL";
    problem("unknown_model", message, hint.to_owned())
}

/// The provider's own words, short and on one line.
fn said(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect();
    if plain.trim().is_empty() { String::new() } else { format!(": {}", plain.trim()) }
}

fn problem(code: &str, message: String, hint: String) -> Problem {
    Problem { code: code.to_owned(), message, hint, field: None }
}

fn word(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Messages => "messages",
        Protocol::Chat => "chat",
        Protocol::Responses => "responses",
        Protocol::Gemini => "gemini",
        Protocol::Embeddings => "embeddings",
    }
}

fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::Error => "error",
        Outcome::Cut => "cut",
        Outcome::Stalled => "stalled",
        Outcome::Malformed => "malformed",
        Outcome::Empty => "empty",
        Outcome::Abandoned => "abandoned",
        Outcome::Budget => "budget",
        Outcome::PriceUnknown => "price_unknown",
        Outcome::CallLimit => "call_limit",
        Outcome::Quota => "quota",
        Outcome::Refused => "refused",
        Outcome::ScriptOver => "script_over",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn tried(status: Option<u16>, code: &str, said: &str) -> ModelTry {
        ModelTry {
            protocol: Protocol::Chat,
            started_at: Timestamp::UNIX_EPOCH,
            first_byte: None,
            total: Duration::from_secs(60),
            status,
            code: code.to_owned(),
            said: said.to_owned(),
            settled: None,
        }
    }

    #[track_caller]
    fn check(status: impl Into<Option<u16>>, code: &str, said: &str, expected: &str, words: &str) {
        let key = Key { from: None, place: "ACME_API_KEY".to_owned() };
        let found = wrong(&"acme/m-1".parse().unwrap(), &tried(status.into(), code, said), &key).unwrap();
        assert_eq!(found.code, expected, "{found:?}");
        let both = format!("{} | {}", found.message, found.hint);
        assert!(both.contains(words) && !found.hint.is_empty(), "{both}");
    }

    #[test]
    fn every_failure_says_what_happened_and_what_to_do() {
        check(401, "invalid_api_key", "missing", "no_key", "set ACME_API_KEY and start the server again");
        check(404, "", "gone", "unknown_model", "`acme` knows no model `m-1` (404): gone");
        check(400, "", "Model Not Exist", "unknown_model", "holdpoint model list");
        check(400, "INVALID_ARGUMENT", "API key not valid.", "no_key", "(400): API key not valid.");
        check(400, "", "temperature is bad", "refused", "temperature is bad");
        check(502, "holdpoint_unreachable", "connection refused", "unreachable", "base URL of `acme`");
        check(504, "holdpoint_timeout", "", "timeout", "sent nothing for 60 s");
        check(None, "", "", "timeout", "no answer within 60 s");
        check(429, "holdpoint_quota", "week is over", "quota", "week is over");
        check(402, "", "pay", "quota", "credit of the account");
        check(429, "", "slow down", "rate_limited", "max_calls_per_minute");
        check(529, "overloaded_error", "busy", "provider_trouble", "(529): busy");
        check(400, "holdpoint_wrong_door", "use another", "wrong_protocol", "does not speak chat");
        check(200, "", "", "broken_answer", "took too long");
        check(502, "holdpoint_upstream", "a redirect", "provider_trouble", "a redirect");
    }

    #[test]
    fn a_refused_key_is_named_by_its_place() {
        let key = Key { from: Some("ACME_API_KEY".to_owned()), place: "ACME_API_KEY".to_owned() };
        let found = wrong(&"acme/m".parse().unwrap(), &tried(Some(401), "", "bad\u{1b}[31m key"), &key).unwrap();
        assert_eq!(found.code, "key_refused");
        assert_eq!(found.message, "`acme` refused the key from ACME_API_KEY (401): bad [31m key");
    }
}
