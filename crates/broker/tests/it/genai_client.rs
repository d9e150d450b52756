//! The `genai` crate as our own agent uses it: a client bound to the socket, streaming, tools.

use broker::calls::Outcome;
use futures_util::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent, StreamEnd, Tool, ToolResponse};
use genai::resolver::{AuthData, Endpoint, ServiceTargetResolver};
use genai::{Client, ModelIden, ServiceTarget};
use serde_json::json;

use crate::kit::{Door, grant, scripted};

const SCRIPT: &str = r#"
[[conversation]]
role = "coder"
[[conversation.turn]]
thought = "First I read, then I write."
text = "I look at two files."
usage = { input = 120, output = 30, cache_read = 7 }
[[conversation.turn.call]]
tool = "read_file"
input = { path = "a file with a rather long name, so that it comes in pieces.txt" }
[[conversation.turn.call]]
tool = "read_file"
input = { path = "b.txt" }
[[conversation.turn]]
text = "Both are fine."
"#;

fn client(door: &Door, kind: AdapterKind, base: &'static str) -> Client {
    let http = reqwest::Client::builder().unix_socket(door.socket.clone()).no_proxy().build().unwrap();
    let resolver = ServiceTargetResolver::from_resolver_fn(
        move |target: ServiceTarget| -> Result<ServiceTarget, genai::resolver::Error> {
            Ok(ServiceTarget {
                endpoint: Endpoint::from_static(base),
                auth: AuthData::from_single("the broker holds the key"),
                model: ModelIden::new(kind, target.model.model_name),
            })
        },
    );
    let builder = Client::builder().with_reqwest(http);
    builder.with_service_target_resolver(resolver).build().unwrap()
}

fn options() -> ChatOptions {
    ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_content(true)
        .with_capture_tool_calls(true)
        .with_capture_reasoning_content(true)
}

/// Streams one turn: the text as it came in pieces, how many pieces, and the end.
async fn turn(client: &Client, request: ChatRequest) -> (String, usize, StreamEnd) {
    let answer = client.exec_chat_stream("scripted/demo", request, Some(&options())).await;
    let mut stream = answer.unwrap().stream;
    let (mut text, mut tool_chunks) = (String::new(), 0);
    while let Some(event) = stream.next().await {
        match event.unwrap() {
            ChatStreamEvent::Chunk(chunk) => text.push_str(&chunk.content),
            ChatStreamEvent::ToolCallChunk(_) => tool_chunks += 1,
            ChatStreamEvent::End(end) => return (text, tool_chunks, end),
            _ => {}
        }
    }
    panic!("the stream ended without an end event");
}

async fn check(kind: AdapterKind, base: &'static str) {
    let door = Door::open(grant(vec![scripted(SCRIPT)]));
    let client = client(&door, kind, base);
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let mut request = ChatRequest::default()
        .with_system("You are a coder.")
        .append_message(ChatMessage::user("look"))
        .with_tools(vec![Tool::new("read_file").with_schema(schema)]);

    let (text, tool_chunks, end) = turn(&client, request.clone()).await;
    assert_eq!(text, "I look at two files.");
    // Gemini sends each call whole.
    assert!(tool_chunks > 2 || kind == AdapterKind::Gemini && tool_chunks == 2, "{tool_chunks}");
    assert_eq!(end.captured_reasoning_content.as_deref(), Some("First I read, then I write."));
    let usage = end.captured_usage.clone().unwrap();
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (Some(127), Some(30)));
    let calls: Vec<_> = end.captured_tool_calls().unwrap().into_iter().cloned().collect();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[1].fn_arguments, json!({"path": "b.txt"}));
    assert!(calls[0].fn_arguments["path"].as_str().unwrap().starts_with("a file with"));

    request = request.append_message(end.into_assistant_message_for_tool_use().unwrap());
    for call in &calls {
        request = request.append_message(ToolResponse::new(call.call_id.clone(), "fine"));
    }
    let (text, _, end) = turn(&client, request).await;
    assert_eq!(text, "Both are fine.");
    assert!(end.captured_tool_calls().is_none_or(|calls| calls.is_empty()));

    let settled = door.settled();
    assert_eq!(settled.len(), 2);
    assert!(settled.iter().all(|call| call.outcome == Outcome::Ok));
    assert_eq!((settled[0].input_tokens, settled[0].cache_read_tokens), (120, 7));
}

#[tokio::test]
async fn genai_streams_tool_calls_through_the_anthropic_door() {
    check(AdapterKind::Anthropic, "http://broker/anthropic/v1/").await;
}

#[tokio::test]
async fn genai_streams_tool_calls_through_the_chat_door() {
    check(AdapterKind::OpenAI, "http://broker/openai/v1/").await;
}

#[tokio::test]
async fn genai_streams_tool_calls_through_the_responses_door() {
    check(AdapterKind::OpenAIResp, "http://broker/openai/v1/").await;
}

#[tokio::test]
async fn genai_streams_tool_calls_through_the_gemini_door() {
    check(AdapterKind::Gemini, "http://broker/gemini/v1beta/").await;
}

#[tokio::test]
async fn genai_shows_a_budget_refusal_as_it_is() {
    let mut limited = grant(vec![scripted(SCRIPT)]);
    limited.limit = Some(broker::Micros(1));
    let door = Door::open(limited);
    let client = client(&door, AdapterKind::Anthropic, "http://broker/anthropic/v1/");
    let request = ChatRequest::default().append_message(ChatMessage::user("look"));
    let error = client.exec_chat("scripted/demo", request, None).await.unwrap_err();
    assert!(format!("{error:?}").contains("holdpoint_budget"), "{error:?}");
}
