//! A run driven through the core alone: commands in, events out, and what a store would be handed for each.

use domain::{Command, Ctx, Decide, Decision, Outcome, Recorded, Rejection, Report, Run, RunId, decide, evolve};
use engine::{Append, Row, TimerChange};
use jiff::Timestamp;

use crate::samples;

/// A run with its log. Its clock moves by one second with every command.
#[derive(Debug, Clone)]
pub struct History {
    /// The state the log adds up to.
    pub run: Run,
    /// All events so far.
    pub log: Vec<Recorded>,
    /// The time of the next command.
    pub now: Timestamp,
}

impl History {
    /// A run before its first event.
    #[must_use]
    pub fn unopened(id: RunId) -> Self {
        Self { run: Run::unopened(id), log: Vec::new(), now: samples::at(0) }
    }

    /// A run that has been started.
    #[must_use]
    pub fn started(id: RunId, config: domain::RunConfig) -> Self {
        let mut history = Self::unopened(id);
        history.take(Command::Start(Box::new(samples::start(config)))).expect("a sample start is taken");
        history
    }

    /// Hands in a command; what it caused is in the log afterwards, and what a store would write is returned.
    pub fn take(&mut self, command: Command) -> Result<Append, Rejection> {
        let events = decide(&self.run, command.clone(), &Ctx { now: self.now })?;
        let before = self.run.clone();
        let first = self.log.len();
        for event in events {
            let sequence = self.run.version + 1;
            let at = command.time_of(sequence).unwrap_or(self.now);
            let recorded = Recorded { sequence, at, event };
            self.run = evolve(self.run.clone(), &recorded);
            self.log.push(recorded);
        }
        self.now += jiff::SignedDuration::from_secs(1);
        Ok(append(&before, &self.run, self.log[first..].to_vec()))
    }

    /// Reports the end of an effect.
    pub fn report(&mut self, effect: u32, outcome: Outcome) -> Result<Append, Rejection> {
        self.take(Command::Report(Report { effect, outcome }))
    }

    /// Decides on the hold as it is shown now.
    pub fn decide(&mut self, by: &str, decision: Decision) -> Result<Append, Rejection> {
        let hold = self.run.hold().ok_or(Rejection::NoHold)?;
        let decide = Decide { hold: hold.id, digest: hold.digest.clone(), decision, by: samples::actor(by) };
        self.take(Command::Decide(decide))
    }

    /// Number of the newest open effect.
    #[must_use]
    pub fn open(&self) -> Option<u32> {
        self.run.open_effects.keys().next_back().copied()
    }

    /// Lets every effect succeed until a person is waited for or the run has ended.
    pub fn go_on(&mut self) -> Vec<Append> {
        let mut appends = Vec::new();
        while let Some(number) = self.open() {
            let effect = self.run.open_effects[&number].clone();
            let outcome = crate::agree(&self.run, number, &effect);
            appends.push(self.report(number, outcome).expect("a fitting report is taken"));
        }
        appends
    }
}

/// What a store is handed when a run goes from one state to the next.
#[must_use]
pub fn append(before: &Run, after: &Run, events: Vec<Recorded>) -> Append {
    let is_new = |number: &u32| !before.open_effects.contains_key(number);
    let added = after.open_effects.iter().filter(|(number, _)| is_new(number));
    let removed = before.open_effects.keys().filter(|number| !after.open_effects.contains_key(number));
    let timer = match (before.timer(), after.timer()) {
        (old, new) if old == new => TimerChange::Keep,
        (_, Some(timer)) => TimerChange::Set(timer),
        (_, None) => TimerChange::Clear,
    };
    Append {
        run: after.id.clone(),
        expected: before.version,
        events,
        added: added.map(|(number, effect)| (*number, effect.clone(), None)).collect(),
        removed: removed.copied().collect(),
        fence: None,
        timer,
        row: Some(Row::of(after)),
        key: None,
    }
}
