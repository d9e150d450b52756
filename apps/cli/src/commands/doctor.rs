//! `doctor`: what is there, what is missing, what to do about it, and every setting with where it came from.

use server::Told;
use wire::{DoctorView, ExitCode, FindingState, FindingView};

use super::serve::environment_block;
use crate::{
    failure::Failure,
    report::{clean_line, style, style::DIM},
    session::Session,
};

pub(super) async fn run(session: &Session) -> Result<ExitCode, Failure> {
    let home = session.home.path();
    let told = Told::read(home, &environment_block())
        .map_err(|error| Failure::unavailable("config", error.to_string(), "correct the file, or move it away"))?;
    let mut findings = server::findings(home, &told);
    let after = findings.iter().position(|finding| finding.name == "token").unwrap_or(findings.len());
    findings.insert(after, server(session).await);
    let worst = findings.iter().any(|finding| finding.state == FindingState::Missing);
    let checkup = DoctorView { findings, settings: told.settings };
    if session.report.is_json() {
        session.report.json(&checkup);
    } else {
        session.report.data(&render(&checkup));
    }
    Ok(if worst { ExitCode::Unavailable } else { ExitCode::Done })
}

async fn server(session: &Session) -> FindingView {
    let value = match (session.running().await, session.home.server()) {
        (Some(client), Some(info)) => format!("{} (pid {}, {})", client.url(), info.pid, info.version),
        (Some(client), None) => client.url().to_owned(),
        (None, Some(_)) => "gone; the next command starts another".to_owned(),
        (None, None) => "not running; the next command starts one".to_owned(),
    };
    server::good("server", value)
}

fn render(checkup: &DoctorView) -> String {
    let mut lines = Vec::new();
    for finding in &checkup.findings {
        let (mark, colour) = match finding.state {
            FindingState::Good => ("✓", style::GOOD),
            FindingState::Warning => ("!", style::WAIT),
            FindingState::Missing => ("✗", style::BAD),
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
    fn what_is_missing_comes_with_a_fix() {
        let git = FindingView {
            name: "git".to_owned(),
            state: FindingState::Missing,
            value: "not found".to_owned(),
            fix: Some("install git 2.38 or later".to_owned()),
        };
        let text = plain(&render(&DoctorView { findings: vec![git], settings: Vec::new() }));
        assert_eq!(text, "✗ git      not found\n           → install git 2.38 or later\n");
    }
}
