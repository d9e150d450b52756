//! A program that uses its own login at its own vendor, from inside the sandbox: one proxy is its only way out, what it
//! costs is what it says, and a limit stops it while it works.

use std::collections::BTreeMap;
use std::path::Path;

use broker::Secret;
use domain::{Event, HoldKind, Micros, Run, SpendReport};
use drivers::AgentEvent;
use runner::{DirectAgents, DirectSettings, LoginFile};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

use crate::program::{OTHERS, PROGRAM, completed, left};
use crate::world::World;

const NAME: &str = "acp:node fake-acp.mjs";

/// What every act may use: a tunnel by hand, since there is no vendor with a certificate here.
const TUNNEL: &str = "
import { connect } from 'node:net';
import { execSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
const proxy = new URL(process.env.HTTPS_PROXY);
const through = (host, words) => new Promise((resolve) => {
    const socket = connect(Number(proxy.port), proxy.hostname, () =>
        socket.write(`CONNECT ${host} HTTP/1.1\\r\\nHost: ${host}\\r\\n\\r\\n`));
    let got = '', asked = false;
    socket.on('data', (data) => {
        got += data;
        if (!asked && got.includes('\\r\\n\\r\\n')) {
            asked = true;
            got.startsWith('HTTP/1.1 200') ? socket.write(`${words}\\n`) : socket.end();
        }
    });
    socket.on('close', () => resolve(got));
    socket.on('error', (error) => resolve(String(error)));
});
const plainly = (port) => new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => { socket.end(); resolve('connected'); });
    socket.on('error', (error) => resolve(error.code));
});
";

/// A vendor on loopback that says back what it heard.
async fn vendor() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut stream = BufReader::new(stream);
                let mut line = String::new();
                stream.read_line(&mut line).await.unwrap();
                stream.write_all(format!("the vendor heard {line}").as_bytes()).await.unwrap();
            });
        }
    });
    port
}

fn settings(folder: &Path, port: u16) -> DirectAgents {
    let from = folder.join("login.json");
    std::fs::write(&from, "{\"token\": \"own-l0gin\"}").unwrap();
    let settings = DirectSettings {
        hosts: vec![format!("127.0.0.1:{port}").parse().unwrap()],
        login: vec![LoginFile { from, to: ".fake/login.json".to_owned() }],
        variables: BTreeMap::from([("FAKE_TOKEN".to_owned(), Some(Secret::new("own-t0ken")))]),
    };
    DirectAgents(BTreeMap::from([(NAME.to_owned(), settings)]))
}

fn world(folder: &Path, port: u16, act: &str) -> World {
    let world = World::with_direct(OTHERS, |_| settings(folder, port));
    world.commit(&[("fake-acp.mjs", PROGRAM), ("act.mjs", &format!("{TUNNEL}{act}"))]);
    world.cast_direct("implementer", NAME);
    world
}

fn reported(world: &World, run: &Run) -> Vec<SpendReport> {
    let events = world.events(&run.id).into_iter();
    let of = |event| match event {
        Event::SpendRecorded { effect, call, model, input_tokens, output_tokens, cost, reported_by }
            if reported_by.is_some() =>
        {
            Some(SpendReport { effect, call, model, input_tokens, output_tokens, cost, reported_by })
        }
        _other => None,
    };
    events.filter_map(of).collect()
}

#[tokio::test]
async fn a_program_with_its_own_login_reaches_its_vendor_and_nothing_else_and_its_own_word_is_its_cost() {
    let folder = tempfile::tempdir().unwrap();
    let port = vendor().await;
    let act = format!(
        "export default async ({{ tool, note, update }}) => {{
            note({{
                login: JSON.parse(readFileSync(`${{process.env.HOME}}/.fake/login.json`)).token,
                variable: process.env.FAKE_TOKEN,
                vendor: await through('127.0.0.1:{port}', 'hello'),
                other: await through('evil.example:443', 'hello'),
                inside: await through('169.254.169.254:443', 'hello'),
                neighbour: await through('127.0.0.1:{other}', 'hello'),
                plain: await plainly({port}),
                model: await (await fetch(`${{proxy.href}}v1/messages`, {{
                    method: 'POST', headers: {{ 'content-type': 'application/json' }},
                    body: JSON.stringify({{ model: 'scripted/story', max_tokens: 5, messages: [] }}) }})).status,
                key: Object.keys(process.env).filter((name) => /API_KEY|BASE_URL/.test(name)),
            }});
            update({{ sessionUpdate: 'usage_update', usage: {{ inputTokens: 900, outputTokens: 90 }}, cost: {{ amount: 0.0015 }} }});
            writeFileSync('made.txt', 'direct');
            await tool('complete_pulse', {{ summary: 'made' }});
        }};",
        other = port.wrapping_add(1).max(1024),
    );
    let world = world(folder.path(), port, &act);
    let mut watching = world.hands.activity();
    let run = world.work("autonomous", "test -f made.txt", |_, hold| panic!("{}", hold.summary)).await;
    completed(&run);

    let noted = left(&world, &run.id, "implementer-1", "noted.jsonl").remove(0);
    let text = |name: &str| noted[name].as_str().unwrap_or_default().to_owned();
    assert_eq!((text("login").as_str(), text("variable").as_str()), ("own-l0gin", "own-t0ken"));
    assert!(text("vendor").contains("the vendor heard hello"), "{noted}");
    for name in ["other", "inside", "neighbour"] {
        assert!(text(name).starts_with("HTTP/1.1 403"), "{name}: {noted}");
    }
    assert!(text("other").contains("is not among the hosts"), "{noted}");
    assert_eq!(text("plain"), "ECONNREFUSED", "{noted}");
    assert_eq!(noted["model"], 403, "{noted}");
    assert_eq!(noted["key"], serde_json::json!([]), "{noted}");

    let spent = reported(&world, &run);
    assert_eq!(spent.len(), 1, "{spent:?}");
    assert_eq!((spent[0].input_tokens, spent[0].output_tokens, spent[0].cost), (900, 90, Some(Micros(1_500))));
    assert_eq!(spent[0].reported_by.as_deref(), Some(NAME));
    assert_eq!((run.spend.reported_calls, run.spend.reported), (1, Micros(1_500)));

    let mut said = Vec::new();
    while let Ok(activity) = watching.try_recv() {
        match activity.event {
            AgentEvent::Noted { text } => said.push(text),
            AgentEvent::Trouble { message } => said.push(message),
            _other => {}
        }
    }
    let heard = |words: &str| said.iter().any(|text| text.contains(words));
    assert!(heard("works with its own login, which is inside its sandbox"), "{said:?}");
    assert!(heard(&format!("connected to 127.0.0.1:{port}")), "{said:?}");
    assert!(heard("not connected to evil.example:443"), "{said:?}");
    assert!(!world.session_path(&run.id, "implementer-1").join(".fake/login.json").exists(), "it was taken back");
}

#[tokio::test]
async fn what_is_reported_stops_a_program_at_the_limit_while_it_works() {
    let folder = tempfile::tempdir().unwrap();
    let port = vendor().await;
    let act = "export default async ({ update }) => {
        update({ sessionUpdate: 'usage_update', usage: { inputTokens: 10, outputTokens: 1 }, cost: { amount: 0.1 } });
        update({ sessionUpdate: 'usage_update', usage: { inputTokens: 99, outputTokens: 9 }, cost: { amount: 7 } });
        setInterval(() => {}, 1000);
        await new Promise(() => {});
    };";
    let world = world(folder.path(), port, act);
    *world.budget.lock().unwrap() = Some(Micros(5_000_000));
    let id = world.start("autonomous", "true", "Make the files", None).await;
    world.until_held(&id, HoldKind::Budget).await;
    let run = world.engine.load(&id).await.unwrap().unwrap();
    let summary = run.hold().unwrap().summary.clone();
    assert!(summary.contains("has reported"), "{summary}");
    let spent: Vec<_> = reported(&world, &run).into_iter().map(|spend| spend.cost.unwrap().0).collect();
    assert_eq!(spent, [100_000, 6_900_000]);
    assert_eq!(domain::check_log(&run.id, &world.log(&run.id)), []);
}

#[tokio::test]
async fn a_login_is_not_given_to_who_reads_text_of_strangers() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path(), 1, "export default async () => {};");
    world.bring(vec![testkit::samples::brought()]);
    let id = world.start("autonomous", "true", "Make the files", None).await;
    world.until_held(&id, HoldKind::Stuck).await;
    let run = world.engine.load(&id).await.unwrap().unwrap();
    let summary = &run.hold().unwrap().summary;
    assert!(summary.contains("its own login") && summary.contains("text of strangers"), "{summary}");
    assert!(summary.contains("--trust-source"), "{summary}");
}

#[tokio::test]
async fn a_login_that_is_gone_is_named_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path(), 1, "export default async () => {};");
    std::fs::remove_file(folder.path().join("login.json")).unwrap();
    let id = world.start("autonomous", "true", "Make the files", None).await;
    let mut positions = world.engine.positions();
    let run = loop {
        positions.mark_unchanged();
        let run = world.engine.load(&id).await.unwrap().unwrap();
        if run.is_ended() || run.hold().is_some() {
            break run;
        }
        positions.changed().await.unwrap();
    };
    let told = run.hold().map(|hold| hold.summary.clone()).or(run.failure.clone()).unwrap_or_default();
    assert!(told.contains("login.json") && told.contains("cannot be read"), "{told}");
}

/// Ends TLS and asks the scripted model behind it; keeps the authorization it was shown.
const TLS_VENDOR: &str = "
import { appendFileSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:https';
const [folder] = process.argv.slice(2);
const tls = { key: readFileSync(`${folder}/key.pem`), cert: readFileSync(`${folder}/ca.pem`) };
createServer(tls, (from, to) => {
    appendFileSync(`${folder}/seen.txt`, `${from.url} ${from.headers.authorization}\\n`);
    const headers = { ...from.headers, host: 'broker' };
    const asked = request({ socketPath: `${folder}/model.sock`, path: `/anthropic${from.url}`, method: from.method, headers });
    asked.on('response', (answer) => { to.writeHead(answer.statusCode, answer.headers); answer.pipe(to); });
    asked.on('error', () => to.destroy());
    from.pipe(asked);
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });
";

/// A vendor with a certificate of its own; its process ends with what is given back.
async fn tls_vendor(folder: &Path) -> (tokio::process::Child, u16) {
    let words = "req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out ca.pem -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1";
    let made = std::process::Command::new("openssl").current_dir(folder).args(words.split(' ')).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    std::fs::write(folder.join("vendor.mjs"), TLS_VENDOR).unwrap();
    let mut vendor = tokio::process::Command::new("node")
        .args([folder.join("vendor.mjs").as_os_str(), folder.as_os_str()])
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(vendor.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
    (vendor, line.trim().parse().unwrap())
}

/// A scripted model in place of the vendor's, on a socket of its own.
fn scripted_model(folder: &Path) {
    let upstream = broker::Upstream {
        provider: "scripted".to_owned(),
        kind: broker::UpstreamKind::Scripted,
        base_url: String::new(),
        key: Secret::default(),
        script: Some(broker::Script::parse(OTHERS, "story").unwrap()),
        prices: Vec::new(),
        models: Vec::new(),
        hosted: broker::HostedFeatures::default(),
        limits: broker::Limits::default(),
    };
    let grant = broker::Grant {
        run: "vendor".to_owned(),
        attempt: "vendor".to_owned(),
        role: "implementer".to_owned(),
        visit: 1,
        upstreams: vec![upstream],
        limit: None,
        ask_after: None,
        purses: Vec::new(),
        purses_folder: None,
        retry: broker::RetryPolicy::default(),
        max_calls: None,
        search: None,
        embeddings: None,
        mcp: Vec::new(),
        direct: None,
        limits_folder: None,
    };
    let log = std::fs::File::options().append(true).create(true).open(folder.join("calls.jsonl")).unwrap();
    let gateway = broker::Gateway::new(grant, log, std::sync::Arc::new(|| {})).unwrap();
    let listener = tokio::net::UnixListener::bind(folder.join("model.sock")).unwrap();
    tokio::spawn(std::sync::Arc::new(gateway).serve(listener, std::future::pending()));
}

#[tokio::test]
#[ignore = "needs Claude Code on the PATH, and openssl"]
async fn claude_code_works_with_its_own_login_at_a_vendor_behind_the_proxy() {
    let folder = tempfile::tempdir().unwrap();
    scripted_model(folder.path());
    let (_vendor, port) = tls_vendor(folder.path()).await;
    let login = folder.path().join(".credentials.json");
    let oauth = serde_json::json!({"claudeAiOauth": {
        "accessToken": "own-l0gin", "refreshToken": "never-used", "expiresAt": 4_102_444_800_000_u64,
        "scopes": ["user:inference", "user:profile"], "subscriptionType": "pro",
    }});
    std::fs::write(&login, oauth.to_string()).unwrap();
    let file = |from: std::path::PathBuf, name: &str| LoginFile { from, to: format!("claude/{name}") };
    let settings = |session: &Path| DirectSettings {
        hosts: vec![format!("127.0.0.1:{port}").parse().unwrap()],
        login: vec![file(login.clone(), ".credentials.json"), file(folder.path().join("ca.pem"), "ca.pem")],
        variables: BTreeMap::from([
            ("ANTHROPIC_BASE_URL".to_owned(), Some(Secret::new(format!("https://127.0.0.1:{port}")))),
            ("NODE_EXTRA_CA_CERTS".to_owned(), Some(Secret::new(session.join("claude/ca.pem").display().to_string()))),
        ]),
    };
    let world = World::with_direct(OTHERS, |home| {
        let session = home.join(format!("runs/{}/sessions/implementer-1", testkit::samples::run_id(1)));
        DirectAgents(BTreeMap::from([("claude".to_owned(), settings(&session))]))
    });
    world.cast_direct("implementer", "claude");
    let run = world.work("autonomous", "test -f made.txt", |_, hold| panic!("{}", hold.summary)).await;
    completed(&run);
    let seen = std::fs::read_to_string(folder.path().join("seen.txt")).unwrap();
    assert!(seen.lines().any(|line| line.starts_with("/v1/messages") && line.ends_with("Bearer own-l0gin")), "{seen}");
    let spent = reported(&world, &run);
    assert_eq!(spent.len(), 1, "{spent:?}");
    assert!(spent[0].cost.unwrap_or_default().0 > 0 && spent[0].model.starts_with("anthropic/claude"), "{spent:?}");
    assert_eq!(spent[0].reported_by.as_deref(), Some("claude"));
}
