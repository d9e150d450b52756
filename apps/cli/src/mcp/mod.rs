//! Holdpoint as an MCP server: a face like the others, for an agent that refines requests and hands out work. It speaks
//! HTTP to the server of the data directory and has no rights but those of its token.

mod asked;
mod completing;
mod deciding;
mod face;
mod held;
mod http;
mod looking;
mod orchestrate;
mod resources;
mod schema;
mod starting;
mod stdio;
mod told;
mod tools;
mod watching;

pub(crate) use http::serve as serve_http;
pub(crate) use stdio::serve as serve_stdio;
