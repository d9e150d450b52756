//! The environment of an agent: a short list that is built here, never what the caller has.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::{
    cell::{Cell, Places},
    descendants::Marker,
    tier::Tier,
};

/// Taken over from the outside when set; none of them can hold a credential.
const TAKEN_OVER: &[&str] = &["LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "USER", "LOGNAME"];

/// What the launching process shows of itself. The shim gets no more than this either.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outside {
    pub(super) home: Option<PathBuf>,
    pub(super) path: Vec<PathBuf>,
    pub(super) taken_over: BTreeMap<String, String>,
}

impl Outside {
    pub(super) fn of_this_process() -> Self {
        let value = |name: &&str| env::var(name).ok().map(|value| ((*name).to_owned(), value));
        Self {
            home: env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute() && home != Path::new("/")),
            path: env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default(),
            taken_over: TAKEN_OVER.iter().filter_map(value).collect(),
        }
    }
}

/// The variables a shim is started with.
pub(crate) fn for_shim() -> Vec<(OsString, OsString)> {
    ["PATH", "HOME"]
        .iter()
        .chain(TAKEN_OVER)
        .filter_map(|name| env::var_os(name).map(|value| (OsString::from(name), value)))
        .collect()
}

/// The variables an agent is started with: the list, then what its driver `given`, then the marker.
pub(super) fn for_agent(cell: &Cell, places: &Places, given: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut list = cell.outside.taken_over.clone();
    list.extend(cell.toolchain.variables.clone());
    list.insert("PATH".into(), search_path(cell));
    list.insert("SHELL".into(), "/bin/sh".into());
    list.insert("HOME".into(), text(&own_home(cell)));
    list.insert("TMPDIR".into(), text(&cell.tmp()));
    list.insert("HOLDPOINT_DOOR".into(), text(&places.door));
    list.insert("HOLDPOINT_BIN".into(), text(&places.holdpoint));
    if let Some(url) = &places.broker_url {
        list.insert("HOLDPOINT_BROKER_URL".into(), url.clone());
    }
    list.extend(given.clone());
    list.insert(Marker::VARIABLE.into(), cell.marker.value().to_owned());
    list
}

fn own_home(cell: &Cell) -> PathBuf {
    match (cell.tier, &cell.outside.home) {
        (Tier::Unsandboxed, Some(home)) => home.clone(),
        (Tier::Unsandboxed, None) | (Tier::Sandboxed | Tier::Restricted, _) => cell.session.clone(),
    }
}

/// The PATH without entries that the agent could not see anyway.
fn search_path(cell: &Cell) -> String {
    let visible = |entry: &&PathBuf| match cell.tier {
        Tier::Unsandboxed => true,
        Tier::Sandboxed | Tier::Restricted => entry.is_absolute() && cell.shows(entry),
    };
    let entries: Vec<&PathBuf> = cell.outside.path.iter().filter(visible).collect();
    env::join_paths(entries)
        .ok()
        .filter(|path| !path.is_empty())
        .map_or_else(|| "/usr/local/bin:/usr/bin:/bin".to_owned(), |path| path.to_string_lossy().into_owned())
}
