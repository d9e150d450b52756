//! GitHub Copilot CLI over ACP (`copilot --acp`): where it finds the broker and our tools.
//!
//! It takes MCP servers on standard streams from its own file only, and refuses those an ACP client names. It blanks out
//! of everything it says and runs the words that it holds for secrets, so no key may be a word that occurs elsewhere.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Brief, Settings};

/// The key is added outside the sandbox.
const NO_KEY: &str = "no-key-7f3a9c51d2e8";

pub(super) fn settings(brief: &Brief) -> Settings {
    let home = format!("{}/copilot", brief.home);
    // The broker has a door for each protocol, and a provider speaks its own.
    let (kind, door) = match brief.model.split('/').next().unwrap_or_default() {
        "anthropic" => ("anthropic", "anthropic"),
        _chat => ("openai", "openai/v1"),
    };
    let set = [
        ("COPILOT_HOME", home.clone()),
        // No login, no telemetry, no update, no tools of the web.
        ("COPILOT_OFFLINE", "true".to_owned()),
        ("COPILOT_AUTO_UPDATE", "false".to_owned()),
        ("COPILOT_PROVIDER_TYPE", kind.to_owned()),
        ("COPILOT_PROVIDER_BASE_URL", format!("{}/{door}", brief.broker)),
        ("COPILOT_PROVIDER_API_KEY", NO_KEY.to_owned()),
        ("COPILOT_MODEL", brief.model.clone()),
        ("OPENAI_API_KEY", NO_KEY.to_owned()),
        ("ANTHROPIC_API_KEY", NO_KEY.to_owned()),
        ("GEMINI_API_KEY", NO_KEY.to_owned()),
    ];
    let env: BTreeMap<String, String> = set.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let (program, arguments) = brief.tools.split_first().map_or(("", [].as_slice()), |(one, rest)| (one, rest));
    let server = json!({"type": "local", "command": program, "args": arguments, "tools": ["*"]});
    let servers = json!({"mcpServers": {"holdpoint": server}});
    // It says that this turns off a repository's hooks; over ACP, 1.0.102 runs them all the same, inside the sandbox.
    let settings = json!({"disableAllHooks": true, "ide": {"autoConnect": false}});
    let files = [("mcp-config.json", servers), ("settings.json", settings)];
    (env, files.map(|(name, text)| (format!("{home}/{name}"), text.to_string())).to_vec())
}
