//! What a shim is told: one JSON document through its standard input. It holds keys, so it is
//! never an argument, a variable or a file.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::sandbox::{Limits, Places, TierChoice};

/// In an argument or variable: replaced by the path of the holdpoint binary as the agent sees it.
pub const HOLDPOINT: &str = "@{holdpoint:bin}";
/// Replaced by the path of the broker's unix socket as the agent sees it.
pub const DOOR: &str = "@{holdpoint:door}";
/// Replaced by `http://127.0.0.1:PORT` of the broker. An agent that needs it cannot be started in
/// the tier `Restricted`.
pub const BROKER_URL: &str = "@{holdpoint:broker-url}";

/// One agent attempt, complete.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Launch {
    /// Spool directory of the attempt.
    pub spool: PathBuf,
    /// The checkout the agent works in.
    pub workspace: PathBuf,
    /// Directory for the agent's own state; its home.
    pub session: PathBuf,
    /// More that it may read.
    pub extra_ro: Vec<PathBuf>,
    /// What it must not see beside every home: the data directory.
    pub hide: Vec<PathBuf>,
    /// The agent's command line.
    pub argv: Vec<String>,
    /// Variables on top of the allow-list.
    pub env: BTreeMap<String, String>,
    /// How it is held.
    pub tier: TierChoice,
    /// What it may ask of models.
    pub grant: broker::Grant,
    /// Caps.
    pub limits: Limits,
    /// The holdpoint binary.
    pub program: PathBuf,
    /// What the process finds on its standard input.
    #[serde(default)]
    pub input: Input,
}

/// What a process finds on its standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// Nothing: a check, a person's terminal.
    #[default]
    Nothing,
    /// The nonce by which it hands in, and then the end: an agent's host.
    Nonce,
}

/// The agent needs something that its tier does not have.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this agent reaches its model only over TCP, which the tier `restricted` shuts; \
     get the full sandbox (`holdpoint doctor` says how), or use Holdpoint's own agent"
)]
pub(super) struct NeedsTcp;

/// The agent's command line and variables with all placeholders replaced.
pub(super) fn fill_in(
    argv: &[String],
    env: &BTreeMap<String, String>,
    places: &Places,
) -> Result<(Vec<String>, BTreeMap<String, String>), NeedsTcp> {
    let fill = |text: &String| {
        let text =
            text.replace(HOLDPOINT, &places.holdpoint.to_string_lossy()).replace(DOOR, &places.door.to_string_lossy());
        match &places.broker_url {
            Some(url) => Ok(text.replace(BROKER_URL, url)),
            None if text.contains(BROKER_URL) => Err(NeedsTcp),
            None => Ok(text),
        }
    };
    let argv = argv.iter().map(fill).collect::<Result<_, _>>()?;
    let env = env.iter().map(|(name, value)| Ok((name.clone(), fill(value)?))).collect::<Result<_, _>>()?;
    Ok((argv, env))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(broker_url: Option<&str>) -> Places {
        Places {
            holdpoint: "/bin/holdpoint".into(),
            door: "/door/broker.sock".into(),
            broker_url: broker_url.map(str::to_owned),
        }
    }

    #[test]
    fn placeholders_are_replaced_in_arguments_and_variables() {
        let argv = [HOLDPOINT.to_owned(), format!("--url={BROKER_URL}/v1")];
        let env = BTreeMap::from([("SOCKET".to_owned(), DOOR.to_owned())]);
        let (argv, env) = fill_in(&argv, &env, &places(Some("http://127.0.0.1:1"))).unwrap();
        assert_eq!(argv, ["/bin/holdpoint", "--url=http://127.0.0.1:1/v1"]);
        assert_eq!(env["SOCKET"], "/door/broker.sock");
    }

    #[test]
    fn an_agent_that_needs_tcp_is_refused_where_there_is_none() {
        let argv = [BROKER_URL.to_owned()];
        let refused = fill_in(&argv, &BTreeMap::new(), &places(None));
        assert_eq!(refused, Err(NeedsTcp));
    }
}
