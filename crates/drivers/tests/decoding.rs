//! Recorded conversations with real programs, shortened: each decodes to what happened in it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use domain::AgentProgram;
use drivers::AgentEvent;
use drivers::driver::{self, Act, Brief, Changes, Over, Reported, Word};

/// A conversation: who is talked to, the recording, and the conversation it goes on with.
fn decoded(program: &str, recording: &str, resume: Option<&str>) -> Vec<String> {
    let brief = Brief {
        prompt: "Do it".to_owned(),
        model: "scripted/demo".to_owned(),
        broker: "http://127.0.0.1:1".to_owned(),
        home: "/home/ada/runs/r1/sessions/implementer-1".to_owned(),
        workspace: "/home/ada/runs/r1/workspace".to_owned(),
        tools: vec!["holdpoint".to_owned()],
        resume: resume.map(str::to_owned),
        turns: 0,
    };
    let (_, mut talk) = driver::start(&program.parse::<AgentProgram>().unwrap(), &brief).unwrap();
    let path = format!("{}/tests/transcripts/{recording}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let mut told = Vec::new();
    for (now, line) in (0..).zip(std::fs::read_to_string(path).unwrap().lines()) {
        let mut acts = talk.line(line, now);
        let asked: Vec<_> =
            acts.iter().filter_map(|act| if let Act::Ask(ask) = act { Some(ask) } else { None }).collect();
        let words: Vec<Act> = asked.iter().flat_map(|asked| talk.word(asked, &Word::Allow)).collect();
        acts.extend(words);
        told.extend(acts.iter().filter_map(word));
    }
    // A message or a thought comes in any number of pieces.
    told.dedup_by(|one, other| one == other && ["speaks", "thinks"].contains(&one.as_str()));
    let Reported { input_tokens, output_tokens, micro_usd } = talk.reported();
    told.push(format!("reported: {input_tokens} in, {output_tokens} out, {micro_usd:?}"));
    told
}

/// What happened, without ids that are made anew each time.
fn word(act: &Act) -> Option<String> {
    Some(match act {
        Act::Say(event) => match event {
            AgentEvent::TurnStarted { turn } => format!("turn {turn}"),
            AgentEvent::MessageDelta { .. } => "speaks".to_owned(),
            AgentEvent::ThoughtDelta { .. } => "thinks".to_owned(),
            AgentEvent::ToolStarted { tool, .. } => format!("begins {}", short(tool)),
            AgentEvent::ToolCompleted { tool, ok, .. } => {
                format!("{} {}", if *ok { "did" } else { "failed" }, short(tool))
            }
            AgentEvent::TurnCompleted { turn, input_tokens, output_tokens } => {
                format!("turn {turn} over: {input_tokens} in, {output_tokens} out")
            }
            AgentEvent::Noted { text } => format!("notes {}", short(text)),
            AgentEvent::Trouble { message } => format!("trouble {}", short(message)),
            AgentEvent::SessionStarted { .. } | AgentEvent::Pursued { .. } | AgentEvent::Ended { .. } => {
                panic!("the host tells these")
            }
        },
        Act::Session(session) => format!("session {}", short(session)),
        Act::Ask(asked) => {
            let what = asked.action["command"].as_str().or(asked.action["path"].as_str()).unwrap_or("no place");
            let changes = if asked.changes == Changes::Yes { "changes" } else { "reads" };
            format!("asks to use {} ({changes}): {}", short(&asked.tool), short(what))
        }
        Act::Over(Over::Well) => "over".to_owned(),
        Act::Over(other) => format!("{other:?}"),
        Act::Send(line) => {
            let sent: serde_json::Value = serde_json::from_str(line).unwrap();
            match sent["method"].as_str() {
                Some(method) => format!("is told {method}"),
                None => format!("is answered {}", short(&answer(&sent))),
            }
        }
        Act::Unknown(line) => format!("unknown {}", short(line)),
    })
}

fn answer(sent: &serde_json::Value) -> String {
    let places = ["/response/response/behavior", "/result/decision", "/result/action", "/result/outcome/optionId"];
    let said = places.iter().find_map(|place| sent.pointer(place)).unwrap_or(sent);
    said.as_str().map_or_else(|| said.to_string(), str::to_owned)
}

fn short(text: &str) -> String {
    text.chars().take(28).collect::<String>().replace('\n', " ")
}

/// What happened in a recording stands beside it, a line each.
#[track_caller]
fn check(program: &str, recording: &str, resume: Option<&str>) {
    let path = format!("{}/tests/transcripts/{recording}.txt", env!("CARGO_MANIFEST_DIR"));
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    let decoded = decoded(program, recording, resume);
    assert_eq!(decoded.join("\n"), expected.trim_end(), "{recording}");
    assert!(!decoded.iter().any(|line| line.starts_with("unknown ")), "all of {recording} is understood");
}

#[test]
fn a_plan_of_claude_code_is_decoded() {
    check("claude", "claude/plan", None);
}

#[test]
fn a_question_of_claude_code_and_its_end_are_decoded() {
    check("claude", "claude/question", None);
}

#[test]
fn a_conversation_of_claude_code_that_goes_on_asks_before_each_command() {
    check("claude", "claude/resumed", Some("d7060184-cb13-44fd-bb6c-cc38"));
}

#[test]
fn a_plan_of_codex_is_decoded() {
    check("codex", "codex/plan", None);
}

#[test]
fn a_question_of_codex_and_its_end_are_decoded() {
    check("codex", "codex/question", None);
}

#[test]
fn a_conversation_of_codex_that_goes_on_counts_only_what_is_new() {
    check("codex", "codex/resumed", Some("01a1e3e1-438b-7790-ac8c-c4aa5f1043ea"));
}

#[test]
fn a_plan_of_codex_over_acp_is_decoded() {
    check("acp:codex-acp", "acp/codex-plan", None);
}

#[test]
fn a_question_of_codex_over_acp_and_its_end_are_decoded() {
    check("acp:codex-acp", "acp/codex-question", None);
}

#[test]
fn a_session_of_codex_over_acp_that_is_loaded_does_not_happen_twice() {
    check("acp:codex-acp", "acp/codex-resumed", Some("01a1e3e4-acb5-7a40-951e-b2f88fb5874b"));
}

#[test]
fn a_plan_of_claude_code_over_acp_is_decoded() {
    check("acp:claude-agent-acp", "acp/claude-plan", None);
}

#[test]
fn a_question_of_claude_code_over_acp_and_its_end_are_decoded() {
    check("acp:claude-agent-acp", "acp/claude-question", None);
}

#[test]
fn a_session_of_claude_code_over_acp_that_is_loaded_does_not_happen_twice() {
    check("acp:claude-agent-acp", "acp/claude-resumed", Some("4019f688-f585-406d-ad38-c833c1fb72c7"));
}
