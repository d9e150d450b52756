//! Room in the model's context: made before a call that would not fit, and once when a provider says so.
//! The summary is one model call; if it fails, the records speak for themselves.

use std::io;

use drivers::{AgentEvent, Job};

use crate::AgentError;
use crate::call_error::CallError;
use crate::compaction::{self, Cut};
use crate::conversation::Conversation;
use crate::events::Events;
use crate::tokens::{self, Counter};
use crate::tools::Tool;
use crate::turns::Record;
use crate::work::Work;

/// What is known of the model's limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    counter: Counter,
    window: u64,
    /// Tokens of the tools' descriptions, which go with each request.
    tools: u64,
    /// The same of tools that are not ours.
    more: u64,
}

impl Room {
    pub(crate) fn of(job: &Job) -> Self {
        let described = |tool: Tool| {
            let definition = tool.definition();
            definition.description.len() + definition.schema.to_string().len()
        };
        let bytes: usize = Tool::of(job.kind).into_iter().map(described).sum();
        Self {
            counter: Counter::of(&job.model),
            window: job.context_tokens.unwrap_or_else(|| tokens::window(&job.model)),
            tools: bytes as u64 / 4,
            more: 0,
        }
    }

    /// Descriptions of so many bytes go with each request besides our own.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.more = bytes as u64 / 4;
    }

    fn described(self) -> u64 {
        self.tools + self.more
    }

    /// Tokens of the next request when they are too many.
    fn too_many(self, records: &[Record]) -> Option<u64> {
        let most = compaction::limit(self.window);
        // A token has at least one byte: most conversations need no counting.
        if Counter::Estimate(1.0).next_request(records, self.described()) <= most {
            return None;
        }
        Some(self.counter.next_request(records, self.described())).filter(|tokens| *tokens > most)
    }
}

impl Work<'_> {
    /// Condenses older turns if the next request would not fit.
    pub(crate) async fn make_room(&mut self) -> Result<(), AgentError> {
        let Some(tokens) = self.room.too_many(self.conversation.records()) else { return Ok(()) };
        let keep = compaction::limit(self.room.window) * 2 / 5;
        self.condense(keep, &format!("about {tokens} tokens of {}", self.room.window)).await?;
        Ok(())
    }

    /// Condenses because the provider refused the request as too long. Whether anything was gained.
    pub(crate) async fn make_room_after(&mut self, reason: &str) -> Result<bool, AgentError> {
        let tokens = self.room.counter.next_request(self.conversation.records(), self.room.described());
        self.condense(tokens.min(self.room.window) / 4, reason).await
    }

    async fn condense(&mut self, keep: u64, why: &str) -> Result<bool, AgentError> {
        let records = self.conversation.records();
        let Some(cut) = compaction::cut(records, self.room.counter, keep) else { return Ok(false) };
        let before = self.conversation.turns();
        let words = self.summary(&cut).await?;
        let compacted = compaction::compacted(self.conversation.records(), &cut, words.as_deref());
        self.record(Record::Compacted(compacted))?;
        let by = if words.is_some() { "a summary" } else { "a list of what was done; the model gave no summary" };
        self.say(AgentEvent::Noted {
            text: format!("the conversation was condensed after turn {before} ({why}): older turns became {by}"),
        })?;
        Ok(true)
    }

    /// The model's own words about the turns that go; nobody is told them as they come.
    async fn summary(&mut self, cut: &Cut) -> Result<Option<String>, AgentError> {
        // Half the window in bytes is at most half of it in tokens, whatever the text.
        let most = usize::try_from(self.room.window / 2).unwrap_or(usize::MAX).clamp(4_000, 200_000);
        let request = compaction::request(self.conversation.records(), cut.before, most);
        let mut nobody = io::sink();
        let asked = Conversation::new(vec![request]);
        let turn = self.conversation.turns() + 1;
        match self.model.answer(&asked, self.servers.tools(), turn, &mut Events::new(&mut nobody)).await {
            Ok(answer) => Ok(Some(answer.text).filter(|text| !text.trim().is_empty())),
            // The next real call says what is wrong, if it still is.
            Err(CallError::Passing(_) | CallError::Lasting(_) | CallError::Quota { .. } | CallError::Budget { .. }) => {
                Ok(None)
            }
            Err(CallError::Events(error)) => Err(error.into()),
        }
    }
}
