//! A user's repository, a private one and a workspace in a temporary directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use runner::git::{
    Author, BranchName, CommitId, CommitText, LandRequest, PrivateRepo, Strategy, UserRepo, harvest, materialise,
};
use tempfile::TempDir;

pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) user: UserRepo,
    pub(crate) private: PrivateRepo,
    pub(crate) base: CommitId,
}

impl World {
    /// A repository on `main` with `a.txt`, `src/lib.rs`, an executable and a `.gitignore`.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("user");
        fs::create_dir_all(top.join("src")).unwrap();
        git(&top, &["init", "-q", "-b", "main"]);
        write(&top, "a.txt", "one\n");
        write(&top, "src/lib.rs", "fn main() {}\n");
        write(&top, "run.sh", "#!/bin/sh\n");
        write(&top, ".gitignore", "target/\n*.log\n");
        fs::set_permissions(top.join("run.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        commit_all(&top, "start");
        Self::over(dir, &top)
    }

    pub(crate) fn over(dir: TempDir, top: &Path) -> Self {
        let user = UserRepo::open(top).unwrap();
        let private = PrivateRepo::open(&dir.path().join("private"), &user).unwrap();
        let base = private.import_base(&user, &branch("main")).unwrap();
        Self { dir, user, private, base }
    }

    pub(crate) fn top(&self) -> PathBuf {
        self.user.top().to_owned()
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.dir.path().join("pool/ws")
    }

    pub(crate) fn materialise(&self) -> PathBuf {
        let workspace = self.workspace();
        materialise(&self.private, &self.base, &workspace).unwrap();
        workspace
    }

    /// A branch `autonomous/x` with one commit that changes, adds and removes a file.
    pub(crate) fn work(&self) -> CommitId {
        let workspace = self.materialise();
        write(&workspace, "a.txt", "two\n");
        write(&workspace, "new/deep.txt", "fresh\n");
        fs::remove_file(workspace.join("src/lib.rs")).unwrap();
        let tree = harvest(&self.private, &workspace, &self.base, &[]).unwrap();
        let name = branch("autonomous/x");
        self.private.create_branch(&name, &self.base).unwrap();
        self.private.commit_tree(&name, &self.base, &tree, &text("work", "r1", "r1/1")).unwrap()
    }

    pub(crate) fn land_request(&self, tip: &CommitId, strategy: Strategy) -> LandRequest {
        LandRequest {
            base: branch("main"),
            expected_base: self.base.clone(),
            tree: self.private.tree_of(tip).unwrap(),
            branch_tip: tip.clone(),
            strategy,
            text: text("Land it", "r1", "r1/9"),
        }
    }
}

pub(crate) fn branch(name: &str) -> BranchName {
    BranchName::parse(name).unwrap()
}

pub(crate) fn text(message: &str, run: &str, effect: &str) -> CommitText {
    CommitText {
        message: message.to_owned(),
        trailers: vec![
            ("Holdpoint-Run".to_owned(), run.to_owned()),
            ("Holdpoint-Effect".to_owned(), effect.to_owned()),
        ],
        when: "2026-01-02T03:04:05Z".parse().unwrap(),
        author: Author { name: "Ada".to_owned(), email: "ada@example.com".to_owned() },
    }
}

pub(crate) fn write(dir: &Path, path: &str, content: &str) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

pub(crate) fn read(dir: &Path, path: &str) -> String {
    fs::read_to_string(dir.join(path)).unwrap()
}

/// Git as the user runs it, without this machine's own configuration.
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(dir)
        .args(["-c", "user.name=User", "-c", "user.email=user@example.com"])
        .args(args)
        .env_remove("GIT_DIR")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {stderr}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

pub(crate) fn commit_all(dir: &Path, message: &str) {
    git(dir, &["add", "-A"]);
    git(dir, &["commit", "-q", "--no-verify", "-m", message]);
}

/// Every file below a directory with its bytes; links with their targets.
pub(crate) fn snapshot(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    collect(dir, dir, &mut files);
    files
}

fn collect(top: &Path, dir: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        let name = path.strip_prefix(top).unwrap().to_owned();
        if kind.is_dir() {
            collect(top, &path, files);
        } else if kind.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            files.insert(name, target.into_os_string().into_encoded_bytes());
        } else {
            files.insert(name, fs::read(&path).unwrap());
        }
    }
}

/// What must never change in the user's repository: all but objects, references and their logs.
pub(crate) fn guarded(top: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = snapshot(top);
    files.retain(|path, _| {
        !["objects", "refs", "logs"].iter().any(|name| path.starts_with(Path::new(".git").join(name)))
    });
    files
}
