//! The pure core: what a run is, what may happen to it, and what has happened.
//! Never reads a clock, a file, the environment or a random number: everything it needs is an argument.
#![warn(missing_docs)]
#![warn(clippy::wildcard_enum_match_arm)]

mod artifact;
mod command;
mod config;
mod decide;
mod digest;
mod effect;
mod event;
mod evolve;
mod hold;
mod ids;
mod invariants;
mod money;
mod names;
mod outcome;
mod playbook;
mod run;
mod status;
mod why;

pub use artifact::{Artifact, ArtifactKind, Check, CheckResult, Finding, Proof, Review, Severity, Verdict};
pub use command::{Command, Decide, Rejection, Report, SpendReport, Start};
pub use config::{ConfigError, Gate, GitPolicy, ModelName, Policy, RunConfig, Trust, TrustKey};
pub use decide::{Ctx, decide};
pub use digest::Digest;
pub use effect::{AgentTask, Effect, LandPolicy, Session};
pub use event::{Event, Recorded};
pub use evolve::{evolve, replay};
pub use hold::{Actor, Decision, DecisionKind, Hold, HoldKind, Question, ResponseType};
pub use ids::{CommitId, EffectId, HoldId, IdError, RunId};
pub use invariants::{Violation, check_log};
pub use money::Micros;
pub use names::{branch_name, slug};
pub use outcome::{AgentEnd, DecisionNote, Outcome, Submission};
pub use playbook::{Playbook, PlaybookError, Stage, Work};
pub use run::{Answer, Ending, FinishStep, Note, NoteKind, Phase, Run, Spend, StageState, Step, Timer, TimerKind};
pub use status::Status;
pub use why::{Why, why};
