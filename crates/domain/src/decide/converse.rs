//! The clarifying conversation: the agent speaks, the person answers, until the person confirms.
//! Running out of rounds is never taken for a yes.

use super::{Draft, hold, stage, work};
use crate::{ArtifactKind, DecisionKind, Effect, Event, Hold, HoldKind, Question, Work};

/// The agent spoke.
pub(super) fn said(draft: &mut Draft, index: usize, ready: bool, message: String) {
    let Work::Converse { rounds } = draft.run.stage(index).work else {
        return work::crashed(draft, index, "it spoke to the person where work was wanted".to_owned());
    };
    if message.trim().is_empty() {
        return work::crashed(draft, index, "it said nothing".to_owned());
    }
    let stage = draft.run.stage(index).name.clone();
    let round = draft.run.stages[index].turns + 1;
    draft.record(Event::ConversationAdvanced { stage, round, ready, message: message.clone() });
    let left = round < most(draft, rounds);
    if ready || !left { ask_confirm(draft, index, &message, ready, left) } else { ask_person(draft, index, &message) }
}

fn most(draft: &Draft, rounds: u32) -> u32 {
    draft.run.opened().config.max_clarification_rounds.unwrap_or(rounds)
}

/// What the person said yes to cannot be committed: it waits again, with the reason.
pub(super) fn refused(draft: &mut Draft, index: usize, reason: &str) {
    let Work::Converse { rounds } = draft.run.stage(index).work else { return };
    let said = draft.run.conversation.iter().rev().find(|said| said.by == "agent").map(|said| said.text.clone());
    let message = said.unwrap_or_else(|| draft.run.opened().request.clone());
    let left = draft.run.stages[index].turns < most(draft, rounds);
    let summary = format!("what you said yes to cannot be committed: {reason}");
    place_confirm(draft, index, &message, summary, left);
}

/// The person said yes to the summary: it becomes what the run works on.
pub(super) fn confirmed(draft: &mut Draft, index: usize, hold: &Hold) {
    let stage = draft.run.stage(index).name.clone();
    let said = hold.question.as_ref().map(|question| question.question.clone());
    let content = said.unwrap_or_else(|| draft.run.opened().request.clone());
    draft.request(Effect::CommitArtifact { stage, kind: ArtifactKind::Requirement, content });
}

fn ask_person(draft: &mut Draft, index: usize, message: &str) {
    let summary = format!("the {} asks before it plans", draft.run.stage(index).role);
    let allowed = vec![DecisionKind::Answer, DecisionKind::Cancel];
    let mut placed = hold::new(draft, HoldKind::Clarification, Some(index), summary, allowed);
    hold::show(&mut placed, draft, Question::text(message));
    // Not counted with the questions of working agents: the conversation has rounds of its own.
    draft.place(placed);
}

fn ask_confirm(draft: &mut Draft, index: usize, message: &str, ready: bool, left: bool) {
    let role = draft.run.stage(index).role.clone();
    let summary = if ready {
        format!("the {role} has understood this; say yes, or what is different")
    } else {
        format!("the {role} has used its rounds and still asks; say yes to go on with what was said, or cancel")
    };
    place_confirm(draft, index, message, summary, left);
}

fn place_confirm(draft: &mut Draft, index: usize, message: &str, summary: String, left: bool) {
    let mut allowed = vec![DecisionKind::Approve];
    if left {
        allowed.push(DecisionKind::Answer);
    }
    allowed.push(DecisionKind::Cancel);
    let mut placed = hold::new(draft, HoldKind::Confirm, Some(index), summary, allowed);
    hold::show(&mut placed, draft, Question::text(message));
    draft.place(placed);
}

/// The conversation is left out.
pub(super) fn skip(draft: &mut Draft, index: usize) {
    let stage = draft.run.stage(index).name.clone();
    draft.record(Event::AutoAdvanced { stage, reason: "the conversation is switched off".to_owned() });
    stage::pass(draft, index);
}
