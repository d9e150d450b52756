//! Skills of a project: Markdown with a head that says when it fits. Pure.

use globset::Glob;
use serde::{Deserialize, Serialize};

const MOST: usize = 8;
const LONGEST: usize = 8 * 1024;
const LONGEST_ALL: usize = 32 * 1024;

/// Knowledge that fits a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// What it is about, in a line.
    pub description: String,
    /// Words of the request, or globs of files, that it fits.
    pub matches: Vec<String>,
    /// What it says.
    pub text: String,
}

/// A skill that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct SkillError {
    /// From 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl Skill {
    /// Reads a file: `---`, `name:`, `description:` and `match:` with a list, `---`, then the text.
    pub fn parse(source: &str) -> Result<Self, SkillError> {
        let wrong = |line: usize, message: &str| SkillError { line, message: message.to_owned() };
        let mut lines = source.lines().enumerate();
        if lines.next().is_none_or(|(_, line)| line.trim() != "---") {
            return Err(wrong(1, "a skill begins with `---` and says `name`, `description` and `match`"));
        }
        let mut skill =
            Self { name: String::new(), description: String::new(), matches: Vec::new(), text: String::new() };
        for (index, line) in lines.by_ref() {
            let line = line.trim();
            if line == "---" {
                skill.text = lines.map(|(_, line)| line).collect::<Vec<_>>().join("\n").trim().to_owned();
                return skill.checked();
            }
            let Some((key, value)) = line.split_once(':') else {
                return Err(wrong(index + 1, "expected `key: value`"));
            };
            match key.trim() {
                "name" => skill.name = unquoted(value),
                "description" => skill.description = unquoted(value),
                "match" => skill.matches = list(value),
                other => {
                    return Err(wrong(index + 1, &format!("there is no key `{other}`; use name, description, match")));
                }
            }
        }
        Err(wrong(1, "the head has no closing `---`"))
    }

    fn checked(self) -> Result<Self, SkillError> {
        let missing = match () {
            () if self.name.is_empty() => "name",
            () if self.matches.is_empty() => "match",
            () if self.text.is_empty() => "text below the head",
            () => return Ok(self),
        };
        Err(SkillError { line: 1, message: format!("the skill has no {missing}") })
    }

    /// Whether it fits: one of its words is in the text, or one of its globs fits a file.
    #[must_use]
    pub fn fits(&self, text: &str, files: &[String]) -> bool {
        let text = text.to_lowercase();
        self.matches.iter().any(|wanted| {
            if wanted.contains(['*', '/', '?', '[']) {
                let glob = Glob::new(wanted).map(|glob| glob.compile_matcher());
                return glob.is_ok_and(|glob| files.iter().any(|file| glob.is_match(file)));
            }
            let wanted = wanted.to_lowercase();
            text.match_indices(&wanted).any(|(at, _)| {
                let edge = |character: Option<char>| character.is_none_or(|character| !character.is_alphanumeric());
                edge(text[..at].chars().next_back()) && edge(text[at + wanted.len()..].chars().next())
            })
        })
    }

    /// Of those that fit, as many as a prompt can take.
    #[must_use]
    pub fn chosen(skills: Vec<Self>, text: &str, files: &[String]) -> Vec<Self> {
        let mut room = LONGEST_ALL;
        let mut chosen: Vec<Self> = skills.into_iter().filter(|skill| skill.fits(text, files)).take(MOST).collect();
        for skill in &mut chosen {
            let most = skill.text.floor_char_boundary(LONGEST.min(room));
            if most < skill.text.len() {
                skill.text.truncate(most);
                skill.text.push_str("\n[the rest was left out]");
            }
            room -= most;
        }
        chosen
    }
}

fn unquoted(value: &str) -> String {
    value.trim().trim_matches(['"', '\'']).trim().to_owned()
}

fn list(value: &str) -> Vec<String> {
    let inner = value.trim().trim_start_matches('[').trim_end_matches(']');
    inner.split(',').map(unquoted).filter(|entry| !entry.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(matches: &str) -> Skill {
        Skill::parse(&format!("---\nname: s\ndescription: d\nmatch: {matches}\n---\nDo it so.\n")).unwrap()
    }

    #[test]
    fn words_fit_as_words_and_globs_fit_files() {
        let files = vec!["src/db/a.sql".to_owned()];
        assert!(skill("[migration, \"src/**/*.sql\"]").fits("nothing", &files));
        assert!(skill("migration").fits("Write a Migration.", &[]));
        assert!(!skill("migration").fits("immigrations", &[]));
        assert!(!skill("*.rs").fits("about *.rs", &files));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, line, words) in [
            ("# no head", 1, "begins with"),
            ("---\nname: a\nauthor: b\n---\nx", 3, "no key `author`"),
            ("---\nname: a\n---\nx", 1, "no match"),
            ("---\nname: a\nmatch: b\n", 1, "no closing"),
        ] {
            let error = Skill::parse(text).unwrap_err();
            assert!(error.line == line && error.message.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn a_prompt_takes_only_so_much() {
        let long = Skill { text: "é".repeat(20_000), ..skill("x") };
        let chosen = Skill::chosen(vec![long; 20], "x", &[]);
        assert_eq!(chosen.len(), MOST);
        let total: usize = chosen.iter().map(|skill| skill.text.len()).sum();
        assert!(total < LONGEST_ALL + MOST * 40, "{total}");
        assert!(Skill::chosen(vec![skill("x")], "y", &[]).is_empty());
    }
}
