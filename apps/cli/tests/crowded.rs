//! More connections than the server may have descriptors: who asks for something is still answered.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

#[tokio::test]
async fn half_open_requests_do_not_use_up_the_servers_descriptors() {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 128; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_holdpoint"), "--json", "serve"]);
    command.env("HOLDPOINT_HOME", home.path()).env("USER", "ada").env_remove("ORCHESTRATOR_PORT");
    let mut server = Server(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let info: Value = serde_json::from_str(&line).unwrap();
    let url = info["url"].as_str().unwrap();
    let crowd: Vec<TcpStream> = (0..300)
        .map(|_| {
            let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
            stream.write_all(b"POST /api/runs HTTP/1.1\r\nHost: 127").unwrap();
            stream
        })
        .collect();
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(30)).build().unwrap();
    let token = std::fs::read_to_string(home.path().join("token")).unwrap();
    let answer = client.get(format!("{url}/api/runs")).bearer_auth(token).send().await;
    assert_eq!(answer.expect("the server answers").status().as_u16(), 200);
    drop(crowd);
}
