//! Numbers of specs: one per run, never given twice in a project, also not to runs at the same time.

use std::collections::BTreeMap;
use std::fs::File;

use domain::Run;

use crate::durable;
use crate::paths::Paths;
use crate::repos::Repos;
use crate::trouble::Trouble;

/// The number of a run's spec; a second call gives the same.
pub(crate) fn number(paths: &Paths, repos: &Repos, run: &Run) -> Result<u32, Trouble> {
    let folder = paths.project(repos.user.top());
    let lock_path = folder.join("specs.lock");
    let lock = File::create(&lock_path).map_err(|error| Trouble::io("creating", &lock_path, &error))?;
    lock.lock().map_err(|error| Trouble::io("locking", &lock_path, &error))?;
    let path = folder.join("specs.json");
    let mut known: BTreeMap<String, u32> = match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| Trouble::of(&error))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
        Err(error) => return Err(Trouble::io("reading", &path, &error)),
    };
    if let Some(number) = known.get(run.id.as_str()) {
        return Ok(*number);
    }
    let given = known.values().copied().max().unwrap_or(0);
    let number = given.max(highest_committed(repos, run)?) + 1;
    known.insert(run.id.to_string(), number);
    let text = serde_json::to_vec_pretty(&known).map_err(|error| Trouble::of(&error))?;
    let fresh = folder.join("specs.json.new");
    durable::replace(&fresh, &path, &text).map_err(|error| Trouble::io("writing", &path, &error))?;
    Ok(number)
}

fn highest_committed(repos: &Repos, run: &Run) -> Result<u32, Trouble> {
    let names = repos.private.list(&Repos::base_commit(run)?, ".autonomous/specs")?;
    let number = |name: &String| name.rsplit('/').next()?.split('-').next()?.parse::<u32>().ok();
    Ok(names.iter().filter_map(number).max().unwrap_or(0))
}
