//! Playbooks from TOML, with errors that name file, line, key and a way out.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::{Playbook, Stage, StageGate, Work};
use crate::ArtifactKind;

/// A playbook that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct PlaybookError {
    /// Where it was read from.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// The key at fault, where one is.
    pub key: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl Playbook {
    /// Reads a playbook; `file` is only used in errors.
    pub fn parse(file: &str, source: &str) -> Result<Self, PlaybookError> {
        let raw: RawPlaybook = toml::from_str(source).map_err(|error| from_toml(file, source, &error))?;
        let fail = |span: Range<usize>, key: &str, message: String, hint: String| PlaybookError {
            file: file.to_owned(),
            line: line_at(source, span.start),
            key: Some(key.to_owned()),
            message,
            hint,
        };
        if raw.stage.is_empty() {
            return Err(fail(0..0, "stage", "a playbook needs at least one stage".into(), "add a `[[stage]]`".into()));
        }
        let mut stages: Vec<Stage> = Vec::with_capacity(raw.stage.len());
        for raw_stage in raw.stage {
            let stage = read_stage(raw_stage, &stages).map_err(|at| fail(at.span, at.key, at.message, at.hint))?;
            stages.push(stage);
        }
        Ok(Self { name: raw.name, description: raw.description, stages })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPlaybook {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    stage: Vec<RawStage>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStage {
    name: Spanned<String>,
    work: Spanned<String>,
    role: String,
    artifact: Option<Spanned<String>>,
    gate: Option<Spanned<String>>,
    timeout_minutes: Option<Spanned<u32>>,
    #[serde(default = "three")]
    retries: u32,
    #[serde(default = "two")]
    crashes: u32,
    #[serde(default = "ten")]
    revisions: u32,
    #[serde(default)]
    prove: bool,
    on_fail: Option<Spanned<String>>,
    fix_gate: Option<Spanned<String>>,
    rounds: Option<Spanned<u32>>,
}

fn two() -> u32 {
    2
}
fn three() -> u32 {
    3
}
fn ten() -> u32 {
    10
}

struct At {
    span: Range<usize>,
    key: &'static str,
    message: String,
    hint: String,
}

fn read_stage(raw: RawStage, earlier: &[Stage]) -> Result<Stage, At> {
    let name = raw.name.get_ref().clone();
    let well_formed =
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-' || b.is_ascii_digit());
    if !well_formed {
        return Err(at(
            &raw.name,
            "name",
            format!("`{name}` is not a stage name"),
            "use lower-case letters, digits and dashes",
        ));
    }
    if earlier.iter().any(|stage| stage.name == name) {
        return Err(at(&raw.name, "name", format!("there are two stages `{name}`"), "give each stage its own name"));
    }
    let gate = match &raw.gate {
        None => StageGate::Auto,
        Some(text) => read_gate(text, "gate")?,
    };
    let timeout_minutes = match &raw.timeout_minutes {
        None => 60,
        Some(minutes) if (1..=10_080).contains(minutes.get_ref()) => *minutes.get_ref(),
        Some(minutes) => {
            return Err(at(
                minutes,
                "timeout_minutes",
                format!("a stage cannot take {} minutes", minutes.get_ref()),
                "use 1 to 10080 (a week)",
            ));
        }
    };
    let work = read_work(&raw, earlier)?;
    Ok(Stage {
        name,
        role: raw.role,
        work,
        gate,
        timeout_minutes,
        retries: raw.retries,
        crashes: raw.crashes.max(1),
        revisions: raw.revisions,
    })
}

fn read_work(raw: &RawStage, earlier: &[Stage]) -> Result<Work, At> {
    match raw.work.get_ref().as_str() {
        "produce" => {
            let Some(artifact) = &raw.artifact else {
                return Err(at(
                    &raw.work,
                    "artifact",
                    "a `produce` stage must say what it leaves".to_owned(),
                    "add `artifact = \"spec\"` or `\"code\"`",
                ));
            };
            match artifact.get_ref().as_str() {
                "spec" => Ok(Work::Produce { artifact: ArtifactKind::Spec }),
                "code" => Ok(Work::Produce { artifact: ArtifactKind::Code }),
                other => Err(at(
                    artifact,
                    "artifact",
                    format!("`{other}` is not an artifact a stage can produce"),
                    "use `spec` or `code`",
                )),
            }
        }
        "judge" => read_judge(raw, earlier),
        other => Err(at(&raw.work, "work", format!("`{other}` is not a kind of work"), "use `produce` or `judge`")),
    }
}

fn read_judge(raw: &RawStage, earlier: &[Stage]) -> Result<Work, At> {
    let Some(on_fail) = &raw.on_fail else {
        return Err(at(
            &raw.work,
            "on_fail",
            "a `judge` stage must say where a FAIL goes".to_owned(),
            "add `on_fail = \"<earlier stage>\"`",
        ));
    };
    if !earlier.iter().any(|stage| stage.name == *on_fail.get_ref()) {
        let known: Vec<&str> = earlier.iter().map(|stage| stage.name.as_str()).collect();
        let hint = format!("stages before it: {}", known.join(", "));
        return Err(at(on_fail, "on_fail", format!("there is no earlier stage `{}`", on_fail.get_ref()), &hint));
    }
    // A loop without a cap would let two agents send each other work for ever.
    let rounds = match &raw.rounds {
        Some(rounds) if (1..=100).contains(rounds.get_ref()) => *rounds.get_ref(),
        Some(rounds) => {
            return Err(at(rounds, "rounds", format!("{} rounds are not possible", rounds.get_ref()), "use 1 to 100"));
        }
        None => return Err(at(on_fail, "rounds", "a loop needs a cap".to_owned(), "add `rounds = 3`")),
    };
    let fix_gate = match &raw.fix_gate {
        None => StageGate::Auto,
        Some(text) => read_gate(text, "fix_gate")?,
    };
    Ok(Work::Judge { prove: raw.prove, on_fail: on_fail.get_ref().clone(), fix_gate, rounds })
}

fn read_gate(text: &Spanned<String>, key: &'static str) -> Result<StageGate, At> {
    match text.get_ref().as_str() {
        "auto" => Ok(StageGate::Auto),
        "manual" => Ok(StageGate::Manual),
        other => match other.strip_prefix("trust.").map(str::parse) {
            Some(Ok(trust)) => Ok(StageGate::Trust(trust)),
            Some(Err(_)) | None => Err(at(
                text,
                key,
                format!("`{other}` is not a gate"),
                "use `auto`, `manual` or `trust.planning`, `trust.implementation`, `trust.fixes`",
            )),
        },
    }
}

fn at<T>(place: &Spanned<T>, key: &'static str, message: String, hint: &str) -> At {
    At { span: place.span(), key, message, hint: hint.to_owned() }
}

fn line_at(source: &str, offset: usize) -> usize {
    source.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

fn from_toml(file: &str, source: &str, error: &toml::de::Error) -> PlaybookError {
    let line = error.span().map_or(1, |span| line_at(source, span.start));
    PlaybookError {
        file: file.to_owned(),
        line,
        key: None,
        message: error.message().replace('\n', " "),
        hint: "see `playbooks/autonomous.toml` in the source tree for every key".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str =
        "name = \"x\"\n[[stage]]\nname = \"planning\"\nwork = \"produce\"\nrole = \"planner\"\nartifact = \"spec\"\n";

    #[track_caller]
    fn check(extra: &str, line: usize, key: Option<&str>, message: &str) {
        let error = Playbook::parse("p.toml", &format!("{PLAN}{extra}")).unwrap_err();
        assert_eq!((error.line, error.key.as_deref(), error.message.as_str()), (line, key, message), "{}", error.hint);
        assert!(!error.hint.is_empty());
    }

    #[test]
    fn a_gate_nobody_knows_is_refused_with_its_line() {
        check("gate = \"trust.deploy\"\n", 7, Some("gate"), "`trust.deploy` is not a gate");
    }

    #[test]
    fn a_loop_without_a_cap_is_refused() {
        let judge = "[[stage]]\nname = \"v\"\nwork = \"judge\"\nrole = \"validator\"\non_fail = \"planning\"\n";
        check(judge, 11, Some("rounds"), "a loop needs a cap");
    }

    #[test]
    fn a_fail_must_go_to_an_earlier_stage() {
        let judge = "[[stage]]\nname = \"v\"\nwork = \"judge\"\nrole = \"validator\"\non_fail = \"v\"\nrounds = 1\n";
        check(judge, 11, Some("on_fail"), "there is no earlier stage `v`");
    }

    #[test]
    fn an_unknown_key_is_named() {
        let error = Playbook::parse("p.toml", &format!("{PLAN}gates = \"auto\"\n")).unwrap_err();
        assert_eq!(error.line, 7);
        assert!(error.message.contains("gates"), "{}", error.message);
    }

    #[test]
    fn two_stages_of_one_name_are_refused() {
        let again = "[[stage]]\nname = \"planning\"\nwork = \"produce\"\nrole = \"planner\"\nartifact = \"spec\"\n";
        check(again, 8, Some("name"), "there are two stages `planning`");
    }

    #[test]
    fn a_playbook_without_stages_is_refused() {
        assert_eq!(Playbook::parse("p.toml", "name = \"x\"\n").unwrap_err().key.as_deref(), Some("stage"));
    }
}
