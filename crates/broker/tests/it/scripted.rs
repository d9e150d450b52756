//! The scripted upstream in all protocols: turns, statelessness, faults.

use broker::Micros;
use broker::calls::Outcome;
use serde_json::{Value, json};

use crate::kit::{Door, data, grant, scripted};

const SCRIPT: &str = r#"
[[conversation]]
role = "coder"
[[conversation.turn]]
thought = "The user wants a file; I will write it and look at the folder."
text = "I write the file now, and it will be in several pieces."
usage = { input = 1000, output = 200, cache_read = 50 }
[[conversation.turn.call]]
tool = "write_file"
input = { path = "src/main.js", content = "console.log('Grüße aus der Datei');" }
[[conversation.turn.call]]
tool = "list_directory"
[[conversation.turn]]
question = { question = "Which port?", options = ["3000", "8080"] }
[[conversation.turn]]
text = "Done."
"#;

fn door(script: &str) -> Door {
    Door::open(grant(vec![scripted(script)]))
}

fn body(field: &str, items: Value) -> Value {
    let tool =
        json!({"type": "custom", "name": "t", "function": {"name": "t"}, "functionDeclarations": [{"name": "t"}]});
    json!({"model": "scripted/demo", field: items, "max_tokens": 100, "tools": [tool]})
}

fn streamed(mut body: Value) -> Value {
    body["stream"] = json!(true);
    body
}

fn first() -> Value {
    json!([{"role": "user", "content": "make it"}])
}

const FILE: &str = r#"{"path":"src/main.js","content":"console.log('Grüße aus der Datei');"}"#;

#[tokio::test]
async fn messages_play_the_turns() {
    let door = door(SCRIPT);
    let (status, answer) = door.json("/v1/messages", &body("messages", first())).await;
    assert_eq!((status, &answer["stop_reason"]), (200, &json!("tool_use")));
    let content = answer["content"].as_array().unwrap();
    let kinds: Vec<_> = content.iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["thinking", "text", "tool_use", "tool_use"]);
    assert_eq!(content[2]["input"]["path"], "src/main.js");
    assert_eq!(content[3]["input"], json!({}));

    let mut history = first();
    let results = json!([{"type": "tool_result", "tool_use_id": content[2]["id"], "content": "ok"}]);
    push(&mut history, json!({"role": "assistant", "content": content}));
    push(&mut history, json!({"role": "user", "content": results}));
    let (_, second) = door.json("/v1/messages", &body("messages", history)).await;
    assert_eq!(second["content"][0]["name"], "ask_questions");
    assert_eq!(second["content"][0]["input"]["questions"][0]["question"], "Which port?");

    let settled = door.settled();
    assert_eq!((settled[0].input_tokens, settled[0].output_tokens), (1_000, 200));
    assert_eq!(settled[0].cache_read_tokens, 50);
    assert_eq!(settled[0].micro_usd, Some(Micros(1_000 + 5 * 200 + 5)));
    assert!(settled[1].output_tokens > 0, "estimated when the script says nothing");
}

fn push(items: &mut Value, item: Value) {
    items.as_array_mut().unwrap().push(item);
}

#[tokio::test]
async fn messages_stream_in_pieces_that_make_up_the_whole() {
    let door = door(SCRIPT);
    let (_, whole) = door.json("/v1/messages", &body("messages", first())).await;
    let (_, text) = door.ask("/v1/messages", &streamed(body("messages", first()))).await;
    let events = data(&text);
    let names: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(names.first(), Some(&"message_start"));
    assert_eq!(names.last(), Some(&"message_stop"));
    assert_eq!(names.len(), events.len());
    let joined = |index: u64, field: &str| -> String {
        let of = events.iter().filter(|event| event["index"] == index);
        of.filter_map(|event| event["delta"][field].as_str()).collect()
    };
    assert_eq!(joined(0, "thinking"), whole["content"][0]["thinking"]);
    assert_eq!(joined(1, "text"), whole["content"][1]["text"]);
    assert_eq!(joined(2, "partial_json"), FILE);
    assert!(events.iter().filter(|event| event["delta"]["type"] == "text_delta").count() > 1);
    assert_eq!(events[0]["message"]["id"], whole["id"]);
}

#[tokio::test]
async fn chat_streams_tool_calls_in_deltas() {
    let door = door(SCRIPT);
    let (_, whole) = door.json("/v1/chat/completions", &body("messages", first())).await;
    let message = &whole["choices"][0]["message"];
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], FILE);
    assert_eq!(whole["choices"][0]["finish_reason"], "tool_calls");

    let (_, text) = door.ask("/v1/chat/completions", &streamed(body("messages", first()))).await;
    assert!(text.ends_with("data: [DONE]\n\n"));
    let chunks = data(&text);
    let calls = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"].get(0));
    let of_first: Vec<&Value> = calls.filter(|call| call["index"] == 0).collect();
    let arguments: String = of_first.iter().filter_map(|call| call["function"]["arguments"].as_str()).collect();
    assert_eq!(arguments, FILE);
    assert_eq!(of_first[0]["id"], message["tool_calls"][0]["id"]);
    assert!(of_first.len() > 2);
    let settled = door.settled();
    assert_eq!(settled[0].input_tokens, settled[1].input_tokens);
    assert_eq!((settled[1].input_tokens, settled[1].cache_read_tokens), (1_000, 50));
}

#[tokio::test]
async fn responses_stream_their_items() {
    let door = door(SCRIPT);
    let (_, whole) = door.json("/v1/responses", &body("input", first())).await;
    let (_, text) = door.ask("/v1/responses", &streamed(body("input", first()))).await;
    let events = data(&text);
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["response"], whole);
    let numbers: Vec<u64> = events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    let deltas = events.iter().filter(|event| event["type"] == "response.function_call_arguments.delta");
    let arguments: String =
        deltas.filter(|event| event["output_index"] == 2).filter_map(|event| event["delta"].as_str()).collect();
    assert_eq!(arguments, FILE);

    let mut history = first();
    for item in whole["output"].as_array().unwrap() {
        push(&mut history, item.clone());
    }
    for item in whole["output"].as_array().unwrap().iter().filter(|item| item["type"] == "function_call") {
        push(&mut history, json!({"type": "function_call_output", "call_id": item["call_id"], "output": "ok"}));
    }
    let (_, second) = door.json("/v1/responses", &body("input", history)).await;
    assert_eq!(second["output"][0]["name"], "ask_questions");
}

#[tokio::test]
async fn a_restarted_gateway_gives_the_same_answer_to_the_last_byte() {
    for path in ["/v1/messages", "/v1/chat/completions"] {
        let ask = streamed(body("messages", first()));
        let (one, other) = (door(SCRIPT), door(SCRIPT));
        let text = one.ask(path, &ask).await;
        assert_eq!(one.ask(path, &ask).await, text);
        assert_eq!(other.ask(path, &ask).await, text);
    }
}

#[tokio::test]
async fn past_the_last_turn_the_script_says_so() {
    let door = door("[[conversation]]\nrole='coder'\n[[conversation.turn]]\ntext='only'\n");
    let history = json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "only"}, {"role": "user", "content": "b"}]);
    let (status, answer) = door.json("/v1/messages", &body("messages", history)).await;
    assert_eq!((status, &answer["stop_reason"]), (200, &json!("end_turn")));
    assert!(answer["content"][0]["text"].as_str().unwrap().contains("script is over"));
    assert_eq!(door.one().outcome, Outcome::ScriptOver);
}

#[tokio::test]
async fn a_role_without_a_conversation_is_named() {
    let door = door("[[conversation]]\nrole='planner'\n[[conversation.turn]]\ntext='x'\n");
    let (status, answer) = door.json("/v1/messages", &body("messages", first())).await;
    assert_eq!((status, &answer["error"]["type"]), (400, &json!("holdpoint_no_conversation")));
    assert!(answer["error"]["message"].as_str().unwrap().contains("role `coder`, visit 1"));
}

fn with_fault(fault: &str) -> String {
    format!(
        "[[conversation]]\nrole='coder'\n[[conversation.turn]]\ntext='The whole answer, long enough to be cut in two.'\nfault = {fault}\n"
    )
}

#[tokio::test]
async fn a_status_fault_is_waited_out() {
    let door = door(&with_fault("{ kind = 'status', status = 529, retry_after = 0.01, times = 2 }"));
    let response = door.post("/v1/messages", &body("messages", first())).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["x-holdpoint-retries"], "2");
    response.bytes().await.unwrap();
    assert_eq!(door.one().tries, 3);
}

#[tokio::test]
async fn a_status_fault_that_lasts_is_passed_on() {
    let door = door(&with_fault("{ kind = 'status', status = 529, times = 9 }"));
    let (status, answer) = door.json("/v1/messages", &body("messages", first())).await;
    assert_eq!((status, &answer["error"]["type"]), (529, &json!("overloaded_error")));
    assert_eq!(door.one().outcome, Outcome::Error);
}

#[tokio::test]
async fn a_cut_breaks_off_once_and_the_next_call_is_whole() {
    for (path, streams) in [("/v1/messages", true), ("/v1/messages", false), ("/v1/chat/completions", true)] {
        let mut door = door(&with_fault("{ kind = 'cut' }"));
        let mut ask = body("messages", first());
        ask["stream"] = json!(streams);
        let response = door.post(path, &ask).send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert!(response.bytes().await.is_err(), "{path} {streams}");
        door.wait_for_lines(2).await;
        assert_eq!(door.one().outcome, Outcome::Cut);
        let (_, text) = door.ask(path, &ask).await;
        assert!(text.contains("whole"), "{text}");
        assert_eq!(door.settled()[1].outcome, Outcome::Ok);
    }
}

#[tokio::test]
async fn a_stall_from_the_start_is_tried_again() {
    let mut grant = grant(vec![scripted(&with_fault("{ kind = 'stall', ms = 60000 }"))]);
    grant.retry.first_byte_ms = 300;
    let door = Door::open(grant);
    let (status, _) = door.ask("/v1/messages", &streamed(body("messages", first()))).await;
    assert_eq!(status, 200);
    let settled = door.one();
    assert_eq!((settled.outcome, settled.tries), (Outcome::Ok, 2));
}

#[tokio::test]
async fn a_stall_in_the_middle_is_given_up() {
    let mut grant = grant(vec![scripted(&with_fault("{ kind = 'stall', after = 2, ms = 60000 }"))]);
    grant.retry.idle_ms = 20;
    let mut door = Door::open(grant);
    let ask = streamed(body("messages", first()));
    let response = door.post("/v1/messages", &ask).send().await.unwrap();
    assert!(response.bytes().await.is_err());
    door.wait_for_lines(2).await;
    assert_eq!(door.one().outcome, Outcome::Stalled);
}

#[tokio::test]
async fn malformed_and_empty_answers_are_told_apart() {
    for (kind, outcome) in [("malformed", Outcome::Malformed), ("empty", Outcome::Empty)] {
        for streams in [true, false] {
            for (path, field) in
                [("/v1/messages", "messages"), ("/v1/chat/completions", "messages"), ("/v1/responses", "input")]
            {
                let door = door(&with_fault(&format!("{{ kind = '{kind}' }}")));
                let mut ask = body(field, first());
                ask["stream"] = json!(streams);
                assert_eq!(door.ask(path, &ask).await.0, 200);
                assert_eq!(door.one().outcome, outcome, "{kind} {streams} {path}");
            }
        }
    }
}

#[tokio::test]
async fn a_delayed_turn_takes_its_time() {
    let door = door("[[conversation]]\nrole='coder'\n[[conversation.turn]]\ntext='slow'\ndelay_ms=60\n");
    door.ask("/v1/messages", &streamed(body("messages", first()))).await;
    assert!(door.one().millis >= 40, "spread over the parts of the answer");
}

#[tokio::test]
async fn the_script_is_listed_as_a_model() {
    let door = door(SCRIPT);
    let response = door.client.get("http://broker/v1/models").send().await.unwrap();
    let list: Value = response.json().await.unwrap();
    assert_eq!(list["data"][0]["id"], "scripted/demo");
}

#[tokio::test]
async fn gemini_plays_the_turns_and_streams_them() {
    let door = door(SCRIPT);
    let path = |action: &str| format!("/v1beta/models/scripted/demo:{action}");
    let tools = json!([{"functionDeclarations": [{"name": "t"}]}]);
    let first = json!({"contents": [{"role": "user", "parts": [{"text": "make it"}]}], "tools": tools});
    let (status, whole) = door.json(&path("generateContent"), &first).await;
    let parts = &whole["candidates"][0]["content"]["parts"];
    assert_eq!((status, &parts[0]["thought"]), (200, &json!(true)));
    assert_eq!(parts[2]["functionCall"]["args"]["path"], "src/main.js");
    assert_eq!(parts[3]["functionCall"]["args"], json!({}));

    let (_, text) = door.ask(&path("streamGenerateContent?alt=sse"), &first).await;
    let said: String = data(&text)
        .iter()
        .flat_map(|event| event["candidates"][0]["content"]["parts"].as_array().unwrap().clone())
        .filter(|part| part["thought"].is_null())
        .filter_map(|part| part["text"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(parts[1]["text"], said);
    let (_, array) = door.json(&path("streamGenerateContent"), &first).await;
    assert_eq!(array.as_array().unwrap().last().unwrap()["candidates"][0]["finishReason"], "STOP");

    let mut history = first["contents"].clone();
    push(&mut history, whole["candidates"][0]["content"].clone());
    push(
        &mut history,
        json!({"role": "user", "parts": [{"functionResponse": {"name": "write_file", "response": {}}}]}),
    );
    let (_, second) = door.json(&path("generateContent"), &json!({"contents": history, "tools": tools})).await;
    assert_eq!(second["candidates"][0]["content"]["parts"][0]["functionCall"]["name"], "ask_questions");
    for settled in &door.settled()[..3] {
        assert_eq!((settled.input_tokens, settled.output_tokens, settled.cache_read_tokens), (1_000, 200, 50));
        assert_eq!(settled.outcome, Outcome::Ok);
    }
}

#[tokio::test]
async fn a_small_model_of_the_clients_own_choice_is_answered_with_the_json_it_wants() {
    let door = door(SCRIPT);
    let schema =
        json!({"type": "OBJECT", "properties": {"model_choice": {"type": "STRING", "enum": ["flash", "pro"]}}});
    let config = json!({"responseMimeType": "application/json", "responseSchema": schema});
    let ask = json!({"contents": [{"role": "user", "parts": [{"text": "which?"}]}], "generationConfig": config});
    let (status, answer) = door.json("/v1beta/models/gemini-2.5-flash-lite:generateContent", &ask).await;
    assert_eq!(status, 200);
    let text = answer["candidates"][0]["content"]["parts"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), json!({"model_choice": "flash"}));
    assert_eq!(door.one().model, "scripted/demo");
    let (_, count) = door.json("/v1beta/models/scripted/demo:countTokens", &ask).await;
    assert!(count["totalTokens"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn its_own_log_says_the_same_as_the_books() {
    const FAULTY: &str = r#"
[[conversation]]
role = "coder"
[[conversation.turn]]
text = "a piece and another piece of it, so that there is something to cut"
usage = { input = 20, output = 9, cache_read = 80 }
fault = { kind = "cut", times = 1 }
"#;
    let rows = [
        ("/v1/messages", "messages"),
        ("/v1/chat/completions", "messages"),
        ("/v1/responses", "input"),
        ("/v1beta/models/scripted/demo:streamGenerateContent?alt=sse", "contents"),
    ];
    for (path, field) in rows {
        let room = tempfile::tempdir().unwrap();
        let file = room.path().join("scripted/demo.jsonl");
        let mut upstream = scripted(FAULTY);
        upstream.script = upstream.script.map(|script| script.logging_to(file.clone()));
        let door = Door::open(grant(vec![upstream]));
        let body = json!({"model": "scripted/demo", "stream": true, field: [{"role": "user", "content": "go"}]});
        let cut = door.post(path, &body).send().await.unwrap();
        assert!(cut.text().await.is_err(), "{path}");
        assert_eq!(door.ask(path, &body).await.0, 200);
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let told: Vec<_> = lines.iter().map(|line| (&line["answer"], &line["fault"])).collect();
        assert_eq!(told, [(&json!("broken"), &json!("cut")), (&json!("whole"), &Value::Null)], "{path}");
        let booked = door.settled().pop().unwrap();
        let booked = json!([booked.input_tokens, booked.output_tokens, booked.cache_read_tokens]);
        let whole = &lines[1];
        let logged = json!([whole["inputTokens"], whole["outputTokens"], whole["cacheReadTokens"]]);
        assert_eq!((&logged, &booked), (&json!([20, 9, 80]), &json!([20, 9, 80])), "{path}");
    }
}
