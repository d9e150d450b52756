//! What is worth telling: one event of the feed becomes one notice, or none.

use domain::{Event, Hold, HoldKind};
use engine::{FeedItem, Row};
use wire::{Notice, NoticeHold, NoticeRun};

use crate::to_wire;

/// Something that can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// A run waits for a person.
    HoldPlaced,
    /// A limit of money asks.
    BudgetAsked,
    /// A run ended well.
    RunCompleted,
    /// A run failed.
    RunFailed,
    /// A person ended a run.
    RunCancelled,
}

impl Topic {
    /// All there are.
    pub const ALL: [Self; 5] =
        [Self::HoldPlaced, Self::BudgetAsked, Self::RunCompleted, Self::RunFailed, Self::RunCancelled];
    /// What is told unless somebody says otherwise: who cancels a run knows it.
    pub const USUAL: [Self; 4] = [Self::HoldPlaced, Self::BudgetAsked, Self::RunCompleted, Self::RunFailed];

    /// The word used in the file and in notices.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::HoldPlaced => "hold.placed",
            Self::BudgetAsked => "budget.asked",
            Self::RunCompleted => "run.completed",
            Self::RunFailed => "run.failed",
            Self::RunCancelled => "run.cancelled",
        }
    }

    /// The topic of a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|topic| topic.word() == word)
    }
}

/// What an event tells people, if anything. A hold that ends by itself and a pause that somebody made are no news.
pub(super) fn topic(event: &Event) -> Option<Topic> {
    match event {
        Event::ApprovalRequested { hold, .. }
        | Event::ClarificationRequested { hold, .. }
        | Event::HoldPlaced { hold } => match hold.kind {
            HoldKind::Budget => Some(Topic::BudgetAsked),
            HoldKind::Quota | HoldKind::Paused => None,
            HoldKind::Approval
            | HoldKind::Clarification
            | HoldKind::Confirm
            | HoldKind::Fix
            | HoldKind::Permission
            | HoldKind::Timeout
            | HoldKind::Model
            | HoldKind::Conflict
            | HoldKind::Credentials
            | HoldKind::Review
            | HoldKind::Stuck => Some(Topic::HoldPlaced),
        },
        // A fork may come to stand on a hold that was placed in another run.
        Event::ForkOpened { .. } => Some(Topic::HoldPlaced),
        Event::RunCompleted { .. } => Some(Topic::RunCompleted),
        Event::RunFailed { .. } => Some(Topic::RunFailed),
        Event::RunCancelled { .. } => Some(Topic::RunCancelled),
        _ => None,
    }
}

/// The notice of an event. The end of a task's run is told by the run it belongs to, and not here.
pub(super) fn notice(item: &FeedItem, topic: Topic, row: &Row) -> Option<Notice> {
    let (hold, failure) = match &item.recorded.event {
        Event::ApprovalRequested { hold, .. }
        | Event::ClarificationRequested { hold, .. }
        | Event::HoldPlaced { hold } => (Some(held(item, hold)), None),
        Event::ForkOpened { .. } => {
            let news = |hold: &&Hold| !matches!(hold.kind, HoldKind::Quota | HoldKind::Paused);
            let inherited = |hold: &&Hold| hold.id.0 < item.recorded.sequence;
            (Some(held(item, row.hold.as_ref().filter(news).filter(inherited)?)), None)
        }
        Event::RunFailed { reason, .. } if row.parent.is_none() => (None, Some(one_line(reason))),
        _ if row.parent.is_none() => (None, None),
        _ => return None,
    };
    Some(Notice {
        id: format!("{}.{}", item.run, item.recorded.sequence),
        event: topic.word().to_owned(),
        at: item.recorded.at,
        position: item.position,
        run: Some(NoticeRun {
            id: item.run.to_string(),
            project: one_line(&row.project),
            request: one_line(&row.request),
            playbook: row.playbook.clone(),
        }),
        hold,
        failure,
        link: String::new(),
    })
}

fn held(item: &FeedItem, hold: &Hold) -> NoticeHold {
    let shown = to_wire::hold(&item.run, hold);
    NoticeHold { id: shown.id, kind: shown.kind, summary: one_line(&shown.summary), allowed: shown.allowed }
}

const LONGEST: usize = 200;

/// The first line that says something, without what could act on a screen or deceive the eye.
pub(super) fn one_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let cleaned: String =
        without_colours(line).chars().map(|c| if wire::is_hidden(c) { '\u{fffd}' } else { c }).collect();
    match cleaned.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &cleaned[..end]),
        None => cleaned,
    }
}

/// Colours mean no harm; every other sequence loses its beginning and is seen.
fn without_colours(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let after = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        match after.strip_prefix('m') {
            Some(rest) => out.push_str(rest),
            None => {
                out.push('\u{1b}');
                out.push('[');
                out.push_str(part);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_strangers_cannot_act_on_a_screen() {
        assert_eq!(one_line("\n \u{1b}[31mred\u{1b}[0m page\nmore"), "red page");
        assert_eq!(one_line("a\u{1b}]0;evil\u{7}b"), "a\u{fffd}]0;evil\u{fffd}b");
        assert_eq!(one_line("safe\u{202e}txt\u{17b4}.exe"), "safe\u{fffd}txt\u{fffd}.exe");
        assert_eq!(one_line("a\u{9b}2Jb\u{1b}[2Jc"), "a\u{fffd}2Jb\u{fffd}[2Jc");
        assert_eq!(one_line(&"x".repeat(300)).chars().count(), LONGEST + 1);
        assert_eq!(one_line(""), "");
    }

    /// The row of a run that waits on hold 2.
    fn waiting(kind: &str) -> Row {
        let git = serde_json::json!({"baseBranch": "main", "autoMerge": false, "push": false});
        let trust = serde_json::json!({"planning": "manual", "implementation": "auto", "fixes": "auto"});
        let config =
            serde_json::json!({"trust": trust, "maxClarifications": 3, "models": {}, "git": git, "budget": null});
        let hold = serde_json::json!({"id": 2, "kind": kind, "stage": "planning", "since": "2026-01-01T00:00:00Z",
            "summary": "look", "digest": "0".repeat(64), "allowed": ["approve"]});
        let first = Event::RunStarted {
            project: "/p".to_owned(),
            request: "x".to_owned(),
            playbook: domain::Playbook::built_in("autonomous").unwrap(),
            config: serde_json::from_value(config).unwrap(),
            branch: "autonomous/aaaaaa-x".to_owned(),
            by: domain::Actor { name: "ada".to_owned(), channel: "cli".to_owned() },
            parent: None,
            forked_from: None,
        };
        let events = [first, Event::HoldPlaced { hold: serde_json::from_value(hold).unwrap() }];
        let log = events.into_iter().zip(1..).map(|(event, sequence)| recorded(sequence, event));
        Row::of(&domain::replay(domain::RunId::from_bits(7), log))
    }

    fn recorded(sequence: u64, event: Event) -> domain::Recorded {
        domain::Recorded { sequence, at: jiff::Timestamp::UNIX_EPOCH, event }
    }

    #[test]
    fn a_fork_that_comes_to_stand_on_a_hold_is_news_and_a_hold_that_came_later_is_told_by_itself() {
        let told = |sequence: u64, row: &Row| {
            let event = Event::ForkOpened { carried: false };
            let topic = topic(&event).unwrap();
            let item = FeedItem { position: 1, run: row.id.clone(), recorded: recorded(sequence, event) };
            notice(&item, topic, row).map(|notice| notice.hold.unwrap().kind)
        };
        assert_eq!(told(5, &waiting("approval")), Some("approval".to_owned()));
        assert_eq!(told(1, &waiting("approval")), None);
        assert_eq!(told(5, &waiting("paused")), None);
        assert_eq!(told(5, &Row { hold: None, ..waiting("approval") }), None, "it went on at once");
    }

    #[test]
    fn every_topic_has_a_word_of_its_own() {
        for topic in Topic::ALL {
            assert_eq!(Topic::parse(topic.word()), Some(topic));
        }
        assert_eq!(Topic::parse("test"), None);
    }
}
