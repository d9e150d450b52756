//! Calls over kept connections, one after the other on each, with a client so plain that it costs next to nothing.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinSet;

use super::Result;
use super::report::Figures;

/// Sent with every call; the proxy starts only with a key of such a length.
pub(super) const KEY: &str = "sk-5d1f0b7c94e2a86330cf4be1972d58a6c07e3f19b84d62a55e9013cf7ab2684d";

/// Who is asked.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) name: &'static str,
    pub(super) address: Address,
    /// The model of the Chat door; the Messages door's has another provider.
    pub(super) model: &'static str,
}

#[derive(Clone)]
pub(super) enum Address {
    Tcp(String),
    Unix(PathBuf),
}

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    MessagesPlain,
    MessagesStream,
    ChatPlain,
    ChatStream,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::MessagesPlain, Self::MessagesStream, Self::ChatPlain, Self::ChatStream];

    pub(super) fn streams(self) -> bool {
        matches!(self, Self::MessagesStream | Self::ChatStream)
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::MessagesPlain => "messages",
            Self::MessagesStream => "messages, stream",
            Self::ChatPlain => "chat",
            Self::ChatStream => "chat, stream",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::MessagesPlain | Self::MessagesStream => "/v1/messages",
            Self::ChatPlain | Self::ChatStream => "/v1/chat/completions",
        }
    }

    /// A request with a system prompt and a few turns, 4 KB in all.
    fn request(self, target: &Target) -> Vec<u8> {
        let model = match (self, target.model) {
            (Self::MessagesPlain | Self::MessagesStream, "fake/m") => "fake-anthropic/m",
            (Self::MessagesPlain | Self::MessagesStream, _) => "claude-m",
            (Self::ChatPlain | Self::ChatStream, model) => model,
        };
        let turns: Vec<_> = (0..8)
            .map(|turn| {
                let role = if turn % 2 == 0 { "user" } else { "assistant" };
                json!({"role": role, "content": "a line of code and what is to be done with it. ".repeat(10)})
            })
            .chain([json!({"role": "user", "content": "go on"})])
            .collect();
        let mut body = json!({"model": model, "max_tokens": 1000, "messages": turns});
        if self.streams() {
            body["stream"] = json!(true);
        }
        if self == Self::ChatStream {
            body["stream_options"] = json!({"include_usage": true});
        }
        let body = body.to_string();
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nauthorization: Bearer {KEY}\r\n\
             x-api-key: {KEY}\r\nanthropic-version: 2023-06-01\r\ncontent-length: {}\r\n\r\n",
            self.path(),
            body.len()
        );
        [head.into_bytes(), body.into_bytes()].concat()
    }
}

/// Times of calls.
#[derive(Default)]
pub(super) struct Sample {
    first_byte: Vec<f64>,
    whole: Vec<f64>,
    elapsed: Duration,
}

impl Sample {
    pub(super) fn add(&mut self, other: Self) {
        self.first_byte.extend(other.first_byte);
        self.whole.extend(other.whole);
        self.elapsed += other.elapsed;
    }

    pub(super) fn figures(mut self) -> Figures {
        let calls = self.whole.len();
        Figures {
            p50: at(&mut self.whole, 50),
            p99: at(&mut self.whole, 99),
            first_byte_p50: at(&mut self.first_byte, 50),
            first_byte_p99: at(&mut self.first_byte, 99),
            #[expect(clippy::cast_precision_loss, reason = "a count of calls is small")]
            per_second: calls as f64 / self.elapsed.as_secs_f64(),
        }
    }
}

fn at(millis: &mut [f64], share: usize) -> f64 {
    millis.sort_by(f64::total_cmp);
    millis.get((millis.len() * share / 100).min(millis.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

/// Calls for so long on so many connections.
pub(super) async fn run(target: &Target, kind: Kind, connections: usize, time: Duration) -> Result<Sample> {
    let request = kind.request(target);
    let mut tasks = JoinSet::new();
    let begun = Instant::now();
    for _ in 0..connections {
        let (address, request) = (target.address.clone(), request.clone());
        tasks.spawn(async move {
            match address {
                Address::Tcp(address) => {
                    let stream = TcpStream::connect(address).await?;
                    stream.set_nodelay(true)?;
                    calls(stream, &request, begun + time).await
                }
                Address::Unix(path) => calls(UnixStream::connect(path).await?, &request, begun + time).await,
            }
        });
    }
    let mut sample = Sample::default();
    while let Some(done) = tasks.join_next().await {
        sample.add(done?.map_err(|error| format!("{} ({}): {error}", target.name, kind.word()))?);
    }
    sample.elapsed = begun.elapsed();
    Ok(sample)
}

async fn calls(stream: impl AsyncRead + AsyncWrite + Unpin, request: &[u8], until: Instant) -> Result<Sample> {
    let mut stream = BufReader::with_capacity(16 * 1024, stream);
    let mut sample = Sample::default();
    loop {
        let begun = Instant::now();
        if begun >= until {
            return Ok(sample);
        }
        stream.write_all(request).await?;
        let first_byte = answer(&mut stream).await?;
        sample.first_byte.push((first_byte - begun).as_secs_f64() * 1000.0);
        sample.whole.push(begun.elapsed().as_secs_f64() * 1000.0);
    }
}

/// Reads one answer to its end; when the first byte of its body was there.
async fn answer(stream: &mut BufReader<impl AsyncRead + AsyncWrite + Unpin>) -> Result<Instant> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    let fine = line.contains(" 200 ");
    let (status, mut length, mut chunked) = (line.clone(), 0_usize, false);
    loop {
        line.clear();
        stream.read_line(&mut line).await?;
        let lower = line.trim_end().to_ascii_lowercase();
        if lower.is_empty() {
            break;
        }
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
        chunked |= lower.starts_with("transfer-encoding:") && lower.contains("chunked");
    }
    stream.fill_buf().await?;
    let first_byte = Instant::now();
    let mut body = vec![0; length];
    if chunked {
        body = chunks(stream).await?;
    } else {
        stream.read_exact(&mut body).await?;
    }
    if !fine {
        let text: String = String::from_utf8_lossy(&body).chars().take(300).collect();
        return Err(format!("answered {}: {text}", status.trim()).into());
    }
    Ok(first_byte)
}

async fn chunks(stream: &mut BufReader<impl AsyncRead + AsyncWrite + Unpin>) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    let mut line = String::new();
    loop {
        line.clear();
        stream.read_line(&mut line).await?;
        let size = usize::from_str_radix(line.trim(), 16)?;
        let from = body.len();
        body.resize(from + size + 2, 0);
        stream.read_exact(&mut body[from..]).await?;
        body.truncate(from + size);
        if size == 0 {
            return Ok(body);
        }
    }
}
