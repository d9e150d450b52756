//! Failures on their way out: every refusal becomes one JSON problem with a status.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use domain::{NoWayOut, Rejection, TaskRefusal};
use engine::{Refusal, StoreError};
use wire::{Fault, Problem};

use crate::gate::TokenUnreadable;
use crate::home::HomeError;

/// A problem and whose fault it is.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    status: u16,
    problem: Box<Problem>,
    retry_after: Option<u32>,
}

impl Failure {
    pub(crate) fn new(fault: Fault, code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let problem = Problem { code: code.to_owned(), message: message.into(), hint: hint.into(), field: None };
        Self { status: fault.status(), problem: Box::new(problem), retry_after: None }
    }

    pub(crate) fn method_not_allowed(message: impl Into<String>) -> Self {
        let failure = Self::new(Fault::User, "method_not_allowed", message, "see /api/openapi.json for every route");
        Self { status: 405, ..failure }
    }

    pub(crate) fn user(field: &str, code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(Fault::User, code, message, hint).at(field)
    }

    /// What the problem is, for answers that carry several.
    pub(crate) fn into_problem(self) -> Problem {
        *self.problem
    }

    pub(crate) fn at(mut self, field: &str) -> Self {
        self.problem.field = Some(field.to_owned());
        self
    }

    pub(crate) fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    pub(crate) fn stopping() -> Self {
        let hint = "start it again, or wait for the next one";
        Self::new(Fault::World, "server_stopping", "the server is stopping", hint).retry_after(1)
    }

    /// A run on which nothing can be decided because of a bug.
    pub(crate) fn quarantined(report: &str) -> Self {
        let message = format!("this run is in quarantine: Holdpoint fails whenever it works on it: {report}");
        let hint = "nothing of it is lost and other runs go on; please report it with the server's log, then start the \
                    server anew, which tries again";
        Self::new(Fault::Bug, "run_quarantined", message, hint)
    }

    pub(crate) fn bug(message: impl Into<String>) -> Self {
        Self::new(Fault::Bug, "bug", message, "this should not happen; please report it with the server's log")
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if status.is_server_error() {
            tracing::error!(code = %self.problem.code, message = %self.problem.message, "refused");
        }
        let mut response = (status, Json(self.problem)).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<HomeError> for Failure {
    fn from(error: HomeError) -> Self {
        let hint = "see whether the disk of the data directory is full or read-only; nothing was changed";
        Self::new(Fault::World, "home_unusable", error.to_string(), hint)
    }
}

impl From<TokenUnreadable> for Failure {
    fn from(error: TokenUnreadable) -> Self {
        let failure = Self { status: Fault::World.status(), problem: Box::new(error.problem()), retry_after: None };
        failure.retry_after(1)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let problem = store_problem(&error);
        let fault = match &error {
            StoreError::Full => Fault::Storage,
            StoreError::Busy
            | StoreError::ReadOnly(_)
            | StoreError::Damaged(_)
            | StoreError::TooNew(_)
            | StoreError::Disk(_)
            | StoreError::Other(_) => Fault::World,
            StoreError::RunUnreadable { .. } => Fault::Bug,
        };
        let retry_after = matches!(error, StoreError::Busy | StoreError::Full).then_some(1);
        Self { status: fault.status(), problem: Box::new(problem), retry_after }
    }
}

/// What a store's trouble means for a person.
pub(crate) fn store_problem(error: &StoreError) -> Problem {
    let (code, hint) = match error {
        StoreError::Full => ("disk_full", "free some space; nothing was changed, then ask again"),
        StoreError::Busy => ("database_busy", "ask again; if it stays so, see which process has the database open"),
        StoreError::ReadOnly(_) => {
            ("database_read_only", "make the data directory writable, or set HOLDPOINT_HOME to one that is")
        }
        StoreError::Damaged(_) => (
            "database_damaged",
            "nothing was deleted: keep a copy of holdpoint.db, holdpoint.db-wal and holdpoint.db-shm, put back a \
             backup, or move the three files away to begin anew; branches of past runs are in your repositories",
        ),
        StoreError::TooNew(_) => ("database_too_new", "use the newer holdpoint that wrote it"),
        StoreError::RunUnreadable { .. } => (
            "run_unreadable",
            "other runs go on, and this one is left alone: `holdpoint verify` says what is wrong with it. Put back a backup of \
             the database, or start the work anew; its branch is in your repository",
        ),
        StoreError::Disk(_) => ("disk_failed", "look at the system's log for disk errors, then start the server again"),
        StoreError::Other(_) => ("database_refused", "ask again; the server's log says more"),
    };
    Problem { code: code.to_owned(), message: error.to_string(), hint: hint.to_owned(), field: None }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Rejected(rejection) => rejection.into(),
            Refusal::Store(error) => error.into(),
            Refusal::ShortIdTaken => {
                let message = "no free id was found for the run";
                Self::new(Fault::World, "id_taken", message, "ask again").retry_after(1)
            }
            Refusal::Stopped => Self::stopping(),
            Refusal::Panicked(panic) => {
                let message = format!("Holdpoint failed while it decided on this: {panic}");
                let hint = "nothing was changed but that the run waits for you; please report it with the server's log";
                Self::new(Fault::Bug, "bug", message, hint)
            }
            Refusal::Quarantined(report) => Self::quarantined(&report),
        }
    }
}

impl From<Rejection> for Failure {
    fn from(rejection: Rejection) -> Self {
        let message = rejection.to_string();
        let conflict = |code: &str, hint: &str| Self::new(Fault::Conflict, code, message.clone(), hint);
        match &rejection {
            Rejection::BadRequest(_) => Self::user("request", "bad_request", message, "send another request text"),
            Rejection::BadAnswer(_) => Self::user("answer", "bad_answer", message, "send an answer that fits"),
            Rejection::BadPlan(_) => Self::user("text", "bad_plan", message, "mend the plan and send it again"),
            Rejection::NoAssumption(_) => {
                Self::user("assumption", "no_such_assumption", message, "see `holdpoint show` for the assumptions")
            }
            Rejection::NotForkable(_) => Self::user(
                "at",
                "not_forkable",
                message,
                "see `holdpoint fork RUN --list` for where a run can be forked",
            ),
            Rejection::WaitsAlready => conflict("waits_already", "decide on what it waits for"),
            Rejection::TooLate => conflict("too_late", "start another run"),
            Rejection::NotAllowed { allowed, .. } => {
                let words: Vec<_> = allowed.iter().map(|kind| kind.word()).collect();
                Self::user("decision", "not_allowed", message, format!("it takes: {}", words.join(", ")))
            }
            Rejection::NotStarted => {
                Self::new(Fault::Missing, "no_such_run", message, "see `holdpoint list` for the runs there are")
            }
            Rejection::AlreadyStarted => conflict("already_started", "look at the run, it is there"),
            Rejection::AlreadyEnded => conflict("already_ended", "nothing can change any more; start a new run"),
            Rejection::NoHold => conflict("no_hold", "look at the run again; it goes on by itself"),
            Rejection::AlreadyDecided { .. } => conflict("already_decided", "look at the run again"),
            Rejection::HoldChanged => conflict("hold_changed", "look at the run again and decide on what it shows"),
            Rejection::DigestChanged => conflict("digest_changed", "look at what is there now and decide again"),
            Rejection::NotForced => conflict("not_a_task", "decide on what it waits for"),
            Rejection::NothingToMerge => conflict("nothing_to_merge", "wait until its worker has handed over"),
            Rejection::Attached { .. } => {
                conflict("attached", "wait until it is handed back, or take it back with `holdpoint resume`")
            }
            Rejection::NoSession(_) => conflict("no_session", "see `holdpoint why` for what it waits for"),
            Rejection::NotNow(_) => conflict("not_now", "ask again in a moment"),
            Rejection::ChildNotOpen
            | Rejection::EffectNotOpen(_)
            | Rejection::WrongOutcome(_)
            | Rejection::CallCounted(..)
            | Rejection::StepKnown(..)
            | Rejection::BadPhase { .. }
            | Rejection::TaintKnown
            | Rejection::TimerGone => conflict("not_open", "look at the run again"),
        }
    }
}

impl From<TaskRefusal> for Failure {
    fn from(refusal: TaskRefusal) -> Self {
        let fault = match &refusal {
            TaskRefusal::NotATask(_)
            | TaskRefusal::NotAllowed { .. }
            | TaskRefusal::Missing { .. }
            | TaskRefusal::ByItself { .. } => Fault::User,
            TaskRefusal::NotReviewed(_) => Fault::Conflict,
        };
        Self::new(fault, refusal.code(), refusal.to_string(), refusal.hint())
    }
}

impl From<NoWayOut> for Failure {
    fn from(refusal: NoWayOut) -> Self {
        Self::new(Fault::Conflict, refusal.code(), refusal.to_string(), refusal.hint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(error: StoreError, status: u16, code: &str, retry_after: Option<&str>) {
        let failure = Failure::from(Refusal::Store(error));
        assert_eq!((failure.problem.code.as_str(), failure.problem.hint.is_empty()), (code, false));
        let response = failure.into_response();
        let header = response.headers().get(header::RETRY_AFTER).map(|value| value.to_str().unwrap());
        assert_eq!((response.status().as_u16(), header), (status, retry_after));
    }

    #[test]
    fn trouble_with_the_disk_is_told_apart() {
        check(StoreError::Full, 507, "disk_full", Some("1"));
        check(StoreError::Busy, 503, "database_busy", Some("1"));
        check(StoreError::ReadOnly("x".to_owned()), 503, "database_read_only", None);
        check(StoreError::Damaged("x".to_owned()), 503, "database_damaged", None);
        check(StoreError::TooNew("x".to_owned()), 503, "database_too_new", None);
        check(StoreError::Disk("x".to_owned()), 503, "disk_failed", None);
    }

    #[test]
    fn a_stopped_engine_asks_to_come_again() {
        let response = Failure::from(Refusal::Stopped).into_response();
        assert_eq!(response.status().as_u16(), 503);
        assert!(response.headers().contains_key(header::RETRY_AFTER));
    }
}
