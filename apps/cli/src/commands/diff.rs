//! `diff`: what a run changed, all of it.

use clap::Args;
use wire::{ChangesView, DiffView, ExitCode, FileChangeView};

use crate::{
    change::{self, Of, Section, Then},
    client::Client,
    failure::Failure,
    report::{self, change as shown},
    session::Session,
};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the run, or the start of it
    run: String,
    /// Only the changed files
    #[arg(long)]
    stat: bool,
    /// Only this file, by its path; also as text where git calls it binary
    #[arg(long, value_name = "PATH", conflicts_with = "stat")]
    file: Option<String>,
}

pub(super) async fn run(arguments: &Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let (run, report) = (arguments.run.as_str(), session.report);
    let list = change::files(&client, run, Of::Branch).await?;
    if let Some(path) = &arguments.file {
        return one(&client, run, &list, path, session).await;
    }
    if report.is_json() {
        report.json(&whole(&client, run, list, arguments.stat).await?);
    } else if arguments.stat {
        report.data(&shown::list(&list));
    } else if report::stdout_is_terminal() {
        report.data(&shown::list(&list));
        print_sections(&client, run, Of::Branch, &list, session).await?;
    } else {
        print_patch(&client, run, Of::Branch, &list, session).await?;
    }
    Ok(ExitCode::Done)
}

/// The diff of every file under its name, as it comes in.
pub(super) async fn print_sections(
    client: &Client,
    run: &str,
    of: Of,
    list: &ChangesView,
    session: &Session,
) -> Result<(), Failure> {
    let print = |section: Section| {
        if let Some(file) = list.files.get(section.at) {
            session.report.data(&format!("\n{}", shown::section(file, &section)));
        }
        Then::GoOn
    };
    change::each_section(client, run, of, list, print).await
}

/// As git prints it, so that `git apply` can read it. What git does not put in there is told beside it.
pub(super) async fn print_patch(
    client: &Client,
    run: &str,
    of: Of,
    list: &ChangesView,
    session: &Session,
) -> Result<(), Failure> {
    let (mut next, mut exact) = (Some(0), true);
    while let Some(offset) = next {
        let page = client.change_text(run, of, (offset, None), Some(&list.head)).await?;
        session.report.raw(&page.text);
        exact &= page.exact;
        next = page.next;
    }
    if !exact {
        session.report.note("bytes that are not UTF-8 are written as \\xNN here; the branch has them as they are");
    }
    for file in list.files.iter().filter(|file| file.content != "text") {
        let path = wire::reveal(&file.path);
        session.report.note(&format!(
            "`{path}` is binary to git and not in this patch; see `holdpoint diff {run} --file {path}`"
        ));
    }
    Ok(())
}

async fn one(
    client: &Client,
    run: &str,
    list: &ChangesView,
    path: &str,
    session: &Session,
) -> Result<ExitCode, Failure> {
    let Some(at) = list.files.iter().position(|file| file.path == path) else {
        let hint = format!("`holdpoint diff {run} --stat` lists the files it changes");
        return Err(Failure::usage(format!("the run does not change `{path}`"), hint));
    };
    let file = change::file(client, run, Of::Branch, &list.head, &list.files[at].id).await?;
    if session.report.is_json() {
        session.report.json(&file);
        return Ok(ExitCode::Done);
    }
    let (text, is_binary) = (file.text.clone(), file.file.content == "binary");
    let section = Section { at, text, binary: is_binary.then(|| Box::new(file)) };
    session.report.data(&shown::section(&list.files[at], &section));
    Ok(ExitCode::Done)
}

/// The view that programs know, with nothing cut.
async fn whole(client: &Client, run: &str, list: ChangesView, only_files: bool) -> Result<DiffView, Failure> {
    let diff = if only_files { String::new() } else { patch(client, run, Of::Branch, &list.head).await? };
    let counts = |file: wire::ChangedFileView| FileChangeView {
        path: file.path,
        status: file.status,
        added: file.added,
        deleted: file.deleted,
    };
    Ok(DiffView {
        base: list.base,
        head: list.head,
        total: list.total,
        files: list.files.into_iter().map(counts).collect(),
        diff,
        truncated: only_files,
        left_out: Vec::new(),
    })
}

/// A whole diff as git prints it.
pub(crate) async fn patch(client: &Client, run: &str, of: Of, head: &str) -> Result<String, Failure> {
    let (mut text, mut next) = (String::new(), Some(0));
    while let Some(offset) = next {
        let page = client.change_text(run, of, (offset, None), Some(head)).await?;
        text.push_str(&page.text);
        next = page.next;
    }
    Ok(text)
}
