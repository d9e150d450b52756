//! The way out of a program with its own login, as the program meets it: raw requests on the gateway's socket.

use std::collections::BTreeMap;

use broker::calls::{CallRecord, Connection, Pricing, Standing, Used, Verdict};
use broker::purses::{Mark, Purse};
use broker::{DirectGrant, Grant, Micros, Price};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixStream};

use crate::kit::{Door, grant};

fn direct(hosts: &[&str]) -> Grant {
    let price = Price { model: "m-*".into(), input: 1_000_000, output: 2_000_000, cache_read: 100_000, ..price() };
    let direct = DirectGrant {
        program: "claude".into(),
        hosts: hosts.iter().map(|host| host.parse().unwrap()).collect(),
        model: None,
        provider: "anthropic".into(),
        prices: vec![price],
        variables: BTreeMap::new(),
    };
    Grant { direct: Some(direct), ..grant(Vec::new()) }
}

fn price() -> Price {
    Price { model: String::new(), input: 0, output: 0, cache_read: 0, cache_write: 0, long: None }
}

/// Sends a head and gives the whole head of the answer, with the stream for what follows.
async fn ask(door: &Door, head: &[u8]) -> (String, UnixStream) {
    let mut stream = UnixStream::connect(&door.socket).await.unwrap();
    stream.write_all(head).await.unwrap();
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") && stream.read(&mut byte).await.unwrap() == 1 {
        answer.push(byte[0]);
    }
    (String::from_utf8(answer).unwrap(), stream)
}

async fn status(door: &Door, head: &[u8]) -> u16 {
    let (answer, _) = ask(door, head).await;
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{answer}"))
}

fn connections(door: &Door) -> Vec<Connection> {
    let of = |record| if let CallRecord::Connection(connection) = record { Some(connection) } else { None };
    door.records().into_iter().filter_map(of).collect()
}

fn used(door: &Door) -> Vec<Used> {
    let of = |record| if let CallRecord::Used(used) = record { Some(used) } else { None };
    door.records().into_iter().filter_map(of).collect()
}

#[tokio::test]
async fn a_tunnel_to_a_listed_host_carries_bytes_both_ways_and_is_written_down() {
    let vendor = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = vendor.local_addr().unwrap().port();
    let mut door = Door::open(direct(&[&format!("127.0.0.1:{port}")]));
    let head = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    let (answer, mut program) = ask(&door, head.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let (mut served, _) = vendor.accept().await.unwrap();
    program.write_all(b"ping").await.unwrap();
    let mut four = [0; 4];
    served.read_exact(&mut four).await.unwrap();
    served.write_all(b"pong!").await.unwrap();
    drop(served);
    let mut rest = Vec::new();
    program.read_to_end(&mut rest).await.unwrap();
    assert_eq!((&four[..], rest.as_slice()), (&b"ping"[..], &b"pong!"[..]));
    drop(program);
    door.wait_for_lines(2).await;
    let records = door.records();
    let CallRecord::Connection(made) = &records[0] else { panic!("{records:?}") };
    assert_eq!((made.to.as_str(), &made.verdict), (format!("127.0.0.1:{port}").as_str(), &Verdict::Allowed));
    let CallRecord::Disconnection(gone) = &records[1] else { panic!("{records:?}") };
    assert_eq!((gone.sent, gone.received), (4, 5));
}

#[tokio::test]
async fn what_is_not_listed_is_refused_with_words_and_written_down() {
    let door = Door::open(direct(&["api.vendor.example"]));
    let mut stream = UnixStream::connect(&door.socket).await.unwrap();
    let head = b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\nConnection: close\r\n\r\n";
    stream.write_all(head).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    assert!(answer.contains("not among the hosts that `claude` may reach (api.vendor.example)"), "{answer}");
    assert!(answer.contains("[agents.direct.claude]"), "{answer}");
    let [refused] = connections(&door).try_into().unwrap();
    assert_eq!(refused.to, "evil.example:443");
    assert!(matches!(refused.verdict, Verdict::Refused { .. }), "{refused:?}");
}

#[tokio::test]
async fn odd_spellings_of_a_host_get_nowhere() {
    let door = Door::open(direct(&["api.vendor.example", "*.cdn.example"]));
    for asked in [
        "api.vendor.example:80",
        "API.VENDOR.EXAMPLE:443",
        "api.vendor.example.:443",
        "user@api.vendor.example:443",
        "api.vendor.example:443@evil.example:443",
        "api.vendor.example.evil.example:443",
        "cdn.example:443",
        "127.0.0.1:443",
        "2130706433:443",
        "0x7f000001:443",
        "[::1]:443",
        "[::ffff:127.0.0.1]:443",
        "169.254.169.254:443",
        "localhost:443",
        "api.vendor.example\0:443",
        "a.cdn.example%00.evil.example:443",
        "api.vendor.example",
    ] {
        let head = [b"CONNECT ", asked.as_bytes(), b" HTTP/1.1\r\nHost: x\r\n\r\n"].concat();
        let status = status(&door, &head).await;
        assert!(matches!(status, 400 | 403), "{asked:?}: {status}");
    }
    let all = connections(&door);
    assert!(all.iter().all(|made| matches!(made.verdict, Verdict::Refused { .. })), "{all:?}");
    let long = format!("CONNECT a.cdn.example:443 HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(9_000));
    assert_eq!(status(&door, long.as_bytes()).await, 431);
}

#[tokio::test]
async fn a_request_without_a_tunnel_is_refused_and_an_agent_with_a_broker_has_no_tunnels() {
    let door = Door::open(direct(&["api.vendor.example"]));
    let plain = b"GET http://api.vendor.example/v1/models HTTP/1.1\r\nHost: api.vendor.example\r\n\r\n";
    assert_eq!(status(&door, plain).await, 403);
    assert_eq!(connections(&door).len(), 1);
    let ours = Door::open(grant(Vec::new()));
    let head = b"CONNECT api.vendor.example:443 HTTP/1.1\r\nHost: api.vendor.example:443\r\n\r\n";
    assert_eq!(status(&ours, head).await, 403);
    assert_eq!(
        ours.json("/reported", &json!({"process": 1, "inputTokens": 1, "outputTokens": 1, "last": true})).await.0,
        404
    );
}

fn report(process: u32, input: u64, output: u64, micros: Option<u64>, last: bool) -> Value {
    json!({"process": process, "model": "m-1", "inputTokens": input, "outputTokens": output, "microUsd": micros, "last": last})
}

#[tokio::test]
async fn what_a_program_reports_is_written_down_once_with_who_priced_it() {
    let door = Door::open(direct(&["api.vendor.example"]));
    // It counts from the beginning of its process each time, and names its price at the end.
    for said in [report(1, 100, 10, None, false), report(1, 300, 20, None, false), report(1, 300, 20, Some(77), true)] {
        assert_eq!(door.json("/reported", &said).await.0, 200);
    }
    // One that names its price as it goes, and one that never does.
    for said in [report(2, 10, 1, Some(5), true), report(2, 30, 2, Some(9), true), report(3, 1_000, 500, None, true)] {
        assert_eq!(door.json("/reported", &said).await.0, 200);
    }
    let mut unknown = report(4, 5, 5, None, true);
    unknown["model"] = json!("other/thing");
    door.json("/reported", &unknown).await;
    let settled: Vec<_> = used(&door).into_iter().filter(|used| used.standing == Standing::Settled).collect();
    let told: Vec<_> =
        settled.iter().map(|u| (u.input_tokens, u.output_tokens, u.micro_usd.map(|m| m.0), u.pricing)).collect();
    assert_eq!(
        told,
        [
            (300, 20, Some(77), Pricing::Program),
            (10, 1, Some(5), Pricing::Program),
            (20, 1, Some(4), Pricing::Program),
            (1_000, 500, Some(2_000), Pricing::Table),
            (5, 5, None, Pricing::Unknown),
        ]
    );
    assert!(settled.iter().all(|used| used.by == "claude"));
    assert_eq!((settled[0].model.as_str(), settled[4].model.as_str()), ("anthropic/m-1", "other/thing"));
    assert_eq!(used(&door)[0].standing, Standing::Growing);
}

#[tokio::test]
async fn a_limit_is_reached_while_the_program_works_and_its_tunnels_are_cut() {
    let vendor = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = vendor.local_addr().unwrap().port();
    let granted = Grant { limit: Some(Micros(1_000)), ..direct(&[&format!("127.0.0.1:{port}")]) };
    let door = Door::open(granted);
    let head = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: x\r\n\r\n");
    let (_, mut program) = ask(&door, head.as_bytes()).await;
    let _vendor = vendor.accept().await.unwrap();
    assert_eq!(door.json("/reported", &report(1, 500, 0, None, false)).await.0, 200);
    let (said, answer) = door.json("/reported", &report(1, 600, 250, None, false)).await;
    assert_eq!((said, answer["error"]["code"].as_str()), (402, Some("holdpoint_budget")), "{answer}");
    assert_eq!(answer["error"]["shortage"]["purse"], "run");
    assert!(answer["error"]["message"].as_str().unwrap().contains("`claude` has reported"), "{answer}");
    assert_eq!(answer["connections"].as_array().map(Vec::len), Some(0), "told with the first report");
    let mut rest = Vec::new();
    program.read_to_end(&mut rest).await.unwrap();
    assert_eq!(status(&door, head.as_bytes()).await, 402);
    assert_eq!(door.json("/reported", &report(1, 600, 250, None, true)).await.0, 402);
    let last = used(&door).pop().unwrap();
    assert_eq!((last.micro_usd, last.standing), (Some(Micros(1_100)), Standing::Settled));
    assert_eq!(last.shortage.map(|shortage| (shortage.purse, shortage.mark)), Some((Purse::Run, Mark::Limit)));
}

#[tokio::test]
async fn a_days_limit_counts_what_is_reported_and_what_was_open_at_the_end_is_settled() {
    let folder = tempfile::tempdir().unwrap();
    let day = broker::purses::SharedPurse {
        purse: Purse::Day,
        name: String::new(),
        limit: Micros(1_000),
        ask_at: None,
        beyond: Micros(0),
    };
    let purses_folder = Some(folder.path().to_owned());
    let granted = Grant { purses: vec![day.clone()], purses_folder, ..direct(&["api.vendor.example"]) };
    let mut door = Door::open(granted.clone());
    assert_eq!(door.json("/reported", &report(1, 600, 0, None, false)).await.0, 200);
    door.wait_for_lines(1).await;
    door.close().await;
    let (spent, _) = broker::purses::spent(folder.path(), &day, jiff::Timestamp::now()).unwrap();
    assert_eq!(spent, Micros(600), "what was last heard counts");
    let second = Door::open(Grant { attempt: "attempt-2".into(), ..granted.clone() });
    let again = granted;
    let (said, answer) = second.json("/reported", &report(1, 400, 0, None, true)).await;
    assert_eq!((said, answer["error"]["shortage"]["purse"].as_str()), (402, Some("day")), "{answer}");
    let third = Door::open(Grant { attempt: "attempt-3".into(), ..again });
    let (said, _) = third.json("/reported", &report(1, 0, 0, None, false)).await;
    assert_eq!(said, 402, "one that comes when nothing is left does not begin");
}
