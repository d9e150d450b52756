//! After an agent was stopped because it filled the disk: what it filled is removed, and a person is told.

use std::io;
use std::path::Path;

use domain::AgentTask;
use engine::Job;

use crate::dir_fd::Dir;
use crate::git;
use crate::hands::Hands;
use crate::trouble::Trouble;

/// An entry of a session folder that takes more than this part of the limit goes.
const PART: u64 = 8;
/// Entries that are looked at in a session folder, and below each.
const MOST_ENTRIES: u64 = 4_000_000;

/// Removes the workspace, which is made anew from git, and what is large in the session folder.
pub(crate) async fn stopped(hands: &Hands, job: &Job, task: &AgentTask, what: &str) -> Result<Trouble, Trouble> {
    let (workspace, session) = (hands.paths.workspace(&job.id.run), hands.paths.session(&job.id.run, &task.session));
    let most = hands.isolation.limits.disk_bytes / PART;
    let remove = move || {
        git::remove_workspace(&workspace)?;
        remove_large(&session, most).map_err(|error| Trouble::io("making room in", &session, &error))
    };
    hands.blocking(&job.id.run, remove).await?;
    Ok(Trouble::with_hint(
        format!("the agent was stopped: {what}; its workspace was removed"),
        "if the work needs more room, raise `agent_disk_gib` in config.toml and restart the server; then retry, with a \
         word to the agent about what it writes",
    ))
}

fn remove_large(session: &Path, most: u64) -> io::Result<()> {
    let folder = match Dir::open(session) {
        Ok(folder) => folder,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for name in folder.names()? {
        if folder.usage_of(&name, MOST_ENTRIES)?.is_some_and(|usage| usage.cut || usage.bytes > most) {
            folder.remove(&name)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_large_in_a_session_folder_is_removed_and_the_rest_stays() {
        let session = tempfile::tempdir().unwrap();
        let at = |name: &str| session.path().join(name);
        std::fs::create_dir_all(at("cache/deep")).unwrap();
        std::fs::write(at("cache/deep/blob"), vec![1; 1 << 20]).unwrap();
        std::fs::write(at("big"), vec![1; 1 << 20]).unwrap();
        std::fs::write(at("turns.jsonl"), "{}").unwrap();
        std::os::unix::fs::symlink(at("big"), at("link")).unwrap();
        remove_large(session.path(), 512 << 10).unwrap();
        let mut left: Vec<_> =
            std::fs::read_dir(session.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["link", "turns.jsonl"]);
        remove_large(&at("gone"), 1).unwrap();
    }
}
