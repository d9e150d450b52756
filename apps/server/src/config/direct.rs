//! `[agents.direct.PROGRAM]` of the user's `config.toml`: programs that use their own login at their own vendor, which
//! hosts they may reach, and where their login is. Never read from a repository.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use broker::{HostPattern, Secret};
use domain::AgentProgram;
use drivers::driver;
use runner::{DirectAgents, DirectSettings, LoginFile};
use serde::Deserialize;
use toml::Spanned;

use super::SettingsError;
use super::environment::get;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DirectFile {
    /// `name`, `*.name`, each with `:port` where it is not 443; those of the program if left out.
    hosts: Option<Vec<Spanned<String>>>,
    /// Files that the program reads its login from.
    #[serde(default)]
    login: Vec<Spanned<String>>,
    /// Variables of the server's environment that hold its login.
    #[serde(default)]
    env: Vec<Spanned<String>>,
    /// Whether `127.0.0.1:port` may be among the hosts.
    #[serde(default)]
    loopback: bool,
}

/// Something that cannot be meant, and the place in the text where it stands.
type Refused = (usize, String);

pub(super) fn agents(
    files: &BTreeMap<String, Spanned<DirectFile>>,
    text: &str,
    environment: &BTreeMap<String, String>,
    path: &Path,
) -> Result<DirectAgents, SettingsError> {
    let mut agents = BTreeMap::new();
    for (name, file) in files {
        let settings = file.get_ref().settings(name, file.span().start, environment).map_err(|(at, reason)| {
            let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
            let reason = format!("line {line}: [agents.direct.{name}]: {reason}");
            SettingsError::File { path: path.to_owned(), reason }
        })?;
        agents.insert(name.clone(), settings);
    }
    Ok(DirectAgents(agents))
}

impl DirectFile {
    fn settings(
        &self,
        name: &str,
        at: usize,
        environment: &BTreeMap<String, String>,
    ) -> Result<DirectSettings, Refused> {
        let program: AgentProgram = name.parse().map_err(|error: domain::ConfigError| (at, error.to_string()))?;
        if program.is_own() {
            return Err((at, "our own agent has no login of its own; it works through the broker".to_owned()));
        }
        if program == AgentProgram::CodexExec {
            // A resumed thread does not say how much of its count was used before.
            return Err((at, "what it uses could not be counted; use [agents.direct.codex] instead".to_owned()));
        }
        if self.login.is_empty() && self.env.is_empty() {
            let how = driver::how_to_log_in(&program);
            return Err((at, format!("name its login: `login` = its files, or `env` = its variables ({how})")));
        }
        Ok(DirectSettings {
            hosts: self.hosts(&program, at)?,
            login: self.login(&program, environment)?,
            variables: self.variables(environment)?,
        })
    }

    fn hosts(&self, program: &AgentProgram, at: usize) -> Result<Vec<HostPattern>, Refused> {
        let parse = |at: usize, text: &str| {
            let shown: String = text.chars().filter(|c| !c.is_control()).take(100).collect();
            let pattern: HostPattern =
                text.parse().map_err(|error| (at, format!("`{shown}` in `hosts` cannot be used: {error}")))?;
            if pattern.is_loopback() && !self.loopback {
                let reason = format!("`{shown}` is this machine; add `loopback = true` if that is meant");
                return Err((at, reason));
            }
            Ok(pattern)
        };
        match &self.hosts {
            Some(hosts) if !hosts.is_empty() => {
                hosts.iter().map(|host| parse(host.span().start, host.get_ref())).collect()
            }
            _unsaid => match driver::default_hosts(program) {
                [] => Err((at, "name the hosts it needs: `hosts` = [\"api.example.com\"]".to_owned())),
                known => known.iter().map(|host| parse(at, host)).collect(),
            },
        }
    }

    fn login(&self, program: &AgentProgram, environment: &BTreeMap<String, String>) -> Result<Vec<LoginFile>, Refused> {
        let home = PathBuf::from(get(environment, "HOME").unwrap_or("/"));
        let mut taken = BTreeSet::new();
        let file = |said: &Spanned<String>| {
            let (at, text) = (said.span().start, said.get_ref());
            let from = match text.strip_prefix("~/") {
                Some(below) => home.join(below),
                None => PathBuf::from(text),
            };
            let strange = from.components().any(|part| matches!(part, std::path::Component::ParentDir));
            if !from.is_absolute() || strange || from.file_name().is_none() {
                return Err((at, format!("`{text}` in `login`: use a path that begins with `~/` or `/`")));
            }
            let to = driver::login_place(program, &from, &home);
            if !taken.insert(to.clone()) {
                return Err((at, format!("`{text}` in `login` has the name of another file there")));
            }
            Ok(LoginFile { from, to })
        };
        self.login.iter().map(file).collect()
    }

    fn variables(&self, environment: &BTreeMap<String, String>) -> Result<BTreeMap<String, Option<Secret>>, Refused> {
        let variable = |said: &Spanned<String>| {
            let name = said.get_ref();
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let taken = name.starts_with("HOLDPOINT_") || ["PATH", "HOME"].contains(&name.as_str());
            if name.is_empty() || !name.chars().all(plain) || taken {
                return Err((said.span().start, format!("`{name}` in `env` is no name of a variable with a login")));
            }
            Ok((name.clone(), get(environment, name).map(Secret::new)))
        };
        self.env.iter().map(variable).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Setup;
    use super::*;

    fn read(file: &str) -> Result<BTreeMap<String, DirectSettings>, String> {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("config.toml"), file).unwrap();
        let said = [("HOME", "/home/ada"), ("FAKE_TOKEN", "s3cret")];
        let said = said.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Setup::read(home.path(), &said).map(|setup| setup.direct.0).map_err(|error| error.to_string())
    }

    #[test]
    fn a_program_with_its_own_login_is_named_with_its_hosts_and_never_shows_it() {
        let file = "[agents]\nimplementer = \"claude\"\n[agents.direct.claude]\nlogin = [\"~/.claude/.credentials.json\"]\n\
                    [agents.direct.\"command:./work.sh\"]\nhosts = [\"*.work.example:8443\", \"127.0.0.1:9\"]\n\
                    loopback = true\nenv = [\"FAKE_TOKEN\", \"NOT_SET\"]\n";
        let agents = read(file).unwrap();
        let claude = &agents["claude"];
        assert_eq!(claude.hosts, ["api.anthropic.com".parse().unwrap()]);
        assert_eq!(claude.login[0].from, Path::new("/home/ada/.claude/.credentials.json"));
        assert_eq!(claude.login[0].to, "claude/.credentials.json");
        let work = &agents["command:./work.sh"];
        assert_eq!(work.hosts.len(), 2);
        assert!(work.variables["FAKE_TOKEN"].is_some() && work.variables["NOT_SET"].is_none());
        assert!(!format!("{agents:?}").contains("s3cret"));
    }

    #[track_caller]
    fn check_refused(rest: &str, expected: &str) {
        let file = format!("auto_merge = false\n[agents.direct.claude]\n{rest}\n");
        let Err(error) = read(&file) else { panic!("taken: {file}") };
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn a_program_whose_use_cannot_be_counted_has_no_login_of_its_own() {
        let refused = read("[agents.direct.codex-exec]\nenv = [\"FAKE_TOKEN\"]\n").unwrap_err().to_string();
        assert!(refused.contains("could not be counted") && refused.contains("[agents.direct.codex]"), "{refused}");
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_its_line_and_what_to_do() {
        let login = "login = [\"~/.claude/.credentials.json\"]";
        check_refused("", "line 2: [agents.direct.claude]: name its login");
        check_refused(&format!("{login}\nhost = [\"a.example\"]"), "line 4");
        check_refused(&format!("{login}\nhosts = [\n  \"api.anthropic.com\",\n  \"https://x.example\"]"), "line 6");
        for (host, expected) in [
            ("API.example", "small letters"),
            ("api.example.", "malformed part"),
            ("10.0.0.1", "written as a number"),
            ("*.com", "`*` may stand only"),
            ("localhost", "no dot"),
            ("user@api.example", "`@`"),
            ("127.0.0.1:9", "add `loopback = true`"),
        ] {
            check_refused(&format!("{login}\nhosts = [\"{host}\"]"), expected);
        }
        check_refused("login = [\"credentials.json\"]", "begins with `~/` or `/`");
        check_refused("login = [\"~/../bob/x\"]", "begins with `~/` or `/`");
        check_refused("login = [\"/a/x\", \"/b/x\"]", "has the name of another file");
        check_refused("env = [\"PATH\"]", "no name of a variable");
        let unknown = read("[agents.direct.opencode]\nenv = [\"FAKE_TOKEN\"]\n").unwrap_err();
        assert!(unknown.contains("line 1: [agents.direct.opencode]: name the hosts it needs"), "{unknown}");
        let own = read("[agents.direct.own]\nenv = [\"FAKE_TOKEN\"]\n").unwrap_err();
        assert!(own.contains("no login of its own"), "{own}");
        assert!(read("[agents.direct.vim]\nenv = [\"FAKE_TOKEN\"]\n").unwrap_err().contains("vim"));
    }
}
