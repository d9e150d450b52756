//! The rules that Gemini CLI's policy engine is given: what a person would be asked about is refused. Pure.
//!
//! They are of the highest tier, so neither its defaults nor a repository can loosen them. The engine cuts a command
//! line into simple commands and asks the rules about each of them and about the whole.

use super::Brief;
use super::held::{COMMANDS, Edits, HARMLESS_FILES, REFUSED, SECRET_FILES, any_of, regex_of};

/// Tools that need a network or a person, or that change what is not the workspace.
const USELESS: &[&str] = &["google_web_search", "web_fetch", "ask_user", "save_memory", "read_many_files"];
const EDITORS: &[&str] = &["write_file", "replace"];
const OPENERS: &[&str] = &["read_file", "write_file", "replace"];
const SHELL: &[&str] = &["run_shell_command"];
/// What may stand before the name of a program.
const WRAPPERS: &str = r"(|sudo |env |nohup |time |exec |command |nice |[A-Z_]+=[^ ]* )";

pub(super) fn policy(brief: &Brief) -> String {
    let mut rules = vec![rule(USELESS, None, "There is no network and nobody to ask here.")];
    if brief.edits == Edits::Lost {
        let only = "You only look at this repository: nothing you change is kept. Hand in what you were asked for.";
        rules.push(rule(EDITORS, None, only));
    }
    let protected = brief.protected.iter().map(|pattern| pattern.trim_matches('/'));
    let protected = protected.filter(|pattern| !pattern.is_empty()).map(regex_of);
    rules.extend(protected.map(|path| rule(EDITORS, Some(&format!(r#""file_path":"(|[^"]*/){path}["/]"#)), REFUSED)));
    let secret = secret();
    rules.push(rule(OPENERS, Some(&format!(r#""file_path":"(|[^"]*/){secret}""#)), REFUSED));
    let commands = commands(&brief.workspace);
    let words = commands.iter().map(|words| format!(r#""command":"{WRAPPERS}{words}"#));
    let secrets = format!(r#""command":".*[\s/<>@='"]{secret}[\s;&|'"\\]"#);
    rules.extend(words.chain([secrets]).map(|pattern| rule(SHELL, Some(&pattern), REFUSED)));
    rules.join("\n")
}

/// A name of a file that holds secrets.
fn secret() -> String {
    let harmless: Vec<&str> = HARMLESS_FILES.iter().map(|glob| glob.trim_start_matches('*')).collect();
    let harmless = any_of(harmless);
    format!(r#"(?![^\s"/]*{harmless}[\s"']){}"#, any_of(SECRET_FILES.iter().copied()))
}

fn commands(workspace: &str) -> Vec<String> {
    let named: Vec<String> = COMMANDS.iter().map(|words| words.replace(' ', r"\s+")).collect();
    let workspace = regex_of(workspace.trim_matches('/'));
    let outside = format!(r#"\s"?(~|\$HOME|\$\{{HOME|\.\.|[^ ]*/\.\.|/(?!tmp/|{workspace}[/\s"]))"#);
    vec![
        format!(r#"[^ ]*({})[\s".]"#, named.join("|")),
        format!(r"[^ ]*rm\s.*-[a-zA-Z]*[rR].*{outside}"),
        format!(r"[^ ]*(chmod|chown|chgrp)\s.*-[a-zA-Z]*R.*{outside}"),
        r"dd\s.*of=/dev/".to_owned(),
        r"(curl|wget|fetch)\s.*\|\s*(|sudo )(sh|bash|zsh|dash|python|python3|perl|ruby|node)\b".to_owned(),
    ]
}

/// A JSON string is a TOML string.
fn rule(tools: &[&str], pattern: Option<&str>, message: &str) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let tools: Vec<String> = tools.iter().map(|tool| quoted(tool)).collect();
    let pattern = pattern.map_or(String::new(), |pattern| format!("argsPattern = {}\n", quoted(pattern)));
    format!(
        "[[rule]]\ntoolName = [{}]\n{pattern}decision = \"deny\"\npriority = 900\ndenyMessage = {}\n",
        tools.join(", "),
        quoted(message)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brief(edits: Edits) -> Brief {
        Brief {
            prompt: String::new(),
            model: "a/b".to_owned(),
            broker: String::new(),
            home: "/h".to_owned(),
            workspace: "/w/it's \"here\"".to_owned(),
            tools: Vec::new(),
            resume: None,
            turns: 0,
            protected: vec!["deploy/".to_owned(), "infra/*.tf".to_owned(), "/".to_owned()],
            edits,
            way: crate::Way::Broker,
        }
    }

    fn rules(edits: Edits) -> Vec<toml::Value> {
        let file: toml::Table = policy(&brief(edits)).parse().unwrap();
        file["rule"].as_array().unwrap().clone()
    }

    #[test]
    fn every_rule_is_one_that_the_engine_takes() {
        for rule in rules(Edits::Kept) {
            let Some(pattern) = rule.get("argsPattern").and_then(toml::Value::as_str) else { continue };
            assert!(pattern.len() < 2_048, "{pattern}");
            let repeated = ['*', '+', '?', '{'].iter().any(|sign| pattern.contains(&format!("){sign}")));
            assert!(!repeated, "a group that is repeated is left out by the engine: {pattern}");
        }
    }

    #[test]
    fn protected_paths_are_refused_to_what_edits_and_a_role_that_looks_edits_nothing() {
        let of = |edits| {
            let rules = rules(edits).into_iter().filter(|rule| rule["toolName"].as_array().unwrap().len() == 2);
            rules.map(|rule| rule.get("argsPattern").map(|pattern| pattern.as_str().unwrap().to_owned())).collect()
        };
        let kept: Vec<Option<String>> = of(Edits::Kept);
        let expected = [r#""file_path":"(|[^"]*/)deploy["/]"#, r#""file_path":"(|[^"]*/)infra/[^/\s"]*\.tf["/]"#];
        assert_eq!(kept, expected.map(|pattern| Some(pattern.to_owned())));
        let lost: Vec<Option<String>> = of(Edits::Lost);
        assert_eq!(lost.first(), Some(&None));
    }
}
