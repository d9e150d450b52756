//! The command line: one file per command. A command reads its arguments, speaks `wire`, and prints.

pub(crate) mod agent;
mod answer;
mod approve;
mod artifact;
mod attach;
mod batch;
mod cancel;
mod channel;
mod compare;
pub(crate) mod completions;
mod cost;
mod decide;
mod demo;
mod diff;
mod doctor;
mod events;
mod fork;
mod from;
mod inbox;
mod list;
mod log;
mod mcp;
mod merge;
mod metrics;
mod model;
mod notify;
mod open;
mod overturn;
mod pause;
mod plan;
mod playbook;
mod pr;
mod reject;
mod resume;
mod review;
mod run;
mod serve;
mod show;
mod task;
mod tell;
mod tui;
mod user;
mod verify;
mod watch;
mod why;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use wire::{ExitCode, HoldView, RunView};

pub(crate) use decide::{draft, edited};
pub(crate) use diff::patch;
pub(crate) use log::whole;
pub(crate) use review::is_yes;

use crate::{client::Client, failure::Failure, report::hold, session::Session};

/// Runs coding agents through plan, implementation and validation, and stops where you said it should.
#[derive(Debug, Parser)]
#[command(name = "holdpoint", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 done, 1 failed, 2 usage, 3 waiting for a person, 4 cancelled, 5 unavailable.")]
pub(crate) struct Cli {
    /// Print JSON for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a run
    Run(run::Arguments),
    /// List runs
    #[command(visible_alias = "ls")]
    List(list::Arguments),
    /// Show a run
    Show(OneRun),
    /// Follow a run live, and decide when it holds
    Watch(watch::Arguments),
    /// Show everything that waits for you
    Inbox,
    /// Inbox and runs on the whole terminal, decided with the keyboard
    Tui(tui::Arguments),
    /// Say yes to what a run shows
    Approve(approve::Arguments),
    /// Send what a run shows back, with feedback
    Reject(reject::Arguments),
    /// Answer an agent's question
    Answer(answer::Arguments),
    /// Decide on any hold
    Decide(decide::Arguments),
    /// Let a run wait
    Pause(pause::Arguments),
    /// Take over an agent's session in a terminal of your own, in tmux; the run waits until you hand it back
    Attach(attach::Arguments),
    /// Let a paused run go on
    Resume(resume::Arguments),
    /// Say that an assumption was wrong, and what is right
    Overturn(overturn::Arguments),
    /// Say something to the agent at work
    Tell(tell::Arguments),
    /// End a run
    Cancel(cancel::Arguments),
    /// Merge what a run shows into its base branch
    Merge(merge::Arguments),
    /// Push what a run shows and open a pull request for it
    Pr(merge::Arguments),
    /// Make a new run from any checkpoint of a run, without paying again for what came before
    Fork(fork::Arguments),
    /// Print a run's plan, ready to be edited
    Plan(OneRun),
    /// Show runs side by side, and adopt one of them
    Compare(compare::Arguments),
    /// Show what a run changed
    Diff(diff::Arguments),
    /// Show a run's artifacts, or one of them
    Artifact(artifact::Arguments),
    /// Show a run's events
    Events(events::Arguments),
    /// Show what agents said and did in a run
    Log(log::Arguments),
    /// Say why a run is not moving
    Why(OneRun),
    /// Show what a run spent
    Cost(OneRun),
    /// Show how runs went: success, time, money, decisions, by week, playbook or model
    Metrics(metrics::Arguments),
    /// Ask about the code of a repository
    #[command(subcommand)]
    Channel(channel::Action),
    /// Keep a list of tasks: one worker and one reviewer each
    #[command(subcommand)]
    Task(task::Action),
    /// Look at models, and test whether they answer
    #[command(subcommand)]
    Model(model::Action),
    /// Look at playbooks, the project's own too
    #[command(subcommand)]
    Playbook(playbook::Action),
    /// Open the dashboard in a browser, logged in
    Open(open::Arguments),
    /// See who is told when something waits or has ended, and test it
    #[command(subcommand)]
    Notify(notify::Action),
    /// Let people in: viewers, reviewers, admins
    #[command(subcommand)]
    User(user::Action),
    /// Let an agent refine requests, start runs and watch them, over MCP
    Mcp(mcp::Arguments),
    /// Run the server
    Serve(serve::Arguments),
    /// Check the installation and show the configuration
    Doctor,
    /// Show the whole story on a sample repository
    Demo(demo::Arguments),
    /// Print shell completions
    Completions(completions::Arguments),
    /// Check the rules over the recorded history
    Verify,
    #[command(hide = true)]
    Shim,
    #[command(hide = true)]
    Inside {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Look at agent programs, and test whether they work
    #[command(subcommand)]
    Agent(AgentPart),
}

/// Agent programs; and what agents are made of, which is never for people.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentPart {
    /// List the agent programs that are known, with version and who can serve them
    List,
    /// Let a program work through the demo with a scripted model
    Test {
        /// As `--agent` takes it: claude, codex, codex-exec, gemini, opencode, acp:COMMAND, command:COMMAND
        name: String,
    },
    #[command(hide = true)]
    Work {
        #[arg(long)]
        session: PathBuf,
        #[arg(long)]
        door: PathBuf,
    },
    #[command(hide = true)]
    Sit {
        #[arg(long)]
        session: PathBuf,
        #[arg(long)]
        door: PathBuf,
    },
    #[command(hide = true)]
    Relay {
        #[arg(long)]
        session: PathBuf,
    },
}

/// A run.
#[derive(Debug, Args)]
pub(crate) struct OneRun {
    /// Id of the run, or the start of it
    pub(crate) run: String,
}

pub(crate) async fn run(command: Command, session: &Session) -> Result<ExitCode, Failure> {
    match command {
        Command::Run(arguments) => Box::pin(run::run(arguments, session)).await,
        Command::List(arguments) => list::run(&arguments, session).await,
        Command::Show(arguments) => show::run(&arguments, session).await,
        Command::Watch(arguments) => watch::run(&arguments, session).await,
        Command::Inbox => inbox::run(session).await,
        Command::Tui(arguments) => tui::run(&arguments, session).await,
        Command::Approve(arguments) => approve::run(arguments, session).await,
        Command::Reject(arguments) => reject::run(arguments, session).await,
        Command::Answer(arguments) => answer::run(arguments, session).await,
        Command::Decide(arguments) => decide::run(arguments, session).await,
        Command::Attach(arguments) => attach::run(arguments, session).await,
        Command::Pause(arguments) => pause::run(arguments, session).await,
        Command::Resume(arguments) => resume::run(arguments, session).await,
        Command::Overturn(arguments) => overturn::run(arguments, session).await,
        Command::Tell(arguments) => tell::run(arguments, session).await,
        Command::Cancel(arguments) => cancel::run(arguments, session).await,
        Command::Merge(arguments) => merge::run(arguments, session).await,
        Command::Pr(arguments) => pr::run(arguments, session).await,
        Command::Fork(arguments) => Box::pin(fork::run(arguments, session)).await,
        Command::Plan(arguments) => plan::run(&arguments, session).await,
        Command::Compare(arguments) => compare::run(arguments, session).await,
        Command::Diff(arguments) => diff::run(&arguments, session).await,
        Command::Artifact(arguments) => artifact::run(&arguments, session).await,
        Command::Events(arguments) => events::run(&arguments, session).await,
        Command::Log(arguments) => log::run(&arguments, session).await,
        Command::Why(arguments) => why::run(&arguments, session).await,
        Command::Cost(arguments) => cost::run(&arguments, session).await,
        Command::Metrics(arguments) => metrics::run(arguments, session).await,
        Command::Channel(action) => channel::run(action, session).await,
        Command::Task(action) => task::run(action, session).await,
        Command::Model(action) => model::run(action, session).await,
        Command::Playbook(action) => playbook::run(action, session).await,
        Command::Open(arguments) => open::run(arguments, session).await,
        Command::Notify(action) => notify::run(action, session).await,
        Command::User(action) => user::run(action, session).await,
        Command::Mcp(arguments) => mcp::run(&arguments, session).await,
        Command::Serve(arguments) => serve::run(arguments, session).await,
        Command::Doctor => doctor::run(session).await,
        Command::Demo(arguments) => Box::pin(demo::run(arguments, session)).await,
        Command::Completions(arguments) => Ok(completions::run(&arguments, session.report)),
        Command::Verify => verify::run(session),
        Command::Agent(AgentPart::List) => agent::list(session).await,
        Command::Agent(AgentPart::Test { name }) => Box::pin(agent::test(&name, session)).await,
        Command::Shim
        | Command::Inside { .. }
        | Command::Agent(AgentPart::Work { .. } | AgentPart::Sit { .. } | AgentPart::Relay { .. }) => {
            Err(Failure::usage("this is a part of the program, not a command", "see `holdpoint --help`"))
        }
    }
}

/// The hold a run waits on; told on standard error before anything is decided.
async fn held(client: &Client, run: &str, session: &Session) -> Result<HoldView, Failure> {
    let run = client.run(run).await?;
    let Some(held) = run.hold else {
        return Err(Failure::failed(
            "no_hold",
            format!("run {} waits for nobody: it is {}", run.id, run.status.replace('_', " ")),
            "`holdpoint inbox` shows what waits",
        ));
    };
    session.report.note(&hold::about(&held));
    Ok(held)
}

/// Whether a person at the terminal is asked before a yes.
fn asking(yes: bool) -> review::Asking {
    if yes { review::Asking::Never } else { review::Asking::AtTerminal }
}

/// The hold's digest, or the one a script saw.
fn bind(held: &HoldView, digest: Option<String>) -> String {
    digest.unwrap_or_else(|| held.digest.clone())
}

/// A decision was taken.
fn decided(run: &RunView, what: &str, session: &Session) -> ExitCode {
    if session.report.is_json() {
        session.report.json(run);
    } else {
        session
            .report
            .note(&format!("{what}; follow it with `holdpoint watch {}`", crate::report::run::short(&run.id)));
    }
    ExitCode::Done
}
