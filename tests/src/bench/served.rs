//! A whole server around an engine, with nothing on its shelf.

use std::collections::BTreeMap;
use std::future::ready;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use domain::{CommitId, Run};
use engine::Engine;
use runner::git::{ChangeList, FilePage, PatchPage};
use runner::{Activity, ArtifactText, FileWish, Listing, ReadError, RunDiff};
use server::{App, AppParts, LiveLimits, People, Place, Reading, Setup, Shelf, TokenFile, router};
use tokio::sync::broadcast;
use tokio::task::JoinHandle;

/// The token it takes.
pub const TOKEN: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Nothing to look at.
struct Empty(broadcast::Sender<Activity>);

impl Shelf for Empty {
    fn check_commits<'a>(&'a self, _: &'a Run, _: Vec<domain::CommitId>) -> Reading<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn pass_on<'a>(&'a self, _: &'a Run) -> server::Telling<'a> {
        Box::pin(async { Ok(()) })
    }

    fn discuss(&self, _: runner::Talk, _: runner::Watch) -> server::Talking<'_> {
        Box::pin(async { Err("nobody is here to answer".to_owned()) })
    }

    fn terminal(&self, run: &Run) -> Option<std::path::PathBuf> {
        run.sitting().map(|_| std::path::PathBuf::from("/nowhere/terminal.sock"))
    }

    fn activity(&self) -> broadcast::Receiver<Activity> {
        self.0.subscribe()
    }

    fn artifact_text<'a>(&'a self, _: &'a Run, _: &'a domain::Artifact) -> Reading<'a, ArtifactText> {
        Box::pin(ready(Err(nothing())))
    }

    fn diff<'a>(&'a self, _: &'a Run) -> Reading<'a, RunDiff> {
        Box::pin(ready(Err(nothing())))
    }

    fn changes<'a>(&'a self, _: &'a Run, _: &'a CommitId, _: Listing) -> Reading<'a, Arc<ChangeList>> {
        Box::pin(ready(Ok(Arc::default())))
    }

    fn file_page<'a>(&'a self, _: &'a Run, _: &'a CommitId, _: FileWish) -> Reading<'a, Option<FilePage>> {
        Box::pin(ready(Ok(None)))
    }

    fn patch_page<'a>(&'a self, _: &'a Run, _: &'a CommitId, _: (u64, usize)) -> Reading<'a, PatchPage> {
        Box::pin(ready(Err(nothing())))
    }
}

fn nothing() -> ReadError {
    ReadError { message: "there is nothing here".to_owned(), hint: None }
}

/// Serves an engine on a free port of 127.0.0.1.
pub async fn serve(engine: &Engine, folder: &Path) -> Result<(SocketAddr, JoinHandle<std::io::Result<()>>)> {
    let token = folder.join("token");
    std::fs::write(&token, TOKEN)?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let app = App::new(AppParts {
        engine: engine.clone(),
        shelf: Arc::new(Empty(broadcast::channel(1).0)),
        diary: Arc::new(store::Diary::open(&folder.join("conversations.db"))?),
        post: Arc::new(store::Post::open(&folder.join("post.db"))?),
        setup: Setup::read(folder, &BTreeMap::new())?,
        token: TokenFile::new(token),
        agent_token: TokenFile::new(folder.join("mcp-token")),
        people: People::open(folder.join("people.json"))?,
        user: "ada".to_owned(),
        place: Place::loopback(address.port()),
        live: LiveLimits::default(),
    });
    Ok((address, tokio::spawn(async move { axum::serve(listener, router(app)).await })))
}
