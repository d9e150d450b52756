//! What a token may do. The owner's may do everything. The agents' may look and start runs, and decides nothing: not
//! now, and not beforehand by starting a run with a gate open that its owner keeps closed.

use std::sync::Arc;

use axum::http::Method;
use domain::{AgentProgram, Gate, ModelName, RunConfig, Start, TaskWord, TrustKey};
use wire::{Fault, NewRun, Role};

use crate::config::{AgentsToken, Setup};
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

    /// Refuses a start that is freer than the owner's own start of which nothing was said.
    pub(crate) async fn check_start(self, setup: &Setup, new: &NewRun, start: &Start) -> Result<(), Failure> {
        match self {
            Self::Owner | Self::User(_) => return Ok(()),
            Self::Agent => {}
        }
        let listed = &setup.defaults.agents_token;
        let name = start.playbook.name.as_str();
        if !USUAL.contains(&name) && !listed.playbooks.iter().any(|known| known == name) {
            return Err(not_listed("playbook", &format!("the playbook `{name}`"), "playbooks"));
        }
        let usual = from_wire::start(setup, unsaid(new, listed), start.by.clone()).await.map_err(|failure| {
            // Without what was said there is no run at all: nothing that was said is a default.
            if new.models.is_empty() { failure } else { not_listed("models", "a model that is no default", "models") }
        })?;
        match freer(&usual, start, listed) {
            None => Ok(()),
            Some(Freer::Does(field, what)) => {
                Err(missing(&format!("a run that an agent starts cannot {what} by its own word")).at(field))
            }
            Some(Freer::Names(field, what, list)) => Err(not_listed(field, &what, list)),
        }
    }
}

/// Playbooks that need no list: the default, and the one of tasks, which goes nowhere before a person has looked.
const USUAL: &[&str] = &["autonomous", TaskWord::PLAYBOOK];

/// The owner's start of the same request: nothing of how it is done is said, except models that the owner listed.
fn unsaid(new: &NewRun, listed: &AgentsToken) -> NewRun {
    let is_listed = |text: &str| text.parse::<ModelName>().is_ok_and(|model| listed.models.contains(&model));
    let models = new.models.iter().filter(|(_, models)| models.split(',').all(|model| is_listed(model.trim())));
    NewRun {
        project: new.project.clone(),
        request: new.request.clone(),
        playbook: new.playbook.clone(),
        task: new.task.clone(),
        from: new.from.clone(),
        models: models.map(|(role, models)| (role.clone(), models.clone())).collect(),
        ..NewRun::default()
    }
}

/// How a start is freer than the usual one, with the field that makes it so.
enum Freer {
    /// It would do something.
    Does(&'static str, &'static str),
    /// It names something that only a list of the owner's lets it name.
    Names(&'static str, String, &'static str),
}

fn freer(usual: &Start, start: &Start, listed: &AgentsToken) -> Option<Freer> {
    if start.playbook != usual.playbook {
        return Some(Freer::Does("baseBranch", "take its playbook from another branch"));
    }
    let (usual, said) = (&usual.config, &start.config);
    does(usual, said, listed).map(|(field, what)| Freer::Does(field, what)).or_else(|| names(usual, said, listed))
}

/// The field by which a configuration lets more happen than the usual one, and what it would let happen.
fn does(usual: &RunConfig, said: &RunConfig, listed: &AgentsToken) -> Option<(&'static str, &'static str)> {
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
    let limit = usual.budget.map(|limit| limit.max(listed.budget.unwrap_or(limit)));
    if limit.is_some_and(|limit| said.budget.is_none_or(|wanted| wanted > limit)) {
        return Some(("budgetUsd", "spend more than the usual budget"));
    }
    if !usual.checks.iter().all(|check| said.checks.contains(check)) {
        return Some(("checks", "leave out the project's checks"));
    }
    if said.skip_clarification && !usual.skip_clarification {
        return Some(("skipClarification", "leave out the questions to you"));
    }
    if said.max_clarifications > usual.max_clarifications {
        return Some(("maxClarifications", "ask more before an approval is asked for"));
    }
    let fewer = said
        .max_clarification_rounds
        .is_some_and(|rounds| usual.max_clarification_rounds.is_none_or(|own| rounds < own));
    if fewer {
        return Some(("maxClarificationRounds", "set the rounds of questions to you"));
    }
    if usual.git.review && !said.git.review {
        return Some(("review", "leave out the review before a merge"));
    }
    // What a repository's file on another branch does not ask for.
    let kept = usual.exclude_paths.iter().all(|path| said.exclude_paths.contains(path))
        && usual.require_approval.iter().all(|stage| said.require_approval.contains(stage));
    (!kept || said.risk != usual.risk).then_some(("baseBranch", "begin where the project asks for less"))
}

/// A program or model that is neither the usual one of its role nor listed.
fn names(usual: &RunConfig, said: &RunConfig, listed: &AgentsToken) -> Option<Freer> {
    let foreign = |(role, program): &(&String, &AgentProgram)| {
        usual.agents.get(*role) != Some(*program) && !listed.programs.contains(program)
    };
    if let Some((role, program)) = said.agents.iter().find(foreign) {
        return Some(Freer::Names("programs", format!("`{program}` as `{role}`"), "programs"));
    }
    // A repository may name a program, and only a person's word hands it their login.
    let handed = |role: &&String| {
        let program = said.agents.get(*role);
        !usual.direct.contains(*role) && program.is_none_or(|program| !listed.programs.contains(program))
    };
    if let Some(role) = said.direct.iter().find(handed) {
        return Some(Freer::Names("programs", format!("a program with a login of yours as `{role}`"), "programs"));
    }
    // A role without a program of its own is played by ours, which may be the freer one of the two.
    let own = AgentProgram::Own;
    let left_out = |role: &&String| !said.agents.contains_key(*role) && !listed.programs.contains(&own);
    if let Some(role) = usual.agents.keys().find(left_out) {
        return Some(Freer::Names("programs", format!("`{own}` as `{role}`"), "programs"));
    }
    let of = |config: &RunConfig, role: &str| -> Vec<ModelName> {
        let first = config.models.get(role).cloned();
        first.into_iter().chain(config.fallbacks.get(role).cloned().unwrap_or_default()).collect()
    };
    let foreign = said.models.keys().find_map(|role| {
        let known = of(usual, role);
        let model =
            of(said, role).into_iter().find(|model| !known.contains(model) && !listed.models.contains(model))?;
        Some(format!("the model `{model}` for `{role}`"))
    });
    foreign.map(|what| Freer::Names("models", what, "models"))
}

fn not_listed(field: &str, what: &str, list: &str) -> Failure {
    let message = format!("a run that an agent starts cannot name {what}");
    let hint = format!(
        "the owner of the server lets agents name it: `{list} = [\"…\"]` under `[agents_token]` in config.toml of the data \
         directory, then a new start of the server; or a person starts the run with `holdpoint run`"
    );
    Failure::new(Fault::Forbidden, "scope_missing", message, hint).at(field)
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
