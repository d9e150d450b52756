//! Pursuing a goal: iterations with a reflection each. Always ends: with the goal, a cap, or a person.

use super::{Draft, hold, stage, work};
use crate::{Event, Reflection, Work};

/// So many reflections in a row that say the same are a standstill.
const SAME: usize = 3;

/// An iteration is over and the goal is not met.
pub(super) fn reflected(draft: &mut Draft, index: usize, reflection: Reflection) {
    let Work::Pursue { iterations } = draft.run.stage(index).work else {
        return work::crashed(draft, index, "it reflected where work was wanted".to_owned());
    };
    record(draft, index, reflection.clone());
    let state = &draft.run.stages[index];
    if reflection.requires_user_intervention {
        let issues = if reflection.issues.is_empty() { reflection.content } else { reflection.issues.join("; ") };
        return hold::ask_stuck(draft, Some(index), &format!("it needs you: {issues}"));
    }
    if state.iterations >= iterations + state.iterations_granted {
        let summary = format!("{} iterations did not reach the goal ({} %)", state.iterations, reflection.progress);
        return hold::ask_stuck(draft, Some(index), &summary);
    }
    if stands_still(&draft.run.reflections) {
        let summary = format!("no progress in {SAME} iterations ({} %): {}", reflection.progress, reflection.content);
        return hold::ask_stuck(draft, Some(index), &summary);
    }
    stage::go_on(draft, index);
}

pub(super) fn record(draft: &mut Draft, index: usize, reflection: Reflection) {
    let stage = draft.run.stage(index).name.clone();
    let iteration = draft.run.stages[index].iterations + 1;
    draft.record(Event::ReflectionRecorded { stage, iteration, reflection });
}

fn stands_still(reflections: &[Reflection]) -> bool {
    let recent = reflections.len().checked_sub(SAME).map(|from| &reflections[from..]);
    recent.is_some_and(|recent| recent.windows(2).all(|pair| pair[1].repeats(&pair[0])))
}
