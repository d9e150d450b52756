//! A whole plan: its headings and all of its diagrams, or the first thing that is
//! wrong with it, said so that a person or a model can mend it.

use std::fmt::Write as _;

use crate::constraints::Constraints;
use crate::diagram::{Diagram, DiagramError};
use crate::markdown::{self, Fence, FenceEnd, Section};

pub const MAX_SPEC_BYTES: usize = 256 * 1024;
pub const MAX_DIAGRAMS: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Text of the first level-one heading.
    pub title: Option<String>,
    pub sections: Vec<Section>,
    /// Never empty.
    pub diagrams: Vec<PlacedDiagram>,
}

/// A diagram and where it stands in the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedDiagram {
    /// Counted from 1 over the plan's Mermaid fences.
    pub number: usize,
    /// Line of the opening fence, counted from 1.
    pub line: usize,
    pub diagram: Diagram,
}

impl Spec {
    pub fn parse(markdown: &str) -> Result<Self, SpecError> {
        if markdown.len() > MAX_SPEC_BYTES {
            return Err(SpecError::TooLarge { bytes: markdown.len() });
        }
        let outline = markdown::outline(markdown);
        let fences: Vec<&Fence> = outline.fences.iter().filter(|f| f.language == "mermaid").collect();
        if fences.is_empty() {
            return Err(SpecError::NoDiagram);
        }
        if fences.len() > MAX_DIAGRAMS {
            return Err(SpecError::TooManyDiagrams { found: fences.len() });
        }
        let diagrams =
            fences.iter().enumerate().map(|(index, fence)| place(index + 1, fence)).collect::<Result<_, _>>()?;
        let title = outline.sections.iter().find(|section| section.level == 1);
        let title = title.map(|section| section.title.clone());
        Ok(Self { title, sections: outline.sections, diagrams })
    }

    pub fn constraints(&self) -> Constraints {
        Constraints::from_diagrams(self.diagrams.iter().map(|placed| &placed.diagram))
    }
}

fn place(number: usize, fence: &Fence) -> Result<PlacedDiagram, SpecError> {
    match fence.end {
        FenceEnd::Closed => {}
        FenceEnd::Missing => return Err(SpecError::UnclosedFence { line: fence.line }),
    }
    match Diagram::parse(&fence.body) {
        Ok(diagram) => Ok(PlacedDiagram { number, line: fence.line, diagram }),
        Err(cause) => {
            Err(SpecError::Diagram { number, fence_line: fence.line, cause, source_text: fence.body.clone() })
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    #[error("the plan has no Mermaid diagram")]
    NoDiagram,
    #[error("the plan is too large: {bytes} bytes, at most {MAX_SPEC_BYTES}")]
    TooLarge { bytes: usize },
    #[error("the plan has too many diagrams: {found}, at most {MAX_DIAGRAMS}")]
    TooManyDiagrams { found: usize },
    #[error("the Mermaid fence opened on line {line} is never closed")]
    UnclosedFence { line: usize },
    #[error("diagram {number} (fence on line {fence_line} of the plan): {cause}")]
    Diagram {
        number: usize,
        fence_line: usize,
        /// Kept whole: a hold shows it to the person who decides.
        source_text: String,
        #[source]
        cause: DiagramError,
    },
}

impl SpecError {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoDiagram => {
                "add at least one fenced block that begins with ```mermaid, such as a \
                 flowchart of the pages"
            }
            Self::TooLarge { .. } => "keep the plan to what the implementation must satisfy",
            Self::TooManyDiagrams { .. } => "keep the diagrams that the implementation must satisfy",
            Self::UnclosedFence { .. } => "close it with a line of the same fence characters",
            Self::Diagram { cause, .. } => cause.hint(),
        }
    }

    /// The line of the plan where the reader should look, counted from 1.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::NoDiagram | Self::TooLarge { .. } | Self::TooManyDiagrams { .. } => None,
            Self::UnclosedFence { line } => Some(*line),
            Self::Diagram { fence_line, cause, .. } => Some(fence_line + cause.line()),
        }
    }

    /// What to tell a model so that its next answer can be read.
    pub fn retry_prompt(&self) -> String {
        let mut prompt = format!("Your plan could not be read: {self}.\n");
        if let Some(line) = self.line() {
            // Writing to a String cannot fail.
            let _ = writeln!(prompt, "Look at line {line} of the plan.");
        }
        let _ = writeln!(prompt, "To mend it: {}.", self.hint());
        prompt.push_str("Answer with the whole plan again, not only the part you changed.\n");
        prompt
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagram::{DiagramKind, Measure};

    const PLAN: &str = "# Login\n\nWhy.\n\n## Flow\n\n```mermaid\nflowchart TD\n  A[Home] --> B[About]\n```\n\n\
                        ## Data\n\n~~~mermaid\nerDiagram\n  USER ||--o{ ORDER : places\n~~~\n";

    #[test]
    fn a_plan_has_a_title_sections_and_diagrams_with_their_lines() {
        let spec = Spec::parse(PLAN).unwrap();
        assert_eq!(spec.title.as_deref(), Some("Login"));
        let titles: Vec<_> = spec.sections.iter().map(|s| (s.title.as_str(), s.line)).collect();
        assert_eq!(titles, [("Login", 1), ("Flow", 5), ("Data", 12)]);
        let diagrams: Vec<_> = spec.diagrams.iter().map(|d| (d.number, d.line, d.diagram.kind)).collect();
        assert_eq!(diagrams, [(1, 7, DiagramKind::Flowchart), (2, 14, DiagramKind::EntityRelationship)]);
    }

    #[test]
    fn a_plan_without_a_diagram_is_refused() {
        let error = Spec::parse("# Plan\n```rust\nfn main() {}\n```\n").unwrap_err();
        assert_eq!(error, SpecError::NoDiagram);
    }

    #[test]
    fn a_broken_diagram_is_named_by_fence_and_line() {
        let error = Spec::parse("# P\n\n```mermaid\nflowchart TD\n  A[Home --> B\n```\n").unwrap_err();
        assert!(matches!(&error, SpecError::Diagram { number: 1, fence_line: 3, .. }), "{error:?}");
        assert_eq!(error.line(), Some(5));
        let prompt = error.retry_prompt();
        assert!(prompt.contains("line 5 of the plan"), "{prompt}");
        assert!(prompt.contains("close every bracket and quote"), "{prompt}");
    }

    #[test]
    fn an_unclosed_fence_is_said_to_be_unclosed() {
        let error = Spec::parse("```mermaid\nflowchart TD\nA --> B\n\nMore text").unwrap_err();
        assert_eq!(error, SpecError::UnclosedFence { line: 1 });
    }

    #[test]
    fn a_diagram_over_the_byte_limit_is_refused_unparsed() {
        let plan = format!("```mermaid\nflowchart TD\n{}```\n", "%% filler\n".repeat(7000));
        let error = Spec::parse(&plan).unwrap_err();
        let SpecError::Diagram { cause: DiagramError::TooLarge { measure, .. }, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(measure, Measure::Bytes);
    }
}
