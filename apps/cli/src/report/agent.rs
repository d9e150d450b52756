//! Agent programs for people. Pure; every cell is cleaned here.

use super::{
    clean_line,
    style::{BAD, DIM, GOOD},
    table::table,
    words::{fit, wrap},
};
use wire::DirectAgentView;

use crate::commands::agent::{AgentTest, AgentView};

/// `agent list`.
pub(crate) fn list(agents: &[AgentView], width: usize) -> String {
    let rows = agents.iter().map(|agent| {
        let served = match &agent.direct {
            Some(DirectAgentView { problem: None, hosts, .. }) => {
                format!("direct: its own login, found; reaches {}", hosts.join(", "))
            }
            Some(DirectAgentView { problem: Some(_), .. }) => "direct: its own login, not found".to_owned(),
            None => format!("broker: {}", served_by(agent)),
        };
        let state = match (&agent.path, &agent.version) {
            (Some(_), Some(version)) => format!("✓ {}", clean_line(version)),
            (Some(_), None) => "✓ installed".to_owned(),
            (None, _) => "— not found".to_owned(),
        };
        vec![clean_line(&agent.name), state, fit(&clean_line(&served), width.saturating_sub(52).max(20))]
    });
    let table = table(&["agent", "installed", "models through"], rows, width);
    let painted: Vec<String> = table.lines().map(|line| line.replacen('✓', &format!("{GOOD}✓{GOOD:#}"), 1)).collect();
    let missing = agents.iter().filter_map(|agent| agent.direct.as_ref()).filter(|direct| direct.problem.is_some());
    let missing: Vec<String> = missing.map(|direct| wrap(&login(direct), width).join("\n")).collect();
    let hint = format!(
        "{DIM}Any other program: `acp:COMMAND` if it speaks the Agent Client Protocol, `command:COMMAND` if not. \
         Through the broker programs need no login of their own: it adds the keys. One that has only its own login is \
         named in config.toml: [agents.direct.NAME]. `holdpoint agent test NAME` tries one with a scripted model.{DIM:#}"
    );
    let parts = [painted.join("\n")].into_iter().chain(missing).chain([wrap(&hint, width).join("\n")]);
    parts.collect::<Vec<_>>().join("\n\n")
}

/// Where a program's own login is, or what is missing of it.
pub(crate) fn login(direct: &DirectAgentView) -> String {
    let program = clean_line(&direct.program);
    match &direct.problem {
        None => format!(
            "{GOOD}✓{GOOD:#} {program} uses its own login ({}); the test works with a scripted model and does not try it",
            clean_line(&direct.login.join(", "))
        ),
        Some(problem) => format!("{BAD}✗{BAD:#} {}: {}", clean_line(&problem.message), clean_line(&problem.hint)),
    }
}

fn served_by(agent: &AgentView) -> String {
    match (agent.served_by.is_empty(), agent.protocol.as_deref()) {
        (false, _) => agent.served_by.join(", "),
        (true, Some(protocol)) => format!("no {protocol} provider yet"),
        (true, None) => "nobody yet".to_owned(),
    }
}

/// `agent test`.
pub(crate) fn test(tested: &AgentTest) -> String {
    let name = clean_line(&tested.name);
    match &tested.problem {
        None => format!(
            "{GOOD}✓{GOOD:#} {name} works: planned, asked, implemented, mended and reviewed a change in {:.0} s \
             ({} model calls through the broker)",
            tested.seconds, tested.model_calls
        ),
        Some(problem) => {
            format!("{BAD}✗{BAD:#} {name} does not work: {} ({})", clean_line(problem), clean_line(&tested.status))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_and_nothing_breaks_the_terminal() {
        let agent = |name: &str, version: Option<&str>| AgentView {
            name: name.into(),
            path: version.map(|_| "/usr/bin/x".into()),
            version: version.map(str::to_owned),
            protocol: Some("anthropic".into()),
            served_by: Vec::new(),
            way: "broker",
            direct: None,
        };
        let text = list(&[agent("claude", Some("2.1\u{1b}[2J")), agent("codex", None)], 100);
        assert!(text.contains("not found") && text.contains("no anthropic provider yet"), "{text}");
        assert!(!text.contains("\u{1b}[2J"));
    }
    #[test]
    fn the_way_of_a_program_is_told_and_what_is_missing_of_its_login() {
        let problem = wire::Problem {
            code: "login_missing".into(),
            message: "the login file `/home/ada/.codex/auth.json` of `codex` cannot be read".into(),
            hint: "run `codex login`".into(),
            field: None,
        };
        let agent = |name: &str, problem: Option<wire::Problem>| AgentView {
            name: name.into(),
            path: Some("/usr/bin/x".into()),
            version: Some("1.2".into()),
            protocol: None,
            served_by: Vec::new(),
            way: "direct",
            direct: Some(DirectAgentView {
                program: name.into(),
                hosts: vec!["api.example".into()],
                login: vec!["/home/ada/.login".into()],
                problem,
            }),
        };
        let text = list(&[agent("claude", None), agent("codex", Some(problem))], 120);
        assert!(text.contains("direct: its own login, found; reaches api.example"), "{text}");
        assert!(text.contains("direct: its own login, not found"), "{text}");
        assert!(text.contains("auth.json` of `codex` cannot be read: run `codex login`"), "{text}");
    }
}
