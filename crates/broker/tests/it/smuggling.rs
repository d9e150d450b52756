//! Requests that say one thing to the gateway and another to a provider: shapes, spellings, encodings, paths.

use broker::UpstreamKind::{self, Anthropic, Gemini, OpenAi};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::kit::{Door, Fake, grant, reply};

const URL: &str = "https://evil.example/?q=secret";

fn answer() -> Value {
    json!({"content": [{"type": "text", "text": "hi"}], "usage": {"input_tokens": 1, "output_tokens": 1}})
}

async fn house(kind: UpstreamKind, answers: usize) -> (Fake, Door) {
    let fake = Fake::start((0..answers).map(|_| reply(200, &answer())).collect()).await;
    let door = Door::open(grant(vec![fake.upstream("house", kind)]));
    (fake, door)
}

/// Each is refused, and nothing leaves.
async fn none_is_passed_on(kind: UpstreamKind, path: &str, bodies: Vec<Value>) {
    let (fake, door) = house(kind, bodies.len()).await;
    let mut passed = Vec::new();
    for mut body in bodies {
        body["model"] = json!("house/m");
        let (status, _) = door.ask(path, &body).await;
        if status == 200 {
            passed.push(body);
        }
    }
    assert!(passed.is_empty(), "passed on: {passed:#?}");
    assert!(fake.seen().is_empty());
}

#[tokio::test]
async fn no_shape_of_a_chat_carries_an_address_past_the_checks() {
    let content = |content: Value| json!({"messages": [{"role": "user", "content": content}]});
    let image = json!({"type": "image_url", "image_url": {"url": URL}});
    none_is_passed_on(
        OpenAi,
        "/v1/chat/completions",
        vec![
            // One part instead of a list of them, a list in a list, one message instead of a list.
            content(image.clone()),
            content(json!([[image]])),
            json!({"messages": {"role": "user", "content": [image]}}),
            json!({"messages": [[{"role": "user", "content": [image]}]]}),
            // A known type, and an address beside it.
            content(json!([{"type": "text", "text": "t", "image_url": {"url": URL}}])),
            content(json!([{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "file_id": "f"}, "file_url": URL}])),
            // Servers that take an address where others take bytes.
            content(json!([{"type": "input_audio", "input_audio": {"data": URL, "format": "wav"}}])),
            content(json!([{"type": "input_audio", "input_audio": {"data": "aGk=", "url": URL}}])),
            content(json!([{"type": "file", "file": {"file_data": "https:evil.example/a"}}])),
            content(json!([{"type": "file", "file": {"file_data": "http:/\\evil.example"}}])),
            content(json!([{"type": "file", "file": {"file_data": "aGk=", "file_url": URL}}])),
            content(json!([{"type": "document_url", "document_url": URL}])),
            content(json!([{"type": "audio_url", "audio_url": {"url": URL}}])),
            content(json!([{"type": ["text"], "image_url": {"url": URL}}])),
        ],
    )
    .await;
}

#[tokio::test]
async fn no_shape_of_a_message_carries_an_address_past_the_checks() {
    let content = |content: Value| json!({"max_tokens": 5, "messages": [{"role": "user", "content": content}]});
    let image = json!({"type": "image", "source": {"type": "url", "url": URL}});
    let result = |content: Value| json!([{"type": "tool_result", "tool_use_id": "t", "content": content}]);
    none_is_passed_on(
        Anthropic,
        "/v1/messages",
        vec![
            content(image.clone()),
            content(json!([[image]])),
            content(result(image.clone())),
            content(result(json!([{"type": "document", "source": {"type": "content", "content": image}}]))),
            content(result(json!([{"type": "search_result", "source": "s", "title": "t", "content": image}]))),
            json!({"max_tokens": 5, "system": image}),
            json!({"max_tokens": 5, "messages": {"role": "user", "content": [image]}}),
            content(json!([{"type": "image", "source": {"type": "base64", "data": "aGk=", "url": URL}}])),
            content(json!([{"type": "image", "source": {"type": "base64", "data": URL}}])),
            content(json!([{"type": "text", "text": "t", "file_id": "f"}])),
        ],
    )
    .await;
}

#[tokio::test]
async fn no_shape_of_a_response_carries_an_address_or_a_hosted_tool_past_the_checks() {
    let content = |content: Value| json!({"input": [{"role": "user", "content": content}]});
    let image = json!({"type": "input_image", "image_url": URL});
    let mcp = json!({"type": "mcp", "server_label": "s", "server_url": "https://evil.example"});
    let found = |tools: Value| json!({"input": [{"type": "tool_search_output", "call_id": "c", "execution": "client", "tools": tools}]});
    none_is_passed_on(
        OpenAi,
        "/v1/responses",
        vec![
            content(image.clone()),
            content(json!([[image]])),
            json!({"input": {"role": "user", "content": [image]}}),
            json!({"input": [[{"role": "user", "content": [image]}]]}),
            json!({"input": [{"type": "function_call_output", "call_id": "c", "output": image}]}),
            content(json!([{"type": "input_file", "file_data": URL, "filename": "f"}])),
            content(json!([{"type": "input_audio", "input_audio": {"data": URL}}])),
            content(json!([{"type": "input_text", "text": "t", "image_url": URL}])),
            found(json!([mcp])),
            found(json!([{"type": "namespace", "name": "n", "tools": [{"type": "web_search"}]}])),
            found(json!({"type": "web_search"})),
        ],
    )
    .await;
}

#[tokio::test]
async fn no_shape_for_gemini_carries_an_address_past_the_checks() {
    let file = json!({"fileData": {"fileUri": URL}});
    none_is_passed_on(
        Gemini,
        "/v1beta/models/house/m:generateContent",
        vec![
            json!({"contents": [[{"parts": [file]}]]}),
            json!({"contents": [{"parts": [[file]]}]}),
            json!({"systemInstruction": [{"parts": [file]}]}),
            json!({"system_instruction": {"parts": {"file_data": {"file_uri": URL}}}}),
            json!({"contents": [{"parts": [{"inlineData": {"mimeType": "image/png", "data": URL}}]}]}),
        ],
    )
    .await;
}

#[tokio::test]
async fn fields_of_a_message_that_no_model_needs_are_not_passed_on() {
    let (fake, door) = house(OpenAi, 1).await;
    let message =
        json!({"role": "user", "content": "hi", "images": [URL], "file_ids": ["f"], "attachments": [{"url": URL}]});
    let body = json!({"model": "house/m", "messages": [message]});
    let response = door.post("/v1/chat/completions", &body).send().await.unwrap();
    let removed = response.headers()["x-holdpoint-removed"].to_str().unwrap().to_owned();
    assert_eq!(removed, "messages.images, messages.file_ids, messages.attachments");
    assert_eq!(fake.seen()[0].body["messages"], json!([{"role": "user", "content": "hi"}]));
}

#[tokio::test]
async fn keys_in_another_case_or_written_with_escapes_are_read_as_the_provider_reads_them() {
    let (fake, door) = house(OpenAi, 1).await;
    // `to\u006fls` is `tools`; `Tools` is nothing; of a key that is there twice the last one counts, here and there.
    let body = r#"{"model":"house/x","mod\u0065l":"house/m","to\u006fls":[{"type":"web_search"}],"Tools":[{"type":"mcp"}],
        "web_search_options":{},"messages":[{"role":"user","content":[{"type":"im\u0061ge_url","image_url":"https://a.example"}],
        "content":"hi"}],"STORE":true,"store":true}"#;
    let request = door.client.post("http://broker/v1/chat/completions").body(body);
    assert_eq!(request.send().await.unwrap().status(), 200);
    assert_eq!(fake.seen()[0].body, json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]}));
}

#[tokio::test]
async fn a_body_that_is_encoded_or_is_not_exactly_one_json_value_is_refused() {
    let (fake, door) = house(Anthropic, 9).await;
    let fine = r#"{"model":"house/m","max_tokens":5,"messages":[]}"#;
    let gzip: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    for (name, body) in [
        ("byte order mark", format!("\u{feff}{fine}").into_bytes()),
        ("trailing data", format!("{fine}{fine}").into_bytes()),
        ("NaN", fine.replace('5', "NaN").into_bytes()),
        ("a number too large", fine.replace('5', "1e999").into_bytes()),
        ("UTF-16", fine.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("a comment", format!("{fine}//").into_bytes()),
        ("deep", format!("{{\"model\":\"house/m\",\"messages\":{}{}}}", "[".repeat(127), "]".repeat(127)).into_bytes()),
        ("half of a surrogate", fine.replace("messages", "\\ud800").into_bytes()),
    ] {
        let response = door.client.post("http://broker/v1/messages").body(body).send().await.unwrap();
        assert_eq!(response.status(), 400, "{name}");
    }
    for encoding in ["gzip", "br", "zstd", "deflate"] {
        let request = door.client.post("http://broker/v1/messages").header("content-encoding", encoding);
        assert_eq!(request.body(gzip.to_vec()).send().await.unwrap().status(), 400, "{encoding}");
    }
    assert!(fake.seen().is_empty());
    let request = door.client.post("http://broker/v1/messages").header("content-type", "text/plain").body(fine);
    assert_eq!(request.send().await.unwrap().status(), 200, "the label of a body is not what it is");
    assert_eq!(fake.seen()[0].headers["content-type"], "application/json");
}

#[tokio::test]
async fn names_of_models_that_mean_more_than_a_model_are_refused() {
    let (fake, door) = house(OpenAi, 1).await;
    for model in [
        "house/m:online",
        "house/m:nitro",
        "house/M",
        "HOUSE/m",
        "house/m@latest",
        "house//m",
        "house/./m",
        "house/m/",
        "house/models/m",
        "house/ft:m:org::id",
        "house/m\r\nx-evil: 1",
        "house/m?key=1",
        "house/m\u{0}",
        "house/*",
        "m:online",
        "openrouter/auto",
    ] {
        let (status, _) = door.ask("/v1/chat/completions", &json!({"model": model, "messages": []})).await;
        assert!((400..=403).contains(&status), "{model:?}: {status}");
    }
    for (name, value) in [("models", json!(["a", "b"])), ("model", json!(["house/m"])), ("model", json!({"id": "m"}))] {
        let mut body = json!({"model": "house/x", "messages": []});
        body[name] = value;
        let (status, _) = door.ask("/v1/chat/completions", &body).await;
        assert!((400..=403).contains(&status), "{body}: {status}");
    }
    assert!(fake.seen().is_empty());
    let routing = json!({"model": "house/m", "messages": [], "models": ["x/y"], "route": "fallback", "plugins": [{"id": "web"}],
        "provider": {"order": ["x"]}, "transforms": ["middle-out"], "preset": "p", "api_base": URL, "base_url": URL,
        "fallbacks": ["z"], "extra_body": {}, "extra_headers": {}, "data_sources": [], "deferred": true, "modalities": ["audio"],
        "audio": {"voice": "v"}, "service_tier": "priority", "store": true, "web_search_options": {}, "best_of": 9, "priority": 1});
    assert_eq!(door.ask("/v1/chat/completions", &routing).await.0, 200);
    assert_eq!(fake.seen()[0].body, json!({"model": "m", "messages": []}));
}

#[tokio::test]
async fn a_refused_name_of_a_model_does_not_fill_the_log() {
    let (_fake, door) = house(OpenAi, 0).await;
    let long = "x".repeat(4 * 1024 * 1024);
    for path in ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1beta/models/a:generateContent"] {
        let (status, text) = door.ask(path, &json!({"model": format!("house/{long}"), "messages": []})).await;
        assert!((400..=404).contains(&status), "{path}: {status}");
        assert!(text.len() < 10_000, "{path}: {} bytes", text.len());
    }
    let logged = serde_json::to_string(&door.records()).unwrap().len();
    assert!(logged < 20_000, "{logged} bytes");
}

#[tokio::test]
async fn many_unknown_fields_do_not_make_a_header_that_clients_cannot_read() {
    let (_fake, door) = house(OpenAi, 1).await;
    let mut body = json!({"model": "house/m", "messages": []});
    for number in 0..5_000 {
        body[format!("unknown-field-{number}")] = json!(1);
    }
    let response = door.post("/v1/chat/completions", &body).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(response.headers()["x-holdpoint-removed"].len() < 8_000);
}

/// What the gateway answers to these bytes, and whether it answers at all.
async fn answered(door: &Door, request: &str) -> String {
    let mut stream = tokio::net::UnixStream::connect(&door.socket).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    // A connection that is reset has answered no more.
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

fn statuses(answer: &str) -> Vec<&str> {
    answer.lines().filter_map(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)).collect()
}

#[tokio::test]
async fn only_the_listed_paths_and_methods_reach_a_provider() {
    let (fake, door) = house(Anthropic, 0).await;
    let body = r#"{"model":"house/m","max_tokens":5,"messages":[]}"#;
    for path in [
        "/v1/messages/batches",
        "/v1/messages/batches/x/results",
        "/v1/batches",
        "/v1/files",
        "/v1/files/f/content",
        "/v1/messages/",
        "//v1/messages",
        "/v1//messages",
        "/v1/./messages",
        "/v1/x/../messages",
        "/v1/%6dessages",
        "/v1/messages%2f..%2ffiles",
        "/v1/messages%00",
        "/V1/MESSAGES",
        "/v1/messages;x",
        "/v1/responses/r",
        "/v1/conversations",
        "/v1/vector_stores",
        "/v1/realtime",
        "/v1/audio/speech",
        "/v1/images/generations",
        "/v1/completions",
        "/v1/fine_tuning/jobs",
        "/v1/containers",
        "/v1/skills",
        "/v1/organizations/api_keys",
        "/v1beta/models/house/m:batchGenerateContent",
        "/v1beta/models/house/m:generateContent:batchGenerateContent",
        "/v1beta/models/house/m:embedContent",
        "/v1beta/models/house/m:predict",
        "/v1beta/cachedContents",
        "/v1beta/files",
        "/upload/v1beta/files",
    ] {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: broker\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let answer = answered(&door, &request).await;
        let statuses = statuses(&answer);
        assert!(matches!(statuses[..], [status] if status.starts_with('4')), "{path}: {answer}");
    }
    for method in ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "BATCH"] {
        let request = format!("{method} /v1/messages HTTP/1.1\r\nhost: broker\r\nconnection: close\r\n\r\n");
        let answer = answered(&door, &request).await;
        assert!(matches!(statuses(&answer)[..], [status] if status.starts_with('4')), "{method}: {answer}");
    }
    let upgrade = "GET /v1/responses HTTP/1.1\r\nhost: broker\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\
        sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let answer = answered(&door, upgrade).await;
    assert!(matches!(statuses(&answer)[..], [status] if status.starts_with('4')), "{answer}");
    assert!(fake.seen().is_empty(), "{:?}", fake.seen());
}

#[tokio::test]
async fn what_stands_around_a_request_does_not_reach_the_provider() {
    let (fake, door) = house(Anthropic, 4).await;
    let body = r#"{"model":"house/m","max_tokens":5,"messages":[]}"#;
    let length = body.len();
    for (target, headers) in [
        ("/v1/messages?beta=true&key=stolen", "host: broker\r\n"),
        ("http://evil.example/v1/messages", "host: evil.example\r\n"),
        (
            "/v1/messages",
            "host: evil.example\r\nx-api-key: k\r\nauthorization: Bearer k\r\nx-forwarded-host: evil.example\r\n\
             openai-organization: o\r\nanthropic-beta: files-api-2025-04-14\r\nanthropic-version: 2023-01-01\r\n\
             anthropic-version: 2099-01-01\r\nx-http-method-override: DELETE\r\ncookie: c\r\nprefer: respond-async\r\n",
        ),
        ("/anthropic/v1/messages", "host: broker\r\nexpect: 100-continue\r\n"),
    ] {
        let request =
            format!("POST {target} HTTP/1.1\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n{body}");
        let answer = answered(&door, &request).await;
        assert!(answer.contains("HTTP/1.1 200"), "{target}: {answer}");
    }
    for seen in fake.seen() {
        assert_eq!((seen.path.as_str(), seen.query.as_deref()), ("/v1/messages", None));
        assert_eq!(seen.headers["x-api-key"], "sk-the-real-key");
        assert_eq!(seen.headers["anthropic-version"], "2023-06-01");
        assert_eq!(seen.headers.get_all("anthropic-version").iter().count(), 1);
        let mut names: Vec<_> = seen.headers.keys().map(|name| name.as_str()).collect();
        names.sort_unstable();
        names.retain(|name| *name != "accept");
        let expected = [
            "accept-encoding",
            "anthropic-version",
            "content-length",
            "content-type",
            "host",
            "user-agent",
            "x-api-key",
        ];
        assert_eq!(names, expected);
        assert!(seen.headers["host"].to_str().unwrap().starts_with("127.0.0.1:"));
    }
}

#[tokio::test]
async fn two_lengths_of_a_body_never_make_two_requests_of_one() {
    let (fake, door) = house(Anthropic, 20).await;
    let body = r#"{"model":"house/m","max_tokens":5,"messages":[]}"#;
    let hidden = format!("POST /v1/messages HTTP/1.1\r\nhost: broker\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    for headers in [
        format!("content-length: {}\r\ntransfer-encoding: chunked\r\n", body.len() + hidden.len()),
        format!("content-length: {}\r\ncontent-length: {}\r\n", body.len(), body.len() + 5),
        "transfer-encoding: chunked, identity\r\n".to_owned(),
        "transfer-encoding: xchunked\r\n".to_owned(),
        "content-length: +48\r\n".to_owned(),
        "content-length: -1\r\n".to_owned(),
    ] {
        let request = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: broker\r\nconnection: close\r\n{headers}\r\n{chunked}{hidden}"
        );
        let answer = answered(&door, &request).await;
        assert_eq!(statuses(&answer).len(), 1, "{headers}: {answer}");
    }
    for seen in fake.seen() {
        assert_eq!(seen.body, json!({"model": "m", "max_tokens": 5, "messages": []}));
    }
}
