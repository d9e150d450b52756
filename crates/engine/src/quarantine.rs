//! Quarantine: runs on which the core panics. Such a run waits for a person where it can, and is left alone where it cannot;
//! the others go on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::{Actor, Command, Outcome, Report, RunId};

use crate::Fence;

/// Runs that are left alone until the process ends, with what happened to each.
#[derive(Clone, Default)]
pub(crate) struct Quarantine(Arc<Mutex<HashMap<RunId, Arc<str>>>>);

impl Quarantine {
    fn runs(&self) -> MutexGuard<'_, HashMap<RunId, Arc<str>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, run: &RunId) -> Option<Arc<str>> {
        self.runs().get(run).cloned()
    }

    pub(crate) fn add(&self, run: &RunId, panic: &str) -> Arc<str> {
        tracing::error!(%run, panic, "a bug: nothing can be decided on this run; it is left alone until the next start");
        let report: Arc<str> = panic.into();
        self.runs().insert(run.clone(), Arc::clone(&report));
        report
    }
}

/// Commands to be decided in place of one that panicked, best first: an effect counts as failed, else the run pauses.
/// Both end in a hold that says what happened.
pub(crate) fn stand_ins(command: &Command, fence: Option<Fence>, panic: &str) -> Vec<(Command, Option<Fence>)> {
    let message = format!("Holdpoint failed while it worked on this run: {panic}");
    let hint = "this is a bug; please report it with the server's log. Trying again may help, and nothing is lost";
    let mut stand_ins = Vec::new();
    if let Command::Report(Report { effect, outcome }) = command
        && !matches!(outcome, Outcome::Failed { .. })
    {
        let outcome = Outcome::Failed { message: message.clone(), hint: Some(hint.to_owned()) };
        stand_ins.push((Command::Report(Report { effect: *effect, outcome }), fence));
    }
    let by = Actor { name: "holdpoint".to_owned(), channel: "engine".to_owned() };
    stand_ins.push((Command::Pause { by, reason: Some(format!("{message}; {hint}")) }, None));
    stand_ins
}
