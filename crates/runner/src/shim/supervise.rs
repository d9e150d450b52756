//! `holdpoint shim`: the life of one attempt, from the document on standard input to the
//! published exit. It starts the agent once and never again.

use std::{
    fs,
    io::{self, Read, Write},
    net::{Ipv4Addr, TcpListener},
    os::{fd::OwnedFd, unix::net::UnixListener as StdUnixListener},
    path::Path,
    process::{Child, ExitCode, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use broker::{Gateway, HandIns, Keep};
use jiff::Timestamp;
use rustix::process::{DumpableBehavior, getpid, set_child_subreaper, set_dumpable_behavior};
use tokio::{
    net::UnixListener,
    sync::{oneshot, watch},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    control::{self, Progress},
    launch::{self, Input, Launch},
    leash::Leash,
    nonce::Nonce,
    pump::{self, Caps},
    quota::Quota,
    sockets,
    spool::{self, Exit, How, ShimMarker, SpoolError},
};
use crate::sandbox::{
    self, Cell, CellPlan, DOOR_SOCKET, GroupLimits, Groups, Marker, Tier, end_descendants, inside::Said, start_time,
};
use crate::server_secrets::ServerSecrets;

/// Where the lock and the control socket are handed down.
const LOCK_NUMBER: i32 = 3;
const CONTROL_NUMBER: i32 = 4;

/// Time for an agent that was asked to end.
const GRACE: Duration = Duration::from_secs(3);
/// Time for a model call in flight to be written down after its agent is gone.
const LAST_CALL: Duration = Duration::from_secs(2);
/// Time for the pipes to run dry after the last process that could hold them is gone.
const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// The shim cannot do its work; nothing was started.
#[derive(Debug, thiserror::Error)]
enum ShimFault {
    #[error("the descriptor {0} was not handed down")]
    NotInherited(i32),
    #[error("the order on standard input is incomplete")]
    Torn(#[source] serde_json::Error),
    #[error("the supervisor cannot be set up")]
    Setup(#[from] io::Error),
    #[error(transparent)]
    Spool(#[from] SpoolError),
}

/// Why an agent could not be started, for the exit that is published.
#[derive(Debug, thiserror::Error)]
enum StartFault {
    #[error(transparent)]
    Tier(#[from] sandbox::Unsupported),
    #[error(transparent)]
    Cell(#[from] sandbox::CellError),
    #[error(transparent)]
    Tcp(#[from] launch::NeedsTcp),
    #[error("the broker cannot serve what was granted: {0}")]
    Grant(#[from] broker::GrantError),
    #[error("the sandbox cannot be started: {0}")]
    Start(#[from] io::Error),
    #[error(transparent)]
    Spool(#[from] SpoolError),
}

/// `holdpoint shim`: never for people.
pub fn main_from_stdin() -> ExitCode {
    let secrets = ServerSecrets::default();
    let of_panics = secrets.clone();
    std::panic::set_hook(Box::new(move |panic| log(&of_panics, &panic.to_string())));
    // Held until the log is written: a server that gets the lock reads why nothing was started.
    let mut lock = None;
    match run(&secrets, &mut lock) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            let cause = std::error::Error::source(&fault).map(|cause| format!(": {cause}"));
            log(&secrets, &format!("{fault}{}", cause.unwrap_or_default()));
            ExitCode::FAILURE
        }
    }
}

/// Writes to the log of the spool, without the keys that this process was granted.
fn log(secrets: &ServerSecrets, text: &str) {
    // Without a log there is no other place to report to.
    let _ = writeln!(io::stderr(), "{}", secrets.redact(text));
}

fn run(secrets: &ServerSecrets, lock: &mut Option<OwnedFd>) -> Result<(), ShimFault> {
    let inherited = |number| sandbox::take_inherited(number).ok_or(ShimFault::NotInherited(number));
    *lock = Some(inherited(LOCK_NUMBER)?);
    let control = StdUnixListener::from(inherited(CONTROL_NUMBER)?);
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(io::Error::from)?;
    set_child_subreaper(Some(getpid())).map_err(io::Error::from)?;
    let mut document = Vec::new();
    io::stdin().read_to_end(&mut document)?;
    let order: Launch = serde_json::from_slice(&document).map_err(ShimFault::Torn)?;
    drop(document);
    secrets.add_granted(&order.grant);
    // One thread, and the agent is started on it: the kernel ends a sandbox when the thread that
    // started it ends, and this one lives as long as the process.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(supervise(order, control))
}

async fn supervise(order: Launch, control: StdUnixListener) -> Result<(), ShimFault> {
    let spool = order.spool.clone();
    let (progress, watched) = watch::channel(Progress::default());
    let progress = Arc::new(progress);
    let stop = CancellationToken::new();
    if spool::stop_requested(&spool) {
        stop.cancel();
    }
    let prepared = prepare(order, &progress);
    if let Ok(prepared) = &prepared {
        spool::publish(&spool, spool::MARKER, &marker(prepared.tier, prepared.groups.limits)?)?;
    }
    control.set_nonblocking(true)?;
    let control = UnixListener::from_std(control)?;
    let talking = tokio::spawn(control::serve(control, watched, stop.clone()));
    let exit = match prepared {
        Ok(prepared) => attempt(prepared, &progress, &stop).await,
        Err(fault) => ending(How::LaunchFailed(fault.to_string()), &stop, 0),
    };
    spool::publish(&spool, spool::EXIT, &exit)?;
    progress.send_modify(|progress| progress.exited = true);
    // A listener that was not told reads the exit from the spool.
    let _ = talking.await;
    Ok(())
}

/// Everything that can be done before the agent is started.
struct Prepared {
    order: Launch,
    tier: Tier,
    cell: Cell,
    door: UnixListener,
    gateway: Arc<Gateway>,
    nonce: Option<Nonce>,
    groups: Groups,
    quota: Quota,
}

fn prepare(order: Launch, progress: &Arc<watch::Sender<Progress>>) -> Result<Prepared, StartFault> {
    let tier = order.tier.resolve()?;
    let door = order.spool.join(spool::DOOR);
    let listener = sockets::listen(&door.join(DOOR_SOCKET))?;
    listener.set_nonblocking(true)?;
    let calls = spool::open_stream(&order.spool, spool::CALLS)?;
    let counted = Arc::clone(progress);
    let notify = Arc::new(move || counted.send_modify(|progress| progress.calls += 1));
    let gateway = Gateway::new(order.grant.clone(), calls, notify)?;
    let (gateway, nonce) = match order.input {
        Input::Nothing => (gateway, None),
        Input::Nonce => {
            let nonce = Nonce::new()?;
            let spool = order.spool.clone();
            let keep: Keep = Box::new(move |bytes| spool::publish_bytes(&spool, spool::HANDED_IN, bytes));
            (gateway.taking(HandIns::new(nonce.text(), keep)), Some(nonce))
        }
    };
    let marker = Marker::of_spool(&order.spool)?;
    let groups = Groups::make(marker.value(), &order.limits);
    let cell = Cell::new(CellPlan {
        tier,
        workspace: &order.workspace,
        session: &order.session,
        door: &door,
        program: &order.program,
        extra_ro: &order.extra_ro,
        hide: &order.hide,
        limits: order.limits.clone(),
        marker,
    })?;
    let quota = Quota::new(&order)?;
    let (door, gateway) = (UnixListener::from_std(listener)?, Arc::new(gateway));
    Ok(Prepared { order, tier, cell, door, gateway, nonce, groups, quota })
}

/// Runs the agent to its end; when this returns none of its processes lives.
async fn attempt(prepared: Prepared, progress: &Arc<watch::Sender<Progress>>, stop: &CancellationToken) -> Exit {
    if stop.is_cancelled() {
        return ending(How::Stopped, stop, 0);
    }
    let Prepared { order, tier, cell, door, gateway, nonce, groups, quota } = prepared;
    let closing = CancellationToken::new();
    let serving = tokio::spawn(gateway.serve(door, closing.clone().cancelled_owned()));
    let exit = match start(&order, tier, &cell, &groups, nonce, progress) {
        Ok(agent) => agent.until_gone(&order, &quota, stop).await,
        Err(fault) => ending(How::LaunchFailed(fault.to_string()), stop, 0),
    };
    closing.cancel();
    let _ = timeout(LAST_CALL, serving).await;
    for name in [spool::OUTPUT, spool::ERRORS, spool::CALLS] {
        // What cannot be synced is still there for a reader of this boot.
        let _ = fs::File::open(order.spool.join(name)).and_then(|file| file.sync_all());
    }
    exit
}

/// An agent that was started.
struct Agent {
    child: Child,
    leash: Leash,
    output: oneshot::Receiver<u64>,
    errors: oneshot::Receiver<u64>,
}

fn start(
    order: &Launch,
    tier: Tier,
    cell: &Cell,
    groups: &Groups,
    nonce: Option<Nonce>,
    progress: &Arc<watch::Sender<Progress>>,
) -> Result<Agent, StartFault> {
    let port = match tier {
        Tier::Unsandboxed => Some(forward_on_host(&order.spool)?),
        Tier::Sandboxed | Tier::Restricted => None,
    };
    let places = cell.places(port);
    let (argv, mut env) = launch::fill_in(&order.argv, &order.env, &places)?;
    let login = order.grant.direct.iter().flat_map(|direct| &direct.variables);
    env.extend(login.map(|(name, value)| (name.clone(), value.hand_over())));
    let output = spool::open_stream(&order.spool, spool::OUTPUT)?;
    let errors = spool::open_stream(&order.spool, spool::ERRORS)?;
    let (leash, their_end) = Leash::new(nonce.as_ref())?;
    let mut command = cell.command(&places, &argv, &env, order.input)?;
    groups.hold(&mut command)?;
    command.stdin(Stdio::from(their_end)).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    // The command owns a copy of the other end of the leash, which must live in the cell alone.
    drop(command);
    let caps = Caps { total: order.limits.output_bytes, line: order.limits.line_bytes };
    let printed = child.stdout.take();
    let complained = child.stderr.take();
    let seen = Arc::clone(progress);
    let grew = move |bytes| seen.send_modify(|progress| progress.output_bytes = bytes);
    Ok(Agent {
        child,
        leash,
        output: in_thread(move || printed.map_or(0, |from| pump::lines(from, &output, caps, grew))),
        errors: in_thread(move || complained.map_or(0, |from| pump::head_and_tail(from, &errors))),
    })
}

/// The broker on the host's loopback, for a tier that has no namespace of its own.
fn forward_on_host(spool: &Path) -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    sandbox::forward(listener, spool.join(spool::DOOR).join(DOOR_SOCKET))?;
    Ok(port)
}

fn in_thread(work: impl FnOnce() -> u64 + Send + 'static) -> oneshot::Receiver<u64> {
    let (done, wait) = oneshot::channel();
    thread::spawn(move || done.send(work()));
    wait
}

impl Agent {
    async fn until_gone(mut self, order: &Launch, quota: &Quota, stop: &CancellationToken) -> Exit {
        let mut over = None;
        tokio::select! {
            () = self.leash.until_end() => {}
            // Every moment of grace would be written away.
            why = quota.exceeded() => over = Some(why),
            () = stop.cancelled() => {
                self.leash.ask_to_end().await;
                // When the time is over it is ended below like any leftover.
                let _ = timeout(GRACE, self.leash.until_end()).await;
            }
        }
        let pid = i32::try_from(self.child.id()).unwrap_or_default();
        let gone: JoinHandle<_> = tokio::task::spawn_blocking(end_descendants);
        let statuses = gone.await.ok().and_then(Result::ok).unwrap_or_default();
        let killed_by = statuses.get(&pid).and_then(|status| status.terminating_signal());
        let dropped = last(&mut self.output).await + last(&mut self.errors).await;
        let how = match (stop.is_cancelled(), over) {
            (true, _) => How::Stopped,
            (false, Some(why)) => How::DiskQuota(why),
            (false, None) => self.how(killed_by, &order.spool),
        };
        ending(how, stop, dropped)
    }

    fn how(&self, killed_by: Option<i32>, spool: &Path) -> How {
        match self.leash.last_said() {
            Some(Said::Code(code)) => How::Code(code),
            Some(Said::Signal(signal)) => How::Signal(signal),
            Some(Said::Failed(why)) => How::LaunchFailed(why),
            // The init step itself was ended, by someone who may do that.
            Some(Said::Started) => How::Signal(killed_by.unwrap_or(libc::SIGKILL)),
            None => How::LaunchFailed(complaint(spool)),
        }
    }
}

async fn last(count: &mut oneshot::Receiver<u64>) -> u64 {
    match timeout(LAST_OUTPUT, count).await {
        Ok(Ok(dropped)) => dropped,
        // Somebody outside holds the pipe; what was read is in the spool.
        Ok(Err(_)) | Err(_) => 0,
    }
}

/// What the sandbox printed before it gave up.
fn complaint(spool: &Path) -> String {
    let printed = fs::read_to_string(spool.join(spool::ERRORS)).unwrap_or_default();
    let short: String = printed.trim().chars().take(500).collect();
    format!("the sandbox could not be set up: {short}")
}

fn ending(exit: How, stop: &CancellationToken, dropped_bytes: u64) -> Exit {
    Exit { exit, ended_at: Timestamp::now(), stop_requested: stop.is_cancelled(), dropped_bytes }
}

fn marker(tier: Tier, limits: GroupLimits) -> Result<ShimMarker, ShimFault> {
    let pid = getpid();
    Ok(ShimMarker {
        pid: pid.as_raw_pid(),
        start_time: start_time(pid).ok_or_else(|| io::Error::other("/proc is not readable"))?,
        boot_id: boot_id(),
        tier,
        started_at: Timestamp::now(),
        limits,
    })
}

/// Names this boot of the machine; pids mean nothing across boots.
pub(super) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}
