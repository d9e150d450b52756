//! `model`: which there are, what they cost, who uses them, and whether they answer.

use clap::Subcommand;
use wire::{ExitCode, ModelTestRequest, ModelTestView};

use crate::{
    failure::Failure,
    report::{self, model as words},
    session::Session,
};

/// Problems of the world outside, not of what was asked or set.
const OF_THE_WORLD: [&str; 6] =
    ["unreachable", "timeout", "quota", "rate_limited", "provider_trouble", "broken_answer"];

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// List providers, prices, and the models of each role
    List {
        /// With the models of providers that are not set up
        #[arg(long)]
        all: bool,
    },
    /// Make one tiny real call and show latency, tokens and cost
    Test {
        /// The models; every model that roles use unless said
        #[arg(value_name = "PROVIDER/MODEL")]
        models: Vec<String>,
        /// Speak another protocol to the provider than our own agent does
        #[arg(long, value_parser = ["messages", "chat", "responses", "gemini", "embeddings"])]
        protocol: Option<String>,
    },
}

pub(super) async fn run(action: Action, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    match action {
        Action::List { all } => {
            let models = client.models().await?;
            match session.report.is_json() {
                true => session.report.json(&models),
                false => session.report.data(&words::list(&models, all, report::width())),
            }
            Ok(ExitCode::Done)
        }
        Action::Test { models, protocol } => {
            let results = client.test_models(&ModelTestRequest { models, protocol }).await?;
            match session.report.is_json() {
                true => session.report.json(&results),
                false => session.report.data(&words::tests(&results, report::width())),
            }
            Ok(ending(&results))
        }
    }
}

/// Unavailable only when nothing but the world is to blame.
fn ending(results: &[ModelTestView]) -> ExitCode {
    let mut codes = results.iter().filter_map(|result| result.problem.as_ref()).map(|problem| problem.code.as_str());
    match results.iter().all(|result| result.ok) {
        true => ExitCode::Done,
        false if codes.all(|code| OF_THE_WORLD.contains(&code)) => ExitCode::Unavailable,
        false => ExitCode::Failed,
    }
}
