//! `--from`: text that strangers wrote, named by its address or given as a file.

use std::{io::Read as _, path::Path};

use clap::Args;
use wire::StrangersText;

use crate::failure::Failure;

/// A text longer than this is refused by the server too.
const LONGEST: u64 = 1024 * 1024;
/// What is asked for when only the text is given.
const REQUEST: &str = "Do what the text of strangers below asks for, as far as that is right for this repository.";

#[derive(Debug, Default, Args)]
pub(super) struct From {
    /// The request comes from strangers: an address (issue, comment, page), or a file with their text (repeatable). Such
    /// a run reaches only its models, gets no secrets, and waits for you before its work goes anywhere
    #[arg(long = "from", visible_alias = "untrusted", value_name = "URL|FILE")]
    from: Vec<String>,
    /// Trust that text, and whatever else strangers wrote that agents of this run read; recorded under your name
    #[arg(long)]
    trust_source: bool,
}

impl From {
    /// What the server is told.
    pub(super) fn texts(&self) -> Result<Vec<StrangersText>, Failure> {
        self.from.iter().map(|source| text(source)).collect()
    }

    /// Nothing unless it was said.
    pub(super) fn trusts(&self) -> Option<bool> {
        self.trust_source.then_some(true)
    }
}

/// The request, or what stands for it where only text of strangers was given.
pub(super) fn request(said: String, from: &[StrangersText]) -> String {
    let given = from.iter().any(|from| from.text.is_some());
    if said.trim().is_empty() && given { REQUEST.to_owned() } else { said }
}

fn text(source: &str) -> Result<StrangersText, Failure> {
    let named = StrangersText { source: source.to_owned(), ..StrangersText::default() };
    let path = Path::new(source);
    if source.contains("://") || !path.is_file() {
        return Ok(named);
    }
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text));
    read.map_err(|error| {
        Failure::usage(format!("cannot read `{source}` as text: {error}"), "give an address or a text file")
    })?;
    Ok(StrangersText { text: Some(text), ..named })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_text_and_anything_else_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("issue.txt");
        std::fs::write(&file, "It fails").unwrap();
        let file = file.display().to_string();
        let from = From { from: vec!["https://x.example/issues/1".into(), file, "a mail".into()], trust_source: false };
        let texts: Vec<Option<String>> = from.texts().unwrap().into_iter().map(|from| from.text).collect();
        assert_eq!(texts, [None, Some("It fails".to_owned()), None]);
        assert_eq!(from.trusts(), None);
    }

    #[test]
    fn only_a_text_stands_for_a_request() {
        let from = |text: Option<&str>| StrangersText { text: text.map(str::to_owned), ..StrangersText::default() };
        assert_eq!(request(String::new(), &[from(Some("It fails"))]), REQUEST);
        assert_eq!(request(String::new(), &[from(None)]), "");
        assert_eq!(request("fix it".to_owned(), &[from(Some("It fails"))]), "fix it");
    }
}
