//! The map of a task: which word may follow which, and what must be there before. The one place that says so; the
//! command line, the API and whoever watches over agents ask here. Never changes a run.

use serde::{Deserialize, Serialize};

use crate::{TaskWord, Verdict};

/// What of a task's file is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskArtifacts {
    /// `## Handoff` exists and says something.
    pub has_handoff: bool,
    /// `## Review` exists and says something.
    pub has_review: bool,
    /// The first verdict in it.
    pub verdict: Option<Verdict>,
}

/// What must be there before a task goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskGate {
    /// `## Handoff`, not empty.
    Handoff,
    /// `## Review` with the verdict PASS.
    ReviewPassed,
    /// `## Review` with the verdict FAIL.
    ReviewFailed,
}

/// Why a task does not become what was wished for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskRefusal {
    /// The run is of another playbook.
    #[error("this run is not a task: its playbook is `{0}`")]
    NotATask(String),
    /// The map has no such way.
    #[error("a task does not go from `{}` to `{}`", .from.word(), .to.word())]
    NotAllowed {
        /// What it is.
        from: TaskWord,
        /// What it should become.
        to: TaskWord,
    },
    /// The way is there, but not yet.
    #[error("a task goes from `{}` to `{}` only with {}", .from.word(), .to.word(), .missing.words())]
    Missing {
        /// What it is.
        from: TaskWord,
        /// What it should become.
        to: TaskWord,
        /// What is not there.
        missing: TaskGate,
    },
    /// The way is there, but no decision of a person leads along it now.
    #[error("a task goes from `{}` to `{}` by itself: {why}", .from.word(), .to.word())]
    ByItself {
        /// What it is.
        from: TaskWord,
        /// What it should become.
        to: TaskWord,
        /// What leads there.
        why: String,
    },
    /// It can be merged, but nobody has reviewed it.
    #[error("it is `{}`, not reviewed", .0.word())]
    NotReviewed(TaskWord),
}

impl TaskGate {
    /// As a person reads it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Handoff => "a `## Handoff` section that is not empty",
            Self::ReviewPassed => "a `## Review` section whose verdict is PASS",
            Self::ReviewFailed => "a `## Review` section whose verdict is FAIL",
        }
    }

    /// Whether it is there.
    #[must_use]
    pub fn is_met(self, artifacts: &TaskArtifacts) -> bool {
        match self {
            Self::Handoff => artifacts.has_handoff,
            Self::ReviewPassed => artifacts.has_review && artifacts.verdict == Some(Verdict::Pass),
            Self::ReviewFailed => artifacts.has_review && artifacts.verdict == Some(Verdict::Fail),
        }
    }
}

impl TaskRefusal {
    /// A word for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotATask(_) => "not_a_task",
            Self::NotAllowed { .. } => "transition_refused",
            Self::Missing { .. } => "artifact_missing",
            Self::ByItself { .. } => "goes_by_itself",
            Self::NotReviewed(_) => "not_reviewed",
        }
    }

    /// What can be done instead.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NotATask(_) => "use `holdpoint show` and `holdpoint decide` for it".to_owned(),
            Self::NotAllowed { from, .. } => match from.ways() {
                [] => format!("`{}` is the end; create a new task", from.word()),
                ways => {
                    let ways: Vec<String> = ways.iter().map(|way| format!("`{}`", way.word())).collect();
                    format!("from `{}` it may become {}", from.word(), ways.join(", "))
                }
            },
            Self::Missing { missing, .. } => match missing {
                TaskGate::Handoff => "the worker writes it to TASK.md, or hands over with its tool".to_owned(),
                TaskGate::ReviewPassed | TaskGate::ReviewFailed => {
                    "the reviewer writes it to TASK.md, or gives its verdict with its tool".to_owned()
                }
            },
            Self::ByItself { .. } => "`holdpoint why` tells what it waits for".to_owned(),
            Self::NotReviewed(_) => {
                "say `--force` to merge it all the same; that is recorded under your name".to_owned()
            }
        }
    }
}

impl TaskWord {
    /// The eight words of a task that one worker does.
    pub const EIGHT: [Self; 8] = [
        Self::Pending,
        Self::Clarification,
        Self::Working,
        Self::AgentReview,
        Self::Reviewing,
        Self::Stuck,
        Self::Done,
        Self::Cancelled,
    ];

    /// The word that is written so.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let all = Self::EIGHT.into_iter().chain([Self::Delegated, Self::Failed]);
        all.into_iter().find(|word| word.word() == text)
    }

    /// What it may become. `delegated` and `failed` are of tasks that were split up or could not begin.
    #[must_use]
    pub fn ways(self) -> &'static [Self] {
        match self {
            Self::Pending => &[Self::Working, Self::Clarification, Self::Cancelled, Self::Failed],
            Self::Clarification => &[Self::Working, Self::Cancelled, Self::Delegated],
            Self::Working => &[Self::AgentReview, Self::Clarification, Self::Stuck, Self::Cancelled, Self::Delegated],
            Self::AgentReview => &[Self::Reviewing, Self::Working, Self::Stuck, Self::Cancelled],
            Self::Reviewing => &[Self::Done, Self::Cancelled],
            Self::Stuck => &[Self::Working, Self::AgentReview, Self::Cancelled, Self::Delegated],
            Self::Delegated => &[Self::AgentReview, Self::Clarification, Self::Stuck, Self::Cancelled, Self::Failed],
            Self::Done | Self::Cancelled | Self::Failed => &[],
        }
    }

    /// Whether the map has a way to another word. Staying is not a way.
    #[must_use]
    pub fn may_become(self, to: Self) -> bool {
        self.ways().contains(&to)
    }

    /// What must be there before it becomes another word.
    #[must_use]
    pub fn gate(self, to: Self) -> Option<TaskGate> {
        match (self, to) {
            (Self::Working, Self::AgentReview) => Some(TaskGate::Handoff),
            (Self::AgentReview, Self::Reviewing) => Some(TaskGate::ReviewPassed),
            (Self::AgentReview, Self::Working | Self::Stuck) => Some(TaskGate::ReviewFailed),
            (_, _) => None,
        }
    }

    /// Whether it may become another word with what is there.
    pub fn check(self, to: Self, artifacts: &TaskArtifacts) -> Result<(), TaskRefusal> {
        if !self.may_become(to) {
            return Err(TaskRefusal::NotAllowed { from: self, to });
        }
        match self.gate(to).filter(|gate| !gate.is_met(artifacts)) {
            Some(missing) => Err(TaskRefusal::Missing { from: self, to, missing }),
            None => Ok(()),
        }
    }

    /// Whether work of such a task may be merged by force: it is under way, and its review is not passed.
    #[must_use]
    pub fn may_be_forced(self) -> bool {
        match self {
            Self::Clarification | Self::Working | Self::AgentReview | Self::Stuck => true,
            Self::Pending | Self::Delegated | Self::Reviewing | Self::Done | Self::Cancelled | Self::Failed => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows and columns in the order of `EIGHT`; `+` allowed, `H`, `P`, `F` allowed with what must be there.
    const MAP: [&str; 8] = [
        ".++....+", // pending
        "..+....+", // clarification
        ".+.H.+.+", // working
        "..F.PF.+", // agent-review
        "......++", // reviewing
        "..++...+", // stuck
        "........", // done
        "........", // cancelled
    ];

    fn all() -> Vec<TaskArtifacts> {
        let verdicts = [None, Some(Verdict::Pass), Some(Verdict::Fail)];
        let flags = [(false, false), (false, true), (true, false), (true, true)];
        let with = |verdict| flags.map(|(has_handoff, has_review)| TaskArtifacts { has_handoff, has_review, verdict });
        verdicts.into_iter().flat_map(with).collect()
    }

    #[test]
    fn every_pair_of_words_is_allowed_gated_or_refused_as_the_map_says() {
        for (from, row) in TaskWord::EIGHT.into_iter().zip(MAP) {
            for (to, cell) in TaskWord::EIGHT.into_iter().zip(row.chars()) {
                for artifacts in all() {
                    let there = match cell {
                        'H' => artifacts.has_handoff,
                        'P' => artifacts.has_review && artifacts.verdict == Some(Verdict::Pass),
                        'F' => artifacts.has_review && artifacts.verdict == Some(Verdict::Fail),
                        _ => true,
                    };
                    let said = from.check(to, &artifacts);
                    let expected = match (cell, there, from.gate(to)) {
                        ('.', _, _) => Err(TaskRefusal::NotAllowed { from, to }),
                        (_, false, Some(missing)) => Err(TaskRefusal::Missing { from, to, missing }),
                        (_, _, _) => Ok(()),
                    };
                    assert_eq!(said, expected, "{} → {} with {artifacts:?}", from.word(), to.word());
                }
            }
        }
    }

    #[test]
    fn a_refusal_names_where_it_is_where_it_should_go_and_what_would_be_possible() {
        let refusal = TaskWord::Reviewing.check(TaskWord::Working, &TaskArtifacts::default()).unwrap_err();
        assert_eq!(refusal.to_string(), "a task does not go from `reviewing` to `working`");
        assert_eq!(refusal.hint(), "from `reviewing` it may become `done`, `cancelled`");
        let missing = TaskWord::Working.check(TaskWord::AgentReview, &TaskArtifacts::default()).unwrap_err();
        assert!(missing.to_string().contains("## Handoff"), "{missing}");
        let end = TaskWord::Done.check(TaskWord::Working, &TaskArtifacts::default()).unwrap_err();
        assert!(end.hint().contains("new task"), "{}", end.hint());
    }

    #[test]
    fn every_word_is_read_as_it_is_written() {
        for word in TaskWord::EIGHT.into_iter().chain([TaskWord::Delegated, TaskWord::Failed]) {
            assert_eq!(TaskWord::parse(word.word()), Some(word));
        }
        assert_eq!(TaskWord::parse("Working"), None);
    }
}
