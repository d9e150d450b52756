//! Which files an agent finds in its workspace. A judge works in a fresh checkout, so that nothing a coder left beside its
//! commit (ignored files, caches, planted programs) reaches it; the coder's workspace is put aside with its caches and
//! comes back for the next agent that is no judge.

use domain::RunId;
use drivers::JobKind;

use crate::dir_fd::Dir;
use crate::paths::Paths;
use crate::trouble::Trouble;

const HERE: &[u8] = b"workspace";
/// Where the workspace of those who do not judge waits meanwhile.
const ASIDE: &[u8] = b"workspace-aside";

/// Puts the right folder in the place of the workspace, or none, to be filled by the caller. May be done twice, also
/// after a crash in the middle: whether there is something aside says whose the workspace is.
pub(crate) fn make_room(paths: &Paths, run: &RunId, kind: JobKind) -> Result<(), Trouble> {
    let path = paths.run(run);
    let moved = (|| {
        let folder = Dir::create(&path)?;
        let (here, aside) = (folder.kind(HERE)?, folder.kind(ASIDE)?);
        match (judges(kind), here, aside) {
            (true, _, Some(_)) => folder.remove(HERE),
            (true, Some(_), None) => folder.rename(HERE, &folder, ASIDE),
            (false, _, Some(_)) => {
                folder.remove(HERE)?;
                folder.rename(ASIDE, &folder, HERE)
            }
            (true, None, None) | (false, _, None) => Ok(()),
        }
    })();
    moved.map_err(|error| Trouble::io("preparing the workspace in", &path, &error))
}

/// Removes what waits aside.
pub(crate) fn remove_aside(paths: &Paths, run: &RunId) -> Result<(), Trouble> {
    let path = paths.run(run);
    let removed = match Dir::open(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        folder => folder.and_then(|folder| folder.remove(ASIDE)),
    };
    removed.map_err(|error| Trouble::io("removing a workspace in", &path, &error))
}

pub(crate) fn judges(kind: JobKind) -> bool {
    match kind {
        JobKind::Review => true,
        JobKind::Spec
        | JobKind::Tasks
        | JobKind::Scope
        | JobKind::Research
        | JobKind::Code
        | JobKind::Handoff
        | JobKind::Lead
        | JobKind::Pursue
        | JobKind::Converse
        | JobKind::Answer
        | JobKind::Discuss => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_judge_finds_nothing_of_the_coder_and_the_coder_finds_its_caches_again() {
        let home = tempfile::tempdir().unwrap();
        let (paths, run) = (Paths::new(home.path()), testkit::samples::run_id(1));
        let workspace = paths.workspace(&run);
        let begin = |kind| {
            make_room(&paths, &run, kind).unwrap();
            make_room(&paths, &run, kind).unwrap();
            std::fs::create_dir_all(&workspace).unwrap();
        };
        let leave = |name: &str| std::fs::write(workspace.join(name), "x").unwrap();
        let found = || {
            let names = std::fs::read_dir(&workspace).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
            names.sort();
            names
        };
        begin(JobKind::Code);
        leave("coder");
        for _ in 0..2 {
            begin(JobKind::Review);
            assert_eq!(found(), [""; 0], "neither of the coder nor of an earlier judge");
            leave("judge");
        }
        begin(JobKind::Answer);
        assert_eq!(found(), ["coder"]);
        begin(JobKind::Code);
        assert_eq!(found(), ["coder"]);
        begin(JobKind::Review);
        remove_aside(&paths, &run).unwrap();
        assert_eq!(std::fs::read_dir(paths.run(&run)).unwrap().count(), 1);
    }
}
