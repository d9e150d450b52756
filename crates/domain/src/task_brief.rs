//! What a task begins with: its name, its context, and whether its summary says enough to begin. Decides nothing.

use serde::{Deserialize, Serialize};

use crate::{Question, Run, TaskWord};

/// What was said with a task besides its summary.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskBrief {
    /// A short name, which its branch has too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The plan, and what else the worker should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

/// What is asked when a summary says too little.
pub const OPENING_QUESTION: &str = "What would you like to work on?";

impl TaskBrief {
    /// The longest context, in bytes.
    pub const MAX_CONTEXT: usize = 256 * 1024;

    /// The question of a task whose summary says too little.
    #[must_use]
    pub fn opening_question(summary: &str) -> Question {
        let context = match summary.trim() {
            "" => "the task has no summary".to_owned(),
            said => format!("the summary says little: {said}"),
        };
        Question { context, ..Question::text(OPENING_QUESTION) }
    }
}

/// Whether a summary says too little to begin with: it is empty; or it has fewer than three words, none of which looks
/// like a thing in code (a path, a file, an identifier, a number of an issue). A letter of a script that is written
/// without spaces counts as a word.
#[must_use]
pub fn is_vague(summary: &str) -> bool {
    let mut words = 0;
    for word in summary.split_whitespace() {
        if names_code(word) {
            return false;
        }
        let spaceless = word.chars().filter(|c| c.is_alphabetic() && *c >= '\u{e00}').count();
        words += if spaceless > 0 { spaceless } else { usize::from(word.chars().any(char::is_alphanumeric)) };
    }
    words < 3
}

fn names_code(word: &str) -> bool {
    let inner = word.trim_matches(|c: char| matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '"' | '\''));
    let marks = inner.chars().any(|c| matches!(c, '/' | '\\' | '_' | '.' | '`' | '#' | '(' | '<' | '=' | '@'));
    let camel = inner.chars().zip(inner.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let letters = inner.chars().any(char::is_alphanumeric);
    letters && (marks || camel || inner.contains("::") || inner.chars().any(|c| c.is_ascii_digit()))
}

impl Run {
    /// Whether it stands for one task.
    #[must_use]
    pub fn is_task(&self) -> bool {
        self.opened.as_deref().is_some_and(|opened| opened.playbook.name == TaskWord::PLAYBOOK)
    }

    /// What the task is about in a few words: its summary, or what a person said when they were asked.
    #[must_use]
    pub fn summary(&self) -> String {
        let request = self.opened().request.trim();
        match self.opening_answer() {
            Some(answer) if request.is_empty() => answer,
            Some(answer) => format!("{request}: {answer}"),
            None => request.to_owned(),
        }
    }

    /// What the agents are asked for: the request, with what was said along with it and in answer to it.
    #[must_use]
    pub fn wanted(&self) -> String {
        let brief = self.opened().config.task.as_ref();
        match brief.and_then(|brief| brief.context.as_deref()).filter(|context| !context.trim().is_empty()) {
            Some(context) => format!("{}\n\n{}", self.summary(), context.trim()),
            None => self.summary(),
        }
    }

    /// The question that was asked before there was an agent; its answer is part of the request.
    fn opening_answer(&self) -> Option<String> {
        let opening = self.answers.iter().find(|answer| answer.session.visit == 0)?;
        opening.answer.as_ref().map(|words| words.join("\n").trim().to_owned()).filter(|words| !words.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(vague: &[&str], clear: &[&str]) {
        vague.iter().for_each(|text| assert!(is_vague(text), "`{text}` says too little"));
        clear.iter().for_each(|text| assert!(!is_vague(text), "`{text}` says enough"));
    }

    #[test]
    fn a_summary_says_enough_with_three_words_or_with_a_thing_in_code() {
        check(
            &["", "  \n", "help", "Fix it", "do stuff!", "- -- ---", "please … help", "改善", "…"],
            &["Add a login", "fix parser.rs", "rename runId", "src/main", "fix #42", "`decide`", "ログインを追加する"],
        );
    }
}
