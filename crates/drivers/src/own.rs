//! Our own agent: launch line and decoder.

use crate::AgentEvent;

/// Driver of `holdpoint agent`.
#[derive(Debug, Clone, Copy)]
pub struct Own;

/// What one line of output means.
#[derive(Debug, Clone, PartialEq)]
pub enum Decoded {
    /// An event of our vocabulary.
    Event(AgentEvent),
    /// Something else, kept as it is.
    Unknown(String),
}

impl Own {
    /// The launch line: the binary itself, told where its session folder is.
    #[must_use]
    pub fn argv(program: &str, session: &str, door: &str) -> Vec<String> {
        [program, "agent", "work", "--session", session, "--door", door].map(str::to_owned).to_vec()
    }

    /// The same conversation on a person's terminal.
    #[must_use]
    pub fn sitting(program: &str, session: &str, door: &str) -> Vec<String> {
        [program, "agent", "sit", "--session", session, "--door", door].map(str::to_owned).to_vec()
    }

    /// Decodes one line of standard output.
    #[must_use]
    pub fn decode(line: &str) -> Decoded {
        serde_json::from_str(line).map_or_else(|_| Decoded::Unknown(line.to_owned()), Decoded::Event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_ours_is_an_event_and_any_other_is_kept() {
        let line = r#"{"event":"turn_started","turn":2}"#;
        assert_eq!(Own::decode(line), Decoded::Event(AgentEvent::TurnStarted { turn: 2 }));
        assert_eq!(Own::decode("npm warn x"), Decoded::Unknown("npm warn x".to_owned()));
    }
}
