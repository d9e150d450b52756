//! How one run shall be done: trust, limits, models, git. Repository files may only make it stricter.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{AgentProgram, Brought, Check, Estimate, Micros, RiskPolicy, TaskBrief, TrustedSource};

/// Whether a gate opens by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gate {
    /// Goes on by itself.
    Auto,
    /// A person decides.
    Manual,
}

impl Gate {
    /// The stricter of two.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        if self == Self::Manual { self } else { other }
    }
}

/// The three trust switches of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trust {
    /// After the plan.
    pub planning: Gate,
    /// After the implementation.
    pub implementation: Gate,
    /// Before a fix round.
    pub fixes: Gate,
}

impl Default for Trust {
    fn default() -> Self {
        Self { planning: Gate::Manual, implementation: Gate::Auto, fixes: Gate::Auto }
    }
}

/// The name of a trust switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustKey {
    /// After the plan.
    Planning,
    /// After the implementation.
    Implementation,
    /// Before a fix round.
    Fixes,
}

impl Trust {
    /// The switch of that name.
    #[must_use]
    pub fn get(&self, key: TrustKey) -> Gate {
        match key {
            TrustKey::Planning => self.planning,
            TrustKey::Implementation => self.implementation,
            TrustKey::Fixes => self.fixes,
        }
    }

    /// Sets the switch of that name.
    pub fn set(&mut self, key: TrustKey, gate: Gate) {
        match key {
            TrustKey::Planning => self.planning = gate,
            TrustKey::Implementation => self.implementation = gate,
            TrustKey::Fixes => self.fixes = gate,
        }
    }
}

/// A value in a configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Not a trust switch.
    #[error("`{0}` is not a trust key; there are `planning`, `implementation` and `fixes`")]
    TrustKey(String),
    /// Not a trust value.
    #[error("`{0}` is not a trust value; use `auto` or `manual`")]
    TrustValue(String),
    /// Not a failure policy.
    #[error("`{0}` is not a failure policy; use `retry`, `continue` or `stop`")]
    OnFailure(String),
    /// Not `provider/model`.
    #[error("`{0}` is not a model name; write `provider/model`, for example `anthropic/claude-sonnet-4-5`")]
    Model(String),
    /// Not an agent program.
    #[error(
        "`{0}` is not an agent; use `own`, `claude`, `codex`, `codex-exec`, `gemini`, `opencode`, `acp:COMMAND` or \
         `command:COMMAND`"
    )]
    Agent(String),
    /// Not a priority.
    #[error("`{0}` is not a priority; use `low`, `normal` or `high`")]
    Priority(String),
}

impl FromStr for TrustKey {
    type Err = ConfigError;
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        match text {
            "planning" => Ok(Self::Planning),
            "implementation" => Ok(Self::Implementation),
            "fixes" => Ok(Self::Fixes),
            other => Err(ConfigError::TrustKey(other.to_owned())),
        }
    }
}

impl FromStr for Gate {
    type Err = ConfigError;
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        match text {
            "auto" => Ok(Self::Auto),
            "manual" => Ok(Self::Manual),
            other => Err(ConfigError::TrustValue(other.to_owned())),
        }
    }
}

/// A model as `provider/model`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelName(String);

impl ModelName {
    /// The part before the first slash.
    #[must_use]
    pub fn provider(&self) -> &str {
        self.0.split_once('/').map_or("", |(provider, _)| provider)
    }

    /// The part after the first slash.
    #[must_use]
    pub fn model(&self) -> &str {
        self.0.split_once('/').map_or("", |(_, model)| model)
    }

    /// The whole name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ModelName {
    type Err = ConfigError;
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let plain = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_graphic());
        match text.split_once('/') {
            Some((provider, model)) if plain(provider) && plain(model) && text.len() <= 200 => {
                Ok(Self(text.to_owned()))
            }
            _ => Err(ConfigError::Model(text.chars().filter(|c| !c.is_control()).take(60).collect())),
        }
    }
}

impl TryFrom<String> for ModelName {
    type Error = ConfigError;
    fn try_from(text: String) -> Result<Self, ConfigError> {
        text.parse()
    }
}

impl From<ModelName> for String {
    fn from(name: ModelName) -> Self {
        name.0
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What happens to the branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitPolicy {
    /// Branch the run starts from and may be merged into.
    pub base_branch: String,
    /// Squash-merge into the base when every gate passed.
    pub auto_merge: bool,
    /// Push the branch to the remote, if there is one.
    pub push: bool,
    /// Ask a person before code that nobody said yes to is pushed. Not set for runs of before there was such a question,
    /// and where the user set `trust.implementation` to `auto` themselves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ask_push: bool,
    /// Open a pull request for the pushed branch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub create_pr: bool,
    /// Ask a person before anything is merged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub review: bool,
}

/// How one run shall be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunConfig {
    /// Trust switches.
    pub trust: Trust,
    /// Questions the agents may ask before a full approval is asked for.
    pub max_clarifications: u32,
    /// Model per role.
    pub models: BTreeMap<String, ModelName>,
    /// Models a role goes to, in this order, when its own is unavailable.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fallbacks: BTreeMap<String, Vec<ModelName>>,
    /// The program that plays a role, where it is not our own agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, AgentProgram>,
    /// Roles whose program uses its own login at its own vendor, not the broker.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub direct: BTreeSet<String>,
    /// Minutes per stage, over the playbook's own.
    #[serde(default)]
    pub timeout_minutes: BTreeMap<String, u32>,
    /// What happens to the branch.
    pub git: GitPolicy,
    /// What the run may spend.
    pub budget: Option<Micros>,
    /// What it was thought to cost when it was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// Commands that prove a commit.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// Paths that are never committed.
    #[serde(default)]
    pub exclude_paths: Vec<String>,
    /// Stages after which a person is asked, whatever the playbook says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub require_approval: Vec<String>,
    /// Whether the clarifying conversation is left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip_clarification: bool,
    /// Turns of a clarifying conversation, over the playbook's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_clarification_rounds: Option<u32>,
    /// Agents of this run at once, below the playbook's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrency: Option<u32>,
    /// What happens when a task fails, over the playbook's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
    /// What a person should look at whatever the gates say.
    #[serde(default, skip_serializing_if = "is_default")]
    pub risk: RiskPolicy,
    /// The runs it is one of, when several were started together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
    /// Its place among the user's queued runs. The usual one is not stored, as it was before there were others.
    #[serde(default, skip_serializing_if = "Priority::is_normal")]
    pub priority: Priority,
    /// What was said with it, when it stands for a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Box<TaskBrief>>,
    /// Text of strangers it begins with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<Brought>,
    /// Sources of such text that the user trusts for this run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trusted: Vec<TrustedSource>,
}

/// Keeps what nobody set out of stored events.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Several runs that were started together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// The group's name: the id of its first run.
    pub id: String,
    /// Which of them, from 1.
    pub index: u32,
    /// Of how many.
    pub of: u32,
    /// Whether they are different ways to the same end, of which one is chosen.
    pub variants: bool,
}

/// What happens when a task of a plan fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// It is tried once more, with the error as context; then as `continue`.
    Retry,
    /// It is left out, with what depends on it.
    Continue,
    /// The whole run fails.
    Stop,
}

impl FromStr for OnFailure {
    type Err = ConfigError;
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        match text {
            "retry" => Ok(Self::Retry),
            "continue" => Ok(Self::Continue),
            "stop" => Ok(Self::Stop),
            other => Err(ConfigError::OnFailure(other.to_owned())),
        }
    }
}

/// How early a run gets in when its user has as many at work as may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// After others that were started about the same time.
    Low,
    /// In the order of starting.
    #[default]
    Normal,
    /// Before others that were started about the same time.
    High,
}

impl Priority {
    /// Whether it is the usual one.
    #[must_use]
    pub fn is_normal(&self) -> bool {
        *self == Self::Normal
    }

    /// The word used in views and in the database.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
        }
    }
}

impl FromStr for Priority {
    type Err = ConfigError;
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        match text {
            "low" => Ok(Self::Low),
            "normal" => Ok(Self::Normal),
            "high" => Ok(Self::High),
            other => Err(ConfigError::Priority(other.chars().filter(|c| !c.is_control()).take(60).collect())),
        }
    }
}

/// What the repository's own file asks for; it can only tighten.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// Stages whose gate must be manual.
    pub require_approval_for: Vec<String>,
    /// Whether merging by itself is forbidden.
    pub forbid_auto_merge: bool,
}

impl RunConfig {
    /// Applies a repository's policy: it can close gates, never open them.
    pub fn tighten(&mut self, policy: &Policy) {
        for stage in &policy.require_approval_for {
            if let Ok(key) = stage.parse::<TrustKey>() {
                self.trust.set(key, Gate::Manual);
            }
            if !self.require_approval.contains(stage) {
                self.require_approval.push(stage.clone());
            }
        }
        if policy.forbid_auto_merge {
            self.git.auto_merge = false;
        }
    }
}
