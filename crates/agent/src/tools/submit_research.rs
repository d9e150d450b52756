//! `submit_research`: hands in what was found out about the repository.

use domain::DecisionNote;
use drivers::{HandIn, KeyFile, ResearchHandIn};
use serde::Deserialize;
use serde_json::json;

use super::submit_plan::decisions_schema;
use super::{Definition, MOST_ENTRIES, ToolError, entries, list_schema, required};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    #[serde(default)]
    summary: String,
    key_files: Vec<File>,
    #[serde(default)]
    patterns: Vec<String>,
    recommendations: Vec<String>,
    #[serde(default)]
    decisions: Vec<DecisionNote>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    path: String,
    why: String,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "submit_research",
        description: "Hand in what you found out and end your work. Only what you have seen in the repository; a person \
                      approves it and the planner works from it. Call it alone.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["key_files", "patterns", "recommendations"],
            "properties": {
                "summary": {"type": "string", "description": "What matters most, in a few sentences."},
                "key_files": {
                    "type": "array",
                    "description": "Files the work will touch or must know.",
                    "items": {
                        "type": "object",
                        "additionalProperties": false,
                        "required": ["path", "why"],
                        "properties": {
                            "path": {"type": "string", "description": "`path` or `path:line`, as it is in the repository."},
                            "why": {"type": "string", "description": "What is in it that matters here."}
                        }
                    }
                },
                "patterns": list_schema("How such things are done in this repository, with where it is to be seen."),
                "recommendations": list_schema("What follows for the work; at least one entry."),
                "decisions": decisions_schema()
            }
        }),
    }
}

pub(super) fn hand_in(input: Input) -> Result<HandIn, ToolError> {
    if input.key_files.len() > MOST_ENTRIES {
        return Err(ToolError::Refused(format!("`key_files` of `submit_research` has at most {MOST_ENTRIES} entries")));
    }
    let key_file = |file: File| {
        let path = required("submit_research", "key_files[].path", &file.path)?;
        let why = required("submit_research", "key_files[].why", &file.why)?;
        Ok(KeyFile { path, why })
    };
    let key_files = input.key_files.into_iter().map(key_file).collect::<Result<Vec<_>, ToolError>>()?;
    let recommendations = entries("submit_research", "recommendations", input.recommendations)?;
    if recommendations.is_empty() {
        let words = "`recommendations` of `submit_research` is empty: say what follows for the work";
        return Err(ToolError::Refused(words.to_owned()));
    }
    Ok(HandIn::Research(ResearchHandIn {
        summary: input.summary.trim().to_owned(),
        key_files,
        patterns: entries("submit_research", "patterns", input.patterns)?,
        recommendations,
        decisions: input.decisions,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::BlockTool;
    use super::*;

    #[test]
    fn research_names_files_with_a_reason_and_says_what_follows() {
        let read = |input| BlockTool::SubmitResearch.hand_in(&input);
        let file = json!({"path": "src/a.js", "why": "the router"});
        let Ok(HandIn::Research(found)) = read(json!({"key_files": [file], "recommendations": ["extend it"]})) else {
            panic!()
        };
        assert_eq!((found.key_files[0].why.as_str(), found.recommendations.len()), ("the router", 1));
        for (input, words) in [
            (json!({"key_files": [{"path": "a", "why": " "}], "recommendations": ["r"]}), "key_files[].why"),
            (json!({"key_files": [{"path": "a"}], "recommendations": ["r"]}), "missing field `why`"),
            (json!({"key_files": [], "recommendations": []}), "say what follows"),
        ] {
            let refused = read(input).unwrap_err().to_string();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
