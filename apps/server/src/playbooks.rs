//! The playbooks of a project: those that are compiled in, and its own as its base commit has them.

use domain::{Playbook, PlaybookError, Weight};
use runner::project::{PlaybookFile, PlaybookFiles, Project};
use wire::{PlaybookProblem, PlaybookView, StepView};

use crate::problem::Failure;

/// The playbook of that name, fit for a run: what a repository leaves open is bound to the user's trust.
pub(crate) fn find(name: &str, own: &PlaybookFiles) -> Result<Playbook, Failure> {
    if let Some(playbook) = Playbook::built_in(name) {
        return Ok(playbook);
    }
    let Some(file) = own.files.iter().find(|file| file.name == name) else {
        return Err(unknown(name, own));
    };
    let read = parse(file, own).map_err(|problem| {
        let message: String = problem.to_string().chars().filter(|c| !c.is_control()).take(600).collect();
        Failure::user("playbook", "bad_playbook", message, format!("{}; then commit it", problem.hint))
    })?;
    Ok(read.bound_to_trust())
}

/// The built-in playbooks as everybody sees them.
pub(crate) fn built_in() -> Vec<PlaybookView> {
    Playbook::built_in_names().filter_map(Playbook::built_in).map(|playbook| playbook_view(&playbook)).collect()
}

/// A project's own playbooks, those that cannot be used too.
pub(crate) fn of_project(own: &PlaybookFiles) -> Vec<PlaybookView> {
    let show = |file: &PlaybookFile| {
        let problems = problems(file, own).iter().map(playbook_problem).collect();
        let known = parse(file, own).ok().map(|playbook| playbook_view(&playbook.bound_to_trust()));
        let shown = known.unwrap_or_else(|| nothing(&file.name));
        PlaybookView { file: Some(Playbook::path_of(&file.name)), problems, ..shown }
    };
    own.files.iter().map(show).collect()
}

/// A stage that the repository wants a person for must be one of some playbook: a typo would open a gate.
pub(crate) fn check_stage_names(names: &[String], project: &Project) -> Result<(), Failure> {
    let own = project.playbooks.files.iter().filter_map(|file| parse(file, &project.playbooks).ok());
    let playbooks: Vec<Playbook> = Playbook::built_in_names().filter_map(Playbook::built_in).chain(own).collect();
    let is_stage = |name: &str| playbooks.iter().any(|playbook| playbook.index_of(name).is_some());
    match names.iter().find(|name| name.parse::<domain::TrustKey>().is_err() && !is_stage(name)) {
        None => Ok(()),
        Some(name) => {
            let name: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
            let message = format!(
                ".autonomous/config.json on `{}` cannot be used: requireApprovalFor names `{name}`, which no playbook \
                 has as a stage",
                project.base_branch
            );
            let hint = "`holdpoint playbook list` shows the stages there are, and playbooks that cannot be used";
            Err(Failure::user("project", "bad_project_config", message, hint))
        }
    }
}

fn parse(file: &PlaybookFile, own: &PlaybookFiles) -> Result<Playbook, PlaybookError> {
    let path = Playbook::path_of(&file.name);
    match &file.source {
        Some(source) => Playbook::parse_among(&path, source, &|name| source_of(name, own)),
        None => Err(too_long(path)),
    }
}

fn problems(file: &PlaybookFile, own: &PlaybookFiles) -> Vec<PlaybookError> {
    let path = Playbook::path_of(&file.name);
    match &file.source {
        Some(source) => Playbook::check_among(&path, source, &|name| source_of(name, own)),
        None => vec![too_long(path)],
    }
}

fn source_of(name: &str, own: &PlaybookFiles) -> Option<String> {
    own.files.iter().find(|file| file.name == name)?.source.clone()
}

fn too_long(file: String) -> PlaybookError {
    PlaybookError {
        file,
        line: 1,
        key: None,
        message: format!("it is longer than {} KiB", Playbook::MAX_BYTES / 1024),
        hint: "shorten it".to_owned(),
        weight: Weight::Refused,
    }
}

fn unknown(name: &str, own: &PlaybookFiles) -> Failure {
    let mut known: Vec<&str> = Playbook::built_in_names().collect();
    known.extend(own.files.iter().map(|file| file.name.as_str()));
    let mut hint = format!("there are: {}", known.join(", "));
    if own.left_out > 0 {
        hint.push_str(&format!("; {} more files in {} are not read", own.left_out, Playbook::folder()));
    }
    let name: String = name.chars().filter(|c| !c.is_control()).take(300).collect();
    Failure::user("playbook", "unknown_playbook", format!("there is no playbook `{name}`"), hint)
}

/// A playbook as everybody sees it.
#[must_use]
pub fn playbook_view(playbook: &Playbook) -> PlaybookView {
    let step = |words: domain::StageWords| StepView {
        name: words.name,
        work: words.work,
        role: words.role,
        gate: words.gate,
        limits: words.limits,
        loops: words.loops,
    };
    PlaybookView {
        name: playbook.name.clone(),
        description: playbook.description.clone(),
        stages: playbook.stages.iter().map(|stage| stage.name.clone()).collect(),
        roles: playbook.roles().into_iter().map(str::to_owned).collect(),
        file: None,
        steps: playbook.words().into_iter().map(step).collect(),
        diagram: playbook.mermaid(),
        problems: Vec::new(),
    }
}

fn nothing(name: &str) -> PlaybookView {
    PlaybookView {
        name: name.to_owned(),
        description: String::new(),
        stages: Vec::new(),
        roles: Vec::new(),
        file: None,
        steps: Vec::new(),
        diagram: String::new(),
        problems: Vec::new(),
    }
}

/// A problem of a playbook as everybody sees it.
#[must_use]
pub fn playbook_problem(error: &PlaybookError) -> PlaybookProblem {
    PlaybookProblem {
        file: error.file.clone(),
        line: error.line,
        key: error.key.clone(),
        weight: error.weight.word().to_owned(),
        message: error.message.clone(),
        hint: error.hint.clone(),
    }
}
