//! What a call costs, for each protocol, from a stream with thoughts, parallel tool calls and cached tokens: the
//! recorded sum is the one computed by hand from the list prices, to the micro-dollar and the token.

use broker::UpstreamKind::{self, Anthropic, Gemini, OpenAi};
use broker::calls::{Outcome, Settled};
use broker::prices;
use serde_json::{Value, json};

use crate::kit::{Door, Fake, events, grant, micros, scripted};

fn sse(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

async fn settled(kind: UpstreamKind, provider: &str, model: &str, path: &str, stream: &str) -> Settled {
    let fake = Fake::start(vec![events(stream)]).await;
    let mut upstream = fake.upstream(provider, kind);
    upstream.prices = prices::table().for_provider(provider);
    upstream.models = vec![model.into()];
    let door = Door::open(grant(vec![upstream]));
    let body =
        json!({"model": format!("{provider}/{model}"), "stream": true, "stream_options": {"include_usage": true}});
    let (status, text) = door.ask(path, &body).await;
    assert_eq!((status, text.as_str()), (200, stream));
    let settled = door.one();
    assert_eq!(settled.outcome, Outcome::Ok);
    assert!(settled.usage_known && settled.price_known);
    settled
}

#[tokio::test]
async fn messages_with_both_kinds_of_cache() {
    let tool = |index: u64, id: &str| {
        let block = json!({"type": "tool_use", "id": id, "name": "read_file", "input": {}});
        let delta = json!({"type": "input_json_delta", "partial_json": "{\"path\":\"a\"}"});
        [
            json!({"type": "content_block_start", "index": index, "content_block": block}),
            json!({"type": "content_block_delta", "index": index, "delta": delta}),
            json!({"type": "content_block_stop", "index": index}),
        ]
    };
    let mut all = vec![
        json!({"type": "message_start", "message": {"usage": {
            "input_tokens": 1_234, "cache_read_input_tokens": 50_000, "cache_creation_input_tokens": 3_000,
            "cache_creation": {"ephemeral_5m_input_tokens": 1_000, "ephemeral_1h_input_tokens": 2_000},
            "output_tokens": 2,
        }}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}}),
    ];
    all.extend(tool(1, "toolu_1"));
    all.extend(tool(2, "toolu_2"));
    all.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 777}}));
    all.push(json!({"type": "message_stop"}));
    let call = settled(Anthropic, "anthropic", "claude-sonnet-4-5-20250929", "/v1/messages", &sse(&all)).await;
    // 1,234 × $3 + 777 × $15 + 50,000 × $0.30 + 1,000 × $3.75 + 2,000 × $6, each per million.
    assert_eq!(micros(&call), 3_702 + 11_655 + 15_000 + 3_750 + 12_000);
    assert_eq!((call.input_tokens, call.output_tokens), (1_234, 777));
    assert_eq!((call.cache_read_tokens, call.cache_write_tokens), (50_000, 3_000));
}

fn chat(usage: &Value) -> String {
    let call = |index: u64| json!({"index": index, "id": format!("c{index}"), "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let chunk =
        |delta: Value, finish: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    sse(&[
        chunk(json!({"role": "assistant", "reasoning_content": "hm"}), Value::Null),
        chunk(json!({"tool_calls": [call(0), call(1)]}), Value::Null),
        chunk(json!({}), json!("tool_calls")),
        json!({"choices": [], "usage": usage}),
    ]) + "data: [DONE]\n\n"
}

#[tokio::test]
async fn chat_of_openai() {
    let usage = json!({
        "prompt_tokens": 10_000, "completion_tokens": 900, "total_tokens": 10_900,
        "prompt_tokens_details": {"cached_tokens": 8_000}, "completion_tokens_details": {"reasoning_tokens": 600},
    });
    let call = settled(OpenAi, "openai", "gpt-5", "/v1/chat/completions", &chat(&usage)).await;
    // 2,000 × $1.25 + 8,000 × $0.125 + 900 × $10.
    assert_eq!(micros(&call), 2_500 + 1_000 + 9_000);
    assert_eq!((call.input_tokens, call.cache_read_tokens, call.reasoning_tokens), (2_000, 8_000, 600));
}

#[tokio::test]
async fn chat_of_deepseek_with_its_own_cache_fields() {
    let usage = json!({
        "prompt_tokens": 10_000, "completion_tokens": 900, "total_tokens": 10_900,
        "prompt_cache_hit_tokens": 8_000, "prompt_cache_miss_tokens": 2_000,
        "completion_tokens_details": {"reasoning_tokens": 600},
    });
    let call = settled(OpenAi, "deepseek", "deepseek-reasoner", "/v1/chat/completions", &chat(&usage)).await;
    // 2,000 × $0.28 + 8,000 × $0.028 + 900 × $0.42.
    assert_eq!(micros(&call), 560 + 224 + 378);
    assert_eq!((call.input_tokens, call.cache_read_tokens, call.reasoning_tokens), (2_000, 8_000, 600));
}

#[tokio::test]
async fn chat_of_xai_with_reasoning_beside_the_completion() {
    let usage = json!({
        "prompt_tokens": 10_000, "completion_tokens": 300, "total_tokens": 10_900,
        "prompt_tokens_details": {"cached_tokens": 8_000}, "completion_tokens_details": {"reasoning_tokens": 600},
    });
    let call = settled(OpenAi, "xai", "grok-4", "/v1/chat/completions", &chat(&usage)).await;
    // 2,000 × $3 + 8,000 × $0.75 + 900 × $15.
    assert_eq!(micros(&call), 6_000 + 6_000 + 13_500);
    assert_eq!((call.output_tokens, call.reasoning_tokens), (900, 600));
}

#[tokio::test]
async fn chat_of_ollama_is_free_and_known_to_be() {
    let usage = json!({"prompt_tokens": 10_000, "completion_tokens": 900, "total_tokens": 10_900});
    let call = settled(OpenAi, "ollama", "qwen3:8b", "/v1/chat/completions", &chat(&usage)).await;
    assert_eq!((micros(&call), call.input_tokens, call.output_tokens), (0, 10_000, 900));
}

#[tokio::test]
async fn responses_with_reasoning() {
    let usage = json!({
        "input_tokens": 10_000, "input_tokens_details": {"cached_tokens": 8_000},
        "output_tokens": 900, "output_tokens_details": {"reasoning_tokens": 600}, "total_tokens": 10_900,
    });
    let item = |index: u64| json!({"type": "function_call", "id": format!("fc{index}"), "call_id": format!("c{index}"), "name": "f", "arguments": "{}"});
    let stream = sse(&[
        json!({"type": "response.created", "response": {"id": "r"}}),
        json!({"type": "response.reasoning_summary_text.delta", "delta": "hm"}),
        json!({"type": "response.output_item.added", "output_index": 1, "item": item(0)}),
        json!({"type": "response.function_call_arguments.delta", "delta": "{}"}),
        json!({"type": "response.output_item.added", "output_index": 2, "item": item(1)}),
        json!({"type": "response.completed", "response": {"id": "r", "output": [item(0), item(1)], "usage": usage}}),
    ]);
    let call = settled(OpenAi, "openai", "gpt-5-mini", "/v1/responses", &stream).await;
    // 2,000 × $0.25 + 8,000 × $0.025 + 900 × $2.
    assert_eq!(micros(&call), 500 + 200 + 1_800);
}

fn gemini(prompt: u64, cached: u64) -> String {
    let call = |name: &str| json!({"functionCall": {"name": name, "args": {}}});
    let content = |parts: Value| json!({"content": {"role": "model", "parts": parts}});
    let mut last = content(json!([call("a"), call("b")]));
    last["finishReason"] = json!("STOP");
    sse(&[
        json!({"candidates": [content(json!([{"text": "hm", "thought": true}]))],
               "usageMetadata": {"promptTokenCount": prompt, "thoughtsTokenCount": 600, "totalTokenCount": prompt + 600}}),
        json!({"candidates": [last], "usageMetadata": {
            "promptTokenCount": prompt, "cachedContentTokenCount": cached, "toolUsePromptTokenCount": 40,
            "candidatesTokenCount": 300, "thoughtsTokenCount": 600, "totalTokenCount": prompt + 940,
        }}),
    ])
}

#[tokio::test]
async fn gemini_with_thoughts_and_tools_of_its_own() {
    let path = "/v1beta/models/gemini/gemini-2.5-pro:streamGenerateContent?alt=sse";
    let call = settled(Gemini, "gemini", "gemini-2.5-pro", path, &gemini(10_000, 8_000)).await;
    // (2,000 + 40) × $1.25 + 8,000 × $0.125 + (300 + 600) × $10.
    assert_eq!(micros(&call), 2_550 + 1_000 + 9_000);
    assert_eq!((call.input_tokens, call.output_tokens), (2_040, 900));
    assert_eq!((call.cache_read_tokens, call.reasoning_tokens), (8_000, 600));
}

#[tokio::test]
async fn a_long_gemini_prompt_costs_its_higher_price() {
    let path = "/v1beta/models/gemini/gemini-2.5-pro:streamGenerateContent?alt=sse";
    let call = settled(Gemini, "gemini", "gemini-2.5-pro", path, &gemini(250_000, 200_000)).await;
    // (50,000 + 40) × $2.50 + 200,000 × $0.25 + 900 × $15.
    assert_eq!(micros(&call), 125_100 + 50_000 + 13_500);
}

#[tokio::test]
async fn the_same_scripted_turn_costs_the_same_in_every_protocol() {
    const SCRIPT: &str = r#"
[[conversation]]
role = "coder"
[[conversation.turn]]
thought = "hm"
usage = { input = 2000, output = 900, cache_read = 8000, reasoning = 600 }
[[conversation.turn.call]]
tool = "a"
[[conversation.turn.call]]
tool = "b"
"#;
    let rows = [
        ("/v1/messages", "messages"),
        ("/v1/chat/completions", "messages"),
        ("/v1/responses", "input"),
        ("/v1beta/models/scripted/demo:streamGenerateContent?alt=sse", "contents"),
    ];
    for (path, field) in rows {
        let door = Door::open(grant(vec![scripted(SCRIPT)]));
        let tool =
            json!({"type": "custom", "name": "t", "function": {"name": "t"}, "functionDeclarations": [{"name": "t"}]});
        let messages = [json!({"role": "user", "content": "go"})];
        let body = json!({"model": "scripted/demo", "stream": true, field: messages, "tools": [tool]});
        assert_eq!(door.ask(path, &body).await.0, 200);
        // 2,000 × $1 + 8,000 × $0.10 + 900 × $5.
        assert_eq!(micros(&door.one()), 2_000 + 800 + 4_500, "{path}");
    }
}

#[tokio::test]
async fn a_model_without_a_price_is_said_to_have_none() {
    let fake = Fake::start(vec![events(&chat(&json!({"prompt_tokens": 9, "completion_tokens": 9})))]).await;
    let mut upstream = fake.upstream("openai", OpenAi);
    upstream.prices = prices::table().for_provider("openai");
    upstream.models = vec!["unheard-of".into()];
    let door = Door::open(grant(vec![upstream]));
    door.ask("/v1/chat/completions", &json!({"model": "openai/unheard-of", "stream": true})).await;
    let call = door.one();
    assert_eq!((call.micro_usd, call.price_known, call.input_tokens), (None, false, 9));
}
