//! What stages need of each other: plans before what works them, code before what judges it, loops that can mend,
//! gates that somebody can pass. Looks at stages that could be read; never changes one.

use super::keys::{Keys, listed, plain};
use super::problem::Problems;
use super::{Stage, StageGate, Work};
use crate::ArtifactKind;

/// A stage as it stands in the file; `None` if it could not be read.
pub(super) struct Read<'a, 'i> {
    pub(super) name: Option<String>,
    pub(super) stage: Option<Stage>,
    pub(super) keys: Keys<'a, 'i>,
}

pub(super) fn lint(read: &[Read<'_, '_>], problems: &mut Problems<'_>) {
    for (index, this) in read.iter().enumerate() {
        names(this, &read[..index], problems);
    }
    // What a stage needs of those before it can only be told when all of them could be read.
    let known: Vec<Known<'_>> = read.iter().map_while(Known::of).collect();
    for index in 0..known.len() {
        needs_plan(index, &known, problems);
        hands_out(index, &known, known.len() == read.len(), problems);
        needs_code(index, &known, problems);
        can_mend(index, &known, problems);
        if known.len() == read.len() {
            can_pass(index, &known, problems);
        }
    }
    if known.len() == read.len() {
        can_merge(&known, problems);
    }
}

struct Known<'a> {
    stage: &'a Stage,
    keys: &'a Keys<'a, 'a>,
}

impl<'a> Known<'a> {
    fn of(read: &'a Read<'_, '_>) -> Option<Self> {
        Some(Self { stage: read.stage.as_ref()?, keys: &read.keys })
    }

    fn makes_code(&self) -> bool {
        self.stage.work.artifact().is_some_and(ArtifactKind::is_code)
    }

    fn makes_plan(&self) -> bool {
        self.stage.work.artifact() == Some(ArtifactKind::Plan)
    }

    fn tests(&self) -> bool {
        self.stage.work.on_fail().is_some()
    }
}

fn names(this: &Read<'_, '_>, earlier: &[Read<'_, '_>], problems: &mut Problems<'_>) {
    let known: Vec<&String> = earlier.iter().filter_map(|read| read.name.as_ref()).collect();
    if let Some(name) = this.name.as_ref().filter(|name| known.contains(name)) {
        let message = format!("there are two stages `{name}`");
        problems.refuse(this.keys.span("name"), "name", message, "give each stage its own name");
    }
    let target = this.stage.as_ref().and_then(|stage| stage.work.on_fail());
    if let Some(target) = target.filter(|target| !known.iter().any(|name| name == target)) {
        let hint = match known.is_empty() {
            true => "put the stage that makes the work before it".to_owned(),
            false => format!("stages before it: {}", listed(known.iter(), "and")),
        };
        let message = format!("there is no earlier stage `{}`", plain(target));
        problems.refuse(this.keys.span("on_fail"), "on_fail", message, hint);
    }
}

/// A plan is delegated once: its tasks are done then.
fn needs_plan(index: usize, all: &[Known<'_>], problems: &mut Problems<'_>) {
    let this = &all[index];
    let (key, what) = match &this.stage.work {
        Work::Delegate { .. } => ("work", "a `delegate` stage"),
        Work::Produce { pulses: true, .. } => ("pulses", "a stage in pulses"),
        Work::Converse { .. }
        | Work::Produce { .. }
        | Work::Judge { .. }
        | Work::Prove { .. }
        | Work::Pursue { .. } => return,
    };
    let hint = "add a `produce` stage with `artifact = \"plan\"` before it";
    let handed = |known: &Known<'_>| known.stage.work.may_delegate();
    if matches!(this.stage.work, Work::Delegate { .. }) && all[..index].last().is_some_and(handed) {
        return;
    }
    let Some(plan) = all[..index].iter().rposition(Known::makes_plan) else {
        let message = format!("{what} needs a plan, and no stage before it makes one");
        return problems.refuse(this.keys.span(key), key, message, hint);
    };
    let delegates = |known: &&Known<'_>| matches!(known.stage.work, Work::Delegate { .. });
    if let Some(other) = all[plan..index].iter().find(delegates).filter(|_| delegates(&this)) {
        let message = format!("`{}` has already done all tasks of the plan", other.stage.name);
        problems.refuse(this.keys.span(key), key, message, hint);
    }
}

/// Tasks that an agent hands out need somebody to do them, and a plan of their own.
fn hands_out(index: usize, all: &[Known<'_>], complete: bool, problems: &mut Problems<'_>) {
    let this = &all[index];
    if !this.stage.work.may_delegate() {
        return;
    }
    let span = this.keys.span("may_delegate");
    let next = all.get(index + 1).map(|known| &known.stage.work);
    if !matches!(next, Some(Work::Delegate { .. })) && (next.is_some() || complete) {
        let message = "nobody would do the tasks it hands out".to_owned();
        problems.refuse(span.clone(), "may_delegate", message, "put a `delegate` stage right behind it");
    }
    let delegates = |known: &Known<'_>| matches!(known.stage.work, Work::Delegate { .. });
    let others = all.iter().enumerate().filter(|(at, known)| *at != index + 1 && delegates(known)).count();
    if all.iter().any(Known::makes_plan) || others > 0 {
        let message = "the tasks it hands out would take the place of the plan's".to_owned();
        problems.refuse(span, "may_delegate", message, "a playbook has one source of tasks: remove the other one");
    }
}

fn needs_code(index: usize, all: &[Known<'_>], problems: &mut Problems<'_>) {
    let this = &all[index];
    if this.tests() && !all[..index].iter().any(Known::makes_code) {
        let message = format!("there is nothing to {} yet: no stage before it makes code", this.stage.work.word());
        let hint = "put a `produce` stage with `artifact = \"code\"`, a `delegate` or a `pursue` stage before it";
        problems.refuse(this.keys.span("work"), "work", message, hint);
    }
}

/// A FAIL that leads to nothing but the same verdict would only spend its rounds.
fn can_mend(index: usize, all: &[Known<'_>], problems: &mut Problems<'_>) {
    let this = &all[index];
    let Some(name) = this.stage.work.on_fail() else { return };
    let Some(target) = all[..index].iter().position(|known| known.stage.name == name) else { return };
    let mends = |from: usize| {
        let first = &all[from];
        !matches!(first.stage.work, Work::Prove { .. }) && all[from..index].iter().any(Known::makes_code)
    };
    let others: Vec<&str> = (0..index).filter(|from| mends(*from)).map(|from| all[from].stage.name.as_str()).collect();
    // Without any code before it the stage has a worse problem, which is told elsewhere.
    if mends(target) || others.is_empty() {
        return;
    }
    let message = format!("`{name}` cannot mend what fails here: nothing from there on changes the code");
    let hint = format!("send it to {}", listed(others.iter(), "or"));
    problems.refuse(this.keys.span("on_fail"), "on_fail", message, hint);
}

/// A review offers a yes only to code that every judging stage of the playbook has passed.
fn can_pass(index: usize, all: &[Known<'_>], problems: &mut Problems<'_>) {
    let this = &all[index];
    if this.stage.gate != StageGate::Review {
        return;
    }
    let newest_code = all[..=index].iter().rposition(Known::makes_code);
    let mut tests = all.iter().enumerate().filter(|(_, known)| known.tests());
    let untested = tests.clone().next().is_none().then(|| "no stage judges or proves the work".to_owned());
    let problem = untested.or_else(|| {
        let too_late = |(at, test): (usize, &Known<'_>)| {
            let name = &test.stage.name;
            (at > index)
                .then(|| format!("`{name}` looks at the work only afterwards"))
                .or_else(|| (Some(at) < newest_code).then(|| format!("`{name}` has passed older code than this")))
        };
        tests.find_map(too_late)
    });
    let span = this.keys.span("gate");
    if let Some(problem) = problem {
        let hint = "use `gate = \"manual\"` here, or put `review` on the last stage that judges or proves";
        return problems.refuse(span, "gate", format!("nobody could approve this review: {problem}"), hint);
    }
    if matches!(this.stage.work, Work::Prove { .. }) {
        let message = "without declared checks this review can only open a pull request".to_owned();
        problems.warn(span, "gate", message, "put `review` on a `judge` stage, or declare checks in every project");
    }
}

/// Merging needs every verdict for the newest code.
fn can_merge(all: &[Known<'_>], problems: &mut Problems<'_>) {
    let Some(newest) = all.iter().rposition(Known::makes_code) else { return };
    let outdated = all[..newest].iter().find(|known| known.tests() && known.stage.gate != StageGate::Review);
    if let Some(test) = outdated {
        let (name, code) = (&test.stage.name, &all[newest].stage.name);
        let message = format!("`{code}` changes what `{name}` has passed, so this work is never merged by itself");
        problems.warn(test.keys.span("work"), "work", message, format!("put `{name}` after `{code}`"));
    }
}
