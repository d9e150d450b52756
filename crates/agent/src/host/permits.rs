//! What a program may do without a person's yes: the same rules as for our own agent.

use std::sync::Arc;

use drivers::driver::{Asked, Changes, Word};
use drivers::{HandIn, Job, JobKind, Permission, is_web_tool};

use super::state::State;
use super::tools::ACCEPTED;
use crate::policy::Policy;
use crate::shorten;
use crate::strangers;
use crate::tools::Desk;

const LONGEST_REQUEST: usize = 1_000;

/// The rules of one job.
pub(super) struct Permits {
    policy: Policy,
    said: Vec<String>,
    kind: JobKind,
    desk: Arc<Desk>,
}

impl Permits {
    pub(super) fn new(policy: Policy, job: &Job, desk: &Arc<Desk>) -> Self {
        Self { policy, said: job.permissions.clone(), kind: job.kind, desk: Arc::clone(desk) }
    }

    /// What is said to the program, and what is handed in when a person has to be asked.
    pub(super) fn decide(&mut self, asked: &Asked, state: &mut State) -> (Word, Option<HandIn>) {
        let changes = asked.changes == Changes::Yes;
        let is_file = asked.action.get("path").is_some() && asked.action.get("command").is_none();
        if changes && is_file && !writes(self.kind) {
            let reason =
                "you only look at this repository: nothing you change is kept. Hand in what you were asked for";
            return (Word::Deny(reason.to_owned()), None);
        }
        if is_web_tool(&asked.tool) && self.desk.strangers.refuse_the_web() {
            let reason = "this run began with text of strangers, so nothing but the model is reached";
            return (Word::Deny(reason.to_owned()), None);
        }
        self.desk.strangers.reads(&asked.tool);
        if self.desk.strangers.refuse_secrets()
            && let Some(secret) = self.policy.secret(&asked.action)
        {
            return (Word::Deny(strangers::refused(&secret)), None);
        }
        let Some(what) = self.policy.question(&asked.tool, changes, &asked.action) else { return (Word::Allow, None) };
        let what = shorten::one_line(&what, LONGEST_REQUEST);
        let number = state.used.iter().filter(|used| **used == what).count() + 1;
        let ask = HandIn::Permission { request: Permission::request(&what, 0, number) };
        match Permission::to(&what, 0, number, &self.said) {
            Some(Permission::Allowed) => {
                state.used.push(what);
                (Word::Allow, None)
            }
            Some(Permission::Denied(reason)) => {
                let reason = format!("a person did not allow it: {reason}. Find another way, or go on without it");
                (Word::Deny(reason), None)
            }
            Some(Permission::Suggested(text)) => {
                (Word::Deny(format!("a person says to do this instead: {text}")), None)
            }
            None if ask.fits(self.kind) => {
                let reason = format!("this needs a person's yes; you will be told what they said. {ACCEPTED}");
                (Word::Deny(reason), Some(ask))
            }
            None => (Word::Deny(format!("not allowed in this role: {what}")), None),
        }
    }
}

/// Whether what a program changes is taken from the workspace.
pub(super) fn writes(kind: JobKind) -> bool {
    match kind {
        JobKind::Code | JobKind::Handoff | JobKind::Lead | JobKind::Pursue => true,
        JobKind::Spec
        | JobKind::Tasks
        | JobKind::Scope
        | JobKind::Research
        | JobKind::Review
        | JobKind::Converse
        | JobKind::Answer
        | JobKind::Discuss => false,
    }
}
