//! `watch_run`: waits until a run needs somebody, moves on or ends, but never longer than asked.
#![expect(deprecated, reason = "clients of the protocol of 2025 set a level and hear log messages")]

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam};
use rmcp::service::RequestContext;
use wire::{EventView, HoldView, RunView};

use super::asked::WatchRun;
use super::face::Face;
use super::held::Hold;
use super::told::{Run, Watched};
use super::tools::Told;
use crate::{
    failure::Failure,
    live::{Feed, Follower, Update},
    report::{fact, plain},
};

/// Below the minute after which most clients give up on a call.
const USUAL_SECONDS: u64 = 50;
const MOST_SECONDS: u64 = 600;
/// A server that dies this often does not get better by asking it again.
const MOST_TAKEOVERS: u32 = 5;

pub(super) async fn watch_run(face: &Face, asked: WatchRun, context: &RequestContext<RoleServer>) -> Told<Watched> {
    let seconds = asked.timeout_seconds.unwrap_or(USUAL_SECONDS);
    if !(1..=MOST_SECONDS).contains(&seconds) {
        return Err(Failure::usage(format!("{seconds} seconds are not possible"), "use 1 to 600"));
    }
    let client = face.client().await?;
    let run = client.run(&asked.run).await?;
    let mut watching =
        Watching { face, context, begun: Standing::of(&run), seen: asked.seen_holds, run, said: Vec::new() };
    let time_is_up = tokio::time::sleep(Duration::from_secs(seconds));
    let settled = tokio::select! {
        settled = watching.until_settled() => settled?,
        () = time_is_up => Settled { outcome: "time_is_up", task_hold: None },
        () = context.ct.cancelled() => {
            return Err(Failure::failed("cancelled", "the client does not want to wait any longer", "call it again"));
        }
    };
    Ok(Watched {
        outcome: settled.outcome.to_owned(),
        run: Run::of(&watching.run),
        task_hold: settled.task_hold.as_ref().map(Hold::of),
        happened: watching.said,
    })
}

struct Settled {
    outcome: &'static str,
    task_hold: Option<HoldView>,
}

/// What makes a run another one to an onlooker.
#[derive(PartialEq, Eq)]
struct Standing {
    status: String,
    stage: Option<String>,
    hold: Option<String>,
}

impl Standing {
    fn of(run: &RunView) -> Self {
        let hold = run.hold.as_ref().map(|held| held.id.clone());
        Self { status: run.status.clone(), stage: run.stage.clone(), hold }
    }
}

struct Watching<'a> {
    face: &'a Face,
    context: &'a RequestContext<RoleServer>,
    begun: Standing,
    seen: Vec<String>,
    run: RunView,
    said: Vec<String>,
}

impl Watching<'_> {
    async fn until_settled(&mut self) -> Result<Settled, Failure> {
        let mut told = self.run.version;
        let mut takeovers = 0;
        let mut feed = self.follow(told).await?;
        loop {
            if let Some(outcome) = self.settled() {
                return Ok(Settled { outcome, task_hold: None });
            }
            match feed.next().await {
                Ok(Update::Run(run)) => self.run = *run,
                Ok(Update::Event(event)) => {
                    told = told.max(event.sequence);
                    self.tell(&event).await;
                }
                Ok(Update::Child(child)) => {
                    if let Some(held) = child.hold.filter(|held| self.is_new(held)) {
                        return Ok(Settled { outcome: "waits_for_a_person", task_hold: Some(held) });
                    }
                }
                Ok(Update::Activity(..)) => {}
                Err(failure) if failure.problem.code == "server_unreachable" && takeovers < MOST_TAKEOVERS => {
                    takeovers += 1;
                    self.warn("the server is gone; another one takes over").await;
                    feed = self.follow(told).await?;
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    async fn follow(&self, told: u64) -> Result<Follower, Failure> {
        Ok(Follower::new(Feed::new(self.face.client().await?, self.run.id.clone(), told)))
    }

    fn settled(&self) -> Option<&'static str> {
        if matches!(self.run.status.as_str(), "completed" | "failed" | "cancelled") {
            return Some("ended");
        }
        if self.run.hold.as_ref().is_some_and(|held| self.is_new(held)) {
            return Some("waits_for_a_person");
        }
        (Standing::of(&self.run) != self.begun).then_some("moved_on")
    }

    fn is_new(&self, held: &HoldView) -> bool {
        !self.seen.contains(&held.id)
    }

    /// Whoever asked for progress hears of each fact; the answer has all of them.
    async fn tell(&mut self, event: &EventView) {
        let Some(line) = fact::line(event, 200) else { return };
        let line = plain(&line);
        self.said.push(line.clone());
        let Some(token) = self.context.meta.get_progress_token() else { return };
        #[expect(clippy::cast_precision_loss, reason = "no answer has so many lines")]
        let progress = ProgressNotificationParam::new(token, self.said.len() as f64).with_message(line);
        // A client that is gone needs no progress; the call ends by itself.
        let _gone = self.context.peer.notify_progress(progress).await;
    }

    async fn warn(&self, text: &str) {
        tracing::warn!(run = %self.run.id, "{text}");
        if self.face.hears_warnings() {
            let message = LoggingMessageNotificationParam::new(LoggingLevel::Warning, text.into());
            // As above.
            let _gone = self.context.peer.notify_logging_message(message).await;
        }
    }
}
