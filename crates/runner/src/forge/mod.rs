//! The place where the user's repository is shared: pull requests over GitHub's REST API. Opens
//! and finds them, and never merges, closes or edits one. The token is in no message.

mod address;
mod client;
mod error;
mod pulls;
mod scopes;
mod text;

pub use address::host_of;
pub use client::Forge;
pub use error::ForgeError;
pub use pulls::{NewPull, Origin, Pull};
pub use scopes::{Visibility, excess};
pub use text::{body, pull_request_template, template_among};
