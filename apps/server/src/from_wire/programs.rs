//! Which program plays each role of a new run, and whether the model it is given can be reached by it.

use std::collections::BTreeMap;

use broker::UpstreamKind;
use domain::{AgentProgram, ModelName, Playbook};
use wire::NewRun;

use super::{EVERY_ROLE, plain};
use crate::config::{ProjectFile, Setup};
use crate::problem::Failure;

/// The request wins over the user's file, and that over the repository's. Our own agent is not named.
pub(super) fn programs(
    setup: &Setup,
    playbook: &Playbook,
    new: &NewRun,
    file: &ProjectFile,
    models: &BTreeMap<String, Vec<ModelName>>,
) -> Result<BTreeMap<String, AgentProgram>, Failure> {
    let mut programs = BTreeMap::new();
    for role in playbook.roles() {
        let said = new.programs.get(role).or_else(|| new.programs.get(EVERY_ROLE)).map(|text| {
            text.parse().map_err(|error: domain::ConfigError| {
                let hint = "see `holdpoint agent list` for the ones that are installed";
                Failure::user("programs", "bad_agent", plain(&error.to_string()), hint)
            })
        });
        let default = || {
            let own = setup.defaults.programs.get(role).or_else(|| setup.defaults.programs.get(EVERY_ROLE));
            own.or_else(|| file.programs.get(role)).cloned().unwrap_or_default()
        };
        let program = said.unwrap_or_else(|| Ok(default()))?;
        for model in models.get(role).into_iter().flatten() {
            check_served(setup, role, &program, model)?;
        }
        if !program.is_own() {
            programs.insert(role.to_owned(), program);
        }
    }
    Ok(programs)
}

/// A program asks its models in one protocol; the provider has to speak it.
fn check_served(setup: &Setup, role: &str, program: &AgentProgram, model: &ModelName) -> Result<(), Failure> {
    let wanted = match program {
        AgentProgram::Claude => UpstreamKind::Anthropic,
        AgentProgram::Codex | AgentProgram::Opencode | AgentProgram::CodexExec => UpstreamKind::OpenAi,
        AgentProgram::Gemini => UpstreamKind::Gemini,
        AgentProgram::Own | AgentProgram::Acp(_) | AgentProgram::Command(_) => return Ok(()),
    };
    let kind = setup.models.upstreams.get(model.provider()).map(|upstream| upstream.kind);
    if kind.is_none_or(|kind| kind == wanted) {
        return Ok(());
    }
    let words = match wanted {
        UpstreamKind::Anthropic => "the Anthropic protocol",
        UpstreamKind::Gemini => "the Gemini protocol",
        UpstreamKind::OpenAi | UpstreamKind::Scripted => "the OpenAI protocol",
    };
    let message = format!("{role}: `{program}` asks its model in {words}, which `{}` does not speak", model.provider());
    let hint = format!("name another model for the role with --model {role}=PROVIDER/MODEL, or another agent");
    Err(Failure::user("programs", "agent_not_served", plain(&message), hint))
}
