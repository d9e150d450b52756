//! Draws a diagram for a terminal, in Unicode and without colours. When it is too
//! wide it is turned (top-down to left-right or back), and when that does not help
//! the reader gets the source with a line that says why. Never clips a label.

use merman::ascii::{
    AsciiLayoutProfile, AsciiRenderOptions, AsciiRenderer, AsciiResourcePolicy, AsciiViewportPolicy,
};
use merman::resources::ResourceProfile;
use merman::{Engine, OperationControl, RenderSemanticModel};

use crate::diagram::{Diagram, DiagramError};
use crate::mermaid;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DrawError {
    #[error("there is nothing to draw: {0}")]
    Diagram(#[from] DiagramError),
}

/// The drawing, at most `width` columns wide, or the source with a note.
pub fn terminal(diagram_source: &str, width: usize) -> Result<String, DrawError> {
    Diagram::parse(diagram_source)?;
    let model = mermaid::model(diagram_source)?.into_parts().1;
    let mut narrowest: Option<usize> = None;
    for attempt in attempts(model) {
        let Some(drawing) = render(&attempt) else {
            continue;
        };
        if drawing.width <= width {
            return Ok(drawing.text);
        }
        narrowest = Some(narrowest.map_or(drawing.width, |known| known.min(drawing.width)));
    }
    let note = match narrowest {
        Some(needed) => format!(
            "(the drawing needs {needed} columns and there are {width}; this is its source)"
        ),
        None => "(this diagram has no terminal drawing; this is its source)".to_owned(),
    };
    Ok(format!("{note}\n{}", visible(diagram_source)))
}

struct Attempt {
    model: RenderSemanticModel,
    profile: AsciiLayoutProfile,
}

struct Drawing {
    text: String,
    width: usize,
}

/// As written, then tighter, then turned, then turned and tighter.
fn attempts(model: RenderSemanticModel) -> Vec<Attempt> {
    const PROFILES: [AsciiLayoutProfile; 2] =
        [AsciiLayoutProfile::Canonical, AsciiLayoutProfile::Compact];
    let turned = turned(&model);
    std::iter::once(model)
        .chain(turned)
        .flat_map(|model| {
            PROFILES.map(|profile| Attempt {
                model: model.clone(),
                profile,
            })
        })
        .collect()
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
        RenderSemanticModel::Sequence(_)
        | RenderSemanticModel::Error(_)
        | RenderSemanticModel::CustomJson(_) => return None,
    }
    Some(turned)
}

fn other_direction(direction: &str) -> String {
    if matches!(direction, "LR" | "RL") {
        "TB".to_owned()
    } else {
        "LR".to_owned()
    }
}

/// `None` when the library has no drawing for it, within fixed limits of work.
fn render(attempt: &Attempt) -> Option<Drawing> {
    let options = AsciiRenderOptions::unicode().with_layout_profile(attempt.profile);
    let output = mermaid::guarded(|| {
        let context = Engine::new().begin_operation().ok()?;
        AsciiRenderer::new(options)
            .and_then(|renderer| {
                renderer.render_model_report(
                    &attempt.model,
                    AsciiViewportPolicy::unrestricted(),
                    &OperationControl::new(),
                    &context,
                    AsciiResourcePolicy::for_profile(ResourceProfile::Constrained),
                )
            })
            .ok()
    });
    let output = output.ok().flatten()?;
    Some(Drawing {
        width: output.emitted_extent.width,
        text: output.text,
    })
}

/// Source comes from an agent: nothing in it may steer the terminal.
fn visible(source: &str) -> String {
    source
        .chars()
        .map(|c| {
            if c.is_control() && !matches!(c, '\n' | '\t') {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect()
}
