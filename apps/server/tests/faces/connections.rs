//! Connections that take their time: they are closed, make room for others, and hold up nobody.

use std::time::Duration;

use crate::common::{Bench, TOKEN};
use crate::live::{Socket, next, watch};
use server::ConnectionLimits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

fn limits() -> ConnectionLimits {
    // Nothing below waits for these: each test makes its own short.
    let long = Duration::from_secs(600);
    ConnectionLimits { total: 16, per_client: 12, first_request: long, body: long, idle: long }
}

async fn half_open(bench: &Bench) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", bench.port)).await.unwrap();
    stream.write_all(b"GET /api/runs HTTP/1.1\r\nHost: 127").await.unwrap();
    stream
}

/// All that comes until the server closes the connection.
async fn rest(mut stream: TcpStream) -> String {
    let mut said = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut said)).await;
    // A reset is as good an end as any.
    let _end = read.expect("the connection is closed");
    String::from_utf8_lossy(&said).into_owned()
}

/// A run is started and answered for, and whoever watches is told of it.
async fn still_told(bench: &Bench, socket: &mut Socket) {
    let run = bench.run_until("add a page", "awaiting_approval").await;
    while next(socket).await.expect("the socket stays open")["run"]["id"] != run["id"] {}
}

#[tokio::test(flavor = "multi_thread")]
async fn half_open_requests_make_room_and_hold_up_nobody() {
    let bench = Bench::with_connections(limits()).await;
    let mut socket = watch(&bench, "").await;
    let mut crowd = Vec::new();
    for _ in 0..64 {
        crowd.push(half_open(&bench).await);
    }
    let oldest = crowd.remove(0);
    assert_eq!(rest(oldest).await, "", "the oldest made room");
    still_told(&bench, &mut socket).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_never_comes_is_not_waited_for_and_a_socket_stays_open() {
    let limits = ConnectionLimits { first_request: Duration::from_millis(200), ..limits() };
    let bench = Bench::with_connections(limits).await;
    let mut socket = watch(&bench, "").await;
    let mut asked = TcpStream::connect(("127.0.0.1", bench.port)).await.unwrap();
    let ask = format!("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", bench.port);
    asked.write_all(ask.as_bytes()).await.unwrap();
    assert!(asked.read(&mut [0; 1024]).await.unwrap() > 0);
    assert_eq!(rest(half_open(&bench).await).await, "");
    // What was opened before that one, and asked for something, is open still.
    asked.write_all(ask.as_bytes()).await.unwrap();
    assert!(asked.read(&mut [0; 1024]).await.unwrap() > 0, "an answer comes");
    still_told(&bench, &mut socket).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_never_comes_is_refused_and_records_nothing() {
    let bench = Bench::with_connections(ConnectionLimits { body: Duration::from_millis(200), ..limits() }).await;
    let mut stream = TcpStream::connect(("127.0.0.1", bench.port)).await.unwrap();
    let head = format!(
        "POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n\
         Content-Length: 100\r\nConnection: close\r\n\r\n{{",
        bench.port
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let said = rest(stream).await;
    assert!(said.starts_with("HTTP/1.1 400") && said.contains("too_slow"), "{said}");
    assert_eq!(bench.events_in_all().await, 0);
}
