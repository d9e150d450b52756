//! One tunnel: looked up, dialled at the address that was looked at, carried until an end hangs up or falls silent.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::extract::Request;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::host::Target;
use super::{Direct, Refused};
use crate::calls::{CallRecord, Disconnection, Verdict};
use crate::public::{self, ResolveError};

/// To look a name up and connect.
const TO_CONNECT: Duration = Duration::from_secs(20);
/// Without a byte in either direction; a model may think for minutes.
const SILENCE: Duration = Duration::from_secs(15 * 60);
const BUFFER: usize = 16 * 1024;

/// Opens a tunnel and carries it in a task of its own, or says why not.
pub(super) async fn open(direct: &Arc<Direct>, asked: &str, request: Request) -> Result<(), Refused> {
    if let Err(refused) = opened(direct, asked, request).await {
        direct.note(asked, Verdict::Refused { reason: refused.to_string() })?;
        return Err(refused);
    }
    Ok(())
}

async fn opened(direct: &Arc<Direct>, asked: &str, request: Request) -> Result<(), Refused> {
    let target = direct.decide(asked, request.headers())?;
    if *direct.shut.borrow() {
        return Err(Refused::Over);
    }
    let place = Arc::clone(&direct.places).try_acquire_owned().map_err(|_| Refused::TooMany)?;
    let upstream = dial(direct, &target).await?;
    let number = direct.note(&target.to_string(), Verdict::Allowed)?;
    let direct = Arc::clone(direct);
    tokio::spawn(async move {
        // A program that went away before it was answered left nothing to carry.
        if let Ok(program) = hyper::upgrade::on(request).await {
            carry(&direct, number, TokioIo::new(program), upstream, place).await;
        }
    });
    Ok(())
}

async fn dial(direct: &Direct, target: &Target) -> Result<TcpStream, Refused> {
    let host = target.to_string();
    let unreachable = |cause: String| Refused::Unreachable { host: host.clone(), cause };
    let connected = async {
        let addresses = match target {
            Target::Loopback(port) => vec![(std::net::Ipv4Addr::LOCALHOST, *port).into()],
            Target::Name(..) => {
                let (name, port) = target.place();
                public::resolve(name, port, direct.allowed).await.map_err(|error| match error {
                    ResolveError::Private => Refused::Private(host.clone()),
                    ResolveError::Lookup(_) => unreachable(error.to_string()),
                })?
            }
        };
        TcpStream::connect(addresses.as_slice()).await.map_err(|error| unreachable(error.to_string()))
    };
    let stream = timeout(TO_CONNECT, connected)
        .await
        .map_err(|_| unreachable(format!("nothing answered within {} seconds", TO_CONNECT.as_secs())))??;
    // Small writes of a handshake must not wait for each other; without it they are only slower.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

/// Bytes of one tunnel, both ways.
#[derive(Default)]
struct Meter {
    sent: AtomicU64,
    received: AtomicU64,
}

async fn carry(
    direct: &Direct,
    number: u32,
    program: impl AsyncRead + AsyncWrite + Unpin,
    upstream: TcpStream,
    _place: OwnedSemaphorePermit,
) {
    let (begun, meter) = (Instant::now(), Meter::default());
    let (mut from_program, mut to_program) = tokio::io::split(program);
    let (mut from_upstream, mut to_upstream) = upstream.into_split();
    let mut shut = direct.shut.subscribe();
    let both = async {
        let up = copy(&mut from_program, &mut to_upstream, &meter.sent);
        let down = copy(&mut from_upstream, &mut to_program, &meter.received);
        // One end may be done with its half long before the other.
        let _ = tokio::join!(up, down);
    };
    tokio::select! {
        () = both => {}
        () = silence(&meter) => {}
        _ = shut.wait_for(|shut| *shut) => {}
    }
    let [sent, received] = [&meter.sent, &meter.received].map(|bytes| bytes.load(Ordering::Relaxed));
    let millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    if number <= super::MOST_WRITTEN {
        // That it was made is written down; of a full disk the next one tells.
        let _ = direct.books.record(&CallRecord::Disconnection(Disconnection { number, sent, received, millis }));
    }
}

async fn copy(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    count: &AtomicU64,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..read]).await?;
        to.flush().await?;
        count.fetch_add(read as u64, Ordering::Relaxed);
    }
}

/// Ready when no byte came for a while.
async fn silence(meter: &Meter) {
    let now = || meter.sent.load(Ordering::Relaxed) + meter.received.load(Ordering::Relaxed);
    let mut before = now();
    loop {
        tokio::time::sleep(SILENCE).await;
        let after = now();
        if before == after {
            return;
        }
        before = after;
    }
}
