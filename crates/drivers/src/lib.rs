//! Translators between Holdpoint and agent programs: what a program is given, and what its bytes mean.
//! Never does I/O.

mod event;
mod hand_in;
mod job;
mod own;

pub use event::AgentEvent;
pub use hand_in::{
    HandIn, HandoffHandIn, KeyFile, PlanHandIn, PulseHandIn, ReflectionHandIn, ResearchHandIn, ScopeHandIn, TasksHandIn,
};
pub use job::{IterationJob, JOB_FILE, Job, JobKind, ModelDoor, PastAnswer, PulseJob, RESULT_FILE, TURNS_FILE};
pub use own::{Decoded, Own};
