//! Turns a label as Mermaid stores it into the words a reader sees.
//! Never keeps markup: `<br/>`, tags and entities are gone afterwards.

/// One line of plain text: tags dropped, entities decoded, spaces collapsed.
pub(crate) fn plain(label: &str) -> String {
    let decoded = decode(&without_tags(label));
    let visible: String = decoded.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Drops `<tag …>` and `</tag>`; a `<` that opens no tag stays, as in `a < b`.
fn without_tags(label: &str) -> String {
    let mut text = String::with_capacity(label.len());
    let mut rest = label;
    while let Some(start) = rest.find('<') {
        text.push_str(&rest[..start]);
        let tail = &rest[start + 1..];
        let names_a_tag = tail.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
        match tail.find('>') {
            Some(end) if names_a_tag => {
                text.push(' ');
                rest = &tail[end + 1..];
            }
            Some(_) | None => {
                text.push('<');
                rest = tail;
            }
        }
    }
    text.push_str(rest);
    text
}

/// Mermaid writes entities both as `&quot;` and as `#quot;`.
fn decode(text: &str) -> String {
    const NAMED: [(&str, &str); 7] =
        [("quot;", "\""), ("lt;", "<"), ("gt;", ">"), ("nbsp;", " "), ("apos;", "'"), ("#39;", "'"), ("amp;", "&")];
    let mut decoded = text.to_owned();
    for (name, value) in NAMED {
        for lead in ["&", "#"] {
            decoded = decoded.replace(&format!("{lead}{name}"), value);
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn markup_is_gone_and_words_stay() {
        assert_eq!(plain("Login<br/>Page"), "Login Page");
        assert_eq!(plain("<b onclick='x()'>Pay</b> now"), "Pay now");
        assert_eq!(plain("say #quot;hi#quot; &amp; go"), "say \"hi\" & go");
    }

    #[test]
    fn a_comparison_is_no_tag() {
        assert_eq!(plain("a < b and c > d"), "a < b and c > d");
    }

    #[test]
    fn control_characters_become_spaces() {
        assert_eq!(plain("a\u{1b}[31mb\0c"), "a [31mb c");
    }
}
