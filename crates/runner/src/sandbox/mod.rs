//! The walls around one agent: which processes, files, sockets and system calls it can reach.
//! Nothing here decides which tier a project may use, and nothing here lowers a tier by itself.

mod broker_streams;
mod bubblewrap;
mod capabilities;
mod cell;
mod cgroup;
mod descendants;
mod environment;
mod forward;
mod handover;
pub mod inside;
mod landlocked;
mod limits;
mod probe;
mod readable;
mod socket_filter;
mod syscalls;
mod tier;
mod toolchain;

pub use cell::{Cell, CellError, CellPlan, DOOR_SOCKET, Places};
pub use cgroup::{Enforced, GroupLimits, group_limits};
pub use limits::Limits;
pub use probe::{Probe, Works, probe};
pub use tier::{Tier, TierChoice, Unsupported};

pub(crate) use cgroup::Groups;
pub use descendants::Marker;
pub(crate) use descendants::{end_descendants, marked_processes, start_time};
pub(crate) use environment::for_shim;
pub(crate) use forward::forward;
pub(crate) use handover::{hand_down, take_inherited};
