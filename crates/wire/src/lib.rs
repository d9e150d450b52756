//! The contract with strangers: requests, views, live messages, problems, exit codes.
//! Only shapes: no rules, no I/O.
#![warn(missing_docs)]

mod exit;
mod live;
mod problem;
mod request;
mod view;

pub use exit::ExitCode;
pub use live::{LiveMessage, LiveName};
pub use problem::{Fault, Problem};
pub use request::{AnswerRequest, ApproveRequest, CancelRequest, CheckSpec, DecideRequest, NewRun, RequestChanges};
pub use view::{
    ArtifactContent, ArtifactView, DiffView, EventView, FileChangeView, HoldView, PlaybookProblem, PlaybookView,
    QueueView, RunView, ServerInfo, SpendCall, SpendView, StageView, StepView, WhyView,
};
