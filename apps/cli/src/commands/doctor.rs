//! `doctor`: what is there, what is missing, what to do about it, and every setting with where it came from.

use std::{os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use runner::sandbox::Tier;
use serde::Serialize;
use wire::ExitCode;

use crate::{
    failure::Failure,
    hidden,
    report::{clean_line, style, style::DIM},
    session::Session,
    settings::{self, Setting},
};

/// How a finding stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Good,
    Warning,
    Missing,
}

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Finding {
    name: &'static str,
    state: State,
    value: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

#[derive(Debug, Serialize)]
struct Checkup {
    findings: Vec<Finding>,
    settings: Vec<Setting>,
}

/// Only whether they are there is ever told.
const KEYS: [&str; 7] = [
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "DEEPSEEK_API_KEY",
    "GEMINI_API_KEY",
    "XAI_API_KEY",
    "GROQ_API_KEY",
    "GITHUB_TOKEN",
];

pub(super) async fn run(session: &Session) -> Result<ExitCode, Failure> {
    let home = session.home.path();
    let findings = vec![
        good("version", env!("CARGO_PKG_VERSION").to_owned()),
        data_directory(home),
        server(session).await,
        token(&session.home.token_file()),
        git(program_version("git")),
        bubblewrap(program_version("bwrap")),
        sandbox(hidden::sandbox_tier()),
        keys(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())),
    ];
    let worst = findings.iter().any(|finding| finding.state == State::Missing);
    let file = settings::read_file(&home.join("config.toml"))?;
    let settings = settings::all(|name| std::env::var(name).ok().filter(|value| !value.is_empty()), &file);
    let checkup = Checkup { findings, settings };
    if session.report.is_json() {
        session.report.json(&checkup);
    } else {
        session.report.data(&render(&checkup));
    }
    Ok(if worst { ExitCode::Unavailable } else { ExitCode::Done })
}

fn data_directory(home: &Path) -> Finding {
    let value = home.display().to_string();
    let writable = home.ancestors().find(|path| path.exists()).is_some_and(|path| {
        rustix::fs::access(path, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_ok()
    });
    if writable {
        good("data", value)
    } else {
        missing("data", format!("{value} is not writable"), "set HOLDPOINT_HOME to a folder you may write")
    }
}

async fn server(session: &Session) -> Finding {
    match (session.running().await, session.home.server()) {
        (Some(client), Some(info)) => good("server", format!("{} (pid {}, {})", client.url(), info.pid, info.version)),
        (Some(client), None) => good("server", client.url().to_owned()),
        (None, Some(_)) => good("server", "gone; the next command starts another".to_owned()),
        (None, None) => good("server", "not running; the next command starts one".to_owned()),
    }
}

fn token(path: &Path) -> Finding {
    match std::fs::metadata(path).map(|metadata| metadata.permissions().mode() & 0o777) {
        Ok(0o600) => good("token", format!("{} (0600)", path.display())),
        Ok(mode) => {
            let value = format!("{} has mode {mode:04o}", path.display());
            Finding { name: "token", state: State::Warning, value, fix: Some(format!("chmod 600 {}", path.display())) }
        }
        Err(_) => good("token", "made by the first server".to_owned()),
    }
}

fn git(version: Option<String>) -> Finding {
    let numbers = version.as_deref().and_then(version_numbers);
    match (version, numbers) {
        (Some(version), Some(numbers)) if numbers >= (2, 38) => good("git", version),
        (Some(version), _) => missing("git", format!("{version} is too old"), "install git 2.38 or later"),
        (None, _) => missing("git", "not found".to_owned(), "install git 2.38 or later"),
    }
}

fn bubblewrap(version: Option<String>) -> Finding {
    match version {
        Some(version) => good("bwrap", version),
        None => Finding {
            name: "bwrap",
            state: State::Warning,
            value: "not found: agents run in the weaker `restricted` tier".to_owned(),
            fix: Some("install bubblewrap".to_owned()),
        },
    }
}

fn sandbox((tier, state): (Option<Tier>, String)) -> Finding {
    match tier {
        Some(Tier::Sandboxed) => good("sandbox", format!("sandboxed ({state})")),
        Some(tier) => Finding {
            name: "sandbox",
            state: State::Warning,
            value: format!("{tier} ({state})"),
            fix: Some("install bubblewrap 0.8 or newer for the full sandbox".to_owned()),
        },
        None => Finding {
            name: "sandbox",
            state: State::Warning,
            value: format!("none works here, so no agent is started ({state})"),
            fix: Some("install bubblewrap 0.8 or newer".to_owned()),
        },
    }
}

fn keys(present: impl Fn(&str) -> bool) -> Finding {
    let found: Vec<&str> = KEYS.into_iter().filter(|key| present(key)).collect();
    if found.iter().any(|key| *key != "GITHUB_TOKEN") {
        return good("keys", found.join(", "));
    }
    let fix =
        "export ANTHROPIC_API_KEY or another provider's key before the server starts; `holdpoint demo` needs none";
    Finding { name: "keys", state: State::Warning, value: "no model provider".to_owned(), fix: Some(fix.to_owned()) }
}

fn good(name: &'static str, value: String) -> Finding {
    Finding { name, state: State::Good, value, fix: None }
}

fn missing(name: &'static str, value: String, fix: &str) -> Finding {
    Finding { name, state: State::Missing, value, fix: Some(fix.to_owned()) }
}

/// The first line a program says about itself.
fn program_version(program: &str) -> Option<String> {
    // A program that cannot be started is as good as none.
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().next().map(clean_line).filter(|_| output.status.success())
}

fn version_numbers(text: &str) -> Option<(u32, u32)> {
    let numbers = text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut parts = numbers.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

fn render(checkup: &Checkup) -> String {
    let mut lines = Vec::new();
    for finding in &checkup.findings {
        let (mark, colour) = match finding.state {
            State::Good => ("✓", style::GOOD),
            State::Warning => ("!", style::WAIT),
            State::Missing => ("✗", style::BAD),
        };
        lines.push(format!("{colour}{mark}{colour:#} {:<8} {}", finding.name, clean_line(&finding.value)));
        lines.extend(finding.fix.iter().map(|fix| format!("           {DIM}→ {}{DIM:#}", clean_line(fix))));
    }
    lines.push(String::new());
    for setting in &checkup.settings {
        lines.push(format!("  {:<34} {} {DIM}({}){DIM:#}", setting.name, clean_line(&setting.value), setting.source));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::plain;

    #[test]
    fn an_old_git_is_refused_and_a_fix_is_named() {
        assert_eq!(git(Some("git version 2.47.3".to_owned())).state, State::Good);
        assert_eq!(git(Some("git version 2.30.0".to_owned())).state, State::Missing);
        assert_eq!(git(None).fix.as_deref(), Some("install git 2.38 or later"));
    }

    #[test]
    fn keys_are_told_by_name_only() {
        assert_eq!(keys(|key| key == "OPENAI_API_KEY").value, "OPENAI_API_KEY");
        assert_eq!(keys(|key| key == "GITHUB_TOKEN").state, State::Warning);
    }

    #[test]
    fn what_is_missing_comes_with_a_fix() {
        let text = plain(&render(&Checkup { findings: vec![git(None)], settings: Vec::new() }));
        assert_eq!(text, "✗ git      not found\n           → install git 2.38 or later\n");
    }
}
