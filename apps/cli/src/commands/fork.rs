//! `fork`: a new run from a point of another one, with the same past and another decision, model or plan from there on.

use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;
use wire::{ExitCode, ForkDecision, ForkPointView, ForkRequest, HoldView};

use super::{decide, run::models, run::programs};
use crate::{
    ask,
    client::Client,
    failure::Failure,
    report::{self, clean_line, run::short, table},
    session::Session,
    watch::{Decider, conclude, watch},
};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the run, or the start of it
    run: String,
    /// Number of an event (`holdpoint events RUN`): the fork begins at the last checkpoint at or before it
    #[arg(long, value_name = "EVENT")]
    at: Option<u64>,
    /// List the checkpoints of the run, and fork nothing
    #[arg(long, conflicts_with_all = ["at", "answer", "plan", "approve", "reject", "decision", "model", "agent", "budget", "watch"])]
    list: bool,
    /// Answer the question asked there: a text, or an option by number or text (repeatable)
    #[arg(long, value_name = "ANSWER", conflicts_with_all = ["plan", "approve", "reject", "decision"])]
    answer: Vec<String>,
    /// Your own plan or spec in place of the one shown there; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["approve", "reject", "decision"])]
    plan: Option<PathBuf>,
    /// Say yes to what was shown there
    #[arg(long, conflicts_with_all = ["reject", "decision"])]
    approve: bool,
    /// Send what was shown there back
    #[arg(long, value_name = "FEEDBACK", conflicts_with = "decision")]
    reject: Option<String>,
    /// Any other decision the hold there allows, e.g. retry, resume, ignore
    #[arg(long, value_name = "WORD")]
    decision: Option<String>,
    /// Text for --decision
    #[arg(long, requires = "decision")]
    text: Option<String>,
    /// Another model from there on, as role=provider/model, or one for all roles (repeatable)
    #[arg(long, value_name = "[ROLE=]PROVIDER/MODEL")]
    model: Vec<String>,
    /// Another program from there on, e.g. implementer=codex, or one for all roles (repeatable)
    #[arg(long, value_name = "[ROLE=]AGENT")]
    agent: Vec<String>,
    /// What the fork itself may spend, in dollars
    #[arg(long, value_name = "USD")]
    budget: Option<f64>,
    /// Follow the fork, and decide when it holds
    #[arg(long, short)]
    watch: bool,
}

pub(super) async fn run(arguments: Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    if arguments.list {
        let points = client.checkpoints(&arguments.run).await?;
        if session.report.is_json() {
            session.report.json(&points);
        } else {
            session.report.data(&table::points(&points, Timestamp::now(), report::width()));
        }
        return Ok(ExitCode::Done);
    }
    let watching = arguments.watch;
    let (of, request) = (arguments.run.clone(), arguments.into_request(&client).await?);
    let made = client.fork(&of, &request).await?;
    if session.report.is_json() && !watching {
        session.report.json(&made);
        return Ok(ExitCode::Done);
    }
    session.report.note(&said(&made));
    if watching {
        let after = made.run.version;
        let run = watch(session, client, made.run, after, Decider::present(session)).await?;
        return Ok(conclude(session, &run));
    }
    session.report.data(&made.run.id);
    session.report.note(&format!("follow it with `holdpoint watch {}`", short(&made.run.id)));
    Ok(ExitCode::Done)
}

/// Which point was taken.
fn said(made: &wire::ForkView) -> String {
    let from = made.run.forked_from.as_ref().map(|from| short(&from.run)).unwrap_or_default();
    let what = clean_line(&made.point.what);
    format!("forked {} from {from} at event {} ({what})", short(&made.run.id), made.point.at)
}

impl Arguments {
    async fn into_request(self, client: &Client) -> Result<ForkRequest, Failure> {
        let mut request = ForkRequest {
            at: self.at,
            decision: None,
            models: models(&self.model),
            programs: programs(&self.agent),
            budget_usd: self.budget,
        };
        let plain = |word: &str, text: Option<String>| {
            Some(ForkDecision { decision: word.to_owned(), text, ..ForkDecision::default() })
        };
        request.decision = if !self.answer.is_empty() {
            // The options are those of the question that was asked there.
            let point = answered(&client.checkpoints(&self.run).await?, self.at)?;
            request.at = Some(point.at);
            let answer = match &point.hold {
                Some(hold) => ask::resolve(hold, &self.answer)?,
                None => self.answer,
            };
            Some(ForkDecision { decision: "answer".to_owned(), answer: Some(answer), ..ForkDecision::default() })
        } else if let Some(path) = &self.plan {
            plain("modify_plan", Some(decide::read(path)?))
        } else if self.approve {
            plain("approve", None)
        } else if let Some(feedback) = self.reject {
            plain("reject", Some(feedback))
        } else if let Some(word) = self.decision {
            plain(&word.to_lowercase().replace('-', "_"), self.text)
        } else {
            None
        };
        Ok(request)
    }
}

/// The point whose question is meant: the last at or before an event, or the last question of all.
fn answered(points: &[ForkPointView], at: Option<u64>) -> Result<ForkPointView, Failure> {
    let asks = |hold: &HoldView| hold.allowed.iter().any(|word| word == "answer");
    let meant = |point: &&ForkPointView| match at {
        Some(at) => point.at <= at,
        None => point.hold.as_ref().is_some_and(asks),
    };
    let found = points.iter().rev().find(meant);
    let hint = "`holdpoint fork RUN --list` shows the checkpoints";
    match found {
        Some(point) if point.hold.as_ref().is_some_and(asks) => Ok(point.clone()),
        Some(point) => {
            let message = format!("no question was asked at event {} ({})", point.at, clean_line(&point.what));
            Err(Failure::usage(message, hint))
        }
        None => Err(Failure::usage("no question was asked that could be answered differently", hint)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::run::sample;

    fn point(at: u64, hold: Option<HoldView>) -> ForkPointView {
        ForkPointView {
            at,
            time: sample::at(),
            kind: if hold.is_some() { "hold" } else { "stage_started" }.to_owned(),
            stage: Some("planning".to_owned()),
            what: "planning begins".to_owned(),
            hold,
            commit: "c".repeat(40),
            usd: 0.5,
        }
    }

    #[test]
    fn an_answer_is_for_the_last_question_or_for_the_one_at_an_event() {
        let question = HoldView { allowed: vec!["answer".to_owned()], ..sample::question() };
        let points = [point(5, None), point(9, Some(question.clone())), point(14, Some(question)), point(20, None)];
        let found = |at| answered(&points, at).map(|point| point.at).map_err(|failure| failure.problem.message);
        assert_eq!(found(None), Ok(14));
        assert_eq!(found(Some(13)), Ok(9));
        assert_eq!(found(Some(8)), Err("no question was asked at event 5 (planning begins)".to_owned()));
        assert!(found(Some(2)).is_err());
    }
}
