//! Events as they are shown and written down outside the database.

use super::SECRET_ANSWER;
use crate::{Decision, Event};

impl Event {
    /// Without answers that are secrets, and without anything by which the value of a finding could be guessed.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        let mut told = self.clone();
        if let Self::ClarificationAnswered { decision: Decision::Answer { answer }, secret: true, .. }
        | Self::AssumptionOverturned { answer, secret: true, .. } = &mut told
        {
            *answer = vec![SECRET_ANSWER.to_owned()];
        }
        if let Self::ApprovalGranted { notes: Some(notes), secret: true, .. } = &mut told {
            SECRET_ANSWER.clone_into(notes);
        }
        if let Self::HoldPlaced { hold } = &mut told {
            hold.findings.iter_mut().for_each(|finding| finding.fingerprint.clear());
        }
        told
    }
}
