//! The desk: the one thread that decides and writes. It takes what has queued up, decides each command on the
//! state the one before led to, commits all in one transaction, and only then answers and acts.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use domain::{Command, Ctx, EffectId, Recorded, Rejection, Report, Run, RunId, decide, evolve};
use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot, watch};

use crate::flights::Flights;
use crate::handle::{Ask, fold};
use crate::panics::catch;
use crate::timers::LEASE;
use crate::{
    Append, Appended, Batch, Clock, CommandKey, Committed, Engine, EntryRule, Fence, Lease, LeaseWish, Leased, NodeId,
    Parts, Receipt, Refusal, Row, Store, StoreError, TimerChange, Weight, quarantine,
};

// One fsync for at most so many commands: more would make the first of them wait too long.
const MAX_BATCH: usize = 512;

pub(crate) struct Desk {
    store: Arc<dyn Store>,
    clock: Clock,
    node: NodeId,
    engine: Engine,
    flights: Flights,
    // Runs this node works on. A run that waits or has ended is not here: it costs one row.
    hot: HashMap<RunId, Arc<Run>>,
    // Whether there may be effects that nobody works on.
    backlog: bool,
    // Effects that were leased while their run could not be read.
    grounded: Vec<Leased>,
    rule: EntryRule,
    queue: Queue,
    position: watch::Sender<u64>,
    due: watch::Sender<Option<Timestamp>>,
}

/// What is known of runs that wait to be let in. The store decides; this only spares it the question.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Queue {
    /// Nobody waits.
    Empty,
    /// Some wait, and none may begin before a run ends or a person is asked less or more.
    Blocked,
    /// Some may be let in.
    Open,
}

/// A command on its way through a batch.
struct Pending {
    run: RunId,
    command: Command,
    key: Option<CommandKey>,
    fence: Option<Fence>,
    reply: Reply,
}

enum Reply {
    /// The command is the desk's own.
    Nobody,
    Submit(oneshot::Sender<Result<Receipt, Refusal>>),
    Report(oneshot::Sender<Result<(), StoreError>>),
}

impl Reply {
    // The asker may have left; what was recorded stands.
    fn send(self, result: Result<Receipt, Refusal>) {
        match self {
            Self::Nobody => {}
            Self::Submit(reply) => drop(reply.send(result)),
            Self::Report(reply) => drop(reply.send(match result {
                Ok(_)
                | Err(
                    Refusal::Rejected(_)
                    | Refusal::ShortIdTaken
                    | Refusal::Stopped
                    | Refusal::Panicked(_)
                    | Refusal::Quarantined(_),
                ) => Ok(()),
                Err(Refusal::Store(error)) => Err(error),
            })),
        }
    }
}

/// What a command leads to, or why it is not taken.
type Planned = Result<(Append, Arc<Run>, Vec<Leased>), Refusal>;

type NewEffect = (u32, domain::Effect, Option<Lease>);

/// A decided command, waiting for its transaction.
struct Decided {
    pending: Pending,
    after: Arc<Run>,
    starts: Vec<Leased>,
}

/// What the core makes of one command. Everything in it may panic, and nothing of the desk is touched meanwhile.
struct Step {
    recorded: Vec<Recorded>,
    after: Run,
    row: Row,
    timer: TimerChange,
}

impl Step {
    fn take(before: &Run, command: &Command, now: Timestamp) -> Result<Self, Rejection> {
        let events = decide(before, command.clone(), &Ctx { now })?;
        let mut after = before.clone();
        let mut recorded = Vec::with_capacity(events.len());
        for event in events {
            let sequence = after.version + 1;
            let at = command.time_of(sequence).unwrap_or(now);
            let next = Recorded { sequence, at, event };
            after = evolve(after, &next);
            recorded.push(next);
        }
        let (row, timer) = (Row::of(&after), timer_change(before, &after));
        Ok(Self { recorded, after, row, timer })
    }
}

/// A command that is refused if what was decided before it is stored.
struct Rejected {
    run: RunId,
    fence: Option<Fence>,
    reply: Reply,
    refusal: Refusal,
}

impl Desk {
    pub(crate) fn open(
        parts: Parts,
        engine: Engine,
        position: watch::Sender<u64>,
        due: watch::Sender<Option<Timestamp>>,
        busy: Arc<AtomicUsize>,
    ) -> Self {
        let flights = Flights::new(parts.runner, parts.slots, busy);
        let Parts { store, clock, node, entry: rule, .. } = parts;
        let (hot, queue) = (HashMap::new(), Queue::Open);
        Self {
            store,
            clock,
            node,
            engine,
            flights,
            hot,
            backlog: true,
            grounded: Vec::new(),
            rule,
            queue,
            position,
            due,
        }
    }

    pub(crate) fn spawn(mut self, mut inbox: mpsc::Receiver<Ask>) {
        let work = move || {
            let engine = self.engine.clone();
            // The state behind a panic is not known to be whole: it is dropped, and the process ends.
            let ended = catch(|| self.work(&mut inbox));
            match ended {
                Ok(()) => engine.stopped(),
                Err(panic) => engine.fail(&format!("a bug in the writer: {panic}")),
            }
            self.flights.ground();
        };
        let thread = std::thread::Builder::new().name("desk".to_owned()).spawn(work);
        thread.expect("a process that cannot start one thread cannot run at all");
    }

    fn work(&mut self, inbox: &mut mpsc::Receiver<Ask>) {
        if !self.process(Vec::new()) {
            return;
        }
        while let Some(first) = inbox.blocking_recv() {
            let mut asks = vec![first];
            while asks.len() < MAX_BATCH
                && let Ok(ask) = inbox.try_recv()
            {
                asks.push(ask);
            }
            if !self.take(asks) {
                return;
            }
        }
    }

    /// Handles one round of asks; `false` ends the desk.
    fn take(&mut self, asks: Vec<Ask>) -> bool {
        if self.engine.has_failed() {
            return false;
        }
        let mut pending = Vec::with_capacity(asks.len());
        let mut stop = None;
        for ask in asks {
            match ask {
                Ask::Submit { run, command, key, reply } => {
                    pending.push(Pending { run, command: *command, key, fence: None, reply: Reply::Submit(reply) });
                }
                Ask::Report { effect: EffectId { run, number }, epoch, outcome, reply } => {
                    let command = Command::Report(Report { effect: number, outcome: *outcome });
                    let fence = Some(Fence { number, epoch });
                    pending.push(Pending { run, command, key: None, fence, reply: Reply::Report(reply) });
                }
                Ask::Look => {
                    self.backlog = true;
                    self.queue = Queue::Open;
                }
                Ask::Stop { reply } => stop = Some(reply),
            }
        }
        let alive = self.process(pending);
        if let Some(reply) = stop {
            // Stopping waits for nobody; the asker may have left.
            let _ = reply.send(());
            return false;
        }
        alive
    }

    /// Decides, commits, answers, acts. Commands that another writer overtook are decided again.
    fn process(&mut self, mut pending: Vec<Pending>) -> bool {
        for leased in std::mem::take(&mut self.grounded) {
            self.start(leased);
        }
        // Every pass writes what fits; a run cannot be overtaken for ever, and the bound says so.
        for _ in 0..16 {
            let now = self.now();
            let (decided, rejected, batch) = self.decide_all(std::mem::take(&mut pending), now);
            if batch.appends.is_empty() && batch.lease.is_none() {
                self.reject(rejected);
                return true;
            }
            let committed = match self.store.commit(&batch) {
                Ok(committed) => committed,
                Err(error) => return self.failed(decided, rejected, &error),
            };
            self.reject(rejected);
            if let Some(wish) = &batch.lease {
                self.note_what_is_left(wish, &committed);
            }
            let leased = committed.leased;
            let about_to_start = leased.iter().map(|leased| &leased.id.run).collect();
            pending = self.settle(decided, batch.appends, committed.appended, &about_to_start);
            for leased in leased {
                self.start(leased);
            }
            self.position.send_if_modified(|known| {
                let changed = *known != committed.position;
                *known = committed.position;
                changed
            });
            if pending.is_empty() {
                return true;
            }
        }
        for left in pending {
            left.reply.send(Err(Refusal::Store(StoreError::Busy)));
        }
        true
    }

    fn decide_all(&mut self, pending: Vec<Pending>, now: Timestamp) -> (Vec<Decided>, Vec<Rejected>, Batch) {
        let mut batch = Batch::default();
        let mut decided = Vec::with_capacity(pending.len());
        let mut rejected = Vec::new();
        let (mut heavy, mut light) = self.flights.free();
        for one in pending {
            let mut answer = self.decide_one(&one, now, &mut heavy, &mut light);
            if matches!(answer, Err(Refusal::Rejected(_))) && self.forget_old(&one.run) {
                answer = self.decide_one(&one, now, &mut heavy, &mut light);
            }
            let (one, answer) = match answer {
                Err(Refusal::Panicked(panic)) => self.contain(one, &panic, now, &mut heavy, &mut light),
                answer => (one, answer),
            };
            match answer {
                Ok((append, after, starts)) => {
                    self.hot.insert(one.run.clone(), Arc::clone(&after));
                    batch.appends.push(append);
                    decided.push(Decided { pending: one, after, starts });
                }
                Err(refusal) => match self.repeated(&one) {
                    Some(receipt) => one.reply.send(receipt),
                    None => rejected.push(Rejected { run: one.run, fence: one.fence, reply: one.reply, refusal }),
                },
            }
        }
        batch.lease = self.wish(now, heavy, light);
        (decided, rejected, batch)
    }

    /// A panic while deciding ends that command and no more: what the run was told is replaced by a word that makes it
    /// wait for a person, and where not even that can be decided the run is left alone from here on.
    fn contain(
        &mut self,
        one: Pending,
        panic: &str,
        now: Timestamp,
        heavy: &mut usize,
        light: &mut usize,
    ) -> (Pending, Planned) {
        tracing::error!(run = %one.run, panic, "a bug: a command could not be decided; the run is made to wait");
        let refusal = Refusal::Panicked(panic.into());
        for (command, fence) in quarantine::stand_ins(&one.command, one.fence, panic) {
            let stand_in = Pending { run: one.run.clone(), command, key: None, fence, reply: Reply::Nobody };
            match self.decide_one(&stand_in, now, heavy, light) {
                Ok(planned) if fence.is_some() => return (Pending { command: stand_in.command, ..one }, Ok(planned)),
                Ok(planned) => {
                    if let Some(fence) = one.fence {
                        self.flights.land_fenced(&one.run, fence.number, fence.epoch);
                    }
                    one.reply.send(Err(refusal));
                    return (stand_in, Ok(planned));
                }
                // It waits for a person already, or has ended.
                Err(Refusal::Rejected(_)) => return (one, Err(refusal)),
                Err(Refusal::Panicked(_)) => {}
                Err(other) => return (one, Err(other)),
            }
        }
        let report = self.engine.quarantine(&one.run, panic);
        self.hot.remove(&one.run);
        if let Some(number) = self.flights.number(&one.run) {
            self.flights.land(&one.run, number);
        }
        (one, Err(Refusal::Quarantined(report)))
    }

    /// Forgets a run that another process has moved on since; a no must not rest on what is no longer so.
    fn forget_old(&mut self, id: &RunId) -> bool {
        let Some(known) = self.hot.get(id).map(|run| run.version) else { return false };
        let moved_on = self.store.events(id, known).is_ok_and(|newer| !newer.is_empty());
        if moved_on {
            self.hot.remove(id);
        }
        moved_on
    }

    fn wish(&self, now: Timestamp, heavy: usize, light: usize) -> Option<LeaseWish> {
        let entry = (self.queue == Queue::Open && light > 0).then_some(self.rule);
        let heavy = if self.backlog { heavy } else { 0 };
        let wanted = entry.is_some() || (self.backlog && (heavy > 0 || light > 0));
        wanted.then(|| LeaseWish { node: self.node.clone(), now, until: until(now), heavy, light, entry })
    }

    /// A wish that was filled to its limit may have left effects behind.
    fn note_what_is_left(&mut self, wish: &LeaseWish, committed: &Committed) {
        let is_heavy = |leased: &&Leased| Weight::of(&leased.effect, None) == Weight::Heavy;
        let heavy = committed.leased.iter().filter(is_heavy).count();
        let light_is_full = committed.leased.len() - heavy >= wish.light;
        self.backlog = self.backlog && (heavy >= wish.heavy || light_is_full);
        if wish.entry.is_some() {
            self.queue = match committed.queued {
                0 => Queue::Empty,
                _ if light_is_full => Queue::Open,
                _ => Queue::Blocked,
            };
        }
    }

    fn decide_one(&mut self, one: &Pending, now: Timestamp, heavy: &mut usize, light: &mut usize) -> Planned {
        let before = self.find(&one.run)?;
        let step = catch(|| Step::take(&before, &one.command, now)).map_err(|panic| Refusal::Panicked(panic.into()))?;
        let Step { recorded, after, row, timer } = step?;
        let removed: Vec<u32> = gone(&before, &after);
        if !removed.is_empty() && after.open_effects.keys().any(|open| *open <= before.effects_requested) {
            // What the run wished for earlier has its turn now.
            self.backlog = true;
        }
        let finished = one.fence.map(|fence| fence.number);
        if let Some(number) = finished.filter(|number| self.flights.number(&one.run) == Some(*number)) {
            // Its slot is free for what follows; the flight itself lands once the report is stored.
            match before.open_effects.get(&number).map(|effect| Weight::of(effect, None)) {
                Some(Weight::Heavy) => *heavy += 1,
                Some(Weight::Light | Weight::Entry) => *light += 1,
                None => {}
            }
        }
        if self.queue == Queue::Blocked && may_let_in(&before, &after) {
            self.queue = Queue::Open;
        }
        let (added, starts) = self.plan_starts(&row, &before, &after, &removed, now, heavy, light);
        let append = Append {
            run: one.run.clone(),
            expected: before.version,
            events: recorded,
            added,
            removed,
            fence: one.fence,
            timer,
            row: Some(row),
            key: one.key.clone(),
        };
        Ok((append, Arc::new(after), starts))
    }

    /// New effects start at once where nothing of the run is in the air and a slot is free; else they queue. Entries
    /// always queue: whether a run is let in is for the store to say, in the same transaction.
    #[expect(clippy::too_many_arguments, reason = "two counters that the whole batch shares")]
    fn plan_starts(
        &mut self,
        row: &Row,
        before: &Run,
        after: &Run,
        removed: &[u32],
        now: Timestamp,
        heavy: &mut usize,
        light: &mut usize,
    ) -> (Vec<NewEffect>, Vec<Leased>) {
        let id = &row.id;
        let mut lane_free = match self.flights.number(id) {
            Some(flying) => removed.contains(&flying),
            None => before.open_effects.keys().all(|open| removed.contains(open)),
        };
        let mut added = Vec::new();
        let mut starts = Vec::new();
        for (number, effect) in &after.open_effects {
            if *number <= before.effects_requested {
                continue;
            }
            let slot = match Weight::of(effect, row.parent.as_ref()) {
                Weight::Heavy => &mut *heavy,
                Weight::Light => &mut *light,
                Weight::Entry => {
                    self.queue = Queue::Open;
                    added.push((*number, effect.clone(), None));
                    continue;
                }
            };
            let lease =
                (lane_free && *slot > 0).then(|| Lease { node: self.node.clone(), until: until(now), epoch: 1 });
            match &lease {
                Some(lease) => {
                    *slot -= 1;
                    lane_free = false;
                    let id = EffectId { run: id.clone(), number: *number };
                    starts.push(Leased { id, effect: effect.clone(), lease: lease.clone() });
                }
                None => self.backlog = true,
            }
            added.push((*number, effect.clone(), lease));
        }
        (added, starts)
    }

    /// After the commit: answers go out, flights land and start. Returns what has to be decided again.
    fn settle(
        &mut self,
        decided: Vec<Decided>,
        appends: Vec<Append>,
        results: Vec<Appended>,
        about_to_start: &HashSet<&RunId>,
    ) -> Vec<Pending> {
        let mut again = Vec::new();
        for ((one, append), result) in decided.into_iter().zip(appends).zip(results) {
            let run = one.pending.run.clone();
            match result {
                Appended::Done => {
                    self.done(one, &append);
                    if !self.flights.is_flying(&run) && !about_to_start.contains(&run) {
                        self.hot.remove(&run);
                    }
                }
                Appended::Conflict => {
                    self.hot.remove(&run);
                    again.push(one.pending);
                }
                Appended::Fenced => {
                    self.hot.remove(&run);
                    if let Some(fence) = append.fence {
                        self.flights.land_fenced(&run, fence.number, fence.epoch);
                    }
                    one.pending.reply.send(Err(Refusal::Rejected(Rejection::EffectNotOpen(
                        append.fence.map_or(0, |fence| fence.number),
                    ))));
                }
                Appended::Repeated(known, _) => {
                    self.hot.remove(&run);
                    let receipt = self.receipt_of(&known);
                    one.pending.reply.send(receipt);
                }
                Appended::ShortIdTaken => {
                    self.hot.remove(&run);
                    one.pending.reply.send(Err(Refusal::ShortIdTaken));
                }
            }
        }
        again
    }

    fn done(&mut self, one: Decided, append: &Append) {
        let run = one.pending.run;
        for number in &append.removed {
            self.flights.land(&run, *number);
        }
        if let TimerChange::Set(timer) = append.timer {
            let now = self.now();
            self.due.send_if_modified(|due| {
                // One that is past has fired: what is slept for since then is not known here.
                let sooner = due.is_none_or(|known| known <= now || timer.at < known);
                *due = if sooner { Some(timer.at) } else { *due };
                sooner
            });
        }
        for leased in one.starts {
            self.flights.start(leased, Arc::clone(&one.after), self.engine.clone());
        }
        one.pending.reply.send(Ok(Receipt { run: Arc::clone(&one.after), repeated: false }));
    }

    fn start(&mut self, leased: Leased) {
        // The wish may be another process's, made after the last time we looked at its run.
        if self.hot.get(&leased.id.run).is_some_and(|run| !run.open_effects.contains_key(&leased.id.number)) {
            self.hot.remove(&leased.id.run);
        }
        match self.find(&leased.id.run) {
            // It was taken back while its run could not be read.
            Ok(run) if !run.open_effects.contains_key(&leased.id.number) => {}
            Ok(run) => {
                self.hot.insert(leased.id.run.clone(), Arc::clone(&run));
                self.flights.start(leased, run, self.engine.clone());
            }
            // It is left alone until the next start; its lease is renewed with the others.
            Err(Refusal::Quarantined(_)) => {}
            // The lease is ours and is renewed with the others, so nobody else would ever take it up.
            Err(refusal) => {
                tracing::warn!(effect = %leased.id, %refusal, "a leased effect's run cannot be read; trying again");
                self.grounded.push(leased);
            }
        }
    }

    /// Nothing was written: everybody is told, and what was only in memory is forgotten.
    fn failed(&mut self, decided: Vec<Decided>, rejected: Vec<Rejected>, error: &StoreError) -> bool {
        tracing::error!(%error, "a transaction failed");
        if error.is_fatal() {
            self.engine.fail(&error.to_string());
        }
        for one in decided {
            self.hot.remove(&one.pending.run);
            one.pending.reply.send(Err(Refusal::Store(error.clone())));
        }
        for one in rejected {
            one.reply.send(Err(Refusal::Store(error.clone())));
        }
        !error.is_fatal()
    }

    /// A no may rest on what was decided just before it in the same batch: it counts once that is stored.
    fn reject(&mut self, rejected: Vec<Rejected>) {
        for Rejected { run, fence, reply, refusal } in rejected {
            if let (Some(fence), Refusal::Rejected(_) | Refusal::Panicked(_)) = (fence, &refusal) {
                // Somebody else reported it, or it was taken back: nothing of it is in the air any more.
                self.flights.land_fenced(&run, fence.number, fence.epoch);
            }
            reply.send(Err(refusal));
        }
    }

    fn find(&self, id: &RunId) -> Result<Arc<Run>, Refusal> {
        if let Some(report) = self.engine.quarantined(id) {
            return Err(Refusal::Quarantined(report));
        }
        if let Some(run) = self.hot.get(id) {
            return Ok(Arc::clone(run));
        }
        let events = self.store.events(id, 0)?;
        match catch(|| fold(id, events)) {
            Ok(run) => Ok(Arc::new(run.unwrap_or_else(|| Run::unopened(id.clone())))),
            Err(panic) => Err(Refusal::Quarantined(self.engine.quarantine(id, &panic))),
        }
    }

    /// A rejected command whose key was taken before is a repeat, not a refusal.
    fn repeated(&self, one: &Pending) -> Option<Result<Receipt, Refusal>> {
        let key = one.key.as_ref()?;
        let (run, _) = self.store.command(key).ok().flatten()?;
        Some(self.receipt_of(&run))
    }

    fn receipt_of(&self, run: &RunId) -> Result<Receipt, Refusal> {
        Ok(Receipt { run: self.find(run)?, repeated: true })
    }

    /// Whole milliseconds: what is stored must come back equal.
    fn now(&self) -> Timestamp {
        let now = (self.clock)();
        Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
    }
}

/// Whether something that keeps queued runs out has changed: a run ended, or a person is asked something else.
fn may_let_in(before: &Run, after: &Run) -> bool {
    before.is_ended() != after.is_ended() || before.hold().map(|hold| hold.id) != after.hold().map(|hold| hold.id)
}

fn gone(before: &Run, after: &Run) -> Vec<u32> {
    before.open_effects.keys().filter(|number| !after.open_effects.contains_key(number)).copied().collect()
}

fn timer_change(before: &Run, after: &Run) -> TimerChange {
    match (before.timer(), after.timer()) {
        (before, after) if before == after => TimerChange::Keep,
        (_, Some(timer)) => TimerChange::Set(timer),
        (_, None) => TimerChange::Clear,
    }
}

fn until(now: Timestamp) -> Timestamp {
    now.saturating_add(LEASE).unwrap_or(Timestamp::MAX)
}
