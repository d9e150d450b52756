//! One `[[stage]]`: its keys, its kind of work, its limits. Knows nothing of the stages around it.

use super::keys::{Keys, listed, plain};
use super::problem::Problems;
use super::{OnOverlap, Stage, StageGate, Work};
use crate::{ArtifactKind, OnFailure, TrustKey};

/// Keys that every stage may have.
const COMMON: &[&str] = &["name", "work", "role", "gate", "revisions"];
/// Keys of stages in which an agent works.
const OF_AGENTS: &[&str] = &["timeout_minutes", "retries", "crashes"];
/// Kinds of work, with the keys of their own.
const KINDS: &[(&str, &[&str])] = &[
    ("converse", &["rounds"]),
    ("produce", &["artifact", "pulses", "may_delegate"]),
    ("judge", &["prove", "on_fail", "fix_gate", "rounds"]),
    ("prove", &["on_fail", "fix_gate", "rounds"]),
    ("delegate", &["playbook", "agents", "on_failure", "overlap"]),
    ("pursue", &["iterations"]),
];
/// What a `produce` stage can leave.
const ARTIFACTS: &[(&str, ArtifactKind)] = &[
    ("scope", ArtifactKind::Scope),
    ("research", ArtifactKind::Research),
    ("plan", ArtifactKind::Plan),
    ("spec", ArtifactKind::Spec),
    ("code", ArtifactKind::Code),
    ("handoff", ArtifactKind::Handoff),
];

/// The stage, if nothing is missing; every problem is noted either way.
pub(super) fn read(keys: &Keys<'_, '_>, problems: &mut Problems<'_>) -> Option<Stage> {
    let name = keys.name("name", "stage", problems).map(|name| name.value.to_owned());
    if keys.value("name").is_none() {
        problems.refuse(keys.span("name"), "name", "a stage needs a name".to_owned(), "add `name = \"…\"`");
    }
    let kind = kind(keys, problems);
    foreign_keys(keys, kind, problems);
    let gate = gate(keys, "gate", problems);
    let limits = (
        keys.number("timeout_minutes", 1..=10_080, problems).unwrap_or(60),
        keys.number("retries", 1..=20, problems).unwrap_or(3),
        keys.number("crashes", 1..=20, problems).unwrap_or(2),
        keys.number("revisions", 0..=100, problems).unwrap_or(10),
    );
    let role = role(keys, kind, problems);
    let work = kind.and_then(|kind| work(kind, keys, problems));
    let (timeout_minutes, retries, crashes, revisions) = limits;
    Some(Stage { name: name?, role: role?, work: work?, gate: gate?, timeout_minutes, retries, crashes, revisions })
}

fn kind(keys: &Keys<'_, '_>, problems: &mut Problems<'_>) -> Option<&'static str> {
    let hint = || format!("use {}", listed(KINDS.iter().map(|(kind, _)| kind), "or"));
    let Some(found) = keys.text("work", problems) else {
        if keys.value("work").is_none() {
            problems.refuse(keys.span("work"), "work", "a stage must say what is done".to_owned(), hint());
        }
        return None;
    };
    let known = KINDS.iter().find(|(kind, _)| *kind == found.value);
    if known.is_none() {
        problems.refuse(found.span, "work", format!("`{}` is not a kind of work", plain(found.value)), hint());
    }
    known.map(|(kind, _)| *kind)
}

fn has_agent(kind: &str) -> bool {
    !matches!(kind, "prove" | "delegate")
}

/// A key that does nothing would be a promise nobody keeps.
fn foreign_keys(keys: &Keys<'_, '_>, kind: Option<&str>, problems: &mut Problems<'_>) {
    for (key, span) in keys.names() {
        let of_agents = OF_AGENTS.contains(&key);
        let homes: Vec<&str> = KINDS
            .iter()
            .filter(|(kind, own)| own.contains(&key) || (of_agents && has_agent(kind)))
            .map(|(kind, _)| *kind)
            .collect();
        let known = COMMON.contains(&key) || kind.is_none_or(|kind| homes.contains(&kind));
        match kind {
            _ if homes.is_empty() && !COMMON.contains(&key) => {
                let hint = format!("there are {}", listed(keys_of(kind), "and"));
                problems.refuse(span, key, format!("`{}` is not a key of a stage", plain(key)), hint);
            }
            Some(kind) if !known => {
                let hint = format!("it belongs to {}; remove it here", listed(homes.iter(), "and"));
                problems.refuse(span, key, format!("`{key}` does not belong to a `{kind}` stage"), hint);
            }
            Some(_) | None => {}
        }
    }
}

fn keys_of(kind: Option<&str>) -> impl Iterator<Item = &'static str> {
    let own = KINDS.iter().find(|(name, _)| Some(*name) == kind).map_or(&[][..], |(_, own)| *own);
    let of_agents = if kind.is_none_or(has_agent) { OF_AGENTS } else { &[] };
    COMMON.iter().chain(own).chain(of_agents).copied()
}

fn role(keys: &Keys<'_, '_>, kind: Option<&str>, problems: &mut Problems<'_>) -> Option<String> {
    match (keys.value("role"), kind) {
        (Some(_), _) => keys.name("role", "role", problems).map(|role| role.value.to_owned()),
        (None, Some(kind)) if has_agent(kind) => {
            let message = format!("a `{kind}` stage must say who does it");
            problems.refuse(keys.span("role"), "role", message, "add `role = \"implementer\"` or another name");
            None
        }
        (None, Some(_) | None) => Some(String::new()),
    }
}

fn work(kind: &'static str, keys: &Keys<'_, '_>, problems: &mut Problems<'_>) -> Option<Work> {
    match kind {
        "converse" => Some(Work::Converse { rounds: keys.number("rounds", 1..=100, problems).unwrap_or(10) }),
        "produce" => produce(keys, problems),
        "judge" => {
            let prove = keys.flag("prove", problems).unwrap_or(false);
            let (on_fail, fix_gate, rounds) = fix_loop(kind, keys, problems)?;
            Some(Work::Judge { prove, on_fail, fix_gate, rounds })
        }
        "prove" => {
            let (on_fail, fix_gate, rounds) = fix_loop(kind, keys, problems)?;
            Some(Work::Prove { on_fail, fix_gate, rounds })
        }
        "delegate" => Some(delegate(keys, problems)),
        _ => Some(Work::Pursue { iterations: keys.number("iterations", 1..=100, problems).unwrap_or(15) }),
    }
}

fn produce(keys: &Keys<'_, '_>, problems: &mut Problems<'_>) -> Option<Work> {
    let pulses = keys.flag("pulses", problems).unwrap_or(false);
    if keys.value("artifact").is_none() {
        let hint = format!("add `artifact`: {}", listed(ARTIFACTS.iter().map(|(word, _)| word), "or"));
        let message = "a `produce` stage must say what it leaves".to_owned();
        problems.refuse(keys.span("work"), "artifact", message, hint);
    }
    let artifact = keys.choice("artifact", ARTIFACTS, problems)?;
    if pulses && !artifact.is_code() {
        let message = format!("a {} is not made in pulses", artifact.word());
        problems.refuse(keys.span("pulses"), "pulses", message, "remove `pulses`, or use `artifact = \"code\"`");
    }
    let may_delegate = keys.flag("may_delegate", problems).unwrap_or(false);
    if may_delegate && artifact != ArtifactKind::Handoff {
        let message = "only who hands over the whole work may hand out parts of it".to_owned();
        let hint = "remove `may_delegate`, or use `artifact = \"handoff\"`";
        problems.refuse(keys.span("may_delegate"), "may_delegate", message, hint);
    }
    Some(Work::Produce { artifact, pulses, may_delegate })
}

fn delegate(keys: &Keys<'_, '_>, problems: &mut Problems<'_>) -> Work {
    let failing = [("retry", OnFailure::Retry), ("continue", OnFailure::Continue), ("stop", OnFailure::Stop)];
    let overlapping = [("serialise", OnOverlap::Serialise), ("allow", OnOverlap::Allow)];
    Work::Delegate {
        playbook: keys.text("playbook", problems).map_or("subtask", |found| found.value).to_owned(),
        agents: keys.number("agents", 1..=64, problems).unwrap_or(3),
        on_failure: keys.choice("on_failure", &failing, problems).unwrap_or(OnFailure::Retry),
        overlap: keys.choice("overlap", &overlapping, problems).unwrap_or(OnOverlap::Serialise),
    }
}

/// Where a FAIL goes, who has a say before that, and how often.
fn fix_loop(kind: &str, keys: &Keys<'_, '_>, problems: &mut Problems<'_>) -> Option<(String, StageGate, u32)> {
    let on_fail = keys.text("on_fail", problems).map(|found| found.value.to_owned());
    if keys.value("on_fail").is_none() {
        let message = format!("a `{kind}` stage must say where a FAIL goes");
        problems.refuse(keys.span("work"), "on_fail", message, "add `on_fail = \"<earlier stage>\"` and `rounds`");
    } else if keys.value("rounds").is_none() {
        // A loop without a cap would let two agents send each other work for ever.
        problems.refuse(keys.span("on_fail"), "rounds", "a loop needs a cap".to_owned(), "add `rounds = 3`");
    }
    let rounds = keys.number("rounds", 1..=100, problems);
    let fix_gate = gate(keys, "fix_gate", problems);
    if fix_gate == Some(StageGate::Review) {
        let message = "work that failed is not reviewed before it is mended".to_owned();
        problems.refuse(keys.span("fix_gate"), "fix_gate", message, "use `auto`, `manual` or `trust.fixes`");
    }
    Some((on_fail?, fix_gate?, rounds?))
}

fn gate(keys: &Keys<'_, '_>, key: &str, problems: &mut Problems<'_>) -> Option<StageGate> {
    let gates = [
        ("auto", StageGate::Auto),
        ("manual", StageGate::Manual),
        ("review", StageGate::Review),
        ("trust.planning", StageGate::Trust(TrustKey::Planning)),
        ("trust.implementation", StageGate::Trust(TrustKey::Implementation)),
        ("trust.fixes", StageGate::Trust(TrustKey::Fixes)),
    ];
    if keys.value(key).is_none() {
        return Some(StageGate::Auto);
    }
    let found = keys.text(key, problems)?;
    let known = gates.iter().find(|(word, _)| *word == found.value).map(|(_, gate)| *gate);
    if known.is_none() {
        let hint = format!("use {}", listed(gates.iter().map(|(word, _)| word), "or"));
        problems.refuse(found.span, key, format!("`{}` is not a gate", plain(found.value)), hint);
    }
    known
}
