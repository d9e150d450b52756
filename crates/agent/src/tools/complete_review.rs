//! `complete_review`: hands in a verdict.

use domain::{Finding, Review, Severity, Verdict};
use drivers::HandIn;
use serde::Deserialize;
use serde_json::json;

use super::{Definition, ToolError, required};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    verdict: Verdict,
    #[serde(default)]
    severity: Option<Severity>,
    summary: String,
    #[serde(default)]
    findings: Vec<Finding>,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "complete_review",
        description: "Hand in your verdict and end. `fail` needs a severity: `minor` when another round of work can mend \
                      it, `major` when a person should decide. Every reason for a fail is a finding the next round can \
                      act on; the comments you added are taken along as findings and need not be said again.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["verdict", "summary"],
            "properties": {
                "verdict": {"type": "string", "enum": ["pass", "fail"]},
                "severity": {"type": "string", "enum": ["minor", "major"], "description": "Required for `fail`."},
                "summary": {"type": "string", "description": "The reasons for the verdict, in a few sentences."},
                "findings": {
                    "type": "array",
                    "description": "Single remarks that are not comments yet.",
                    "items": {
                        "type": "object",
                        "additionalProperties": false,
                        "required": ["message"],
                        "properties": {
                            "message": {"type": "string", "description": "What is wrong and what would be right."},
                            "place": {"type": "string", "description": "`path` or `path:line`."}
                        }
                    }
                }
            }
        }),
    }
}

pub(super) fn hand_in(input: Input) -> Result<HandIn, ToolError> {
    let summary = required("complete_review", "summary", &input.summary)?;
    for finding in &input.findings {
        required("complete_review", "findings[].message", &finding.message)?;
    }
    let severity = match (input.verdict, input.severity) {
        (Verdict::Fail, None) => {
            let words =
                "a `fail` needs `severity`: `minor` if another round can mend it, `major` if a person should decide";
            return Err(ToolError::Refused(words.to_owned()));
        }
        (Verdict::Fail, Some(severity)) => severity,
        // The contract has no place for "none"; for a pass nobody looks at it.
        (Verdict::Pass, _) => Severity::Minor,
    };
    Ok(HandIn::Review(Review { verdict: input.verdict, severity, summary, findings: input.findings }))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::BlockTool;
    use super::*;

    fn read(input: Value) -> Result<Review, String> {
        match BlockTool::CompleteReview.hand_in(&input) {
            Ok(HandIn::Review(review)) => Ok(review),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn a_fail_needs_a_severity_and_a_pass_does_not() {
        assert_eq!(read(json!({"verdict": "pass", "summary": "s", "findings": []})).unwrap().verdict, Verdict::Pass);
        let failed = json!({"verdict": "fail", "severity": "major", "summary": "s", "findings": [{"message": "m", "place": "a:1"}]});
        let failed = read(failed).unwrap();
        assert_eq!((failed.severity, failed.findings[0].place.as_deref()), (Severity::Major, Some("a:1")));
        for (input, words) in [
            (json!({"verdict": "fail", "summary": "s"}), "needs `severity`"),
            (json!({"verdict": "maybe", "summary": "s"}), "unknown variant"),
            (json!({"verdict": "pass", "summary": ""}), "is empty"),
            (json!({"verdict": "pass", "summary": "s", "findings": [{"message": " "}]}), "is empty"),
        ] {
            let refused = read(input).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
