//! The scripted upstream's own account, as a real provider keeps one: a line per call with what it answered and what it
//! says that used. It knows nothing of the books of the gateway, so that the two can be held against each other.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use futures_util::{StreamExt, stream};
use serde::Serialize;

use crate::http::AnswerBody;
use crate::protocol::Protocol;
use crate::request::Ask;
use crate::usage::Usage;

use super::reply::Scene;

/// Where the lines go; without a file there are none.
#[derive(Debug, Clone)]
pub(crate) struct Ledger {
    file: Option<PathBuf>,
}

/// One call.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Line {
    run: String,
    role: String,
    visit: u32,
    /// From 0; `None` for a question on the side.
    turn: Option<usize>,
    model: String,
    protocol: Protocol,
    /// Without what went through the prompt cache.
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
    answer: Given,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<&'static str>,
}

/// How much of an answer was given. Only what was given whole has told its usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Given {
    Whole,
    Broken,
    Refused,
}

impl Line {
    pub(crate) fn new(scene: &Scene, ask: &Ask, turn: Option<usize>, usage: Usage) -> Self {
        Self {
            run: scene.run.clone(),
            role: scene.role.clone(),
            visit: scene.visit,
            turn,
            model: ask.model.clone(),
            protocol: ask.protocol,
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read_tokens: usage.cache_read,
            cache_write_tokens: usage.cache_write,
            answer: Given::Broken,
            fault: None,
        }
    }

    pub(crate) fn with_fault(mut self, fault: &'static str) -> Self {
        self.fault = Some(fault);
        self
    }
}

impl Ledger {
    pub(crate) fn new(file: Option<&Path>) -> Self {
        Self { file: file.map(Path::to_owned) }
    }

    pub(crate) fn write(&self, line: &Line, answer: Given) {
        let Some(file) = &self.file else { return };
        if let Err(error) = append(file, &Line { answer, ..line.clone() }) {
            tracing::warn!(file = %file.display(), %error, "the scripted model's own log could not be written");
        }
    }

    /// The body, with its line written before the last of its parts leaves: whoever has the whole answer finds it on
    /// record. One that nobody wanted to the end is broken off.
    pub(crate) fn follow(&self, line: Line, parts: usize, body: AnswerBody) -> AnswerBody {
        let open = Open { ledger: self.clone(), line: Some(line), left: parts };
        let told = stream::unfold((body, open), |(mut body, mut open)| async move {
            let part = body.next().await?;
            if part.is_ok() {
                open.left = open.left.saturating_sub(1);
                if open.left == 0 {
                    open.close(Given::Whole);
                }
            }
            Some((part, (body, open)))
        });
        told.boxed()
    }
}

/// An answer that is under way.
struct Open {
    ledger: Ledger,
    line: Option<Line>,
    left: usize,
}

impl Open {
    fn close(&mut self, given: Given) {
        if let Some(line) = self.line.take() {
            self.ledger.write(&line, given);
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.close(Given::Broken);
    }
}

fn append(path: &Path, line: &Line) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    // Several attempts write at once: one write each, at the end.
    OpenOptions::new().create(true).append(true).open(path)?.write_all(&text)
}
