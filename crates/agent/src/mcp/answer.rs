//! What a call to an MCP tool came to, as text for the model. Pure; believes nothing about the shape of the answer.

use serde_json::Value;

/// Bytes of one result that are looked at; what comes beyond is only counted.
const MOST_TEXT: usize = 8 * 1024 * 1024;

/// Text of a call that worked, or of one that did not.
pub(super) fn read(result: &Value) -> Result<String, String> {
    if result["resultType"].as_str().is_some_and(|kind| kind == "input_required") {
        return Err("the server asks for something before it answers, and nobody is here to give it".to_owned());
    }
    let mut text = String::new();
    let parts = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    for part in parts {
        let said = said(part);
        if text.len() + said.len() > MOST_TEXT {
            text.push_str("\n(more was said than is kept)");
            break;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&said);
    }
    if text.is_empty() {
        // Servers that answer in structure only.
        text = match &result["structuredContent"] {
            Value::Null => "(no output)".to_owned(),
            structured => structured.to_string(),
        };
    }
    if result["isError"] == true { Err(text) } else { Ok(text) }
}

fn said(part: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("unknown").chars().take(200).collect::<String>();
    let bytes = |value: &Value| value.as_str().map_or(0, str::len) / 4 * 3;
    match part["type"].as_str() {
        Some("text") => part["text"].as_str().unwrap_or_default().to_owned(),
        Some(kind @ ("image" | "audio")) => {
            format!("({kind}, {}, about {} bytes, not shown)", word(&part["mimeType"]), bytes(&part["data"]))
        }
        Some("resource") => {
            let resource = &part["resource"];
            match resource["text"].as_str() {
                Some(text) => format!("(resource {})\n{text}", word(&resource["uri"])),
                None => format!(
                    "(resource {}, {}, about {} bytes, not shown)",
                    word(&resource["uri"]),
                    word(&resource["mimeType"]),
                    bytes(&resource["blob"])
                ),
            }
        }
        Some("resource_link") => format!("(resource {}, named, not read)", word(&part["uri"])),
        Some(_) | None => "(a part of unknown kind)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_joined_and_everything_else_is_named() {
        let result = json!({"content": [
            {"type": "text", "text": "one"},
            {"type": "image", "mimeType": "image/png", "data": "AAAAAAAA"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
            {"type": "resource_link", "uri": "file:///b", "name": "b"},
            {"type": "hologram"}, 7,
        ]});
        let expected = "one\n(image, image/png, about 6 bytes, not shown)\n(resource file:///a)\ninside\n\
                        (resource file:///b, named, not read)\n(a part of unknown kind)\n(a part of unknown kind)";
        assert_eq!(read(&result), Ok(expected.to_owned()));
    }

    #[test]
    fn errors_silence_and_structure_are_told_apart() {
        assert_eq!(read(&json!({"content": [{"type": "text", "text": "no"}], "isError": true})), Err("no".to_owned()));
        assert_eq!(read(&json!({"content": []})), Ok("(no output)".to_owned()));
        assert_eq!(read(&json!({"structuredContent": {"a": 1}})), Ok("{\"a\":1}".to_owned()));
        assert!(read(&json!({"resultType": "input_required"})).is_err());
        assert_eq!(read(&json!("nonsense")), Ok("(no output)".to_owned()));
    }
}
