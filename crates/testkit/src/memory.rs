//! A store in memory with the semantics of the real one: the second implementation of the port, and the model the
//! property tests compare with. Never survives its process.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard};

use domain::{Effect, EffectId, Event, Recorded, RunId};
use engine::{
    Append, Appended, Batch, CommandKey, Committed, DueTimer, EntryRule, FeedItem, Lease, LeaseWish, Leased, NodeId,
    OutboxRow, QueueState, Row, RunFilter, Store, StoreError, TimerChange, Weight,
};
use jiff::Timestamp;

/// Facts in a process's memory.
#[derive(Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// In the order of their start.
    rows: Vec<Row>,
    versions: HashMap<RunId, u64>,
    feed: Vec<FeedItem>,
    /// In the order of their entry.
    outbox: Vec<Open>,
    timers: BTreeMap<RunId, domain::Timer>,
    commands: HashMap<CommandKey, (RunId, u64)>,
}

struct Open {
    id: EffectId,
    effect: Effect,
    requested_at: Timestamp,
    holder: Option<(NodeId, Timestamp)>,
    epoch: u64,
}

impl MemoryStore {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test panics inside the store")
    }
}

impl State {
    fn write(&mut self, append: &Append) -> Appended {
        let after = append.expected + append.events.len() as u64;
        if let Some((run, version)) = append.key.as_ref().and_then(|key| self.commands.get(key)) {
            return Appended::Repeated(run.clone(), *version);
        }
        let held = |fence: engine::Fence| {
            self.outbox.iter().any(|open| {
                open.id.run == append.run
                    && open.id.number == fence.number
                    && open.epoch == fence.epoch
                    && open.holder.is_some()
            })
        };
        if append.fence.is_some_and(|fence| !held(fence)) {
            return Appended::Fenced;
        }
        if self.versions.get(&append.run).copied().unwrap_or(0) != append.expected {
            return Appended::Conflict;
        }
        if append.expected == 0 && self.versions.keys().any(|run| run.short() == append.run.short()) {
            return Appended::ShortIdTaken;
        }
        self.apply(append, after);
        Appended::Done
    }

    fn apply(&mut self, append: &Append, after: u64) {
        self.versions.insert(append.run.clone(), after);
        if let Some(row) = &append.row {
            match self.rows.iter_mut().find(|known| known.id == append.run) {
                Some(known) => *known = row.clone(),
                None => self.rows.push(row.clone()),
            }
        } else if let Some(known) = self.rows.iter_mut().find(|known| known.id == append.run) {
            known.version = after;
        }
        for recorded in &append.events {
            let position = self.feed.len() as u64 + 1;
            self.feed.push(FeedItem { position, run: append.run.clone(), recorded: recorded.clone() });
        }
        self.outbox.retain(|open| open.id.run != append.run || !append.removed.contains(&open.id.number));
        let requested_at = append.events.last().map(|recorded| recorded.at);
        let requested_at = requested_at.or_else(|| append.row.as_ref().map(|row| row.updated_at)).unwrap_or_default();
        for (number, effect, lease) in &append.added {
            self.outbox.push(Open {
                id: EffectId { run: append.run.clone(), number: *number },
                effect: effect.clone(),
                requested_at,
                holder: lease.as_ref().map(|lease| (lease.node.clone(), lease.until)),
                epoch: lease.as_ref().map_or(0, |lease| lease.epoch),
            });
        }
        match append.timer {
            TimerChange::Keep => {}
            TimerChange::Clear => drop(self.timers.remove(&append.run)),
            TimerChange::Set(timer) => drop(self.timers.insert(append.run.clone(), timer)),
        }
        if let Some(key) = &append.key {
            self.commands.insert(key.clone(), (append.run.clone(), after));
        }
    }

    /// Leases what the wish allows; with how many runs are left in the queue.
    fn lease(&mut self, wish: &LeaseWish) -> (Vec<Leased>, u64) {
        let mut chosen = self.oldest(wish, Weight::Light, wish.light);
        let mut left = 0;
        if let Some(rule) = &wish.entry {
            let (entries, queued) = self.entries(wish, rule, wish.light - chosen.len());
            left = queued - entries.len() as u64;
            chosen.extend(entries);
        }
        chosen.extend(self.oldest(wish, Weight::Heavy, wish.heavy));
        chosen.sort_by_key(|index| (self.turn(*index), *index));
        let take = |index: usize| {
            let open = &mut self.outbox[index];
            open.epoch += 1;
            open.holder = Some((wish.node.clone(), wish.until));
            let lease = Lease { node: wish.node.clone(), until: wish.until, epoch: open.epoch };
            Leased { id: open.id.clone(), effect: open.effect.clone(), lease }
        };
        (chosen.into_iter().map(take).collect(), left)
    }

    fn row_of(&self, index: usize) -> &Row {
        let run = &self.outbox[index].id.run;
        self.rows.iter().find(|row| row.id == *run).expect("every run begins with a row")
    }

    fn weight(&self, index: usize) -> Weight {
        Weight::of(&self.outbox[index].effect, self.row_of(index).parent.as_ref())
    }

    fn turn(&self, index: usize) -> Timestamp {
        let requested_at = self.outbox[index].requested_at;
        match self.weight(index) {
            Weight::Entry => engine::turn(requested_at, self.row_of(index).priority),
            Weight::Heavy | Weight::Light => requested_at,
        }
    }

    /// The first of a weight that nobody works on.
    fn oldest(&self, wish: &LeaseWish, weight: Weight, limit: usize) -> Vec<usize> {
        let fits = |index: &usize| self.weight(*index) == weight && self.its_turn(*index, wish.now);
        let mut found: Vec<usize> = (0..self.outbox.len()).filter(fits).collect();
        found.sort_by_key(|index| (self.turn(*index), *index));
        found.truncate(limit);
        found
    }

    /// Runs that are let in, one after the other; with how many were queued.
    fn entries(&self, wish: &LeaseWish, rule: &EntryRule, limit: usize) -> (Vec<usize>, u64) {
        let queued = self.queued(|open| live(open, wish.now));
        let mut let_in: Vec<usize> = Vec::new();
        for index in self.oldest(wish, Weight::Entry, usize::MAX) {
            let user = &self.row_of(index).user;
            let out = |index: &&usize| self.row_of(**index).user == *user && !let_in.contains(*index);
            let active = self.open(user) - queued.iter().filter(out).count() as u64;
            if let_in.len() < limit && rule.room(active, self.waiting(user)) > 0 {
                let_in.push(index);
            }
        }
        (let_in, queued.len() as u64)
    }

    /// Entries that nobody holds.
    fn queued(&self, held: impl Fn(&Open) -> bool) -> Vec<usize> {
        let free = |index: &usize| self.weight(*index) == Weight::Entry && !held(&self.outbox[*index]);
        (0..self.outbox.len()).filter(free).collect()
    }

    /// A user's root runs that have not ended.
    fn open(&self, user: &str) -> u64 {
        let at_work = |row: &Row| !row.status.is_final() && !row.status.waits_for_person();
        let open = |row: &&Row| row.user == user && row.parent.is_none() && at_work(row);
        self.rows.iter().filter(open).count() as u64
    }

    fn waiting(&self, user: &str) -> u64 {
        self.rows.iter().filter(|row| row.user == user && row.status.waits_for_person()).count() as u64
    }

    fn queue(&self, run: &RunId, rule: &EntryRule) -> Option<QueueState> {
        let queued = self.queued(|open| open.holder.is_some());
        let mine = queued.iter().copied().find(|index| self.outbox[*index].id.run == *run)?;
        let user = &self.row_of(mine).user;
        let of_user: Vec<usize> = queued.into_iter().filter(|index| self.row_of(*index).user == *user).collect();
        let place = |index: usize| (self.turn(index), index);
        let ahead = of_user.iter().filter(|index| place(**index) < place(mine)).count() as u64;
        let (active, waiting) = (self.open(user) - of_user.len() as u64, self.waiting(user));
        Some(QueueState { ahead, active, waiting, blocked_by: rule.blocked_by(active, waiting) })
    }

    fn its_turn(&self, index: usize, now: Timestamp) -> bool {
        let live = |open: &Open| live(open, now);
        let mine = &self.outbox[index];
        let blocked = self.outbox.iter().any(|other| {
            other.id.run == mine.id.run
                && other.id.number != mine.id.number
                && (other.id.number < mine.id.number || live(other))
        });
        !live(mine) && !blocked
    }
}

fn has(request: &str, text: &str) -> bool {
    request.to_ascii_lowercase().contains(&text.to_ascii_lowercase())
}

fn live(open: &Open, now: Timestamp) -> bool {
    open.holder.as_ref().is_some_and(|(_, until)| *until > now)
}

fn check_form(append: &Append, after: u64) -> Result<(), StoreError> {
    let follows = append.events.iter().zip(append.expected + 1..).all(|(recorded, next)| recorded.sequence == next);
    let fits = append.row.as_ref().is_none_or(|row| row.id == append.run && row.version == after);
    let first = append.events.first().map(|recorded| &recorded.event);
    let begins = append.expected != 0 || (append.row.is_some() && matches!(first, Some(Event::RunStarted { .. })));
    if follows && fits && begins { Ok(()) } else { Err(StoreError::Other(format!("a bad append to {}", append.run))) }
}

impl Store for MemoryStore {
    fn commit(&self, batch: &Batch) -> Result<Committed, StoreError> {
        let mut state = self.state();
        // All or nothing, as a transaction has it: what could fail is asked first.
        for append in &batch.appends {
            check_form(append, append.expected + append.events.len() as u64)?;
        }
        let appended = batch.appends.iter().map(|append| state.write(append)).collect();
        let (leased, queued) = batch.lease.as_ref().map(|wish| state.lease(wish)).unwrap_or_default();
        let position = state.feed.len() as u64;
        Ok(Committed { appended, leased, queued, position })
    }

    fn events(&self, run: &RunId, after: u64) -> Result<Vec<Recorded>, StoreError> {
        let state = self.state();
        let mine = state.feed.iter().filter(|item| item.run == *run && item.recorded.sequence > after);
        Ok(mine.map(|item| item.recorded.clone()).collect())
    }

    fn feed(&self, after: u64, limit: usize) -> Result<Vec<FeedItem>, StoreError> {
        let state = self.state();
        let from =
            |item: &FeedItem| state.rows.iter().find(|row| row.id == item.run).and_then(|row| row.forked_from.as_ref());
        let own = |item: &&FeedItem| !from(item).is_some_and(|from| from.has(item.recorded.sequence));
        Ok(state.feed.iter().filter(|item| item.position > after).filter(own).take(limit).cloned().collect())
    }

    fn position(&self) -> Result<u64, StoreError> {
        Ok(self.state().feed.len() as u64)
    }

    fn row(&self, run: &RunId) -> Result<Option<Row>, StoreError> {
        Ok(self.state().rows.iter().find(|row| row.id == *run).cloned())
    }

    fn rows(&self, filter: &RunFilter) -> Result<Vec<Row>, StoreError> {
        let state = self.state();
        let end = match &filter.before {
            None => state.rows.len(),
            Some(before) => state.rows.iter().position(|row| row.id == *before).unwrap_or(0),
        };
        let wanted = |row: &&Row| {
            filter.project.as_ref().is_none_or(|project| row.project == *project)
                && (filter.statuses.is_empty() || filter.statuses.contains(&row.status))
                && filter.playbook.as_ref().is_none_or(|playbook| row.playbook == *playbook)
                && filter.text.as_ref().is_none_or(|text| has(&row.request, text))
                && filter.since.is_none_or(|since| row.created_at >= since)
        };
        let limit = if filter.limit == 0 { 100 } else { filter.limit };
        Ok(state.rows[..end].iter().rev().filter(wanted).take(limit).cloned().collect())
    }

    fn ids_with_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<RunId>, StoreError> {
        let state = self.state();
        let mut ids: Vec<RunId> =
            state.versions.keys().filter(|run| run.as_str().starts_with(prefix)).cloned().collect();
        ids.sort();
        ids.truncate(limit);
        Ok(ids)
    }

    fn command(&self, key: &CommandKey) -> Result<Option<(RunId, u64)>, StoreError> {
        Ok(self.state().commands.get(key).cloned())
    }

    fn due_timers(&self, now: Timestamp, limit: usize) -> Result<Vec<DueTimer>, StoreError> {
        let state = self.state();
        let due = state.timers.iter().filter(|(_, timer)| timer.at <= now);
        let mut due: Vec<DueTimer> =
            due.map(|(run, timer)| DueTimer { run: run.clone(), timer: timer.id, due: timer.at }).collect();
        due.sort_by_key(|timer| (timer.due, timer.run.clone()));
        due.truncate(limit);
        Ok(due)
    }

    fn next_timer(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.state().timers.values().map(|timer| timer.at).min())
    }

    fn release_all_leases(&self) -> Result<u64, StoreError> {
        let mut state = self.state();
        Ok(state.outbox.iter_mut().filter_map(|open| open.holder.take()).count() as u64)
    }

    fn renew(&self, node: &NodeId, until: Timestamp) -> Result<u64, StoreError> {
        let mut state = self.state();
        let mut renewed = 0;
        for (holder, end) in state.outbox.iter_mut().filter_map(|open| open.holder.as_mut()) {
            if holder == node {
                *end = until;
                renewed += 1;
            }
        }
        Ok(renewed)
    }

    fn outbox(&self, run: Option<&RunId>) -> Result<Vec<OutboxRow>, StoreError> {
        let state = self.state();
        let mut open: Vec<&Open> =
            state.outbox.iter().filter(|open| run.is_none_or(|run| open.id.run == *run)).collect();
        open.sort_by_key(|open| open.requested_at);
        let row = |open: &Open| OutboxRow {
            id: open.id.clone(),
            effect: open.effect.clone(),
            lease: open.holder.clone().map(|(node, until)| Lease { node, until, epoch: open.epoch }),
            requested_at: open.requested_at,
        };
        Ok(open.into_iter().map(row).collect())
    }

    fn queue(&self, run: &RunId, rule: &EntryRule) -> Result<Option<QueueState>, StoreError> {
        Ok(self.state().queue(run, rule))
    }
}
