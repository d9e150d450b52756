//! `run`: starts a run, or several, and follows it when asked to.

use std::{collections::BTreeMap, io::Read as _, path::PathBuf};

use clap::Args;
use wire::{CheckSpec, ExitCode, NewRun, VariantsRequest};

use super::{batch, from};

use crate::{
    failure::Failure,
    report::{clean_line, estimate, run::short},
    session::Session,
    watch::{Decider, conclude, watch},
};

/// In place of a role: every role of the playbook, whatever these are.
const EVERY_ROLE: &str = "*";
/// A request longer than this is refused by the server too.
const LONGEST: u64 = 1024 * 1024;

#[derive(Debug, Default, Args)]
pub(crate) struct Arguments {
    /// What shall be done; `-` reads it from standard input
    #[arg(required_unless_present_any = ["batch", "from"], conflicts_with = "batch")]
    request: Vec<String>,
    /// The git repository
    #[arg(long, value_name = "PATH", default_value = ".")]
    repo: PathBuf,
    /// Follow the run, and decide when it holds
    #[arg(long, short)]
    watch: bool,
    /// Where a person is asked, e.g. planning=manual,fixes=auto
    #[arg(long, value_name = "KEY=auto|manual", value_delimiter = ',', value_parser = pair)]
    trust: Vec<(String, String)>,
    /// Model as role=provider/model, or one for all roles (repeatable); more after commas are tried in that order
    #[arg(long, value_name = "[ROLE=]PROVIDER/MODEL[,…]")]
    model: Vec<String>,
    /// Program that plays a role, e.g. implementer=codex, or one for all roles (repeatable): own, claude, codex,
    /// codex-exec, gemini, opencode, acp:COMMAND, command:COMMAND
    #[arg(long, value_name = "[ROLE=]AGENT")]
    agent: Vec<String>,
    /// How the work is done
    #[arg(long, value_name = "NAME")]
    playbook: Option<String>,
    /// Branch to start from; the checked-out one unless said
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,
    /// Squash-merge into the base when every gate passed
    #[arg(long, overrides_with = "no_auto_merge")]
    auto_merge: bool,
    /// Leave the branch for a person to merge
    #[arg(long)]
    no_auto_merge: bool,
    /// Do not push the branch to the remote
    #[arg(long)]
    no_push: bool,
    /// What the run may spend, in dollars
    #[arg(long, value_name = "USD")]
    budget: Option<f64>,
    /// Command that proves a commit, e.g. 'npm test' (repeatable)
    #[arg(long, value_name = "COMMAND")]
    check: Vec<String>,
    /// Questions the agents may ask before a full approval is asked for
    #[arg(long, value_name = "COUNT")]
    max_clarifications: Option<u32>,
    /// Minutes per stage, e.g. planning=5
    #[arg(long, value_name = "STAGE=MINUTES", value_delimiter = ',', value_parser = minutes)]
    timeout: Vec<(String, u32)>,
    /// Its place among your queued runs
    #[arg(long, value_name = "low|normal|high", value_parser = ["low", "normal", "high"])]
    priority: Option<String>,
    /// Agents of this run at once, where its playbook has several
    #[arg(long, value_name = "COUNT")]
    agents: Option<u32>,
    /// What happens when a task fails
    #[arg(long, value_name = "retry|continue|stop", value_parser = ["retry", "continue", "stop"])]
    on_failure: Option<String>,
    /// Leave the clarifying conversation out
    #[arg(long)]
    skip_clarification: bool,
    /// Turns of the clarifying conversation
    #[arg(long, value_name = "COUNT")]
    max_clarification_rounds: Option<u32>,
    /// Ask you before anything is merged
    #[arg(long)]
    review: bool,
    /// Open a pull request when the work is done
    #[arg(long)]
    pr: bool,
    /// Pursue the request as a goal, in iterations (playbook `goal`)
    #[arg(long, conflicts_with = "playbook")]
    autonomous: bool,
    /// Start every request of a file: one per line, or a TOML or JSON list; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["watch", "variants", "variant"])]
    batch: Option<PathBuf>,
    /// Try the request in so many ways, to choose one of them
    #[arg(long, value_name = "COUNT", conflicts_with = "watch")]
    variants: Option<u32>,
    /// Try the request in this way among others (repeatable)
    #[arg(long, value_name = "APPROACH", conflicts_with = "watch")]
    variant: Vec<String>,
    /// Say what it will probably cost, and start nothing
    #[arg(long, conflicts_with_all = ["watch", "wait", "batch", "variants", "variant"])]
    estimate: bool,
    /// Wait until every run has ended or waits for a person
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    strangers: from::From,
}

pub(super) async fn run(arguments: Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let (watching, waiting) = (arguments.watch, arguments.wait);
    if let Some(file) = arguments.batch.clone() {
        let runs = batch::read(&file, &arguments.into_request()?)?;
        let client = session.connect().await?;
        let started = client.start_batch(&wire::BatchRequest { runs }).await?;
        return batch::started(session, &client, &started, waiting).await;
    }
    let (count, approaches, only_estimate) = (arguments.variants, arguments.variant.clone(), arguments.estimate);
    let new = arguments.into_request()?;
    let client = session.connect().await?;
    if only_estimate {
        let said = client.estimate(&new).await?;
        if session.report.is_json() {
            session.report.json(&said);
        } else {
            session.report.data(&estimate::estimate(&said));
        }
        return Ok(ExitCode::Done);
    }
    if count.is_some() || !approaches.is_empty() {
        let started = client.start_variants(&VariantsRequest { run: new, count, approaches }).await?;
        return batch::started(session, &client, &started, waiting).await;
    }
    // A courtesy: a server that does not say is not a failure, and what is wrong with the request is said by the start.
    if !session.report.is_json()
        && let Ok(said) = client.estimate(&new).await
    {
        session.report.note(&estimate::short(&said));
        for warning in &said.warnings {
            session.report.note(&clean_line(warning));
        }
    }
    let run = client.start(&new).await?;
    if watching || waiting {
        let decider = if watching { Decider::present(session) } else { Decider::Elsewhere };
        let run = watch(session, client, run, 0, decider).await?;
        return Ok(conclude(session, &run));
    }
    if session.report.is_json() {
        session.report.json(&run);
    } else {
        session.report.data(&run.id);
        let follow = format!("follow it with `holdpoint watch {}`", short(&run.id));
        match client.queued(&run).await {
            Some(reason) => session.report.note(&format!("queued: {}; {follow}", clean_line(&reason))),
            None => session.report.note(&format!("started; {follow}")),
        }
    }
    Ok(ExitCode::Done)
}

impl Arguments {
    fn into_request(self) -> Result<NewRun, Failure> {
        let request = if self.request == ["-"] { read_stdin()? } else { self.request.join(" ") };
        let from = self.strangers.texts()?;
        let request = from::request(request, &from);
        if request.trim().is_empty() && self.batch.is_none() {
            return Err(Failure::usage(
                "the request is empty",
                "say what shall be done: `holdpoint run \"add a search\"`, or give a text with `--from FILE`",
            ));
        }
        let auto_merge = match (self.auto_merge, self.no_auto_merge) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        };
        Ok(NewRun {
            project: project(&self.repo)?,
            request,
            playbook: if self.autonomous { Some("goal".to_owned()) } else { self.playbook },
            trust: self.trust.into_iter().collect(),
            models: models(&self.model),
            programs: programs(&self.agent),
            max_clarifications: self.max_clarifications,
            timeout_minutes: self.timeout.into_iter().collect(),
            base_branch: self.base,
            auto_merge,
            push: self.no_push.then_some(false),
            budget_usd: self.budget,
            checks: checks(self.check),
            priority: self.priority,
            agents: self.agents,
            on_failure: self.on_failure,
            skip_clarification: self.skip_clarification.then_some(true),
            max_clarification_rounds: self.max_clarification_rounds,
            review: self.review.then_some(true),
            create_pr: self.pr.then_some(true),
            task: None,
            from,
            trust_sources: self.strangers.trusts(),
        })
    }
}

fn read_stdin() -> Result<String, Failure> {
    let mut request = String::new();
    let read = std::io::stdin().lock().take(LONGEST + 1).read_to_string(&mut request);
    read.map_err(|error| Failure::usage(format!("cannot read the request: {error}"), "give it as UTF-8 text"))?;
    Ok(request.trim_end().to_owned())
}

pub(super) fn project(repo: &std::path::Path) -> Result<String, Failure> {
    let path = repo.canonicalize().map_err(|error| {
        Failure::usage(
            format!("cannot use `{}`: {error}", repo.display()),
            "give the path of a git repository with --repo",
        )
    })?;
    path.into_os_string().into_string().map_err(|path| {
        Failure::usage(format!("`{}` is not UTF-8", path.to_string_lossy()), "use a path with plain letters")
    })
}

/// Models per role, apart by commas in the order they are tried. `planner=a,b` are two for one role, and
/// `planner=a,validator=b` one for each of two.
pub(super) fn models(given: &[String]) -> BTreeMap<String, String> {
    let mut models: BTreeMap<String, String> = BTreeMap::new();
    for text in given {
        let mut role = EVERY_ROLE.to_owned();
        let mut begun = false;
        for part in text.split(',') {
            let model = match part.split_once('=') {
                Some((name, model)) => {
                    (role, begun) = (name.trim().to_owned(), false);
                    model.trim()
                }
                None => part.trim(),
            };
            match models.get_mut(&role).filter(|_| begun) {
                Some(list) => list.extend([",", model]),
                None => drop(models.insert(role.clone(), model.to_owned())),
            }
            begun = true;
        }
    }
    models
}

/// Programs per role. A command may have `=` in it: only a plain word before the first one is a role.
pub(super) fn programs(given: &[String]) -> BTreeMap<String, String> {
    let is_role = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_*".contains(c));
    let named = given.iter().map(|text| match text.split_once('=').filter(|(role, _)| is_role(role.trim())) {
        Some((role, program)) => (role.trim().to_owned(), program.trim().to_owned()),
        None => (EVERY_ROLE.to_owned(), text.trim().to_owned()),
    });
    named.collect()
}

pub(super) fn checks(commands: Vec<String>) -> Option<Vec<CheckSpec>> {
    let named = commands.into_iter().map(|command| CheckSpec { name: command.clone(), command });
    Some(named.collect()).filter(|checks: &Vec<CheckSpec>| !checks.is_empty())
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| format!("`{text}` has no `=`"))?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

fn minutes(text: &str) -> Result<(String, u32), String> {
    let (stage, minutes) = pair(text)?;
    minutes.parse().map(|minutes| (stage, minutes)).map_err(|_| format!("`{minutes}` is not a number of minutes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_model_is_for_all_roles_and_a_named_one_wins() {
        let models = models(&["openai/a".to_owned(), "validator=anthropic/b".to_owned()]);
        let expected = [("*", "openai/a"), ("validator", "anthropic/b")];
        assert_eq!(models, expected.map(|(role, model)| (role.to_owned(), model.to_owned())).into());
    }

    #[test]
    fn a_program_is_for_one_role_or_for_all_and_its_command_may_have_an_equals_sign() {
        let programs = programs(&["implementer=codex".into(), "acp:tool --mode=acp".into()]);
        let expected = [("implementer", "codex"), ("*", "acp:tool --mode=acp")];
        assert_eq!(programs, expected.map(|(role, program)| (role.to_owned(), program.to_owned())).into());
    }

    #[test]
    fn models_after_commas_are_tried_in_that_order() {
        let said = |text: &str| models(&[text.to_owned()]).into_iter().collect::<Vec<_>>();
        let pair = |role: &str, list: &str| (role.to_owned(), list.to_owned());
        assert_eq!(said("planner=a/x, b/y"), [pair("planner", "a/x,b/y")]);
        assert_eq!(said("planner=a/x,validator=b/y,c/z"), [pair("planner", "a/x"), pair("validator", "b/y,c/z")]);
        assert_eq!(said("a/x,b/y"), [pair("*", "a/x,b/y")]);
    }

    #[test]
    fn what_is_not_said_is_left_to_the_server() {
        let arguments = Arguments { request: vec!["do it".to_owned()], repo: ".".into(), ..Arguments::default() };
        let new = arguments.into_request().unwrap();
        let json = serde_json::to_value(&new).unwrap();
        let keys: Vec<_> = json.as_object().unwrap().keys().cloned().collect();
        assert_eq!(keys, ["project", "request"]);
    }
}
