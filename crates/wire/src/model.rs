//! Models: who offers them, what they cost, who uses them, and what came of a test call.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Problem;

/// Everything that is known about models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelsView {
    /// Providers, those that are set up first.
    pub providers: Vec<ProviderView>,
    /// Models of each role.
    pub roles: Vec<RoleModelsView>,
    /// Where prices come from.
    pub prices: PricesView,
    /// What test calls have cost so far.
    pub tests: TestSpendView,
    /// Agent programs that use their own login at their own vendor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub direct: Vec<DirectAgentView>,
}

/// An agent program that uses its own login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DirectAgentView {
    /// As `--agent` takes it.
    pub program: String,
    /// Where it may go.
    pub hosts: Vec<String>,
    /// Where its login is: files and names of variables, never what is in them.
    pub login: Vec<String>,
    /// What is missing of it.
    pub problem: Option<Problem>,
}

/// A provider of models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderView {
    /// The first part of its models' names.
    pub name: String,
    /// `anthropic`, `openai`, `gemini` or `scripted`.
    pub protocol: String,
    /// Whether its models can be used.
    pub set_up: bool,
    /// Where it is, without anything that might be a secret; none for scripts.
    pub base_url: Option<String>,
    /// The environment variable for its key; none where there is none.
    pub key_variable: Option<String>,
    /// Where its key was found, e.g. `ANTHROPIC_API_KEY` or `config.toml`; never the key.
    pub key_from: Option<String>,
    /// Its models: those with a price, and those that roles use.
    pub models: Vec<ModelView>,
}

/// A model, or all whose names begin alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelView {
    /// `provider/model`; a price for many ends in `*`.
    pub name: String,
    /// Absent: the price is unknown.
    pub price: Option<PriceView>,
    /// `built_in` or `user`.
    pub price_from: Option<String>,
    /// Tokens that fit; absent where nothing is known of it.
    pub context_tokens: Option<u64>,
    /// Roles that use it.
    pub roles: Vec<String>,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PriceView {
    /// Read.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read from the prompt cache.
    pub cache_read: f64,
    /// Written to the prompt cache.
    pub cache_write: f64,
    /// For calls with a long prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long: Option<LongPriceView>,
}

/// What all of a call with a long prompt costs, in US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LongPriceView {
    /// Prompts with more tokens than this.
    pub above: u64,
    /// Read.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read from the prompt cache.
    pub cache_read: f64,
    /// Written to the prompt cache.
    pub cache_write: f64,
}

/// Models of a role, in the order they are tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoleModelsView {
    /// The role.
    pub role: String,
    /// Its models; empty where none can be used.
    pub models: Vec<String>,
    /// `chosen` by the user, or the `default` of a provider that is set up.
    pub from: String,
    /// The program that plays it, where the user chose one; our own agent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

/// Where prices come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PricesView {
    /// Date of the built-in table.
    pub version: String,
    /// File for prices of the user's own.
    pub user_file: String,
    /// Whether that file is there and counts.
    pub user_file_used: bool,
}

/// What test calls have cost so far; they belong to no run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestSpendView {
    /// How many there were.
    pub calls: u64,
    /// What they cost as far as prices are known.
    pub usd: f64,
    /// Calls whose price is not known.
    pub unpriced: u64,
    /// Folder with a record of each.
    pub records: String,
}

/// Asks for one tiny call to each of some models.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelTestRequest {
    /// `provider/model`; empty: every model that roles use.
    #[serde(default)]
    pub models: Vec<String>,
    /// `messages`, `chat`, `responses`, `gemini` or `embeddings`; the one our own agent speaks to the provider unless
    /// said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
}

/// What came of a test call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelTestView {
    /// `provider/model`.
    pub model: String,
    /// Whether it answered.
    pub ok: bool,
    /// The protocol that was spoken; absent when no call was made.
    pub protocol: Option<String>,
    /// When.
    #[schema(value_type = String)]
    pub at: Timestamp,
    /// To the first byte of the answer.
    pub first_byte_millis: Option<f64>,
    /// To the end of it.
    pub total_millis: Option<f64>,
    /// Tokens read, cached ones included.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Whether the provider itself counted the tokens.
    pub usage_known: bool,
    /// What it cost; absent where the price is unknown or no call was made.
    pub usd: Option<f64>,
    /// Whether the model has a price.
    pub price_known: bool,
    /// How the broker recorded the call, e.g. `ok`, `error`, `quota`; `not_made` when there was none.
    pub outcome: String,
    /// What went wrong, and what to do.
    pub problem: Option<Problem>,
}
