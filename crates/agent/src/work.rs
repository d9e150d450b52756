//! The agent's loop: records what is complete, then acts on it, until something is handed in.
//!
//! A model call whose answer was recorded is never made again.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use drivers::{AgentEvent, HandIn, Job, PastAnswer};
use jiff::Timestamp;

use crate::AgentError;
use crate::call_error::CallError;
use crate::calls::result;
use crate::compaction;
use crate::conversation::{Conversation, Stand};
use crate::events::Events;
use crate::guidance;
use crate::hand_in::{self, Siblings};
use crate::mcp::Servers;
use crate::model::Model;
use crate::observations::ObservationLog;
use crate::policy::Policy;
use crate::prompt::{self, Opening};
use crate::pursuit::Pursuit;
use crate::room::Room;
use crate::shorten;
use crate::tools::{Desk, Tool, ask_questions, clarify, request_extension};
use crate::turns::{Answer, By, Call, Record, TurnLog};

const MOST_NUDGES: u32 = 2;
const MORE_TRIES: u32 = 2;

/// One attempt at a job.
pub(crate) struct Work<'a> {
    pub(crate) job: Job,
    pub(crate) desk: Arc<Desk>,
    pub(crate) model: Model,
    pub(crate) servers: Servers,
    pub(crate) log: TurnLog,
    pub(crate) conversation: Conversation,
    /// How many there were when this attempt began.
    pub(crate) earlier_turns: u32,
    pub(crate) observations: ObservationLog,
    pub(crate) room: Room,
    pub(crate) policy: Policy,
    /// Where people's words to the working agent come in.
    pub(crate) guidance: PathBuf,
    /// Folder with the broker's socket.
    pub(crate) door: PathBuf,
    /// Where an iteration towards a goal stands; `None` for all other work.
    pub(crate) pursuit: Option<Pursuit>,
    pub(crate) events: Events<'a>,
}

/// Whether a step ended the attempt.
pub(crate) enum Step {
    GoOn,
    HandIn(HandIn),
}

impl Work<'_> {
    /// Works until there is something to hand in.
    pub(crate) async fn run(&mut self) -> Result<HandIn, AgentError> {
        let resumed_turns = self.conversation.turns();
        self.say(AgentEvent::SessionStarted { resumed_turns })?;
        self.start_servers().await?;
        self.begin_pursuit()?;
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
                let words = format!("not accepted: {reason}");
                self.settled(vec![result(call, false, words, By::Tool, Duration::ZERO)])
            }
        }
    }

    /// Says the last word.
    pub(crate) fn end(&mut self, hand_in: &HandIn) -> Result<(), AgentError> {
        self.say(AgentEvent::Ended { hand_in: hand_in.word().to_owned() })
    }

    async fn step(&mut self) -> Result<Step, AgentError> {
        let between_turns = matches!(self.conversation.stand(), Stand::ModelSpeaks | Stand::Silent { .. });
        if between_turns && self.take_guidance()? {
            return Ok(Step::GoOn);
        }
        match self.conversation.stand() {
            Stand::Empty => {
                let Opening { system, user } = prompt::opening(&self.job)?;
                let skills: Vec<&str> = self.job.skills.iter().map(|skill| skill.name.as_str()).collect();
                if !skills.is_empty() {
                    self.say(AgentEvent::Noted { text: format!("skills that fit: {}", skills.join(", ")) })?;
                }
                let user = self.servers.introduce(user);
                self.record(Record::Opening { system, user })
            }
            Stand::ModelSpeaks => self.ask_model().await,
            // Another attempt asks at least once more; otherwise it would only repeat the end of the one before.
            Stand::Silent { nudges } if nudges < MOST_NUDGES || self.conversation.turns() == self.earlier_turns => {
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

    /// What people said since the last turn goes into the conversation, once.
    fn take_guidance(&mut self) -> Result<bool, AgentError> {
        let new = guidance::after(&self.guidance, self.conversation.guided())?;
        let any = !new.is_empty();
        for guidance in new {
            let text = format!("{} said: {}", guidance.by, shorten::one_line(&guidance.text, 400));
            self.record(Record::Guidance(guidance))?;
            self.say(AgentEvent::Noted { text })?;
        }
        Ok(any)
    }

    fn unheard(&self) -> Result<bool, AgentError> {
        Ok(!guidance::after(&self.guidance, self.conversation.guided())?.is_empty())
    }

    async fn ask_model(&mut self) -> Result<Step, AgentError> {
        let turn = self.conversation.turns() + 1;
        if turn > self.job.max_turns {
            let most = self.job.max_turns;
            return Ok(gave_up(format!("nothing was handed in within {most} model calls, the limit of this job")));
        }
        self.refresh_servers().await?;
        self.make_room().await?;
        let mut tries = 0;
        let mut overflowed = false;
        loop {
            self.say(AgentEvent::TurnStarted { turn })?;
            tries += 1;
            let begun = Instant::now();
            match self.model.answer(&self.conversation, self.servers.tools(), turn, &mut self.events).await {
                Ok(answer) => return self.answered(turn, answer, begun.elapsed()),
                Err(CallError::Budget { reason, shortage }) => {
                    return Ok(Step::HandIn(HandIn::BudgetSpent { reason, shortage }));
                }
                Err(CallError::Lasting(reason)) if !overflowed && compaction::is_overflow(&reason) => {
                    overflowed = true;
                    if !self.make_room_after(&reason).await? {
                        return Ok(Step::HandIn(HandIn::ModelFailed { reason }));
                    }
                }
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

    fn answered(&mut self, turn: u32, mut answer: Answer, took: Duration) -> Result<Step, AgentError> {
        answer.at = Some(Timestamp::now());
        answer.millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let (input_tokens, output_tokens) = (answer.usage.input, answer.usage.output);
        self.record(Record::Assistant(answer))?;
        self.say(AgentEvent::TurnCompleted { turn, input_tokens, output_tokens })?;
        Ok(Step::GoOn)
    }

    pub(crate) fn settle_blocks(&mut self, pending: &[Call]) -> Result<Step, AgentError> {
        let decided = hand_in::decide(self.job.kind, pending, self.siblings());
        self.refuse(&decided.refused)?;
        match decided.chosen {
            None => Ok(Step::GoOn),
            Some((call, hand_in)) => match self.result_of(&hand_in) {
                Some(output) => {
                    self.settled(vec![result(call, true, output, By::Tool, Duration::ZERO)])?;
                    Ok(Step::GoOn)
                }
                None if self.not_yet(&hand_in).is_some() => {
                    let words = self.not_yet(&hand_in).unwrap_or_default();
                    self.refuse(&[(call, words)])?;
                    Ok(Step::GoOn)
                }
                None if hand_in.is_work() && self.unheard()? => {
                    let words = "not handed in yet: a person said something meanwhile; take it in, then hand in again";
                    self.refuse(&[(call, words.to_owned())])?;
                    Ok(Step::GoOn)
                }
                None => {
                    self.begin_reflecting(&hand_in)?;
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
            | HandIn::Permission { .. }
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

    fn siblings(&self) -> Siblings {
        let Stand::Open { settled, .. } = self.conversation.stand() else { return Siblings::Worked };
        let works = |name: &str| !matches!(Tool::named(self.job.kind, name), Some(Tool::Block(_)));
        let failed = settled.iter().any(|result| !result.ok && works(&result.tool));
        if failed { Siblings::Failed } else { Siblings::Worked }
    }

    pub(crate) fn record(&mut self, record: Record) -> Result<Step, AgentError> {
        self.log.append(&record)?;
        self.conversation.push(record);
        Ok(Step::GoOn)
    }

    pub(crate) fn say(&mut self, event: AgentEvent) -> Result<(), AgentError> {
        self.events.say(&event).map_err(AgentError::Events)
    }
}

pub(crate) fn gave_up(reason: String) -> Step {
    Step::HandIn(HandIn::GaveUp { reason })
}
