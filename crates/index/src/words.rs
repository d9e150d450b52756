//! Text and identifiers as words: `getHTTPResponse2` is get, http, response, 2. Pure.

/// Longest word that is kept; longer ones are data, not language.
const LONGEST: usize = 40;

/// Appends the words of a text, separated by spaces, each identifier also as a whole.
pub(crate) fn append(text: &str, out: &mut String) {
    for identifier in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        if identifier.is_empty() || identifier.len() > 4 * LONGEST {
            continue;
        }
        let parts = split(identifier);
        if parts.len() > 1 {
            let whole: String = parts.concat();
            push(&whole, out);
        }
        for part in &parts {
            push(part, out);
        }
    }
}

pub(crate) fn of(text: &str) -> String {
    let mut out = String::new();
    append(text, &mut out);
    out
}

fn push(word: &str, out: &mut String) {
    if word.len() > LONGEST {
        return;
    }
    if !out.is_empty() {
        out.push(' ');
    }
    out.push_str(word);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Other,
}

fn class(c: char) -> Class {
    if c.is_uppercase() {
        Class::Upper
    } else if c.is_numeric() {
        Class::Digit
    } else if c == '_' {
        Class::Other
    } else {
        Class::Lower
    }
}

/// The parts of an identifier in lower case: at `_`, between cases, around digits, and before the last capital of an
/// acronym.
pub(crate) fn split(identifier: &str) -> Vec<String> {
    let chars: Vec<char> = identifier.chars().collect();
    let mut parts = Vec::new();
    let mut part = String::new();
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| class(chars[at]));
        let after = chars.get(at + 1).map(|c| class(*c));
        let border = match (before, class(*c)) {
            (None, _) => false,
            (_, Class::Other) | (Some(Class::Other), _) => true,
            (Some(Class::Upper), Class::Upper) => after == Some(Class::Lower),
            (Some(Class::Upper), Class::Lower) => false,
            (Some(before), now) => before != now,
        };
        if border && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
        }
        if *c != '_' {
            part.extend(c.to_lowercase());
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

/// Words of a question that say nothing about what is looked for.
const SAY_NOTHING: &[&str] = &[
    "a",
    "about",
    "after",
    "all",
    "an",
    "and",
    "any",
    "are",
    "as",
    "at",
    "be",
    "been",
    "before",
    "by",
    "can",
    "code",
    "could",
    "do",
    "does",
    "done",
    "each",
    "file",
    "find",
    "for",
    "from",
    "function",
    "had",
    "happen",
    "happens",
    "has",
    "have",
    "how",
    "i",
    "if",
    "implemented",
    "in",
    "into",
    "is",
    "it",
    "its",
    "made",
    "me",
    "of",
    "on",
    "one",
    "or",
    "our",
    "out",
    "place",
    "should",
    "so",
    "some",
    "somebody",
    "someone",
    "something",
    "than",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "thing",
    "things",
    "this",
    "those",
    "to",
    "too",
    "up",
    "us",
    "used",
    "was",
    "we",
    "were",
    "what",
    "when",
    "where",
    "whether",
    "which",
    "who",
    "why",
    "will",
    "with",
    "would",
    "you",
];

/// The words of a question that are worth looking for, each once, in order.
pub(crate) fn of_question(question: &str) -> Vec<String> {
    let all = of(question);
    let mut found: Vec<String> = Vec::new();
    let mut keep = |word: &str| {
        if !found.iter().any(|known| known == word) {
            found.push(word.to_owned());
        }
    };
    all.split(' ').filter(|word| word.len() > 1 && !SAY_NOTHING.contains(word)).for_each(&mut keep);
    if found.is_empty() {
        return all.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
    }
    found
}

/// What three or four words in a row may be shortened to (`value added tax`: vat), with the words it stands for.
pub(crate) fn initialisms(question: &str) -> Vec<(String, Vec<String>)> {
    let spoken: Vec<String> =
        question.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let mut found = Vec::new();
    for length in [3, 4] {
        for window in spoken.windows(length) {
            let initials: String = window.iter().filter_map(|word| word.chars().next()).collect();
            found.push((initials, window.to_vec()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_split_where_people_see_words() {
        for (identifier, parts) in [
            ("getUserName", "get user name"),
            ("parse_http_request", "parse http request"),
            ("HTTPServerError", "http server error"),
            ("getHTTPResponse2", "get http response 2"),
            ("XMLToJSON", "xml to json"),
            ("SHA256sum", "sha 256 sum"),
            ("__init__", "init"),
            ("GrößeÄndern", "größe ändern"),
            ("plain", "plain"),
            ("MAX_RETRY_COUNT", "max retry count"),
        ] {
            assert_eq!(split(identifier).join(" "), parts);
        }
    }

    #[test]
    fn a_text_gives_its_identifiers_whole_and_in_parts() {
        assert_eq!(of("fn retryLater(x: u8)"), "fn retrylater retry later x u8 u 8");
        assert_eq!(of(&"A".repeat(300)), "");
    }

    #[test]
    fn a_question_is_reduced_to_what_it_is_about() {
        assert_eq!(of_question("Where do we parse the parse_date field?"), ["parse", "parsedate", "date", "field"]);
        assert_eq!(of_question("what is it"), ["what", "is", "it"], "better than nothing at all");
    }

    #[test]
    fn words_in_a_row_are_also_looked_for_as_they_are_shortened() {
        let short = initialisms("the round-trip time");
        assert!(short.contains(&("rtt".to_owned(), vec!["round".into(), "trip".into(), "time".into()])), "{short:?}");
    }
}
