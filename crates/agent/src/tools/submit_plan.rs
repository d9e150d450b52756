//! `submit_plan`: hands in a plan. The diagram is only looked at lightly here; Holdpoint parses it for real.

use domain::DecisionNote;
use drivers::{HandIn, PlanHandIn};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Definition, ToolError, required};

const MOST_BYTES: usize = 256 * 1024;

/// First words of the diagrams Mermaid knows and plans use.
const KINDS: &[&str] = &[
    "flowchart",
    "graph",
    "sequenceDiagram",
    "classDiagram",
    "classDiagram-v2",
    "stateDiagram",
    "stateDiagram-v2",
    "erDiagram",
    "journey",
    "gantt",
    "pie",
    "mindmap",
    "timeline",
    "gitGraph",
    "requirementDiagram",
    "C4Context",
    "quadrantChart",
    "block-beta",
    "architecture-beta",
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    title: String,
    body: String,
    #[serde(default)]
    decisions: Vec<DecisionNote>,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "submit_plan",
        description: "Hand in the plan and end your work. `body` is the whole plan in Markdown: `# Title`, `## Goal`, \
                      `## Design` with one Mermaid flowchart in a ```mermaid fence, `## Steps`, `## Checks`, `## Risks`; \
                      at most 256 KiB. Call it alone, once the plan is complete.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["title", "body"],
            "properties": {
                "title": {"type": "string", "description": "The plan in one line."},
                "body": {"type": "string", "description": "The whole plan in Markdown."},
                "decisions": decisions_schema()
            }
        }),
    }
}

/// Choices worth remembering; shared by the tools that hand in work.
pub(super) fn decisions_schema() -> Value {
    json!({
        "type": "array",
        "description": "Choices you made that later work should know, if any.",
        "items": {
            "type": "object",
            "additionalProperties": false,
            "required": ["topic", "choice"],
            "properties": {
                "topic": {"type": "string"},
                "choice": {"type": "string"},
                "rationale": {"type": "string"}
            }
        }
    })
}

pub(super) fn hand_in(input: Input) -> Result<HandIn, ToolError> {
    let title = required("submit_plan", "title", &input.title)?;
    if title.contains('\n') {
        return Err(ToolError::Refused("`title` has more than one line".to_owned()));
    }
    required("submit_plan", "body", &input.body)?;
    if input.body.len() > MOST_BYTES {
        let size = input.body.len();
        return Err(ToolError::Refused(format!("`body` has {size} bytes; a plan has at most {MOST_BYTES}")));
    }
    check_diagrams(&input.body)?;
    Ok(HandIn::Plan(PlanHandIn { title, body: input.body, decisions: input.decisions }))
}

fn check_diagrams(body: &str) -> Result<(), ToolError> {
    let diagrams = diagrams(body);
    if diagrams.is_empty() {
        let words = "the plan has no Mermaid diagram; add one in a ```mermaid fence under `## Design`";
        return Err(ToolError::Refused(words.to_owned()));
    }
    for (number, diagram) in diagrams.iter().enumerate() {
        let first = first_word(diagram);
        if !KINDS.contains(&first) {
            let number = number + 1;
            return Err(ToolError::Refused(if first.is_empty() {
                format!("Mermaid diagram {number} is empty")
            } else {
                format!(
                    "Mermaid diagram {number} begins with `{first}`, which is no kind of diagram; begin with `flowchart TD`"
                )
            }));
        }
    }
    Ok(())
}

/// The text of each fence marked `mermaid`; one that is never closed runs to the end, as in Markdown.
fn diagrams(body: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fence: Option<(&str, Option<String>)> = None;
    for line in body.lines() {
        let trimmed = line.trim();
        let ticks = &trimmed[..trimmed.len() - trimmed.trim_start_matches(['`', '~']).len()];
        fence = match fence {
            Some((open, text)) if trimmed == ticks && ticks.starts_with(open) => {
                found.extend(text);
                None
            }
            Some((open, text)) => Some((open, text.map(|text| text + line + "\n"))),
            None if ticks.len() >= 3 => {
                let mermaid = trimmed[ticks.len()..].trim().eq_ignore_ascii_case("mermaid");
                Some((ticks, mermaid.then(String::new)))
            }
            None => None,
        };
    }
    found.extend(fence.and_then(|(_, text)| text));
    found
}

/// The first word after front matter, directives and comments.
fn first_word(diagram: &str) -> &str {
    let mut lines =
        diagram.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("%%")).peekable();
    if lines.peek() == Some(&"---") {
        lines.next();
        let _front_matter = lines.by_ref().take_while(|line| *line != "---").count();
    }
    lines.next().and_then(|line| line.split([' ', '\t', ';', ':']).next()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, expected: Result<(), &str>) {
        let input = Input { title: "T".into(), body: body.to_owned(), decisions: Vec::new() };
        match (hand_in(input), expected) {
            (Ok(HandIn::Plan(plan)), Ok(())) => assert_eq!(plan.body, body),
            (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
            (read, _) => panic!("{read:?}"),
        }
    }

    #[test]
    fn a_plan_has_a_diagram_of_a_known_kind() {
        check("# T\n```mermaid\nflowchart TD\n  a --> b\n```\n", Ok(()));
        check("```mermaid\n---\ntitle: x\n---\n%% note\ngraph LR; a-->b\n```", Ok(()));
        check("~~~~ Mermaid\nsequenceDiagram\n~~~\n~~~~\n", Ok(()));
        check("# T\nno diagram", Err("no Mermaid diagram"));
        check("````\n```mermaid\nflowchart TD\n```\n````\n", Err("no Mermaid diagram"));
        check("```mermaid\n\n```", Err("diagram 1 is empty"));
        check("```mermaid\nflowchart TD\n```\n```mermaid\nboxes a b\n```", Err("diagram 2 begins with `boxes`"));
        check(" ", Err("`body` of `submit_plan` is empty"));
        let long = format!("```mermaid\ngraph TD\n```\n{}", "x".repeat(MOST_BYTES));
        check(&long, Err("at most 262144"));
    }

    #[test]
    fn the_title_is_one_line() {
        let body = "```mermaid\ngraph TD\n```".to_owned();
        for title in ["", " \n", "a\nb"] {
            assert!(hand_in(Input { title: title.into(), body: body.clone(), decisions: Vec::new() }).is_err());
        }
    }
}
