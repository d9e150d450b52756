//! Codex without a host that it could ask: `codex exec --json`, one process per turn of ours, told on its standard
//! input. What a person would be asked about is refused by rules of its own, as far as those go: they know a command by
//! its first words and nothing about files.

use std::collections::BTreeMap;

use serde_json::Value;

use super::held::{COMMANDS, REFUSED};
use super::{Act, Brief, MOST_INPUT, MOST_OUTPUT, Over, Reported, Settings, Start, Stdin, codex, head, one_line};
use crate::AgentEvent;

pub(super) fn start(brief: &Brief) -> Start {
    let (env, files) = settings(brief);
    let mut argv: Vec<String> = ["codex", "exec", "--json", "--skip-git-repo-check", "--sandbox", "danger-full-access"]
        .map(str::to_owned)
        .into();
    // Nobody is there to allow a call of our own tools.
    argv.extend(["-c", "mcp_servers.holdpoint.default_tools_approval_mode=\"approve\""].map(str::to_owned));
    if let Some(thread) = &brief.resume {
        argv.extend(["resume".to_owned(), thread.clone()]);
    }
    argv.push("-".to_owned());
    Start { argv, env, files, first: vec![brief.prompt.clone()], stdin: Stdin::Closed }
}

/// Those of Codex, with rules for where it cannot ask or does not.
pub(super) fn settings(brief: &Brief) -> Settings {
    let (env, mut files) = codex::settings(brief);
    files.push((format!("{}/codex/rules/holdpoint.rules", brief.home), rules()));
    (env, files)
}

/// JSON strings and lists are those of its language of rules.
fn rules() -> String {
    let rule = |words: &&str| {
        let words: Vec<&str> = words.split(' ').collect();
        let (pattern, why) = (Value::from(words), Value::from(REFUSED));
        format!("prefix_rule(pattern = {pattern}, decision = \"forbidden\", justification = {why})\n")
    };
    COMMANDS.iter().map(rule).collect()
}

/// A conversation with it.
#[derive(Debug)]
pub struct CodexExec {
    turn: u32,
    /// Turns before this process; it counts its items from the beginning each time.
    before: u32,
    in_turn: bool,
    /// Whether it goes on from an earlier process. Then its count is of the whole thread, and how much of that was
    /// before is not said.
    resumed: bool,
    /// Calls that have no result yet: when they began.
    open: BTreeMap<String, u64>,
    reported: Reported,
}

impl CodexExec {
    pub(super) fn new(brief: &Brief) -> Self {
        Self {
            turn: brief.turns,
            before: brief.turns,
            in_turn: false,
            resumed: brief.resume.is_some(),
            open: BTreeMap::new(),
            reported: Reported::default(),
        }
    }

    pub(super) fn turns(&self) -> u32 {
        self.turn
    }

    pub(super) fn reported(&self) -> Reported {
        self.reported
    }

    pub(super) fn line(&mut self, line: &str, now: u64) -> Vec<Act> {
        let Ok(value) = serde_json::from_str::<Value>(line) else { return vec![Act::Unknown(line.to_owned())] };
        let item = &value["item"];
        let known = match value["type"].as_str().unwrap_or_default() {
            "thread.started" => value["thread_id"].as_str().map(|thread| vec![Act::Session(thread.to_owned())]),
            "turn.started" => Some(Vec::new()),
            "item.started" => self.begun(item, now),
            // Parts of a command's output; the whole comes at its end.
            "item.updated" => Some(Vec::new()),
            "item.completed" => self.completed(item, now),
            "turn.completed" => Some(self.over(&value["usage"])),
            "turn.failed" => Some(vec![Act::Over(Over::ModelFailed(words_of(&value["error"])))]),
            "error" => Some(vec![Act::Say(AgentEvent::Trouble { message: words_of(&value) })]),
            _other => None,
        };
        known.unwrap_or_else(|| vec![Act::Unknown(line.to_owned())])
    }

    /// The first thing after a result begins a turn of the model; when one ends is not told.
    fn begin(&mut self) -> Vec<Act> {
        if self.in_turn {
            return Vec::new();
        }
        self.in_turn = true;
        self.turn += 1;
        vec![Act::Say(AgentEvent::TurnStarted { turn: self.turn })]
    }

    fn call(&self, item: &str) -> String {
        format!("{}.{item}", self.before)
    }

    fn begun(&mut self, item: &Value, now: u64) -> Option<Vec<Act>> {
        let Some((id, tool, input)) = tool_of(item) else { return item["type"].is_string().then(Vec::new) };
        let mut acts = self.begin();
        if self.open.insert(id.to_owned(), now).is_none() {
            let (call, input) = (self.call(id), one_line(&input, MOST_INPUT));
            acts.push(Act::Say(AgentEvent::ToolStarted { turn: self.turn, call, tool, input }));
        }
        Some(acts)
    }

    fn completed(&mut self, item: &Value, now: u64) -> Option<Vec<Act>> {
        let text = || item["text"].as_str().map(str::to_owned);
        match item["type"].as_str()? {
            "agent_message" => {
                let mut acts = self.begin();
                acts.push(Act::Say(AgentEvent::MessageDelta { turn: self.turn, text: text()? }));
                Some(acts)
            }
            "reasoning" => {
                let mut acts = self.begin();
                acts.push(Act::Say(AgentEvent::ThoughtDelta { turn: self.turn, text: text()? }));
                Some(acts)
            }
            // It is not the end: a model it does not know is one on every run.
            "error" => Some(vec![Act::Say(AgentEvent::Noted { text: words_of(item) })]),
            "todo_list" => Some(Vec::new()),
            _tool => self.result(item, now),
        }
    }

    fn result(&mut self, item: &Value, now: u64) -> Option<Vec<Act>> {
        let (id, tool, _) = tool_of(item)?;
        // One that was refused at once was never said to begin.
        let mut acts = if self.open.contains_key(id) { Vec::new() } else { self.begun(item, now)? };
        let begun = self.open.remove(id).unwrap_or(now);
        let ok = item["status"] == "completed" && item["error"].is_null();
        let output = head(&output_of(item), MOST_OUTPUT);
        let (turn, call, millis) = (self.turn, self.call(id), now.saturating_sub(begun));
        acts.push(Act::Say(AgentEvent::ToolCompleted { turn, call, tool, ok, output, millis }));
        if self.open.is_empty() {
            self.in_turn = false;
        }
        Some(acts)
    }

    fn over(&mut self, usage: &Value) -> Vec<Act> {
        let mut acts = Vec::new();
        if !self.resumed {
            let count = |name: &str| usage[name].as_u64().unwrap_or(0);
            let (input_tokens, output_tokens) = (count("input_tokens"), count("output_tokens"));
            self.reported = Reported { input_tokens, output_tokens, micro_usd: None };
            acts.push(Act::Say(AgentEvent::TurnCompleted { turn: self.turn, input_tokens, output_tokens }));
        }
        acts.push(Act::Over(Over::Well));
        acts
    }
}

fn words_of(told: &Value) -> String {
    one_line(told["message"].as_str().unwrap_or("it did not say why"), MOST_OUTPUT)
}

/// Id, tool and input of an item that is a tool call.
fn tool_of(item: &Value) -> Option<(&str, String, String)> {
    let id = item["id"].as_str()?;
    let named = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
    let (tool, input) = match item["type"].as_str()? {
        "command_execution" => ("shell".to_owned(), named("command")),
        "file_change" => {
            let changes = item["changes"].as_array().into_iter().flatten();
            let paths: Vec<&str> = changes.filter_map(|change| change["path"].as_str()).collect();
            ("apply_patch".to_owned(), paths.join(", "))
        }
        "mcp_tool_call" => (item["tool"].as_str().unwrap_or("mcp").to_owned(), item["arguments"].to_string()),
        "web_search" => ("web_search".to_owned(), named("query")),
        _other => return None,
    };
    Some((id, tool, input))
}

fn output_of(item: &Value) -> String {
    if let Some(output) = item["aggregated_output"].as_str() {
        return output.to_owned();
    }
    if let Some(message) = item["error"]["message"].as_str() {
        return message.to_owned();
    }
    let blocks = item["result"]["content"].as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Edits;

    fn brief(resume: Option<&str>) -> Brief {
        Brief {
            way: crate::Way::Broker,
            prompt: "Leave a note\nand say so".to_owned(),
            model: "scripted/demo".to_owned(),
            broker: "http://127.0.0.1:4000".to_owned(),
            home: "/h".to_owned(),
            workspace: "/w".to_owned(),
            tools: ["holdpoint", "agent", "relay"].map(str::to_owned).to_vec(),
            resume: resume.map(str::to_owned),
            turns: 0,
            protected: Vec::new(),
            edits: Edits::Kept,
        }
    }

    #[test]
    fn it_is_told_on_its_standard_input_and_a_thread_goes_on_by_its_name() {
        let fresh = start(&brief(None));
        assert_eq!((fresh.argv[1].as_str(), fresh.argv.last().unwrap().as_str()), ("exec", "-"));
        assert!(!fresh.argv.contains(&"resume".to_owned()));
        assert_eq!((fresh.first, fresh.stdin), (vec!["Leave a note\nand say so".to_owned()], Stdin::Closed));
        let resumed = start(&brief(Some("a-thread")));
        assert!(resumed.argv.ends_with(&["resume", "a-thread", "-"].map(str::to_owned)), "{:?}", resumed.argv);
    }

    #[test]
    fn what_needs_a_yes_is_forbidden_by_rules_in_its_own_folder() {
        let start = start(&brief(None));
        let (_, rules) = start.files.iter().find(|(path, _)| path == "/h/codex/rules/holdpoint.rules").unwrap();
        assert!(rules.contains(r#"prefix_rule(pattern = ["git","push"], decision = "forbidden""#), "{rules}");
        assert_eq!(rules.lines().count(), COMMANDS.len());
    }

    #[test]
    fn a_count_of_the_whole_thread_is_not_taken_for_that_of_one_process() {
        let line = r#"{"type":"turn.completed","usage":{"input_tokens":50,"output_tokens":9}}"#;
        let mut fresh = CodexExec::new(&brief(None));
        fresh.line(line, 0);
        assert_eq!((fresh.reported().input_tokens, fresh.reported().output_tokens), (50, 9));
        let mut resumed = CodexExec::new(&brief(Some("a-thread")));
        assert_eq!(resumed.line(line, 0), [Act::Over(Over::Well)]);
        assert_eq!(resumed.reported(), Reported::default());
    }
}
