//! Playbooks from TOML, with errors that name file, line, key and a way out.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::{OnOverlap, Playbook, Stage, StageGate, WhenStuck, Work};
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
        let mut children: Vec<Self> = Vec::new();
        for raw_stage in raw.stage {
            let span = raw_stage.playbook.as_ref().map_or(0..0, Spanned::span);
            let stage = read_stage(raw_stage, &stages).map_err(|at| fail(at.span, at.key, at.message, at.hint))?;
            if let Work::Delegate { playbook, .. } = &stage.work {
                let Some(child) = Self::built_in(playbook) else {
                    let known: Vec<&str> = Self::built_in_names().collect();
                    let hint = format!("there are: {}", known.join(", "));
                    return Err(fail(span, "playbook", format!("there is no playbook `{playbook}`"), hint));
                };
                children.push(child);
            }
            stages.push(stage);
        }
        let when_stuck = raw.when_stuck.unwrap_or_default();
        Ok(Self { name: raw.name, description: raw.description, when_stuck, stages, children })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPlaybook {
    name: String,
    #[serde(default)]
    description: String,
    when_stuck: Option<WhenStuck>,
    #[serde(default)]
    stage: Vec<RawStage>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStage {
    name: Spanned<String>,
    work: Spanned<String>,
    #[serde(default)]
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
    #[serde(default)]
    pulses: bool,
    playbook: Option<Spanned<String>>,
    agents: Option<Spanned<u32>>,
    on_failure: Option<crate::OnFailure>,
    overlap: Option<OnOverlap>,
    iterations: Option<Spanned<u32>>,
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
            let kind = match artifact.get_ref().as_str() {
                "spec" => ArtifactKind::Spec,
                "code" => ArtifactKind::Code,
                "scope" => ArtifactKind::Scope,
                "research" => ArtifactKind::Research,
                "plan" => ArtifactKind::Plan,
                "handoff" => ArtifactKind::Handoff,
                other => {
                    return Err(at(
                        artifact,
                        "artifact",
                        format!("`{other}` is not an artifact a stage can produce"),
                        "use `scope`, `research`, `plan`, `spec`, `code` or `handoff`",
                    ));
                }
            };
            Ok(Work::Produce { artifact: kind, pulses: raw.pulses })
        }
        "converse" => Ok(Work::Converse { rounds: raw.rounds.as_ref().map_or(10, |rounds| *rounds.get_ref()) }),
        "judge" => {
            let (on_fail, fix_gate, rounds) = read_loop(raw, earlier)?;
            Ok(Work::Judge { prove: raw.prove, on_fail, fix_gate, rounds })
        }
        "prove" => {
            let (on_fail, fix_gate, rounds) = read_loop(raw, earlier)?;
            Ok(Work::Prove { on_fail, fix_gate, rounds })
        }
        "delegate" => Ok(Work::Delegate {
            playbook: raw.playbook.as_ref().map_or("subtask", |name| name.get_ref()).to_owned(),
            agents: raw.agents.as_ref().map_or(3, |agents| *agents.get_ref()),
            on_failure: raw.on_failure.unwrap_or(crate::OnFailure::Retry),
            overlap: raw.overlap.unwrap_or(OnOverlap::Serialise),
        }),
        "pursue" => {
            Ok(Work::Pursue { iterations: raw.iterations.as_ref().map_or(15, |iterations| *iterations.get_ref()) })
        }
        other => Err(at(
            &raw.work,
            "work",
            format!("`{other}` is not a kind of work"),
            "use `converse`, `produce`, `judge`, `prove`, `delegate` or `pursue`",
        )),
    }
}

/// Where a FAIL goes, who has a say before that, and how often.
fn read_loop(raw: &RawStage, earlier: &[Stage]) -> Result<(String, StageGate, u32), At> {
    let Some(on_fail) = &raw.on_fail else {
        return Err(at(
            &raw.work,
            "on_fail",
            format!("a `{}` stage must say where a FAIL goes", raw.work.get_ref()),
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
    Ok((on_fail.get_ref().clone(), fix_gate, rounds))
}

fn read_gate(text: &Spanned<String>, key: &'static str) -> Result<StageGate, At> {
    match text.get_ref().as_str() {
        "auto" => Ok(StageGate::Auto),
        "manual" => Ok(StageGate::Manual),
        "review" => Ok(StageGate::Review),
        other => match other.strip_prefix("trust.").map(str::parse) {
            Some(Ok(trust)) => Ok(StageGate::Trust(trust)),
            Some(Err(_)) | None => Err(at(
                text,
                key,
                format!("`{other}` is not a gate"),
                "use `auto`, `manual`, `review` or `trust.planning`, `trust.implementation`, `trust.fixes`",
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
