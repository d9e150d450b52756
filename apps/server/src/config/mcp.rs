//! `[mcp.NAME]` of the user's `config.toml`: MCP servers, and which roles may use them. Secrets are named there by the
//! environment variable that holds them, never written down.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use broker::Secret;
use runner::{McpServers, McpSettings, McpSource};
use serde::Deserialize;

use super::SettingsError;
use super::environment::get;

const DEFAULT_SECONDS: u64 = 60;
const MOST_SECONDS: u64 = 3_600;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct McpFile {
    /// Program and arguments, started inside the sandbox.
    command: Option<Vec<String>>,
    /// Variables of the server's environment that the program gets.
    #[serde(default)]
    env: Vec<String>,
    /// Files and folders it must be able to read.
    #[serde(default)]
    read: Vec<PathBuf>,
    /// An address instead of a program.
    url: Option<String>,
    /// Header to the environment variable that holds its value.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Who may use it; nobody if left out.
    #[serde(default)]
    roles: Vec<String>,
    /// Of its tools only these.
    tools: Option<Vec<String>>,
    timeout_seconds: Option<u64>,
}

pub(super) fn servers(
    files: BTreeMap<String, McpFile>,
    environment: &BTreeMap<String, String>,
    path: &Path,
) -> Result<McpServers, SettingsError> {
    let mut servers = Vec::new();
    for (name, file) in files {
        let refuse =
            |reason: String| SettingsError::File { path: path.to_owned(), reason: format!("[mcp.{name}]: {reason}") };
        let server = file.server(&name, environment).map_err(refuse)?;
        server.grant().check().map_err(|error| refuse(error.to_string()))?;
        servers.push(server);
    }
    Ok(McpServers(servers))
}

impl McpFile {
    fn server(self, name: &str, environment: &BTreeMap<String, String>) -> Result<McpSettings, String> {
        let secret = |name: &String| match get(environment, name) {
            Some(value) => Ok(Secret::new(value)),
            None => Err(format!("it names {name}, which is not set where the server runs")),
        };
        let way = match (self.command, self.url) {
            (Some(command), None) if !self.headers.is_empty() => {
                return Err(format!("`headers` are for a `url`; give `{}` variables with `env`", command.join(" ")));
            }
            (None, Some(url)) if !self.env.is_empty() || !self.read.is_empty() => {
                return Err(format!("`env` and `read` are for a `command`; give `{url}` secrets with `headers`"));
            }
            (Some(command), None) if command.first().is_none_or(|program| program.trim().is_empty()) => {
                return Err("`command` is empty: use [\"program\", \"argument\", …]".to_owned());
            }
            (Some(command), None) => {
                if let Some(path) = self.read.iter().find(|path| !path.is_absolute()) {
                    return Err(format!("`read` has `{}`: use a path that begins with `/`", path.display()));
                }
                let variables = self.env.iter().map(|name| Ok((name.clone(), secret(name)?)));
                McpSource::Process { command, variables: variables.collect::<Result<_, String>>()?, read: self.read }
            }
            (None, Some(url)) => {
                let headers = self.headers.iter().map(|(header, name)| Ok((header.clone(), secret(name)?)));
                McpSource::Http { url, headers: headers.collect::<Result<_, String>>()? }
            }
            (Some(_), Some(_)) => return Err("it has both `command` and `url`: use one".to_owned()),
            (None, None) => return Err("it has neither `command` nor `url`".to_owned()),
        };
        let timeout_seconds = self.timeout_seconds.unwrap_or(DEFAULT_SECONDS);
        if !(1..=MOST_SECONDS).contains(&timeout_seconds) {
            return Err(format!("timeout_seconds is {timeout_seconds}: use a number from 1 to {MOST_SECONDS}"));
        }
        Ok(McpSettings { name: name.to_owned(), way, roles: self.roles, tools: self.tools, timeout_seconds })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Setup;
    use super::*;

    fn read(file: &str, said: &[(&str, &str)]) -> Result<Vec<McpSettings>, String> {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("config.toml"), file).unwrap();
        let said = said.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Setup::read(home.path(), &said).map(|setup| setup.mcp.0).map_err(|error| error.to_string())
    }

    #[test]
    fn servers_are_named_with_who_may_use_them_and_where_their_secrets_are() {
        let file = "[mcp.files]\ncommand = [\"mcp-files\", \"--all\"]\nenv = [\"FILES_TOKEN\"]\nread = [\"/opt/files\"]\n\
                    roles = [\"implementer\"]\ntools = [\"find\"]\ntimeout_seconds = 5\n\
                    [mcp.docs]\nurl = \"https://docs.example/mcp\"\nheaders = { Authorization = \"DOCS_KEY\" }\n";
        let servers = read(file, &[("FILES_TOKEN", "t0ken"), ("DOCS_KEY", "k3y")]).unwrap();
        let [docs, files] = servers.as_slice() else { panic!("{servers:?}") };
        assert_eq!((files.roles.as_slice(), files.timeout_seconds), (&["implementer".to_owned()][..], 5));
        assert!(docs.roles.is_empty() && docs.tools.is_none(), "nobody may use it until somebody is named");
        assert_eq!(docs.timeout_seconds, 60);
        let shown = format!("{servers:?}");
        assert!(!shown.contains("t0ken") && !shown.contains("k3y"), "{shown}");
        assert!(matches!(&docs.way, McpSource::Http { headers, .. } if headers.len() == 1));
        assert!(matches!(&files.way, McpSource::Process { variables, .. } if variables.contains_key("FILES_TOKEN")));
    }

    #[track_caller]
    fn check_refused(file: &str, expected: &str) {
        let Err(error) = read(file, &[("KEY", "k")]) else { panic!("taken: {file}") };
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn a_server_that_cannot_be_meant_is_refused_by_name() {
        check_refused("[mcp.a]\n", "[mcp.a]: it has neither `command` nor `url`");
        check_refused("[mcp.a]\ncommand = [\"x\"]\nurl = \"https://x\"\n", "both");
        check_refused("[mcp.a]\ncommand = []\n", "`command` is empty");
        check_refused("[mcp.a]\ncommand = [\"x\"]\nenv = [\"NOT_SET\"]\n", "NOT_SET, which is not set");
        check_refused("[mcp.a]\ncommand = [\"x\"]\nread = [\"lib\"]\n", "begins with `/`");
        check_refused("[mcp.a]\ncommand = [\"x\"]\nheaders = { A = \"KEY\" }\n", "`headers` are for a `url`");
        check_refused("[mcp.a]\nurl = \"https://x.y\"\nenv = [\"KEY\"]\n", "are for a `command`");
        check_refused("[mcp.a]\nurl = \"x\"\n", "not an http(s) address");
        check_refused("[mcp.a]\nurl = \"http://x.y/\"\nheaders = { A = \"KEY\" }\n", "only over https");
        check_refused("[mcp.A-B]\ncommand = [\"x\"]\n", "is no name for an MCP server");
        check_refused("[mcp.a]\ncommand = [\"x\"]\ntimeout_seconds = 0\n", "timeout_seconds is 0");
        check_refused("[mcp.a]\ncommand = [\"x\"]\nrole = \"planner\"\n", "role");
    }
}
