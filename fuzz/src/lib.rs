//! How a decoder of a program's lines is fuzzed: bytes become lines as a host reads them, and what comes out keeps its
//! shape. Nothing is started, written or sent.

use domain::AgentProgram;
use drivers::AgentEvent;
use drivers::driver::{Act, Brief, Edits, MOST_INPUT, MOST_OUTPUT, Word, start};

/// Lets a driver read these bytes. The first one decides whether the conversation goes on from an earlier one and what
/// is said to what the program asks for.
pub fn drive(program: &AgentProgram, data: &[u8]) {
    let Some((dice, rest)) = data.split_first() else { return };
    let resume = (dice & 1 == 1).then(|| "an-earlier-one".to_owned());
    let Ok((_, mut talk)) = start(program, &brief(resume)) else { return };
    let mut shape = Shape::default();
    for (number, line) in rest.split(|byte| *byte == b'\n').enumerate() {
        let line = String::from_utf8_lossy(line);
        let acts = talk.line(&line, 100 * number as u64);
        shape.check(&acts);
        for act in acts {
            if let Act::Ask(asked) = act {
                let word = if dice & 2 == 2 { Word::Allow } else { Word::Deny("not now".to_owned()) };
                shape.check(&talk.word(&asked, &word));
            }
        }
        if dice & 4 == 4 && number == 3 {
            shape.check(&talk.tell("something more").unwrap_or_default());
        }
    }
    shape.check(&talk.end().map(Act::Over).into_iter().collect::<Vec<_>>());
    let _ = (talk.reported(), talk.turns());
}

fn brief(resume: Option<String>) -> Brief {
    Brief {
        way: drivers::Way::Broker,
        prompt: "Leave a note".to_owned(),
        model: "scripted/demo".to_owned(),
        broker: "http://127.0.0.1:4000".to_owned(),
        home: "/home/ada/session".to_owned(),
        workspace: "/home/ada/workspace".to_owned(),
        tools: ["holdpoint", "agent", "relay"].map(str::to_owned).to_vec(),
        resume,
        turns: 0,
        protected: vec!["deploy/".to_owned(), "*.lock".to_owned()],
        edits: Edits::Kept,
    }
}

/// Turns only go on, a tool ends after it began, what is shortened is short, and what is sent is one line.
#[derive(Default)]
struct Shape {
    turn: u32,
    begun: Vec<String>,
}

impl Shape {
    fn check(&mut self, acts: &[Act]) {
        for act in acts {
            match act {
                Act::Say(AgentEvent::TurnStarted { turn }) => {
                    assert!(*turn > self.turn, "turn {turn} after {}", self.turn);
                    self.turn = *turn;
                }
                Act::Say(AgentEvent::ToolStarted { call, input, .. }) => {
                    self.begun.push(call.clone());
                    assert!(input.len() <= MOST_INPUT + '…'.len_utf8());
                }
                Act::Say(AgentEvent::ToolCompleted { call, output, .. }) => {
                    assert!(self.begun.contains(call), "{call} ends and never began");
                    assert!(output.len() <= MOST_OUTPUT + '…'.len_utf8());
                }
                Act::Say(AgentEvent::Trouble { message }) => assert!(message.len() <= MOST_OUTPUT + 100),
                Act::Send(line) => assert!(!line.contains('\n'), "two lines: {line}"),
                Act::Say(_) | Act::Session(_) | Act::Ask(_) | Act::Over(_) | Act::Unknown(_) => {}
            }
        }
    }
}
