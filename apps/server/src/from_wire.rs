//! From what is asked to what the core takes. Everything wrong is refused here with the field at fault.

mod decide;
mod fork;
mod programs;
mod strangers;

use std::collections::BTreeMap;
use std::path::Path;

use domain::{
    Actor, Check, Gate, GitPolicy, Micros, ModelName, OnFailure, Playbook, Priority, RunConfig, Start, TaskBrief,
    TaskWord, Trust, TrustKey,
};
use runner::project::{Project, ProjectError, inspect};
use wire::{CheckSpec, NewRun};

use crate::config::{ProjectFile, Setup, check_model, default_model, with_provider};
use crate::playbooks;
use crate::problem::Failure;

pub(crate) use decide::{check_chosen, decision, hold_id};
pub(crate) use fork::{changes as fork_changes, decision as fork_decision};
use programs::Cast;

/// In place of a role: a model for all that have none of their own.
const EVERY_ROLE: &str = "*";

/// A new run, with every default filled in.
pub(crate) async fn start(setup: &Setup, new: NewRun, by: Actor) -> Result<Start, Failure> {
    let task = task(&new)?;
    Start::check_request(&new.request, task.is_some())
        .map_err(|reason| Failure::user("request", "bad_request", reason, "send another request text"))?;
    let on_failure = on_failure(new.on_failure.as_deref())?;
    let said = said_trust(&new.trust)?;
    let project = project(setup, &new.project, new.base_branch.as_deref()).await?;
    let playbook = playbooks::find(new.playbook.as_deref().unwrap_or("autonomous"), &project.playbooks)?;
    check_roles(&playbook, "models", new.models.keys())?;
    check_roles(&playbook, "programs", new.programs.keys())?;
    check_timeouts(&playbook, &new.timeout_minutes)?;
    let priority = priority(new.priority.as_deref())?;
    let (from, trusted) = (strangers::brought(&new)?, strangers::trusted(setup, &new));
    let file = project_file(&project)?;
    let wishes = Wishes { file: &file, roles: &project.roles };
    let cast = programs::cast(setup, &playbook, &new, &file)?;
    let lists = models(setup, &playbook, &new, &wishes, &cast)?;
    let counted = lists.iter().filter(|(role, _)| !cast.direct.contains(*role));
    let budget = budget(setup, &new, counted.flat_map(|(_, list)| list))?;
    let first = |(role, list): (&String, &Vec<ModelName>)| Some((role.clone(), list.first()?.clone()));
    let rest = |(role, list): (&String, &Vec<ModelName>)| Some((role.clone(), list.get(1..)?.to_vec()));
    let (rounds, agents) = (rounds(setup, &new)?, agents(&new)?);
    let checks = match &new.checks {
        Some(checks) => checks.iter().map(check).collect::<Result<_, _>>()?,
        None => file.checks.clone(),
    };
    let mut config = RunConfig {
        trust: trust(setup, &file, &said),
        max_clarifications: max_clarifications(setup, &new, &file)?,
        models: lists.iter().filter_map(first).collect(),
        fallbacks: lists.iter().filter_map(rest).filter(|(_, list)| !list.is_empty()).collect(),
        agents: cast.programs,
        direct: cast.direct,
        timeout_minutes: new.timeout_minutes,
        git: GitPolicy {
            base_branch: project.base_branch.clone(),
            auto_merge: new
                .auto_merge
                .unwrap_or_else(|| setup.defaults.auto_merge.unwrap_or(false) && !file.no_auto_merge),
            push: new.push.or(setup.defaults.push).unwrap_or(true),
            // What nobody set is no yes to code.
            ask_push: !set_by_user(setup, &said, TrustKey::Implementation, Gate::Auto),
            create_pr: new.create_pr.unwrap_or(false),
            review: new.review.unwrap_or(false),
        },
        budget,
        estimate: None,
        checks,
        exclude_paths: file.exclude_paths.clone(),
        require_approval: Vec::new(),
        skip_clarification: new.skip_clarification.or(setup.defaults.skip_clarification).unwrap_or(false),
        max_clarification_rounds: rounds,
        max_concurrency: agents,
        on_failure,
        risk: domain::RiskPolicy::default(),
        group: None,
        priority,
        task: task.map(Box::new),
        from,
        trusted,
    };
    strangers::check_logins(&config)?;
    check_stages(&playbook, &file.policy.require_approval_for)?;
    config.tighten(&file.policy);
    file.limits.tighten(&mut config);
    Ok(Start { project: project.root.display().to_string(), request: new.request, playbook, config, by, parent: None })
}

/// What is said with a task. Only runs of its playbook stand for one.
fn task(new: &NewRun) -> Result<Option<TaskBrief>, Failure> {
    let Some(task) = &new.task else { return Ok(None) };
    if new.playbook.as_deref() != Some(TaskWord::PLAYBOOK) {
        let message = "only a run of the playbook `task` stands for a task";
        return Err(Failure::user("task", "not_a_task", message, "send `playbook: \"task\"`, or leave `task` out"));
    }
    let context = task.context.clone().filter(|context| !context.trim().is_empty());
    if context.as_ref().is_some_and(|context| context.len() > TaskBrief::MAX_CONTEXT) {
        let message = format!("the context has more than {} bytes", TaskBrief::MAX_CONTEXT);
        return Err(Failure::user("task", "context_too_long", message, "put it in a file of the repository"));
    }
    let name = task.name.clone().filter(|name| !name.trim().is_empty());
    if name.as_ref().is_some_and(|name| name.len() > 100 || name.chars().any(char::is_control)) {
        return Err(Failure::user("task", "bad_name", "the name is not a short one", "use a few words in one line"));
    }
    Ok(Some(TaskBrief { name, context }))
}

impl From<ProjectError> for Failure {
    fn from(error: ProjectError) -> Self {
        Self::user(error.field(), error.code(), error.message(), error.hint())
    }
}

/// A look at the repository at an absolute path.
pub(crate) async fn project(setup: &Setup, path: &str, base: Option<&str>) -> Result<Project, Failure> {
    if !Path::new(path).is_absolute() || path.contains('\0') {
        let message = "the project must be an absolute path";
        return Err(Failure::user("project", "bad_project", message, "send the full path of the repository"));
    }
    Ok(inspect(Path::new(path), base, &setup.home).await?)
}

fn priority(said: Option<&str>) -> Result<Priority, Failure> {
    let Some(said) = said else { return Ok(Priority::default()) };
    said.parse().map_err(|error: domain::ConfigError| {
        Failure::user("priority", "bad_priority", plain(&error.to_string()), "leave it out for `normal`")
    })
}

fn said_trust(trust: &BTreeMap<String, String>) -> Result<Vec<(TrustKey, Gate)>, Failure> {
    let mut said = Vec::new();
    for (key, value) in trust {
        let refuse = |error: domain::ConfigError| {
            let hint = "trust takes `planning`, `implementation`, `fixes`, each `auto` or `manual`";
            Failure::user("trust", "bad_trust", plain(&error.to_string()), hint)
        };
        said.push((key.parse().map_err(refuse)?, value.parse().map_err(refuse)?));
    }
    Ok(said)
}

/// Whether the user set a switch so, with the request or in their own configuration; a repository's word is none.
fn set_by_user(setup: &Setup, said: &[(TrustKey, Gate)], key: TrustKey, gate: Gate) -> bool {
    let defaults = setup.defaults.trust.iter().map(|(key, gate)| (*key, *gate));
    let last = defaults.chain(said.iter().copied()).rfind(|(known, _)| *known == key);
    last.is_some_and(|(_, set)| set == gate)
}

/// The user's defaults, closed further by the repository; a request's own word comes last.
fn trust(setup: &Setup, file: &ProjectFile, said: &[(TrustKey, Gate)]) -> Trust {
    let mut trust = Trust::default();
    for (key, gate) in &setup.defaults.trust {
        trust.set(*key, *gate);
    }
    for key in &file.manual {
        trust.set(*key, Gate::Manual);
    }
    for (key, gate) in said {
        trust.set(*key, *gate);
    }
    trust
}

fn check_roles<'a>(
    playbook: &Playbook,
    field: &'static str,
    roles: impl Iterator<Item = &'a String>,
) -> Result<(), Failure> {
    let known = playbook.roles();
    for role in roles {
        if role != EVERY_ROLE && !known.contains(&role.as_str()) {
            let message = format!("the playbook `{}` has no role `{}`", playbook.name, plain(role));
            return Err(Failure::user(field, "unknown_role", message, format!("there are: {}", known.join(", "))));
        }
    }
    Ok(())
}

fn check_timeouts(playbook: &Playbook, minutes: &BTreeMap<String, u32>) -> Result<(), Failure> {
    for (stage, minutes) in minutes {
        if playbook.index_of(stage).is_none() {
            let known: Vec<_> = playbook.stages.iter().map(|stage| stage.name.as_str()).collect();
            let message = format!("the playbook `{}` has no stage `{}`", playbook.name, plain(stage));
            let hint = format!("there are: {}", known.join(", "));
            return Err(Failure::user("timeoutMinutes", "unknown_stage", message, hint));
        }
        if !(1..=10_080).contains(minutes) {
            let message = format!("{minutes} minutes are not possible for `{stage}`");
            return Err(Failure::user("timeoutMinutes", "bad_timeout", message, "use 1 to 10080 minutes"));
        }
    }
    Ok(())
}

fn project_file(project: &Project) -> Result<ProjectFile, Failure> {
    let Some(text) = &project.config else { return Ok(ProjectFile::default()) };
    let file = ProjectFile::parse(text).map_err(|reason| {
        let message = format!(".autonomous/config.json on `{}` cannot be used: {reason}", project.base_branch);
        Failure::user("project", "bad_project_config", plain(&message), "mend the file, commit it, and ask again")
    })?;
    playbooks::check_stage_names(&file.policy.require_approval_for, project)?;
    Ok(file)
}

/// The models of each role, in the order they are tried; no list is empty.
fn models(
    setup: &Setup,
    playbook: &Playbook,
    new: &NewRun,
    wishes: &Wishes<'_>,
    cast: &Cast,
) -> Result<BTreeMap<String, Vec<ModelName>>, Failure> {
    let mut models = BTreeMap::new();
    for role in playbook.roles() {
        if cast.direct.contains(role) {
            models.extend(direct_model(setup, new, cast, role)?.map(|model| (role.to_owned(), vec![model])));
            continue;
        }
        let by_role = role_models(setup, wishes, role)?;
        let said = new.models.get(role).or_else(|| new.models.get(EVERY_ROLE));
        let list = match (said, setup.defaults.models.get(role)) {
            (Some(said), _) => said_models(said)?,
            (None, Some(default)) => default.clone(),
            (None, None) => vec![unsaid_model(setup, wishes.file, role, by_role)?],
        };
        for model in &list {
            check_model(&setup.models, model).map_err(|problem| {
                Failure::user("models", &problem.code, format!("{role}: {}", plain(&problem.message)), problem.hint)
            })?;
        }
        cast.check_served(setup, role, &list)?;
        models.insert(role.to_owned(), list);
    }
    Ok(models)
}

/// The model of a program with its own login: one of its vendor's, or none, and then it chooses for itself.
fn direct_model(setup: &Setup, new: &NewRun, cast: &Cast, role: &str) -> Result<Option<ModelName>, Failure> {
    let vendor = cast.vendor(role);
    let fits = |model: &ModelName| vendor.is_none_or(|vendor| vendor == model.provider());
    if let Some(said) = new.models.get(role) {
        return match said_models(said)?.into_iter().next() {
            Some(model) if fits(&model) => Ok(Some(model)),
            None => Ok(None),
            Some(model) => {
                let vendor = vendor.unwrap_or_default();
                let message = format!("{role}: with its own login `{}` has no model `{model}`", cast.program(role));
                let hint = format!("name one as `{vendor}/MODEL`, or none: then it takes its own");
                Err(Failure::user("models", "agent_not_served", plain(&message), hint))
            }
        };
    }
    let everyone = new.models.get(EVERY_ROLE).map(|said| said_models(said)).transpose()?;
    let list = everyone.or_else(|| setup.defaults.models.get(role).cloned()).unwrap_or_default();
    Ok(list.into_iter().find(fits))
}

fn said_models(said: &str) -> Result<Vec<ModelName>, Failure> {
    let names = said.split(',').map(|name| name.trim().parse());
    names.collect::<Result<_, _>>().map_err(|error: domain::ConfigError| {
        let hint = "write `provider/model`, or several in the order they are tried, with commas between them";
        Failure::user("models", "bad_model", plain(&error.to_string()), hint)
    })
}

/// Models a repository would like.
struct Wishes<'a> {
    file: &'a ProjectFile,
    roles: &'a BTreeMap<String, String>,
}

/// What the files about a role say, the user's own first. One that cannot be used is refused before anything starts.
fn role_models(
    setup: &Setup,
    wishes: &Wishes<'_>,
    role: &str,
) -> Result<(Option<ModelName>, Option<ModelName>), Failure> {
    let parse = |path: String, text: &str| {
        drivers::RoleSettings::parse(text).map_err(|error| {
            let message = format!("`{path}`, {error}");
            Failure::user("project", "bad_role", plain(&message), "correct the file; a project's must be committed")
        })
    };
    let file = setup.home.join("roles").join(format!("{role}.toml"));
    let own = match std::fs::read_to_string(&file) {
        Ok(text) => parse(file.display().to_string(), &text)?.model,
        Err(_) => None,
    };
    let theirs = match wishes.roles.get(role) {
        Some(text) => parse(format!(".autonomous/roles/{role}.toml"), text)?.model,
        None => None,
    };
    Ok((own, theirs))
}

/// The repository may name a model, but only one the user has set up.
fn unsaid_model(
    setup: &Setup,
    file: &ProjectFile,
    role: &str,
    (own, theirs): (Option<ModelName>, Option<ModelName>),
) -> Result<ModelName, Failure> {
    if let Some(own) = own {
        return Ok(own);
    }
    let wished = file.models.get(role).and_then(|model| with_provider(model).ok()).or(theirs);
    let usable = wished.filter(|model| check_model(&setup.models, model).is_ok());
    usable.or_else(|| default_model(&setup.models)).ok_or_else(|| {
        let hint = "set ANTHROPIC_API_KEY, OPENAI_API_KEY or DEEPSEEK_API_KEY where the server is started and start \
                    it again, or name a model for each role";
        Failure::user("models", "no_model", format!("there is no model for the {role}"), hint)
    })
}

fn budget<'a>(
    setup: &Setup,
    new: &NewRun,
    mut models: impl Iterator<Item = &'a ModelName>,
) -> Result<Option<Micros>, Failure> {
    let said = match new.budget_usd {
        None => None,
        Some(usd) => Some(Micros::from_usd(usd).filter(|sum| sum.0 > 0).ok_or_else(|| {
            let message = format!("{usd} dollars are not a budget");
            Failure::user("budgetUsd", "bad_budget", message, "use a sum above 0, for example 2.50")
        })?),
    };
    let budget = said.or(setup.defaults.budget);
    if budget.is_none() && setup.models.shared.is_none() {
        return Ok(None);
    }
    match models.find(|model| !setup.models.has_price(model)) {
        None => Ok(budget),
        Some(model) => {
            let message = format!("the price of `{model}` is not known, so a budget cannot be kept");
            let hint = "add its price to `prices.toml` in the data directory, use another model, or drop the budgets";
            Err(Failure::user("budgetUsd", "unknown_price", message, hint))
        }
    }
}

fn max_clarifications(setup: &Setup, new: &NewRun, file: &ProjectFile) -> Result<u32, Failure> {
    if let Some(said) = new.max_clarifications.filter(|said| *said > 100) {
        let message = format!("{said} questions are too many");
        return Err(Failure::user("maxClarifications", "bad_limit", message, "use 0 to 100"));
    }
    let own = setup.defaults.max_clarifications.unwrap_or(3);
    Ok(new.max_clarifications.unwrap_or_else(|| file.max_clarifications.map_or(own, |wish| wish.min(own))))
}

fn rounds(setup: &Setup, new: &NewRun) -> Result<Option<u32>, Failure> {
    match new.max_clarification_rounds.filter(|said| !(1..=100).contains(said)) {
        Some(said) => {
            let message = format!("{said} turns are not possible");
            Err(Failure::user("maxClarificationRounds", "bad_limit", message, "use 1 to 100"))
        }
        None => Ok(new.max_clarification_rounds.or(setup.defaults.max_clarification_rounds)),
    }
}

fn agents(new: &NewRun) -> Result<Option<u32>, Failure> {
    match new.agents.filter(|said| !(1..=100).contains(said)) {
        Some(said) => {
            let message = format!("{said} agents at once are not possible");
            Err(Failure::user("agents", "bad_limit", message, "use 1 to 100"))
        }
        None => Ok(new.agents),
    }
}

fn on_failure(said: Option<&str>) -> Result<Option<OnFailure>, Failure> {
    let parsed = said.map(|word| {
        word.parse().map_err(|error: domain::ConfigError| {
            let hint = "`retry` tries it once more, `continue` leaves it out, `stop` fails the run";
            Failure::user("onFailure", "bad_policy", plain(&error.to_string()), hint)
        })
    });
    parsed.transpose()
}

/// A stage nobody has would be a gate that is silently left out.
fn check_stages(playbook: &Playbook, stages: &[String]) -> Result<(), Failure> {
    let built_in: Vec<Playbook> = Playbook::built_in_names().filter_map(Playbook::built_in).collect();
    let known = |wanted: &str| {
        let has = |playbook: &Playbook| {
            playbook.index_of(wanted).is_some()
                || playbook.children.iter().any(|child| child.index_of(wanted).is_some())
        };
        wanted.parse::<TrustKey>().is_ok() || has(playbook) || built_in.iter().any(has)
    };
    match stages.iter().find(|stage| !known(stage)) {
        None => Ok(()),
        Some(stage) => {
            let message =
                format!(".autonomous/config.json: requireApprovalFor names `{}`, which is no stage", plain(stage));
            let hint = "name stages of the playbooks you use; `holdpoint playbook list` shows them";
            Err(Failure::user("project", "bad_project_config", message, hint))
        }
    }
}

fn check(spec: &CheckSpec) -> Result<Check, Failure> {
    let usable = |text: &str| !text.trim().is_empty() && text.len() <= 4096 && !text.contains('\0');
    if usable(&spec.name) && usable(&spec.command) {
        return Ok(Check { name: spec.name.clone(), command: spec.command.clone() });
    }
    let message = "a check needs a name and a command, each of at most 4096 bytes";
    Err(Failure::user("checks", "bad_check", message, "for example {\"name\": \"test\", \"command\": \"npm test\"}"))
}

/// A client's text, fit to be shown back to it.
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(300).collect()
}
