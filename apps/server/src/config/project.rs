//! The repository's own `.autonomous/config.json`, read from the base commit. It can close gates, never open them.

use std::collections::BTreeMap;

use domain::{AgentProgram, Check, Gate, Policy, RiskPolicy, RunConfig, TrustKey};
use serde::Deserialize;

/// What the file says that counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ProjectFile {
    pub(crate) policy: Policy,
    /// Trust switches it closes unless the request says otherwise.
    pub(crate) manual: Vec<TrustKey>,
    /// Whether it wants no merge unless the request says otherwise.
    pub(crate) no_auto_merge: bool,
    pub(crate) max_clarifications: Option<u32>,
    pub(crate) models: BTreeMap<String, String>,
    pub(crate) programs: BTreeMap<String, AgentProgram>,
    pub(crate) checks: Vec<Check>,
    pub(crate) exclude_paths: Vec<String>,
    pub(crate) limits: Limits,
}

/// Limits the file sets; they hold whatever a request says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Limits {
    max_concurrency: Option<u32>,
    review: bool,
    risk: Option<RiskPolicy>,
}

impl Limits {
    /// Makes a run's configuration as strict as the file wants it, never looser.
    pub(crate) fn tighten(&self, config: &mut RunConfig) {
        if let Some(most) = self.max_concurrency {
            config.max_concurrency = Some(config.max_concurrency.map_or(most, |said| said.min(most)));
        }
        config.git.review |= self.review;
        if let Some(risk) = &self.risk {
            config.risk.tighten(risk);
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Raw {
    default_run_config: RawRun,
    git: RawGit,
    checks: Vec<Check>,
    exclude_paths: Vec<String>,
    protected_paths: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct RawRun {
    max_concurrency: Option<u32>,
    trust_mode: BTreeMap<String, String>,
    max_clarifications: Option<u32>,
    model_routing: BTreeMap<String, String>,
    agent_routing: BTreeMap<String, String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct RawGit {
    auto_merge: Option<bool>,
    review: bool,
    require_approval_for: Vec<String>,
}

impl ProjectFile {
    /// Reads the file's text; the reason if it means nothing.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > 64 * 1024 {
            return Err("it is longer than 64 KiB".to_owned());
        }
        let raw: Raw = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut manual = Vec::new();
        for (key, value) in &raw.default_run_config.trust_mode {
            let key: TrustKey = key.parse().map_err(|error| format!("trustMode: {error}"))?;
            let gate: Gate = value.parse().map_err(|error| format!("trustMode: {error}"))?;
            if gate == Gate::Manual {
                manual.push(key);
            }
        }
        if raw.default_run_config.max_concurrency == Some(0) {
            return Err("maxConcurrency: at least one agent must be allowed".to_owned());
        }
        if let Some(path) = raw.protected_paths.iter().find(|path| path.trim().is_empty() || path.len() > 300) {
            return Err(format!("protectedPaths: `{path}` is not a path, a folder or a glob"));
        }
        Ok(Self {
            policy: Policy { require_approval_for: raw.git.require_approval_for, forbid_auto_merge: false },
            manual,
            no_auto_merge: raw.git.auto_merge == Some(false),
            max_clarifications: raw.default_run_config.max_clarifications,
            models: raw.default_run_config.model_routing,
            programs: programs(&raw.default_run_config.agent_routing)?,
            checks: raw.checks,
            exclude_paths: raw.exclude_paths,
            limits: Limits {
                max_concurrency: raw.default_run_config.max_concurrency,
                review: raw.git.review,
                risk: (!raw.protected_paths.is_empty())
                    .then(|| RiskPolicy { protected: raw.protected_paths, ..RiskPolicy::default() }),
            },
        })
    }
}

/// A repository may name a known agent, not a command: what runs on a machine is its user's to say.
fn programs(routing: &BTreeMap<String, String>) -> Result<BTreeMap<String, AgentProgram>, String> {
    let read = |(role, text): (&String, &String)| match text.parse() {
        Ok(AgentProgram::Acp(_) | AgentProgram::Command(_)) => {
            Err(format!("agentRouting: {role}: a command is named by the user, not by the repository"))
        }
        Ok(program) => Ok((role.clone(), program)),
        Err(error) => Err(format!("agentRouting: {role}: {error}")),
    };
    routing.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_as_the_first_users_wrote_it_is_understood() {
        let text = r#"{"defaultRunConfig": {"trustMode": {"planning": "manual", "fixes": "auto"},
            "maxClarifications": 3, "modelRouting": {"planner": "deepseek-reasoner"}},
            "git": {"autoMerge": false, "requireApprovalFor": ["planning", "implementation"]},
            "checks": [{"name": "test", "command": "npm test"}], "excludePaths": ["node_modules/", ".env"]}"#;
        let file = ProjectFile::parse(text).unwrap();
        assert_eq!(file.manual, [TrustKey::Planning]);
        assert_eq!(file.policy.require_approval_for, ["planning", "implementation"]);
        assert_eq!((file.max_clarifications, file.no_auto_merge), (Some(3), true));
        assert_eq!(file.checks[0].command, "npm test");
        assert_eq!(file.exclude_paths.len(), 2);
    }

    #[test]
    fn a_repository_names_known_agents_and_never_a_command() {
        let text = |agent: &str| format!(r#"{{"defaultRunConfig": {{"agentRouting": {{"implementer": "{agent}"}}}}}}"#);
        assert_eq!(ProjectFile::parse(&text("codex")).unwrap().programs["implementer"], AgentProgram::Codex);
        for agent in ["command:sh -c evil", "acp:evil", "nobody"] {
            assert!(ProjectFile::parse(&text(agent)).unwrap_err().contains("agentRouting: implementer"), "{agent}");
        }
    }

    #[test]
    fn a_file_that_means_nothing_is_refused_with_its_reason() {
        let refused = |text: &str| ProjectFile::parse(text).unwrap_err();
        assert!(refused("{").contains("line 1"));
        assert!(refused(r#"{"protectedPaths": [""]}"#).contains("protectedPaths"));
        assert!(refused(r#"{"defaultRunConfig": {"maxConcurrency": 0}}"#).contains("maxConcurrency"));
        assert!(refused(r#"{"checks": [{"name": "x"}]}"#).contains("command"));
    }

    #[test]
    fn a_key_in_the_wrong_place_is_told_instead_of_leaving_a_gate_open() {
        let misplaced = ProjectFile::parse(r#"{"requireApprovalFor": ["planning"]}"#).unwrap_err();
        assert!(misplaced.contains("unknown field `requireApprovalFor`"), "{misplaced}");
        let misspelt = ProjectFile::parse(r#"{"git": {"automerge": false}}"#).unwrap_err();
        for asked in [r#"{"mcp": {"x": {"command": ["sh"]}}}"#, r#"{"mcpServers": {}}"#] {
            let servers = ProjectFile::parse(asked).unwrap_err();
            assert!(servers.contains("unknown field `mcp"), "a repository names no MCP servers: {servers}");
        }
        assert!(misspelt.contains("unknown field `automerge`") && misspelt.contains("`autoMerge`"), "{misspelt}");
    }
}
