//! The calls of one answer: reading ones together, changing ones alone and in order, those that hand in last.
//!
//! A changing call is recorded before it runs. A command that was begun and has no result is told to the model, never
//! run again; an edit is, since it finds its plan.

use std::sync::Arc;
use std::time::{Duration, Instant};

use drivers::{AgentEvent, HandIn, Permission};
use futures_util::{Stream, StreamExt, stream};
use jiff::Timestamp;

use crate::AgentError;
use crate::loops::{self, Circle};
use crate::mcp::Remote;
use crate::outputs;
use crate::shorten;
use crate::strangers;
use crate::tools::{Desk, GoalTool, Tool, WorkTool};
use crate::turns::{By, Call, CallResult, Record};
use crate::work::{Step, Work, gave_up};

/// Calls of one answer that are run; more are a model that lost its way.
pub(crate) const MOST_CALLS: usize = 64;
/// Reading calls that run at the same time.
const READERS: usize = 8;
/// Bytes of what a person is asked.
const LONGEST_REQUEST: usize = 1_000;

/// What is done about a call.
enum Fate {
    Read(WorkTool),
    Change(WorkTool),
    /// A server is asked.
    Remote,
    /// It works on the conversation itself.
    Goal(GoalTool),
    /// It hands in: decided when the others are done.
    Block,
    /// It is not run; the model is told why.
    Refused(String),
    /// It waits for a person's yes.
    Ask(HandIn),
    /// The attempt ends.
    Stuck(String),
}

/// A call that ran.
struct Ran {
    call: Call,
    ok: bool,
    output: String,
    took: Duration,
}

impl Work<'_> {
    /// Runs the open calls.
    pub(crate) async fn settle(&mut self, pending: &[Call]) -> Result<Step, AgentError> {
        let mut reads = Vec::new();
        let mut refused = Vec::new();
        for call in pending {
            match self.fate(call) {
                Fate::Read(tool) => reads.push((call.clone(), tool)),
                Fate::Change(tool) => {
                    self.read(std::mem::take(&mut reads)).await?;
                    self.change(call, tool).await?;
                }
                Fate::Remote => {
                    self.read(std::mem::take(&mut reads)).await?;
                    self.call_server(call).await?;
                }
                Fate::Goal(tool) => {
                    self.read(std::mem::take(&mut reads)).await?;
                    if let Step::HandIn(hand_in) = self.pursue(call, tool).await? {
                        return Ok(Step::HandIn(hand_in));
                    }
                }
                Fate::Refused(words) => refused.push((call, words)),
                Fate::Block => {}
                Fate::Ask(ask) => {
                    self.read(reads).await?;
                    self.refuse(&refused)?;
                    self.started(call)?;
                    return Ok(Step::HandIn(ask));
                }
                Fate::Stuck(reason) => {
                    self.read(reads).await?;
                    self.refuse(&refused)?;
                    return Ok(gave_up(reason));
                }
            }
        }
        self.read(reads).await?;
        self.refuse(&refused)?;
        self.settle_blocks(pending)
    }

    fn fate(&self, call: &Call) -> Fate {
        let place = self.conversation.place(call);
        if place >= MOST_CALLS {
            return Fate::Refused(format!(
                "too many calls in one turn: this is number {}, and at most {MOST_CALLS} are run; look at the results \
                 of the first ones, then call again what you still need",
                place + 1
            ));
        }
        let tool = Tool::named(&self.job, &call.tool);
        let repeats = match tool {
            Some(Tool::Work(tool)) => tool.repeats(),
            // A sub-agent goes on where it was; the others only look.
            Some(Tool::Goal(_)) => true,
            Some(Tool::Block(_)) | None => false,
        };
        if self.conversation.was_begun(call) && !repeats {
            return Fate::Refused(format!(
                "interrupted: the agent was stopped while `{}` ran, so it may have been done whole, in part or not at \
                 all; look before you go on",
                call.tool
            ));
        }
        match (loops::judge(self.conversation.records(), call), tool) {
            (Circle::Ended(reason), _) => Fate::Stuck(reason),
            (Circle::Warned(_) | Circle::No, Some(Tool::Block(_))) => Fate::Block,
            (Circle::Warned(words), Some(Tool::Work(_) | Tool::Goal(_)) | None) => Fate::Refused(words),
            (Circle::No, Some(Tool::Goal(GoalTool::Delegate))) if !self.job.settings.leaves(&call.tool) => {
                Fate::Refused("`delegate` was taken from this role in this project; do it yourself".to_owned())
            }
            (Circle::No, Some(Tool::Goal(tool))) => Fate::Goal(tool),
            (Circle::No, Some(Tool::Work(_))) if !self.job.settings.leaves(&call.tool) => {
                Fate::Refused(format!("`{}` was taken from this role in this project; do without it", call.tool))
            }
            (Circle::No, Some(Tool::Work(tool))) => match self.unplanned(tool) {
                Some(words) => Fate::Refused(words),
                None => {
                    let free = if tool.changes() { Fate::Change(tool) } else { Fate::Read(tool) };
                    self.permitted(call, tool.changes(), free)
                }
            },
            (Circle::No, None) => match self.remote(call) {
                Remote::Offered if let Some(why) = self.desk.strangers.against(&call.tool) => Fate::Refused(why),
                Remote::Offered => self.permitted(call, true, Fate::Remote),
                Remote::Refused(why) => Fate::Refused(why),
                Remote::Unknown => Fate::Refused(self.no_such_tool(&call.tool)),
            },
        }
    }

    /// A call that needs a person's yes gets what the person said; who may not ask is refused. Beside text of strangers
    /// a secret is not to be had at all.
    fn permitted(&self, call: &Call, changes: bool, free: Fate) -> Fate {
        if self.desk.strangers.refuse_secrets()
            && let Some(secret) = self.policy.secret(&call.input)
        {
            return Fate::Refused(strangers::refused(&secret));
        }
        let Some(what) = self.policy.question(&call.tool, changes, &call.input) else { return free };
        let what = shorten::one_line(&what, LONGEST_REQUEST);
        let (turn, number) = (self.conversation.turns(), self.conversation.place(call) + 1);
        let ask = HandIn::Permission { request: Permission::request(&what, turn, number) };
        match Permission::to(&what, turn, number, &self.job.permissions) {
            Some(Permission::Allowed) => free,
            Some(Permission::Denied(reason)) => {
                Fate::Refused(format!("a person did not allow it: {reason}. Find another way, or go on without it"))
            }
            Some(Permission::Suggested(text)) => {
                Fate::Refused(format!("it was not run; a person says to do this instead: {text}"))
            }
            None if ask.fits(self.job.kind) => Fate::Ask(ask),
            None => Fate::Refused(format!("not allowed in this role: {what}")),
        }
    }

    fn no_such_tool(&self, name: &str) -> String {
        let own = Tool::of(&self.job).into_iter().map(|tool| tool.definition().name);
        let names: Vec<&str> = own.chain(self.servers.tools().iter().map(|tool| tool.name.as_str())).collect();
        format!("there is no tool `{name}`; the tools are: {}", names.join(", "))
    }

    /// At the same time; each result is recorded in the order of the calls as soon as it and those before it are there.
    async fn read(&mut self, reads: Vec<(Call, WorkTool)>) -> Result<(), AgentError> {
        for (call, _) in &reads {
            self.started(call)?;
        }
        let desk = Arc::clone(&self.desk);
        let run = |(call, tool)| apart(Arc::clone(&desk), call, tool);
        let mut results = together(reads.into_iter().map(run));
        while let Some(ran) = results.next().await {
            self.ran(ran)?;
        }
        Ok(())
    }

    async fn change(&mut self, call: &Call, tool: WorkTool) -> Result<(), AgentError> {
        self.begin_acting(tool)?;
        self.started(call)?;
        self.record(Record::Begun { id: call.id.clone() })?;
        let begun = Instant::now();
        let (ok, output) = run(&self.desk, call, tool).await;
        self.ran_one(call, ok, output, begun.elapsed())
    }

    pub(crate) fn ran_one(&mut self, call: &Call, ok: bool, output: String, took: Duration) -> Result<(), AgentError> {
        self.ran(Ran { call: call.clone(), ok, output, took })
    }

    fn ran(&mut self, ran: Ran) -> Result<(), AgentError> {
        let Ran { call, ok, output, took } = ran;
        let limit = outputs::limit(self.conversation.shown_in_turn());
        let short = shorten::tail(&output, limit);
        // A full disk must not end the attempt here; the model then sees the end and is told so.
        let output = outputs::cut(&self.desk.outputs, output, limit)
            .unwrap_or_else(|error| format!("(the rest could not be kept: {error})\n{short}"));
        self.settled(vec![result(&call, ok, output, By::Tool, took)])
    }

    /// In one record: after a crash either all of them are refused or the whole is decided again, to the same end.
    pub(crate) fn refuse(&mut self, refused: &[(&Call, String)]) -> Result<(), AgentError> {
        for (call, _) in refused {
            self.started(call)?;
        }
        let result = |(call, words): &(&Call, String)| result(call, false, words.clone(), By::Agent, Duration::ZERO);
        self.settled(refused.iter().map(result).collect())
    }

    pub(crate) fn started(&mut self, call: &Call) -> Result<(), AgentError> {
        self.say(AgentEvent::ToolStarted {
            turn: self.conversation.turns(),
            call: call.id.clone(),
            tool: call.tool.clone(),
            input: shorten::one_line(&call.input.to_string(), 200),
        })
    }

    pub(crate) fn settled(&mut self, results: Vec<CallResult>) -> Result<(), AgentError> {
        if results.is_empty() {
            return Ok(());
        }
        self.record(Record::Results(results.clone()))?;
        for result in results {
            if let Some(call) = self.conversation.call(&result.id) {
                self.observations.add(call, &result)?;
            }
            self.say(AgentEvent::ToolCompleted {
                turn: self.conversation.turns(),
                call: result.id,
                tool: result.tool,
                ok: result.ok,
                output: shorten::tail(result.output.trim_end(), 400),
                millis: result.millis,
            })?;
        }
        self.advance()
    }
}

/// At most so many at once, in the order given.
fn together<F: Future>(jobs: impl Iterator<Item = F>) -> impl Stream<Item = F::Output> {
    stream::iter(jobs).buffered(READERS)
}

/// On a thread of its own: most reading is blocking, and the event loop must go on.
async fn apart(desk: Arc<Desk>, call: Call, tool: WorkTool) -> Ran {
    let runtime = tokio::runtime::Handle::current();
    let begun = Instant::now();
    let task = {
        let call = call.clone();
        tokio::task::spawn_blocking(move || runtime.block_on(run(&desk, &call, tool)))
    };
    let (ok, output) = match task.await {
        Ok(done) => done,
        Err(error) => (false, format!("`{}` failed inside: {error}; try another way", call.tool)),
    };
    Ran { call, ok, output, took: begun.elapsed() }
}

async fn run(desk: &Desk, call: &Call, tool: WorkTool) -> (bool, String) {
    match tool.run(desk, &call.input).await {
        Ok(output) => (true, output),
        Err(error) => (false, error.to_string()),
    }
}

pub(crate) fn result(call: &Call, ok: bool, output: String, by: By, took: Duration) -> CallResult {
    let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    CallResult { id: call.id.clone(), tool: call.tool.clone(), ok, output, by, at: Some(Timestamp::now()), millis }
}

#[cfg(test)]
mod tests {
    use tokio::sync::Barrier;

    use super::*;

    #[tokio::test]
    async fn eight_run_at_the_same_time_and_come_back_in_order() {
        let all_there = Barrier::new(READERS);
        let job = |number: usize| {
            let all_there = &all_there;
            async move {
                // Ends only when as many as may run do run.
                all_there.wait().await;
                number
            }
        };
        let numbers: Vec<usize> = together((0..2 * READERS).map(job)).collect().await;
        assert_eq!(numbers, (0..2 * READERS).collect::<Vec<_>>());
    }
}
