//! Our own agent: reads a job, talks to a model through the broker, works with tools in one folder, hands in a result.
//! Or the host of another program that does so.
//! Never decides what happens to the run, and reaches nothing but its session folder, its workspace and the broker.

mod call_error;
mod calls;
mod compaction;
mod context;
mod conversation;
mod delivery;
mod errand;
mod events;
mod goal;
mod guidance;
mod hand_in;
mod host;
mod lines;
mod loops;
mod mcp;
mod model;
mod observations;
mod outputs;
mod policy;
mod prompt;
mod pursuit;
mod request;
mod room;
mod run;
mod session;
mod shorten;
mod strangers;
mod tokens;
mod tools;
mod turns;
mod work;
mod workspace;

pub use delivery::{DeliveryError, Nonce};
pub use host::{Rose, relay, sit, take_seat};
pub use model::ClientError;
pub use run::{AgentError, Options, run, run_to};
pub use session::SessionError;
pub use turns::TurnsError;
