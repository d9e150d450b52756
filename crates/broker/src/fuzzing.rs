//! Doors for the fuzz targets (`make fuzz`); in no other build are they there.

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};

use crate::protocol::Protocol;
use crate::request::{Ask, Verb};
use crate::scripted::{Scene, Script, ScriptedUpstream};
use crate::strip::Strip;
use crate::tap::{Shape, Tap};

const PROTOCOLS: [Protocol; 5] =
    [Protocol::Messages, Protocol::Chat, Protocol::Responses, Protocol::Gemini, Protocol::Embeddings];

const SCRIPT: &str = "[[conversation]]\nrole = \"coder\"\n[[conversation.turn]]\ntext = \"one\"\n\
    [[conversation.turn]]\ncall = [{ tool = \"shell\", input = { command = \"ls\" } }]\n";

/// An answer passes in pieces, and in one piece; both must be read the same.
pub fn tap(data: &[u8]) {
    let [which, size, rest @ ..] = data else { return };
    let protocol = PROTOCOLS[usize::from(*which) % PROTOCOLS.len()];
    let shape = Shape::of(rest, None);
    let mut whole = Tap::new(protocol, shape);
    whole.feed(rest);
    whole.finish();
    let mut pieces = Tap::new(protocol, shape);
    let mut strip = Strip::default();
    for piece in rest.chunks(usize::from(*size).max(1)) {
        pieces.feed(piece);
        let _ = strip.feed(piece);
        let _ = (pieces.ended(), pieces.said_all(), pieces.only_error());
    }
    let _ = strip.rest();
    pieces.finish();
    let read = |tap: &Tap| (tap.outcome(), tap.reported(), tap.text_bytes());
    assert_eq!(read(&whole), read(&pieces));
}

/// A request is refused, or a scripted model has an answer to it.
pub fn ask(data: &[u8]) {
    let [which, rest @ ..] = data else { return };
    let protocol = PROTOCOLS[usize::from(*which) % PROTOCOLS.len()];
    let verb = if *which < 128 { Verb::Answer } else { Verb::Count };
    let bytes = Bytes::copy_from_slice(rest);
    let ask = match protocol {
        Protocol::Gemini => Ask::read_gemini("scripted/demo:streamGenerateContent", *which & 64 == 0, bytes),
        Protocol::Messages | Protocol::Chat | Protocol::Responses | Protocol::Embeddings => {
            Ask::read(protocol, verb, bytes)
        }
    };
    let Ok(ask) = ask else { return };
    let _ = (ask.input_estimate(), ask.output_estimate(), ask.forward("model"));
    let Ok(script) = Script::parse(SCRIPT, "demo") else { return };
    let scene = Scene { run: "r".to_owned(), role: "coder".to_owned(), visit: 1 };
    if let Ok(answer) = ScriptedUpstream::new(script, scene).answer(&ask) {
        // Nothing of it takes time, but it lets others go first between two parts.
        let mut body = answer.body;
        while body.next().now_or_never().is_none_or(|part| part.is_some()) {}
    }
}
