//! One agent's place: its paths, its tier, and the command that starts a program in it.
//! It starts nothing itself.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    bubblewrap,
    descendants::Marker,
    environment::{self, Outside},
    handover,
    inside::Orders,
    landlocked::{Paths, all_but},
    limits::Limits,
    readable::{self, Shown},
    socket_filter::BROKER_ADDRESS,
    tier::Tier,
    toolchain::{self, Toolchain},
};
use crate::{dir_fd::Dir, shim::Input};

/// Name of the broker's socket in the door directory.
pub const DOOR_SOCKET: &str = "broker.sock";

/// Where the door and the binary are seen from inside the namespaces.
pub(super) const DOOR_INSIDE: &str = "/run/holdpoint/door";
pub(super) const PROGRAM_INSIDE: &str = "/run/holdpoint/bin/holdpoint";

/// Loopback of the namespace is nobody else's, so the port can be fixed.
const PORT_INSIDE: u16 = 4180;

/// The cell cannot be made of these paths.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    /// A path is missing.
    #[error("`{}` cannot be used for the sandbox", path.display())]
    Path {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A path would undo the sandbox.
    #[error("`{}` cannot be given to an agent: it contains what must stay hidden", .0.display())]
    TooWide(PathBuf),
    /// The argument list is empty.
    #[error("there is no program to start")]
    NothingToStart,
}

/// Everything about the place of one agent.
#[derive(Debug)]
pub struct Cell {
    pub(super) tier: Tier,
    pub(super) workspace: PathBuf,
    pub(super) session: PathBuf,
    pub(super) door: PathBuf,
    pub(super) program: PathBuf,
    pub(super) extra_ro: Vec<PathBuf>,
    /// What of the system is shown.
    pub(super) shown: Vec<Shown>,
    /// Never shown, also where it lies within what is; nothing in it lies below another.
    pub(super) hidden: Vec<PathBuf>,
    pub(super) limits: Limits,
    pub(super) marker: Marker,
    pub(super) outside: Outside,
    pub(super) toolchain: Toolchain,
}

/// What a cell is made of.
#[derive(Debug)]
pub struct CellPlan<'a> {
    /// The tier.
    pub tier: Tier,
    /// The checkout, read and written.
    pub workspace: &'a Path,
    /// The agent's own state, read and written; its home.
    pub session: &'a Path,
    /// Directory with the broker's socket.
    pub door: &'a Path,
    /// The holdpoint binary.
    pub program: &'a Path,
    /// More to read.
    pub extra_ro: &'a [PathBuf],
    /// What must not be seen, beside every home: the data directory.
    pub hide: &'a [PathBuf],
    /// Caps.
    pub limits: Limits,
    /// Mark of the attempt.
    pub marker: Marker,
}

/// Where an agent finds its things; differs from tier to tier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The holdpoint binary.
    pub holdpoint: PathBuf,
    /// The broker's unix socket.
    pub door: PathBuf,
    /// The broker over TCP; `None` in `Restricted`, where there is no TCP.
    pub broker_url: Option<String>,
}

impl Cell {
    /// Checks and resolves the paths.
    pub fn new(plan: CellPlan<'_>) -> Result<Self, CellError> {
        let outside = Outside::of_this_process();
        let hidden = hidden_places(&outside, plan.hide);
        let toolchain = outside.home.as_deref().map(|home| toolchain::in_home(home, &outside.path)).unwrap_or_default();
        let extra_ro: Vec<PathBuf> = plan.extra_ro.iter().map(|path| resolve(path)).collect::<Result<_, _>>()?;
        let cell = Self {
            tier: plan.tier,
            workspace: resolve(plan.workspace)?,
            session: resolve(plan.session)?,
            door: resolve(plan.door)?,
            program: resolve(plan.program)?,
            extra_ro,
            shown: readable::system(),
            hidden,
            limits: plan.limits,
            marker: plan.marker,
            outside,
            toolchain,
        };
        cell.refuse_wide_paths()?;
        Ok(cell)
    }

    /// Where the agent finds its things. `port` is the forwarder on the host's loopback, which
    /// only `Unsandboxed` has.
    pub fn places(&self, port: Option<u16>) -> Places {
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        match self.tier {
            Tier::Sandboxed => Places {
                holdpoint: PROGRAM_INSIDE.into(),
                door: Path::new(DOOR_INSIDE).join(DOOR_SOCKET),
                broker_url: Some(url(PORT_INSIDE)),
            },
            Tier::Restricted => {
                Places { holdpoint: self.program.clone(), door: BROKER_ADDRESS.into(), broker_url: None }
            }
            Tier::Unsandboxed => {
                Places { holdpoint: self.program.clone(), door: self.door.join(DOOR_SOCKET), broker_url: port.map(url) }
            }
        }
    }

    /// The command that runs `argv` in the cell under the init step. Its standard input must be
    /// the leash; its environment is complete and holds nothing of this process.
    pub fn command(
        &self,
        places: &Places,
        argv: &[String],
        given: &BTreeMap<String, String>,
        input: Input,
    ) -> Result<Command, CellError> {
        if argv.is_empty() {
            return Err(CellError::NothingToStart);
        }
        if self.tier == Tier::Restricted {
            // An earlier process of the conversation may have put anything there.
            let made = Dir::open(&self.session).and_then(|session| session.make_sub(b"tmp"));
            made.map_err(|source| CellError::Path { path: self.tmp(), source })?;
        }
        let orders = self.orders(places, argv, input).to_arguments();
        let mut command = match self.tier {
            Tier::Sandboxed => {
                let mut command = Command::new("bwrap");
                command.args(bubblewrap::arguments(self));
                command.arg("--").arg(&places.holdpoint);
                command
            }
            Tier::Restricted | Tier::Unsandboxed => Command::new(&places.holdpoint),
        };
        command
            .arg("inside")
            .args(orders)
            .current_dir(&self.workspace)
            .env_clear()
            .envs(environment::for_agent(self, places, given));
        handover::close_on_exec(&mut command);
        Ok(command)
    }

    /// Where temporary files go.
    pub(super) fn tmp(&self) -> PathBuf {
        match self.tier {
            Tier::Sandboxed | Tier::Unsandboxed => "/tmp".into(),
            Tier::Restricted => self.session.join("tmp"),
        }
    }

    fn orders(&self, places: &Places, argv: &[String], input: Input) -> Orders {
        let forward = match self.tier {
            Tier::Sandboxed => Some(PORT_INSIDE),
            Tier::Restricted | Tier::Unsandboxed => None,
        };
        let door = match self.tier {
            Tier::Sandboxed => places.door.clone(),
            Tier::Restricted | Tier::Unsandboxed => self.door.join(DOOR_SOCKET),
        };
        Orders {
            tier: self.tier,
            paths: self.landlock_paths(&door),
            door,
            forward,
            limits: self.limits.clone(),
            argv: argv.iter().map(OsString::from).collect(),
            input,
            marker: self.marker.value().to_owned(),
        }
    }

    fn landlock_paths(&self, door: &Path) -> Paths {
        let door = Paths::door_of(self.tier, door);
        let mut writable = vec![self.workspace.clone(), self.session.clone()];
        let readable = match self.tier {
            Tier::Sandboxed => {
                writable.extend([self.tmp(), "/var/tmp".into()]);
                vec!["/".into()]
            }
            Tier::Restricted => self.readable_without_namespaces(),
            Tier::Unsandboxed => Vec::new(),
        };
        Paths { writable, readable, door }
    }

    /// The trees of the system that are shown.
    pub(super) fn trees(&self) -> impl Iterator<Item = &PathBuf> {
        self.shown.iter().filter_map(|shown| match shown {
            Shown::Tree(path) => Some(path),
            Shown::Link { .. } => None,
        })
    }

    /// Whether a folder can be read inside, by this name.
    pub(super) fn shows(&self, folder: &Path) -> bool {
        let Ok(real) = std::fs::canonicalize(folder) else { return false };
        let below = |root: &PathBuf| real.starts_with(root) || folder.starts_with(root);
        let given = self.toolchain.roots.iter().chain(&self.extra_ro).any(below);
        given || (self.trees().any(below) && !self.hidden.iter().any(below))
    }

    fn readable_without_namespaces(&self) -> Vec<PathBuf> {
        let mut readable = vec![PathBuf::from("/proc")];
        readable.extend(self.trees().flat_map(|tree| all_but(tree, &self.hidden)));
        for root in &self.toolchain.roots {
            readable.extend(all_but(root, &self.toolchain.hidden));
        }
        readable.push(self.program.clone());
        readable.extend(self.extra_ro.clone());
        readable
    }

    /// A workspace of `/` or of a whole home would show all that is hidden.
    fn refuse_wide_paths(&self) -> Result<(), CellError> {
        let given = [&self.workspace, &self.session, &self.door];
        let wide = |path: &&PathBuf| self.hidden.iter().any(|hidden| hidden.starts_with(path));
        match given.into_iter().chain(&self.extra_ro).find(wide) {
            Some(path) if self.tier != Tier::Unsandboxed => Err(CellError::TooWide(path.clone())),
            Some(_) | None => Ok(()),
        }
    }
}

fn resolve(path: &Path) -> Result<PathBuf, CellError> {
    std::fs::canonicalize(path).map_err(|source| CellError::Path { path: path.to_owned(), source })
}

/// Every home, and what the caller names; resolved, existing, none below another.
fn hidden_places(outside: &Outside, hide: &[PathBuf]) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = ["/root", "/home"]
        .iter()
        .map(PathBuf::from)
        .chain(outside.home.clone())
        .chain(hide.iter().cloned())
        .filter_map(|path| std::fs::canonicalize(path).ok())
        .collect();
    all.sort();
    all.dedup();
    let outermost = |path: &PathBuf| !all.iter().any(|o| o != path && path.starts_with(o));
    all.iter().filter(|path| outermost(path)).cloned().collect()
}
