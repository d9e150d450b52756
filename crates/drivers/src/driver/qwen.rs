//! Qwen Code over ACP (`qwen --acp --auth-type openai`): where it finds the broker, and what it offers its model.
//!
//! Our settings are those of the system, which win over a repository's own `.qwen/settings.json`.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Brief, Settings};

pub(super) fn settings(brief: &Brief) -> Settings {
    let home = format!("{}/qwen", brief.home);
    let file = format!("{home}/holdpoint.json");
    let set = [
        ("QWEN_HOME", home.clone()),
        ("QWEN_RUNTIME_DIR", home.clone()),
        ("QWEN_CODE_SYSTEM_SETTINGS_PATH", file.clone()),
        ("QWEN_CODE_SYSTEM_DEFAULTS_PATH", format!("{home}/no-system-defaults.json")),
        // It would start itself again as a child that does not hear the signals of its parent.
        ("QWEN_CODE_NO_RELAUNCH", "true".to_owned()),
        ("QWEN_TELEMETRY_ENABLED", "false".to_owned()),
        ("QWEN_SANDBOX", "false".to_owned()),
    ];
    let env: BTreeMap<String, String> = set.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let settings = json!({
        "security": {"auth": {"selectedType": "openai"}},
        "model": {"name": brief.model},
        "permissions": {
            // With a tool to search for tools, ours would be hidden from the model until it searches.
            "deny": ["tool_search", "web_fetch"],
            // What a repository allows is asked for all the same.
            "ask": ["run_shell_command", "edit", "write_file"],
        },
        "tools": {"approvalMode": "default"},
        "mcp": {"allowed": ["holdpoint"]},
        "disableAllHooks": true,
        "general": {"enableAutoUpdate": false, "gitCoAuthor": false},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
    });
    (env, vec![(file, settings.to_string())])
}
