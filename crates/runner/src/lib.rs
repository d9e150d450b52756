//! The hands: everything that touches the world outside the database.
#![warn(clippy::wildcard_enum_match_arm)]

mod artifacts;
mod attempt;
mod brief;
mod cards;
mod carry;
mod commission;
mod diary;
mod dir_fd;
mod direct;
mod discuss;
mod effects;
pub mod forge;
pub mod git;
mod goal;
mod hand_in;
mod hands;
#[cfg(test)]
mod hostile_folder_tests;
mod judge_workspace;
mod laid;
mod mcp;
mod models;
mod observations;
mod past;
mod paths;
pub mod project;
mod purses;
mod read;
mod record;
mod report;
mod repos;
mod roles;
mod rounds;
pub mod sandbox;
mod settings;
pub mod shim;
mod specs;
mod steps;
mod strangers;
mod task_file;
mod trouble;
mod try_model;

pub use direct::{DirectAgents, DirectSettings, LoginError, LoginFile};
pub use discuss::{Talk, Talked, Watch};
pub use hands::{Activity, Hands, HandsConfig};
pub use mcp::{McpServers, McpSettings, McpSource};
pub use models::{ModelError, Models, UpstreamSettings};
pub use purses::SharedLimits;
pub use read::{ReadError, RunDiff};
pub use settings::ForgeSettings;
pub use try_model::{ModelTry, TriesSpend, TryError, tries_folder, tries_so_far, try_model};
