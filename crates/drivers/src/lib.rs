//! Translators between Holdpoint and agent programs: what a program is given, and what its bytes mean.
//! Never does I/O.

mod event;
mod job;
mod own;

pub use event::AgentEvent;
pub use job::{HandIn, JOB_FILE, Job, JobKind, PastAnswer, PlanHandIn, PulseHandIn, RESULT_FILE, TURNS_FILE};
pub use own::{Decoded, Own};
