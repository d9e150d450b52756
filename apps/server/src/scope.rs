//! What a token may do. The owner's may do everything. The agents' may look and start runs, and decides nothing: not
//! now, and not beforehand by starting a run with a gate open that its owner keeps closed.

use std::sync::Arc;

use axum::http::Method;
use domain::{Gate, RunConfig, Start, TrustKey};
use wire::{Fault, NewRun, Role};

use crate::config::Setup;
use crate::from_wire;
use crate::problem::Failure;
use crate::rights::{self, Right};

/// The only changes the agents' token can ask for; a route that is not here is refused.
const STARTING: &[&str] = &["/api/runs", "/api/workflows", "/api/runs/estimate", "/api/workflows/estimate"];

/// Who asks for something.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The name decisions are written down under.
    pub(crate) name: Arc<str>,
    /// What they may do.
    pub(crate) scope: Scope,
}

/// What somebody may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The file `token`: everything.
    Owner,
    /// The file `mcp-token`: reading, and starting runs within the owner's settings.
    Agent,
    /// A user's token or login.
    User(Role),
}

impl Scope {
    /// The word used in views.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Owner => Role::Admin.word(),
            Self::Agent => "agent",
            Self::User(role) => role.word(),
        }
    }

    /// Refuses a request that is beyond the caller, before anything looks at what it says. `matched` is the route as it
    /// is documented.
    pub(crate) fn check_route(self, method: &Method, path: &str, matched: Option<&str>) -> Result<(), Failure> {
        let needed = rights::needed(method, matched);
        let reading = matches!(*method, Method::GET | Method::HEAD);
        match self {
            Self::Owner => Ok(()),
            Self::Agent if reading && needed == Right::Look => Ok(()),
            Self::Agent if *method == Method::POST && STARTING.contains(&path) => Ok(()),
            Self::Agent => Err(missing("this token may read and start runs, but decides nothing")),
            Self::User(role) => needed.check(role),
        }
    }

    /// Refuses a start that is freer than one of which nothing was said.
    pub(crate) async fn check_start(self, setup: &Setup, new: &NewRun, start: &Start) -> Result<(), Failure> {
        match self {
            Self::Owner | Self::User(_) => return Ok(()),
            Self::Agent => {}
        }
        let unsaid = NewRun {
            trust: std::collections::BTreeMap::new(),
            auto_merge: None,
            push: None,
            budget_usd: None,
            checks: None,
            review: None,
            create_pr: None,
            trust_sources: None,
            ..new.clone()
        };
        let usual = from_wire::start(setup, unsaid, start.by.clone()).await?;
        match freer(&usual.config, &start.config) {
            None => Ok(()),
            Some((field, what)) => {
                Err(missing(&format!("a run that an agent starts cannot {what} by its own word")).at(field))
            }
        }
    }
}

/// The field by which a configuration lets more happen than the usual one, and what it would let happen.
fn freer(usual: &RunConfig, said: &RunConfig) -> Option<(&'static str, &'static str)> {
    let opened = |key| usual.trust.get(key) == Gate::Manual && said.trust.get(key) == Gate::Auto;
    if [TrustKey::Planning, TrustKey::Implementation, TrustKey::Fixes].into_iter().any(opened) {
        return Some(("trust", "open a gate"));
    }
    if said.git.auto_merge && !usual.git.auto_merge {
        return Some(("autoMerge", "merge by itself"));
    }
    if said.git.create_pr {
        return Some(("createPr", "open a pull request"));
    }
    if said.git.push && !usual.git.push {
        return Some(("push", "push its branch"));
    }
    if said.trusted != usual.trusted {
        return Some(("trustSources", "trust text of strangers"));
    }
    if usual.budget.is_some_and(|limit| said.budget.is_none_or(|wanted| wanted > limit)) {
        return Some(("budgetUsd", "spend more than the usual budget"));
    }
    if !usual.checks.iter().all(|check| said.checks.contains(check)) {
        return Some(("checks", "leave out the project's checks"));
    }
    None
}

fn missing(message: &str) -> Failure {
    let hint = "the person does it: `holdpoint inbox` shows what waits, `holdpoint approve RUN`, `reject`, `answer` and \
                `decide` decide, `holdpoint run` starts a run with other settings; a person who wants an agent to \
                decide starts `holdpoint mcp --may-decide`";
    Failure::new(Fault::Forbidden, "scope_missing", message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agents_token_reads_and_starts_and_does_nothing_else() {
        let may = |method: Method, path: &str| Scope::Agent.check_route(&method, path, Some(path)).is_ok();
        assert!(may(Method::GET, "/api/runs/abc/diff") && may(Method::HEAD, "/api/holds"));
        assert!(may(Method::POST, "/api/runs") && may(Method::POST, "/api/workflows"));
        for path in ["/api/runs/abc/decide", "/api/runs/", "/api/runs/batch", "/api/x", "/api/%72uns"] {
            assert!(!may(Method::POST, path), "{path}");
        }
        assert!(!may(Method::DELETE, "/api/runs") && !may(Method::PUT, "/api/runs"));
        assert!(Scope::Owner.check_route(&Method::POST, "/api/runs/abc/decide", None).is_ok());
    }
}
