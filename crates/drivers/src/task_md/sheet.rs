//! A task's file as it is written for an agent: the facts of the run, and from the file before it what the agent or a
//! person wrote there.

use super::front::Front;
use super::{TaskFile, TaskSection};
use crate::JobKind;

/// What a run says about its task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskSheet {
    /// The run's id.
    pub id: String,
    /// What the task is about.
    pub summary: String,
    /// Its word.
    pub status: String,
    /// The branch it works on.
    pub branch: String,
    /// Who reviews.
    pub review_harness: String,
    /// Reviews so far, the one that begins included.
    pub review_round: u32,
    /// Crashes in this status.
    pub crash_count: u32,
    /// Its pull request.
    pub pr_url: String,
    /// When it was created.
    pub created_at: String,
    /// When anything last happened.
    pub updated_at: String,
    /// The plan, and what else was said with the task.
    pub context: String,
    /// Questions with their answers, oldest first; `None`: the person left it to the agent.
    pub answers: Vec<(String, Option<String>)>,
    /// What people said on the way.
    pub said: Vec<String>,
    /// Why what was handed in last was refused.
    pub refusal: Option<String>,
    /// What was handed over last.
    pub handoff: Option<String>,
    /// What the last review said, with its verdict.
    pub review: Option<String>,
}

/// How a comment of ours begins, so that it is known and written anew.
const OURS: &str = "<!-- holdpoint:";

const WORKER: &str = "read Context and Review, do the work in this folder, and note what you want to remember under
Notes. If something is unclear, add `## Questions` with one list item each and stop; end one whose answer is a password or a
key with `(secret)`, and put that answer into no file. When you are done, add a
`## Handoff` section that says what was done, what to look at and how to test it, and stop. This file is not committed. -->";
const REVIEWER: &str = "look at the change of this branch against what Context and Handoff say. Then add a `## Review`
section whose first line is PASS or FAIL, followed by what must be mended, and stop. Change nothing else. This file is
not committed. -->";

impl TaskSheet {
    /// The file for an agent. A worker begins without a handoff and a reviewer without a review: what is there when they
    /// end is theirs.
    #[must_use]
    pub fn write(&self, kind: JobKind, earlier: Option<&TaskFile>) -> TaskFile {
        let mut file = TaskFile {
            front: Some(("---\n".to_owned(), self.front(earlier), "---\n".to_owned())),
            preamble: preamble(kind, earlier),
            ..TaskFile::default()
        };
        let reviews = kind == JobKind::Review;
        // What a worker wrote and nobody took is still its own.
        let begun = earlier.and_then(|earlier| earlier.section(TaskSection::Handoff)).filter(|_| !reviews);
        let context = self.context(begun.or(self.handoff.as_deref()).filter(|_| !reviews));
        if !context.is_empty() {
            file.set_section(TaskSection::Context, &context);
        }
        if let Some(notes) = earlier.and_then(|earlier| earlier.section(TaskSection::Notes)) {
            file.set_section(TaskSection::Notes, notes);
        }
        match (reviews, &self.handoff, &self.review) {
            (true, Some(handoff), _) => file.set_section(TaskSection::Handoff, handoff),
            (false, _, Some(review)) => file.set_section(TaskSection::Review, review),
            (_, _, _) => {}
        }
        let others = earlier.map(|earlier| earlier.parts.as_slice()).unwrap_or_default();
        let ours = |title: &str| TaskSection::ALL.iter().any(|known| title.eq_ignore_ascii_case(known.title()));
        for part in others.iter().filter(|part| !ours(&part.title)) {
            file.end_last();
            file.parts.push(part.clone());
        }
        file
    }

    fn front(&self, earlier: Option<&TaskFile>) -> Front {
        let kept = earlier.and_then(|earlier| earlier.front.as_ref());
        let mut front = kept.map(|(_, front, _)| front.clone()).unwrap_or_default();
        let (round, crashes) = (self.review_round.to_string(), self.crash_count.to_string());
        for (key, value) in [
            ("id", &self.id),
            ("summary", &self.summary),
            ("status", &self.status),
            ("branch", &self.branch),
            ("review_harness", &self.review_harness),
            ("review_round", &round),
            ("crash_count", &crashes),
            ("pr_url", &self.pr_url),
            ("created_at", &self.created_at),
            ("updated_at", &self.updated_at),
        ] {
            front.set(key, value);
        }
        front
    }

    fn context(&self, handed_over: Option<&str>) -> String {
        let mut text = self.context.trim().to_owned();
        let mut add = |title: &str, body: &str| {
            let gap = if text.is_empty() { "" } else { "\n\n" };
            text.push_str(&format!("{gap}### {title}\n\n{}", body.trim()));
        };
        if !self.answers.is_empty() {
            let left = "(left to you)".to_owned();
            let pair = |(question, answer): &(String, Option<String>)| {
                format!("- {}\n  Answer: {}", inset(question), inset(answer.as_ref().unwrap_or(&left)))
            };
            add("Answered questions", &self.answers.iter().map(pair).collect::<Vec<_>>().join("\n"));
        }
        if !self.said.is_empty() {
            let said = self.said.iter().map(|said| format!("- {}", inset(said)));
            add("Said on the way", &said.collect::<Vec<_>>().join("\n"));
        }
        if let Some(refusal) = &self.refusal {
            add("Why the last one was not taken", refusal);
        }
        if let Some(handoff) = handed_over {
            add("Handed over before", handoff);
        }
        text
    }
}

/// Further lines of a list item.
fn inset(text: &str) -> String {
    text.trim().replace('\n', "\n  ")
}

fn preamble(kind: JobKind, earlier: Option<&TaskFile>) -> String {
    let duty = if kind == JobKind::Review { REVIEWER } else { WORKER };
    let before = earlier.map(|earlier| earlier.preamble.as_str()).unwrap_or_default();
    let kept = match before.split_once(OURS) {
        Some((ahead, rest)) => {
            let behind = rest.split_once("-->").map_or("", |(_, behind)| behind);
            format!("{}\n{}", ahead.trim(), behind.trim())
        }
        None => before.to_owned(),
    };
    let kept = if kept.trim().is_empty() { String::new() } else { format!("{}\n\n", kept.trim()) };
    format!("\n{OURS} {duty}\n\n{kept}")
}
