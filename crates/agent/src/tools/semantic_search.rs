//! `semantic_search`: places by what they are about, each as the file is now.

use index::Hit;
use serde::Deserialize;
use serde_json::json;

use super::searcher::Found;
use super::text::{self, Text};
use super::{Definition, Desk, ToolError, required};
use crate::shorten;

const DEFAULT: usize = 8;
const MOST: usize = 30;
const EXCERPT_LINES: usize = 7;
const LONGEST_LINE: usize = 160;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    query: String,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "semantic_search",
        description: "Find where something is done, by describing it in words: `retry a failed payment`, `where are \
                      uploads checked for size`. Ranks functions, types and sections by the words of their names, \
                      comments and code, also by similar words. Comes back as `path:first-last symbol` with the \
                      beginning of each place. Use it when you do not know the name; use grep when you do.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["query"],
            "properties": {
                "query": {"type": "string", "description": "What you look for, in a few words or a question."},
                "path": {"type": "string", "description": "Only beneath this file or directory."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "description": "Most places; default 8."}
            }
        }),
    }
}

pub(super) async fn run(desk: &Desk, input: Input) -> Result<String, ToolError> {
    let question = required("semantic_search", "query", &input.query)?;
    let under = match input.path.as_deref().filter(|path| !path.is_empty()) {
        Some(path) => {
            desk.workspace.kind(path)?;
            Some(desk.workspace.relative(path)?.display().to_string()).filter(|path| path != ".")
        }
        None => None,
    };
    let most = input.limit.unwrap_or(DEFAULT).clamp(1, MOST);
    let Found { hits, note } = desk.searcher.find(desk.workspace.root(), &question, under, most).await?;
    let note = note.map(|note| format!("\n({note})")).unwrap_or_default();
    if hits.is_empty() {
        return Ok(format!("nothing is like `{question}`; try other words, or grep for a name{note}"));
    }
    Ok(hits.iter().map(|hit| shown(desk, hit)).collect::<Vec<_>>().join("\n") + &note)
}

/// The place, and how it begins as the file is now.
fn shown(desk: &Desk, hit: &Hit) -> String {
    let symbol = hit.symbol.as_deref().map(|symbol| format!(" {}", shorten::one_line(symbol, 120))).unwrap_or_default();
    let mut out = format!("{}:{}-{}{symbol}\n", hit.path, hit.first, hit.last);
    let Ok(Text::Utf8(text)) = text::read(desk, &hit.path) else { return out };
    let lines = text.lines().enumerate().take(hit.last).skip(hit.first.saturating_sub(1)).take(EXCERPT_LINES);
    for (at, line) in lines {
        out.push_str(&format!("{:>6}→{}\n", at + 1, shorten::head(line.trim_end(), LONGEST_LINE)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::WorkTool;
    use super::super::fixture::{desk, reopened};
    use super::*;

    async fn find(desk: &Desk, input: serde_json::Value) -> String {
        WorkTool::SemanticSearch.run(desk, &input).await.unwrap_or_else(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_description_finds_the_place_as_it_is_now() {
        let code = "/// Tries a declined card once more.\nfn dun() {\n    charge();\n}\n";
        let (folder, desk) = desk(&[("src/pay.rs", code), ("docs/a.md", "# Cards\nWe take cards.\n")]);
        let found = find(&desk, json!({"query": "retry a declined payment"})).await;
        assert!(found.starts_with("src/pay.rs:1-4 dun\n     1→/// Tries a declined"), "{found}");
        assert!(find(&desk, json!({"query": "cards", "path": "docs"})).await.starts_with("docs/a.md:1-2 Cards"));
        std::fs::write(desk.workspace.root().join("src/pay.rs"), "fn walrus() {}\n").unwrap();
        assert!(find(&desk, json!({"query": "walrus"})).await.starts_with("src/pay.rs:1-1 walrus"));
        let again = reopened(&folder);
        assert!(
            find(&again, json!({"query": "the walrus"})).await.contains("pay.rs"),
            "the index outlives the process"
        );
    }

    #[tokio::test]
    async fn what_cannot_be_found_is_said_with_a_way_on() {
        let (folder, desk) = desk(&[("a.rs", "fn a() {}\n")]);
        assert!(find(&desk, json!({"query": "zebra crossing"})).await.contains("try other words"));
        assert!(find(&desk, json!({"query": " "})).await.contains("is empty"));
        assert!(find(&desk, json!({"query": "a", "path": "../x"})).await.contains("leaves the workspace"));
        assert!(find(&desk, json!({"query": "a", "path": "no"})).await.contains("does not exist"));
        std::fs::write(folder.path().join("session/index.db"), vec![9; 9000]).unwrap();
        assert!(find(&reopened(&folder), json!({"query": "a"})).await.contains("a.rs"), "a damaged index is made anew");
    }
}
