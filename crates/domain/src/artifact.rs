//! What stages leave behind: artifacts, verdicts, proof.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{CommitId, Digest, Risk};

/// What kind of thing a stage must leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactKind {
    /// What is wanted, as a conversation settled it.
    Requirement,
    /// What is in scope and what is not.
    Scope,
    /// What was found out.
    Research,
    /// Tasks with dependencies.
    Plan,
    /// Markdown with Mermaid diagrams, under `.autonomous/specs/`.
    Spec,
    /// A commit with changed files.
    Code,
    /// A commit with changed files, and a note for who looks at it next.
    Handoff,
    /// The validator's report.
    ValidationReport,
}

impl ArtifactKind {
    /// The word used in playbooks, events and views.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Requirement => "requirement",
            Self::Scope => "scope",
            Self::Research => "research",
            Self::Plan => "plan",
            Self::Spec => "spec",
            Self::Code => "code",
            Self::Handoff => "handoff",
            Self::ValidationReport => "validation_report",
        }
    }

    /// Whether it is a text that a person can write in the agent's place.
    #[must_use]
    pub fn can_be_written(self) -> bool {
        match self {
            Self::Requirement | Self::Scope | Self::Research | Self::Plan | Self::Spec => true,
            Self::Code | Self::Handoff | Self::ValidationReport => false,
        }
    }

    /// Whether it is a commit with changed files, which can be judged and proven.
    #[must_use]
    pub fn is_code(self) -> bool {
        matches!(self, Self::Code | Self::Handoff)
    }
}

/// One version of something a stage made; its content lives in git.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// What it is.
    pub kind: ArtifactKind,
    /// Stage that made it.
    pub stage: String,
    /// 1, 2, 3 … per stage.
    pub version: u32,
    /// File in the commit; `None` for code, which is the commit itself.
    pub path: Option<String>,
    /// Commit that holds it.
    pub commit: CommitId,
    /// Digest of the content shown to people: the file's bytes, or the tree for code.
    pub digest: Digest,
    /// One line for people.
    pub title: String,
    /// Paths changed against the stage's start, at most a few hundred.
    #[serde(default)]
    pub files: Vec<String>,
    /// What of it a person should look at, whatever the gates say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub risks: Vec<Risk>,
    /// When it was recorded.
    pub created_at: Timestamp,
}

/// A command Holdpoint itself runs on an exact commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// What people call it.
    pub name: String,
    /// Shell command, run in a clean checkout.
    pub command: String,
}

/// How one check ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckResult {
    /// The check's name.
    pub name: String,
    /// The command that ran.
    pub command: String,
    /// Exit code; `None` when it was ended by a signal or by its time limit.
    pub exit: Option<i32>,
    /// The end of its output.
    pub tail: String,
}

impl CheckResult {
    /// Whether the check passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.exit == Some(0)
    }
}

/// Result of all declared checks on one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Proof {
    /// The exact commit they ran on.
    pub commit: CommitId,
    /// One entry per declared check, in order.
    pub checks: Vec<CheckResult>,
    /// The same checks with the tests that the run changed as they were before; none where it changed none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier_tests: Option<EarlierTests>,
}

/// The declared checks on the same code, but with every test file that the run changed or deleted as it was in the base
/// commit: whoever wrote the code cannot make them pass by changing them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EarlierTests {
    /// The changed or deleted test files.
    pub files: Vec<String>,
    /// One entry per declared check, in order.
    pub checks: Vec<CheckResult>,
}

impl EarlierTests {
    /// Whether every check passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.checks.iter().all(CheckResult::passed)
    }
}

impl Proof {
    /// Whether every check passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.checks.iter().all(CheckResult::passed)
    }
}

/// PASS or FAIL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All that was asked is there.
    Pass,
    /// Something is missing or wrong.
    Fail,
}

/// How bad a failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A fix round can mend it.
    Minor,
    /// A person should decide.
    Major,
}

/// One remark of a reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What is wrong.
    pub message: String,
    /// Where, as `path` or `path:line`.
    #[serde(default)]
    pub place: Option<String>,
}

/// A validator's verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Review {
    /// PASS or FAIL.
    pub verdict: Verdict,
    /// Only meaningful for FAIL.
    pub severity: Severity,
    /// A few sentences.
    pub summary: String,
    /// Single remarks.
    #[serde(default)]
    pub findings: Vec<Finding>,
}
