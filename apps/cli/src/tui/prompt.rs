//! What the person is asked on the line at the bottom. Pure.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use wire::{DecideRequest, HoldView};

use super::news::Order;
use crate::ask;
use crate::failure::Failure;

/// Something that is being asked.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Prompt {
    /// A line of text.
    Line { about: About, text: String },
    /// Yes or no.
    Sure { question: String, then: Order },
}

/// What a line of text is for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum About {
    Filter,
    Feedback(Box<HoldView>),
    Suggestion(Box<HoldView>),
    Answer(Box<HoldView>),
    /// Any decision of the hold, with its words behind it.
    Decision(Box<HoldView>),
}

/// What a key made of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    /// It is still being asked.
    Asking(Prompt),
    /// The person left it.
    Left,
    /// A new filter.
    Filter(String),
    /// Something is to be done.
    Do(Order),
    /// It cannot be done; the person may mend it.
    Wrong(Prompt, Failure),
}

impl About {
    /// What is shown of what was typed.
    pub(super) fn typed(&self, text: &str) -> String {
        let hides = |hold: &HoldView| hold.secret;
        match self {
            Self::Answer(hold) if hides(hold) => "•".repeat(text.chars().count()),
            // The words behind `answer` are the answer.
            Self::Decision(hold) if hides(hold) => match text.split_once(' ') {
                Some((word, rest)) => format!("{word} {}", "•".repeat(rest.chars().count())),
                None => crate::report::clean_line(text),
            },
            Self::Filter | Self::Feedback(_) | Self::Suggestion(_) | Self::Answer(_) | Self::Decision(_) => {
                crate::report::clean_line(text)
            }
        }
    }

    pub(super) fn title(&self) -> String {
        match self {
            Self::Filter => "filter".to_owned(),
            Self::Feedback(_) => "what shall be different?".to_owned(),
            Self::Suggestion(_) => "your suggestion".to_owned(),
            Self::Answer(hold) => match hold.response_type.as_deref() {
                Some("single_choice") => "answer, by number or text".to_owned(),
                Some("multiple_choice") => "answers, as 1,2".to_owned(),
                Some("file_upload") => "path of the file".to_owned(),
                Some(_) | None => "your answer".to_owned(),
            },
            Self::Decision(hold) => format!("one of {}", crate::report::clean_line(&hold.allowed.join(", "))),
        }
    }
}

impl Prompt {
    pub(super) fn line(about: About) -> Self {
        Self::Line { about, text: String::new() }
    }

    pub(super) fn key(self, key: KeyEvent) -> Outcome {
        match self {
            Self::Sure { question, then } => match key.code {
                KeyCode::Char('y' | 'Y') => Outcome::Do(then),
                KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc | KeyCode::Enter => Outcome::Left,
                _ => Outcome::Asking(Self::Sure { question, then }),
            },
            Self::Line { about, mut text } => {
                let control = key.modifiers.contains(KeyModifiers::CONTROL);
                match key.code {
                    KeyCode::Esc => return Outcome::Left,
                    KeyCode::Char('c') if control => return Outcome::Left,
                    KeyCode::Char('u') if control => text.clear(),
                    KeyCode::Char(letter) if !control => text.push(letter),
                    KeyCode::Backspace => drop(text.pop()),
                    KeyCode::Enter => return sent(about, text),
                    _ => {}
                }
                Outcome::Asking(Self::Line { about, text })
            }
        }
    }

    /// Text that was pasted; line ends become blanks, so that a paste never sends anything.
    pub(super) fn paste(&mut self, pasted: &str) {
        if let Self::Line { text, .. } = self {
            text.push_str(&pasted.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
}

fn sent(about: About, text: String) -> Outcome {
    let said = text.trim().to_owned();
    if let About::Filter = about {
        return Outcome::Filter(said);
    }
    let order = match &about {
        _ if said.is_empty() => Err(Failure::usage("nothing was said", "say it in a few words; Esc leaves")),
        About::Feedback(hold) => Ok(with_text(hold, "reject", said)),
        About::Suggestion(hold) => Ok(with_text(hold, "suggest", said)),
        About::Answer(hold) => answer(hold, said),
        About::Decision(hold) => decision(hold, &said),
        About::Filter => return Outcome::Left,
    };
    match order {
        Ok(order) => Outcome::Do(order),
        Err(failure) => Outcome::Wrong(Prompt::Line { about, text }, failure),
    }
}

fn with_text(hold: &HoldView, word: &str, text: String) -> Order {
    Order::decide(hold, DecideRequest { text: Some(text), ..ask::request(hold, word) })
}

fn answer(hold: &HoldView, said: String) -> Result<Order, Failure> {
    if hold.response_type.as_deref() == Some("file_upload") {
        return Ok(Order::AnswerFile { hold: Box::new(hold.clone()), path: said });
    }
    let answer = Some(ask::resolve(hold, &[said])?);
    Ok(Order::decide(hold, DecideRequest { answer, ..ask::request(hold, "answer") }))
}

/// `retry use less`, `extend 30`, `raise 5`, `accept_anyway`.
fn decision(hold: &HoldView, said: &str) -> Result<Order, Failure> {
    let (word, rest) = said.split_once(' ').unwrap_or((said, ""));
    let wanted = word.to_lowercase().replace('-', "_");
    let allowed = || hold.allowed.iter().map(String::as_str);
    let fits: Vec<&str> = allowed().filter(|allowed| allowed.starts_with(&wanted)).collect();
    let exact = allowed().find(|allowed| *allowed == wanted);
    let word = match (exact, fits.as_slice()) {
        (Some(word), _) | (None, &[word]) => word,
        (None, _) => {
            let hint = format!("it takes: {}", hold.allowed.join(", "));
            return Err(Failure::usage(format!("`{word}` is not one decision of this hold"), hint));
        }
    };
    let rest = rest.trim();
    let text = Some(rest.to_owned()).filter(|rest| !rest.is_empty());
    let number = |what: &str| Failure::usage(format!("`{word}` takes {what}"), format!("write `{word} 30`"));
    let request = match word {
        "answer" if !rest.is_empty() => return answer(hold, rest.to_owned()),
        "modify_plan" => return Ok(Order::edit(hold)),
        "reject" | "suggest" | "ask" | "answer" if rest.is_empty() => {
            return Err(Failure::usage(format!("`{word}` needs words"), format!("write `{word} what you mean`")));
        }
        "extend" => {
            DecideRequest { minutes: Some(rest.parse().map_err(|_| number("minutes"))?), ..ask::request(hold, word) }
        }
        "raise" => {
            DecideRequest { usd: Some(rest.parse().map_err(|_| number("dollars"))?), ..ask::request(hold, word) }
        }
        _ => DecideRequest { text, ..ask::request(hold, word) },
    };
    Ok(Order::decide(hold, request))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::run::sample;

    fn typed(about: About, said: &str) -> Outcome {
        let mut prompt = Prompt::line(about);
        for letter in said.chars() {
            match prompt.key(KeyEvent::from(KeyCode::Char(letter))) {
                Outcome::Asking(next) => prompt = next,
                other => panic!("{other:?}"),
            }
        }
        prompt.key(KeyEvent::from(KeyCode::Enter))
    }

    fn asked(allowed: &[&str]) -> Box<HoldView> {
        let allowed = allowed.iter().map(|word| (*word).to_owned()).collect();
        Box::new(HoldView { allowed, ..sample::question() })
    }

    #[test]
    fn an_answer_names_an_option_by_number_and_is_bound_to_the_digest() {
        let Outcome::Do(Order::Decide { request, .. }) = typed(About::Answer(asked(&["answer"])), "2") else {
            panic!("not sent")
        };
        assert_eq!((request.answer, request.digest.as_str()), (Some(vec!["Match case".to_owned()]), "d1"));
        assert!(matches!(typed(About::Answer(asked(&["answer"])), "7"), Outcome::Wrong(..)));
    }

    #[test]
    fn any_decision_is_taken_by_its_beginning_with_its_words() {
        let hold = asked(&["retry", "raise", "accept_anyway"]);
        let taken = |said: &str| match typed(About::Decision(hold.clone()), said) {
            Outcome::Do(Order::Decide { request, .. }) => Some(request),
            _ => None,
        };
        assert_eq!(taken("ret use less").unwrap().text.as_deref(), Some("use less"));
        assert_eq!(taken("raise 5").unwrap().usd, Some(5.0));
        assert_eq!(taken("acc").unwrap().decision, "accept_anyway");
        assert_eq!((taken("r"), taken("raise much"), taken("merge")), (None, None, None));
    }

    #[test]
    fn a_rejection_without_words_is_not_sent_and_a_paste_sends_nothing() {
        assert!(matches!(typed(About::Feedback(asked(&["reject"])), "  "), Outcome::Wrong(..)));
        let mut prompt = Prompt::line(About::Filter);
        prompt.paste("one\ntwo\r\n");
        assert_eq!(prompt, Prompt::Line { about: About::Filter, text: "one two".to_owned() });
    }
}
