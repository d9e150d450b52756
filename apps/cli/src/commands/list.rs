//! `list`: runs, newest first.

use clap::Args;
use jiff::Timestamp;
use wire::{ExitCode, RunView};

use crate::{
    failure::Failure,
    report::{self, table},
    session::Session,
};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The runs of tasks too, below the run they belong to
    #[arg(long, short)]
    all: bool,
}

pub(super) async fn run(arguments: &Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let runs = if arguments.all { below_parents(client.runs().await?) } else { client.roots().await? };
    if session.report.is_json() {
        session.report.json(&runs);
    } else {
        session.report.data(&table::runs(&runs, Timestamp::now(), report::width()));
    }
    Ok(ExitCode::Done)
}

/// Children right after their parent, oldest first; those whose parent is not listed stay where they are.
fn below_parents(runs: Vec<RunView>) -> Vec<RunView> {
    let ids: Vec<String> = runs.iter().map(|run| run.id.clone()).collect();
    let has_parent = |run: &RunView| run.parent.as_ref().is_some_and(|parent| ids.contains(parent));
    let (children, roots): (Vec<RunView>, Vec<RunView>) = runs.into_iter().partition(has_parent);
    let mut sorted = Vec::new();
    for root in roots {
        let id = root.id.clone();
        sorted.push(root);
        sorted.extend(children.iter().rev().filter(|child| child.parent.as_ref() == Some(&id)).cloned());
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::run::sample;

    #[test]
    fn children_stand_below_their_parent() {
        let run = |id: &str, parent: Option<&str>| RunView {
            id: id.to_owned(),
            parent: parent.map(str::to_owned),
            ..sample::running()
        };
        let runs = vec![run("d", Some("a")), run("c", None), run("b", Some("a")), run("a", None), run("e", Some("z"))];
        let ids: Vec<String> = below_parents(runs).into_iter().map(|run| run.id).collect();
        assert_eq!(ids, ["c", "a", "b", "d", "e"]);
    }
}
