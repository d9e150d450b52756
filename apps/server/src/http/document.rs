//! What routes have in common, said in the document of each: the key of a change, the tag of a view.

use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{OpenApi, RefOr, Required, ResponseBuilder};

use crate::once::UNKEYED;

/// The longest key.
const LONGEST: usize = 200;

/// Adds what the layers around the routes do.
pub(super) fn complete(api: &mut OpenApi) {
    for (path, item) in &mut api.paths.paths {
        let of_runs = path.replacen("/api/workflows", "/api/runs", 1);
        if let Some(change) = item.post.as_mut().filter(|_| !UNKEYED.contains(&of_runs.trim_end_matches('/'))) {
            parameter(change, "Idempotency-Key", KEY);
        }
        if let Some(view) = item.get.as_mut().filter(|_| path.starts_with("/api/") && !path.ends_with("/live")) {
            parameter(view, "If-None-Match", KNOWN);
            tag(view);
        }
    }
}

const KEY: &str = "The same key with the same body gets the same answer for 24 hours and changes nothing twice; with \
                   another body it is refused as `key_reused`.";
const KNOWN: &str = "The `ETag` of what the client has; `304` where that is still so.";

fn parameter(operation: &mut Operation, name: &str, description: &str) {
    let text = ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(LONGEST))
        .pattern(Some("^[!-~]+$"));
    let parameter: Parameter = ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(text))
        .build();
    operation.parameters.get_or_insert_default().push(RefOr::T(parameter));
}

fn tag(view: &mut Operation) {
    let unchanged = ResponseBuilder::new().description("What the client has is still so.").build();
    view.responses.responses.insert("304".to_owned(), RefOr::T(unchanged));
    if let Some(RefOr::T(shown)) = view.responses.responses.get_mut("200") {
        let text = ObjectBuilder::new().schema_type(Type::String);
        let header = HeaderBuilder::new().schema(Some(text)).description(Some("Changes with what is shown.")).build();
        shown.headers.insert("ETag".to_owned(), RefOr::T(header));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_change_says_that_it_takes_a_key_and_every_view_that_it_has_a_tag() {
        let api = serde_json::to_value(crate::openapi()).unwrap();
        let takes = |path: &str, method: &str, name: &str| {
            let named = api["paths"][path][method]["parameters"].as_array();
            named.is_some_and(|all| all.iter().any(|parameter| parameter["name"] == name))
        };
        assert!(takes("/api/runs", "post", "Idempotency-Key") && takes("/api/workflows", "post", "Idempotency-Key"));
        assert!(takes("/api/runs/{id}/merge", "post", "Idempotency-Key"));
        assert!(!takes("/api/login", "post", "Idempotency-Key"));
        assert!(takes("/api/runs/{id}", "get", "If-None-Match") && !takes("/api/live", "get", "If-None-Match"));
        assert!(api["paths"]["/api/holds"]["get"]["responses"]["304"].is_object());
    }
}
