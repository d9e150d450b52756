//! One attempt, from the job in the session folder to the result that is handed in.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use drivers::{AgentEvent, HandIn, Job};

use crate::conversation::Conversation;
use crate::delivery::{DeliveryError, Nonce, deliver};
use crate::events::Events;
use crate::host::{Account, Flood, Host};
use crate::mcp::Servers;
use crate::model::{ClientError, Model};
use crate::observations::ObservationLog;
use crate::policy::Policy;
use crate::room::Room;
use crate::session::{SessionError, SessionFolder};
use crate::tools::Desk;
use crate::turns::{TurnLog, TurnsError};
use crate::work::Work;
use crate::workspace::Workspace;

/// Where the agent finds its job and its door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Folder with the job; the conversation goes there too.
    pub session: PathBuf,
    /// Folder with the broker's socket.
    pub door: PathBuf,
    /// By what it hands in there.
    pub nonce: Nonce,
}

/// Why an attempt ended without handing anything in; to Holdpoint this is a crash.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The job.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The result.
    #[error(transparent)]
    Delivery(#[from] DeliveryError),
    /// The conversation.
    #[error(transparent)]
    Turns(#[from] TurnsError),
    /// The workspace.
    #[error("the workspace `{}` cannot be opened: {source}", .path.display())]
    Workspace {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The client.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The prompts.
    #[error("the prompt could not be built: {0}")]
    Prompt(#[from] minijinja::Error),
    /// The standard output.
    #[error("events cannot be written: {0}")]
    Events(#[from] io::Error),
}

/// Runs one attempt; events go to standard output.
pub async fn run(options: Options) -> Result<HandIn, AgentError> {
    // Not locked: a lock held over an await would tie the future to one thread. Nothing else writes there.
    run_to(options, &mut io::stdout()).await
}

/// Runs one attempt; events go to `out`, one line of JSON each.
pub async fn run_to(options: Options, out: &mut (dyn Write + Send)) -> Result<HandIn, AgentError> {
    let session = SessionFolder::new(options.session.clone());
    let job = session.job()?;
    let (log, records) = TurnLog::open(&session.turns())?;
    let path = Path::new(&job.workspace);
    let workspace = Workspace::open(path).map_err(|source| AgentError::Workspace { path: path.to_owned(), source })?;
    if !job.program.is_own() {
        return host(&options, job, session, workspace, out).await;
    }
    let observations = ObservationLog::open(&session.observations(), &records)?;
    let mut events = Events::new(out);
    events.keep(&session.stream())?;
    let room = Room::of(&job);
    let policy = Policy::new(&job.workspace, &job.protected);
    let conversation = Conversation::new(records);
    let mut work = Work {
        model: Model::new(&options.door, &job, conversation.last_model())?,
        desk: Arc::new(Desk::new(workspace, &options.session, &options.door, &job)),
        servers: Servers::new(&job, &options.door),
        job,
        log,
        earlier_turns: conversation.turns(),
        conversation,
        observations,
        room,
        policy,
        guidance: session.guidance(),
        door: options.door.clone(),
        pursuit: None,
        events,
    };
    let hand_in = Box::pin(work.run()).await?;
    let hand_in = work.desk.take_along(hand_in);
    deliver(&options.door, &options.nonce, &hand_in).await?;
    work.end(&hand_in)?;
    Ok(hand_in)
}

/// The same by another program.
async fn host(
    options: &Options,
    job: Job,
    folder: SessionFolder,
    workspace: Workspace,
    out: &mut (dyn Write + Send),
) -> Result<HandIn, AgentError> {
    let mut events = Events::new(out);
    events.keep(&folder.stream())?;
    let desk = Arc::new(Desk::new(workspace, &options.session, &options.door, &job));
    let (program, path) = (job.program.clone(), options.session.clone());
    let account = Account::new(&options.door, &job);
    let mut host = Host {
        program,
        path,
        desk,
        events,
        folder: folder.clone(),
        job,
        printed: String::new(),
        flood: Flood::default(),
        account,
    };
    let hand_in = Box::pin(host.run()).await?;
    let hand_in = host.desk.take_along(hand_in);
    deliver(&options.door, &options.nonce, &hand_in).await?;
    host.say(AgentEvent::Ended { hand_in: hand_in.word().to_owned() })?;
    Ok(hand_in)
}
