//! One file per effect.

pub(crate) mod adopt;
pub(crate) mod clean_up;
pub(crate) mod commit_artifact;
mod earlier_tests;
pub(crate) mod land;
pub(crate) mod left_over;
pub(crate) mod merge_child;
pub(crate) mod open_branch;
pub(crate) mod open_child_branch;
pub(crate) mod open_fork;
pub(crate) mod open_pull_request;
pub(crate) mod prove;
pub(crate) mod publish;
pub(crate) mod push_remote;
pub(crate) mod run_agent;
pub(crate) mod stop_agent;
pub(crate) mod tell_agent;
pub(crate) mod write_record;
