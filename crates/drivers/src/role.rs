//! What a project or a user says about a role: `roles/NAME.toml`. A project can take tools away, never give any.

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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoleSettings {
    /// What it is told besides its built-in prompt.
    #[serde(default)]
    pub instructions: Option<String>,
    /// Of its tools only these; those that hand in and ask always stay.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    instructions: Option<String>,
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
        if file.instructions.as_ref().is_some_and(|text| text.len() > LONGEST) {
            return Err(RoleError { line: 1, message: format!("`instructions` has more than {LONGEST} bytes") });
        }
        Ok(Self { instructions: file.instructions, tools: file.tools })
    }

    /// These and further ones: what both allow, and what both say.
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
        Self { instructions, tools }
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
    fn several_files_can_only_take_tools_away() {
        let parse = |text: &str| RoleSettings::parse(text).unwrap();
        let both = parse("tools = ['grep', 'shell']\ninstructions = 'a'")
            .and(parse("tools = ['grep', 'fly']\ninstructions = 'b'"));
        assert_eq!((both.tools.clone(), both.instructions.clone()), (Some(vec!["grep".into()]), Some("a\n\nb".into())));
        assert!(both.leaves("grep") && !both.leaves("shell") && !both.leaves("fly"));
        assert!(RoleSettings::default().leaves("shell"));
    }
}
