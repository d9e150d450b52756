//! What a server lists, as tools a model can be offered. Pure, and believes nothing: a tool that cannot be offered is
//! left out, the others stay.

use std::collections::BTreeSet;

use drivers::{MCP_PREFIX, McpServer, RoleSettings};
use serde_json::{Value, json};

use crate::shorten;

/// Tools of one server; models lose their way among more, and some APIs take 128 in all.
pub(super) const MOST_TOOLS: usize = 40;
/// Bytes of one tool's schema.
const MOST_SCHEMA: usize = 16 * 1024;
/// Bytes of all schemas of a server.
const MOST_SCHEMAS: usize = 128 * 1024;
/// Bytes of one tool's description.
const MOST_DESCRIPTION: usize = 600;
/// What model APIs take as the name of a tool.
const LONGEST_NAME: usize = 64;

/// A tool of an MCP server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RemoteTool {
    /// What the model calls it.
    pub(crate) name: String,
    /// What its server calls it.
    pub(super) own_name: String,
    pub(crate) description: String,
    pub(crate) schema: Value,
}

/// Everything a server lists that counts.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Listing {
    pub(super) tools: Vec<RemoteTool>,
    /// Why others were left out, in a line each.
    pub(super) left_out: Vec<String>,
}

/// The tools among `listed` that the user's settings and the role leave.
pub(super) fn read(server: &McpServer, role: &RoleSettings, listed: &[Value]) -> Listing {
    let mut listing = Listing::default();
    let (mut seen, mut names) = (BTreeSet::new(), BTreeSet::new());
    let (mut schemas, mut more) = (0, 0_usize);
    for tool in listed {
        let Some(own_name) = tool["name"].as_str().filter(|name| !name.is_empty()) else {
            listing.leave_out("a tool without a name");
            continue;
        };
        let wanted = server.tools.as_ref().is_none_or(|tools| tools.iter().any(|wanted| wanted == own_name));
        let name = full_name(&server.name, own_name, &names);
        if !wanted || !left_to(role, &server.name, &name) {
            continue;
        }
        let shown = shorten::one_line(own_name, 80);
        if !seen.insert(own_name) || names.contains(&name) {
            listing.leave_out(&format!("`{shown}` a second time"));
            continue;
        }
        let schema = match schema(&tool["inputSchema"], MOST_SCHEMAS - schemas) {
            Ok(schema) => schema,
            Err(why) => {
                listing.leave_out(&format!("`{shown}`: {why}"));
                continue;
            }
        };
        if listing.tools.len() == MOST_TOOLS {
            more += 1;
            continue;
        }
        schemas += schema.to_string().len();
        names.insert(name.clone());
        let description = description(&server.name, tool["description"].as_str().unwrap_or_default());
        listing.tools.push(RemoteTool { name, own_name: own_name.to_owned(), description, schema });
    }
    if more > 0 {
        listing.leave_out(&format!("{more} tools beyond the first {MOST_TOOLS}; name those you need in `tools`"));
    }
    listing
}

impl Listing {
    fn leave_out(&mut self, what: &str) {
        // A server that lists nothing but nonsense is told about once.
        if self.left_out.len() < 5 {
            self.left_out.push(what.to_owned());
        }
    }
}

/// A role that names its tools may name one, or a server for all of them.
fn left_to(role: &RoleSettings, server: &str, name: &str) -> bool {
    role.leaves(name) || role.leaves(&format!("{MCP_PREFIX}{server}"))
}

/// `mcp__SERVER__TOOL`, of letters that every API takes, short enough, and unlike those that are taken.
fn full_name(server: &str, tool: &str, taken: &BTreeSet<String>) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || "-_".contains(letter) { letter } else { '_' };
    let name: String = format!("{MCP_PREFIX}{server}__").chars().chain(tool.chars().map(plain)).collect();
    if name.len() <= LONGEST_NAME && !taken.contains(&name) {
        return name;
    }
    let mark = format!("_{:08x}", mark(tool));
    format!("{}{mark}", &name[..name.len().min(LONGEST_NAME - mark.len())])
}

/// The same for the same name, in every process (FNV-1a).
fn mark(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn schema(schema: &Value, room: usize) -> Result<Value, String> {
    let mut schema = match schema {
        Value::Null => json!({"properties": {}}),
        Value::Object(_) => schema.clone(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err("its schema is not an object".to_owned());
        }
    };
    match &schema["type"] {
        Value::Null => schema["type"] = json!("object"),
        Value::String(kind) if kind == "object" => {}
        _other => return Err("its schema does not describe an object".to_owned()),
    }
    let bytes = schema.to_string().len();
    if bytes > MOST_SCHEMA {
        return Err(format!("its schema has {bytes} bytes, and {MOST_SCHEMA} are taken"));
    }
    if bytes > room {
        return Err(format!("the schemas of its server have more than {MOST_SCHEMAS} bytes"));
    }
    Ok(schema)
}

fn description(server: &str, text: &str) -> String {
    let text: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = if words.is_empty() { "no description".to_owned() } else { shorten::head(&words, MOST_DESCRIPTION) };
    format!("(from MCP server `{server}`) {said}")
}

#[cfg(test)]
mod tests {
    use drivers::McpWay;

    use super::*;

    fn server() -> McpServer {
        McpServer { name: "docs".into(), way: McpWay::Http, tools: None, timeout_seconds: 60 }
    }

    fn tool(name: &str) -> Value {
        json!({"name": name, "description": "Finds\n pages", "inputSchema": {"type": "object"}})
    }

    fn names(listing: &Listing) -> Vec<&str> {
        listing.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    #[test]
    fn names_are_plain_short_and_unique() {
        let long = "x".repeat(100);
        let listed = [tool("a.b"), tool("a_b"), tool("a/b"), tool(&long), tool(&format!("{long}y")), tool("ünï")];
        let listing = read(&server(), &RoleSettings::default(), &listed);
        let names = names(&listing);
        assert_eq!(names[0], "mcp__docs__a_b");
        assert!(names[1].starts_with("mcp__docs__a_b_") && names[2].starts_with("mcp__docs__a_b_"), "{names:?}");
        assert_eq!(names[5], "mcp__docs___n_");
        let unique: BTreeSet<&&str> = names.iter().collect();
        assert_eq!(unique.len(), 6, "{names:?}");
        let plain =
            |name: &&str| name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
        assert!(names.iter().all(plain), "{names:?}");
        assert_eq!(listing.tools[0].description, "(from MCP server `docs`) Finds pages");
        assert_eq!(listing.tools[1].own_name, "a_b");
        assert_eq!(read(&server(), &RoleSettings::default(), &listed), listing, "the same list gives the same names");
    }

    #[test]
    fn a_tool_that_cannot_be_offered_is_left_out_and_the_others_stay() {
        let mut big = tool("big");
        big["inputSchema"]["description"] = json!("x".repeat(MOST_SCHEMA));
        let listed = [
            tool("good"),
            json!({"name": "text", "inputSchema": "object"}),
            json!({"name": "list", "inputSchema": {"type": "array"}}),
            json!({"inputSchema": {"type": "object"}}),
            json!(7),
            tool("good"),
            big,
            json!({"name": "bare", "description": 3}),
        ];
        let listing = read(&server(), &RoleSettings::default(), &listed);
        assert_eq!(names(&listing), ["mcp__docs__good", "mcp__docs__bare"]);
        assert_eq!(listing.tools[1].schema, json!({"type": "object", "properties": {}}));
        assert_eq!(listing.tools[1].description, "(from MCP server `docs`) no description");
        assert_eq!(listing.left_out.len(), 5, "{:?}", listing.left_out);
        assert!(listing.left_out[0].contains("its schema is not an object"), "{:?}", listing.left_out);
    }

    #[test]
    fn of_ten_thousand_tools_the_first_are_offered_and_the_rest_told() {
        let listed: Vec<Value> = (0..10_000).map(|number| tool(&format!("t{number}"))).collect();
        let listing = read(&server(), &RoleSettings::default(), &listed);
        assert_eq!(listing.tools.len(), MOST_TOOLS);
        assert!(listing.left_out[0].starts_with("9960 tools beyond the first 40"), "{:?}", listing.left_out);
    }

    #[test]
    fn settings_and_roles_can_only_take_away() {
        let listed = [tool("find"), tool("read"), tool("drop")];
        let some = McpServer { tools: Some(vec!["find".into(), "read".into(), "fly".into()]), ..server() };
        let role = |tools: &[&str]| RoleSettings {
            tools: Some(tools.iter().map(|tool| (*tool).to_owned()).collect()),
            ..RoleSettings::default()
        };
        let left = |role: &RoleSettings| {
            read(&some, role, &listed).tools.into_iter().map(|tool| tool.own_name).collect::<Vec<_>>()
        };
        assert_eq!(left(&RoleSettings::default()), ["find", "read"]);
        assert_eq!(left(&role(&["grep", "mcp__docs__read", "mcp__docs__drop"])), ["read"]);
        assert_eq!(left(&role(&["mcp__docs"])), ["find", "read"]);
        assert!(left(&role(&["grep"])).is_empty());
    }
}
