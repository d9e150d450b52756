//! The same programs for a person: their own screen, in the conversation that was begun, without Holdpoint's tools.
//! What has no screen of its own is a shell in the workspace.

use std::collections::BTreeMap;

use domain::AgentProgram;
use serde_json::{Value, json};

use super::{Brief, claude, codex, gemini, opencode};

/// The socket in the session folder through which a person's terminal is reached.
pub const TERMINAL_SOCKET: &str = "terminal.sock";
/// Letter of a frame with what the person typed.
pub const TYPED: u8 = b'd';
/// Letter of a frame with the size of their window: rows and columns, two bytes each.
pub const SIZE: u8 = b'r';

/// The better shell where there is one, without anybody's settings.
const SHELL: &str = "command -v bash >/dev/null && exec bash --noprofile --norc -i; exec sh -i";

/// How a program is started on a person's terminal.
#[derive(Debug, Clone, PartialEq)]
pub struct Sitting {
    /// Its command line; the first word is looked up on the PATH.
    pub argv: Vec<String>,
    /// Variables on top of those every agent has.
    pub env: BTreeMap<String, String>,
    /// Files it reads its settings from, with absolute paths; written before it starts.
    pub files: Vec<(String, String)>,
    /// JSON files in which these are set, beside whatever else stands there.
    pub patches: Vec<(String, Value)>,
    /// Whether the program knows what was said so far.
    pub known: Known,
}

/// Whether what is on the terminal knows the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// It goes on in it.
    Conversation,
    /// It begins with nothing; the person is told what happened.
    Nothing,
}

/// A program on a person's terminal.
#[must_use]
pub fn sit(program: &AgentProgram, brief: &Brief) -> Sitting {
    let brief = &Brief { tools: Vec::new(), ..brief.clone() };
    let known = if brief.resume.is_some() { Known::Conversation } else { Known::Nothing };
    let line = |words: &[&str], resume: &[&str]| {
        let mut argv: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        if let Some(session) = &brief.resume {
            argv.extend(resume.iter().map(|word| (*word).to_owned()));
            argv.push(session.clone());
        }
        argv
    };
    let of = |argv, (env, files), patches| Sitting { argv, env, files, patches, known };
    match program {
        // With its own login nobody would count what is used at its screen.
        _ if brief.is_direct() => shell(),
        AgentProgram::Claude => {
            let words = ["claude", "--setting-sources", "user", "--strict-mcp-config", "--model", &brief.model];
            of(line(&words, &["--resume"]), claude::settings(brief), vec![seen_claude(brief)])
        }
        AgentProgram::Codex | AgentProgram::CodexExec => {
            of(line(&["codex"], &["resume"]), codex::settings(brief), Vec::new())
        }
        AgentProgram::Gemini => {
            let (mut env, files) = gemini::placed(brief);
            env.remove("NO_COLOR");
            of(line(&["gemini", "--skip-trust", "--model", &brief.model], &["--resume"]), (env, files), Vec::new())
        }
        AgentProgram::Opencode => {
            let model = format!("holdpoint/{}", brief.model);
            let words = ["opencode", "--model", &model];
            of(line(&words, &["--session"]), opencode::settings_that_ask(brief), Vec::new())
        }
        AgentProgram::Own | AgentProgram::Acp(_) | AgentProgram::Command(_) => shell(),
    }
}

fn shell() -> Sitting {
    Sitting {
        argv: ["sh", "-c", SHELL].map(str::to_owned).to_vec(),
        env: BTreeMap::from([("PS1".to_owned(), "holdpoint $ ".to_owned())]),
        files: Vec::new(),
        patches: Vec::new(),
        known: Known::Nothing,
    }
}

/// What Claude Code would ask a newcomer about first.
fn seen_claude(brief: &Brief) -> (String, Value) {
    let project = json!({"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true});
    let seen = json!({
        "hasCompletedOnboarding": true,
        "theme": "dark",
        "customApiKeyResponses": {"approved": ["holdpoint"], "rejected": []},
        "projects": {&brief.workspace: project},
    });
    (format!("{}/claude/.claude.json", brief.home), seen)
}

#[cfg(test)]
mod tests {
    use super::super::Edits;
    use super::*;

    fn brief(resume: Option<&str>) -> Brief {
        Brief {
            prompt: "never said".to_owned(),
            model: "house/m".to_owned(),
            broker: "http://127.0.0.1:1".to_owned(),
            home: "/s".to_owned(),
            workspace: "/w".to_owned(),
            tools: vec!["relay".to_owned()],
            resume: resume.map(str::to_owned),
            turns: 3,
            protected: Vec::new(),
            edits: Edits::Kept,
            way: crate::Way::Broker,
        }
    }

    #[test]
    fn each_program_goes_on_in_the_conversation_that_was_begun() {
        for (program, last) in [
            (AgentProgram::Claude, ["--resume", "c-1"]),
            (AgentProgram::Codex, ["resume", "c-1"]),
            (AgentProgram::Gemini, ["--resume", "c-1"]),
            (AgentProgram::Opencode, ["--session", "c-1"]),
        ] {
            let sitting = sit(&program, &brief(Some("c-1")));
            assert_eq!(sitting.argv[sitting.argv.len() - 2..], last, "{program}");
            assert_eq!(sitting.known, Known::Conversation);
            let fresh = sit(&program, &brief(None));
            assert!(fresh.known == Known::Nothing && !fresh.argv.contains(&"c-1".to_owned()), "{program}");
        }
    }

    #[test]
    fn nobody_is_offered_tools_to_hand_in_while_a_person_sits_there() {
        for program in [AgentProgram::Claude, AgentProgram::Codex, AgentProgram::Gemini, AgentProgram::Opencode] {
            let sitting = sit(&program, &brief(Some("c-1")));
            let told = format!("{sitting:?}");
            assert!(!told.contains("relay") && !told.contains("never said"), "{told}");
        }
    }

    #[test]
    fn a_program_with_its_own_login_is_a_shell_because_nobody_would_count() {
        let way = crate::Way::Direct { login: Vec::new(), hosts: Vec::new() };
        let direct = Brief { way, ..brief(Some("c-1")) };
        assert_eq!(sit(&AgentProgram::Claude, &direct), shell());
    }

    #[test]
    fn a_program_without_a_screen_is_a_shell() {
        let acp = AgentProgram::Acp("some-acp".to_owned());
        for program in [AgentProgram::Own, acp, AgentProgram::Command("make".to_owned())] {
            let sitting = sit(&program, &brief(Some("c-1")));
            assert_eq!((sitting.argv[0].as_str(), sitting.known), ("sh", Known::Nothing));
        }
    }
}
