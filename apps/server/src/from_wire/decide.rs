//! Decisions as they are sent, with exactly what each takes.

use domain::{Decision, HoldId, Micros, ModelName, Run, RunId};
use wire::{DecideRequest, Fault};

use super::plain;
use crate::config::{Setup, check_model};
use crate::problem::Failure;

/// Every decision, with the fields it takes.
const DECISIONS: &[(&str, &[&str])] = &[
    ("approve", &["text"]),
    ("reject", &["text"]),
    ("suggest", &["text"]),
    ("modify_plan", &["text"]),
    ("ask", &["text"]),
    ("answer", &["answer"]),
    ("ignore", &[]),
    ("retry", &["text", "model"]),
    ("approve_for_run", &[]),
    ("accept_anyway", &["text"]),
    ("extend", &["minutes"]),
    ("raise", &["usd"]),
    ("resolve", &[]),
    ("create_pr", &[]),
    ("take_over", &[]),
    ("resume", &[]),
    ("cancel", &["text"]),
];

/// A decision, with exactly what it takes.
pub(crate) fn decision(request: &DecideRequest) -> Result<Decision, Failure> {
    let Some((word, takes)) = DECISIONS.iter().find(|(word, _)| *word == request.decision) else {
        let hint = "a hold lists the decisions it takes under `allowed`";
        let message = format!("`{}` is not a decision", plain(&request.decision));
        return Err(Failure::user("decision", "unknown_decision", message, hint));
    };
    let given = [
        ("text", request.text.is_some()),
        ("answer", request.answer.is_some()),
        ("minutes", request.minutes.is_some()),
        ("usd", request.usd.is_some()),
        ("model", request.model.is_some()),
    ];
    if let Some((field, _)) = given.iter().find(|(field, given)| *given && !takes.contains(field)) {
        let listed: Vec<_> = takes.iter().map(|field| format!("`{field}`")).collect();
        let hint =
            if takes.is_empty() { "it takes nothing".to_owned() } else { format!("it takes {}", listed.join(", ")) };
        return Err(Failure::user(field, "not_taken", format!("`{word}` takes no `{field}`"), hint));
    }
    let missing = |field: &str| {
        Failure::user(field, "missing_field", format!("`{word}` needs `{field}`"), format!("send `{field}` along"))
    };
    let text = request.text.clone();
    let needed = || text.clone().ok_or_else(|| missing("text"));
    Ok(match *word {
        "approve" => Decision::Approve { notes: text },
        "reject" => Decision::Reject { feedback: needed()? },
        "suggest" => Decision::Suggest { text: needed()? },
        "modify_plan" => Decision::ModifyPlan { plan: needed()? },
        "ask" => Decision::Ask { question: needed()? },
        "retry" => Decision::Retry { feedback: text, model: request.model.as_deref().map(model).transpose()? },
        "approve_for_run" => Decision::ApproveForRun,
        "accept_anyway" => Decision::AcceptAnyway { reason: text },
        "answer" => Decision::Answer { answer: request.answer.clone().ok_or_else(|| missing("answer"))? },
        "extend" => Decision::Extend { minutes: request.minutes.ok_or_else(|| missing("minutes"))? },
        "raise" => {
            let usd = request.usd.ok_or_else(|| missing("usd"))?;
            let bad =
                || Failure::user("usd", "bad_budget", format!("{usd} dollars cannot be added"), "use a sum above 0");
            Decision::Raise { by: Micros::from_usd(usd).ok_or_else(bad)? }
        }
        "resolve" => Decision::Resolve,
        "create_pr" => Decision::CreatePr,
        "take_over" => Decision::TakeOver,
        "resume" => Decision::Resume,
        "cancel" => Decision::Cancel { reason: text },
        _ => Decision::Ignore,
    })
}

fn model(said: &str) -> Result<ModelName, Failure> {
    said.parse().map_err(|error: domain::ConfigError| {
        Failure::user("model", "bad_model", plain(&error.to_string()), "write `provider/model`")
    })
}

/// Whether a model that a person chose on the way can be used, under the run's budget too.
pub(crate) fn check_chosen(setup: &Setup, run: &Run, decision: &Decision) -> Result<(), Failure> {
    let Decision::Retry { model: Some(model), .. } = decision else { return Ok(()) };
    check_model(&setup.models, model)
        .map_err(|problem| Failure::user("model", &problem.code, plain(&problem.message), problem.hint))?;
    let limited = run.budget.is_some() || !setup.models.shared.is_none();
    if limited && !setup.models.has_price(model) {
        let message = format!("the price of `{model}` is not known, so no budget can be kept");
        let hint = "add its price to `prices.toml` in the data directory, or use another model";
        return Err(Failure::user("model", "unknown_price", message, hint));
    }
    Ok(())
}

/// A hold's id as views show it: the run and the hold's number.
pub(crate) fn hold_id(text: &str) -> Result<(RunId, HoldId), Failure> {
    let parsed = text.rsplit_once('.').and_then(|(run, number)| Some((run.parse().ok()?, number.parse().ok()?)));
    let (run, number) = parsed.ok_or_else(|| {
        let message = format!("there is no hold `{}`", plain(text));
        Failure::new(Fault::Missing, "no_such_hold", message, "see `holdpoint inbox` for what waits")
    })?;
    Ok((run, HoldId(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_takes_what_it_needs_and_nothing_else() {
        let ask = |decision: &str| DecideRequest { decision: decision.to_owned(), ..DecideRequest::default() };
        let approve = DecideRequest { text: Some("ok".to_owned()), ..ask("approve") };
        assert_eq!(decision(&approve).unwrap(), Decision::Approve { notes: Some("ok".to_owned()) });
        assert!(decision(&ask("reject")).is_err());
        assert!(decision(&ask("answer")).is_err());
        assert!(decision(&DecideRequest { minutes: Some(5), ..ask("approve") }).is_err());
        assert!(decision(&DecideRequest { usd: Some(-1.0), ..ask("raise") }).is_err());
        assert!(decision(&ask("explode")).is_err());
        assert_eq!(decision(&ask("ignore")).unwrap(), Decision::Ignore);
    }

    #[test]
    fn every_decision_of_a_hold_can_be_sent() {
        for (word, takes) in DECISIONS {
            let has = |field: &str| takes.contains(&field);
            let request = DecideRequest {
                decision: (*word).to_owned(),
                text: has("text").then(|| "x".to_owned()),
                answer: has("answer").then(|| vec!["x".to_owned()]),
                minutes: has("minutes").then_some(5),
                usd: has("usd").then_some(1.0),
                model: has("model").then(|| "openai/gpt".to_owned()),
                ..DecideRequest::default()
            };
            assert_eq!(decision(&request).unwrap().kind().word(), *word);
        }
        let wrong = DecideRequest {
            decision: "retry".to_owned(),
            model: Some("the best".to_owned()),
            ..DecideRequest::default()
        };
        assert!(decision(&wrong).is_err());
    }
}
