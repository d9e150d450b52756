//! `playbook`: which there are, what they do, whether a file is one, and their diagrams.
//! Files and built-in playbooks need no server.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use domain::{Playbook, PlaybookError, Weight};
use serde_json::json;
use wire::{ExitCode, PlaybookProblem, PlaybookView};

use super::run::project;
use crate::{
    failure::Failure,
    report::{self, playbook as words},
    session::Session,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// List the playbooks there are
    List(Place),
    /// Show the stages of a playbook
    Show(One),
    /// Say what is wrong with playbook files
    Check {
        /// The files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Draw a playbook as a state diagram
    Draw {
        #[command(flatten)]
        one: One,
        /// Print the Mermaid source
        #[arg(long)]
        mermaid: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Place {
    /// The git repository whose own playbooks count too
    #[arg(long, value_name = "PATH", default_value = ".")]
    repo: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct One {
    /// Name of the playbook, or a file that ends in `.toml`
    #[arg(value_name = "NAME|FILE")]
    name: String,
    #[command(flatten)]
    place: Place,
}

pub(super) async fn run(action: Action, session: &Session) -> Result<ExitCode, Failure> {
    match action {
        Action::List(place) => list(&place, session).await,
        Action::Show(one) => {
            let playbook = find(&one, session).await?;
            if session.report.is_json() {
                session.report.json(&playbook);
            } else {
                session.report.data(&words::one(&playbook, report::width()));
            }
            Ok(ExitCode::Done)
        }
        Action::Check { files } => check(&files, session),
        Action::Draw { one, mermaid } => draw(&find(&one, session).await?, mermaid, session),
    }
}

async fn list(place: &Place, session: &Session) -> Result<ExitCode, Failure> {
    let playbooks = match own_project(&place.repo)? {
        None => built_in(),
        Some(project) => match session.connect().await?.playbooks(&project).await {
            Ok(all) => all,
            // A repository that cannot be worked on has no playbooks of its own; the others are there all the same.
            Err(refusal) if refusal.exit == ExitCode::Usage => {
                session.report.note(&format!("{}; these are built in:", report::clean_line(&refusal.problem.message)));
                built_in()
            }
            Err(failure) => return Err(failure),
        },
    };
    if session.report.is_json() {
        session.report.json(&playbooks);
    } else {
        session.report.data(&words::list(&playbooks, report::width()));
    }
    Ok(ExitCode::Done)
}

fn check(files: &[PathBuf], session: &Session) -> Result<ExitCode, Failure> {
    let mut problems: Vec<PlaybookProblem> = Vec::new();
    for file in files {
        let source = read(file)?;
        let found = Playbook::check_among(&shown(file), &source, &|name| beside(file, name));
        problems.extend(found.iter().map(server::playbook_problem));
    }
    let refused = problems.iter().any(|problem| problem.weight == Weight::Refused.word());
    if session.report.is_json() {
        session.report.json(&problems);
    } else if problems.is_empty() {
        session.report.note(match files.len() {
            1 => "no problem",
            _ => "no problem in any of them",
        });
    } else {
        session.report.data(&words::problems(&problems));
    }
    Ok(if refused { ExitCode::Failed } else { ExitCode::Done })
}

fn draw(playbook: &PlaybookView, mermaid: bool, session: &Session) -> Result<ExitCode, Failure> {
    let source = &playbook.diagram;
    let drawn = spec::draw::terminal(source, report::width()).map_err(|error| {
        let hint = "`--mermaid` prints its source; please report this";
        Failure::failed("no_drawing", format!("`{}` cannot be drawn: {error}", playbook.name), hint)
    })?;
    if session.report.is_json() {
        session.report.json(&json!({"name": playbook.name, "mermaid": source, "drawing": drawn}));
    } else {
        session.report.data(&report::clean(if mermaid { source } else { &drawn }));
    }
    Ok(ExitCode::Done)
}

/// A file, a built-in playbook, or the project's own.
async fn find(one: &One, session: &Session) -> Result<PlaybookView, Failure> {
    if one.name.ends_with(".toml") || one.name.contains('/') {
        return from_file(Path::new(&one.name));
    }
    if let Some(playbook) = Playbook::built_in(&one.name) {
        return Ok(server::playbook_view(&playbook));
    }
    let all = match own_project(&one.place.repo)? {
        None => built_in(),
        Some(project) => session.connect().await?.playbooks(&project).await?,
    };
    let names: Vec<String> = all.iter().map(|playbook| playbook.name.clone()).collect();
    let Some(playbook) = all.into_iter().find(|playbook| playbook.name == one.name) else {
        let message = format!("there is no playbook `{}`", one.name);
        return Err(Failure::usage(message, format!("there are: {}", names.join(", "))));
    };
    match playbook.problems.iter().find(|problem| problem.weight == Weight::Refused.word()) {
        None => Ok(playbook),
        Some(problem) => {
            let message = format!("{}:{}: {}", problem.file, problem.line, problem.message);
            Err(Failure::failed("bad_playbook", message, problem.hint.clone()))
        }
    }
}

fn from_file(file: &Path) -> Result<PlaybookView, Failure> {
    let source = read(file)?;
    let parsed = Playbook::parse_among(&shown(file), &source, &|name| beside(file, name));
    let refuse = |error: PlaybookError| {
        let hint = format!("{}; `holdpoint playbook check` shows every problem", error.hint);
        Failure::failed("bad_playbook", error.to_string(), hint)
    };
    let playbook = parsed.map_err(refuse)?.bound_to_trust();
    let problems = Playbook::check_among(&shown(file), &source, &|name| beside(file, name));
    let problems = problems.iter().map(server::playbook_problem).collect();
    Ok(PlaybookView { file: Some(shown(file)), problems, ..server::playbook_view(&playbook) })
}

fn built_in() -> Vec<PlaybookView> {
    let all = Playbook::built_in_names().filter_map(Playbook::built_in);
    all.map(|playbook| server::playbook_view(&playbook)).collect()
}

/// The repository around a path, if there is one.
fn own_project(path: &Path) -> Result<Option<String>, Failure> {
    let path = project(path)?;
    let is_repository = Path::new(&path).ancestors().any(|folder| folder.join(".git").exists());
    Ok(is_repository.then_some(path))
}

/// Another playbook of the same folder.
fn beside(file: &Path, name: &str) -> Option<String> {
    read(&file.with_file_name(format!("{name}.toml"))).ok()
}

/// Never more than a playbook may have, and a little to see that it has more.
fn read(file: &Path) -> Result<String, Failure> {
    let wrong = |error: &std::io::Error| Failure::file("read", file, error);
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).map_err(|error| wrong(&error))?;
    opened.take(Playbook::MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| wrong(&error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn shown(file: &Path) -> String {
    file.display().to_string()
}
