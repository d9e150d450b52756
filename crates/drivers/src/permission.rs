//! What a person said to a request for permission, as the run's log words it.
//!
//! The log keeps a note: `allowed: REQUEST (NOTES)`, `allowed for the run: REQUEST`, `not allowed: REQUEST (REASON)`,
//! `instead of: REQUEST: TEXT`. A yes is for one call, one for the run for whatever is asked in the same words.

const ALLOWED: &str = "allowed: ";
const DENIED: &str = "not allowed: ";
const INSTEAD: &str = "instead of: ";
const FOR_RUN: &str = "allowed for the run: ";

/// A person's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permission {
    /// Do it.
    Allowed,
    /// Do not, and why.
    Denied(String),
    /// Do this instead.
    Suggested(String),
}

impl Permission {
    /// Whether a note of a run answers a request.
    #[must_use]
    pub fn is_said_in(note: &str) -> bool {
        [ALLOWED, FOR_RUN, DENIED, INSTEAD].iter().any(|begin| note.starts_with(begin))
    }

    /// The request for one call: what, and which call it is.
    #[must_use]
    pub fn request(what: &str, turn: u32, call: usize) -> String {
        format!("{what} [turn {turn}, call {call}]")
    }

    /// What was said to a request, if anything was; `notes` as the job has them.
    #[must_use]
    pub fn to(what: &str, turn: u32, call: usize, notes: &[String]) -> Option<Self> {
        let request = Self::request(what, turn, call);
        notes.iter().rev().find_map(|note| {
            if let Some(rest) = note.strip_prefix(DENIED).and_then(|note| note.strip_prefix(&request)) {
                let reason = rest.trim().trim_start_matches('(').trim_end_matches(')');
                return Some(Self::Denied(reason.to_owned()));
            }
            if let Some(rest) = note.strip_prefix(INSTEAD).and_then(|note| note.strip_prefix(&request)) {
                return Some(Self::Suggested(rest.trim_start_matches(':').trim().to_owned()));
            }
            let once = note.strip_prefix(ALLOWED).is_some_and(|allowed| allowed.starts_with(&request));
            (once || is_for_run(note, what)).then_some(Self::Allowed)
        })
    }
}

/// The place of the call does not count: the whole of what was asked does.
fn is_for_run(note: &str, what: &str) -> bool {
    let rest = note.strip_prefix(FOR_RUN).and_then(|note| note.strip_prefix(what));
    rest.and_then(|rest| rest.strip_prefix(" [turn ")).is_some_and(|rest| !rest.contains('`'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(note: &str, what: &str, turn: u32, expected: Option<Permission>) {
        assert_eq!(Permission::to(what, turn, 1, &[note.to_owned()]), expected, "{note}");
    }

    #[test]
    fn a_yes_is_for_one_call_unless_it_is_for_the_run() {
        let push = "run `git push`: it sends";
        check("allowed: run `git push`: it sends [turn 3, call 1]", push, 3, Some(Permission::Allowed));
        check("allowed: run `git push`: it sends [turn 3, call 1] (do not remember it)", push, 4, None);
        check("allowed for the run: run `git push`: it sends [turn 3, call 1]", push, 4, Some(Permission::Allowed));
        check("allowed for the run: run `git push`: it sends [turn 3, call 1]", "run `git push -f`: it sends", 4, None);
    }

    #[test]
    fn a_no_and_another_way_carry_the_words() {
        let denied = Permission::Denied("never on Fridays".into());
        check("not allowed: x [turn 3, call 1] (never on Fridays)", "x", 3, Some(denied));
        let other = Permission::Suggested("use git bundle".into());
        check("instead of: x [turn 3, call 1]: use git bundle", "x", 3, Some(other));
        check("not allowed: x [turn 3, call 1] (no)", "x", 4, None);
    }
}
