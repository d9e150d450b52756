//! The gateway as a shim runs it: one thread, a unix socket, a grant with prices and a limit, a log on disk in which
//! each call is written before it is made and synced when it is settled.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use broker::calls::{self, CallRecord};
use broker::{Gateway, Grant, Limits, Micros, Price, RetryPolicy, Secret, Upstream, UpstreamKind};
use tokio::net::UnixListener;
use tokio::sync::watch;

use super::Result;

pub(super) const SOCKET: &str = "gateway.sock";
const LOG: &str = "calls.jsonl";

pub(super) fn main(upstream: &str, folder: &Path) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let log = OpenOptions::new().append(true).create_new(true).open(folder.join(LOG))?;
        let (progress, _watched) = watch::channel(0_u64);
        let notify = Arc::new(move || progress.send_modify(|calls| *calls += 1));
        let gateway = Arc::new(Gateway::new(grant(upstream), log, notify)?);
        let listener = UnixListener::bind(folder.join(SOCKET))?;
        println!("ready");
        gateway.serve(listener, std::future::pending()).await;
        Ok(())
    })
}

fn grant(url: &str) -> Grant {
    let upstream = |provider: &str, kind| Upstream {
        provider: provider.to_owned(),
        kind,
        base_url: url.to_owned(),
        key: Secret::new("sk-bench"),
        script: None,
        prices: vec![Price {
            model: "m".to_owned(),
            input: 3_000_000,
            output: 15_000_000,
            cache_read: 300_000,
            cache_write: 3_750_000,
            long: None,
        }],
        models: vec!["m".to_owned()],
        hosted: broker::HostedFeatures::default(),
        limits: Limits::default(),
    };
    Grant {
        run: "bench".to_owned(),
        attempt: "bench".to_owned(),
        role: "implementer".to_owned(),
        visit: 1,
        upstreams: vec![upstream("fake", UpstreamKind::OpenAi), upstream("fake-anthropic", UpstreamKind::Anthropic)],
        limit: Some(Micros(u64::MAX / 2)),
        retry: RetryPolicy::default(),
        max_calls: None,
        search: None,
        embeddings: None,
        mcp: Vec::new(),
        direct: None,
        limits_folder: None,
        ask_after: None,
        purses: Vec::new(),
        purses_folder: None,
    }
}

/// What one sync of a small append costs on this disk.
pub(super) fn fsync_millis(folder: &Path) -> Result<f64> {
    const TIMES: u32 = 100;
    let mut file = OpenOptions::new().append(true).create_new(true).open(folder.join("raw"))?;
    let begun = Instant::now();
    for _ in 0..TIMES {
        file.write_all(&[b'x'; 400])?;
        file.sync_data()?;
    }
    Ok(begun.elapsed().as_secs_f64() * 1000.0 / f64::from(TIMES))
}

/// Calls that the log has from beginning to end.
pub(super) fn recorded(folder: &Path) -> Result<usize> {
    let records = calls::read(&folder.join(LOG))?;
    Ok(records.iter().filter(|record| matches!(record, CallRecord::Settled(settled) if settled.usage_known)).count())
}
