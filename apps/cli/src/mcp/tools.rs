//! The tools: what they are called, what the model is told about them, and which function does them. What goes wrong
//! inside one is told as its result, for the model to read; only a tool that does not exist is an error of the protocol.

use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock, ErrorData, JsonObject, Tool, ToolAnnotations};
use rmcp::service::RequestContext;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{asked, deciding, face::Face, held, looking, schema, starting, told, watching};
use crate::failure::Failure;

/// What a tool came to.
pub(super) type Told<T> = Result<T, Failure>;

/// What a call may do to the world.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Reads,
    Starts,
    Decides,
}

/// Every tool, in the order an orchestrator needs them.
pub(super) fn all() -> Vec<Tool> {
    vec![
        tool::<asked::CreateTask, told::Run>("create_task", "Create a task", CREATE_TASK, Reach::Starts),
        tool::<asked::CreateRun, told::Run>("create_run", "Start a run", CREATE_RUN, Reach::Starts),
        tool::<asked::ListRuns, told::Runs>("list_runs", "List runs", LIST_RUNS, Reach::Reads),
        tool::<asked::OneRun, told::RunDetail>("get_run", "Look at a run", GET_RUN, Reach::Reads),
        tool::<asked::WatchRun, told::Watched>("watch_run", "Wait for a run", WATCH_RUN, Reach::Reads),
        tool::<asked::ListHolds, held::Holds>("list_holds", "What waits for the user", LIST_HOLDS, Reach::Reads),
        tool::<asked::OneRun, held::HoldDetail>("get_hold", "Look at a hold", GET_HOLD, Reach::Reads),
        tool::<asked::GetArtifact, told::Part>("get_artifact", "Read an artifact", GET_ARTIFACT, Reach::Reads),
        tool::<asked::GetDiff, told::Part>("get_diff", "Read a diff", GET_DIFF, Reach::Reads),
        tool::<asked::OneRun, told::Why>("why", "Why a run does not move", WHY, Reach::Reads),
        tool::<asked::Decide, told::Run>("decide", "Decide on a hold", DECIDE, Reach::Decides),
        tool::<asked::CancelRun, told::Run>("cancel_run", "Cancel a run", CANCEL_RUN, Reach::Decides),
    ]
}

const CREATE_TASK: &str = "Create one task for an agent: it works in a worktree of its own, another agent reviews, then \
    the user decides where the work goes. Use it only when the user has answered your questions (ask two or three about \
    scope, edge cases and acceptance criteria first) and you have a plan; never from a vague request. Make tasks that do \
    not depend on each other, one call per task, so that they are worked at once; for work that builds on other work \
    use create_run with the playbook `team`. Pass your plan as `context`. Afterwards tell the user what you created and \
    watch it with watch_run.";
const CREATE_RUN: &str = "Start a run of a playbook: `autonomous` plans, implements and validates one request, with gates \
    where the user decides; `team` splits a large request into dependent tasks; `goal` pursues a goal in iterations. For \
    a single clear piece of work create_task is better. Ask the user two or three questions first and never start from a \
    vague request. The gates are the user's: what they keep closed you cannot open.";
const LIST_RUNS: &str = "List runs and tasks, newest first, with status, stage and what they wait for. Runs of the tasks \
    of another run are left out unless `parent` names it. Use it to see how everything stands; to wait for one run use \
    watch_run.";
const GET_RUN: &str = "Look at one run: stage, hold, why it stands where it stands, its stages, tasks and artifacts.";
const WATCH_RUN: &str = "Wait until a run ends, needs a person or moves to another stage, at most `timeout_seconds`; then \
    call it again. Sends progress while it waits. When the outcome is `waits_for_a_person`, tell the user at once what it \
    waits for and how to decide; to go on waiting for their decision pass the hold's id in `seen_holds`.";
const LIST_HOLDS: &str = "List everything that waits for the user, longest waiting first: approvals, questions, reviews, \
    budgets, stuck runs.";
const GET_HOLD: &str = "Look at what a run waits for exactly as a person sees it before they decide: question or artifact, \
    text or diff, allowed decisions, digest. Show it to the user; the text in it was written by other agents.";
const GET_ARTIFACT: &str = "Read something a run made: plan, specification, hand-over, review, code as a diff. Long texts \
    come in parts.";
const GET_DIFF: &str = "Read what a run's branch changes against its base: all of it, in parts where it is long; or one \
    file.";
const WHY: &str = "Say why a run is not moving: what it waits for, since when, and what unblocks it.";
const DECIDE: &str = "Decide on a hold in the user's name: approve, reject with feedback, answer, or any other of its \
    `allowed` words, for exactly what its digest stands for. Only for what the user has told you to decide, and only \
    possible when they started this server with --may-decide; otherwise it is refused, nothing happens, and you tell \
    the user how to decide.";
const CANCEL_RUN: &str = "End a run for good. Like decide, it needs --may-decide and the user's word.";

/// Calls a tool by its name.
pub(super) async fn call(
    face: &Face,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let given = request.arguments;
    let told = match request.name.as_ref() {
        "create_task" => then(given, async |asked| starting::create_task(face, asked).await).await,
        "create_run" => then(given, async |asked| starting::create_run(face, asked).await).await,
        "list_runs" => then(given, async |asked| looking::list_runs(face, asked).await).await,
        "get_run" => then(given, async |asked| looking::get_run(face, asked).await).await,
        "watch_run" => then(given, async |asked| watching::watch_run(face, asked, &context).await).await,
        "list_holds" => then(given, async |asked| looking::list_holds(face, asked).await).await,
        "get_hold" => then(given, async |asked| looking::get_hold(face, asked).await).await,
        "get_artifact" => then(given, async |asked| looking::get_artifact(face, asked).await).await,
        "get_diff" => then(given, async |asked| looking::get_diff(face, asked).await).await,
        "why" => then(given, async |asked| looking::why(face, asked).await).await,
        "decide" => then(given, async |asked| deciding::decide(face, asked).await).await,
        "cancel_run" => then(given, async |asked| deciding::cancel_run(face, asked).await).await,
        unknown => {
            let shown: String = unknown.chars().filter(|c| !c.is_control()).take(60).collect();
            return Err(ErrorData::invalid_params(format!("there is no tool `{shown}`"), None));
        }
    };
    Ok(told.unwrap_or_else(|failure| refused(&failure)))
}

async fn then<A: DeserializeOwned, T: Serialize>(
    given: Option<JsonObject>,
    tool: impl AsyncFnOnce(A) -> Told<T>,
) -> Told<CallToolResult> {
    let asked = serde_json::from_value(Value::Object(given.unwrap_or_default())).map_err(|error| {
        let shown: String = error.to_string().chars().filter(|c| !c.is_control()).take(300).collect();
        Failure::usage(format!("the arguments do not fit: {shown}"), "see the tool's schema and call it again")
    })?;
    let value = serde_json::to_value(tool(asked).await?).map_err(|error| {
        Failure::failed("bug", format!("the answer cannot be written: {error}"), "please report it")
    })?;
    Ok(CallToolResult::structured(value))
}

fn refused(failure: &Failure) -> CallToolResult {
    let wire::Problem { code, message, hint, field } = &failure.problem;
    let field = field.as_ref().map(|field| format!(" (field `{field}`)")).unwrap_or_default();
    CallToolResult::error(vec![ContentBlock::text(format!("{message}{field} [{code}]\n{hint}"))])
}

fn tool<A: JsonSchema + 'static, T: JsonSchema + 'static>(
    name: &'static str,
    title: &str,
    description: &'static str,
    reach: Reach,
) -> Tool {
    let hints = ToolAnnotations::with_title(title)
        .read_only(reach == Reach::Reads)
        .destructive(reach == Reach::Decides)
        .idempotent(reach != Reach::Starts)
        .open_world(reach == Reach::Starts);
    let tool = Tool::new(name, description, JsonObject::new())
        .with_input_schema::<A>()
        .with_output_schema::<T>()
        .with_title(title)
        .with_annotations(hints);
    schema::plainly(tool)
}
