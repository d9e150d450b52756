//! What was done before: runs whose record is in the base commit and whose request is like the new one. Pure but for
//! the reading.

use std::collections::{BTreeMap, BTreeSet};

use domain::Run;
use serde::Deserialize;

use crate::repos::Repos;
use crate::trouble::Trouble;

/// So many are told.
const MOST: usize = 3;
/// So many records are looked at, and of so many bytes each.
const LOOKED_AT: usize = 300;
const LONGEST: u64 = 256 * 1024;
/// Letters of a request that are told.
const WORDS: usize = 300;
/// What a word weighs that no earlier request has.
const NEW: f64 = 0.3;
/// What two requests must share, as a part of the weight of the new one's words.
const ALIKE: f64 = 0.35;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    original_request: String,
    #[serde(default)]
    completed_at: Option<String>,
    #[serde(default)]
    decisions: Vec<Decided>,
    #[serde(default)]
    artifacts: Vec<Made>,
    /// What it had read that others can write.
    #[serde(default)]
    untrusted_input: Vec<String>,
}

#[derive(Deserialize)]
struct Decided {
    topic: String,
    choice: String,
    #[serde(default)]
    rationale: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Made {
    #[serde(default)]
    files_changed: Vec<String>,
}

/// The most alike of what was merged before, in a few lines each.
pub(crate) fn solutions(repos: &Repos, run: &Run) -> Result<Vec<String>, Trouble> {
    let base = Repos::base_commit(run)?;
    let found = repos.private.read_below(&base, ".autonomous/runs", "context.json", LOOKED_AT, LONGEST)?;
    let own = format!(".autonomous/runs/{}/", run.id);
    let records = found.iter().filter(|(path, _)| !path.starts_with(&own));
    let records = records.filter_map(|(_, bytes)| serde_json::from_slice(bytes).ok());
    // What untrusted input led to is told to nobody as experience.
    let records = records.filter(|record: &Record| record.untrusted_input.is_empty());
    Ok(alike(&run.opened().request, records.collect()))
}

fn alike(request: &str, records: Vec<Record>) -> Vec<String> {
    let wanted = words(request);
    // A word that most requests of the project have says little.
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let said: Vec<BTreeSet<String>> = records.iter().map(|record| words(&record.original_request)).collect();
    for word in said.iter().flatten() {
        *known.entry(word.clone()).or_default() += 1;
    }
    // One that none has cannot be shared; it says a little that this is something new.
    let weight = |word: &String| known.get(word).copied().map_or(NEW, |count| 1.0 / (1.0 + as_weight(count)));
    let all: f64 = wanted.iter().map(weight).sum();
    let score = |words: &BTreeSet<String>| {
        let shared: Vec<&String> = wanted.intersection(words).collect();
        let enough = shared.len() > 1 || 2 * shared.len() > wanted.len();
        if enough { shared.into_iter().map(weight).sum::<f64>() / all } else { 0.0 }
    };
    let scored = records.iter().zip(&said).map(|(record, words)| (score(words), record));
    let mut scored: Vec<(f64, &Record)> = scored.filter(|(score, _)| *score >= ALIKE).collect();
    scored.sort_by(|(a, one), (b, two)| b.total_cmp(a).then_with(|| two.completed_at.cmp(&one.completed_at)));
    scored.into_iter().take(MOST).map(|(_, record)| told(record)).collect()
}

fn as_weight(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX)).ln_1p()
}

/// Words of three letters and more, without their ends: "tests" and "testing" are one.
fn words(text: &str) -> BTreeSet<String> {
    const SMALL: [&str; 16] = [
        "the", "and", "for", "with", "that", "this", "into", "from", "when", "make", "add", "use", "our", "all", "not",
        "are",
    ];
    let lower = text.to_lowercase();
    let parts = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 2);
    let stem = |word: &str| {
        let cut = ["ing", "ed", "s"].iter().find_map(|end| word.strip_suffix(end).filter(|rest| rest.len() > 2));
        let cut = cut.unwrap_or(word);
        cut.strip_suffix('e').filter(|rest| rest.len() > 2).unwrap_or(cut).to_owned()
    };
    parts.filter(|word| !SMALL.contains(word)).map(stem).collect()
}

fn told(record: &Record) -> String {
    let request: String = record.original_request.chars().take(WORDS).collect();
    let mut lines = vec![format!("asked: {}", request.replace('\n', " "))];
    let files: BTreeSet<&String> = record.artifacts.iter().flat_map(|made| &made.files_changed).collect();
    if !files.is_empty() {
        let more = if files.len() > 12 { " …" } else { "" };
        let shown: Vec<&str> = files.into_iter().take(12).map(String::as_str).collect();
        lines.push(format!("changed: {}{more}", shown.join(", ")));
    }
    for decided in record.decisions.iter().take(5) {
        let why = if decided.rationale.is_empty() { String::new() } else { format!(" ({})", decided.rationale) };
        lines.push(format!("decided: {}: {}{why}", decided.topic, decided.choice));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(request: &str) -> Record {
        let made = Made { files_changed: vec!["src/login.rs".to_owned()] };
        let decided =
            Decided { topic: "sessions".to_owned(), choice: "cookies".to_owned(), rationale: "old clients".to_owned() };
        let completed_at = None;
        let untrusted_input = Vec::new();
        let (decisions, artifacts) = (vec![decided], vec![made]);
        Record { original_request: request.to_owned(), completed_at, decisions, artifacts, untrusted_input }
    }

    #[test]
    fn what_is_alike_is_told_and_nothing_else() {
        let records = || {
            ["Add a login page with OAuth", "Speed up the build", "Log out users after a day", "Rename the config"]
                .map(record)
                .into_iter()
                .collect()
        };
        let found = alike("Let people login with Google OAuth on their pages", records());
        let expected = "asked: Add a login page with OAuth\nchanged: src/login.rs\n\
                        decided: sessions: cookies (old clients)";
        assert_eq!(found, [expected]);
        assert_eq!(alike("Draw a chart of the weather", records()), Vec::<String>::new());
        assert_eq!(alike("", records()), Vec::<String>::new());
    }

    #[test]
    fn words_are_compared_without_their_ends() {
        assert_eq!(words("Testing the tested tests on pages"), words("test page"));
    }
}
