//! A desk in a temporary folder, for the tests of the tools.

use super::Desk;
use crate::workspace::Workspace;

pub(super) fn desk(files: &[(&str, &str)]) -> (tempfile::TempDir, Desk) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("work");
    std::fs::create_dir(&root).unwrap();
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let workspace = Workspace::open(&root).unwrap();
    let outputs = folder.path().join("output");
    (folder, Desk { workspace, outputs })
}
