//! Translators between Holdpoint and agent programs: what a program is given, and what its bytes mean.
//! Never does I/O.

mod event;
mod hand_in;
mod job;
mod own;
mod permission;
mod role;
mod skill;

pub use event::AgentEvent;
pub use hand_in::{
    HandIn, HandoffHandIn, KeyFile, PlanHandIn, PulseHandIn, ReflectionHandIn, ResearchHandIn, ScopeHandIn, TasksHandIn,
};
pub use job::{
    GUIDANCE_FILE, Guidance, IterationJob, JOB_FILE, Job, JobKind, OBSERVATIONS_FILE, Observation, ObservationKind,
    PastAnswer, PulseJob, RESULT_FILE, STREAM_FILE, TURNS_FILE,
};
pub use own::{Decoded, Own};
pub use permission::Permission;
pub use role::{RoleError, RoleSettings};
pub use skill::{Skill, SkillError};
