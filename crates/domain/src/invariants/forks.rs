//! Rule 23: a fork says which run and event it comes from, begins where nothing was half done, and changes nothing of
//! what it inherited.

use super::{Checker, Violation};
use crate::{Actor, Event, ForkedFrom, Recorded, RunConfig, RunId};

/// What is known of forks on the way through a log.
#[derive(Debug, Clone, Default)]
pub(super) struct Forks {
    /// What the first event says.
    from: Option<ForkedFrom>,
    /// Where the run stood when it was forked last.
    stood: Option<String>,
}

impl Forks {
    pub(super) fn comes_from(&mut self, from: Option<&ForkedFrom>) {
        self.from = from.cloned();
    }

    /// Whether a fork goes from one place to another: to its opening, and back to where it stood.
    pub(super) fn moves(&self, event: &Event, to: &str) -> bool {
        matches!(event, Event::RunForked { .. })
            || (matches!(event, Event::ForkOpened { .. }) && self.stood.as_deref() == Some(to))
    }
}

impl Checker {
    /// The first event that is not inherited says that the fork begins.
    pub(super) fn due(&mut self, recorded: &Recorded) {
        let due = self.seen.forks.from.as_ref().is_some_and(|from| recorded.sequence == from.at + 1);
        if due && !matches!(recorded.event, Event::RunForked { .. }) {
            self.broken(recorded, 23, "a fork went on without saying that it is one");
        }
    }

    pub(super) fn forked(&mut self, recorded: &Recorded, from: &RunId, at: u64, by: &Actor) {
        self.named(recorded, by);
        let inherited = self.seen.forks.from.as_ref().is_some_and(|known| known.has(recorded.sequence));
        let own = self.seen.forks.from.as_ref().is_some_and(|known| known.run == *from && known.at == at);
        if recorded.sequence != at + 1 || !(inherited || own) {
            self.broken(recorded, 23, "it was forked from another run, or at another event, than it began with");
        }
        if self.run.fork_stand().is_none() {
            self.broken(recorded, 23, "it was forked where something was half done");
        }
        self.seen.forks.stood = Some(self.run.visible());
    }
}

/// Checks a fork against the log of the run it comes from.
#[must_use]
pub fn check_fork(fork: &[Recorded], origin: &[Recorded]) -> Vec<Violation> {
    let mut found = Vec::new();
    let Some(Recorded { event: Event::RunStarted { forked_from: Some(from), .. }, .. }) = fork.first() else {
        return found;
    };
    let mut broken = |sequence: u64, message: String| found.push(Violation { sequence, rule: 23, message });
    if !fork.first().zip(origin.first()).is_some_and(|(fork, origin)| same_beginning(&fork.event, &origin.event)) {
        broken(1, format!("it does not begin as run {} did", from.run));
    }
    for inherited in fork.iter().filter(|recorded| from.has(recorded.sequence)) {
        let index = usize::try_from(inherited.sequence - 1).ok();
        if index.and_then(|index| origin.get(index)) != Some(inherited) {
            broken(inherited.sequence, format!("this is not what happened in run {}", from.run));
        }
    }
    found
}

/// Whether nothing of a policy was loosened on the way: only the name, the branch, the person and the group are new.
fn same_beginning(fork: &Event, origin: &Event) -> bool {
    let whole = |event: &Event| {
        let Event::RunStarted { project, request, playbook, config, parent, .. } = event else { return None };
        let config = RunConfig { group: None, ..config.clone() };
        Some((project.clone(), request.clone(), playbook.clone(), config, parent.clone()))
    };
    whole(fork).is_some() && whole(fork) == whole(origin)
}
