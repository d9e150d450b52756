//! `notify`: who is told when something waits or has ended, and whether it arrived.

use clap::Subcommand;
use jiff::Timestamp;
use wire::{DeliveryView, DestinationView, ExitCode};

use crate::{failure::Failure, report::notify, session::Session};

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Show the destinations, their last delivery and what failed
    List,
    /// Send a test notice to a destination, or to all
    Test {
        /// Name of the destination
        name: Option<String>,
    },
    /// Try again what was given up
    Retry {
        /// Name of the destination
        name: String,
    },
}

pub(super) async fn run(action: Action, session: &Session) -> Result<ExitCode, Failure> {
    let (client, print) = (session.connect().await?, session.report);
    match action {
        Action::List => {
            let all = client.notifications().await?;
            match print.is_json() {
                true => print.json(&all),
                false => print.data(&notify::destinations(&all, Timestamp::now())),
            }
        }
        Action::Test { name } => {
            let names = match name {
                Some(name) => vec![name],
                None => configured(&client.notifications().await?)?,
            };
            let mut sent = Vec::new();
            for name in names {
                let delivery = client.test_notification(&name).await?;
                if !print.is_json() {
                    print.data(&notify::tested(&name, &delivery));
                }
                sent.push(delivery);
            }
            if print.is_json() {
                print.json(&sent);
            }
            return Ok(outcome(&sent));
        }
        Action::Retry { name } => {
            let revived = client.retry_notifications(&name).await?;
            match print.is_json() {
                true => print.json(&revived),
                false => print.note(&format!("{} are tried again", revived.revived)),
            }
        }
    }
    Ok(ExitCode::Done)
}

fn configured(all: &[DestinationView]) -> Result<Vec<String>, Failure> {
    if all.is_empty() {
        let hint = "name one under [notify] in config.toml of the data directory, then start the server again";
        return Err(Failure::failed("no_destination", "nobody is told of anything".to_owned(), hint));
    }
    Ok(all.iter().map(|destination| destination.name.clone()).collect())
}

fn outcome(sent: &[DeliveryView]) -> ExitCode {
    if sent.iter().all(|delivery| delivery.state == "delivered") { ExitCode::Done } else { ExitCode::Failed }
}
