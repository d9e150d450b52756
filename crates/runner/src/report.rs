//! The validation report and the proof, as text for people and for prompts.

use std::fmt::Write as _;

use domain::{CheckResult, Proof, Review, Run, Severity, Verdict, is_check_definition};

/// Changed test files that are listed by name.
const MAX_FILES: usize = 50;

/// `validation-report.md`.
pub(crate) fn validation(run: &Run, review: &Review) -> String {
    let mut text = String::from("# Validation report\n\n");
    let commit = run.code().map_or("-", |code| code.commit.as_str());
    let verdict = match (review.verdict, review.severity) {
        (Verdict::Pass, _) => "PASS",
        (Verdict::Fail, Severity::Minor) => "FAIL (minor)",
        (Verdict::Fail, Severity::Major) => "FAIL (major)",
    };
    line(&mut text, &format!("- Run: {}", run.id));
    line(&mut text, &format!("- Commit: {commit}"));
    line(&mut text, &format!("- Verdict: {verdict}"));
    line(&mut text, "\n## Summary\n");
    line(&mut text, review.summary.trim());
    if !review.findings.is_empty() {
        line(&mut text, "\n## Findings\n");
        for finding in &review.findings {
            let place = finding.place.as_ref().map(|place| format!("`{place}`: ")).unwrap_or_default();
            line(&mut text, &format!("- {place}{}", finding.message.trim()));
        }
    }
    line(&mut text, "\n## Proof\n");
    match &run.proof {
        None => line(&mut text, "No checks are declared for this project."),
        Some(proof) => text.push_str(&proof_text(proof)),
    }
    text.push_str(&check_definitions(run));
    text
}

/// Files the run changed that decide what the checks do: those ran as the run left them.
fn check_definitions(run: &Run) -> String {
    let commands: Vec<&str> = run.opened().config.checks.iter().map(|check| check.command.as_str()).collect();
    let changed = run.code().into_iter().flat_map(|code| &code.files);
    let changed: Vec<&String> = changed.filter(|file| is_check_definition(file, &commands)).collect();
    let mut text = String::new();
    if !changed.is_empty() {
        line(&mut text, "\nThe run changed files that decide what the checks do. No check ran as it was before:\n");
        changed.iter().take(MAX_FILES).for_each(|file| line(&mut text, &format!("- `{file}`")));
    }
    text
}

/// What the checks said, one after the other.
pub(crate) fn proof_text(proof: &Proof) -> String {
    let mut text = format!("Checks on commit {}:\n\n", proof.commit);
    if proof.checks.is_empty() {
        line(&mut text, "(none declared)");
    }
    checks(&mut text, &proof.checks);
    if let Some(earlier) = &proof.earlier_tests {
        let state = if earlier.passed() { "pass" } else { "fail" };
        line(
            &mut text,
            &format!("\nThe run changed tests. As they were before, the checks {state} on the same code:\n"),
        );
        checks(&mut text, &earlier.checks);
        line(&mut text, "\nChanged or deleted test files, and new settings of test runners:\n");
        earlier.files.iter().take(MAX_FILES).for_each(|file| line(&mut text, &format!("- `{file}`")));
        if let Some(more) = earlier.files.len().checked_sub(MAX_FILES).filter(|more| *more > 0) {
            line(&mut text, &format!("- and {more} more"));
        }
    }
    text
}

fn checks(text: &mut String, checks: &[CheckResult]) {
    for check in checks {
        let state = match check.exit {
            Some(0) => "passed".to_owned(),
            Some(code) => format!("failed with exit {code}"),
            None => "did not end by itself".to_owned(),
        };
        line(text, &format!("- `{}` (`{}`): {state}", check.name, check.command));
        if !check.passed() {
            line(text, &format!("\n```\n{}\n```\n", check.tail.trim_end().replace("```", "'''")));
        }
    }
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a String cannot fail");
}
