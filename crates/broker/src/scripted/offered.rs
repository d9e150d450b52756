//! Fits a scripted call to the tools that a request offers. A script is written for our own agent's tools; another agent
//! program offers the same under other names, or a shell in their place.

use serde_json::{Map, Value, json};

use crate::protocol::Protocol;
use crate::request::Ask;

use super::reply::ToolCall;

/// What our tool server says when something was handed in: the model has nothing more to do.
const HANDED_IN: &str = "Holdpoint has it. End your turn now";
/// What a scripted model says then. It is no turn of the script.
pub(super) const CLOSING: &str = "It is handed in; this is the end of my turn.";

/// A tool as a request offers it.
struct Offered<'a> {
    name: &'a str,
    schema: &'a Value,
    /// Codex keeps the tools of one server together under a name.
    group: Option<&'a str>,
}

/// Whether the request offers any tool; clients also ask small questions on the side, which are no turns.
pub(super) fn any(ask: &Ask) -> bool {
    !offered(ask).is_empty()
}

/// Whether the last thing said is that something was handed in.
pub(super) fn handed_in(ask: &Ask) -> bool {
    let items = match ask.protocol {
        Protocol::Messages | Protocol::Chat => ask.field("messages"),
        Protocol::Responses => ask.field("input"),
        Protocol::Gemini => ask.field("contents"),
        Protocol::Embeddings => return false,
    };
    let last = items.as_array().and_then(|items| items.last());
    last.is_some_and(|last| last.to_string().contains(HANDED_IN))
}

/// Whether an item is the end of a turn that handed in.
pub(super) fn is_closing(item: &Value) -> bool {
    item.to_string().contains(CLOSING)
}

/// What other clients call the properties of our own agent's tools.
const PROPERTIES: [(&str, &[&str]); 3] = [
    ("path", &["file_path", "filePath"]),
    ("old_text", &["old_string", "oldString"]),
    ("new_text", &["new_string", "newString"]),
];

/// The calls of one answer as the client knows them. Those that become shell commands one after the other become one:
/// some clients run all calls of an answer at the same time.
pub(super) fn fit_all(ask: &Ask, calls: Vec<ToolCall>) -> Vec<ToolCall> {
    let tools = offered(ask);
    if is_own(&tools) {
        return calls;
    }
    let mut fitted: Vec<ToolCall> = Vec::new();
    let mut commands: Vec<String> = Vec::new();
    for call in calls {
        match fit(&tools, call) {
            Fitted::Call(call) => {
                fitted.extend(run(&tools, &mut commands));
                fitted.push(call);
            }
            Fitted::Command(command) => commands.push(command),
        }
    }
    fitted.extend(run(&tools, &mut commands));
    fitted
}

/// Our own agent offers its tools under their own names; a script may call one that was taken away from it.
fn is_own(tools: &[Offered<'_>]) -> bool {
    const HANDING_IN: [&str; 9] = [
        "submit_plan",
        "submit_scope",
        "submit_research",
        "complete_pulse",
        "complete_review",
        "ask_questions",
        "clarify",
        "reply",
        "reflect",
    ];
    tools.iter().any(|tool| tool.group.is_none() && HANDING_IN.contains(&tool.name))
}

enum Fitted {
    Call(ToolCall),
    /// For the shell that there is.
    Command(String),
}

fn fit(tools: &[Offered<'_>], call: ToolCall) -> Fitted {
    if tools.is_empty() {
        return Fitted::Call(call);
    }
    let ends = |tool: &&Offered<'_>| {
        tool.name.strip_suffix(call.tool.as_str()).is_some_and(|before| before.ends_with(['_', '-', '.', '/']))
    };
    let named = tools.iter().find(|tool| tool.name == call.tool);
    if let Some((tool, input)) = named.and_then(|tool| Some((tool, tool.taken(&call.input)?))) {
        return Fitted::Call(tool.called(input));
    }
    if let Some(tool) = tools.iter().find(ends) {
        return Fitted::Call(tool.called(call.input));
    }
    let shell = tools.iter().any(|tool| tool.command().is_some());
    match as_command(&call) {
        Some(command) if shell => Fitted::Command(command),
        Some(_) | None => Fitted::Call(call),
    }
}

fn run(tools: &[Offered<'_>], commands: &mut Vec<String>) -> Option<ToolCall> {
    let shell = tools.iter().find(|tool| tool.command().is_some())?;
    let all = std::mem::take(commands).join(" &&\n");
    (!all.is_empty()).then(|| shell.run(&all))
}

impl Offered<'_> {
    /// The input as the tool takes it; `None` when it wants other words. Another client's tool may have the name of one
    /// of ours.
    fn taken(&self, input: &Value) -> Option<Value> {
        let (Some(properties), Some(fields)) = (self.schema["properties"].as_object(), input.as_object()) else {
            return Some(input.clone());
        };
        let theirs = |name: &String| {
            let others = PROPERTIES.iter().find(|(ours, _)| ours == name).map_or([].as_slice(), |(_, others)| others);
            let known = others.iter().find(|other| !properties.contains_key(name) && properties.contains_key(**other));
            known.map_or_else(|| name.clone(), |other| (*other).to_owned())
        };
        let fields: Map<String, Value> = fields.iter().map(|(name, value)| (theirs(name), value.clone())).collect();
        // A script does not know where the workspace lies.
        let too_short = |property: &Value, value: &Value| {
            let whole = property["description"].as_str().is_some_and(|words| words.contains("absolute path"));
            whole && value.as_str().is_some_and(|path| !path.starts_with('/'))
        };
        let fits = |(name, value): (&String, &Value)| match properties.get(name) {
            Some(property) if too_short(property, value) => false,
            Some(property) => (property["type"] == "array") == value.is_array() || property["type"].is_null(),
            None => false,
        };
        let mut required = self.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let whole = required.all(|name| fields.contains_key(name)) && fields.iter().all(fits);
        whole.then_some(Value::Object(fields))
    }

    fn called(&self, input: Value) -> ToolCall {
        ToolCall { tool: self.name.to_owned(), input, group: self.group.map(str::to_owned) }
    }

    /// The property that takes a command, if it is a shell.
    fn command(&self) -> Option<&'static str> {
        let known = ["bash", "shell", "run_shell_command", "shell_command", "exec_command", "run_terminal_cmd"];
        if !known.contains(&self.name.to_lowercase().as_str()) {
            return None;
        }
        ["command", "cmd"].into_iter().find(|name| self.schema["properties"].get(name).is_some())
    }

    fn run(&self, command: &str) -> ToolCall {
        let property = self.command().unwrap_or("command");
        let properties = &self.schema["properties"];
        let mut input = Map::new();
        let takes_words = properties[property]["type"] == "array";
        input.insert(property.to_owned(), if takes_words { json!(["bash", "-lc", command]) } else { json!(command) });
        // Some want a word about what it is for.
        for name in self.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if name != property {
                let simple =
                    if properties[name]["type"] == "boolean" { json!(false) } else { json!("a scripted step") };
                input.insert(name.to_owned(), simple);
            }
        }
        self.called(Value::Object(input))
    }
}

/// One of our own agent's tools as a shell command.
fn as_command(call: &ToolCall) -> Option<String> {
    let text = |name: &str| call.input[name].as_str();
    let path = || text("path").map(quoted);
    match call.tool.as_str() {
        "shell" => text("command").map(str::to_owned),
        "read_file" => Some(format!("cat {}", path()?)),
        "list_directory" => Some(format!("ls -a {}", path()?)),
        "grep" => Some(format!("grep -rn {} .", quoted(text("pattern")?))),
        "glob_search" => Some(format!("ls -d {}", text("pattern")?)),
        "write_file" => {
            let path = path()?;
            let content = quoted(text("content")?);
            Some(format!("mkdir -p \"$(dirname {path})\" && printf %s {content} > {path}"))
        }
        "edit_file" => {
            let (old, new) = (quoted(text("old_text")?), quoted(text("new_text")?));
            let replace = r"my ($o, $n) = ($ENV{OLD}, $ENV{NEW}); s/\Q$o\E/$n/ or die qq(not found\n)";
            Some(format!("OLD={old} NEW={new} perl -0777 -pi -e '{replace}' {}", path()?))
        }
        _other => None,
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn offered(ask: &Ask) -> Vec<Offered<'_>> {
    let tools = ask.field("tools").as_array().into_iter().flatten();
    let mut offered = Vec::new();
    for tool in tools {
        match ask.protocol {
            Protocol::Messages => add(&mut offered, tool, "input_schema", None),
            Protocol::Chat => add(&mut offered, &tool["function"], "parameters", None),
            Protocol::Embeddings => {}
            Protocol::Responses => {
                add(&mut offered, tool, "parameters", None);
                let inner = tool["tools"].as_array().into_iter().flatten();
                inner.for_each(|one| add(&mut offered, one, "parameters", tool["name"].as_str()));
            }
            Protocol::Gemini => {
                for one in tool["functionDeclarations"].as_array().into_iter().flatten() {
                    let name =
                        if one["parametersJsonSchema"].is_object() { "parametersJsonSchema" } else { "parameters" };
                    add(&mut offered, one, name, None);
                }
            }
        }
    }
    offered
}

fn add<'a>(offered: &mut Vec<Offered<'a>>, tool: &'a Value, schema: &str, group: Option<&'a str>) {
    if let Some(name) = tool["name"].as_str().filter(|_| tool["tools"].is_null()) {
        offered.push(Offered { name, schema: &tool[schema], group });
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::request::Verb;

    fn ask(protocol: Protocol, tools: Value) -> Ask {
        let body = json!({"model": "m", "tools": tools}).to_string();
        Ask::read(protocol, Verb::Answer, Bytes::from(body)).unwrap()
    }

    fn call(tool: &str, input: Value) -> ToolCall {
        ToolCall { tool: tool.into(), input, group: None }
    }

    #[track_caller]
    fn check(ask: &Ask, tool: &str, input: Value, expected: (&str, Value)) {
        let fitted = fit_all(ask, vec![call(tool, input)]);
        let [fitted] = fitted.as_slice() else { panic!("one call stays one") };
        assert_eq!((fitted.tool.as_str(), fitted.input.clone()), expected);
    }

    #[test]
    fn a_tool_of_ours_is_known_by_the_end_of_its_name() {
        let claude = ask(Protocol::Messages, json!([{"name": "mcp__holdpoint__submit_plan", "input_schema": {}}]));
        check(&claude, "submit_plan", json!({"a": 1}), ("mcp__holdpoint__submit_plan", json!({"a": 1})));
        let opencode = ask(Protocol::Chat, json!([{"function": {"name": "holdpoint_submit_plan", "parameters": {}}}]));
        check(&opencode, "submit_plan", json!({}), ("holdpoint_submit_plan", json!({})));
        check(&opencode, "plan", json!({}), ("holdpoint_submit_plan", json!({})));
        check(&opencode, "fly", json!({}), ("fly", json!({})));
    }

    #[test]
    fn files_are_worked_on_with_the_shell_that_there_is() {
        let schema = json!({"properties": {"command": {"type": "string"}, "description": {}}, "required": ["command", "description"]});
        let bash = ask(Protocol::Messages, json!([{"name": "Bash", "input_schema": schema}]));
        let expected = json!({"command": "cat 'it'\\''s.js'", "description": "a scripted step"});
        check(&bash, "read_file", json!({"path": "it's.js"}), ("Bash", expected));
        let group = json!([{"type": "namespace", "name": "mcp__holdpoint", "tools": [{"name": "submit_plan"}]}]);
        let fitted = fit_all(&ask(Protocol::Responses, group), vec![call("submit_plan", json!({}))]);
        assert_eq!((fitted[0].tool.as_str(), fitted[0].group.as_deref()), ("submit_plan", Some("mcp__holdpoint")));
        let words = json!({"properties": {"command": {"type": "array"}}, "required": ["command"]});
        let codex = ask(Protocol::Responses, json!([{"name": "shell", "parameters": words}]));
        check(&codex, "shell", json!({"command": "ls"}), ("shell", json!({"command": ["bash", "-lc", "ls"]})));
    }

    #[test]
    fn a_call_of_our_own_agent_is_left_as_it_is() {
        let shell = json!({"function": {"name": "shell", "parameters": {"properties": {"command": {}}}}});
        let own = ask(Protocol::Chat, json!([shell, {"function": {"name": "complete_pulse", "parameters": {}}}]));
        check(&own, "glob_search", json!({"pattern": "*"}), ("glob_search", json!({"pattern": "*"})));
    }

    #[test]
    fn a_tool_of_the_same_name_gets_its_own_properties_or_the_shell_does_its_work() {
        let write = json!({"properties": {"file_path": {}, "content": {}}, "required": ["file_path", "content"]});
        let edit = json!({"properties": {"edits": {}}, "required": ["edits"]});
        let shell = json!({"properties": {"command": {"type": "string"}}, "required": ["command"]});
        let gemini = ask(
            Protocol::Gemini,
            json!([{"functionDeclarations": [
                {"name": "write_file", "parametersJsonSchema": write},
                {"name": "edit_file", "parametersJsonSchema": edit},
                {"name": "run_shell_command", "parametersJsonSchema": shell},
            ]}]),
        );
        let written = json!({"file_path": "a", "content": "b"});
        check(&gemini, "write_file", json!({"path": "a", "content": "b"}), ("write_file", written));
        let fitted = fit_all(&gemini, vec![call("edit_file", json!({"path": "a", "old_text": "x", "new_text": "y"}))]);
        assert_eq!(fitted[0].tool, "run_shell_command");
    }

    #[test]
    fn a_tool_that_wants_whole_paths_is_left_for_the_shell() {
        let path =
            json!({"description": "The absolute path to the file, e.g. '/home/x/y'. Relative ones are not taken."});
        let write = json!({"properties": {"file_path": path, "content": {}}, "required": ["file_path", "content"]});
        let shell = json!({"properties": {"command": {"type": "string"}}, "required": ["command"]});
        let qwen = ask(
            Protocol::Chat,
            json!([
                {"function": {"name": "write_file", "parameters": write}},
                {"function": {"name": "run_shell_command", "parameters": shell}},
            ]),
        );
        let tool = |path: &str| {
            let fitted = fit_all(&qwen, vec![call("write_file", json!({"path": path, "content": "b"}))]);
            fitted[0].tool.clone()
        };
        assert_eq!((tool("a").as_str(), tool("/a").as_str()), ("run_shell_command", "write_file"));
    }

    #[test]
    fn commands_of_one_answer_run_one_after_the_other() {
        let schema = json!({"properties": {"command": {"type": "string"}}, "required": ["command"]});
        let tools = json!([{"function": {"name": "bash", "parameters": schema}}, {"function": {"name": "h_done"}}]);
        let opencode = ask(Protocol::Chat, tools);
        let calls = ["a", "b"].map(|path| call("read_file", json!({"path": path})));
        let calls = calls.into_iter().chain([call("done", json!({})), call("shell", json!({"command": "ls"}))]);
        let fitted: Vec<(String, Value)> =
            fit_all(&opencode, calls.collect()).into_iter().map(|call| (call.tool, call.input)).collect();
        let bash = |command: &str| ("bash".to_owned(), json!({"command": command}));
        let expected = [bash("cat 'a' &&\ncat 'b'"), ("h_done".to_owned(), json!({})), bash("ls")];
        assert_eq!(fitted, expected);
    }

    #[test]
    fn the_end_of_a_turn_that_handed_in_is_told_from_a_result() {
        let body = |text: &str| {
            let body = json!({"model": "m", "messages": [{"role": "user", "content": [{"type": "tool_result", "content": text}]}]});
            Ask::read(Protocol::Messages, Verb::Answer, Bytes::from(body.to_string())).unwrap()
        };
        assert!(handed_in(&body(&format!("{HANDED_IN}, without calling another tool."))));
        assert!(!handed_in(&body("ok")));
    }
}
