//! What a fork does otherwise, from how it is asked for.

use domain::{AgentProgram, ForkChanges, Micros, ModelName, Run};
use drivers::driver;
use wire::{DecideRequest, ForkDecision, ForkRequest};

use super::programs::{check_served, program, uses_own_login};
use super::{EVERY_ROLE, check_roles, decide, plain, said_models};
use crate::config::{Setup, check_model};
use crate::problem::Failure;

/// What is different; `run` is the origin as it stood at the point.
pub(crate) fn changes(setup: &Setup, run: &Run, request: &ForkRequest) -> Result<ForkChanges, Failure> {
    let playbook = &run.opened().playbook;
    check_roles(playbook, "models", request.models.keys())?;
    check_roles(playbook, "programs", request.programs.keys())?;
    let mut changes = ForkChanges {
        decision: request.decision.as_ref().map(decision).transpose()?,
        budget: request.budget_usd.map(budget).transpose()?,
        ..ForkChanges::default()
    };
    if let Some(decision) = &changes.decision {
        decide::check_chosen(setup, run, decision)?;
    }
    for role in playbook.roles() {
        recast(setup, run, request, role, &mut changes)?;
    }
    check_logins(run, &changes)?;
    check_prices(setup, run, &changes)?;
    Ok(changes)
}

/// The decision that is made at the point.
pub(crate) fn decision(said: &ForkDecision) -> Result<domain::Decision, Failure> {
    let ForkDecision { decision, text, answer, minutes, usd, model } = said.clone();
    let request = DecideRequest { decision, text, answer, minutes, usd, model, ..DecideRequest::default() };
    decide::decision(&request)
}

fn budget(usd: f64) -> Result<Micros, Failure> {
    Micros::from_usd(usd).filter(|sum| sum.0 > 0).ok_or_else(|| {
        let message = format!("{usd} dollars are not a budget");
        Failure::user("budgetUsd", "bad_budget", message, "use a sum above 0, for example 2.50")
    })
}

/// Who plays a role from there on, and with which model.
fn recast(
    setup: &Setup,
    run: &Run,
    request: &ForkRequest,
    role: &str,
    changes: &mut ForkChanges,
) -> Result<(), Failure> {
    let said = request.programs.get(role).or_else(|| request.programs.get(EVERY_ROLE));
    let said = said.map(|text| program(text)).transpose()?;
    let (plays, direct) = match &said {
        Some(said) => (said.clone(), uses_own_login(setup, role, said)?),
        None => (run.program(role), run.is_direct(role)),
    };
    let model = model(setup, request, role, &plays, direct)?;
    if said.is_some() && !direct {
        let known = model.as_ref().or_else(|| run.model(role)).ok_or_else(|| no_model(role, &plays))?;
        check_served(setup, role, &plays, known)?;
    }
    if let Some(said) = said {
        changes.agents.insert(role.to_owned(), said);
        changes.direct.extend(direct.then(|| role.to_owned()));
    }
    changes.models.extend(model.map(|model| (role.to_owned(), model)));
    Ok(())
}

fn no_model(role: &str, program: &AgentProgram) -> Failure {
    let message = format!("{role}: the model of `{program}` is not known");
    Failure::user("models", "no_model", plain(&message), format!("name one with --model {role}=PROVIDER/MODEL"))
}

fn model(
    setup: &Setup,
    request: &ForkRequest,
    role: &str,
    program: &AgentProgram,
    direct: bool,
) -> Result<Option<ModelName>, Failure> {
    let named = request.models.get(role);
    let Some(said) = named.or_else(|| request.models.get(EVERY_ROLE)) else { return Ok(None) };
    let list = said_models(said)?;
    let [model] = list.as_slice() else {
        let message = format!("{role}: a fork goes on with one model, not with {}", list.len());
        return Err(Failure::user("models", "bad_model", message, "name one `provider/model`"));
    };
    if direct {
        let fits = driver::vendor(program).is_none_or(|vendor| vendor == model.provider());
        return match fits {
            true => Ok(Some(model.clone())),
            // What is said for all is not said to who cannot have it.
            false if named.is_none() => Ok(None),
            false => {
                let message = format!("{role}: with its own login `{program}` has no model `{model}`");
                Err(Failure::user("models", "agent_not_served", plain(&message), "name one of its vendor's, or none"))
            }
        };
    }
    check_model(&setup.models, model).map_err(|problem| {
        Failure::user("models", &problem.code, format!("{role}: {}", plain(&problem.message)), problem.hint)
    })?;
    check_served(setup, role, program, model)?;
    Ok(Some(model.clone()))
}

/// A login of the user is given to nobody in a run that has read text of strangers.
fn check_logins(run: &Run, changes: &ForkChanges) -> Result<(), Failure> {
    let config = &run.opened().config;
    let untrusted = run.taints.iter().find(|taint| !config.trusts(&taint.source));
    let (Some(taint), Some(role)) = (untrusted, changes.direct.first()) else { return Ok(()) };
    let words = plain(&taint.source.words());
    let message =
        format!("the {role} would work with a login of yours, and the run has read text of strangers: {words}");
    Err(Failure::user("programs", "login_refused", message, "use a program that goes through the broker"))
}

fn check_prices(setup: &Setup, run: &Run, changes: &ForkChanges) -> Result<(), Failure> {
    let limit = changes.budget.or(run.opened().config.budget);
    if limit.is_none() && setup.models.shared.is_none() {
        return Ok(());
    }
    let roles = run.opened().playbook.roles();
    let direct = |role: &str| match changes.agents.contains_key(role) {
        true => changes.direct.contains(role),
        false => run.is_direct(role),
    };
    let counted = roles.into_iter().filter(|role| !direct(role));
    let mut models = counted.filter_map(|role| changes.models.get(role).or_else(|| run.model(role)));
    match models.find(|model| !setup.models.has_price(model)) {
        None => Ok(()),
        Some(model) => {
            let message = format!("the price of `{model}` is not known, so a budget cannot be kept");
            let hint = "add its price to `prices.toml` in the data directory, use another model, or drop the budgets";
            Err(Failure::user("models", "unknown_price", message, hint))
        }
    }
}
