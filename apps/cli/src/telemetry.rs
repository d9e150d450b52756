//! Traces for whoever collects them: the spans of requests and effects go to an OTLP collector, over HTTP with JSON. Off
//! unless the standard variables name one. Only spans leave, with the fields they were made with: no line of the log, and
//! with that no text of a prompt.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tokio::runtime::Handle;
use tracing::Subscriber;
use tracing_subscriber::filter::{FilterExt as _, LevelFilter, filter_fn};
use tracing_subscriber::{Layer, registry::LookupSpan};

/// Either of them turns it on; the second is an exact address.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the last spans may take when the server ends.
const FAREWELL: Duration = Duration::from_secs(2);

/// The way to the collector, for as long as the server lives.
pub(crate) struct Telemetry {
    provider: SdkTracerProvider,
}

impl Telemetry {
    /// What the environment wishes for. Must be called inside a tokio runtime.
    pub(crate) fn wished() -> Result<Option<Self>, String> {
        let said = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let off = said("OTEL_SDK_DISABLED").is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
        if off || !ENDPOINTS.iter().any(|name| said(name).is_some()) {
            return Ok(None);
        }
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Line::new()?)
            .with_protocol(Protocol::HttpJson)
            .build()
            .map_err(|error| error.to_string())?;
        let resource = match said("OTEL_SERVICE_NAME") {
            Some(_) => Resource::builder(),
            None => Resource::builder().with_service_name("holdpoint"),
        };
        let provider =
            SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource.build()).build();
        Ok(Some(Self { provider }))
    }

    /// Hands over spans, and nothing but spans.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let tracer: SdkTracer = self.provider.tracer("holdpoint");
        let ours = filter_fn(|metadata| metadata.is_span() && is_ours(metadata.target()));
        tracing_opentelemetry::layer()
            .with_tracer(tracer)
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_filter(ours.and(LevelFilter::INFO))
    }

    /// Sends what is left.
    pub(crate) fn end(self) {
        // Whoever collects traces may be gone; the server ends all the same.
        if let Err(error) = self.provider.shutdown_with_timeout(FAREWELL) {
            tracing::debug!(%error, "the last spans were not taken");
        }
    }
}

/// Libraries make spans too, of which nobody here knows what is in them.
fn is_ours(target: &str) -> bool {
    const ROOMS: [&str; 4] = ["engine", "runner", "server", "holdpoint"];
    let room = target.split("::").next().unwrap_or_default();
    ROOMS.contains(&room)
}

/// Speaks HTTP on the server's own runtime: spans are handed over from a thread that has none.
#[derive(Debug)]
struct Line {
    http: reqwest::Client,
    runtime: Handle,
}

impl Line {
    fn new() -> Result<Self, String> {
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).timeout(PATIENCE).build();
        Ok(Self { http: http.map_err(|error| error.to_string())?, runtime: Handle::current() })
    }
}

impl HttpClient for Line {
    fn send_bytes<'line, 'sending>(
        &'line self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'sending>>
    where
        'line: 'sending,
        Self: 'sending,
    {
        let http = self.http.clone();
        let sent = self.runtime.spawn(async move {
            let answer = http.execute(request.try_into()?).await?;
            let status = answer.status();
            let mut response = Response::new(answer.bytes().await?);
            *response.status_mut() = status;
            Ok::<_, reqwest::Error>(response)
        });
        Box::pin(async move { Ok(sent.await??) })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use tracing_subscriber::prelude::*;

    /// A collector that keeps what it is sent.
    async fn collector() -> (String, mpsc::Receiver<serde_json::Value>) {
        let (keep, kept) = mpsc::channel();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
        let take = move |axum::Json(body): axum::Json<serde_json::Value>| {
            keep.send(body).unwrap();
            async { axum::Json(serde_json::json!({})) }
        };
        let router = axum::Router::new().route("/v1/traces", axum::routing::post(take));
        tokio::spawn(axum::serve(listener, router).into_future());
        (url, kept)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn spans_of_ours_arrive_with_their_fields_and_nothing_else_does() {
        let (url, kept) = collector().await;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Line::new().unwrap())
            .with_protocol(Protocol::HttpJson)
            .with_endpoint(url)
            .build()
            .unwrap();
        let telemetry = Telemetry { provider: SdkTracerProvider::builder().with_batch_exporter(exporter).build() };
        let subscriber = tracing_subscriber::registry().with(telemetry.layer());
        tracing::subscriber::with_default(subscriber, || {
            let span =
                tracing::info_span!(target: "engine::flights", "effect", run_id = "abc123", effect_id = "abc123.1");
            span.in_scope(|| tracing::info!(target: "engine::flights", prompt = "a secret", "a line of the log"));
            drop(span);
            drop(tracing::info_span!(target: "hyper::client", "foreign"));
            drop(tracing::debug_span!(target: "engine::flights", "deep"));
        });
        tokio::task::spawn_blocking(move || telemetry.end()).await.unwrap();
        let sent: Vec<String> = kept.try_iter().map(|body| body.to_string()).collect();
        let sent = sent.join("\n");
        assert!(sent.contains("\"effect\"") && sent.contains("run_id") && sent.contains("abc123.1"), "{sent}");
        for hidden in ["a secret", "a line of the log", "foreign", "deep"] {
            assert!(!sent.contains(hidden), "{hidden} in {sent}");
        }
    }
}
