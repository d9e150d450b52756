//! What our own agent hands in: a file in the attempt's session folder. Written by the agent, so never trusted.

use domain::{DecisionNote, Plan, Question, Reflection, Review, Shortage};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::JobKind;

/// What an agent hands in when it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum HandIn {
    /// A design.
    Plan(PlanHandIn),
    /// A plan of tasks.
    Tasks(TasksHandIn),
    /// What is in scope and what is not.
    Scope(ScopeHandIn),
    /// What was found out.
    Research(ResearchHandIn),
    /// Code in the workspace.
    Pulse(PulseHandIn),
    /// Code in the workspace, with a note for who looks at it next.
    Handoff(HandoffHandIn),
    /// A verdict.
    Review(Review),
    /// A turn of a conversation; it goes on when the person has answered.
    Said {
        /// Whether all is clear.
        ready: bool,
        /// The questions, or the summary.
        message: String,
    },
    /// The answer to a person's question.
    Answer {
        /// The answer.
        text: String,
    },
    /// The end of an iteration; what it changed is in the workspace.
    Reflection(ReflectionHandIn),
    /// Questions; the conversation goes on when they are answered.
    Questions {
        /// At least one.
        questions: Vec<Question>,
    },
    /// A wish for more time; the conversation goes on when it is granted.
    Extension {
        /// How much more.
        minutes: u32,
        /// Why.
        reason: String,
    },
    /// A call that needs a person's yes; the conversation goes on when they have spoken.
    Permission {
        /// What, why, and which call it is.
        request: String,
    },
    /// The model could not be reached or refused, after all retries.
    ModelFailed {
        /// What it said.
        reason: String,
    },
    /// The provider's usage window is spent, and there is no other model to go to.
    QuotaSpent {
        /// What it said.
        reason: String,
        /// When it opens again, as far as the provider told.
        #[serde(default)]
        resets_at: Option<Timestamp>,
    },
    /// The broker refused: the envelope is spent.
    BudgetSpent {
        /// What it said.
        reason: String,
        /// Which limit it was.
        #[serde(default)]
        shortage: Shortage,
    },
    /// The turn limit was reached, or the model stopped without handing anything in.
    GaveUp {
        /// What is known.
        reason: String,
    },
}

impl HandIn {
    /// Most minutes one request for more time may ask for.
    pub const MAX_EXTENSION: u32 = 24 * 60;

    /// The word events use for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Plan(_) => "plan",
            Self::Tasks(_) => "tasks",
            Self::Scope(_) => "scope",
            Self::Research(_) => "research",
            Self::Pulse(_) => "pulse",
            Self::Handoff(_) => "handoff",
            Self::Review(_) => "review",
            Self::Said { .. } => "said",
            Self::Answer { .. } => "answer",
            Self::Reflection(_) => "reflection",
            Self::Questions { .. } => "questions",
            Self::Extension { .. } => "extension",
            Self::Permission { .. } => "permission",
            Self::ModelFailed { .. } => "model_failed",
            Self::QuotaSpent { .. } => "quota_spent",
            Self::BudgetSpent { .. } => "budget_spent",
            Self::GaveUp { .. } => "gave_up",
        }
    }

    /// Whether it is the work itself, and neither a question nor trouble.
    #[must_use]
    pub fn is_work(&self) -> bool {
        match self {
            Self::Plan(_)
            | Self::Tasks(_)
            | Self::Scope(_)
            | Self::Research(_)
            | Self::Pulse(_)
            | Self::Handoff(_)
            | Self::Review(_)
            | Self::Answer { .. }
            | Self::Reflection(_) => true,
            Self::Said { .. }
            | Self::Questions { .. }
            | Self::Extension { .. }
            | Self::Permission { .. }
            | Self::ModelFailed { .. }
            | Self::QuotaSpent { .. }
            | Self::BudgetSpent { .. }
            | Self::GaveUp { .. } => false,
        }
    }

    /// Whether an agent with this job may hand it in. Trouble fits every job; who judges or answers may not ask.
    #[must_use]
    pub fn fits(&self, kind: JobKind) -> bool {
        match self {
            Self::Plan(_) => kind == JobKind::Spec,
            Self::Tasks(_) => matches!(kind, JobKind::Tasks | JobKind::Lead),
            Self::Scope(_) => kind == JobKind::Scope,
            Self::Research(_) => kind == JobKind::Research,
            Self::Pulse(_) => kind == JobKind::Code,
            Self::Handoff(_) => matches!(kind, JobKind::Handoff | JobKind::Lead),
            Self::Review(_) => kind == JobKind::Review,
            Self::Said { .. } => kind == JobKind::Converse,
            Self::Answer { .. } => matches!(kind, JobKind::Answer | JobKind::Discuss),
            Self::Reflection(_) => kind == JobKind::Pursue,
            Self::Questions { .. } | Self::Extension { .. } | Self::Permission { .. } => {
                !matches!(kind, JobKind::Review | JobKind::Answer | JobKind::Discuss)
            }
            Self::ModelFailed { .. } | Self::QuotaSpent { .. } | Self::BudgetSpent { .. } | Self::GaveUp { .. } => true,
        }
    }
}

/// A design: Markdown with at least one Mermaid diagram.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanHandIn {
    /// One line.
    pub title: String,
    /// The whole Markdown.
    pub body: String,
    /// Choices worth remembering.
    #[serde(default)]
    pub decisions: Vec<DecisionNote>,
}

/// A plan of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TasksHandIn {
    /// Summary and tasks.
    pub plan: Plan,
    /// Choices worth remembering.
    #[serde(default)]
    pub decisions: Vec<DecisionNote>,
}

/// What is in scope and what is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopeHandIn {
    /// A few sentences.
    #[serde(default)]
    pub summary: String,
    /// What will be done.
    pub in_scope: Vec<String>,
    /// What will not.
    #[serde(default)]
    pub out_of_scope: Vec<String>,
    /// What must hold whatever is done.
    #[serde(default)]
    pub constraints: Vec<String>,
    /// Choices worth remembering.
    #[serde(default)]
    pub decisions: Vec<DecisionNote>,
}

/// What was found out about the repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResearchHandIn {
    /// A few sentences.
    #[serde(default)]
    pub summary: String,
    /// Files that matter.
    pub key_files: Vec<KeyFile>,
    /// How things are done here.
    #[serde(default)]
    pub patterns: Vec<String>,
    /// What follows for the work.
    pub recommendations: Vec<String>,
    /// Choices worth remembering.
    #[serde(default)]
    pub decisions: Vec<DecisionNote>,
}

/// A file that matters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyFile {
    /// Where it is.
    pub path: String,
    /// Why it matters.
    pub why: String,
}

/// Finished code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PulseHandIn {
    /// What was done.
    pub summary: String,
    /// Choices worth remembering.
    #[serde(default)]
    pub decisions: Vec<DecisionNote>,
}

/// Finished code, for a person who has not seen any of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HandoffHandIn {
    /// What was done.
    pub summary: String,
    /// Where to look first, and at what.
    pub look_at: String,
    /// How to see that it works.
    pub how_to_test: String,
    /// Choices worth remembering.
    #[serde(default)]
    pub decisions: Vec<DecisionNote>,
}

/// The end of an iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReflectionHandIn {
    /// What is said about it.
    pub reflection: Reflection,
    /// Choices worth remembering.
    #[serde(default)]
    pub decisions: Vec<DecisionNote>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_this_version_does_not_know_is_not_taken_for_another() {
        assert!(serde_json::from_str::<HandIn>(r#"{"kind": "deploy", "summary": "s"}"#).is_err());
    }

    #[test]
    fn each_job_takes_one_kind_of_work_and_judges_take_no_questions() {
        let pulse = HandIn::Pulse(PulseHandIn { summary: "s".into(), decisions: Vec::new() });
        let questions = HandIn::Questions { questions: vec![Question::text("Which?")] };
        let taking = |hand_in: &HandIn| JobKind::ALL.iter().filter(|kind| hand_in.fits(**kind)).count();
        assert_eq!(taking(&pulse), 1);
        assert_eq!(taking(&HandIn::Answer { text: "a".into() }), 2);
        assert_eq!(taking(&HandIn::GaveUp { reason: "r".into() }), JobKind::ALL.len());
        assert!(!questions.fits(JobKind::Review) && !questions.fits(JobKind::Answer) && questions.fits(JobKind::Scope));
        assert!(!HandIn::Extension { minutes: 5, reason: "r".into() }.fits(JobKind::Review));
    }

    #[test]
    fn everything_handed_in_survives_the_file() {
        let reflection = Reflection {
            goal_achieved: false,
            progress: 40,
            content: "c".into(),
            next_action: "n".into(),
            requires_user_intervention: false,
            issues: vec!["i".into()],
        };
        let tasks = r#"{"kind":"tasks","plan":{"summary":"s","tasks":[]}}"#;
        for hand_in in [
            HandIn::Reflection(ReflectionHandIn { reflection, decisions: Vec::new() }),
            HandIn::Said { ready: true, message: "m".into() },
            serde_json::from_str(tasks).unwrap(),
        ] {
            let text = serde_json::to_string(&hand_in).unwrap();
            assert!(text.contains(&format!("\"kind\":\"{}\"", hand_in.word())), "{text}");
            assert_eq!(serde_json::from_str::<HandIn>(&text).unwrap(), hand_in);
        }
    }
}
