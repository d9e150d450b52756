//! The two ports: where facts are kept, and who acts. Everything else in this room is one loop over them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use domain::{Effect, EffectId, Outcome, PursuitReport, Recorded, Run, RunId, SpendReport, TaintReport, Timer};
use jiff::Timestamp;

use crate::{EntryRule, QueueState, Row};

/// Where facts are kept. Calls block; the engine makes them from a thread of its own.
pub trait Store: Send + Sync + 'static {
    /// Writes a batch in ONE durable transaction. An append that does not fit (another writer was first, or its
    /// lease is old) is left out and said so in its place; the others are written.
    fn commit(&self, batch: &Batch) -> Result<Committed, StoreError>;

    /// The events of a run with a sequence number above `after`, in order.
    fn events(&self, run: &RunId, after: u64) -> Result<Vec<Recorded>, StoreError>;

    /// The hash over a run's events up to one of them, as hexadecimal text; `None` where there is none.
    fn run_hash(&self, run: &RunId, sequence: u64) -> Result<Option<String>, StoreError> {
        let _not_kept = (run, sequence);
        Ok(None)
    }

    /// Events of all runs after a global position, oldest first; what a fork inherited happened once, in its origin,
    /// and is not told again.
    fn feed(&self, after: u64, limit: usize) -> Result<Vec<FeedItem>, StoreError>;

    /// The same, of some types only, as they are stored (`RUN_STARTED` …). A store may give others too; nothing is left
    /// after `after` when it gives none.
    fn feed_of(&self, types: &[&str], after: u64, limit: usize) -> Result<Vec<FeedItem>, StoreError> {
        let _all = types;
        self.feed(after, limit)
    }

    /// The position of the newest event; 0 when there is none.
    fn position(&self) -> Result<u64, StoreError>;

    /// The row of one run.
    fn row(&self, run: &RunId) -> Result<Option<Row>, StoreError>;

    /// Rows, newest first.
    fn rows(&self, filter: &RunFilter) -> Result<Vec<Row>, StoreError>;

    /// Ids that begin with a text, at most `limit`.
    fn ids_with_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<RunId>, StoreError>;

    /// What a command with this key did before, if it was taken: the run and its version then.
    fn command(&self, key: &CommandKey) -> Result<Option<(RunId, u64)>, StoreError>;

    /// Timers due at or before `now`, earliest first.
    fn due_timers(&self, now: Timestamp, limit: usize) -> Result<Vec<DueTimer>, StoreError>;

    /// When the earliest timer is due.
    fn next_timer(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Takes back every lease: only for a process that knows itself to be the only one.
    fn release_all_leases(&self) -> Result<u64, StoreError>;

    /// Prolongs this node's leases.
    fn renew(&self, node: &NodeId, until: Timestamp) -> Result<u64, StoreError>;

    /// Effects that are asked for and not finished, with who works on them.
    fn outbox(&self, run: Option<&RunId>) -> Result<Vec<OutboxRow>, StoreError>;

    /// How a run stands that waits to be let in; `None` when it does not.
    fn queue(&self, run: &RunId, rule: &EntryRule) -> Result<Option<QueueState>, StoreError>;
}

/// One transaction's worth of work.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// What is to be written.
    pub appends: Vec<Append>,
    /// Effects to be leased in the same transaction, after the appends.
    pub lease: Option<LeaseWish>,
}

/// What one command caused.
#[derive(Debug, Clone)]
pub struct Append {
    /// The run.
    pub run: RunId,
    /// Its version before; if it is another by now, nothing of this is written.
    pub expected: u64,
    /// New events, gapless from `expected + 1`.
    pub events: Vec<Recorded>,
    /// New open effects; with a lease when this node starts them at once.
    pub added: Vec<(u32, Effect, Option<Lease>)>,
    /// Effects that are no longer open.
    pub removed: Vec<u32>,
    /// The lease under which this is said, for reports.
    pub fence: Option<Fence>,
    /// What happens to the run's timer.
    pub timer: TimerChange,
    /// The run's new row.
    pub row: Option<Row>,
    /// Makes a repeat of the command harmless.
    pub key: Option<CommandKey>,
}

/// What happens to a run's timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerChange {
    /// Nothing.
    Keep,
    /// It is set, in place of any other.
    Set(Timer),
    /// There is none any more.
    Clear,
}

/// A client's key for one command.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CommandKey(pub String);

/// One process that works on effects.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NodeId(pub String);

/// The right to work on an effect until some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Who.
    pub node: NodeId,
    /// Until when.
    pub until: Timestamp,
    /// Rises with every lease of the effect; an older one writes nothing. A fresh effect's first lease is 1.
    pub epoch: u64,
}

/// A claim to hold a lease, checked in the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    /// The effect's number.
    pub number: u32,
    /// The lease's epoch.
    pub epoch: u64,
}

/// How much of the machine an effect takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Agents and checks: they have slots.
    Heavy,
    /// Git plumbing and the like.
    Light,
    /// The door through which a root run begins: takes a light slot, and only where the rule lets it in.
    Entry,
}

impl Weight {
    /// The weight of a run's effect. A child run begins without asking: its parent was let in.
    #[must_use]
    pub fn of(effect: &Effect, parent: Option<&RunId>) -> Self {
        match effect {
            Effect::RunAgent(_) | Effect::Prove { .. } | Effect::Land(_) => Self::Heavy,
            Effect::OpenBranch | Effect::OpenFork { .. } if parent.is_none() => Self::Entry,
            Effect::OpenBranch
            | Effect::OpenFork { .. }
            | Effect::OpenChildBranch
            | Effect::CommitArtifact { .. }
            | Effect::Adopt { .. }
            | Effect::StartChild(_)
            | Effect::MergeChild(_)
            | Effect::TellChild { .. }
            | Effect::TellAgent { .. }
            | Effect::TellParent
            | Effect::OpenPullRequest { .. }
            | Effect::StopAgent { .. }
            | Effect::Publish { .. }
            | Effect::WriteRecord
            | Effect::PushRemote { .. }
            | Effect::CleanUp => Self::Light,
        }
    }
}

/// A wish for effects to work on: unleased ones and those whose lease ran out, oldest first.
#[derive(Debug, Clone)]
pub struct LeaseWish {
    /// For whom.
    pub node: NodeId,
    /// The time, for judging old leases.
    pub now: Timestamp,
    /// Until when.
    pub until: Timestamp,
    /// At most so many heavy ones.
    pub heavy: usize,
    /// At most so many light ones and entries together; light ones go first, they finish what has begun.
    pub light: usize,
    /// The rule under which runs are let in; without one, none is.
    pub entry: Option<EntryRule>,
}

/// What a commit did.
#[derive(Debug, Clone, Default)]
pub struct Committed {
    /// One entry per append, in order.
    pub appended: Vec<Appended>,
    /// Effects leased by the wish.
    pub leased: Vec<Leased>,
    /// Runs that a wish with a rule has left in the queue.
    pub queued: u64,
    /// Position of the newest event.
    pub position: u64,
}

/// What became of an append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Appended {
    /// Written.
    Done,
    /// Another writer was first; the run has to be read again.
    Conflict,
    /// The lease is old; the report counts for nothing.
    Fenced,
    /// The command was taken before, and led to this version of that run.
    Repeated(RunId, u64),
    /// Another run has the same short id; start it under another.
    ShortIdTaken,
}

/// An effect this node may work on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leased {
    /// Which.
    pub id: EffectId,
    /// What.
    pub effect: Effect,
    /// Under which lease.
    pub lease: Lease,
}

/// An open effect as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxRow {
    /// Which.
    pub id: EffectId,
    /// What.
    pub effect: Effect,
    /// Who works on it.
    pub lease: Option<Lease>,
    /// Since when it is wished for.
    pub requested_at: Timestamp,
}

/// A timer that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueTimer {
    /// Whose.
    pub run: RunId,
    /// Which.
    pub timer: u64,
    /// Since when.
    pub due: Timestamp,
}

/// One event in the order of all runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedItem {
    /// Global position.
    pub position: u64,
    /// The run.
    pub run: RunId,
    /// The event.
    pub recorded: Recorded,
}

/// Which rows to list.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    /// Only runs of this repository.
    pub project: Option<String>,
    /// Only runs with one of these statuses; empty means all.
    pub statuses: Vec<domain::Status>,
    /// Only runs of this playbook.
    pub playbook: Option<String>,
    /// Only runs whose request has this text in it; the case of ASCII letters does not matter.
    pub text: Option<String>,
    /// Only runs created then or later.
    pub since: Option<Timestamp>,
    /// Only runs created before this one (paging).
    pub before: Option<RunId>,
    /// At most so many; 0 means 100.
    pub limit: usize,
}

/// Why the store could not.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// No space left.
    #[error("the disk with the database is full")]
    Full,
    /// Another process holds the database for too long.
    #[error("the database is locked by another process")]
    Busy,
    /// The file cannot be written.
    #[error("the database cannot be written: {0}")]
    ReadOnly(String),
    /// The file is damaged.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// Made by a newer version.
    #[error("the database was made by a newer version ({0})")]
    TooNew(String),
    /// What is stored of one run does not decode; the others are not touched by it.
    #[error("run {run} cannot be read: {reason}")]
    RunUnreadable {
        /// Which.
        run: RunId,
        /// What does not decode.
        reason: String,
    },
    /// The disk failed; nothing may be assumed about the last write.
    #[error("the disk failed: {0}")]
    Disk(String),
    /// Anything else.
    #[error("the database refused: {0}")]
    Other(String),
}

impl StoreError {
    /// Whether the process must stop: what was written last is unknown.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::Disk(_) | Self::Damaged(_) => true,
            Self::Full
            | Self::Busy
            | Self::ReadOnly(_)
            | Self::TooNew(_)
            | Self::RunUnreadable { .. }
            | Self::Other(_) => false,
        }
    }
}

/// Who acts. An effect may be asked for twice; the second time adopts what the first did.
pub trait EffectRunner: Send + Sync + 'static {
    /// Does an effect and says what came of it. Dropping the future stops the waiting, not the work.
    fn run(self: Arc<Self>, job: Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>>;
}

/// One effect to be done.
#[derive(Clone)]
pub struct Job {
    /// Which.
    pub id: EffectId,
    /// What.
    pub effect: Effect,
    /// The run as it stood when the effect was dispatched.
    pub run: Arc<Run>,
    /// Where paid model calls are reported.
    pub spend: SpendSink,
    /// Where an agent's steps towards a goal are reported.
    pub pursuit: PursuitSink,
    /// Where text of strangers is reported that an agent reads.
    pub taint: TaintSink,
}

type Done = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Takes an agent's steps towards a goal; resolves once the step is stored or known to be refused.
#[derive(Clone)]
pub struct PursuitSink(pub Arc<dyn Fn(PursuitReport) -> Done + Send + Sync>);

impl PursuitSink {
    /// Reports one step.
    pub async fn report(&self, step: PursuitReport) {
        (self.0)(step).await;
    }
}

/// Takes what agents read of strangers; resolves once it is stored or known to be refused.
#[derive(Clone)]
pub struct TaintSink(pub Arc<dyn Fn(TaintReport) -> Done + Send + Sync>);

impl TaintSink {
    /// Reports one source.
    pub async fn report(&self, report: TaintReport) {
        (self.0)(report).await;
    }
}

/// Takes reports of paid model calls; resolves once the report is stored or known to be stored before.
#[derive(Clone)]
pub struct SpendSink(pub Arc<dyn Fn(SpendReport) -> Done + Send + Sync>);

impl SpendSink {
    /// Reports one call.
    pub async fn report(&self, spend: SpendReport) {
        (self.0)(spend).await;
    }
}
