//! MCP servers in the agent's loop: started before the first turn, asked between turns whether they changed, called
//! alone and in order. A call is recorded before it is made, so that one that was broken off is told, never repeated.

use std::time::Instant;

use drivers::{AgentEvent, MCP_PREFIX};

use crate::AgentError;
use crate::turns::{Call, Record};
use crate::work::Work;

/// What is known about a call before it is made.
pub(crate) enum Remote {
    /// A server offers it.
    Offered,
    /// No server offers it, for this reason.
    Refused(String),
    /// It is no name of a server's tool.
    Unknown,
}

impl Work<'_> {
    /// Starts the servers and says what came of it.
    pub(crate) async fn start_servers(&mut self) -> Result<(), AgentError> {
        let lines = self.servers.start().await;
        self.introduce_servers(lines)
    }

    /// Learns changed tools.
    pub(crate) async fn refresh_servers(&mut self) -> Result<(), AgentError> {
        let lines = self.servers.refresh().await;
        self.introduce_servers(lines)
    }

    fn introduce_servers(&mut self, lines: Vec<String>) -> Result<(), AgentError> {
        self.room.add(self.servers.bytes());
        for text in lines {
            self.say(AgentEvent::Noted { text })?;
        }
        Ok(())
    }

    pub(crate) fn remote(&self, call: &Call) -> Remote {
        if !call.tool.starts_with(MCP_PREFIX) {
            return Remote::Unknown;
        }
        match self.servers.check(&call.tool) {
            Ok(()) => Remote::Offered,
            Err(Some(why)) => Remote::Refused(why),
            Err(None) => Remote::Unknown,
        }
    }

    pub(crate) async fn call_server(&mut self, call: &Call) -> Result<(), AgentError> {
        self.started(call)?;
        self.record(Record::Begun { id: call.id.clone() })?;
        self.desk.strangers.reads(&call.tool);
        let begun = Instant::now();
        let (ok, output) = match self.servers.call(&call.tool, &call.input).await {
            Ok(output) => (true, output),
            Err(words) => (false, words),
        };
        self.ran_one(call, ok, output, begun.elapsed())
    }
}
