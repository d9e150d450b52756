//! Requests of each protocol, before and after.

use serde_json::json;

use super::*;

fn filtered(protocol: Protocol, body: &Value, allowed: &[&str]) -> Result<Filtered, Refusal> {
    let allowed: Vec<String> = allowed.iter().map(|name| (*name).to_owned()).collect();
    filter(protocol, body.as_object().unwrap().clone(), &allowed)
}

#[track_caller]
fn passes(protocol: Protocol, body: &Value) {
    let filtered = filtered(protocol, body, &[]).unwrap();
    assert_eq!((Value::Object(filtered.fields), filtered.removed), (body.clone(), Vec::<String>::new()));
}

#[track_caller]
fn becomes(protocol: Protocol, body: &Value, expected: &Value, removed: &[&str]) {
    let filtered = filtered(protocol, body, &[]).unwrap();
    assert_eq!(Value::Object(filtered.fields), *expected);
    assert_eq!(filtered.removed, removed);
}

#[track_caller]
fn refused(protocol: Protocol, body: &Value) {
    match filtered(protocol, body, &[]) {
        Err(Refusal::OutsideContent(_) | Refusal::HostedTool(_)) => {}
        other => panic!("{body}: {other:?}"),
    }
}

#[test]
fn a_request_of_an_ordinary_agent_passes_whole() {
    let tool = json!({"name": "edit", "description": "d", "input_schema": {"type": "object"}});
    let bash = json!({"type": "bash_20250124", "name": "bash"});
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}});
    let used = json!({"type": "tool_use", "id": "t", "name": "edit", "input": {"source": {"type": "url", "url": "u"}}});
    let result = json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "x"}, image]});
    passes(
        Protocol::Messages,
        &json!({"model": "m", "max_tokens": 5, "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
            "tools": [tool, bash], "tool_choice": {"type": "tool", "name": "bash"}, "thinking": {"type": "adaptive"},
            "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [used]}, {"role": "user", "content": [result]}]}),
    );
    passes(
        Protocol::Chat,
        &json!({"model": "m", "tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "auto",
            "messages": [{"role": "user", "content": [{"type": "text", "text": "t"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]},
                {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}]}),
    );
    passes(
        Protocol::Responses,
        &json!({"model": "m", "instructions": "i", "tools": [{"type": "function", "name": "f"}, {"type": "custom", "name": "c"}],
            "include": ["reasoning.encrypted_content"], "tool_choice": {"type": "function", "name": "f"},
            "input": [{"role": "user", "content": [{"type": "input_text", "text": "t"}]}, {"type": "reasoning", "encrypted_content": "e"},
                {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}, {"type": "function_call_output", "call_id": "1", "output": "o"}],
            "store": false}),
    );
    passes(
        Protocol::Gemini,
        &json!({"contents": [{"role": "user", "parts": [{"text": "t"}, {"inlineData": {"mimeType": "image/png", "data": "aGk="}}]},
                {"role": "model", "parts": [{"functionCall": {"name": "f"}, "thoughtSignature": "s"}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"file_data": "x"}}}]}],
            "tools": [{"functionDeclarations": [{"name": "f"}]}], "systemInstruction": {"parts": [{"text": "s"}]},
            "generationConfig": {"maxOutputTokens": 5}}),
    );
}

#[test]
fn tools_that_the_provider_runs_are_taken_away() {
    let own = json!({"name": "edit", "input_schema": {}});
    let hosted = json!([own, {"type": "web_search_20250305", "name": "web_search"}, {"type": "web_fetch_20250910", "name": "web_fetch"},
        {"type": "code_execution_20250825", "name": "code_execution"}, {"type": "mcp_toolset", "mcp_server_name": "s"}]);
    let servers = json!([{"type": "url", "url": "https://evil.example", "name": "s"}]);
    becomes(
        Protocol::Messages,
        &json!({"model": "m", "tools": hosted, "mcp_servers": servers, "container": "c", "betas": ["b"], "speed": "fast", "service_tier": "auto"}),
        &json!({"model": "m", "tools": [own]}),
        &[
            "container",
            "betas",
            "speed",
            "service_tier",
            "tools.mcp_toolset",
            "tools.web_search",
            "tools.web_fetch",
            "tools.code_execution",
            "tools.mcp_toolset",
        ],
    );
    becomes(
        Protocol::Chat,
        &json!({"model": "m", "web_search_options": {}, "search_parameters": {"mode": "on"}, "plugins": [{"id": "web"}], "store": true,
            "tools": [{"type": "web_search"}, {"type": "builtin_function", "function": {"name": "$web_search"}}], "tool_choice": "auto"}),
        &json!({"model": "m"}),
        &["web_search_options", "search_parameters", "plugins", "store", "tools.web_search", "tools.builtin_function"],
    );
    let f = json!({"type": "function", "name": "f"});
    becomes(
        Protocol::Responses,
        &json!({"model": "m", "store": true, "service_tier": "priority", "include": ["web_search_call.action.sources"],
            "tools": [f, {"type": "mcp", "server_url": "https://evil.example"}, {"type": "web_search_preview"}, {"type": "shell", "environment": {"type": "container_auto"}},
                {"type": "namespace", "name": "n", "tools": [f, {"type": "code_interpreter"}]}]}),
        &json!({"model": "m", "include": [], "tools": [f], "store": false}),
        &["service_tier", "tools.mcp", "tools.web_search", "tools.shell", "tools.code_interpreter"],
    );
    becomes(
        Protocol::Gemini,
        &json!({"tools": [{"urlContext": {}, "functionDeclarations": []}, {"google_search": {}}, {"codeExecution": {}}], "unheard_of": 1}),
        &json!({"tools": [{"functionDeclarations": []}]}),
        &["unheard_of", "tools.url_context", "tools.google_search", "tools.code_execution"],
    );
    becomes(
        Protocol::Chat,
        &json!({"model": "m", "tools": {"type": "web_search"}}),
        &json!({"model": "m"}),
        &["tools"],
    );
}

#[test]
fn a_request_for_a_hosted_tool_alone_is_refused() {
    let search = json!({"type": "web_search_20250305", "name": "web_search"});
    refused(
        Protocol::Messages,
        &json!({"model": "m", "tools": [search], "tool_choice": {"type": "tool", "name": "web_search"}}),
    );
    refused(Protocol::Responses, &json!({"model": "m", "tool_choice": {"type": "web_search_preview"}}));
    refused(
        Protocol::Responses,
        &json!({"model": "m", "tool_choice": {"type": "allowed_tools", "tools": [{"type": "mcp", "server_label": "s"}]}}),
    );
}

#[test]
fn content_that_the_provider_would_fetch_is_refused() {
    let message = |block: Value| json!({"model": "m", "messages": [{"role": "user", "content": [block]}]});
    let url = json!({"type": "url", "url": "https://evil.example/?q=secret"});
    for kind in ["image", "document"] {
        let block = json!({"type": kind, "source": url});
        refused(Protocol::Messages, &message(block.clone()));
        refused(Protocol::Messages, &message(json!({"type": "tool_result", "tool_use_id": "t", "content": [block]})));
        refused(Protocol::Messages, &message(json!({"type": kind, "source": {"type": "file", "file_id": "f"}})));
    }
    refused(Protocol::Messages, &message(json!({"type": "container_upload", "file_id": "f"})));
    refused(Protocol::Messages, &message(json!({"type": "server_tool_use", "name": "web_search"})));
    refused(Protocol::Messages, &message(json!({"type": "unheard_of"})));
    for url in [
        "https://evil.example",
        "HTTPS://evil.example",
        " https://evil.example",
        "//evil.example",
        "file:///etc/passwd",
    ] {
        refused(Protocol::Chat, &message(json!({"type": "image_url", "image_url": {"url": url}})));
        refused(Protocol::Chat, &message(json!({"type": "image_url", "image_url": url})));
        let input = |part: Value| json!({"model": "m", "input": [{"role": "user", "content": [part]}]});
        refused(Protocol::Responses, &input(json!({"type": "input_image", "image_url": url})));
        refused(Protocol::Responses, &input(json!({"type": "input_file", "file_url": url, "file_data": "x"})));
        let output = json!({"type": "function_call_output", "call_id": "c", "output": [{"type": "input_image", "image_url": url}]});
        refused(Protocol::Responses, &json!({"model": "m", "input": [output]}));
        for name in ["fileData", "file_data"] {
            refused(Protocol::Gemini, &json!({"contents": [{"parts": [{name: {"fileUri": url}}]}]}));
            refused(Protocol::Gemini, &json!({"contents": {"parts": {name: {"fileUri": url}}}}));
            let nested = json!({"functionResponse": {"name": "f", "parts": [{name: {"fileUri": url}}]}});
            refused(Protocol::Gemini, &json!({"contents": [{"parts": [nested]}]}));
        }
    }
    refused(Protocol::Chat, &message(json!({"type": "file", "file": {"file_id": "f"}})));
    refused(Protocol::Chat, &message(json!({"type": "file", "file": {"file_data": "https://evil.example"}})));
}

#[test]
fn what_is_stored_with_the_provider_is_not_read_from_there() {
    for name in ["previous_response_id", "conversation", "prompt"] {
        refused(Protocol::Responses, &json!({"model": "m", name: "x"}));
    }
    refused(Protocol::Responses, &json!({"model": "m", "input": [{"type": "item_reference", "id": "i"}]}));
    refused(Protocol::Gemini, &json!({"cachedContent": "cachedContents/x"}));
    refused(Protocol::Gemini, &json!({"cached_content": "cachedContents/x"}));
}

#[test]
fn a_hosted_tool_that_the_user_configured_stays_and_is_named() {
    let body = json!({"model": "m", "tools": [{"type": "web_search_20250305", "name": "web_search"}, {"type": "web_fetch_20250910"}],
        "messages": [{"role": "assistant", "content": [{"type": "server_tool_use"}, {"type": "web_search_tool_result"}]}]});
    let filtered = filtered(Protocol::Messages, &body, &["web_search"]).unwrap();
    assert_eq!(filtered.fields["tools"], json!([body["tools"][0]]));
    assert_eq!(filtered.hosted.into_iter().collect::<Vec<_>>(), ["web_search"]);
    assert_eq!(filtered.removed, ["tools.web_fetch"]);
}
