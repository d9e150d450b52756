//! The stored form of events: a type and a payload, exactly as `domain::Event` serialises its tag and content.
//!
//! The form is a promise kept by golden files. A changed shape gets a new `FORM` and an arm in `upcast`; what is
//! stored is never rewritten.

use std::borrow::Cow;

use domain::{Event, Recorded};
use engine::StoreError;
use jiff::Timestamp;

/// The form that is written today.
pub(crate) const FORM: i64 = 1;

/// Every event type that is known.
const TYPES: [&str; 29] = [
    "RUN_STARTED",
    "BRANCH_CREATED",
    "STAGE_STARTED",
    "STAGE_COMPLETED",
    "EFFECT_REQUESTED",
    "EFFECT_FINISHED",
    "ARTIFACT_CREATED",
    "APPROVAL_REQUESTED",
    "APPROVAL_GRANTED",
    "APPROVAL_REJECTED",
    "CLARIFICATION_REQUESTED",
    "CLARIFICATION_ANSWERED",
    "HOLD_PLACED",
    "DECISION_MADE",
    "AUTO_ADVANCED",
    "AGENT_CRASHED",
    "IMPLEMENTATION_SUCCEEDED",
    "IMPLEMENTATION_FAILED",
    "PROOF_RECORDED",
    "VALIDATION_PASSED",
    "VALIDATION_FAILED",
    "SPEND_RECORDED",
    "RECORD_WRITTEN",
    "BRANCH_PUBLISHED",
    "BRANCH_MERGED",
    "BRANCH_PUSHED",
    "RUN_COMPLETED",
    "RUN_FAILED",
    "RUN_CANCELLED",
];

/// An event as its two columns.
///
/// # Errors
/// When it does not serialise, which no event does.
pub fn encode(event: &Event) -> Result<(String, String), StoreError> {
    let whole = serde_json::to_string(event).map_err(|error| StoreError::Other(error.to_string()))?;
    let (kind, payload) =
        split(&whole).ok_or_else(|| StoreError::Other(format!("an event of a strange form: {whole}")))?;
    Ok((kind.to_owned(), payload.to_owned()))
}

/// Takes `{"type":"T","payload":P}` apart without reading it as JSON a second time.
pub(crate) fn split(whole: &str) -> Option<(&str, &str)> {
    let rest = whole.strip_prefix(r#"{"type":""#)?;
    let (kind, rest) = rest.split_once('"')?;
    let payload = rest.strip_prefix(r#","payload":"#)?.strip_suffix('}')?;
    Some((kind, payload))
}

/// An event from its columns.
///
/// # Errors
/// `TooNew` for a type or form that only a newer version knows, `Damaged` for what does not decode.
pub fn decode(form: i64, kind: &str, payload: &str) -> Result<Event, StoreError> {
    let payload = upcast(form, kind, payload)?;
    let whole = format!(r#"{{"type":"{kind}","payload":{payload}}}"#);
    serde_json::from_str(&whole).map_err(|error| {
        if TYPES.contains(&kind) {
            StoreError::Damaged(format!("a stored `{kind}` does not decode: {error}"))
        } else {
            StoreError::TooNew(format!("the event type `{kind}` is not known here; made by a newer version"))
        }
    })
}

/// Turns older forms into today's.
fn upcast<'a>(form: i64, kind: &str, payload: &'a str) -> Result<Cow<'a, str>, StoreError> {
    match form {
        FORM => Ok(Cow::Borrowed(payload)),
        newer if newer > FORM => {
            Err(StoreError::TooNew(format!("`{kind}` is stored in form {newer}, this version reads up to {FORM}")))
        }
        strange => Err(StoreError::Damaged(format!("`{kind}` is stored in form {strange}, which never was"))),
    }
}

/// Whole milliseconds: the engine truncates its clock to them, so events come back equal.
pub(crate) fn millis(at: Timestamp) -> i64 {
    at.as_millisecond()
}

pub(crate) fn timestamp(millis: i64) -> Result<Timestamp, StoreError> {
    Timestamp::from_millisecond(millis).map_err(|_| StoreError::Damaged(format!("{millis} is not a time")))
}

/// SQLite counts to 2^63; no sequence, epoch or sum of a run gets there.
pub(crate) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn count(number: i64) -> Result<u64, StoreError> {
    u64::try_from(number).map_err(|_| StoreError::Damaged(format!("{number} stands where a count should")))
}

pub(crate) fn recorded(row: &rusqlite::Row<'_>, first: usize) -> Result<Recorded, StoreError> {
    let column = |error| crate::fault::fault(error);
    let text =
        |index| row.get_ref(index).map_err(column)?.as_str().map_err(|error| StoreError::Damaged(error.to_string()));
    let sequence = count(row.get(first).map_err(column)?)?;
    let at = timestamp(row.get(first + 1).map_err(column)?)?;
    let event = decode(row.get(first + 2).map_err(column)?, text(first + 3)?, text(first + 4)?)?;
    Ok(Recorded { sequence, at, event })
}
