//! The validation report and the proof, as text for people and for prompts.

use std::fmt::Write as _;

use domain::{Proof, Review, Run, Severity, Verdict};

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
    text
}

/// What the checks said, one after the other.
pub(crate) fn proof_text(proof: &Proof) -> String {
    let mut text = format!("Checks on commit {}:\n\n", proof.commit);
    if proof.checks.is_empty() {
        line(&mut text, "(none declared)");
    }
    for check in &proof.checks {
        let state = match check.exit {
            Some(0) => "passed".to_owned(),
            Some(code) => format!("failed with exit {code}"),
            None => "did not end by itself".to_owned(),
        };
        line(&mut text, &format!("- `{}` (`{}`): {state}", check.name, check.command));
        if !check.passed() {
            line(&mut text, &format!("\n```\n{}\n```\n", check.tail.trim_end().replace("```", "'''")));
        }
    }
    text
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a String cannot fail");
}
