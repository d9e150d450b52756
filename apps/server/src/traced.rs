//! One span per request, with the route as it is documented: no id, no query, no body.

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use tracing::{Instrument as _, Span, field};

/// Lets a request through under a span of its own.
pub(crate) async fn traced(request: Request, next: Next) -> Response {
    let method = request.method().as_str().to_owned();
    let route = request.extensions().get::<MatchedPath>().map_or("unknown", MatchedPath::as_str).to_owned();
    let span = tracing::info_span!(
        "request",
        otel.name = %format!("{method} {route}"),
        otel.kind = "server",
        http.request.method = %method,
        http.route = %route,
        http.response.status_code = field::Empty,
    );
    let answer = async move {
        let response = next.run(request).await;
        Span::current().record("http.response.status_code", response.status().as_u16());
        response
    };
    answer.instrument(span).await
}
