//! Servers that misbehave, as small shell scripts and as services behind a broker's socket: each harms one call, or its
//! own tools, and nobody waits longer than a limit.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use drivers::{Job, JobKind, McpServer, McpVariables, McpWay};
use serde_json::{Value, json};

use super::Servers;
use crate::model::SOCKET;

const LIST: &str = r#"say '{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}'"#;
const ECHO: &str = r#"text 'here you are'"#;

/// A server that answers as it should, except where it is told otherwise.
fn script(list: &str, call: &str) -> String {
    format!(
        r#"
        say() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
        text() {{ say '{{"content":[{{"type":"text","text":"'"$1"'"}}]}}'; }}
        while IFS= read -r line; do
          id=${{line#*\"id\":}}; id=${{id%%[,\}}]*}}
          case "$line" in
            *'"initialize"'*) say '{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{"listChanged":true}}}},"serverInfo":{{"name":"x","version":"1"}}}}';;
            *'"tools/list"'*) {list};;
            *'"tools/call"'*) {call};;
          esac
        done"#
    )
}

fn process(name: &str, script: &str) -> McpServer {
    let command = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
    let way = McpWay::Process { command, variables: McpVariables::None };
    McpServer { name: name.into(), way, tools: None, timeout_seconds: 3 }
}

fn http(name: &str) -> McpServer {
    McpServer { name: name.into(), way: McpWay::Http, tools: None, timeout_seconds: 3 }
}

fn servers(folder: &Path, mcp: Vec<McpServer>) -> Servers {
    let workspace = folder.display().to_string();
    Servers::new(&Job { mcp, workspace, ..crate::prompt::tests::job(JobKind::Code) }, folder)
}

/// A started server, in a folder of its own.
async fn started(script: &str) -> (tempfile::TempDir, Servers) {
    let folder = tempfile::tempdir().unwrap();
    let mut servers = servers(folder.path(), vec![process("x", script)]);
    servers.start().await;
    (folder, servers)
}

async fn echo(servers: &mut Servers) -> Result<String, String> {
    servers.call("mcp__x__echo", &json!({"word": "hello"})).await
}

fn names(servers: &Servers) -> Vec<&str> {
    servers.tools().iter().map(|tool| tool.name.as_str()).collect()
}

fn is_alive(folder: &Path, file: &str) -> bool {
    let pid = std::fs::read_to_string(folder.join(file)).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}

/// A killed process is gone a moment later.
fn is_gone(folder: &Path, file: &str) -> bool {
    let pid: i32 = std::fs::read_to_string(folder.join(file)).unwrap().trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    let Ok(process) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) else { return true };
    let soon = rustix::event::Timespec { tv_sec: 5, tv_nsec: 0 };
    let mut ended = [rustix::event::PollFd::new(&process, rustix::event::PollFlags::IN)];
    rustix::event::poll(&mut ended, Some(&soon)).unwrap() == 1
}

#[tokio::test]
async fn a_server_offers_its_tools_and_answers() {
    let call = r#"case "$line" in *'"name":"echo"'*'"word":"hello"'*) text 'heard it';; *) text 'what?';; esac"#;
    let (_folder, mut servers) = started(&script(LIST, call)).await;
    assert_eq!(names(&servers), ["mcp__x__echo"]);
    assert_eq!(echo(&mut servers).await, Ok("heard it".to_owned()));
    assert!(servers.check("mcp__x__echo").is_ok());
    assert!(servers.check("mcp__x__fly").unwrap_err().unwrap().contains("offers 1 tools"));
    assert_eq!(servers.check("mcp__y__fly"), Err(None));
    let told = servers.introduce("Do it.".to_owned());
    assert!(told.starts_with("Do it.\n\n") && told.ends_with("- MCP server `x` offers 1 tools"), "{told}");
}

#[tokio::test]
async fn servers_that_do_not_start_delay_nobody_and_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let silent = "echo $$ > silent; sleep 600 & echo $! > child; cat > /dev/null";
    let missing = McpWay::Process { command: vec!["/no/such/program".into()], variables: McpVariables::None };
    let mut servers = servers(
        folder.path(),
        vec![
            process("silent", silent),
            process("dead", "echo no licence >&2; exit 3"),
            McpServer { way: missing, ..http("missing") },
            process("liar", &script(LIST, ECHO).replace("\"id\":%s", "\"id\":77%s")),
            process("mute", &script(":", ECHO)),
            process("good", &script(LIST, ECHO)),
        ],
    );
    let begun = Instant::now();
    let lines = servers.start().await;
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    assert_eq!(lines[0], "MCP server `silent` could not be started: it did not answer within 3 seconds");
    assert_eq!(
        lines[1],
        "MCP server `dead` could not be started: it ended (exit status: 3); its last words: no licence"
    );
    assert!(lines[2].contains("`/no/such/program` cannot be run"), "{}", lines[2]);
    assert!(lines[3].contains("could not be started"), "{}", lines[3]);
    assert!(lines[4].contains("its tools could not be listed: no answer within 3 seconds"), "{}", lines[4]);
    assert_eq!(names(&servers), ["mcp__good__echo"], "the others' tools are there");
    assert!(is_gone(folder.path(), "silent") && is_gone(folder.path(), "child"));
    let told = servers.check("mcp__dead__echo").unwrap_err().unwrap();
    assert!(told.contains("no licence"), "{told}");
}

#[tokio::test]
async fn a_call_that_hangs_is_given_up_and_the_next_one_starts_the_server_again() {
    let call = "if [ -e hung ]; then text again; else echo $$ > hung; sleep 600; fi";
    let (folder, mut servers) = started(&script(LIST, call)).await;
    let told = echo(&mut servers).await.unwrap_err();
    assert!(told.contains("no answer within 3 seconds") && told.contains("the next call starts it again"), "{told}");
    assert!(told.contains("may have been done whole, in part or not at all"), "{told}");
    assert!(is_gone(folder.path(), "hung"));
    assert_eq!(echo(&mut servers).await, Ok("again".to_owned()));
}

#[tokio::test]
async fn a_server_that_dies_again_and_again_is_lost() {
    let (_folder, mut servers) = started(&script(LIST, "echo oh >&2; kill -9 $$")).await;
    for _ in 0..3 {
        let told = echo(&mut servers).await.unwrap_err();
        assert!(told.contains("it ended (signal: 9 (SIGKILL)); its last words: oh"), "{told}");
    }
    let told = echo(&mut servers).await.unwrap_err();
    assert!(told.contains("is lost and not started any more"), "{told}");
    assert_eq!(echo(&mut servers).await.unwrap_err(), servers.servers[0].stands(), "it is not asked any more");
}

#[tokio::test]
async fn a_server_that_went_away_between_calls_is_started_for_the_next() {
    let (_folder, mut servers) = started(&script(LIST, "text bye; exit")).await;
    for _ in 0..4 {
        assert_eq!(echo(&mut servers).await, Ok("bye".to_owned()));
        while !servers.servers[0].is_over() {
            tokio::task::yield_now().await;
        }
    }
    assert!(echo(&mut servers).await.unwrap_err().contains("is lost and not started any more"), "but not for ever");
}

#[tokio::test]
async fn garbage_between_messages_is_passed_over() {
    let noisy = format!("echo 'Server listening'; echo '{{\"half'; printf '\\377\\376\\n'; {}", script(LIST, ECHO));
    let call = r#"echo 'thinking ...'; echo '[]'; echo '{"a":1}'; text done"#;
    let (_folder, mut servers) = started(&noisy.replace(ECHO, call)).await;
    assert_eq!(echo(&mut servers).await, Ok("done".to_owned()));
}

#[tokio::test]
async fn floods_and_giant_results_end_the_connection_and_no_more() {
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    for (call, why) in [
        (format!("yes '{notice}'"), "messages at once"),
        ("yes".to_owned(), "messages at once"),
        ("head -c 100000000 /dev/zero | tr '\\0' x".to_owned(), "a message of more than 8388608 bytes"),
        ("yes $(head -c 20000 /dev/zero | tr '\\0' x)".to_owned(), "bytes at once"),
    ] {
        let call = format!("if [ -e flooded ]; then text again; else : > flooded; {call}; fi");
        let folder = tempfile::tempdir().unwrap();
        let server = McpServer { timeout_seconds: 60, ..process("x", &script(LIST, &call)) };
        let mut servers = servers(folder.path(), vec![server]);
        servers.start().await;
        let told = echo(&mut servers).await.unwrap_err();
        assert!(told.contains(why), "{told}");
        assert_eq!(echo(&mut servers).await, Ok("again".to_owned()));
    }
}

#[tokio::test]
async fn an_answer_to_another_question_is_none() {
    let (_folder, mut servers) = started(&script(LIST, "id=9999; text 'not for you'")).await;
    assert!(echo(&mut servers).await.unwrap_err().contains("no answer within 3 seconds"));
}

#[tokio::test]
async fn endless_and_odd_lists_are_cut_and_the_good_tools_stay() {
    let many = r#"say '{"tools":['"$(seq -f '{"name":"t%.0f","inputSchema":{"type":"object"}}' -s, 1 10000)"']}'"#;
    let (_folder, servers) = started(&script(many, ECHO)).await;
    assert_eq!(servers.tools().len(), 40);
    assert!(
        servers.servers[0].stands().contains("9960 tools beyond the first 40"),
        "{:?}",
        servers.servers[0].stands()
    );
    let pages = r#"say '{"nextCursor":"'"$id"'","tools":[{"name":"t'"$id"'","inputSchema":{"type":"object"}}]}'"#;
    let (_folder, servers) = started(&script(pages, ECHO)).await;
    assert_eq!(servers.tools().len(), 20, "pages have an end");
    let odd = r#"say '{"tools":[{"name":"a","inputSchema":"text"},{"name":7},{"name":"echo","inputSchema":{"type":"object"}},{"name":"echo","inputSchema":{"type":"object"}}]}'"#;
    let (_folder, mut servers) = started(&script(odd, ECHO)).await;
    assert_eq!(names(&servers), ["mcp__x__echo"]);
    assert_eq!(echo(&mut servers).await, Ok("here you are".to_owned()));
    let (_folder, servers) = started(&script("say '7'", ECHO)).await;
    assert!(servers.tools().is_empty());
}

#[tokio::test]
async fn a_changed_list_is_learned_between_turns() {
    let list = r#"if [ -e changed ]; then say '{"tools":[{"name":"other","inputSchema":{"type":"object"}}]}'; else say '{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}'; fi"#;
    let call = r#": > changed; echo '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'; text told"#;
    let (_folder, mut servers) = started(&script(list, call)).await;
    assert!(servers.refresh().await.is_empty(), "nothing changed yet");
    echo(&mut servers).await.unwrap();
    assert_eq!(servers.refresh().await, ["MCP server `x` offers 1 tools"]);
    assert_eq!(names(&servers), ["mcp__x__other"]);
    assert_eq!(echo(&mut servers).await, Err("`mcp__x__echo` is not offered any more".to_owned()));
    for _ in 0..20 {
        servers.call("mcp__x__other", &json!({})).await.unwrap();
        servers.refresh().await;
    }
    assert!(servers.refresh().await.is_empty(), "a server cannot keep us busy with its list");
}

#[tokio::test]
async fn what_a_server_refuses_is_a_failed_call_and_nothing_else() {
    let refuse = r#"printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"unknown tool: echo"}}\n' "$id""#;
    let (_folder, mut servers) = started(&script(LIST, refuse)).await;
    assert_eq!(echo(&mut servers).await, Err("MCP server `x` refused: unknown tool: echo".to_owned()));
    let failed = r#"say '{"content":[{"type":"text","text":"no such page"}],"isError":true}'"#;
    let (_folder, mut servers) = started(&script(LIST, failed)).await;
    assert_eq!(echo(&mut servers).await, Err("no such page".to_owned()));
    let told = servers.call("mcp__x__echo", &json!("half an obj")).await.unwrap_err();
    assert!(told.contains("is not a JSON object"), "{told}");
}

#[tokio::test]
async fn a_server_that_asks_for_something_is_politely_refused() {
    let call = r#"
        mine=$id
        for ask in '"sampling/createMessage","params":{"messages":[],"maxTokens":9}' '"roots/list"' '"elicitation/create","params":{"message":"password?","requestedSchema":{"type":"object","properties":{}}}'; do
          echo '{"jsonrpc":"2.0","id":"q","method":'"$ask"'}'
          IFS= read -r answer; printf '%s\n' "$answer" >> asked
        done
        id=$mine; text served"#;
    let (folder, mut servers) = started(&script(LIST, call)).await;
    assert_eq!(echo(&mut servers).await, Ok("served".to_owned()));
    let asked = std::fs::read_to_string(folder.path().join("asked")).unwrap();
    let answers: Vec<Value> = asked.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers[0]["error"]["code"], -32601, "{asked}");
    assert_eq!(answers[1]["result"]["roots"], json!([]), "{asked}");
    assert_eq!(answers[2]["result"]["action"], "decline", "{asked}");
}

#[tokio::test]
async fn all_processes_of_a_server_end_with_the_agent() {
    let both = format!("echo $$ > own; sleep 600 & echo $! > child; {}", script(LIST, ECHO));
    let (folder, servers) = started(&both).await;
    assert!(is_alive(folder.path(), "own") && is_alive(folder.path(), "child"));
    let pid = std::fs::read_to_string(folder.path().join("child")).unwrap();
    let child = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    let watch = rustix::process::pidfd_open(child, rustix::process::PidfdFlags::NONBLOCK).unwrap();
    drop(servers);
    let mut ended = [rustix::event::PollFd::new(&watch, rustix::event::PollFlags::IN)];
    let limit = rustix::event::Timespec { tv_sec: 10, tv_nsec: 0 };
    assert_eq!(rustix::event::poll(&mut ended, Some(&limit)), Ok(1), "it ends with its server");
    assert!(is_gone(folder.path(), "child"));
}

/// A broker with a server behind it, as it would answer.
fn broker(folder: &Path, routes: Router) {
    let listener = tokio::net::UnixListener::bind(folder.join(SOCKET)).unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await });
}

fn result(message: &Value, result: Value) -> Response {
    axum::Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response()
}

/// Answers the handshake and the list as it should, and calls as `call` does.
async fn serve<F: Future<Output = Response>>(body: Bytes, call: impl FnOnce(Value) -> F) -> Response {
    let message: Value = serde_json::from_slice(&body).unwrap();
    match message["method"].as_str() {
        Some("initialize") => result(
            &message,
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}),
        ),
        Some("tools/list") => result(&message, json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]})),
        Some("tools/call") => call(message).await,
        Some(_) | None => StatusCode::ACCEPTED.into_response(),
    }
}

async fn over_http<F: Future<Output = Response> + Send + 'static>(
    call: impl FnOnce(Value) -> F + Clone + Send + Sync + 'static,
) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    broker(
        folder.path(),
        Router::new().route("/mcp/x", post(async move |body: Bytes| serve(body, call.clone()).await)),
    );
    let mut servers = servers(folder.path(), vec![http("x")]);
    servers.start().await;
    echo(&mut servers).await
}

#[tokio::test]
async fn over_http_answers_come_as_json_and_as_a_stream() {
    let said = |message: &Value| json!({"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": "heard"}]}});
    let whole = async move |message: Value| axum::Json(said(&message)).into_response();
    assert_eq!(over_http(whole).await, Ok("heard".to_owned()));
    let streamed = async move |message: Value| {
        let events = format!("event: message\ndata: {}\n\n", said(&message));
        ([("content-type", "text/event-stream")], events).into_response()
    };
    assert_eq!(over_http(streamed).await, Ok("heard".to_owned()));
}

#[tokio::test]
async fn over_http_a_server_that_hangs_lies_or_breaks_harms_one_call() {
    let hangs = async |_: Value| std::future::pending::<Response>().await;
    assert!(over_http(hangs).await.unwrap_err().contains("no answer within 3 seconds"));
    let page = async |_: Value| ([("content-type", "text/html")], "<p>Log in</p>").into_response();
    assert!(over_http(page).await.is_err());
    let garbage = async |_: Value| ([("content-type", "application/json")], "{\"half").into_response();
    assert!(over_http(garbage).await.is_err());
    let refused = async |message: Value| {
        let error =
            json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32000, "message": "answered 500"}});
        (StatusCode::BAD_GATEWAY, axum::Json(error)).into_response()
    };
    assert_eq!(over_http(refused).await, Err("MCP server `x` refused: answered 500".to_owned()));
    let folder = tempfile::tempdir().unwrap();
    let mut nobody = servers(folder.path(), vec![http("x")]);
    let lines = nobody.start().await;
    assert!(lines[0].contains("could not be started"), "{lines:?}");
}

#[tokio::test]
async fn variables_come_from_the_broker_and_are_hidden_in_what_a_server_says() {
    let folder = tempfile::tempdir().unwrap();
    let given = post(async || axum::Json(json!({"variables": BTreeMap::from([("TOKEN", "s3cret-token")])})));
    broker(folder.path(), Router::new().route("/mcp/x/variables", given));
    let call = r#"if [ -e hung ]; then text "it is $TOKEN"; else : > hung; kill -9 $$; fi"#;
    let mut server = process("x", &script(LIST, call));
    if let McpWay::Process { variables, .. } = &mut server.way {
        *variables = McpVariables::Asked;
    }
    let mut servers = servers(folder.path(), vec![server]);
    servers.start().await;
    echo(&mut servers).await.unwrap_err();
    assert_eq!(echo(&mut servers).await, Ok("it is [TOKEN]".to_owned()), "also after it was started again");
}
