//! The real gateway on a real unix socket, against fake upstreams on loopback.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test they serve")]

mod abandoned;
mod budget;
mod costs;
mod direct;
mod embedding;
mod faults;
mod genai_client;
mod handing_in;
mod hostile;
mod kit;
mod limits;
mod mcp;
mod overspending;
mod passing;
mod quota;
mod retrying;
mod scripted;
mod searching;
mod smuggling;
