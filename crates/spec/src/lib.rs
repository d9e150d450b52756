//! A plan is Markdown with Mermaid diagrams. This room reads it into our own
//! model, derives the constraints an implementation is checked against, and
//! draws the diagrams for a terminal. Pure: it never reads a file, a clock or
//! the network, and the Mermaid library never shows in its public types.

pub mod constraints;
pub mod diagram;
pub mod draw;
pub mod markdown;
pub mod plan;

mod label;
mod mermaid;
mod naming;

pub use constraints::{Constraint, ConstraintKind, Constraints};
pub use diagram::{Diagram, DiagramError, DiagramKind};
pub use plan::{Spec, SpecError};
