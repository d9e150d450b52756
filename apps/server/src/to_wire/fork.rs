//! Forks: where a run can be left, and where one comes from.

use domain::{ForkPoint, ForkStand, ForkedFrom, RunId};
use wire::{ForkPointView, ForkedFromView};

/// A point of a run.
pub(crate) fn point(run: &RunId, point: &ForkPoint) -> ForkPointView {
    let kind = match point.stand {
        ForkStand::Hold => "hold",
        ForkStand::Begun(_) => "stage_started",
        ForkStand::Done(_) => "stage_completed",
    };
    ForkPointView {
        at: point.at,
        time: point.time,
        kind: kind.to_owned(),
        stage: point.stage.clone(),
        what: point.what.clone(),
        hold: point.hold.as_ref().map(|hold| super::hold(run, hold)),
        commit: point.commit.to_string(),
        usd: point.cost.usd(),
    }
}

/// Where a run comes from.
pub(crate) fn forked_from(from: &ForkedFrom) -> ForkedFromView {
    ForkedFromView { run: from.run.to_string(), at: from.at }
}
