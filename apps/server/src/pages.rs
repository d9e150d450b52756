//! The dashboard's files, as they were built into the binary. They hold no data, so they need no token; everything they
//! show comes through the API. Where none were built in, one page says how to get them.

use axum::body::Body;
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

use crate::problem::Failure;

type File = (&'static str, &'static [u8]);

const BUILT: &[File] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// What pages may load and do: only what is ours, no inline script, in nobody's frame.
const POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// Names with a digest in them: what is behind such a name never changes.
const HASHED: &str = "assets/";

const MISSING: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Holdpoint</title>\n\
    <h1>Holdpoint is running</h1>\n\
    <p>This binary was built without the dashboard. To get it, with node installed:</p>\n\
    <pre>make web\ncargo build --package holdpoint</pre>\n\
    <p>Then start the server again. Everything can be done from the command line meanwhile: \
    <code>holdpoint inbox</code>, <code>holdpoint --help</code>.</p>\n</html>\n";

/// Whether a request is for a page: anything but the API and what monitors ask for.
pub(crate) fn is_page(method: &Method, path: &str) -> bool {
    let served = path == "/api" || path.starts_with("/api/") || matches!(path, "/healthz" | "/metrics");
    !served && matches!(*method, Method::GET | Method::HEAD)
}

/// The file at a path, or the page that finds its way by itself from there.
pub(crate) fn page(uri: &Uri) -> Result<Response, Failure> {
    find(BUILT, uri.path()).ok_or_else(|| {
        let message = "the dashboard has no such file";
        Failure::new(wire::Fault::Missing, "no_such_file", message, "load the page anew: it may be of an older build")
    })
}

fn find(files: &'static [File], path: &str) -> Option<Response> {
    let wanted = path.trim_start_matches('/');
    let file = |name: &str| files.iter().find(|(known, _)| *known == name).copied();
    let found = match file(wanted) {
        Some(found) => Some(found),
        // A page in place of a script would be kept for a year.
        None if wanted.starts_with(HASHED) => return None,
        None => file("index.html"),
    };
    let (name, bytes) = found.unwrap_or(("index.html", MISSING.as_bytes()));
    Some(answer(name, bytes))
}

fn answer(name: &str, bytes: &'static [u8]) -> Response {
    let kept = if name.starts_with(HASHED) { "public, max-age=31536000, immutable" } else { "no-store" };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind(name))),
        (header::CACHE_CONTROL, HeaderValue::from_static(kept)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    ];
    (StatusCode::OK, headers, Body::from(bytes)).into_response()
}

fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "webp" => "image/webp",
        "woff2" => "font/woff2",
        "wasm" => "application/wasm",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: &[File] =
        &[("assets/app-1a2b.js", b"1"), ("assets/app-1a2b.css", b"2"), ("favicon.svg", b"3"), ("index.html", b"4")];

    #[track_caller]
    fn check(path: &str, kind: &str, kept: &str) {
        let response = find(FILES, path).unwrap();
        let header = |name| response.headers().get(name).unwrap().to_str().unwrap();
        assert_eq!((header(header::CONTENT_TYPE), header(header::CACHE_CONTROL)), (kind, kept), "{path}");
        assert_eq!(header(header::CONTENT_SECURITY_POLICY), POLICY);
    }

    #[test]
    fn hashed_files_are_kept_and_pages_are_not() {
        let forever = "public, max-age=31536000, immutable";
        check("/assets/app-1a2b.js", "text/javascript; charset=utf-8", forever);
        check("/assets/app-1a2b.css", "text/css; charset=utf-8", forever);
        check("/favicon.svg", "image/svg+xml", "no-store");
        for path in ["/", "/index.html", "/runs/abc", "/login", "/../../etc/passwd", "/assets"] {
            check(path, "text/html; charset=utf-8", "no-store");
        }
    }

    #[test]
    fn a_script_of_another_build_is_missing_and_not_a_page() {
        assert!(find(FILES, "/assets/app-ffff.js").is_none());
    }

    #[tokio::test]
    async fn without_a_build_the_page_says_how_to_get_one() {
        let response = find(&[], "/runs").unwrap();
        let body = axum::body::to_bytes(response.into_body(), 4096).await.unwrap();
        assert!(std::str::from_utf8(&body).unwrap().contains("make web"));
    }

    #[test]
    fn the_api_is_no_page() {
        for path in ["/api", "/api/", "/api/runs", "/metrics", "/healthz"] {
            assert!(!is_page(&Method::GET, path), "{path}");
        }
        assert!(is_page(&Method::GET, "/") && is_page(&Method::HEAD, "/apis") && !is_page(&Method::POST, "/"));
    }
}
