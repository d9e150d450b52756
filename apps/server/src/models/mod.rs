//! Models as the faces show them: who offers which, what they cost, who uses them, and whether they answer.

mod list;
mod verdict;

use domain::{ModelName, Playbook};
use runner::try_model;
use tokio::task::JoinSet;
use wire::{ModelTestRequest, ModelTestView};

pub(crate) use list::view;

use crate::config::{Setup, check_model, default_model, with_provider};
use crate::problem::Failure;

/// Models that one request may try.
const MOST: usize = 50;
/// The role of channels, which no playbook has.
const DISCUSSION: &str = "discussion";

/// The roles there are: of the built-in playbooks, of channels, and those the user chose models for.
fn roles(setup: &Setup) -> Vec<String> {
    let playbooks: Vec<Playbook> = Playbook::built_in_names().filter_map(Playbook::built_in).collect();
    let of_playbooks = playbooks.iter().flat_map(|playbook| playbook.roles());
    let mut roles: Vec<String> = Vec::new();
    for role in of_playbooks.chain([DISCUSSION]).chain(setup.defaults.models.keys().map(String::as_str)) {
        if !roles.iter().any(|known| known == role) {
            roles.push(role.to_owned());
        }
    }
    roles
}

/// What a role uses when a run says nothing, in the order it is tried.
fn models_of(setup: &Setup, role: &str) -> Vec<ModelName> {
    match setup.defaults.models.get(role) {
        Some(chosen) => chosen.clone(),
        None => default_model(&setup.models).into_iter().collect(),
    }
}

/// Makes one tiny call to each of the models, all at once.
pub(crate) async fn test(setup: &Setup, request: &ModelTestRequest) -> Result<Vec<ModelTestView>, Failure> {
    let protocol = request.protocol.as_deref().map(verdict::protocol).transpose()?;
    let models = wanted(setup, request)?;
    let mut calls = JoinSet::new();
    let mut views: Vec<Option<ModelTestView>> = models.iter().map(|_| None).collect();
    for (place, model) in models.into_iter().enumerate() {
        if let Err(problem) = check_model(&setup.models, &model) {
            views[place] = Some(verdict::not_made(&model, problem));
            continue;
        }
        let (models, home) = (setup.models.clone(), setup.home.clone());
        calls.spawn(async move {
            let tried = try_model(&models, &home, &model, protocol).await;
            (place, model, tried)
        });
    }
    while let Some(joined) = calls.join_next().await {
        let (place, model, tried) = joined.map_err(|_| Failure::bug("a test call broke off"))?;
        let key = verdict::Key::of(setup, model.provider());
        views[place] = Some(match tried {
            Ok(tried) => verdict::view(&model, &tried, &key),
            Err(error) => verdict::not_made(&model, verdict::no_call(&error)),
        });
    }
    Ok(views.into_iter().flatten().collect())
}

fn wanted(setup: &Setup, request: &ModelTestRequest) -> Result<Vec<ModelName>, Failure> {
    let refused = |error: String| Failure::user("models", "bad_model", error, "write `provider/model`");
    let mut models: Vec<ModelName> = Vec::new();
    let said = request.models.iter().map(|name| with_provider(name.trim()));
    for model in said.collect::<Result<Vec<_>, _>>().map_err(|error| refused(error.to_string()))? {
        if !models.contains(&model) {
            models.push(model);
        }
    }
    if request.models.is_empty() {
        for model in roles(setup).iter().flat_map(|role| models_of(setup, role)) {
            if !models.contains(&model) {
                models.push(model);
            }
        }
    }
    match models.len() {
        0 => {
            let hint = "set a provider's key where the server is started and start it again, or name a model";
            Err(Failure::user("models", "no_model", "no role has a model to test", hint))
        }
        1..=MOST => Ok(models),
        count => {
            let message = format!("{count} models are too many at once");
            Err(Failure::user("models", "too_many", message, format!("test at most {MOST} at a time")))
        }
    }
}
