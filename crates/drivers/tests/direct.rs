//! What a program is given that uses its own login: nothing of the broker, one way out, and its own names of models.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use domain::AgentProgram;
use drivers::Way;
use drivers::driver::{Brief, Edits, Start, start};

fn direct(program: &str, model: &str, login: &[&str]) -> Start {
    let login = login.iter().map(|file| (*file).to_owned()).collect();
    let brief = Brief {
        prompt: "Leave a note".to_owned(),
        model: model.to_owned(),
        broker: "http://127.0.0.1:4000".to_owned(),
        home: "/home/ada/session".to_owned(),
        workspace: "/home/ada/workspace".to_owned(),
        tools: ["holdpoint", "agent", "relay"].map(str::to_owned).to_vec(),
        resume: None,
        turns: 0,
        protected: Vec::new(),
        edits: Edits::Kept,
        way: Way::Direct { login, hosts: Vec::new() },
    };
    let program: AgentProgram = program.parse().unwrap();
    start(&program, &brief).unwrap().0
}

const PROGRAMS: [&str; 7] =
    ["claude", "codex", "gemini", "opencode", "acp:claude-agent-acp", "acp:opencode acp", "command:./work.sh"];

#[test]
fn a_program_with_its_own_login_is_given_no_key_and_no_address_of_the_broker_but_its_proxy() {
    for program in PROGRAMS {
        let Start { env, files, argv, .. } = direct(program, "vendor/best", &[]);
        for name in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY"] {
            assert_eq!(env[name], "http://127.0.0.1:4000", "{program}");
        }
        assert_eq!(env["NO_PROXY"], "127.0.0.1,localhost", "{program}");
        let others = env.iter().filter(|(name, _)| !name.to_ascii_lowercase().ends_with("_proxy"));
        for (name, value) in others {
            assert!(!value.contains("127.0.0.1:4000"), "{program}: {name}={value}");
            assert!(!name.ends_with("API_KEY") && !name.ends_with("BASE_URL"), "{program}: {name}");
        }
        for (path, text) in &files {
            assert!(!text.contains("127.0.0.1:4000") && !text.contains("apiKey"), "{program}: {path}: {text}");
        }
        assert!(!argv.iter().any(|word| word.contains("holdpoint/")), "{program}: {argv:?}");
    }
}

#[test]
fn a_model_is_called_as_the_program_calls_it_or_left_to_the_program() {
    let named = |start: &Start| {
        let at = start.argv.iter().position(|word| word == "--model");
        at.map(|at| start.argv[at + 1].clone())
    };
    assert_eq!(named(&direct("claude", "anthropic/claude-x", &[])).as_deref(), Some("claude-x"));
    assert_eq!(named(&direct("gemini", "gemini/gemini-x", &[])).as_deref(), Some("gemini-x"));
    assert_eq!(named(&direct("opencode", "anthropic/claude-x", &[])).as_deref(), Some("anthropic/claude-x"));
    let codex = direct("codex", "openai/gpt-x", &[]);
    assert!(codex.files[0].1.starts_with("model = \"gpt-x\"\n"), "{}", codex.files[0].1);
    for program in PROGRAMS {
        let start = direct(program, "", &[]);
        assert_eq!(named(&start), None, "{program}");
        assert!(!start.env.contains_key("ANTHROPIC_MODEL"), "{program}");
        assert!(!start.files.iter().any(|(_, text)| text.starts_with("model =")), "{program}");
    }
}

#[test]
fn gemini_is_told_which_login_it_has() {
    let settings = |login: &[&str]| direct("gemini", "", login).files[0].1.clone();
    assert!(settings(&["gemini/.gemini/oauth_creds.json"]).contains("oauth-personal"));
    assert!(settings(&[]).contains("gemini-api-key"));
}
