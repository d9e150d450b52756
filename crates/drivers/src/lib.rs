//! Translators between Holdpoint and agent programs: what a program is given, and what its bytes mean.
//! Never does I/O.

pub mod driver;
mod event;
mod guidance;
mod hand_in;
mod job;
mod mcp;
mod own;
mod permission;
mod role;
mod skill;
pub mod task_md;
mod window;

pub use driver::TERMINAL_SOCKET;
pub use event::{AgentEvent, WEB_TOOLS, is_web_tool};
pub use guidance::{GUIDANCE_FILE, Guidance};
pub use hand_in::{
    HandIn, HandoffHandIn, KeyFile, PlanHandIn, PulseHandIn, ReflectionHandIn, ResearchHandIn, ScopeHandIn, TasksHandIn,
};
pub use job::{
    DIFF_FILE, INDEX_FILE, IterationJob, JOB_FILE, Job, JobKind, KeptNote, ModelDoor, NOTES_FILE, OBSERVATIONS_FILE,
    Observation, ObservationKind, PastAnswer, PulseJob, STREAM_FILE, TURNS_FILE, Way,
};
pub use mcp::{MCP_PREFIX, McpServer, McpVariables, McpWay};
pub use own::{Decoded, Own};
pub use permission::Permission;
pub use role::{RoleError, RoleSettings};
pub use skill::{Skill, SkillError};
pub use window::known_window;
