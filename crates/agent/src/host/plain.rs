//! What a plain command hands in: what it wrote into TASK.md, or else how it ended and what it printed.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use domain::{Finding, Review, Severity, Verdict};
use drivers::task_md::{self, MAX_TASK_FILE, TASK_FILE, TaskFile};
use drivers::{HandIn, Job, JobKind, PlanHandIn, PulseHandIn};
use rustix::fs::{Mode, OFlags};

use crate::shorten;

/// Bytes of what it printed that become a summary.
const SUMMARY: usize = 2_000;

/// `code` is its exit code, if it had one; `printed` what it printed.
pub(super) fn hand_in(job: &Job, code: Option<i32>, printed: &str) -> HandIn {
    let file = TaskFile::parse(&read(Path::new(&job.workspace)));
    let answered: Vec<String> = job.answers.iter().map(|answer| answer.question.clone()).collect();
    if let Some(handed) = task_md::hand_in(job.kind, &file, &answered).filter(|_| is_its_word(job.kind, code)) {
        return handed;
    }
    by_exit(job.kind, code, printed.trim()).unwrap_or_else(|| {
        let how =
            code.map_or_else(|| "was ended by a signal".to_owned(), |code| format!("ended with exit code {code}"));
        let said = shorten::tail(&shorten::one_line(printed, usize::MAX), 300);
        HandIn::GaveUp { reason: format!("the command {how}: {}; {said}", task_md::missing(job.kind, &file)) }
    })
}

/// A verdict in the file counts only if the judge ended by itself: a program that it ran can have written the file and
/// killed it. A shell tells of a signal by a code above 128.
fn is_its_word(kind: JobKind, code: Option<i32>) -> bool {
    kind != JobKind::Review || code.is_some_and(|code| (0..=128).contains(&code))
}

/// For work the exit code says that it is done; for a review 0 is a pass and 1 a fail. A plan or an answer is what it
/// printed. A handoff has to be written.
fn by_exit(kind: JobKind, code: Option<i32>, printed: &str) -> Option<HandIn> {
    let summary = || match shorten::tail(printed, SUMMARY) {
        said if said.is_empty() => "The command ended well and printed nothing.".to_owned(),
        said => said,
    };
    match (kind, code?) {
        (JobKind::Code, 0) => Some(HandIn::Pulse(PulseHandIn { summary: summary(), decisions: Vec::new() })),
        (JobKind::Review, 0) => Some(review(Verdict::Pass, summary(), Vec::new())),
        (JobKind::Review, 1) => {
            let finding = Finding { message: summary(), place: None };
            Some(review(Verdict::Fail, summary(), vec![finding]))
        }
        (JobKind::Spec, 0) if !printed.is_empty() => {
            let title = printed.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or("Plan").trim().to_owned();
            Some(HandIn::Plan(PlanHandIn { title, body: printed.to_owned(), decisions: Vec::new() }))
        }
        (JobKind::Answer | JobKind::Discuss, 0) if !printed.is_empty() => {
            Some(HandIn::Answer { text: printed.to_owned() })
        }
        (
            JobKind::Code
            | JobKind::Review
            | JobKind::Spec
            | JobKind::Answer
            | JobKind::Discuss
            | JobKind::Tasks
            | JobKind::Scope
            | JobKind::Research
            | JobKind::Handoff
            | JobKind::Lead
            | JobKind::Converse
            | JobKind::Pursue,
            _,
        ) => None,
    }
}

fn review(verdict: Verdict, summary: String, findings: Vec<Finding>) -> HandIn {
    HandIn::Review(Review { verdict, severity: Severity::Minor, summary, findings })
}

/// Neither a link nor a pipe nor a huge file is read.
fn read(workspace: &Path) -> Vec<u8> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut bytes = Vec::new();
    if let Ok(file) = rustix::fs::open(workspace.join(TASK_FILE), flags, Mode::empty()) {
        // What cannot be read was not written.
        let _ = File::from(file).take(MAX_TASK_FILE).read_to_end(&mut bytes);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::tests::job;

    #[track_caller]
    fn check(kind: JobKind, code: Option<i32>, printed: &str, word: &str) {
        let folder = tempfile::tempdir().unwrap();
        let job = Job { workspace: folder.path().display().to_string(), ..job(kind) };
        assert_eq!(hand_in(&job, code, printed).word(), word, "{kind:?} {code:?} {printed}");
    }

    #[test]
    fn without_a_file_the_exit_code_speaks() {
        check(JobKind::Code, Some(0), "", "pulse");
        check(JobKind::Code, Some(1), "", "gave_up");
        check(JobKind::Code, None, "", "gave_up");
        check(JobKind::Review, Some(1), "no tests", "review");
        check(JobKind::Review, Some(2), "usage", "gave_up");
        check(JobKind::Spec, Some(0), "# T\n\ntext", "plan");
        check(JobKind::Spec, Some(0), "  ", "gave_up");
        check(JobKind::Handoff, Some(0), "done", "gave_up");
    }

    #[test]
    fn what_it_wrote_into_its_file_goes_before_its_exit_code() {
        let folder = tempfile::tempdir().unwrap();
        let job = Job { workspace: folder.path().display().to_string(), ..job(JobKind::Review) };
        std::fs::write(folder.path().join(TASK_FILE), "# T\n\n## Review\n\nFAIL\n\nNo tests.\n").unwrap();
        let HandIn::Review(review) = hand_in(&job, Some(0), "") else { panic!() };
        assert_eq!(review.verdict, Verdict::Fail);
        std::fs::remove_file(folder.path().join(TASK_FILE)).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join(TASK_FILE)).unwrap();
        assert_eq!(hand_in(&job, Some(2), "").word(), "gave_up");
    }

    #[test]
    fn a_verdict_in_the_file_of_a_judge_that_was_killed_counts_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let job = Job { workspace: folder.path().display().to_string(), ..job(JobKind::Review) };
        std::fs::write(folder.path().join(TASK_FILE), "# T\n\n## Review\n\nPASS\n\nFine.\n").unwrap();
        for (code, word) in [(None, "gave_up"), (Some(137), "gave_up"), (Some(143), "gave_up"), (Some(3), "review")] {
            assert_eq!(hand_in(&job, code, "").word(), word, "{code:?}");
        }
    }
}
