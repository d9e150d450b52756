//! Holds and decisions: why a run waits, and what a person may answer.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Artifact, Digest, HoldId, MemoryEntry, Micros, ModelName, Purse, SecretFinding};

/// Why a run waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldKind {
    /// Something is ready and a person wanted a say; or the questions ran out.
    Approval,
    /// The agent asks.
    Clarification,
    /// The conversation says that all is clear.
    Confirm,
    /// Validation failed and a person must choose.
    Fix,
    /// An agent wants to do something that needs a yes.
    Permission,
    /// A stage ran out of time, or its agent asks for more.
    Timeout,
    /// The model failed after all retries.
    Model,
    /// The provider's usage window is spent; goes on by itself when it opens again.
    Quota,
    /// The spend limit is reached.
    Budget,
    /// The branch does not merge into its base, or the base's checkout is dirty.
    Conflict,
    /// The remote refused a push or a pull request.
    Credentials,
    /// The work is done and a person must look before it goes anywhere.
    Review,
    /// Crashes or repairs are spent.
    Stuck,
    /// A person paused it, or has taken it over.
    Paused,
}

impl HoldKind {
    /// The word used in views.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Clarification => "clarification",
            Self::Confirm => "confirm",
            Self::Fix => "fix",
            Self::Permission => "permission",
            Self::Timeout => "timeout",
            Self::Model => "model",
            Self::Quota => "quota",
            Self::Budget => "budget",
            Self::Conflict => "conflict",
            Self::Credentials => "credentials",
            Self::Review => "review",
            Self::Stuck => "stuck",
            Self::Paused => "paused",
        }
    }
}

/// What shape an answer takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseType {
    /// Free text.
    Text,
    /// One of the options.
    SingleChoice,
    /// Some of the options.
    MultipleChoice,
    /// The name and content of a file.
    FileUpload,
}

/// A question of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// What it wants to know.
    pub question: String,
    /// Why it asks.
    #[serde(default)]
    pub context: String,
    /// What may be chosen, for choices.
    #[serde(default)]
    pub options: Vec<String>,
    /// What shape the answer takes.
    pub response_type: ResponseType,
    /// What the agent would choose itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub default: Vec<String>,
    /// Minutes a person has before the deadline's rule applies; none waits for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_minutes: Option<u32>,
    /// Whether a wrong guess can be mended later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reversible: bool,
    /// What happens at the deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_deadline: Option<AtDeadline>,
    /// Whether the answer is for the agent that asks alone, and is written down nowhere else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
}

impl Question {
    /// A question in free text, without a deadline.
    #[must_use]
    pub fn text(question: &str) -> Self {
        Self {
            question: question.to_owned(),
            context: String::new(),
            options: Vec::new(),
            response_type: ResponseType::Text,
            default: Vec::new(),
            deadline_minutes: None,
            reversible: false,
            at_deadline: None,
            secret: false,
        }
    }

    /// What happens at its deadline: guessing needs a default, and a guess that can be mended.
    #[must_use]
    pub fn rule(&self) -> Option<AtDeadline> {
        self.deadline_minutes?;
        match self.at_deadline.unwrap_or(AtDeadline::Wait) {
            AtDeadline::Assume if self.default.is_empty() || !self.reversible => Some(AtDeadline::Escalate),
            rule @ (AtDeadline::Wait | AtDeadline::Escalate | AtDeadline::Assume | AtDeadline::GoOn) => Some(rule),
        }
    }
}

/// What happens when nobody has answered by the deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtDeadline {
    /// It goes on waiting.
    Wait,
    /// It becomes a full approval.
    Escalate,
    /// It goes on with the default, recorded as an assumption that can be overturned.
    Assume,
    /// It goes on: what it waited for is over.
    GoOn,
}

/// A person's question about what a hold shows, and the agent's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// What the person wanted to know.
    pub question: String,
    /// What the agent said.
    pub answer: String,
}

/// The one reason why a run waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    /// Sequence number of the event that placed it.
    pub id: HoldId,
    /// Why.
    pub kind: HoldKind,
    /// Stage it belongs to; `None` while opening or finishing.
    pub stage: Option<String>,
    /// Since when.
    pub since: Timestamp,
    /// One or two sentences for people.
    pub summary: String,
    /// What is shown.
    #[serde(default)]
    pub artifact: Option<Artifact>,
    /// The entry for the project's memory that is written if this code is approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryEntry>,
    /// The question, for clarifications and for approvals that questions grew into.
    #[serde(default)]
    pub question: Option<Question>,
    /// Which question of the run this is, from 1; 0 for other holds.
    #[serde(default)]
    pub attempt_number: u32,
    /// What people asked about it, and the answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<Asked>,
    /// The task it is about, while tasks are worked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// When it ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// How it ends then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_deadline: Option<AtDeadline>,
    /// The limit it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purse: Option<Purse>,
    /// Text of strangers the run has read, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strangers: Vec<String>,
    /// What looks like a secret, in the work or in what is about to be pushed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<SecretFinding>,
    /// Binds a decision to what was shown.
    pub digest: Digest,
    /// The decisions it takes.
    pub allowed: Vec<DecisionKind>,
}

/// Who decided, and through which door.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Actor {
    /// The authenticated name.
    pub name: String,
    /// `cli`, `http`, `demo` …
    pub channel: String,
}

/// The name of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// Yes, to exactly this.
    Approve,
    /// No, with feedback; the stage is done again.
    Reject,
    /// A hint; the stage is done again with it.
    Suggest,
    /// The person's own plan takes the place of the one shown.
    ModifyPlan,
    /// A question about what is shown; the hold comes back with the answer.
    Ask,
    /// The answer to a question.
    Answer,
    /// No answer: the agent shall decide itself.
    Ignore,
    /// Try again.
    Retry,
    /// Yes, to this and whatever is asked in the same words in this run.
    ApproveForRun,
    /// Go on although validation failed.
    AcceptAnyway,
    /// More time.
    Extend,
    /// More money.
    Raise,
    /// Let an agent resolve the conflict.
    Resolve,
    /// Open a pull request instead of merging.
    CreatePr,
    /// The person works on the branch; the run waits.
    TakeOver,
    /// Go on after a pause.
    Resume,
    /// End the run.
    Cancel,
}

impl DecisionKind {
    /// The word used in views and on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Suggest => "suggest",
            Self::ModifyPlan => "modify_plan",
            Self::Ask => "ask",
            Self::Answer => "answer",
            Self::Ignore => "ignore",
            Self::Retry => "retry",
            Self::ApproveForRun => "approve_for_run",
            Self::AcceptAnyway => "accept_anyway",
            Self::Extend => "extend",
            Self::Raise => "raise",
            Self::Resolve => "resolve",
            Self::CreatePr => "create_pr",
            Self::TakeOver => "take_over",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
        }
    }
}

/// What a person answers to a hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Decision {
    /// Yes, to exactly this.
    Approve {
        /// Notes that go along to the next stage.
        notes: Option<String>,
    },
    /// No; the stage is done again with the feedback.
    Reject {
        /// What to change.
        feedback: String,
    },
    /// A hint; the stage is done again with it.
    Suggest {
        /// The hint.
        text: String,
    },
    /// The person's own version takes the place of the one shown.
    ModifyPlan {
        /// The whole text: JSON for a plan of tasks, Markdown for the rest.
        plan: String,
    },
    /// A question about what is shown.
    Ask {
        /// What the person wants to know.
        question: String,
    },
    /// The answer to a question.
    Answer {
        /// The text, or the chosen options.
        answer: Vec<String>,
    },
    /// No answer: the agent shall decide itself.
    Ignore,
    /// Try again.
    Retry {
        /// Guidance for the next try.
        feedback: Option<String>,
        /// Another model for the role, from now on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<ModelName>,
    },
    /// Yes, to this and whatever is asked in the same words in this run.
    ApproveForRun,
    /// Go on although validation failed.
    AcceptAnyway {
        /// Why.
        reason: Option<String>,
    },
    /// More time for the stage.
    Extend {
        /// How much more.
        minutes: u32,
    },
    /// More money for the run.
    Raise {
        /// Added to the limit.
        by: Micros,
    },
    /// Let an agent resolve the conflict.
    Resolve,
    /// Open a pull request instead of merging.
    CreatePr,
    /// The person works on the branch; the run waits.
    TakeOver,
    /// Go on after a pause.
    Resume,
    /// End the run.
    Cancel {
        /// Why.
        reason: Option<String>,
    },
}

impl Decision {
    /// Its name.
    #[must_use]
    pub fn kind(&self) -> DecisionKind {
        match self {
            Self::Approve { .. } => DecisionKind::Approve,
            Self::Reject { .. } => DecisionKind::Reject,
            Self::Suggest { .. } => DecisionKind::Suggest,
            Self::ModifyPlan { .. } => DecisionKind::ModifyPlan,
            Self::Ask { .. } => DecisionKind::Ask,
            Self::Answer { .. } => DecisionKind::Answer,
            Self::Ignore => DecisionKind::Ignore,
            Self::Retry { .. } => DecisionKind::Retry,
            Self::ApproveForRun => DecisionKind::ApproveForRun,
            Self::AcceptAnyway { .. } => DecisionKind::AcceptAnyway,
            Self::Extend { .. } => DecisionKind::Extend,
            Self::Raise { .. } => DecisionKind::Raise,
            Self::Resolve => DecisionKind::Resolve,
            Self::CreatePr => DecisionKind::CreatePr,
            Self::TakeOver => DecisionKind::TakeOver,
            Self::Resume => DecisionKind::Resume,
            Self::Cancel { .. } => DecisionKind::Cancel,
        }
    }
}
