//! One MCP server as it stands: up, down until the next call, or lost. Decides when it is started again; never repeats
//! a call.

use std::collections::BTreeMap;
use std::time::Duration;

use drivers::{MCP_PREFIX, McpServer, McpVariables, McpWay, RoleSettings};
use serde_json::{Map, Value};

use super::answer;
use super::connection::{self, AskError, Connection, Place};
use super::listing::{self, Listing, RemoteTool};

/// How long a start may hold up a turn.
const START: Duration = Duration::from_secs(10);
/// How often a server that broke is started again.
const MOST_RESTARTS: u32 = 3;
/// How often a server may say that its tools have changed.
const MOST_REFRESHES: u32 = 10;
/// Values that are shorter could be any word.
const SHORTEST_SECRET: usize = 6;

#[derive(Debug)]
pub(super) struct Server {
    settings: McpServer,
    role: RoleSettings,
    /// Given once by the broker, kept for later starts.
    variables: Option<BTreeMap<String, String>>,
    stand: Stand,
    listing: Listing,
    restarts: u32,
    refreshes: u32,
}

#[derive(Debug)]
enum Stand {
    Up(Box<Connection>),
    /// Not there, and why; the next call starts it.
    Down(String),
    /// Not there and not started any more.
    Lost(String),
}

impl Server {
    pub(super) fn new(settings: McpServer, role: RoleSettings) -> Self {
        Self {
            settings,
            role,
            variables: None,
            stand: Stand::Down("it was not started yet".to_owned()),
            listing: Listing::default(),
            restarts: 0,
            refreshes: 0,
        }
    }

    pub(super) fn tools(&self) -> &[RemoteTool] {
        &self.listing.tools
    }

    /// How the names of its tools begin.
    pub(super) fn prefix(&self) -> String {
        format!("{MCP_PREFIX}{}__", self.settings.name)
    }

    #[cfg(test)]
    pub(super) fn is_over(&self) -> bool {
        matches!(&self.stand, Stand::Up(connection) if connection.is_over())
    }

    /// In a line for people and models.
    pub(super) fn stands(&self) -> String {
        let name = &self.settings.name;
        let left_out = match self.listing.left_out.as_slice() {
            [] => String::new(),
            left_out => format!("; left out: {}", left_out.join("; ")),
        };
        match &self.stand {
            Stand::Up(_) => format!("MCP server `{name}` offers {} tools{left_out}", self.tools().len()),
            Stand::Down(why) | Stand::Lost(why) if self.tools().is_empty() => {
                format!("MCP server `{name}` could not be started: {why}")
            }
            Stand::Down(why) => format!("MCP server `{name}` is down: {why}"),
            Stand::Lost(why) => format!("MCP server `{name}` is lost and not started any more: {why}"),
        }
    }

    /// Starts it and learns its tools.
    pub(super) async fn start(&mut self, place: Place<'_>) {
        self.stand = match self.open(place).await {
            Ok(connection) => Stand::Up(Box::new(connection)),
            // Without tools nobody calls it again.
            Err(why) => Stand::Lost(self.hide(why)),
        };
    }

    async fn open(&mut self, place: Place<'_>) -> Result<Connection, String> {
        let limit = START.min(self.limit());
        let none = BTreeMap::new();
        let variables = match (&self.settings.way, &mut self.variables) {
            (McpWay::Process { variables: McpVariables::Asked, .. }, known @ None) => {
                known.insert(connection::variables(&self.settings.name, place.door).await?)
            }
            (_, Some(known)) => known,
            (McpWay::Process { variables: McpVariables::None, .. } | McpWay::Http, None) => &none,
        };
        let connection = Connection::open(&self.settings, place, variables, limit).await?;
        match connection.list(limit).await {
            Ok(listed) => {
                self.listing = listing::read(&self.settings, &self.role, &listed);
                Ok(connection)
            }
            Err(error) => Err(connection.end(&format!("its tools could not be listed: {error}")).await),
        }
    }

    /// Learns its tools again if it said that they are others now. Whether they were learned.
    pub(super) async fn refresh(&mut self) -> bool {
        let limit = START.min(self.limit());
        let Stand::Up(connection) = &self.stand else { return false };
        if !connection.has_changed() || self.refreshes >= MOST_REFRESHES {
            return false;
        }
        self.refreshes += 1;
        match connection.list(limit).await {
            Ok(listed) => self.listing = listing::read(&self.settings, &self.role, &listed),
            Err(AskError::Refused(why)) => {
                self.listing.left_out = vec![format!("its new list, which it did not give: {why}")];
            }
            Err(AskError::Broken(why)) => self.down(&why).await,
        }
        true
    }

    /// Makes one call; a server that is down is started for it.
    pub(super) async fn call(&mut self, tool: &str, input: &Value, place: Place<'_>) -> Result<String, String> {
        let input = match input {
            Value::Object(input) => input.clone(),
            Value::Null => Map::new(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(format!("the input of `{tool}` is not a JSON object; send the whole object"));
            }
        };
        self.stand_up(place).await?;
        let Some(own_name) = self.tools().iter().find(|own| own.name == tool).map(|own| own.own_name.clone()) else {
            return Err(format!("MCP server `{}` does not offer `{tool}` any more", self.settings.name));
        };
        let Stand::Up(connection) = &self.stand else { return Err(self.stands()) };
        match connection.call(&own_name, &input, self.limit()).await {
            Ok(result) => match answer::read(&result) {
                Ok(text) => Ok(self.hide(text)),
                Err(text) => Err(self.hide(text)),
            },
            Err(AskError::Refused(why)) => {
                Err(self.hide(format!("MCP server `{}` refused: {why}", self.settings.name)))
            }
            Err(AskError::Broken(why)) => {
                self.down(&why).await;
                Err(format!("{}; the call may have been done whole, in part or not at all", self.broken()))
            }
        }
    }

    async fn stand_up(&mut self, place: Place<'_>) -> Result<(), String> {
        if matches!(&self.stand, Stand::Up(connection) if connection.is_over()) {
            self.down("it closed the connection").await;
        }
        let Stand::Down(_) = &self.stand else { return Ok(()) };
        self.restarts += 1;
        match self.open(place).await {
            Ok(connection) => {
                self.stand = Stand::Up(Box::new(connection));
                Ok(())
            }
            Err(why) => {
                let why = self.hide(why);
                self.stand = self.after(why);
                Err(format!("the call was not made: {}", self.stands()))
            }
        }
    }

    /// Ends the connection.
    async fn down(&mut self, reason: &str) {
        let ending = Stand::Down(String::new());
        let why = match std::mem::replace(&mut self.stand, ending) {
            Stand::Up(connection) => connection.end(reason).await,
            Stand::Down(_) | Stand::Lost(_) => reason.to_owned(),
        };
        let why = self.hide(why);
        self.stand = self.after(why);
    }

    fn after(&self, why: String) -> Stand {
        if self.restarts >= MOST_RESTARTS { Stand::Lost(why) } else { Stand::Down(why) }
    }

    fn broken(&self) -> String {
        match &self.stand {
            Stand::Down(_) => format!("{}; the next call starts it again", self.stands()),
            Stand::Up(_) | Stand::Lost(_) => self.stands(),
        }
    }

    fn limit(&self) -> Duration {
        Duration::from_secs(self.settings.timeout_seconds.max(1))
    }

    /// A server may repeat its variables; models and records are not to see them.
    fn hide(&self, mut text: String) -> String {
        for (name, value) in self.variables.iter().flatten().filter(|(_, value)| value.len() >= SHORTEST_SECRET) {
            text = text.replace(value.as_str(), &format!("[{name}]"));
        }
        text
    }
}
