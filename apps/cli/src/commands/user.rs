//! `user`: who else is let in, and as what.

use clap::{Subcommand, ValueEnum};
use wire::{ExitCode, NewUser, Role};

use crate::{
    failure::Failure,
    report::{self, table},
    session::Session,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Let somebody in; the token is printed this one time
    Add {
        /// The name decisions will be written down under
        name: String,
        /// What the user may do
        #[arg(long, value_enum)]
        role: RoleWord,
    },
    /// List the users
    List,
    /// Let somebody in no more: the token and all logins end at once
    Revoke {
        /// The name
        name: String,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum RoleWord {
    /// Looks at everything and changes nothing
    Viewer,
    /// Also decides on what waits, answers, says something to agents, pauses and resumes
    Reviewer,
    /// Everything: also starts, cancels and merges runs, and lets people in
    Admin,
}

impl From<RoleWord> for Role {
    fn from(word: RoleWord) -> Self {
        match word {
            RoleWord::Viewer => Self::Viewer,
            RoleWord::Reviewer => Self::Reviewer,
            RoleWord::Admin => Self::Admin,
        }
    }
}

pub(super) async fn run(action: Action, session: &Session) -> Result<ExitCode, Failure> {
    let (client, print) = (session.connect().await?, session.report);
    match action {
        Action::Add { name, role } => {
            let user = client.add_user(&NewUser { name, role: role.into() }).await?;
            if print.is_json() {
                print.json(&user);
            } else {
                print.data(&user.token);
                print.note(&format!(
                    "this token of {0} ({1}) is not shown again; `holdpoint open --user {0}` makes a login link",
                    user.name,
                    user.role.word()
                ));
            }
        }
        Action::List => {
            let users = client.users().await?;
            match print.is_json() {
                true => print.json(&users),
                false => print.data(&table::users(&users, jiff::Timestamp::now(), report::width())),
            }
        }
        Action::Revoke { name } => {
            let user = client.revoke_user(&name).await?;
            match print.is_json() {
                true => print.json(&user),
                false => print.note(&format!("{} is let in no more", user.name)),
            }
        }
    }
    Ok(ExitCode::Done)
}
