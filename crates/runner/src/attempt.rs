//! One process under its shim, followed to its end: activity is passed on, paid calls are counted.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use broker::Protocol;
use broker::calls::{CallRecord, Outcome as CallOutcome, Settled};
use domain::{AgentEnd, AgentTask, KnownSecret, PursuitStep, SECRET_ANSWER, SpendReport};
use drivers::{AgentEvent, Decoded, Own};
use engine::{Job, boundary};
use futures_util::StreamExt as _;

use crate::diary::Scribe;
use crate::dir_fd::{Dir, FileError};
use crate::hands::{Activity, Hands};
use crate::purses;
use crate::shim::client::{Attempt, Ended};
use crate::spend::{paid, unsettled};
use crate::steps::Steps;
use crate::strangers::Strangers;
use crate::trouble::{Prospect, Trouble};

/// Files of a spool that are read here.
const OUTPUT: &str = "output.jsonl";
const CALLS: &str = "calls.jsonl";
/// Bytes of output that are taken at once.
const MOST_AT_ONCE: u64 = 4 * 1024 * 1024;

/// Follows an attempt to its end. Every paid call is stored before this returns.
pub(crate) async fn follow(
    hands: &Hands,
    job: &Job,
    task: &AgentTask,
    spool: &Path,
    attempt: &Attempt,
) -> Result<Ended, Trouble> {
    let mut reader = Reader::new(spool);
    let mut counter = Counter::new(spool);
    let mut steps = Steps::default();
    let mut scribe = Scribe::new(hands.diary.clone(), job, task);
    let mut messages = attempt.follow();
    while messages.next().await.is_some() {
        steps.add(tell(
            hands,
            job,
            task,
            &mut scribe,
            &mut counter.strangers,
            without_answers(job, reader.lines().await),
        ));
        steps.tell(job).await;
        scribe.rest().await;
        // The agent goes on whatever we can read now: the same records are read again, at the latest when it has ended.
        if let Err(trouble) = counter.tell(job).await {
            tracing::warn!(effect = %job.id, %trouble, "the calls of an agent at work cannot be counted yet");
        }
    }
    let ended = attempt.wait().await?;
    boundary("agent.ended");
    steps.add(tell(hands, job, task, &mut scribe, &mut counter.strangers, without_answers(job, reader.lines().await)));
    steps.tell(job).await;
    scribe.keep().await;
    counter.tell(job).await?;
    if ended == Ended::Lost {
        counter.tell_unsettled(job).await?;
    }
    Ok(ended)
}

/// What an agent says is shown to people and kept: answers that are secrets are taken out of it.
fn without_answers(job: &Job, lines: Vec<String>) -> Vec<String> {
    let longest = |secret: &&String| secret.len() >= KnownSecret::SHORTEST;
    let secrets = job.run.secret_answers.iter().filter(longest);
    // As they stand between the quotes of a line.
    let quoted = secrets.map(|secret| serde_json::Value::String(secret.clone()).to_string());
    let quoted: Vec<String> = quoted.map(|text| text[1..text.len() - 1].to_owned()).collect();
    let hide = |line: String| quoted.iter().fold(line, |line, secret| line.replace(secret, SECRET_ANSWER));
    if quoted.is_empty() { lines } else { lines.into_iter().map(hide).collect() }
}

/// Passes on what an agent says; its steps towards a goal are given back, because they are facts and not only news.
fn tell(
    hands: &Hands,
    job: &Job,
    task: &AgentTask,
    scribe: &mut Scribe,
    strangers: &mut Strangers,
    lines: Vec<String>,
) -> Vec<PursuitStep> {
    let mut steps = Vec::new();
    for line in lines {
        let decoded = Own::decode(&line);
        let Decoded::Event(event) = decoded else {
            scribe.line(None);
            continue;
        };
        scribe.line(Some(&event));
        strangers.seen(&event);
        if let AgentEvent::Pursued { step } = event {
            steps.push(step);
            continue;
        }
        let (run, stage, session) = (job.id.run.clone(), task.stage.clone(), scribe.session().clone());
        // Nobody may be watching.
        let _ = hands.activity.send(Activity { run, stage, session, event });
    }
    steps
}

/// Counts what an attempt has spent and read, for one that nobody follows any more.
pub(crate) async fn settle(job: &Job, spool: &Path, number: u32) -> Result<(), Trouble> {
    let mut counter = Counter::new(spool);
    for line in Reader::new(spool).lines().await {
        if let Decoded::Event(event) = Own::decode(&line) {
            counter.strangers.seen(&event);
        }
    }
    counter.tell_as(job, number).await
}

/// New whole lines of an attempt's output.
pub(crate) struct Reader {
    spool: Arc<Path>,
    offset: u64,
    rest: Vec<u8>,
}

impl Reader {
    pub(crate) fn new(spool: &Path) -> Self {
        Self { spool: spool.into(), offset: 0, rest: Vec::new() }
    }

    /// Read on a thread of their own: no slow disk may hold up who else is served.
    pub(crate) async fn lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let (spool, offset) = (Arc::clone(&self.spool), self.offset);
            let read = tokio::task::spawn_blocking(move || output_from(&spool, offset)).await;
            // Activity is for watching only: a file that cannot be read now is read next time.
            let new = read.ok().and_then(Result::ok).unwrap_or_default();
            if new.is_empty() {
                return lines;
            }
            self.offset += new.len() as u64;
            let mut bytes = std::mem::take(&mut self.rest);
            bytes.extend(new);
            let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            self.rest = bytes.split_off(end);
            lines.extend(String::from_utf8_lossy(&bytes).lines().map(str::to_owned));
        }
    }
}

fn output_from(spool: &Path, offset: u64) -> Result<Vec<u8>, FileError> {
    let mut file = Dir::open(spool)?.open_file(OUTPUT)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(MOST_AT_ONCE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What the broker wrote down of an attempt.
pub(crate) fn records(spool: &Path) -> Result<Vec<CallRecord>, Trouble> {
    let path = spool.join(CALLS);
    if !path.exists() {
        return Ok(Vec::new());
    }
    broker::calls::read(&path).map_err(|error| Trouble { prospect: Prospect::Unclear, ..Trouble::of(&error) })
}

/// The same, on a thread of its own.
async fn read_records(spool: &Path) -> Result<Vec<CallRecord>, Trouble> {
    let spool = spool.to_owned();
    let read = tokio::task::spawn_blocking(move || records(&spool)).await;
    read.unwrap_or_else(|join| Err(Trouble::new(format!("the reading ended early: {join}"))))
}

/// Tells the engine about settled calls, each once, in the order they were settled, and about what was read.
struct Counter {
    spool: PathBuf,
    told: usize,
    strangers: Strangers,
}

impl Counter {
    fn new(spool: &Path) -> Self {
        Self { spool: spool.to_owned(), told: 0, strangers: Strangers::default() }
    }

    async fn tell(&mut self, job: &Job) -> Result<(), Trouble> {
        self.tell_as(job, job.id.number).await
    }

    async fn tell_as(&mut self, job: &Job, effect: u32) -> Result<(), Trouble> {
        let records = read_records(&self.spool).await?;
        self.strangers.recorded(&records);
        self.strangers.tell(job, effect).await;
        let settled: Vec<SpendReport> = records.iter().filter_map(paid).collect();
        let new = settled.len();
        for (index, mut spend) in settled.into_iter().enumerate().skip(self.told) {
            spend.effect = effect;
            spend.call = ordinal(index);
            job.spend.report(spend).await;
        }
        self.told = new;
        Ok(())
    }

    /// The shim died: a call that was reserved and never settled may have been paid for, so it counts. So does what a
    /// program said last of what it had used.
    async fn tell_unsettled(&mut self, job: &Job) -> Result<(), Trouble> {
        for mut spend in unsettled(&read_records(&self.spool).await?) {
            spend.effect = job.id.number;
            spend.call = ordinal(self.told);
            job.spend.report(spend).await;
            self.told += 1;
        }
        Ok(())
    }
}

fn ordinal(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

/// An agent that ended because its last model call met a spent usage window or limit did not crash.
pub(crate) async fn spent(spool: &Path) -> Result<Option<AgentEnd>, Trouble> {
    Ok(last_unpaid(read_records(spool).await?))
}

fn last_unpaid(records: Vec<CallRecord>) -> Option<AgentEnd> {
    let last = records.into_iter().rev().find(|record| match record {
        // No agent ends for want of a vector.
        CallRecord::Settled(settled) => settled.protocol != Protocol::Embeddings,
        CallRecord::Used(_) => true,
        CallRecord::Reserved(_)
        | CallRecord::Tried(_)
        | CallRecord::Read(_)
        | CallRecord::Connection(_)
        | CallRecord::Disconnection(_) => false,
    });
    last.and_then(|last| match last {
        CallRecord::Settled(settled) => unpaid(settled),
        CallRecord::Used(used) => used.shortage.map(|shortage| AgentEnd::BudgetSpent {
            reason: format!("`{}` has reported as much as it may spend", used.by),
            shortage: purses::shortage(shortage),
        }),
        CallRecord::Reserved(_)
        | CallRecord::Tried(_)
        | CallRecord::Read(_)
        | CallRecord::Connection(_)
        | CallRecord::Disconnection(_) => None,
    })
}

fn unpaid(settled: Settled) -> Option<AgentEnd> {
    match (settled.outcome, settled.shortage) {
        (CallOutcome::Quota, _) => Some(AgentEnd::QuotaSpent {
            reason: format!("the last call to `{}` was refused by its provider", settled.model),
            resets_at: settled.resets_at,
        }),
        (CallOutcome::Budget, shortage) => Some(AgentEnd::BudgetSpent {
            reason: format!("the last call to `{}` was not made", settled.model),
            shortage: shortage.map(purses::shortage).unwrap_or_default(),
        }),
        (_, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_stopped_by_a_spent_window_did_not_crash() {
        let spool = tempfile::tempdir().unwrap();
        let line = |call: u32, outcome: &str| {
            format!(
                r#"{{"state":"settled","call":{call},"model":"house/m","protocol":"messages","inputTokens":0,"outputTokens":0,"cacheReadTokens":0,"cacheWriteTokens":0,"reasoningTokens":0,"usageKnown":true,"microUsd":0,"priceKnown":true,"status":429,"outcome":"{outcome}","tries":1,"startedAt":"2026-01-01T00:00:00Z","millis":1,"resetsAt":"2026-01-01T05:00:00Z"}}"#
            ) + "\n"
        };
        let read = |text: String| {
            std::fs::write(spool.path().join(CALLS), text).unwrap();
            last_unpaid(records(spool.path()).unwrap())
        };
        assert_eq!(last_unpaid(records(spool.path()).unwrap()), None);
        assert_eq!(read(line(1, "quota") + &line(2, "ok")), None, "it got over it");
        let Some(AgentEnd::QuotaSpent { reason, resets_at }) = read(line(1, "ok") + &line(2, "quota")) else {
            panic!()
        };
        assert!(reason.contains("house/m"), "{reason}");
        assert_eq!(resets_at.unwrap().to_string(), "2026-01-01T05:00:00Z");
        let vectors = line(2, "budget").replace("messages", "embeddings");
        assert_eq!(read(line(1, "ok") + &vectors), None, "a search without vectors is no end");
        let limit = read(line(1, "budget"));
        assert!(matches!(limit, Some(AgentEnd::BudgetSpent { .. })), "{limit:?}");
    }
}
