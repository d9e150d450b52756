//! `decide`: what would change. Routes each command to the file named after what can happen.

mod assume;
mod attach;
mod cancel;
mod clarify;
mod converse;
mod delegate;
mod finish;
mod force;
mod fork;
mod guide;
mod hold;
mod pause;
mod pursue;
mod stage;
mod start;
mod submitted;
mod taint;
mod timeout;
mod work;

use jiff::Timestamp;

use crate::evolve::advance;
use crate::{AgentTask, Command, Effect, Event, Hold, HoldId, Purpose, Recorded, Rejection, Run, Session, SpendReport};

/// What a decision may depend on besides the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ctx {
    /// The time.
    pub now: Timestamp,
}

/// What would change if the command were taken; nothing does until the events are stored.
pub fn decide(run: &Run, command: Command, ctx: &Ctx) -> Result<Vec<Event>, Rejection> {
    let mut draft = Draft { run: run.clone(), events: Vec::new(), now: ctx.now };
    if run.opened.is_none() && !matches!(command, Command::Start(_) | Command::Fork(_)) {
        return Err(Rejection::NotStarted);
    }
    match command {
        Command::Start(start) => start::start(&mut draft, *start)?,
        Command::Fork(fork) => fork::fork(&mut draft, *fork)?,
        Command::Report(report) => work::report(&mut draft, report)?,
        Command::Spend(spend) => count(&mut draft, spend)?,
        Command::Pursue(report) => pursue::step(&mut draft, report)?,
        Command::Decide(decide) => hold::decide(&mut draft, decide)?,
        Command::TimerFired { timer } => timeout::fire(&mut draft, timer)?,
        Command::ChildEnded(report) => delegate::ended(&mut draft, report)?,
        Command::Pause { by, reason } => pause::pause(&mut draft, by, reason)?,
        Command::Guide { text, by } => guide::guide(&mut draft, text, by)?,
        Command::Overturn { assumption, answer, by } => assume::overturn(&mut draft, assumption, answer, by)?,
        Command::Attach { by } => attach::attach(&mut draft, by)?,
        Command::ForceMerge { by, reason, shown } => force::merge(&mut draft, by, reason, shown)?,
        Command::Cancel { by, reason } => cancel::cancel(&mut draft, by, reason)?,
        Command::Taint(report) => taint::read(&mut draft, report)?,
    }
    Ok(draft.events)
}

/// Events being gathered, with the state they lead to, so that each step sees the one before.
struct Draft {
    run: Run,
    events: Vec<Event>,
    now: Timestamp,
}

impl Draft {
    fn record(&mut self, event: Event) {
        self.record_at(self.now, event);
    }

    fn record_at(&mut self, at: Timestamp, event: Event) {
        let recorded = Recorded { sequence: self.run.version + 1, at, event };
        advance(&mut self.run, &recorded);
        self.events.push(recorded.event);
    }

    fn request(&mut self, effect: Effect) {
        // Whoever else is to work on the run ends a person's conversation first.
        if effect.works()
            && let Some((target, _)) = self.run.sitting()
        {
            self.request(Effect::StopAgent { target });
        }
        let number = self.run.effects_requested + 1;
        self.record(Event::EffectRequested { number, effect });
    }

    /// The id the next recorded hold will have.
    fn next_hold(&self) -> HoldId {
        HoldId(self.run.version + 1)
    }

    fn place(&mut self, hold: Hold) {
        self.record(Event::HoldPlaced { hold });
    }

    /// Lets an agent work on a stage: in the conversation it has begun in this visit, or in a fresh one.
    fn request_agent(&mut self, index: usize, purpose: Purpose, minutes: u32) {
        let stage = self.run.stage(index);
        let go_on = self.run.stages[index].begun && !matches!(purpose, Purpose::Answer { .. });
        let session = match self.run.sessions.get(&stage.role) {
            Some(session) if go_on => Session { attempt: session.attempt + 1, ..session.clone() },
            Some(session) => Session { role: stage.role.clone(), visit: session.visit + 1, attempt: 1 },
            None => Session { role: stage.role.clone(), visit: 1, attempt: 1 },
        };
        let stage_name = stage.name.clone();
        let at = self.run.stages[index].wip.clone().or_else(|| self.run.head.clone());
        let at = at.expect("a stage starts only after the branch was created");
        let deadline = self.now.saturating_add(jiff::SignedDuration::from_mins(i64::from(minutes)));
        let task = AgentTask {
            stage: stage_name,
            session,
            at,
            deadline: deadline.unwrap_or(Timestamp::MAX),
            envelope: self.run.envelope(),
            ask_after: self.run.ask_after(),
            waived: self.run.waived.clone(),
            purpose,
            since: self.run.approved_code.clone(),
        };
        self.request(Effect::RunAgent(task));
    }

    /// The agent at work: the number of its effect and what it is wanted for.
    fn agent(&self) -> Option<(u32, Purpose)> {
        self.run.agent().map(|(number, task)| (number, task.purpose.clone()))
    }
}

fn count(draft: &mut Draft, spend: SpendReport) -> Result<(), Rejection> {
    if !draft.run.has_effect(spend.effect) {
        return Err(Rejection::EffectNotOpen(spend.effect));
    }
    let counted = draft.run.spend.counted.get(&spend.effect).copied().unwrap_or(0);
    if spend.call <= counted {
        return Err(Rejection::CallCounted(spend.effect, spend.call));
    }
    draft.record(Event::SpendRecorded {
        effect: spend.effect,
        call: spend.call,
        model: spend.model,
        input_tokens: spend.input_tokens,
        output_tokens: spend.output_tokens,
        cost: spend.cost,
        reported_by: spend.reported_by,
    });
    Ok(())
}
