//! Hosts an agent program that is not ours: starts it, answers what it asks, listens to what it does, and takes what it
//! hands in through Holdpoint's tools.
//!
//! To the outside it is an agent like our own: the same job comes in, the same events and the same result go out. The
//! program is a child inside the same sandbox, so whatever it leaves behind ends with the attempt. What it says about
//! its own success does not count: without something handed in, nothing was done.

mod account;
mod child;
mod flood;
mod kinship;
mod permits;
mod plain;
mod relay;
mod seat;
mod sit;
mod state;
mod telling;
mod tools;
mod words;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::AgentProgram;
use drivers::driver::{self, Act, Brief, Edits, Over, Stdin, Talk};
use drivers::{AgentEvent, HandIn, Job};

use crate::AgentError;
use crate::events::Events;
use crate::policy::Policy;
use crate::session::SessionFolder;
use crate::shorten;
use crate::tools::Desk;
pub(crate) use account::Account;
use account::Said;
use child::{Child, Heard};
pub(crate) use flood::Flood;
use permits::Permits;
pub use relay::relay;
pub use seat::{Rose, take_seat};
pub use sit::sit;
use state::State;
use tools::Counter;

/// How often a program that stopped without handing in is told to go on.
const MOST_NUDGES: u32 = 2;
/// How often a program whose model failed is told to go on.
const MORE_TRIES: u32 = 1;
/// How long a program may still talk after it has handed in, so that its own record of the conversation is whole.
const GRACE: Duration = Duration::from_secs(20);
/// How long it may take to leave when it is done.
const LEAVING: Duration = Duration::from_secs(5);
/// Longer than any stage.
const UNTIL_STOPPED: Duration = Duration::from_secs(30 * 24 * 3600);
const LONGEST_REASON: usize = 1_500;
/// Bytes that are kept of what a plain command prints.
const MOST_PRINTED: usize = 256 << 10;

/// One attempt by a program.
pub(crate) struct Host<'a> {
    pub(crate) job: Job,
    pub(crate) program: AgentProgram,
    pub(crate) folder: SessionFolder,
    pub(crate) path: PathBuf,
    pub(crate) desk: Arc<Desk>,
    pub(crate) events: Events<'a>,
    /// What a plain command printed, as much as may become something it hands in.
    pub(crate) printed: String,
    pub(crate) flood: Flood,
    pub(crate) account: Account,
}

/// How one process of the program ended.
enum Ended {
    HandedIn(HandIn),
    /// It stopped without handing in.
    Silent,
    ModelFailed(String),
    /// It may not go on.
    Stopped(HandIn),
    /// It could not be started, crashed, or gave up in a way of its own.
    Badly(String),
}

impl Host<'_> {
    /// Works until there is something to hand in.
    pub(crate) async fn run(&mut self) -> Result<HandIn, AgentError> {
        let mut state = State::read(&self.path);
        let resumed_turns = state.turns;
        self.say(AgentEvent::SessionStarted { resumed_turns })?;
        if let Some(text) = account::notice(&self.job) {
            self.say(AgentEvent::Noted { text })?;
        }
        let counter = Counter::open(&self.path, Arc::clone(&self.desk), &self.job)?;
        let mut permits = Permits::new(Policy::new(&self.job.workspace, &self.job.protected), &self.job, &self.desk);
        let mut prompt = match state.session {
            Some(_) => self.news(&state, &counter)?,
            None => self.all(&counter)?,
        };
        let mut nudges = 0;
        let mut failures = 0;
        loop {
            let (begun_with, resumes) = (state.turns, state.session.is_some());
            match self.once(prompt, &mut state, &counter, &mut permits).await? {
                Ended::HandedIn(hand_in) | Ended::Stopped(hand_in) => return Ok(hand_in),
                Ended::Silent if nudges < MOST_NUDGES => {
                    nudges += 1;
                    prompt = words::nudge(self.job.kind);
                }
                Ended::Silent => {
                    let reason = format!(
                        "`{}` stopped without handing anything in, also after it was told {nudges} times to go on",
                        self.program
                    );
                    return Ok(HandIn::GaveUp { reason });
                }
                // Some programs give up at the first broken stream.
                Ended::ModelFailed(reason) if failures < MORE_TRIES => {
                    failures += 1;
                    self.say(AgentEvent::Trouble { message: format!("{reason}; it is told to go on") })?;
                    prompt = match &state.session {
                        Some(_) => words::AWAY.to_owned(),
                        None => self.all(&counter)?,
                    };
                }
                Ended::ModelFailed(reason) => return Ok(HandIn::ModelFailed { reason }),
                // A conversation that its program no longer knows is begun anew, with what was done in it.
                Ended::Badly(reason) if resumes && state.turns == begun_with => {
                    let message = format!("the conversation could not be taken up again ({reason}); a new one begins");
                    self.say(AgentEvent::Trouble { message })?;
                    state.session = None;
                    prompt = self.all(&counter)?;
                }
                Ended::Badly(reason) => return Ok(HandIn::GaveUp { reason }),
            }
        }
    }

    async fn once(
        &mut self,
        prompt: String,
        state: &mut State,
        counter: &Counter,
        permits: &mut Permits,
    ) -> Result<Ended, AgentError> {
        let brief = self.brief(prompt, state, counter);
        let (start, mut talk) = match driver::start(&self.program, &brief) {
            Ok(started) => started,
            Err(error) => return Ok(Ended::Badly(error.to_string())),
        };
        self.account.begin();
        self.report(&talk, Said::SoFar).await?;
        if let Some(hand_in) = self.account.stopped() {
            return Ok(Ended::Stopped(hand_in));
        }
        let mut child = match Child::start(&start, &self.job.workspace, &self.path) {
            Ok(child) => child,
            Err(error) => return Ok(Ended::Badly(format!("`{}` cannot be started: {error}", start.argv[0]))),
        };
        counter.serves(child.id());
        if !start.first.is_empty() {
            child.send(&start.first.join("\n"));
        }
        if start.stdin == Stdin::Closed {
            child.close_input();
        }
        let over = self.listen(&mut child, &mut talk, state, counter, permits).await?;
        if talk.turns() > state.turns {
            state.turns = talk.turns();
            state.guided = counter.guided();
        }
        state.write(&self.path)?;
        let patience = match self.program {
            _ if self.account.stopped().is_some() => LEAVING,
            // It may work on after its last word; the stage's own limit holds.
            AgentProgram::Command(_) => UNTIL_STOPPED,
            AgentProgram::Own
            | AgentProgram::Claude
            | AgentProgram::Codex
            | AgentProgram::Gemini
            | AgentProgram::Opencode
            | AgentProgram::CodexExec
            | AgentProgram::Acp(_) => LEAVING,
        };
        let left = child.leave(patience).await;
        self.report(&talk, Said::AtLast).await?;
        if let Some(hand_in) = counter.handed_in() {
            return Ok(Ended::HandedIn(hand_in));
        }
        if let Some(hand_in) = self.account.stopped() {
            return Ok(Ended::Stopped(hand_in));
        }
        if let AgentProgram::Command(_) = self.program {
            return Ok(Ended::HandedIn(plain::hand_in(&self.job, left.code(), &self.printed)));
        }
        Ok(match over {
            Some(Over::Well) => Ended::Silent,
            Some(Over::ModelFailed(reason)) => Ended::ModelFailed(reason),
            Some(Over::Badly(reason)) => Ended::Badly(reason),
            None => left.silent().map_or(Ended::Silent, |how| {
                Ended::Badly(shorten::one_line(&format!("`{}` {how}", self.program), LONGEST_REASON))
            }),
        })
    }

    fn brief(&self, prompt: String, state: &State, counter: &Counter) -> Brief {
        Brief {
            prompt,
            model: self.job.model.clone(),
            broker: std::env::var("HOLDPOINT_BROKER_URL").unwrap_or_default(),
            home: self.path.display().to_string(),
            workspace: self.job.workspace.clone(),
            tools: counter.command(),
            resume: state.session.clone(),
            turns: state.turns,
            protected: self.job.protected.clone(),
            edits: if permits::writes(self.job.kind) { Edits::Kept } else { Edits::Lost },
            way: self.job.way.clone(),
        }
    }

    /// Listens until the program is done or gone, or has handed in and been given its time.
    async fn listen(
        &mut self,
        child: &mut Child,
        talk: &mut Talk,
        state: &mut State,
        counter: &Counter,
        permits: &mut Permits,
    ) -> Result<Option<Over>, AgentError> {
        let begun = Instant::now();
        let mut until = None;
        loop {
            let heard = tokio::select! {
                heard = child.hear() => heard,
                () = counter.handing_in(), if until.is_none() => {
                    until = Some(tokio::time::Instant::now() + GRACE);
                    continue;
                }
                () = at(until) => return Ok(None),
                () = self.account.due() => {
                    self.account.ask_again();
                    self.report(talk, account::so_far(&self.program)).await?;
                    if self.account.stopped().is_some() {
                        return Ok(None);
                    }
                    continue;
                }
                // Who watches sees the last words of a program that has fallen silent.
                () = self.events.due() => {
                    self.events.flush().map_err(AgentError::Events)?;
                    continue;
                }
            };
            let line = match heard {
                Heard::Line(line) => {
                    counter.speaks();
                    line
                }
                Heard::End => return Ok(talk.end()),
            };
            let now = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            let mut acts = std::collections::VecDeque::from(talk.line(&line, now));
            while let Some(act) = acts.pop_front() {
                match &act {
                    Act::Say(_) | Act::Session(_) | Act::Ask(_) => counter.works(),
                    Act::Send(_) | Act::Over(_) | Act::Unknown(_) => {}
                }
                match act {
                    Act::Say(event) => {
                        if matches!(event, AgentEvent::TurnStarted { .. }) {
                            self.heard(state, counter)?;
                        }
                        let turn_over = matches!(event, AgentEvent::TurnCompleted { .. });
                        self.tell(event)?;
                        if turn_over {
                            acts.extend(self.pass_on_guidance(talk, counter)?);
                        }
                    }
                    Act::Send(line) => child.send(&line),
                    Act::Session(session) => {
                        state.session = Some(session);
                        state.write(&self.path)?;
                    }
                    Act::Ask(asked) => {
                        let (word, ask) = permits.decide(&asked, state);
                        state.write(&self.path)?;
                        acts.extend(talk.word(&asked, &word));
                        if let Some(hand_in) = ask {
                            counter.hand_in(hand_in);
                        }
                    }
                    Act::Over(over) => return Ok(Some(over)),
                    Act::Unknown(line) => {
                        if let Some(text) = self.flood.unknown(&line) {
                            self.say(AgentEvent::Noted { text })?;
                        }
                    }
                }
            }
            self.report(talk, account::so_far(&self.program)).await?;
            if self.account.stopped().is_some() {
                return Ok(None);
            }
        }
    }

    /// Passes on what a program with its own login says it has used, and what came of its connections.
    async fn report(&mut self, talk: &Talk, said: Said) -> Result<(), AgentError> {
        for event in self.account.report(talk, said).await {
            self.say(event)?;
        }
        Ok(())
    }

    fn tell(&mut self, event: AgentEvent) -> Result<(), AgentError> {
        let Some(event) = self.flood.pass(event) else { return Ok(()) };
        match event {
            AgentEvent::MessageDelta { turn, text } => {
                if matches!(self.program, AgentProgram::Command(_)) && self.printed.len() < MOST_PRINTED {
                    self.printed.push_str(&text);
                }
                self.events.message(turn, &text).map_err(AgentError::Events)
            }
            AgentEvent::ThoughtDelta { turn, text } => self.events.thought(turn, &text).map_err(AgentError::Events),
            other => self.say(other),
        }
    }

    pub(crate) fn say(&mut self, event: AgentEvent) -> Result<(), AgentError> {
        self.events.say(&event).map_err(AgentError::Events)
    }
}

async fn at(until: Option<tokio::time::Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}
