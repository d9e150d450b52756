//! Reading what was sent: JSON bodies and query parameters, with the field at fault named.

use std::collections::HashSet;
use std::fmt;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use serde::de::{DeserializeOwned, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::problem::Failure;

/// A JSON body. An empty one counts as `{}`.
pub(crate) struct Sent<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Sent<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        let bytes = Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|_| unreadable("the body ended early", None))?;
        read(if bytes.is_empty() { b"{}" } else { &bytes }).map(Self)
    }
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice::<NoRepeats>(bytes).map_err(|error| {
        let message = error.to_string();
        unreadable(&message, quoted(&message))
    })?;
    let mut json = serde_json::Deserializer::from_slice(bytes);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let message = error.inner().to_string();
        // The path of a missing or unknown field ends at the object; its name is in the message.
        let field = if message.contains(" field `") { quoted(&message) } else { Some(path).filter(|path| path != ".") };
        unreadable(&message, field)
    })
}

fn quoted(message: &str) -> Option<String> {
    message.split('`').nth(1).map(str::to_owned)
}

fn unreadable(message: &str, field: Option<String>) -> Failure {
    let hint = "see /api/openapi.json for what this route takes";
    let failure = Failure::new(wire::Fault::User, "bad_json", format!("the body is not right: {message}"), hint);
    match field {
        Some(field) => failure.at(&field),
        None => failure,
    }
}

/// Any JSON in which no object names a key twice: which of the two would count is anybody's guess.
struct NoRepeats;

impl<'de> Deserialize<'de> for NoRepeats {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NoRepeatsVisitor)
    }
}

struct NoRepeatsVisitor;

impl<'de> Visitor<'de> for NoRepeatsVisitor {
    type Value = NoRepeats;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<NoRepeats, E> {
        Ok(NoRepeats)
    }
    fn visit_i64<E>(self, _: i64) -> Result<NoRepeats, E> {
        Ok(NoRepeats)
    }
    fn visit_u64<E>(self, _: u64) -> Result<NoRepeats, E> {
        Ok(NoRepeats)
    }
    fn visit_f64<E>(self, _: f64) -> Result<NoRepeats, E> {
        Ok(NoRepeats)
    }
    fn visit_str<E>(self, _: &str) -> Result<NoRepeats, E> {
        Ok(NoRepeats)
    }
    fn visit_unit<E>(self) -> Result<NoRepeats, E> {
        Ok(NoRepeats)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<NoRepeats, A::Error> {
        while list.next_element::<NoRepeats>()?.is_some() {}
        Ok(NoRepeats)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NoRepeats, A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if seen.contains(&key) {
                let shown: String = key.chars().filter(|c| !c.is_control()).take(40).collect();
                map.next_value::<IgnoredAny>()?;
                return Err(A::Error::custom(format!("duplicate field `{shown}`")));
            }
            map.next_value::<NoRepeats>()?;
            seen.insert(key);
        }
        Ok(NoRepeats)
    }
}

/// Query parameters.
pub(crate) struct Params<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let Query(params) = Query::<T>::try_from_uri(&parts.uri).map_err(|error| {
            let message = axum::extract::rejection::QueryRejection::body_text(&error);
            let hint = "see /api/openapi.json for what this route takes";
            let failure = Failure::new(wire::Fault::User, "bad_query", message.clone(), hint);
            match quoted(&message) {
                Some(field) => failure.at(&field),
                None => failure,
            }
        })?;
        Ok(Self(params))
    }
}

/// Names in the path.
pub(crate) struct Named<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Named<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let found = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        let axum::extract::Path(names) = found.map_err(|_| {
            Failure::new(wire::Fault::User, "bad_path", "the path cannot be read", "use ids as they are shown")
        })?;
        Ok(Self(names))
    }
}
