//! What was shown carries a tag of its content. Who has it already and says so is told that nothing changed, without
//! being sent it again.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest as _, Sha256};

use crate::problem::Failure;

/// Tags JSON that is looked at.
pub(crate) async fn tagged(request: Request, next: Next) -> Response {
    let looks = *request.method() == Method::GET && request.uri().path().starts_with("/api/");
    let known = request.headers().get(header::IF_NONE_MATCH).cloned();
    let response = next.run(request).await;
    if !looks || response.status() != StatusCode::OK || !is_json(response.headers()) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return Failure::bug("the answer cannot be read").into_response();
    };
    let tag = tag(&bytes);
    let same = known.is_some_and(|known| known.to_str().is_ok_and(|known| names(known, &tag)));
    let value = HeaderValue::from_str(&tag).expect("quotes and hex digits are a header");
    if same {
        return (StatusCode::NOT_MODIFIED, [(header::ETAG, value)]).into_response();
    }
    parts.headers.insert(header::ETAG, value);
    Response::from_parts(parts, Body::from(bytes))
}

fn is_json(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json")
}

fn tag(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let half: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("\"{half}\"")
}

/// Whether a list of tags names one; a weak tag of the same content counts.
fn names(list: &str, tag: &str) -> bool {
    list.split(',').map(str::trim).any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_tags_is_read_as_a_list() {
        let tag = tag(b"x");
        assert!(names(&tag, &tag) && names(&format!("\"a\", W/{tag}"), &tag) && names("*", &tag));
        assert!(!names("", &tag) && !names("\"a\"", &tag) && !names(&tag.replace('"', ""), &tag));
    }
}
