//! The loop: one door for every change, one transaction for what it causes, then the effects.
//! Names only `domain`; stores and runners plug in through the two traits of `ports`.
#![warn(missing_docs)]
#![warn(clippy::wildcard_enum_match_arm)]

mod boundary;
mod channel;
mod desk;
mod diary;
mod entry;
mod flights;
mod handle;
mod kin;
mod panics;
mod ports;
mod quarantine;
mod row;
mod timers;

pub use boundary::boundary;
pub use channel::{Answered, Channel, Question};
pub use diary::{DiarySink, Note, Page, SessionId, SessionRow, TurnItem, TurnRow};
pub use entry::{Blocked, EntryRule, QueueState, turn};
pub use handle::{Clock, Engine, Parts, Receipt, Refusal, Slots, Writer};
pub use ports::{
    Append, Appended, Batch, CommandKey, Committed, DueTimer, EffectRunner, FeedItem, Fence, Job, Lease, LeaseWish,
    Leased, NodeId, OutboxRow, PursuitSink, RunFilter, SpendSink, Store, StoreError, TaintSink, TimerChange, Weight,
};
pub use row::Row;
