//! The demo: a sample repository, a private server with a scripted model, one run from request to merge.
//! Everything but the model is the product itself; nothing outside the demo's folder is written.

mod sample;
mod stop;
mod summary;

use std::{collections::BTreeMap, path::Path};

use wire::{ExitCode, NewRun, RunView};

use crate::{
    failure::Failure,
    home::Home,
    report::{
        self,
        style::{BOLD, DIM},
    },
    session::Session,
    watch::{Decider, watch},
};

/// What the sample's owner wants.
const REQUEST: &str = "Add a search: GET /notes?q=word gives only the notes that contain the word.";

/// Settings of the user's own server that must not reach the demo's.
const FOREIGN: [&str; 4] = ["ORCHESTRATOR_PORT", "DATABASE_URL", "DEFAULT_AUTO_MERGE", "DEFAULT_MAX_CLARIFICATIONS"];

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answers {
    PersonIfPresent,
    FirstOption,
}

/// Runs the demo in a folder of its own and stops its server again.
pub(crate) async fn run(
    folder: &Path,
    answers: Answers,
    programs: BTreeMap<String, String>,
    session: &Session,
) -> Result<ExitCode, Failure> {
    let folder = std::path::absolute(folder).map_err(|error| Failure::file("use", folder, &error))?;
    let home = Home::at(folder.join("home"));
    sample::clear(&folder, &home).await?;
    let repository = sample::create(&folder, &home)?;
    let decider = match answers {
        Answers::PersonIfPresent if report::person_present() && !session.report.is_json() => Decider::Person,
        Answers::PersonIfPresent | Answers::FirstOption => Decider::Always,
    };
    introduce(&repository, decider, session);
    let channel = if decider == Decider::Always { "demo" } else { "cli" };
    let session = session.apart(home.clone(), &FOREIGN, channel);
    let told = tell(&repository, decider, programs, &session).await;
    let stopped = stop::server(&home).await;
    let run = told?;
    stopped?;
    if session.report.is_json() {
        session.report.json(&run);
    } else {
        session.report.data(&summary::render(&run, &repository, &home)?);
    }
    Ok(ExitCode::of_status(&run.status))
}

/// Plays the story with the given programs, without a person, and gives back the run.
pub(crate) async fn try_out(
    folder: &Path,
    programs: BTreeMap<String, String>,
    session: &Session,
) -> Result<RunView, Failure> {
    let home = Home::at(folder.join("home"));
    sample::clear(folder, &home).await?;
    let repository = sample::create(folder, &home)?;
    let session = session.apart(home.clone(), &FOREIGN, "demo");
    let told = tell(&repository, Decider::Always, programs, &session).await;
    stop::server(&home).await?;
    told
}

async fn tell(
    repository: &Path,
    decider: Decider,
    programs: BTreeMap<String, String>,
    session: &Session,
) -> Result<RunView, Failure> {
    let client = session.connect().await?;
    let run = client.start(&request(repository, programs)).await?;
    watch(session, client.clone(), run, 0, decider).await
}

fn request(repository: &Path, programs: BTreeMap<String, String>) -> NewRun {
    let pairs = |pairs: [(&str, &str); 3]| pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    NewRun {
        project: repository.display().to_string(),
        request: REQUEST.to_owned(),
        trust: pairs([("planning", "manual"), ("implementation", "auto"), ("fixes", "auto")]),
        models: pairs(["planner", "implementer", "validator"].map(|role| (role, "scripted/demo"))),
        programs,
        auto_merge: Some(true),
        push: Some(false),
        ..NewRun::default()
    }
}

fn introduce(repository: &Path, decider: Decider, session: &Session) {
    let answers = match decider {
        Decider::Always => "every hold is answered with yes or its first option",
        Decider::Person | Decider::Elsewhere => "you decide; the script goes the same way whatever you answer",
    };
    session.report.note(&format!(
        "{BOLD}Holdpoint demo{BOLD:#}\n{DIM}repository  {DIM:#}{}\n{DIM}request     {DIM:#}{REQUEST}\n{DIM}model       {DIM:#}scripted; agents, sandbox, checks and git are real\n{DIM}decisions   {DIM:#}{answers}\n",
        repository.display()
    ));
}
