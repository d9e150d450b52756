//! Which role a route needs: one table for all of them. A change that is not in it is for admins only.

use axum::http::Method;
use wire::{Fault, Role};

use crate::problem::Failure;

/// What a route needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Right {
    /// To be somebody; changes nothing but one's own login.
    Own,
    /// To look: every role.
    Look,
    /// To decide: reviewers and admins.
    Decide,
    /// To manage: admins.
    Manage,
}

/// Everything that is not plain looking, as the routes are documented; `/api/workflows…` is like `/api/runs…`.
const TABLE: &[(&str, &str, Right)] = &[
    ("POST", "/api/logout", Right::Own),
    ("POST", "/api/login-codes", Right::Manage),
    ("GET", "/api/users", Right::Manage),
    ("POST", "/api/users", Right::Manage),
    ("POST", "/api/users/{name}/revoke", Right::Manage),
    ("GET", "/api/doctor", Right::Manage),
    ("POST", "/api/runs", Right::Manage),
    ("POST", "/api/runs/estimate", Right::Manage),
    ("POST", "/api/runs/batch", Right::Manage),
    ("POST", "/api/runs/variants", Right::Manage),
    ("POST", "/api/runs/{id}/approve", Right::Decide),
    ("POST", "/api/runs/{id}/request-changes", Right::Decide),
    ("POST", "/api/runs/{id}/decide", Right::Decide),
    ("POST", "/api/runs/{id}/overturn", Right::Decide),
    ("POST", "/api/runs/{id}/message", Right::Decide),
    ("POST", "/api/runs/{id}/pause", Right::Decide),
    ("POST", "/api/runs/{id}/attach", Right::Manage),
    ("POST", "/api/runs/{id}/resume", Right::Decide),
    ("POST", "/api/runs/{id}/cancel", Right::Manage),
    ("POST", "/api/runs/{id}/merge", Right::Manage),
    ("POST", "/api/runs/{id}/pull-request", Right::Manage),
    ("POST", "/api/runs/{id}/fork", Right::Manage),
    ("POST", "/api/sessions/{id}/message", Right::Decide),
    ("POST", "/api/clarifications/{id}/answer", Right::Decide),
    ("POST", "/api/tasks/{id}/update", Right::Manage),
    ("POST", "/api/tasks/{id}/complete", Right::Manage),
    ("POST", "/api/tasks/{id}/merge", Right::Manage),
    ("POST", "/api/tasks/{id}/create-pr", Right::Manage),
    ("POST", "/api/tasks/{id}/respawn", Right::Manage),
    ("POST", "/api/channels", Right::Manage),
    ("POST", "/api/channels/{id}/session", Right::Manage),
    ("POST", "/api/models/test", Right::Manage),
    ("POST", "/api/notifications/{name}/test", Right::Manage),
    ("POST", "/api/notifications/{name}/retry", Right::Manage),
];

/// What a request needs.
pub(crate) fn needed(method: &Method, matched: Option<&str>) -> Right {
    let asked = if *method == Method::HEAD { &Method::GET } else { method };
    match matched.and_then(|path| listed(asked.as_str(), path)) {
        Some(right) => right,
        None if *asked == Method::GET => Right::Look,
        None => Right::Manage,
    }
}

fn listed(method: &str, path: &str) -> Option<Right> {
    let path = match path.strip_prefix("/api/workflows") {
        Some(rest) => format!("/api/runs{rest}"),
        None => path.to_owned(),
    };
    let same = |(known, route, _): &&(&str, &str, Right)| *known == method && *route == path;
    TABLE.iter().find(same).map(|(_, _, right)| *right)
}

impl Right {
    /// Refuses who does not have it.
    pub(crate) fn check(self, role: Role) -> Result<(), Failure> {
        let least = match self {
            Self::Own | Self::Look => Role::Viewer,
            Self::Decide => Role::Reviewer,
            Self::Manage => Role::Admin,
        };
        if role >= least {
            return Ok(());
        }
        let message = format!("a {} may not do this; it takes a {}", role.word(), least.word());
        let hint = "ask an admin to do it, or to let you in with another role (`holdpoint user add`)";
        Err(Failure::new(Fault::Forbidden, "role_missing", message, hint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_change_is_in_the_table_and_every_line_of_it_is_documented() {
        let api = serde_json::to_value(crate::openapi()).unwrap();
        let documented = |method: &str, path: &str| api["paths"][path][method.to_lowercase()].is_object();
        for (path, item) in api["paths"].as_object().unwrap() {
            for method in item.as_object().unwrap().keys().filter(|key| *key != "get" && *key != "parameters") {
                let said = path == "/api/login" || listed(&method.to_uppercase(), path).is_some();
                assert!(said, "say in TABLE who may {method} {path}");
            }
        }
        for (method, path, _) in TABLE {
            assert!(documented(method, path), "{method} {path} is no route");
        }
    }

    #[test]
    fn what_is_not_listed_is_for_admins() {
        assert_eq!(needed(&Method::POST, Some("/api/new")), Right::Manage);
        assert_eq!(needed(&Method::DELETE, None), Right::Manage);
        assert_eq!(needed(&Method::GET, None), Right::Look);
        assert_eq!(needed(&Method::HEAD, Some("/api/users")), Right::Manage);
        assert_eq!(needed(&Method::POST, Some("/api/workflows/{id}/approve")), Right::Decide);
    }

    #[test]
    fn a_role_includes_the_ones_below_it() {
        let may = |role| [Right::Own, Right::Look, Right::Decide, Right::Manage].map(|right| right.check(role).is_ok());
        assert_eq!(may(Role::Viewer), [true, true, false, false]);
        assert_eq!(may(Role::Reviewer), [true, true, true, false]);
        assert_eq!(may(Role::Admin), [true; 4]);
    }
}
