//! Schemas as every client understands them: what may be left out is not in `required`, and is never said to be null.
//! Some clients take one `type` per property only, and drop a tool that has two.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool};
use serde_json::Value;

/// The same tool with plain schemas.
pub(super) fn plainly(mut tool: Tool) -> Tool {
    tool.input_schema = without_null(&tool.input_schema);
    tool.output_schema = tool.output_schema.as_ref().map(without_null);
    tool
}

fn without_null(schema: &Arc<JsonObject>) -> Arc<JsonObject> {
    let mut schema = schema.as_ref().clone();
    schema.values_mut().for_each(strip);
    Arc::new(schema)
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if let Some(Value::Array(kinds)) = object.get_mut("type") {
                kinds.retain(|kind| kind != "null");
                if let [only] = kinds.as_slice() {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            // Sizes of numbers are ours; a validator that does not know them warns for each.
            if object.get("type").is_some_and(|kind| kind == "integer" || kind == "number") {
                object.remove("format");
            }
            strip_choices(object);
            object.values_mut().for_each(strip);
        }
        Value::Array(values) => values.iter_mut().for_each(strip),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// `anyOf` of something and null is that something.
fn strip_choices(object: &mut JsonObject) {
    let Some(Value::Array(choices)) = object.get_mut("anyOf") else { return };
    choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
    if let [Value::Object(only)] = choices.as_slice() {
        let only = only.clone();
        object.remove("anyOf");
        for (key, value) in only {
            object.entry(key).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tool_says_that_something_may_be_null_or_anything_at_all() {
        fn look(value: &Value, at: &str) {
            match value {
                Value::Object(object) => {
                    assert!(object.get("type").is_none_or(Value::is_string), "{at}: {value}");
                    assert_eq!(object.get("format"), None, "{at}");
                    for (key, inner) in object {
                        let schema = matches!(key.as_str(), "items") || at.ends_with("/properties");
                        assert!(!(schema && inner.is_boolean()), "{at}/{key} is any value");
                        look(inner, &format!("{at}/{key}"));
                    }
                }
                Value::Array(values) => values.iter().for_each(|inner| look(inner, at)),
                Value::String(text) => assert!(!at.ends_with("/type") || text != "null", "{at}"),
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        for tool in super::super::tools::all() {
            let output = tool.output_schema.as_ref().expect("every tool says what it gives");
            assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
            assert_eq!(output["type"], "object", "{}", tool.name);
            look(&Value::Object(tool.input_schema.as_ref().clone()), &tool.name);
            look(&Value::Object(output.as_ref().clone()), &tool.name);
        }
    }
}
