//! Asks the person at the keyboard. Offers exactly the decisions a hold takes, and `later`.

use std::{fmt, fs};

use inquire::{Confirm, InquireError, MultiSelect, Password, PasswordDisplayMode, Select, Text};
use wire::{DecideRequest, HoldView};

use crate::{commands::is_yes, failure::Failure, report::clean_line};

/// What the person wants.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wish {
    Decide(DecideRequest),
    /// Write another version of what is shown.
    Edit(DecideRequest),
    /// Show the whole diff, then ask again.
    Show,
    Later,
}

/// Asks on the terminal; blocks until the person has answered. What of the change was not shown is named, and a yes to it is
/// asked for twice.
pub(crate) fn person(hold: &HoldView, unseen: Option<&str>) -> Result<Wish, Failure> {
    let wish = match hold.kind.as_str() {
        "clarification" if allows(hold, "answer") => question(hold),
        "confirm" if allows(hold, "answer") => confirm(hold),
        _ => decision(hold, unseen),
    };
    let wish = wish.and_then(|wish| match (&wish, unseen) {
        (Wish::Decide(request), Some(unseen)) if is_yes(&request.decision) => sure(request.clone(), unseen),
        (_, _) => Ok(wish),
    });
    match wish {
        Ok(wish) => Ok(wish),
        Err(InquireError::OperationCanceled | InquireError::OperationInterrupted) => Ok(Wish::Later),
        Err(error) => Err(Failure::failed(
            "terminal",
            format!("cannot ask on this terminal: {error}"),
            "decide with `holdpoint decide` from another one",
        )),
    }
}

/// A second yes, for what was not shown.
fn sure(request: DecideRequest, unseen: &str) -> Result<Wish, InquireError> {
    let word = request.decision.replace('_', " ");
    let question = format!("{unseen}. {word} all the same?");
    let help = "no shows the whole diff and asks again";
    let yes = Confirm::new(&question).with_default(false).with_help_message(help).prompt()?;
    Ok(if yes { Wish::Decide(request) } else { Wish::Show })
}

/// Says yes to everything: approve, the first option, try again.
pub(crate) fn nobody(hold: &HoldView) -> Option<DecideRequest> {
    let word =
        ["approve", "answer", "retry", "ignore", "resume", "create_pr"].into_iter().find(|word| allows(hold, word))?;
    let first = hold.options.iter().flatten().next().cloned();
    let own = if hold.default.is_empty() {
        vec![first.unwrap_or_else(|| "as you think best".to_owned())]
    } else {
        hold.default.clone()
    };
    let answer = (word == "answer").then_some(own);
    Some(DecideRequest { answer, ..request(hold, word) })
}

/// Options by number or by their text; a text as it is.
pub(crate) fn resolve(hold: &HoldView, words: &[String]) -> Result<Vec<String>, Failure> {
    let options = hold.options.as_deref().unwrap_or_default();
    let kind = hold.response_type.as_deref().unwrap_or("text");
    if options.is_empty() || !kind.ends_with("_choice") {
        return Ok(vec![words.join(" ")]);
    }
    let whole = words.join(" ");
    if let Some(option) = pick(options, &whole) {
        return Ok(vec![option]);
    }
    let split = words.iter().flat_map(|word| word.split(',')).map(str::trim).filter(|word| !word.is_empty());
    let picked: Option<Vec<String>> = split.map(|word| pick(options, word)).collect();
    picked.filter(|picked| !picked.is_empty() && (picked.len() == 1 || kind == "multiple_choice")).ok_or_else(|| {
        let listed: Vec<String> =
            options.iter().enumerate().map(|(index, option)| format!("{}. {option}", index + 1)).collect();
        let how = if kind == "multiple_choice" { "one or more of" } else { "one of" };
        Failure::usage(format!("`{whole}` is not an option"), format!("choose {how}: {}", listed.join("; ")))
    })
}

/// A request on this hold, bound to what was shown.
pub(crate) fn request(hold: &HoldView, decision: &str) -> DecideRequest {
    DecideRequest {
        decision: decision.to_owned(),
        digest: hold.digest.clone(),
        hold: Some(hold.id.clone()),
        ..DecideRequest::default()
    }
}

/// A file as an answer: its name and its content.
pub(crate) fn file_answer(path: &std::path::Path) -> Result<Vec<String>, Failure> {
    let content = fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("cannot read `{}` as text: {error}", path.display()), "give the path of a text file")
    })?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(vec![name, content])
}

fn allows(hold: &HoldView, word: &str) -> bool {
    hold.allowed.iter().any(|allowed| allowed == word)
}

fn pick(options: &[String], word: &str) -> Option<String> {
    let number = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let by_text = options.iter().find(|option| option.to_lowercase() == word.to_lowercase());
    by_text.or_else(|| number.and_then(|index| options.get(index))).cloned()
}

/// One line of a menu.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Choice {
    Option(String),
    Decision(String),
    Show,
    Later,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(option) => f.write_str(&clean_line(option)),
            Self::Decision(word) => f.write_str(&clean_line(label(word))),
            Self::Show => f.write_str("show the whole diff"),
            Self::Later => f.write_str("later (the run keeps waiting)"),
        }
    }
}

fn label(word: &str) -> &str {
    match word {
        "approve" => "approve",
        "reject" => "reject, and say what to change",
        "suggest" => "suggest something, and have it done again",
        "modify_plan" => "change it yourself, in your editor",
        "ask" => "ask something about it",
        "answer" => "answer",
        "ignore" => "no answer: the agent shall decide",
        "retry" => "try again",
        "approve_for_run" => "approve this and the same again in this run",
        "accept_anyway" => "accept it anyway",
        "extend" => "give it more time",
        "raise" => "raise the limit",
        "resolve" => "let an agent resolve it",
        "create_pr" => "open a pull request instead of merging",
        "take_over" => "take it over: work on the branch yourself",
        "resume" => "go on",
        "cancel" => "cancel the run",
        other => other,
    }
}

fn question(hold: &HoldView) -> Result<Wish, InquireError> {
    let options = hold.options.clone().unwrap_or_default();
    let answer = match hold.response_type.as_deref() {
        Some("single_choice") => {
            let rest = hold.allowed.iter().filter(|word| *word != "answer").cloned().map(Choice::Decision);
            let menu = options.into_iter().map(Choice::Option).chain(rest).chain([Choice::Later]).collect();
            match Select::new("Your answer", menu).prompt()? {
                Choice::Option(option) => vec![option],
                Choice::Decision(word) => return complete(hold, &word),
                Choice::Show | Choice::Later => return Ok(Wish::Later),
            }
        }
        Some("multiple_choice") => {
            let menu = options.into_iter().map(Choice::Option).collect();
            let picked =
                MultiSelect::new("Your answer", menu).with_help_message("space picks, enter sends").prompt()?;
            picked
                .into_iter()
                .filter_map(|choice| if let Choice::Option(text) = choice { Some(text) } else { None })
                .collect()
        }
        Some("file_upload") => {
            let path = Text::new("Path of the file").prompt()?;
            match file_answer(std::path::Path::new(path.trim())) {
                Ok(answer) => answer,
                Err(failure) => return Err(InquireError::Custom(failure.into())),
            }
        }
        Some(_) | None => {
            let text = if hold.secret { hidden()? } else { shown()? };
            if text.trim().is_empty() {
                return decision(hold, None);
            }
            vec![text]
        }
    };
    Ok(Wish::Decide(DecideRequest { answer: Some(answer), ..request(hold, "answer") }))
}

fn shown() -> Result<String, InquireError> {
    Text::new("Your answer").with_help_message("empty: other choices; esc: later").prompt()
}

/// A secret is not shown while it is typed.
fn hidden() -> Result<String, InquireError> {
    let help = "a secret: only the agent that asks is told; empty: other choices; esc: later";
    let ask = Password::new("Your answer").with_display_mode(PasswordDisplayMode::Masked).without_confirmation();
    ask.with_help_message(help).prompt()
}

/// Yes, or what is different in the person's own words.
fn confirm(hold: &HoldView) -> Result<Wish, InquireError> {
    let help = "yes: go on with this; anything else is told to the agent; empty: other choices; esc: later";
    let text = Text::new("Yes, or what is different?").with_help_message(help).prompt()?;
    Ok(match text.trim() {
        "" => return decision(hold, None),
        said if means_yes(said) => Wish::Decide(request(hold, "approve")),
        said => Wish::Decide(DecideRequest { answer: Some(vec![said.to_owned()]), ..request(hold, "answer") }),
    })
}

fn means_yes(said: &str) -> bool {
    let plain = said.trim_end_matches(['.', '!']).to_lowercase();
    matches!(plain.as_str(), "y" | "yes" | "ok" | "okay" | "approve" | "go on")
}

fn decision(hold: &HoldView, unseen: Option<&str>) -> Result<Wish, InquireError> {
    let show = unseen.map(|_| Choice::Show);
    let menu = show.into_iter().chain(hold.allowed.iter().cloned().map(Choice::Decision)).chain([Choice::Later]);
    match Select::new("Your decision", menu.collect()).without_filtering().prompt()? {
        Choice::Show => Ok(Wish::Show),
        Choice::Decision(word) if word == "answer" => question(hold),
        Choice::Decision(word) => complete(hold, &word),
        Choice::Option(_) | Choice::Later => Ok(Wish::Later),
    }
}

fn complete(hold: &HoldView, word: &str) -> Result<Wish, InquireError> {
    let mut request = request(hold, word);
    match word {
        "reject" => request.text = Some(required("What shall be different?")?),
        "suggest" => request.text = Some(required("Your suggestion")?),
        "ask" => request.text = Some(required("Your question")?),
        "modify_plan" => return Ok(Wish::Edit(request)),
        "retry" => {
            request.text = optional("Guidance for the next try")?;
            if matches!(hold.kind.as_str(), "model" | "quota" | "budget") {
                request.model = optional("Another model, as provider/model")?;
            }
        }
        "approve" if matches!(hold.kind.as_str(), "review" | "confirm" | "permission" | "budget") => {}
        "approve" => request.text = optional("Notes for the next stage")?,
        "extend" => request.minutes = Some(number("Minutes", "30")?),
        "raise" => request.usd = Some(number("Dollars more", "5")?),
        _ => {}
    }
    Ok(Wish::Decide(request))
}

fn required(message: &str) -> Result<String, InquireError> {
    Text::new(message).with_validator(inquire::required!("say it in a few words; esc leaves")).prompt()
}

fn optional(message: &str) -> Result<Option<String>, InquireError> {
    let text = Text::new(message).with_help_message("enter for none").prompt()?;
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

fn number<T: std::str::FromStr + Clone + ToString + 'static>(message: &str, default: &str) -> Result<T, InquireError> {
    loop {
        if let Ok(number) = Text::new(message).with_default(default).prompt()?.trim().parse() {
            return Ok(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::run::sample;

    fn words(text: &[&str]) -> Vec<String> {
        text.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn an_option_is_named_by_number_or_text() {
        let hold = sample::question();
        assert_eq!(resolve(&hold, &words(&["2"])).unwrap(), ["Match case"]);
        assert_eq!(resolve(&hold, &words(&["ignore", "case"])).unwrap(), ["Ignore case"]);
        assert!(resolve(&hold, &words(&["3"])).is_err());
        assert!(resolve(&hold, &words(&["1,2"])).is_err());
        let many = HoldView { response_type: Some("multiple_choice".to_owned()), ..hold };
        assert_eq!(resolve(&many, &words(&["1,2"])).unwrap(), ["Ignore case", "Match case"]);
    }

    #[test]
    fn a_text_answer_is_taken_as_it_is() {
        let hold = HoldView { options: None, response_type: Some("text".to_owned()), ..sample::question() };
        assert_eq!(resolve(&hold, &words(&["use", "2"])).unwrap(), ["use 2"]);
    }

    #[test]
    fn a_yes_is_told_from_words() {
        assert!(["yes", "Y", "Ok.", "go on!"].iter().all(|said| means_yes(said)));
        assert!(["yes, but smaller", "no", "yesterday"].iter().all(|said| !means_yes(said)));
    }

    #[test]
    fn nobody_takes_what_the_agent_would_choose() {
        let hold = HoldView { default: words(&["Match case"]), ..sample::question() };
        assert_eq!(nobody(&hold).unwrap().answer, Some(words(&["Match case"])));
    }

    #[test]
    fn nobody_takes_the_first_option_and_binds_to_the_digest() {
        let request = nobody(&sample::question()).unwrap();
        assert_eq!((request.decision.as_str(), request.digest.as_str()), ("answer", "d1"));
        assert_eq!(request.answer, Some(words(&["Ignore case"])));
    }
}
