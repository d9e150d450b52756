//! `task`: one piece of work per run, in the words of a list of tasks. What may follow what is the server's to say.

use std::{io::Read as _, path::PathBuf};

use clap::{Args, Subcommand};
use inquire::{Confirm, InquireError};
use jiff::Timestamp;
use wire::{CancelRequest, ExitCode, NewRun, NewTask, TaskMerge, TaskRunView, TaskUpdate};

use super::from;
use super::run::{checks, models, project};
use crate::{
    client::Client,
    failure::Failure,
    report::{self, run::short, task},
    session::Session,
};

/// A context longer than this is refused by the server too.
const LONGEST: u64 = 1024 * 1024;

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Create a task; one that says too little asks first
    Create(Create),
    /// List tasks: ● an agent works, ✗ it crashed, ○ none is expected
    #[command(visible_alias = "ls")]
    List(List),
    /// Show a task
    Show(One),
    /// Make a task what it shall become, or say something to its agent
    Update(Update),
    /// Say that the worker's part is done
    Complete(One),
    /// Push a reviewed task and open a pull request
    CreatePr(One),
    /// Merge a reviewed task; asks before one that is not
    Merge(Merge),
    /// End a task
    Cancel(Cancel),
    /// Let a task go on that crashed or is stuck
    Respawn(Respawn),
}

#[derive(Debug, Args)]
pub(crate) struct One {
    /// Id of the task, or the start of it
    task: String,
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// A name, if there are two words or texts, and what shall be done
    #[arg(value_name = "[NAME] SUMMARY", num_args = 0..=2)]
    words: Vec<String>,
    /// The plan, and what else the worker should know
    #[arg(long, conflicts_with = "context_file")]
    context: Option<String>,
    /// The same from a file; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    context_file: Option<PathBuf>,
    /// The git repository
    #[arg(long, value_name = "PATH", default_value = ".")]
    repo: PathBuf,
    /// Model as role=provider/model, or one for all roles (repeatable)
    #[arg(long, value_name = "[ROLE=]PROVIDER/MODEL[,…]")]
    model: Vec<String>,
    /// Branch to start from; the checked-out one unless said
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,
    /// What the task may spend, in dollars
    #[arg(long, value_name = "USD")]
    budget: Option<f64>,
    /// Command that proves a commit, e.g. 'npm test' (repeatable)
    #[arg(long, value_name = "COMMAND")]
    check: Vec<String>,
    /// Its place among your queued runs
    #[arg(long, value_name = "low|normal|high", value_parser = ["low", "normal", "high"])]
    priority: Option<String>,
    #[command(flatten)]
    strangers: from::From,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Those that are over too
    #[arg(long, short)]
    all: bool,
    /// Only tasks of this repository
    #[arg(long, value_name = "PATH")]
    repo: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Update {
    /// Id of the task, or the start of it
    task: String,
    /// What it shall become
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// What it is about: the answer, where that was asked
    #[arg(long)]
    summary: Option<String>,
    /// What else its agent should know
    #[arg(long)]
    notes: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// Id of the task, or the start of it
    task: String,
    /// Merge it although it was not reviewed; recorded under your name
    #[arg(long)]
    force: bool,
    /// Why
    #[arg(long)]
    reason: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// Id of the task, or the start of it
    task: String,
    /// Why
    reason: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Respawn {
    /// Id of the task, or the start of it
    task: String,
    /// What the agent should know this time
    #[arg(long)]
    notes: Option<String>,
}

pub(super) async fn run(action: Action, session: &Session) -> Result<ExitCode, Failure> {
    match action {
        Action::Create(arguments) => create(arguments, session).await,
        Action::List(arguments) => list(arguments, session).await,
        Action::Show(One { task }) => {
            let shown = session.connect().await?.task(&task).await?;
            if session.report.is_json() {
                session.report.json(&shown);
            } else {
                session.report.data(&task::show(&shown, Timestamp::now()));
            }
            Ok(ExitCode::Done)
        }
        Action::Update(Update { task, status, summary, notes }) => {
            let update = TaskUpdate { status, summary, notes };
            Ok(told(&session.connect().await?.update_task(&task, &update).await?, session))
        }
        Action::Complete(One { task }) => Ok(told(&session.connect().await?.complete_task(&task).await?, session)),
        Action::CreatePr(One { task }) => Ok(told(&session.connect().await?.create_task_pr(&task).await?, session)),
        Action::Merge(arguments) => merge(arguments, session).await,
        Action::Cancel(Cancel { task, reason }) => {
            let client = session.connect().await?;
            let reason = Some(reason.join(" ")).filter(|reason| !reason.is_empty());
            let run = client.cancel(&task, &CancelRequest { reason }).await?;
            Ok(told(&client.task(&run.id).await?, session))
        }
        Action::Respawn(Respawn { task, notes }) => {
            let update = TaskUpdate { notes, ..TaskUpdate::default() };
            Ok(told(&session.connect().await?.respawn_task(&task, &update).await?, session))
        }
    }
}

async fn create(arguments: Create, session: &Session) -> Result<ExitCode, Failure> {
    let new = arguments.into_request()?;
    let client = session.connect().await?;
    let run = client.start(&new).await?;
    let task = client.task(&run.id).await?;
    if session.report.is_json() {
        session.report.json(&task);
        return Ok(ExitCode::Done);
    }
    session.report.data(&task.id);
    let follow = format!("follow it with `holdpoint watch {}`", short(&task.id));
    match client.queued(&run).await {
        Some(reason) => session.report.note(&format!("pending: {}; {follow}", report::clean_line(&reason))),
        None => session.report.note(&format!("created; {follow}")),
    }
    Ok(ExitCode::Done)
}

impl Create {
    fn into_request(self) -> Result<NewRun, Failure> {
        let (name, request) = match self.words.as_slice() {
            [] => (None, String::new()),
            [summary] => (None, summary.clone()),
            [name, summary, ..] => (Some(name.clone()), summary.clone()),
        };
        let context = match self.context_file {
            Some(path) => Some(read(&path)?),
            None => self.context,
        };
        let from = self.strangers.texts()?;
        Ok(NewRun {
            project: project(&self.repo)?,
            request: from::request(request, &from),
            from,
            trust_sources: self.strangers.trusts(),
            playbook: Some("task".to_owned()),
            models: models(&self.model),
            base_branch: self.base,
            budget_usd: self.budget,
            checks: checks(self.check),
            priority: self.priority,
            task: Some(NewTask { name, context }),
            ..NewRun::default()
        })
    }
}

fn read(path: &std::path::Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin().lock().take(LONGEST + 1).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text))
    };
    read.map_err(|error| {
        Failure::usage(format!("cannot read `{}` as text: {error}", path.display()), "give the path of a text file")
    })?;
    Ok(text)
}

async fn list(arguments: List, session: &Session) -> Result<ExitCode, Failure> {
    let repo = arguments.repo.as_deref().map(project).transpose()?;
    let tasks = session.connect().await?.tasks(repo.as_deref(), arguments.all).await?;
    if session.report.is_json() {
        session.report.json(&tasks);
    } else {
        session.report.data(&task::list(&tasks, Timestamp::now(), report::width()));
    }
    Ok(ExitCode::Done)
}

async fn merge(arguments: Merge, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let task = client.task(&arguments.task).await?;
    let Merge { reason, force, .. } = arguments;
    let asked = TaskMerge { force, reason, commit: task.commit.clone() };
    match client.merge_task(&task.id, &asked).await {
        Err(failure) if failure.problem.code == "not_reviewed" => {
            if !agreed(&task, failure).await? {
                session.report.note("nothing was changed");
                return Ok(ExitCode::Waiting);
            }
            merge_by_force(&client, &task, asked, session).await
        }
        merged => Ok(told(&merged?, session)),
    }
}

async fn merge_by_force(
    client: &Client,
    task: &TaskRunView,
    asked: TaskMerge,
    session: &Session,
) -> Result<ExitCode, Failure> {
    let merged = client.merge_task(&task.id, &TaskMerge { force: true, ..asked }).await?;
    Ok(told(&merged, session))
}

/// Never without somebody who says yes.
async fn agreed(task: &TaskRunView, refused: Failure) -> Result<bool, Failure> {
    if !report::person_present() {
        return Err(refused);
    }
    let question = format!("{} is {}. Not reviewed. Force merge?", short(&task.id), report::clean_line(&task.status));
    let asked = tokio::task::spawn_blocking(move || Confirm::new(&question).with_default(false).prompt()).await;
    match asked.map_err(|error| Failure::failed("terminal", error.to_string(), "try again"))? {
        Ok(agreed) => Ok(agreed),
        Err(InquireError::OperationCanceled | InquireError::OperationInterrupted) => Ok(false),
        Err(error) => Err(Failure::failed("terminal", format!("cannot ask on this terminal: {error}"), "add --force")),
    }
}

/// How a task stands after it was changed.
fn told(task: &TaskRunView, session: &Session) -> ExitCode {
    if session.report.is_json() {
        session.report.json(task);
    } else {
        session.report.note(&task::line(task));
    }
    ExitCode::Done
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct Line {
        #[command(subcommand)]
        action: Action,
    }

    fn created(words: &[&str]) -> NewRun {
        let line = Line::parse_from(["task", "create"].iter().chain(words));
        let Action::Create(create) = line.action else { panic!("another command was read") };
        create.into_request().unwrap()
    }

    #[test]
    fn a_name_comes_first_and_a_task_may_begin_with_nothing() {
        let named = created(&["add-login", "Implement login form", "--context", "1. read"]);
        let task = named.task.unwrap();
        assert_eq!((named.request.as_str(), named.playbook.as_deref()), ("Implement login form", Some("task")));
        assert_eq!((task.name.as_deref(), task.context.as_deref()), (Some("add-login"), Some("1. read")));
        assert_eq!(created(&["Implement login form"]).task.unwrap().name, None);
        let empty = created(&[]);
        assert_eq!((empty.request.as_str(), empty.task), ("", Some(NewTask::default())));
    }
}
