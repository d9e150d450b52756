//! A data directory with very many runs, made by real commands through a real engine whose effects do nothing: most have
//! ended, some wait for a person, none is at work, so that a real server can be started on it.

use std::future::{Future, ready};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use anyhow::Result;
use domain::{AgentEnd, Command, Effect, Gate, Outcome, Question, ResponseType, Start};
use engine::{EffectRunner, Engine, Job, Store};
use store::Sqlite;
use testkit::{agree, samples};

use super::steps;

const VERBS: [&str; 8] = ["Add", "Speed up", "Document", "Translate", "Test", "Repair", "Replace", "Remove"];
const THINGS: [&str; 11] = [
    "the login with OAuth",
    "the export of invoices as CSV",
    "search over notes",
    "the retry of webhooks",
    "the upload of pictures",
    "the settings page",
    "the nightly import",
    "the rate limiter",
    "the audit log",
    "dark mode",
    "the onboarding mails",
];
const PROJECTS: [&str; 5] = ["shop", "pinboard", "billing", "docs", "gateway"];

/// Agents of some requests ask; every other effect ends well at once.
struct Asking;

impl EffectRunner for Asking {
    fn run(self: Arc<Self>, job: Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        let asks = job.run.opened().request.ends_with('?') && matches!(job.effect, Effect::RunAgent(_));
        let outcome = if asks { asked() } else { agree(&job.run, job.id.number, &job.effect) };
        Box::pin(ready(outcome))
    }
}

fn asked() -> Outcome {
    let options = ["Ignore upper and lower case", "Match the case exactly"].map(str::to_owned).to_vec();
    let question = Question {
        options,
        response_type: ResponseType::SingleChoice,
        ..samples::question("Should `milk` also find `Milk`?")
    };
    let end = AgentEnd::Asked { questions: vec![question] };
    Outcome::AgentEnded { end, tier: Some("sandboxed".to_owned()), program: None, wip: None }
}

/// Makes runs, so many of which wait. Every third of those asks, the others show a plan.
pub async fn make(home: &Path, runs: u64, holds: u64) -> Result<u64> {
    std::fs::create_dir_all(home)?;
    let store: Arc<dyn Store> = Arc::new(Sqlite::open(&home.join("holdpoint.db"))?);
    let engine = steps::engine(Arc::clone(&store), Arc::new(Asking))?;
    let every = runs / holds.max(1);
    let numbers: Vec<u64> = (1..=runs).collect();
    for group in numbers.chunks(256) {
        let starts = group.iter().map(|n| {
            let start = start(*n, n.is_multiple_of(every), n.is_multiple_of(every * 3));
            engine.submit(samples::run_id(*n), Command::Start(Box::new(start)), None)
        });
        for started in futures_util::future::join_all(starts).await {
            started?;
        }
        idle(&engine).await?;
    }
    let events = store.position()?;
    engine.stop().await;
    Ok(events)
}

fn start(n: u64, waits: bool, asks: bool) -> Start {
    let at = |length: usize| usize::try_from(n).unwrap_or_default() % length;
    let mut config = samples::config();
    if waits && !asks {
        config.trust.planning = Gate::Manual;
    }
    let ending = if asks { "?" } else { "" };
    let request = format!("{} {} for customer {n}{ending}", VERBS[at(VERBS.len())], THINGS[at(THINGS.len())]);
    let project = format!("/home/ada/{}", PROJECTS[at(PROJECTS.len())]);
    Start { project, request, ..samples::start(config) }
}

async fn idle(engine: &Engine) -> Result<()> {
    let mut positions = engine.positions();
    while engine.busy() > 0 {
        positions.changed().await?;
    }
    Ok(())
}
