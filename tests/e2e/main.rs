//! The product from outside, and the rules of the house.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod attach;
mod channels;
mod clocks;
mod conversation;
mod crash;
mod damaged;
mod display;
mod faults;
mod forks;
mod holds;
mod isolation;
mod limits;
mod live;
mod mcp;
mod models;
mod notices;
mod own_agent;
mod programs;
mod pulls;
mod runs;
mod supply_chain;
mod taint;
mod tasks;
mod teams;
mod tidy;
mod tokens;
mod tui;
mod upstream;
