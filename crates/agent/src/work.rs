//! The agent's loop: records what is complete, then acts on it, until something is handed in.
//!
//! A tool whose result was not recorded before a crash runs again; a model call whose answer was recorded never does.

use std::time::{Duration, Instant};

use drivers::{AgentEvent, HandIn, Job, PastAnswer};

use crate::AgentError;
use crate::call_error::CallError;
use crate::conversation::{Conversation, Stand};
use crate::events::Events;
use crate::hand_in::{self, Siblings};
use crate::model::Model;
use crate::prompt::{self, Opening};
use crate::shorten;
use crate::tools::{Desk, Tool, ask_questions, clarify, request_extension};
use crate::turns::{Answer, Call, CallResult, Record, TurnLog};

const MOST_NUDGES: u32 = 2;
const MORE_TRIES: u32 = 2;
const REPEATS_WARNED: usize = 4;
const REPEATS_ENDED: usize = 8;

/// One attempt at a job.
pub(crate) struct Work<'a> {
    pub(crate) job: Job,
    pub(crate) desk: Desk,
    pub(crate) model: Model,
    pub(crate) log: TurnLog,
    pub(crate) conversation: Conversation,
    pub(crate) events: Events<'a>,
}

/// Whether a step ended the attempt.
enum Step {
    GoOn,
    HandIn(HandIn),
}

impl Work<'_> {
    /// Works until there is something to hand in.
    pub(crate) async fn run(&mut self) -> Result<HandIn, AgentError> {
        let resumed_turns = self.conversation.turns();
        self.say(AgentEvent::SessionStarted { resumed_turns })?;
        self.take_back()?;
        loop {
            match self.step().await? {
                Step::GoOn => {}
                Step::HandIn(hand_in) => return Ok(hand_in),
            }
        }
    }

    /// What the conversation handed in last was refused: the call gets the reason as its result, and the model goes on.
    fn take_back(&mut self) -> Result<(), AgentError> {
        let Some(reason) = self.job.refusal.take() else { return Ok(()) };
        let Stand::Open { pending, .. } = self.conversation.stand() else { return Ok(()) };
        let pending: Vec<Call> = pending.into_iter().cloned().collect();
        match hand_in::decide(self.job.kind, &pending, self.siblings()).chosen {
            None | Some((_, HandIn::Questions { .. } | HandIn::Said { .. } | HandIn::Extension { .. })) => Ok(()),
            Some((call, _)) => {
                self.settled(vec![result(call, false, format!("not accepted: {reason}"))], Duration::ZERO)
            }
        }
    }

    /// Says the last word.
    pub(crate) fn end(&mut self, hand_in: &HandIn) -> Result<(), AgentError> {
        self.say(AgentEvent::Ended { hand_in: hand_in.word().to_owned() })
    }

    async fn step(&mut self) -> Result<Step, AgentError> {
        match self.conversation.stand() {
            Stand::Empty => {
                let Opening { system, user } = prompt::opening(&self.job)?;
                self.record(Record::Opening { system, user })
            }
            Stand::ModelSpeaks => self.ask_model().await,
            Stand::Silent { nudges } if nudges < MOST_NUDGES => {
                self.record(Record::Nudge { text: prompt::nudge(self.job.kind) })
            }
            Stand::Silent { nudges } => Ok(gave_up(format!(
                "the model stopped without handing anything in, also after it was told {nudges} times to go on"
            ))),
            Stand::Open { pending, .. } => {
                let pending: Vec<Call> = pending.into_iter().cloned().collect();
                self.settle(&pending).await
            }
        }
    }

    async fn ask_model(&mut self) -> Result<Step, AgentError> {
        let turn = self.conversation.turns() + 1;
        if turn > self.job.max_turns {
            let most = self.job.max_turns;
            return Ok(gave_up(format!("nothing was handed in within {most} model calls, the limit of this job")));
        }
        let mut tries = 0;
        loop {
            self.say(AgentEvent::TurnStarted { turn })?;
            tries += 1;
            match self.model.answer(&self.conversation, turn, &mut self.events).await {
                Ok(answer) => return self.answered(turn, answer),
                Err(CallError::Budget(reason)) => return Ok(Step::HandIn(HandIn::BudgetSpent { reason })),
                Err(CallError::Quota { reason, resets_at }) => match self.model.fall_back().map(str::to_owned) {
                    Some(next) => tries = self.switch(&reason, &next)?,
                    None => return Ok(Step::HandIn(HandIn::QuotaSpent { reason, resets_at })),
                },
                Err(CallError::Lasting(reason)) => match self.model.fall_back().map(str::to_owned) {
                    Some(next) => tries = self.switch(&reason, &next)?,
                    None => return Ok(Step::HandIn(HandIn::ModelFailed { reason })),
                },
                Err(CallError::Passing(reason)) if tries > MORE_TRIES => {
                    let reason = format!("{reason}; tried {tries} times");
                    match self.model.fall_back().map(str::to_owned) {
                        Some(next) => tries = self.switch(&reason, &next)?,
                        None => return Ok(Step::HandIn(HandIn::ModelFailed { reason })),
                    }
                }
                Err(CallError::Passing(reason)) => {
                    self.say(AgentEvent::Trouble { message: format!("{reason}; the turn is begun again") })?;
                    tokio::time::sleep(Duration::from_millis(50 << (2 * tries))).await;
                }
                Err(CallError::Events(error)) => return Err(error.into()),
            }
        }
    }

    /// The next model of the list takes over; its tries are counted anew.
    fn switch(&mut self, reason: &str, next: &str) -> Result<u32, AgentError> {
        self.say(AgentEvent::Trouble { message: format!("{reason}; `{next}` goes on") })?;
        Ok(0)
    }

    fn answered(&mut self, turn: u32, answer: Answer) -> Result<Step, AgentError> {
        let (input_tokens, output_tokens) = (answer.usage.input, answer.usage.output);
        self.record(Record::Assistant(answer))?;
        self.say(AgentEvent::TurnCompleted { turn, input_tokens, output_tokens })?;
        Ok(Step::GoOn)
    }

    /// Runs the open calls in order; those that hand in come last.
    async fn settle(&mut self, pending: &[Call]) -> Result<Step, AgentError> {
        for call in pending {
            let repeats = self.conversation.repeats(call);
            if repeats >= REPEATS_ENDED {
                return Ok(gave_up(format!(
                    "the model called `{}` {repeats} times in a row with the same input",
                    call.tool
                )));
            }
            if let Some(Tool::Block(_)) = Tool::named(self.job.kind, &call.tool) {
                continue;
            }
            self.started(call)?;
            let begun = Instant::now();
            let (ok, output) = self.execute(call, repeats).await;
            self.settled(vec![result(call, ok, output)], begun.elapsed())?;
        }
        self.settle_blocks(pending)
    }

    async fn execute(&self, call: &Call, repeats: usize) -> (bool, String) {
        let kind = self.job.kind;
        if repeats >= REPEATS_WARNED {
            let words = "times in a row; it was not run again. Do something else, or hand in what you have";
            return (false, format!("this very call was made {repeats} {words}"));
        }
        match Tool::named(kind, &call.tool) {
            Some(Tool::Work(tool)) => match tool.run(&self.desk, &call.input).await {
                Ok(output) => (true, output),
                Err(error) => (false, error.to_string()),
            },
            Some(Tool::Block(_)) | None => {
                let names: Vec<&str> = Tool::of(kind).iter().map(|tool| tool.definition().name).collect();
                (false, format!("there is no tool `{}`; the tools are: {}", call.tool, names.join(", ")))
            }
        }
    }

    fn settle_blocks(&mut self, pending: &[Call]) -> Result<Step, AgentError> {
        let decided = hand_in::decide(self.job.kind, pending, self.siblings());
        self.refuse(&decided.refused)?;
        match decided.chosen {
            None => Ok(Step::GoOn),
            Some((call, hand_in)) => match self.result_of(&hand_in) {
                Some(output) => {
                    self.settled(vec![result(call, true, output)], Duration::ZERO)?;
                    Ok(Step::GoOn)
                }
                None => {
                    self.started(call)?;
                    Ok(Step::HandIn(self.unanswered(hand_in)))
                }
            },
        }
    }

    /// What people said to a call that waits for them, once they have.
    fn result_of(&self, hand_in: &HandIn) -> Option<String> {
        match hand_in {
            HandIn::Questions { questions } => self.answers().get(..questions.len()).map(ask_questions::answered),
            HandIn::Said { .. } => self.answers().first().map(clarify::answered),
            HandIn::Extension { .. } => {
                let granted = usize::try_from(self.job.extensions).unwrap_or(usize::MAX);
                let told = granted > self.conversation.extensions_used();
                told.then(|| request_extension::granted(self.job.minutes))
            }
            HandIn::Plan(_)
            | HandIn::Tasks(_)
            | HandIn::Scope(_)
            | HandIn::Research(_)
            | HandIn::Pulse(_)
            | HandIn::Handoff(_)
            | HandIn::Review(_)
            | HandIn::Answer { .. }
            | HandIn::Reflection(_)
            | HandIn::ModelFailed { .. }
            | HandIn::QuotaSpent { .. }
            | HandIn::BudgetSpent { .. }
            | HandIn::GaveUp { .. } => None,
        }
    }

    /// Answers that no call has got yet.
    fn answers(&self) -> &[PastAnswer] {
        self.job.answers.get(self.conversation.answers_used()..).unwrap_or_default()
    }

    /// Of several questions, only those that are still open are asked.
    fn unanswered(&self, hand_in: HandIn) -> HandIn {
        match hand_in {
            HandIn::Questions { questions } => {
                HandIn::Questions { questions: questions.into_iter().skip(self.answers().len()).collect() }
            }
            other => other,
        }
    }

    /// In one record: after a crash either all of them are refused or the whole is decided again, to the same end.
    fn refuse(&mut self, refused: &[(&Call, String)]) -> Result<(), AgentError> {
        for (call, _) in refused {
            self.started(call)?;
        }
        let result = |(call, words): &(&Call, String)| result(call, false, words.clone());
        self.settled(refused.iter().map(result).collect(), Duration::ZERO)
    }

    fn siblings(&self) -> Siblings {
        let Stand::Open { settled, .. } = self.conversation.stand() else { return Siblings::Worked };
        let works = |name: &str| !matches!(Tool::named(self.job.kind, name), Some(Tool::Block(_)));
        let failed = settled.iter().any(|result| !result.ok && works(&result.tool));
        if failed { Siblings::Failed } else { Siblings::Worked }
    }

    fn started(&mut self, call: &Call) -> Result<(), AgentError> {
        self.say(AgentEvent::ToolStarted {
            turn: self.conversation.turns(),
            call: call.id.clone(),
            tool: call.tool.clone(),
            input: shorten::one_line(&call.input.to_string(), 200),
        })
    }

    fn settled(&mut self, results: Vec<CallResult>, took: Duration) -> Result<(), AgentError> {
        if results.is_empty() {
            return Ok(());
        }
        self.record(Record::Results(results.clone()))?;
        for CallResult { id, tool, ok, output } in results {
            self.say(AgentEvent::ToolCompleted {
                turn: self.conversation.turns(),
                call: id,
                tool,
                ok,
                output: shorten::tail(output.trim_end(), 400),
                millis: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            })?;
        }
        Ok(())
    }

    fn record(&mut self, record: Record) -> Result<Step, AgentError> {
        self.log.append(&record)?;
        self.conversation.push(record);
        Ok(Step::GoOn)
    }

    fn say(&mut self, event: AgentEvent) -> Result<(), AgentError> {
        self.events.say(&event).map_err(AgentError::Events)
    }
}

fn result(call: &Call, ok: bool, output: String) -> CallResult {
    CallResult { id: call.id.clone(), tool: call.tool.clone(), ok, output }
}

fn gave_up(reason: String) -> Step {
    Step::HandIn(HandIn::GaveUp { reason })
}
