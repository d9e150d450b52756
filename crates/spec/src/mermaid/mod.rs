//! The one place that speaks with the Mermaid library: source in, our own
//! `Diagram` out. Configuration written inside a diagram never reaches it.

mod class;
mod entity;
mod flowchart;
mod refusal;
mod sequence;
mod source;
mod state;

pub(crate) use flowchart::plain_labels;

use std::panic::{AssertUnwindSafe, catch_unwind};

use merman::{Engine, ParseOptions, ParsedDiagramRender, RenderSemanticModel};

use crate::diagram::{Diagram, DiagramError, Edge, Group, Node};

/// What a family's adapter makes of the library's model.
struct Content {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    groups: Vec<Group>,
}

pub(crate) fn parse(source: &str) -> Result<Diagram, DiagramError> {
    let parsed = model(source)?;
    let (kind, content) = match parsed.model() {
        RenderSemanticModel::Flowchart(model) => flowchart::content(model),
        RenderSemanticModel::Sequence(model) => sequence::content(model),
        RenderSemanticModel::Class(model) => class::content(model),
        RenderSemanticModel::State(model) => state::content(model),
        RenderSemanticModel::Er(model) => entity::content(model),
        RenderSemanticModel::Error(_) | RenderSemanticModel::CustomJson(_) => {
            return Err(DiagramError::UnknownKind { word: source::first_word(source) });
        }
    };
    let Content { nodes, edges, groups } = content;
    Ok(Diagram { kind, nodes, edges, groups, source: source.to_owned() })
}

/// The library's own model, for drawing. `source` must already be within the byte limit.
pub(crate) fn model(source: &str) -> Result<ParsedDiagramRender, DiagramError> {
    let clean = source::clean(source)?;
    let parsed = guarded(|| Engine::new().parse_diagram_for_render_model_sync(&clean, ParseOptions::strict()))?;
    match parsed {
        Ok(Some(parsed)) => Ok(parsed),
        Ok(None) => Err(DiagramError::Empty),
        Err(error) => Err(refusal::explain(&error, &clean)),
    }
}

/// The library is young: a panic on strange input becomes an ordinary refusal.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, DiagramError> {
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|_| DiagramError::Unreadable { reason: "the diagram reader gave up on this input".to_owned() })
}

/// The text for a label that may be missing or only markup.
fn label_or_id(label: Option<&str>, id: &str) -> String {
    let plain = crate::label::plain(label.unwrap_or_default());
    if plain.is_empty() { id.to_owned() } else { plain }
}

fn edge_label(label: &str) -> Option<String> {
    let plain = crate::label::plain(label);
    (!plain.is_empty()).then_some(plain)
}
