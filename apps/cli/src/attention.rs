//! Asks for a person's attention through the terminal: a notice of the terminal's own, or its bell. Off unless wished
//! for, and only where standard error is a terminal.

use std::collections::BTreeSet;
use std::io::IsTerminal as _;

use clap::ValueEnum;
use wire::HoldView;

use crate::{
    failure::Failure,
    report::{Report, clean_line},
};

/// Says it for every call.
const VARIABLE: &str = "HOLDPOINT_NOTIFY";

/// How a terminal is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Attention {
    /// As iTerm2, WezTerm, Windows Terminal, kitty and ConEmu take it
    Osc9,
    /// As urxvt, foot, Ghostty and VTE take it
    Osc777,
    /// The bell
    Bell,
}

impl Attention {
    /// What was wished for here, or in the environment.
    pub(crate) fn wished(said: Option<Self>) -> Result<Option<Self>, Failure> {
        let named = std::env::var(VARIABLE).ok().filter(|word| !word.trim().is_empty());
        match (said, named) {
            (Some(said), _) => Ok(Some(said)),
            (None, Some(word)) => Self::read(&word),
            (None, None) => Ok(None),
        }
    }

    fn read(word: &str) -> Result<Option<Self>, Failure> {
        if word.trim() == "off" {
            return Ok(None);
        }
        Self::from_str(word.trim(), true).map(Some).map_err(|_| {
            Failure::usage(format!("{VARIABLE} names no way to tell you"), "use osc9, osc777, bell or off")
        })
    }

    /// Tells the terminal.
    pub(crate) fn call(self, report: Report, text: &str) {
        if std::io::stderr().is_terminal() {
            report.control(&self.sequence(text));
        }
    }

    fn sequence(self, text: &str) -> String {
        // A semicolon ends a field of the sequence.
        let text = clean_line(text).replace(';', ",");
        match self {
            Self::Osc9 => format!("\u{1b}]9;{text}\u{1b}\\"),
            Self::Osc777 => format!("\u{1b}]777;notify;Holdpoint;{text}\u{1b}\\"),
            Self::Bell => "\u{7}".to_owned(),
        }
    }
}

/// What was told already: nothing is told twice, and what waits from the start is on the screen anyway.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    holds: Option<BTreeSet<String>>,
}

impl Heard {
    /// The first hold that was not there before.
    pub(crate) fn fresh<'a>(&mut self, holds: &'a [HoldView]) -> Option<&'a HoldView> {
        let now: BTreeSet<String> = holds.iter().map(|hold| hold.id.clone()).collect();
        let before = self.holds.replace(now)?;
        holds.iter().find(|hold| !before.contains(&hold.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::run::sample;

    #[test]
    fn hostile_text_cannot_leave_its_sequence() {
        let text = "done; \u{1b}\\\u{1b}]0;evil\u{7}x\u{202e}";
        assert_eq!(Attention::Osc9.sequence(text), "\u{1b}]9;done, \u{fffd}\\\u{fffd}]0,evil\u{fffd}x\u{fffd}\u{1b}\\");
        assert!(Attention::Osc777.sequence("a;b").starts_with("\u{1b}]777;notify;Holdpoint;a,b\u{1b}"));
        assert_eq!(Attention::Bell.sequence(text), "\u{7}");
    }

    #[test]
    fn a_word_in_the_environment_is_read_or_refused() {
        assert_eq!(Attention::read("osc777").unwrap(), Some(Attention::Osc777));
        assert_eq!(Attention::read(" off ").unwrap(), None);
        assert!(Attention::read("loud").is_err());
    }

    #[test]
    fn only_what_is_new_is_told() {
        let hold = |id: &str| HoldView { id: id.to_owned(), ..sample::question() };
        let mut heard = Heard::default();
        assert_eq!(heard.fresh(&[hold("a")]), None);
        assert_eq!(heard.fresh(&[hold("a")]), None);
        assert_eq!(heard.fresh(&[hold("a"), hold("b")]).map(|hold| hold.id.as_str()), Some("b"));
        assert_eq!(heard.fresh(&[hold("b")]), None);
    }
}
