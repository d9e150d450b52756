//! What a project or a user says about a role: `roles/NAME.toml`. A project can take tools away, never give any.

use domain::ModelName;
use serde::{Deserialize, Serialize};

/// Bytes of the instructions of one role.
const LONGEST: usize = 16 * 1024;

/// A file about a role that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct RoleError {
    /// From 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// What differs from the built-in role.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoleSettings {
    /// What it is told besides its built-in prompt.
    #[serde(default)]
    pub instructions: Option<String>,
    /// What it is told in place of its built-in prompt, as a template; the rules and how to hand in always stay.
    #[serde(default)]
    pub prompt: Option<String>,
    /// The model that plays it, unless another one was named for the run.
    #[serde(default)]
    pub model: Option<ModelName>,
    /// How freely the model chooses, from 0 to 2.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// Tokens one answer may have.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// Of its tools only these; those that hand in and ask always stay.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    instructions: Option<String>,
    prompt: Option<String>,
    model: Option<String>,
    temperature: Option<f64>,
    max_tokens: Option<u32>,
    tools: Option<Vec<String>>,
}

impl RoleSettings {
    /// Reads a file.
    pub fn parse(source: &str) -> Result<Self, RoleError> {
        let file: File = toml::from_str(source).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let line = source.get(..at).unwrap_or_default().matches('\n').count() + 1;
            RoleError { line, message: error.message().to_owned() }
        })?;
        let refuse = |key: &str, message: String| {
            let at = source.lines().position(|line| line.trim_start().starts_with(key)).map_or(1, |at| at + 1);
            Err(RoleError { line: at, message: format!("`{key}` {message}") })
        };
        for (key, text) in [("instructions", &file.instructions), ("prompt", &file.prompt)] {
            if text.as_ref().is_some_and(|text| text.len() > LONGEST) {
                return refuse(key, format!("has more than {LONGEST} bytes"));
            }
        }
        if file.temperature.is_some_and(|said| !(0.0..=2.0).contains(&said)) {
            return refuse("temperature", "is not a number from 0 to 2".to_owned());
        }
        if file.max_tokens.is_some_and(|said| !(256..=1_000_000).contains(&said)) {
            return refuse("max_tokens", "is not a number from 256 to 1000000".to_owned());
        }
        let model = match file.model.as_deref().map(str::parse).transpose() {
            Ok(model) => model,
            Err(error) => return refuse("model", format!("cannot be used: {error}")),
        };
        let File { instructions, prompt, temperature, max_tokens, tools, .. } = file;
        Ok(Self { instructions, prompt, model, temperature, max_tokens, tools })
    }

    /// These and further ones: what both allow, and what both say; where only one can count, these.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let tools = match (self.tools, other.tools) {
            (Some(mine), Some(theirs)) => Some(mine.into_iter().filter(|tool| theirs.contains(tool)).collect()),
            (mine, theirs) => mine.or(theirs),
        };
        let instructions = match (self.instructions, other.instructions) {
            (Some(mine), Some(theirs)) => Some(format!("{}\n\n{}", mine.trim_end(), theirs.trim_end())),
            (mine, theirs) => mine.or(theirs),
        };
        let max_tokens = match (self.max_tokens, other.max_tokens) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        Self {
            instructions,
            prompt: self.prompt.or(other.prompt),
            model: self.model.or(other.model),
            temperature: self.temperature.or(other.temperature),
            max_tokens,
            tools,
        }
    }

    /// Whether a tool that does work is left to the role.
    #[must_use]
    pub fn leaves(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|left| left == tool))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_are_refused_with_their_line() {
        let error = RoleSettings::parse("instructions = \"x\"\n\nnetwork = true\n").unwrap_err();
        assert!(error.line == 3 && error.message.contains("network"), "{error}");
        assert!(RoleSettings::parse("tools = 3").is_err());
        assert_eq!(RoleSettings::parse("").unwrap(), RoleSettings::default());
    }

    #[test]
    fn values_out_of_range_are_refused_with_their_line() {
        for (text, words) in [
            ("\ntemperature = 3", "line 2: `temperature`"),
            ("max_tokens = 3", "`max_tokens` is not a number"),
            ("model = 'sonnet'", "`model` cannot be used"),
        ] {
            let error = RoleSettings::parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn the_user_wins_and_of_two_caps_the_lower_one() {
        let own = RoleSettings::parse("temperature = 0.1\nmax_tokens = 9000\nmodel = 'a/x'").unwrap();
        let project = RoleSettings::parse("temperature = 1\nmax_tokens = 4000\nmodel = 'b/y'\nprompt = 'p'").unwrap();
        let both = own.and(project);
        assert_eq!((both.temperature, both.max_tokens, both.prompt.as_deref()), (Some(0.1), Some(4_000), Some("p")));
        assert_eq!(both.model.unwrap().as_str(), "a/x");
    }

    #[test]
    fn several_files_can_only_take_tools_away() {
        let parse = |text: &str| RoleSettings::parse(text).unwrap();
        let both = parse("tools = ['grep', 'shell']\ninstructions = 'a'")
            .and(parse("tools = ['grep', 'fly']\ninstructions = 'b'"));
        assert_eq!((both.tools.clone(), both.instructions.clone()), (Some(vec!["grep".into()]), Some("a\n\nb".into())));
        assert!(both.leaves("grep") && !both.leaves("shell") && !both.leaves("fly"));
        assert!(RoleSettings::default().leaves("shell"));
    }
}
