//! Playbooks from TOML: everything wrong with a file is told at once, with file, line, key and a way out.

use toml::de::{DeTable, DeValue};

use super::keys::{Keys, is_name, listed, plain};
use super::lint::{Read, lint};
use super::problem::{PlaybookError, Problems, Weight};
use super::{Playbook, Stage, StageGate, WhenStuck, Work, stage};
use crate::ArtifactKind;

/// Where a project keeps its own playbooks.
const FOLDER: &str = ".autonomous/playbooks";
const MAX_STAGES: usize = 50;

/// Finds the source of another playbook of the same project by name.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Playbook {
    /// A file of this size or less is read.
    pub const MAX_BYTES: usize = 64 * 1024;

    /// Reads a playbook whose children are built in; the first problem if it cannot be used.
    pub fn parse(file: &str, source: &str) -> Result<Self, PlaybookError> {
        Origin::BuiltIn.read(file, source, Generation::First).into_result()
    }

    /// Reads a project's own playbook, whose children may be the project's own too.
    pub fn parse_among(file: &str, source: &str, own: Lookup<'_>) -> Result<Self, PlaybookError> {
        Origin::Project(own).read(file, source, Generation::First).into_result()
    }

    /// Everything wrong with a project's own playbook that uses only built-in ones.
    #[must_use]
    pub fn check(file: &str, source: &str) -> Vec<PlaybookError> {
        Self::check_among(file, source, &|_| None)
    }

    /// Everything wrong with a project's own playbook; empty if nothing is.
    #[must_use]
    pub fn check_among(file: &str, source: &str, own: Lookup<'_>) -> Vec<PlaybookError> {
        Origin::Project(own).read(file, source, Generation::First).problems
    }

    /// The path of a project's own playbook.
    #[must_use]
    pub fn path_of(name: &str) -> String {
        format!("{FOLDER}/{name}.toml")
    }

    /// Where a project keeps its own playbooks.
    #[must_use]
    pub fn folder() -> &'static str {
        FOLDER
    }
}

/// Whose playbook it is.
#[derive(Clone, Copy)]
enum Origin<'a> {
    BuiltIn,
    Project(Lookup<'a>),
}

/// Whether its runs may begin others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Generation {
    First,
    Child,
}

struct Outcome {
    playbook: Option<Playbook>,
    problems: Vec<PlaybookError>,
}

impl Outcome {
    fn into_result(self) -> Result<Playbook, PlaybookError> {
        match self.problems.into_iter().find(|problem| problem.weight == Weight::Refused) {
            Some(problem) => Err(problem),
            None => Ok(self.playbook.expect("a playbook without a problem was read to its end")),
        }
    }
}

impl Origin<'_> {
    fn read(self, file: &str, source: &str, generation: Generation) -> Outcome {
        let mut problems = Problems::new(file, source);
        if source.len() > Playbook::MAX_BYTES {
            let message = format!("it is longer than {} KiB", Playbook::MAX_BYTES / 1024);
            problems.refuse_file(message, "shorten it; a stage needs some ten lines");
            return Outcome { playbook: None, problems: problems.into_sorted() };
        }
        let (table, errors) = DeTable::parse_recoverable(source);
        errors.iter().for_each(|error| problems.not_toml(error));
        let playbook = match errors.is_empty() {
            true => self.playbook(&Keys::new(table.get_ref(), 0..0), file, generation, &mut problems),
            false => None,
        };
        let playbook = playbook.filter(|_| !problems.refused());
        Outcome { playbook, problems: problems.into_sorted() }
    }

    fn playbook(
        self,
        keys: &Keys<'_, '_>,
        file: &str,
        generation: Generation,
        problems: &mut Problems<'_>,
    ) -> Option<Playbook> {
        let known = ["name", "description", "when_stuck", "stage"];
        for (key, span) in keys.names().filter(|(key, _)| !known.contains(key)) {
            let hint = format!("there are {}", listed(known.iter(), "and"));
            problems.refuse(span, key, format!("`{}` is not a key of a playbook", plain(key)), hint);
        }
        let name = self.name(keys, file, problems);
        let description = description(keys, problems);
        let stuck = [("ask", WhenStuck::Ask), ("fail", WhenStuck::Fail)];
        let when_stuck = keys.choice("when_stuck", &stuck, problems).unwrap_or_default();
        let read = stages(keys, problems);
        lint(&read, problems);
        let mut children: Vec<Playbook> = Vec::new();
        for this in read.iter().filter(|_| generation == Generation::First) {
            let child = self.child(this, name.as_deref(), problems);
            children.extend(child.filter(|child| children.iter().all(|known| known.name != child.name)));
        }
        let stages: Option<Vec<Stage>> = read.into_iter().map(|read| read.stage).collect();
        Some(Playbook { name: name?, description, when_stuck, stages: stages?, children })
    }

    fn name(self, keys: &Keys<'_, '_>, file: &str, problems: &mut Problems<'_>) -> Option<String> {
        if keys.value("name").is_none() {
            problems.refuse(0..0, "name", "a playbook needs a name".to_owned(), "add `name = \"…\"` at the top");
        }
        let found = keys.name("name", "playbook", problems)?;
        let name = found.value.to_owned();
        if let Self::Project(_) = self {
            let stem = file.rsplit('/').next().and_then(|last| last.strip_suffix(".toml"));
            if Playbook::built_in_source(&name).is_some() {
                let message = format!("`{name}` is the name of a built-in playbook");
                problems.refuse(found.span, "name", message, "choose another name, for the file too");
            } else if let Some(stem) = stem.filter(|stem| *stem != name) {
                let message = format!("the file is called `{}`, the playbook `{name}`", plain(stem));
                problems.refuse(found.span, "name", message, format!("call the file `{name}.toml`"));
            }
        }
        Some(name)
    }

    /// The playbook that a `delegate` stage names.
    fn child(self, read: &Read<'_, '_>, parent: Option<&str>, problems: &mut Problems<'_>) -> Option<Playbook> {
        let Work::Delegate { playbook: name, .. } = &read.stage.as_ref()?.work else { return None };
        let key = if read.keys.value("playbook").is_some() { "playbook" } else { "work" };
        let mut refuse = |message: String, hint: String| {
            problems.refuse(read.keys.span(key), key, message, hint);
            None
        };
        if Some(name.as_str()) == parent {
            let hint = "name another playbook, for example `subtask`".to_owned();
            return refuse(format!("`{name}` cannot be the playbook of its own tasks"), hint);
        }
        let Some((origin, file, source)) = self.find(name) else {
            let known = listed(Playbook::built_in_names(), "and");
            let hint = format!("there are {known}, and the project's own in `{FOLDER}`");
            return refuse(format!("there is no playbook `{}`", plain(name)), hint);
        };
        let outcome = origin.read(&file, &source, Generation::Child);
        let child = match outcome.into_result() {
            Ok(child) => child,
            Err(problem) => return refuse(format!("`{name}` cannot be used: {problem}"), problem.hint),
        };
        if let Some(stage) = child.stages.iter().find(|stage| matches!(stage.work, Work::Delegate { .. })) {
            let hint = "use a playbook without a `delegate` stage for tasks".to_owned();
            return refuse(format!("`{name}` delegates itself, in `{}`; tasks are not split again", stage.name), hint);
        }
        if !child.stages.iter().any(|stage| stage.work.artifact().is_some_and(ArtifactKind::is_code)) {
            let hint = "use a playbook with a stage that makes code".to_owned();
            return refuse(format!("`{name}` makes no code, so its tasks would leave nothing to merge"), hint);
        }
        if let Some(stage) = child.stages.iter().find(|stage| asks(stage)) {
            let message = format!("every task will wait for a person, in `{}` of `{name}`", stage.name);
            problems.warn(read.keys.span(key), key, message, "use `subtask` for tasks that nobody sits beside");
        }
        Some(child)
    }

    fn find(self, name: &str) -> Option<(Self, String, String)> {
        if let Some(source) = Playbook::built_in_source(name) {
            return Some((Self::BuiltIn, name.to_owned(), source.to_owned()));
        }
        match self {
            Self::BuiltIn => None,
            Self::Project(own) => {
                is_name(name).then(|| own(name)).flatten().map(|source| (self, Playbook::path_of(name), source))
            }
        }
    }
}

fn asks(stage: &Stage) -> bool {
    matches!(stage.gate, StageGate::Manual | StageGate::Review) || matches!(stage.work, Work::Converse { .. })
}

fn description(keys: &Keys<'_, '_>, problems: &mut Problems<'_>) -> String {
    let Some(found) = keys.text("description", problems) else { return String::new() };
    if found.value.chars().count() > 300 || found.value.chars().any(char::is_control) {
        let message = "the description is not one line of at most 300 letters".to_owned();
        problems.refuse(found.span, "description", message, "say in a few words what the playbook is for");
    }
    found.value.to_owned()
}

fn stages<'a, 'i>(keys: &Keys<'a, 'i>, problems: &mut Problems<'_>) -> Vec<Read<'a, 'i>> {
    let none = || "a playbook needs at least one stage".to_owned();
    let Some(value) = keys.value("stage") else {
        problems.refuse(0..0, "stage", none(), "add a `[[stage]]`");
        return Vec::new();
    };
    let Some(list) = value.get_ref().as_array() else {
        let message = "`stage` must be a list of tables".to_owned();
        problems.refuse(keys.span("stage"), "stage", message, "begin each stage with `[[stage]]`, in double brackets");
        return Vec::new();
    };
    if list.is_empty() {
        problems.refuse(value.span(), "stage", none(), "add a `[[stage]]`");
    }
    if list.len() > MAX_STAGES {
        let message = format!("{} stages are too many", list.len());
        problems.refuse(keys.span("stage"), "stage", message, format!("use at most {MAX_STAGES}"));
        return Vec::new();
    }
    let mut read = Vec::with_capacity(list.len());
    for entry in list.iter() {
        let DeValue::Table(table) = entry.get_ref() else {
            let message = "a stage must be a table".to_owned();
            problems.refuse(entry.span(), "stage", message, "begin each stage with `[[stage]]`");
            continue;
        };
        let keys = Keys::new(table, entry.span());
        let stage = stage::read(&keys, problems);
        let name = keys.value("name").and_then(|name| name.get_ref().as_str()).map(str::to_owned);
        read.push(Read { name, stage, keys });
    }
    read
}
