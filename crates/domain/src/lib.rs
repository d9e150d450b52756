//! The pure core: what a run is, what may happen to it, and what has happened.
//! Never reads a clock, a file, the environment or a random number: everything it needs is an argument.
#![warn(missing_docs)]
#![warn(clippy::wildcard_enum_match_arm)]

mod artifact;
mod checkpoint;
mod command;
mod config;
mod decide;
mod digest;
mod effect;
mod event;
mod evolve;
mod fork;
mod goal;
mod hold;
mod ids;
mod invariants;
mod kin;
mod memory;
mod money;
mod names;
mod outcome;
mod plan;
mod playbook;
mod program;
mod reflection;
mod risk;
mod run;
mod secret;
mod status;
mod taint;
mod task;
mod task_brief;
mod task_map;
mod task_told;
mod task_wish;
mod test_files;
mod way_out;
mod why;

pub use artifact::{
    Artifact, ArtifactKind, Check, CheckResult, EarlierTests, Finding, Proof, Review, Severity, Verdict,
};
pub use checkpoint::{Checkpoint, CheckpointStep, checkpoints};
pub use command::{ChildReport, Command, Decide, PursuitReport, Rejection, Report, SpendReport, Start, TaintReport};
pub use config::{
    ConfigError, Gate, GitPolicy, Group, ModelName, OnFailure, Policy, Priority, RunConfig, Trust, TrustKey,
};
pub use decide::{Ctx, decide};
pub use digest::Digest;
pub use effect::{AgentTask, ChildMerge, ChildTask, ChildWord, Effect, LandPolicy, Purpose, Session};
pub use event::{Event, Recorded};
pub use evolve::{evolve, replay};
pub use fork::{Fork, ForkChanges, ForkPoint, ForkStand, ForkedFrom, Resumes, fork_points};
pub use goal::{
    Goal, GoalPhase, GoalPlanError, GoalStand, GoalTask, GoalTaskStatus, IterationEnd, PursuitStep, check_goal_tasks,
    parse_goal_tasks, update_goal_task,
};
pub use hold::{Actor, Asked, AtDeadline, Decision, DecisionKind, Hold, HoldKind, Question, ResponseType};
pub use ids::{CommitId, EffectId, HoldId, IdError, RunId};
pub use invariants::{Checker, Violation, check_family, check_fork, check_log};
pub use memory::MemoryEntry;
pub use money::{Estimate, Mark, Micros, Purse, Shortage, Waived};
pub use names::{branch_name, child_branch_name, slug};
pub use outcome::{AgentEnd, DecisionNote, Outcome, Submission};
pub use plan::{Overlap, Plan, PlanError, Task, strayed};
pub use playbook::{
    Because, Lookup, OnOverlap, Playbook, PlaybookError, Stage, StageGate, StageWords, Transition, Weight, WhenStuck,
    Work,
};
pub use program::{AgentProgram, ProgramIdentity};
pub use reflection::Reflection;
pub use risk::{ChangeKind, FileChange, Risk, RiskKind, RiskPolicy, assess};
pub use run::{
    Answer, Assumption, Attached, Decided, Ending, FinishStep, Note, NoteKind, Opened, Parent, Pausing, Phase, Run,
    Said, Spend, StageState, Step, Timer, TimerKind,
};
pub use secret::{KnownSecret, SECRET_ANSWER, SENT_BACK_FOR_SECRETS, SecretFinding, SecretScanner, looks_secret};
pub use status::{Status, TaskWord};
pub use taint::{Brought, Look, Reach, Taint, TaintKind, TaintSource, TrustedBy, TrustedSource};
pub use task::{TaskState, TaskStatus};
pub use task_brief::{OPENING_QUESTION, TaskBrief, is_vague};
pub use task_map::{TaskArtifacts, TaskGate, TaskRefusal};
pub use task_told::{TaskTold, task_told};
pub use task_wish::{
    TaskSession, TaskStep, TaskWords, task_complete, task_merge, task_respawn, task_step, verdict_word,
};
pub use test_files::{is_check_definition, is_test_file, is_test_harness};
pub use way_out::{NoWayOut, WayOut};
pub use why::{Why, why};
