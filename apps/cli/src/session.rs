//! What every command has: the data directory, the printer and the way to the server.

use crate::{
    attention::Attention, client::Client, failure::Failure, home::Home, report::Report, start, start::Starter,
};

/// One call of the command line.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) home: Home,
    pub(crate) report: Report,
    /// How the terminal is told, where that is wished for.
    pub(crate) attention: Option<Attention>,
    starter: Starter,
    channel: &'static str,
}

impl Session {
    pub(crate) fn new(report: Report) -> Result<Self, Failure> {
        let attention = Attention::wished(None)?;
        Ok(Self { home: Home::find()?, report, attention, starter: Starter::own()?, channel: "cli" })
    }

    /// The same with another data directory and door; its server does not see the variables named.
    pub(crate) fn apart(&self, home: Home, without: &'static [&'static str], channel: &'static str) -> Self {
        let starter = Starter { without, ..self.starter.clone() };
        Self { home, report: self.report, attention: self.attention, starter, channel }
    }

    /// The same, with what this call says about the terminal.
    pub(crate) fn telling(&self, said: Option<Attention>) -> Self {
        Self { attention: said.or(self.attention), ..self.clone() }
    }

    /// A server that answers; one is started if none does.
    pub(crate) async fn connect(&self) -> Result<Client, Failure> {
        start::connect(&self.home, &self.starter, self.channel).await
    }

    /// A server that already runs.
    pub(crate) async fn running(&self) -> Option<Client> {
        start::running(&self.home, self.channel).await
    }
}
