//! Draws a diagram for a terminal, in Unicode and without colours. The library's
//! drawing is used when it can be read in only one way, turned if it is too wide
//! (top-down to left-right or back); otherwise our own plainer one. When nothing
//! fits the reader gets the source, with a line that says why. Never clips a label.

mod canvas;
mod clear;
mod entity;
mod order;
mod rails;
mod tables;
mod tidy;

use merman::ascii::{AsciiLayoutProfile, AsciiRenderOptions, AsciiRenderer, AsciiResourcePolicy, AsciiViewportPolicy};
use merman::resources::ResourceProfile;
use merman::{Engine, OperationControl, RenderSemanticModel};

use crate::diagram::{Diagram, DiagramError, DiagramKind};
use crate::mermaid;

/// Where long labels break in our own drawing: first wide, then narrow.
const PLAIN_LABEL_WIDTHS: [usize; 2] = [40, 20];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DrawError {
    #[error("there is nothing to draw: {0}")]
    Diagram(#[from] DiagramError),
}

/// The drawing, at most `width` columns wide, or the source with a note.
pub fn terminal(diagram_source: &str, width: usize) -> Result<String, DrawError> {
    let diagram = Diagram::parse(diagram_source)?;
    let model = drawable(mermaid::model(diagram_source)?.into_parts().1);
    let turned = turned(&model);
    let mut narrowest: Option<usize> = None;
    let clear = std::iter::once(&model).chain(&turned).flat_map(|model| attempts(model, &diagram));
    let plain = PLAIN_LABEL_WIDTHS.iter().filter_map(|label| plain(&diagram, *label, width));
    for drawing in clear.chain(plain) {
        if drawing.width <= width {
            return Ok(drawing.text);
        }
        narrowest = Some(narrowest.map_or(drawing.width, |known| known.min(drawing.width)));
    }
    let note = match narrowest {
        Some(needed) => format!("(the drawing needs {needed} columns and there are {width}; this is its source)"),
        None => "(this diagram has no terminal drawing; this is its source)".to_owned(),
    };
    Ok(format!("{note}\n{}", visible(diagram_source)))
}

struct Drawing {
    text: String,
    width: usize,
}

/// As written, then tighter; only those that can be read in one way.
fn attempts<'a>(model: &'a RenderSemanticModel, diagram: &'a Diagram) -> impl Iterator<Item = Drawing> + use<'a> {
    [AsciiLayoutProfile::Canonical, AsciiLayoutProfile::Compact]
        .into_iter()
        .filter_map(move |profile| render(model, profile))
        .filter(|drawing| is_readable(diagram, &drawing.text))
}

/// In a sequence every message meets the lines of its participants, which is no fault.
fn is_readable(diagram: &Diagram, drawing: &str) -> bool {
    clear::is_for_people(drawing)
        && (diagram.kind == DiagramKind::Sequence
            || (clear::is_clear(drawing)
                && clear::labels_stand_apart(drawing, &diagram.edges)
                && clear::shows_every_word(drawing, diagram)
                && clear::shows_every_arrow(drawing, diagram)))
}

/// Our own drawing, which every diagram but a sequence has.
fn plain(diagram: &Diagram, label_width: usize, width: usize) -> Option<Drawing> {
    match diagram.kind {
        DiagramKind::Flowchart | DiagramKind::State => Some(rails::draw(diagram, label_width, width)),
        DiagramKind::Class | DiagramKind::EntityRelationship => Some(tables::draw(diagram, width)),
        DiagramKind::Sequence => None,
    }
}

/// The library spells out every field of an entity's attribute; its class boxes
/// read better, so entities are drawn as classes. It would also show the entities
/// (`&lt;`) of a flowchart's labels.
fn drawable(model: RenderSemanticModel) -> RenderSemanticModel {
    match model {
        RenderSemanticModel::Er(model) => RenderSemanticModel::Class(entity::as_classes(&model)),
        RenderSemanticModel::Flowchart(mut model) => {
            mermaid::plain_labels(&mut model);
            RenderSemanticModel::Flowchart(model)
        }
        other @ (RenderSemanticModel::Sequence(_)
        | RenderSemanticModel::Class(_)
        | RenderSemanticModel::State(_)
        | RenderSemanticModel::Error(_)
        | RenderSemanticModel::CustomJson(_)) => other,
    }
}

/// The same diagram in the other direction; none for one that has no direction.
fn turned(model: &RenderSemanticModel) -> Option<RenderSemanticModel> {
    let mut turned = model.clone();
    match &mut turned {
        RenderSemanticModel::Flowchart(model) => {
            model.direction = Some(other_direction(model.direction.as_deref().unwrap_or("TB")));
        }
        RenderSemanticModel::State(model) => model.direction = other_direction(&model.direction),
        RenderSemanticModel::Class(model) => model.direction = other_direction(&model.direction),
        RenderSemanticModel::Er(model) => model.direction = other_direction(&model.direction),
        RenderSemanticModel::Sequence(_) | RenderSemanticModel::Error(_) | RenderSemanticModel::CustomJson(_) => {
            return None;
        }
    }
    Some(turned)
}

fn other_direction(direction: &str) -> String {
    if matches!(direction, "LR" | "RL") { "TB".to_owned() } else { "LR".to_owned() }
}

/// `None` when the library has no drawing for it within fixed limits of work.
fn render(model: &RenderSemanticModel, profile: AsciiLayoutProfile) -> Option<Drawing> {
    // Narrower gaps let the library cross an arrow with the head of another.
    let options =
        AsciiRenderOptions::unicode().with_layout_profile(profile).with_node_padding_y(0).with_graph_padding_y(4);
    let output = mermaid::guarded(|| {
        let context = Engine::new().begin_operation().ok()?;
        AsciiRenderer::new(options)
            .and_then(|renderer| {
                renderer.render_model_report(
                    model,
                    AsciiViewportPolicy::unrestricted(),
                    &OperationControl::new(),
                    &context,
                    AsciiResourcePolicy::for_profile(ResourceProfile::Constrained),
                )
            })
            .ok()
    });
    let output = output.ok().flatten()?;
    Some(Drawing { width: output.emitted_extent.width, text: tidy::tidy(&output.text) })
}

/// Source comes from an agent: nothing in it may steer the terminal.
fn visible(source: &str) -> String {
    source.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c }).collect()
}
