//! MCP servers from the user's configuration: which role may use which, as the job, the grant and the sandbox are told.
//! Never takes one from a repository.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use broker::{McpGrant, McpReach, Secret};
use domain::Reach;
use drivers::{McpServer, McpVariables, McpWay};

use crate::program_paths;

/// All of them. `Debug` shows no secret.
#[derive(Debug, Clone, Default)]
pub struct McpServers(pub Vec<McpSettings>);

/// One server.
#[derive(Debug, Clone)]
pub struct McpSettings {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub way: McpSource,
    /// Who may use it; nobody else.
    pub roles: Vec<String>,
    /// Of its tools only these; `None`: all.
    pub tools: Option<Vec<String>>,
    /// How long one call may take.
    pub timeout_seconds: u64,
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum McpSource {
    /// A program, started inside the sandbox of each agent that may use it.
    Process {
        /// Program and arguments.
        command: Vec<String>,
        /// Variables it gets, with their values.
        variables: BTreeMap<String, Secret>,
        /// What it must be able to read beside what every agent can.
        read: Vec<PathBuf>,
    },
    /// An address, reached from outside the sandbox.
    Http {
        /// The address.
        url: String,
        /// Headers that go with every message.
        headers: BTreeMap<String, Secret>,
    },
}

impl McpSettings {
    /// What the broker is told.
    #[must_use]
    pub fn grant(&self) -> McpGrant {
        let reach = match &self.way {
            McpSource::Process { variables, .. } => McpReach::Process { variables: variables.clone() },
            McpSource::Http { url, headers } => {
                McpReach::Http { url: url.clone(), headers: headers.clone(), seconds: self.timeout_seconds }
            }
        };
        McpGrant { name: self.name.clone(), reach }
    }

    fn has_secrets(&self) -> bool {
        match &self.way {
            McpSource::Process { variables, .. } => !variables.is_empty(),
            McpSource::Http { headers, .. } => !headers.is_empty(),
        }
    }

    fn offer(&self) -> McpServer {
        let way = match &self.way {
            McpSource::Process { command, variables, .. } => McpWay::Process {
                command: command.clone(),
                variables: if variables.is_empty() { McpVariables::None } else { McpVariables::Asked },
            },
            McpSource::Http { .. } => McpWay::Http,
        };
        let (name, tools) = (self.name.clone(), self.tools.clone());
        McpServer { name, way, tools, timeout_seconds: self.timeout_seconds }
    }
}

impl McpServers {
    fn of<'a>(&'a self, role: &'a str) -> impl Iterator<Item = &'a McpSettings> {
        self.0.iter().filter(move |server| server.roles.iter().any(|allowed| allowed == role))
    }

    /// Those that are left to who has read text of strangers: none with secrets behind it, and, where nothing but the
    /// models may be reached, none behind an address.
    pub(crate) fn within(&self, reach: Reach) -> Self {
        let left = |server: &&McpSettings| match reach {
            Reach::Whole => true,
            Reach::NoSecrets => !server.has_secrets(),
            Reach::ModelsOnly => !server.has_secrets() && matches!(server.way, McpSource::Process { .. }),
        };
        Self(self.0.iter().filter(left).cloned().collect())
    }

    /// Those that have secrets of the user's.
    pub(crate) fn with_secrets(&self) -> impl Iterator<Item = &McpSettings> {
        self.0.iter().filter(|server| server.has_secrets())
    }

    /// What the agent is told.
    pub(crate) fn offered(&self, role: &str) -> Vec<McpServer> {
        self.of(role).map(McpSettings::offer).collect()
    }

    /// What its broker may do.
    pub(crate) fn granted(&self, role: &str) -> Vec<McpGrant> {
        self.of(role).map(McpSettings::grant).collect()
    }

    /// What its sandbox shows besides: what a server reads, and the folder of its program. A folder that is not there is
    /// no reason to start no agent.
    pub(crate) fn readable(&self, role: &str, data: &Path) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for server in self.of(role) {
            match &server.way {
                McpSource::Process { command, read, .. } => {
                    paths.extend(read.iter().filter(|path| path.exists()).cloned());
                    paths.extend(program_paths::folders(command.iter().map(String::as_str), data));
                }
                McpSource::Http { .. } => {}
            }
        }
        paths
    }

    /// Whether programs that are not ours run beside the agent of a role.
    pub(crate) fn has_processes(&self, role: &str) -> bool {
        self.of(role).any(|server| matches!(server.way, McpSource::Process { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str, roles: &[&str], way: McpSource) -> McpSettings {
        let roles = roles.iter().map(|role| (*role).to_owned()).collect();
        McpSettings { name: name.into(), way, roles, tools: None, timeout_seconds: 60 }
    }

    #[test]
    fn who_has_read_text_of_strangers_gets_no_server_with_secrets_and_perhaps_none_behind_an_address() {
        let secret = || BTreeMap::from([("TOKEN".to_owned(), Secret::new("s3cret"))]);
        let process = |variables| McpSource::Process { command: vec!["tool".into()], variables, read: Vec::new() };
        let http = |headers| McpSource::Http { url: "https://x.example/mcp".into(), headers };
        let servers = McpServers(vec![
            server("plain", &["planner"], process(BTreeMap::new())),
            server("keyed", &["planner"], process(secret())),
            server("open", &["planner"], http(BTreeMap::new())),
            server("account", &["planner"], http(secret())),
        ]);
        let left = |reach| {
            let left = servers.within(reach);
            let names: Vec<String> = left.offered("planner").into_iter().map(|server| server.name).collect();
            let granted: Vec<String> = left.granted("planner").into_iter().map(|grant| grant.name).collect();
            assert_eq!(names, granted);
            names
        };
        assert_eq!(left(Reach::Whole).len(), 4);
        assert_eq!(left(Reach::NoSecrets), ["plain", "open"]);
        assert_eq!(left(Reach::ModelsOnly), ["plain"]);
        assert_eq!(servers.with_secrets().count(), 2);
    }

    #[test]
    fn only_a_role_that_is_named_gets_a_server_and_no_secret_reaches_the_job() {
        let secret = || BTreeMap::from([("TOKEN".to_owned(), Secret::new("s3cret"))]);
        let process = McpSource::Process {
            command: vec!["tool".into()],
            variables: secret(),
            read: vec!["/usr".into(), "/no/such/folder".into()],
        };
        let http = McpSource::Http { url: "https://x.example/mcp".into(), headers: secret() };
        let servers = McpServers(vec![
            server("local", &["implementer"], process),
            server("docs", &["planner", "implementer"], http),
            server("nobody", &[], McpSource::Http { url: "https://y.example".into(), headers: BTreeMap::new() }),
        ]);
        let names = |role: &str| servers.offered(role).into_iter().map(|server| server.name).collect::<Vec<_>>();
        assert_eq!(names("implementer"), ["local", "docs"]);
        assert_eq!((names("planner"), names("reviewer")), (vec!["docs".to_owned()], Vec::new()));
        assert_eq!(servers.granted("planner").len(), 1);
        assert_eq!(servers.readable("implementer", Path::new("/data")), [PathBuf::from("/usr")]);
        assert!(servers.has_processes("implementer") && !servers.has_processes("planner"));
        let job = serde_json::to_string(&servers.offered("implementer")).unwrap();
        assert!(!job.contains("s3cret") && !job.contains("x.example"), "{job}");
        assert!(!format!("{servers:?}").contains("s3cret"));
    }
}
