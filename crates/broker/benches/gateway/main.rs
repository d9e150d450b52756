//! `make bench-broker`: what the gateway adds to a call, beside a direct connection to the same fake upstream and
//! beside the LiteLLM proxy, all in one run. Upstream, gateway and proxy are processes of their own.
#![expect(clippy::print_stdout, reason = "the program's output is its report")]

mod load;
mod proxy;
mod report;
mod serve;
mod upstream;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use load::{Address, Kind, Sample, Target};
use report::{Cell, Report};

type Fault = Box<dyn std::error::Error + Send + Sync>;
type Result<T> = std::result::Result<T, Fault>;

const CONNECTIONS: [usize; 2] = [1, 32];
/// Each cell is measured so often, in turns with the others, so that a slow moment of the machine hits all.
const ROUNDS: u32 = 3;

fn main() -> Result<()> {
    // Cargo adds flags of its own.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => tokio::runtime::Runtime::new()?.block_on(measure()),
        ["upstream"] => upstream::main(),
        ["gateway", upstream, folder] => serve::main(upstream, Path::new(folder)),
        other => Err(format!("what is `{}`?", other.join(" ")).into()),
    }
}

async fn measure() -> Result<()> {
    let seconds = std::env::var("BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2.0);
    let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let mut upstream = Part::start(own(&["upstream"])?).await?;
    let port = upstream.said.clone();
    let base = format!("http://127.0.0.1:{port}");
    let gateway = Part::start(own(&["gateway", &base, &folder.path().display().to_string()])?).await?;
    let proxy = match proxy::start(&base, folder.path()).await {
        Ok(proxy) => Some(proxy),
        Err(why) => {
            println!("without LiteLLM: {why}");
            None
        }
    };
    let direct = Target { name: "direct", address: Address::Tcp(format!("127.0.0.1:{port}")), model: "m" };
    let ours = Target { name: "broker", address: Address::Unix(folder.path().join(serve::SOCKET)), model: "fake/m" };
    let theirs = proxy.as_ref().map(|proxy| Target {
        name: "litellm",
        address: Address::Tcp(proxy.address.clone()),
        model: "m",
    });
    let targets: Vec<&Target> = [&direct, &ours].into_iter().chain(&theirs).collect();
    let slice = Duration::from_secs_f64(seconds / f64::from(ROUNDS));
    let mut report = Report::default();
    for target in &targets {
        for kind in Kind::ALL {
            load::run(target, kind, 4, Duration::from_millis(300)).await?;
        }
    }
    for connections in CONNECTIONS {
        for kind in Kind::ALL {
            let mut samples: Vec<Sample> = targets.iter().map(|_| Sample::default()).collect();
            for _ in 0..ROUNDS {
                for (target, sample) in targets.iter().zip(&mut samples) {
                    sample.add(load::run(target, kind, connections, slice).await?);
                }
            }
            for (target, sample) in targets.iter().zip(samples) {
                report.cells.push(Cell { target: target.name, kind, connections, figures: sample.figures() });
            }
        }
    }
    report.broker_mb = resident_mb(gateway.pid())?;
    report.proxy_mb = proxy.as_ref().map(|proxy| resident_mb(proxy.part.pid())).transpose()?;
    report.fsync_ms = serve::fsync_millis(folder.path())?;
    report.calls = serve::recorded(folder.path())?;
    report.proxy_version = proxy.as_ref().map(|proxy| proxy.version.clone());
    println!("{report}");
    upstream.child.kill().await?;
    Ok(())
}

/// This program in another part.
fn own(words: &[&str]) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped());
    Ok(command)
}

/// A process that has said that it is ready. It ends with this value.
struct Part {
    child: Child,
    /// The first line it printed.
    said: String,
}

impl Part {
    async fn start(mut command: Command) -> Result<Self> {
        let mut child = command.kill_on_drop(true).spawn()?;
        let out = child.stdout.take().ok_or("the part has an output")?;
        let mut lines = BufReader::new(out).lines();
        let said = lines.next_line().await?.ok_or("the part ended before it was ready")?;
        Ok(Self { child, said })
    }

    fn pid(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }
}

/// Resident memory of a process and its children.
fn resident_mb(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("Linux tells the resident size")?;
    let own: f64 = line.split_whitespace().nth(1).ok_or("the size is a number")?.parse()?;
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let theirs = children.split_whitespace().filter_map(|child| resident_mb(child.parse().ok()?).ok());
    Ok(own / 1024.0 + theirs.sum::<f64>())
}
