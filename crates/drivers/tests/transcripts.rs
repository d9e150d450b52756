//! What real programs said is read as it was: each recorded transcript beside what its driver makes of it. For one that
//! is new, run once with `HOLDPOINT_BLESS=1`; files that exist are never rewritten.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;

use std::fmt::Write as _;

use common::{read, transcripts};
use drivers::driver::{Act, Talk};

fn shown(acts: &[Act], talk: &Talk) -> String {
    let mut text = String::new();
    for act in acts {
        match act {
            Act::Say(event) => writeln!(text, "{}", serde_json::to_string(event).unwrap()),
            Act::Send(_) | Act::Session(_) | Act::Ask(_) | Act::Over(_) | Act::Unknown(_) => writeln!(text, "{act:?}"),
        }
        .unwrap();
    }
    writeln!(text, "{:?}, {} turns", talk.reported(), talk.turns()).unwrap();
    text
}

#[test]
fn a_recorded_transcript_is_read_as_it_was_meant() {
    let all = transcripts();
    assert!(!all.is_empty());
    for recorded in all {
        let (acts, talk) = read(&recorded, recorded.lines.iter().map(String::as_str));
        let found = shown(&acts, &talk);
        let path = recorded.path.with_extension("golden");
        if !path.exists() && std::env::var_os("HOLDPOINT_BLESS").is_some() {
            std::fs::write(&path, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(found, expected, "{}", recorded.path.display());
    }
}
