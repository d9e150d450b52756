//! A repository's playbook under the user's trust: a gate that the file leaves open is only as open as the user says.

use super::{Playbook, Stage, StageGate, Work};
use crate::{ArtifactKind, TrustKey};

impl Playbook {
    /// The same playbook, with the user's trust in place of every gate that it opens by itself.
    #[must_use]
    pub fn bound_to_trust(mut self) -> Self {
        self.stages = self.stages.into_iter().map(bind).collect();
        let built_in = |child: &Self| Self::built_in_source(&child.name).is_some();
        let children = self.children.into_iter();
        self.children = children.map(|child| if built_in(&child) { child } else { child.bound_to_trust() }).collect();
        self
    }
}

fn bind(mut stage: Stage) -> Stage {
    if let Work::Judge { fix_gate, .. } | Work::Prove { fix_gate, .. } = &mut stage.work {
        *fix_gate = closed(*fix_gate, TrustKey::Fixes);
        return stage;
    }
    // A conversation ends with a person's yes already.
    if !matches!(stage.work, Work::Converse { .. }) {
        let makes_code = stage.work.artifact().is_some_and(ArtifactKind::is_code);
        let key = if makes_code { TrustKey::Implementation } else { TrustKey::Planning };
        stage.gate = closed(stage.gate, key);
    }
    stage
}

fn closed(gate: StageGate, key: TrustKey) -> StageGate {
    match gate {
        StageGate::Auto => StageGate::Trust(key),
        StageGate::Manual | StageGate::Review | StageGate::Trust(_) => gate,
    }
}
