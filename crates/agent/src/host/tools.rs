//! Holdpoint's tools for a hosted program: an MCP server on a socket in the session folder, which a small relay process
//! connects to the program's standard streams.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use drivers::{HandIn, Job};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool as McpTool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, serve_server};
use serde_json::{Map, Value};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;

use super::kinship::Program;
use crate::AgentError;
use crate::guidance;
use crate::shorten;
use crate::tools::{Desk, Tool, WorkTool};

/// The socket's name in the session folder.
pub(super) const SOCKET: &str = "tools.sock";
/// Bytes of a tool's answer.
const LONGEST: usize = 60_000;

/// What is said when something was handed in. Scripted models know it.
pub(crate) const ACCEPTED: &str = "Holdpoint has it. End your turn now, without calling another tool.";

/// Where a program hands in.
#[derive(Debug, Clone)]
pub(super) struct Counter(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    desk: Arc<Desk>,
    job: Job,
    session: PathBuf,
    handed: Mutex<Option<HandIn>>,
    handing: Notify,
    /// The last word of a person that the program was told.
    guided: AtomicU64,
    /// Whose relays may use the tools.
    program: Mutex<Option<Program>>,
}

/// The names of the tools a job offers to a program.
pub(super) fn names(job: &Job) -> Vec<&'static str> {
    offered(job).into_iter().map(|tool| tool.definition().name).collect()
}

/// A program has tools of its own for files and commands, and its own way to plan.
fn offered(job: &Job) -> Vec<Tool> {
    let ours = |tool: &Tool| match tool {
        Tool::Block(_) => true,
        Tool::Goal(_) => false,
        Tool::Work(tool) => match tool {
            WorkTool::SemanticSearch
            | WorkTool::WebCodeSearch
            | WorkTool::TakeNote
            | WorkTool::GetDiff
            | WorkTool::GetScopeCard
            | WorkTool::AddLineComment
            | WorkTool::AddFileComment
            | WorkTool::AddReviewComment => true,
            WorkTool::ReadFile
            | WorkTool::ListDirectory
            | WorkTool::GlobSearch
            | WorkTool::Grep
            | WorkTool::WriteFile
            | WorkTool::EditFile
            | WorkTool::MultiEdit
            | WorkTool::Shell => false,
        },
    };
    let left = |tool: &Tool| matches!(tool, Tool::Block(_)) || job.settings.leaves(tool.definition().name);
    Tool::of(job).into_iter().filter(ours).filter(left).collect()
}

impl Counter {
    /// Begins to listen.
    pub(super) fn open(session: &Path, desk: Arc<Desk>, job: &Job) -> Result<Self, AgentError> {
        let path = session.join(SOCKET);
        let _ = std::fs::remove_file(&path);
        // A socket's path is short; the folder's may not be.
        let folder = std::fs::File::open(session)?;
        let fd = std::os::fd::AsRawFd::as_raw_fd(&folder);
        let listener = UnixListener::bind(format!("/proc/self/fd/{fd}/{SOCKET}"))?;
        let shared = Arc::new(Shared {
            desk,
            job: job.clone(),
            session: session.to_owned(),
            handed: Mutex::default(),
            handing: Notify::new(),
            guided: AtomicU64::new(0),
            program: Mutex::default(),
        });
        let counter = Self(shared);
        tokio::spawn(serve(listener, counter.clone()));
        Ok(counter)
    }

    /// The command of the relay.
    pub(super) fn command(&self) -> Vec<String> {
        let program =
            std::env::current_exe().map_or_else(|_| "holdpoint".to_owned(), |path| path.display().to_string());
        let session = self.0.session.display().to_string();
        vec![program, "agent".to_owned(), "relay".to_owned(), "--session".to_owned(), session]
    }

    /// From now on the tools are for the relays of this process, and of nobody before it.
    pub(super) fn serves(&self, pid: Option<u32>) {
        let program = pid.and_then(|pid| i32::try_from(pid).ok()).map(Program::started);
        *self.0.program.lock().unwrap_or_else(PoisonError::into_inner) = program;
    }

    /// The program has said something.
    pub(super) fn speaks(&self) {
        if let Some(program) = &mut *self.0.program.lock().unwrap_or_else(PoisonError::into_inner) {
            program.speaks();
        }
    }

    /// The conversation of the program is open: it may work, and run anything.
    pub(super) fn works(&self) {
        if let Some(program) = &mut *self.0.program.lock().unwrap_or_else(PoisonError::into_inner) {
            program.works();
        }
    }

    fn admits(&self, stream: &UnixStream) -> bool {
        let mut program = self.0.program.lock().unwrap_or_else(PoisonError::into_inner);
        let peer = stream.peer_cred().ok().and_then(|peer| peer.pid());
        program.as_mut().zip(peer).is_some_and(|(program, peer)| program.admits(peer))
    }

    /// Takes something that is handed in beside the tools.
    pub(super) fn hand_in(&self, hand_in: HandIn) {
        self.0.handed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(hand_in);
        self.0.handing.notify_one();
    }

    /// Waits until something is handed in.
    pub(super) async fn handing_in(&self) {
        while self.handed_in().is_none() {
            self.0.handing.notified().await;
        }
    }

    pub(super) fn handed_in(&self) -> Option<HandIn> {
        self.0.handed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn call(&self, name: &str, input: &Value) -> Result<String, String> {
        let Some(tool) = offered(&self.0.job).into_iter().find(|tool| tool.definition().name == name) else {
            return Err(format!("there is no tool `{name}`; the tools are: {}", names(&self.0.job).join(", ")));
        };
        match tool {
            Tool::Work(tool) => {
                let output = tool.run(&self.0.desk, input).await.map_err(|error| error.to_string())?;
                Ok(shorten::head(&output, LONGEST))
            }
            Tool::Block(tool) => {
                let hand_in = tool.hand_in(input).map_err(|error| error.to_string())?;
                if self.handed_in().is_some() {
                    return Err(format!("not taken: something was handed in before. {ACCEPTED}"));
                }
                if hand_in.is_work()
                    && let Some(words) = self.unheard()
                {
                    return Err(words);
                }
                self.hand_in(hand_in);
                Ok(ACCEPTED.to_owned())
            }
            Tool::Goal(_) => Err(format!("there is no tool `{name}`")),
        }
    }

    /// The program was told what people said up to this number.
    pub(super) fn told(&self, number: u64) {
        self.0.guided.fetch_max(number, Ordering::SeqCst);
    }

    /// The last word of a person that the program was told.
    pub(super) fn guided(&self) -> u64 {
        self.0.guided.load(Ordering::SeqCst)
    }

    /// What people said that the program has not been told; told with this.
    fn unheard(&self) -> Option<String> {
        let said = guidance::after(&self.0.session.join(drivers::GUIDANCE_FILE), self.guided()).ok()?;
        self.told(said.last()?.number);
        let words: Vec<String> = said.iter().map(guidance::words).collect();
        Some(format!("not handed in yet: {}\n\nThen hand in again.", words.join("\n\n")))
    }
}

async fn serve(listener: UnixListener, counter: Counter) {
    while let Ok((stream, _)) = listener.accept().await {
        if !counter.admits(&stream) {
            // Its relay ends, and with it whoever asked.
            continue;
        }
        let counter = counter.clone();
        tokio::spawn(async move {
            let (read, write) = stream.into_split();
            // A client that speaks nonsense ends its own connection.
            if let Ok(service) = serve_server(counter, (read, write)).await {
                let _ = service.waiting().await;
            }
        });
    }
}

impl ServerHandler for Counter {
    fn get_info(&self) -> ServerConfig {
        let mut config = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        config.server_info = Implementation::new("holdpoint", env!("CARGO_PKG_VERSION"));
        config.instructions = Some("Hand in your work, ask a person and report with these tools.".to_owned());
        config
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = offered(&self.0.job).into_iter().map(|tool| {
            let definition = tool.definition();
            let schema: Map<String, Value> = definition.schema.as_object().cloned().unwrap_or_default();
            McpTool::new(definition.name, definition.description, Arc::new(schema))
        });
        Ok(ListToolsResult { tools: tools.collect(), ..ListToolsResult::default() })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let input = Value::Object(request.arguments.unwrap_or_default());
        let result = match self.call(&request.name, &input).await {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(text) => CallToolResult::error(vec![ContentBlock::text(text)]),
        };
        Ok(result.into())
    }
}
