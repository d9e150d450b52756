//! `holdpoint mcp` as a client meets it: the real binary over pipes and over HTTP, with a real server behind it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::path::Path;
use std::process::{ExitStatus, Stdio};

use rmcp::model::{
    ArgumentInfo, CallToolRequestParams, CompleteRequestParams, GetPromptRequestParams, ReadResourceRequestParams,
    Reference,
};
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// A data directory with a server on it, both gone with the value.
struct Bench {
    home: tempfile::TempDir,
    _server: Child,
}

impl Bench {
    async fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut server = holdpoint(home.path(), &["serve", "--foreground", "--json"]).spawn().unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        lines.next_line().await.unwrap().expect("the server says where it is");
        Self { home, _server: server }
    }

    fn mcp(&self, arguments: &[&str]) -> Child {
        holdpoint(self.home.path(), &[&["mcp"], arguments].concat()).spawn().unwrap()
    }

    fn token(&self, name: &str) -> String {
        std::fs::read_to_string(self.home.path().join(name)).unwrap()
    }
}

fn holdpoint(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command
        .args(arguments)
        .env("HOLDPOINT_HOME", home)
        .env("HOLDPOINT_LOG", "off")
        .env_remove("ORCHESTRATOR_PORT")
        .current_dir(home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// The protocol line by line, for what no client library would send.
struct Raw {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Raw {
    async fn open(mut child: Child) -> Self {
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut raw = Self { child, input, output };
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
            "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
        raw.say(&hello.to_string()).await;
        assert_eq!(raw.answer().await["result"]["serverInfo"]["name"], "holdpoint");
        raw.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        raw
    }

    async fn say(&mut self, line: &str) {
        self.input.write_all(line.as_bytes()).await.unwrap();
        self.input.write_all(b"\n").await.unwrap();
        self.input.flush().await.unwrap();
    }

    async fn answer(&mut self) -> Value {
        let line = self.output.next_line().await.unwrap().expect("the server answers");
        serde_json::from_str(&line).unwrap()
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.say(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()).await;
        self.answer().await
    }

    async fn end(mut self) -> ExitStatus {
        drop(self.input);
        self.child.wait().await.unwrap()
    }
}

type Client = RunningService<RoleClient, ()>;

async fn client(mut child: Child) -> (Client, Child) {
    let pipes = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    (().serve(pipes).await.unwrap(), child)
}

async fn call(client: &Client, tool: &'static str, arguments: Value) -> (bool, Value) {
    let request = CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone());
    let told = client.call_tool(request).await.unwrap();
    let text = told.content[0].as_text().unwrap().text.clone();
    (told.is_error == Some(true), told.structured_content.unwrap_or(Value::String(text)))
}

#[tokio::test]
async fn nothing_a_client_says_stops_the_server() {
    let bench = Bench::start().await;
    let mut raw = Raw::open(bench.mcp(&[])).await;
    raw.say("{not json").await;
    raw.say("").await;
    raw.say(&"x".repeat(5 * 1024 * 1024)).await;
    assert_eq!(raw.ask("no/such", json!({})).await["error"]["code"], -32601);
    assert_eq!(raw.ask("tools/call", json!({"name": "no_such"})).await["error"]["code"], -32602);
    assert_eq!(raw.ask("resources/read", json!({"uri": "file:///etc/passwd"})).await["error"]["code"], -32002);
    assert_eq!(raw.ask("resources/read", json!({"uri": "holdpoint://runs/zzzzzz"})).await["error"]["code"], -32002);
    assert_eq!(raw.ask("resources/list", json!({"cursor": "zzzzzz"})).await["error"]["code"], -32602);
    assert_eq!(raw.ask("prompts/get", json!({"name": "orchestrate"})).await["error"]["code"], -32602);
    assert!(raw.ask("tools/call", json!({"name": 7})).await["error"].is_object());
    let wrong = [
        ("get_run", json!({})),
        ("get_run", json!({"run": 5})),
        ("get_run", json!({"run": "../holds"})),
        ("list_runs", json!({"limit": 0})),
        ("list_runs", json!({"status": "sleeping"})),
        ("list_holds", json!({"cursor": "x"})),
        ("watch_run", json!({"run": "abc", "timeout_seconds": 0})),
        ("decide", json!({"run": "abc", "decision": "approve"})),
        ("create_run", json!({"request": "do it", "project": "not/absolute"})),
        ("create_run", json!({"request": "do it", "project": "/", "playbok": "task"})),
    ];
    for (tool, arguments) in wrong {
        let told = raw.ask("tools/call", json!({"name": tool, "arguments": arguments})).await;
        assert_eq!(told["result"]["isError"], true, "{tool}: {told}");
    }
    assert_eq!(raw.ask("ping", json!({})).await["result"], json!({}));
    assert!(raw.end().await.success());
}

#[tokio::test]
async fn a_client_that_goes_away_leaves_no_server_of_its_own_behind() {
    let bench = Bench::start().await;
    let mut before = bench.mcp(&[]);
    drop(before.stdin.take());
    assert!(before.wait().await.unwrap().success(), "before it said anything");
    let raw = Raw::open(bench.mcp(&[])).await;
    assert!(raw.end().await.success(), "after the handshake");
    let mut deaf = Raw::open(bench.mcp(&[])).await;
    deaf.say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    let Raw { mut child, input, output } = deaf;
    drop((input, output));
    child.wait().await.unwrap();
}

#[tokio::test]
async fn the_tools_tell_an_orchestrator_what_to_do() {
    let bench = Bench::start().await;
    let (client, _child) = client(bench.mcp(&[])).await;
    let about = client.peer_info().unwrap().instructions.clone().unwrap();
    assert!(about.contains("Ask two or three questions") && about.contains("never create"), "{about}");
    let tools = client.list_all_tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    let expected = [
        "create_task",
        "create_run",
        "list_runs",
        "get_run",
        "watch_run",
        "list_holds",
        "get_hold",
        "get_artifact",
        "get_diff",
        "why",
        "decide",
        "cancel_run",
    ];
    assert_eq!(names, expected);
    let hints = |name: &str| tools.iter().find(|tool| tool.name == name).unwrap().annotations.clone().unwrap();
    assert_eq!((hints("get_hold").read_only_hint, hints("decide").destructive_hint), (Some(true), Some(true)));
    let prompts = client.list_all_prompts().await.unwrap();
    assert_eq!(prompts[0].name, "orchestrate");
    let given = json!({"request": "add a login"});
    let asked = GetPromptRequestParams::new("orchestrate").with_arguments(given.as_object().unwrap().clone());
    let prompt = serde_json::to_string(&client.get_prompt(asked).await.unwrap()).unwrap();
    assert!(prompt.contains("add a login") && prompt.contains("create_task"), "{prompt}");
}

#[tokio::test]
async fn a_vague_task_is_not_created() {
    let bench = Bench::start().await;
    let (client, _child) = client(bench.mcp(&[])).await;
    for task in [
        json!({"summary": "", "context": "1. do it", "project": "/p"}),
        json!({"summary": "Add auth", "context": "  ", "project": "/p"}),
        json!({"summary": "two\nlines", "context": "1. do it", "project": "/p"}),
    ] {
        let (refused, told) = call(&client, "create_task", task).await;
        assert!(refused && told.as_str().unwrap().contains("ask the user"), "{told}");
    }
    assert_eq!(call(&client, "list_runs", json!({})).await, (false, json!({"runs": []})));
}

#[tokio::test]
async fn resources_and_completions_know_the_runs_there_are() {
    let bench = Bench::start().await;
    let (client, _child) = client(bench.mcp(&[])).await;
    let listed = client.list_all_resources().await.unwrap();
    let addresses: Vec<_> = listed.iter().map(|resource| resource.uri.as_str()).collect();
    assert_eq!(addresses, ["holdpoint://holds", "holdpoint://runs"]);
    assert_eq!(client.list_all_resource_templates().await.unwrap().len(), 4);
    let read = client.read_resource(ReadResourceRequestParams::new("holdpoint://holds")).await.unwrap();
    assert_eq!(serde_json::to_value(&read.contents).unwrap()[0]["text"], "[]");
    let argument: ArgumentInfo = serde_json::from_value(json!({"name": "run", "value": ""})).unwrap();
    let asked = CompleteRequestParams::new(Reference::for_resource("holdpoint://runs/{run}"), argument);
    assert!(client.complete(asked).await.unwrap().completion.values.is_empty());
}

#[tokio::test]
async fn a_server_is_started_where_none_runs() {
    let home = tempfile::tempdir().unwrap();
    let (client, _child) = client(holdpoint(home.path(), &["mcp"]).spawn().unwrap()).await;
    assert_eq!(call(&client, "list_runs", json!({})).await, (false, json!({"runs": []})));
    let info: Value = serde_json::from_slice(&std::fs::read(home.path().join("server.json")).unwrap()).unwrap();
    let pid = i32::try_from(info["pid"].as_i64().unwrap()).unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), rustix::process::Signal::TERM).unwrap();
}

/// `mcp --http`, and where it is.
async fn over_http(bench: &Bench, arguments: &[&str]) -> (String, Child) {
    let mut child = bench.mcp(&[&["--http", "--json"], arguments].concat());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().expect("it says where it is");
    let told: Value = serde_json::from_str(&line).unwrap();
    (told["url"].as_str().unwrap().to_owned(), child)
}

async fn hello(url: &str, headers: &[(&str, &str)]) -> u16 {
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut request = http.post(url).header("accept", "application/json, text/event-stream").json(&body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn over_http_nobody_comes_in_without_the_faces_own_token() {
    let bench = Bench::start().await;
    let (url, _child) = over_http(&bench, &[]).await;
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    let (agent, owner) = (format!("Bearer {}", bench.token("mcp-token")), format!("Bearer {}", bench.token("token")));
    assert_eq!(hello(&url, &[]).await, 401);
    assert_eq!(hello(&url, &[("authorization", "Bearer 00")]).await, 401);
    assert_eq!(hello(&url, &[("authorization", &owner)]).await, 401);
    assert_eq!(hello(&url, &[("authorization", &agent)]).await, 200);
    let own = url.trim_end_matches("/mcp");
    assert_eq!(hello(&url, &[("authorization", &agent), ("origin", own)]).await, 200);
    assert_eq!(hello(&url, &[("authorization", &agent), ("origin", "http://evil.example")]).await, 403);
    assert_eq!(hello(&url, &[("authorization", &agent), ("host", "evil.example")]).await, 403);
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let huge = http.post(&url).header("authorization", &agent).header("accept", "application/json, text/event-stream");
    let huge = huge.header("content-type", "application/json").body("x".repeat(5 * 1024 * 1024)).send().await;
    assert!(huge.is_err() || huge.is_ok_and(|answer| answer.status() == 413), "too much is not read");
    assert_eq!(hello(&url, &[("authorization", &agent)]).await, 200, "and the next one is served");
    let (url, _child) = over_http(&bench, &["--may-decide"]).await;
    assert_eq!(hello(&url, &[("authorization", &agent)]).await, 401, "a right cannot be had by asking elsewhere");
    assert_eq!(hello(&url, &[("authorization", &owner)]).await, 200);
}

#[tokio::test]
async fn over_http_the_same_is_served_to_several_clients() {
    let bench = Bench::start().await;
    let (url, _child) = over_http(&bench, &[]).await;
    for _ in 0..2 {
        let config = StreamableHttpClientTransportConfig::with_uri(url.clone()).auth_header(bench.token("mcp-token"));
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let client = ().serve(StreamableHttpClientTransport::with_client(http, config)).await.unwrap();
        assert_eq!(call(&client, "list_runs", json!({})).await, (false, json!({"runs": []})));
        let (refused, told) = call(&client, "create_run", json!({"request": "do it"})).await;
        assert!(refused && told.as_str().unwrap().contains("no project"), "{told}");
        client.cancel().await.unwrap();
    }
}
