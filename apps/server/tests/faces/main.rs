//! The server's faces, seen from outside: a real server on 127.0.0.1, real HTTP and WebSockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod bad_input;
mod channels;
mod common;
mod connections;
mod decisions;
mod figures;
mod forks;
mod gate;
mod groups;
mod life;
mod live;
mod login;
mod models;
mod notify;
mod once;
mod pages;
mod playbooks;
mod queue;
mod reading;
mod roles;
mod scopes;
mod secrets;
mod tasks;
mod team;
mod types;
mod way_out;
