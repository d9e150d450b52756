//! Who belongs to whom: the children of a run by its log, the members of a group by their ids.

use domain::{Event, Group, Recorded, Run, RunId};

/// The runs a log says were begun for its tasks, oldest first, each with its task.
pub(crate) fn children(log: &[Recorded]) -> Vec<(String, RunId)> {
    let begun = log.iter().filter_map(|recorded| match &recorded.event {
        Event::ChildStarted { task, child, .. } => Some((task.clone(), child.clone())),
        _ => None,
    });
    begun.collect()
}

/// The ids that a member of a group may have: fixed by the group's name and its place, so that all can be found again.
pub(crate) fn member_ids(group: &RunId, index: u32) -> impl Iterator<Item = RunId> {
    (0..RunId::SALTS).map(move |salt| RunId::child_of(group, "group", index, salt))
}

/// Whether a run is that member.
pub(crate) fn is_member(run: &Run, group: &str, index: u32) -> bool {
    run.opened().config.group.as_ref().is_some_and(|known: &Group| known.id == group && known.index == index)
}
