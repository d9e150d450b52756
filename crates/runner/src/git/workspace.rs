//! The directory an agent works in. `materialise` makes its content exactly a commit's tree and
//! gives it a throw-away `.git`; ignored build caches stay. Holdpoint never reads that `.git`.

use std::fs;
use std::io;
use std::path::Path;

use super::ignore_rules::{IgnoreRules, MAX_RULES};
use super::names::{link_stays_inside, path_refusal, shown};
use super::objects::{Blobs, Entry, EntryMode, Files};
use super::run::Call;
use super::{Author, CommitId, CommitRequest, CommitText, GitError, PrivateRepo};
use crate::dir_fd::{Dir, Kind};

/// Makes the non-ignored content of `dir` exactly the tree of `commit`. `dir` may be missing,
/// or left by an earlier agent in any state.
pub fn materialise(private: &PrivateRepo, commit: &CommitId, dir: &Path) -> Result<(), GitError> {
    let files = private.files(commit)?;
    for path in files.0.keys() {
        if let Some(reason) = path_refusal(path) {
            let path = shown(path);
            return Err(GitError::BadPath { path, reason });
        }
    }
    let root = open_root(dir).map_err(GitError::io("cannot prepare", dir))?;
    root.remove(b".git").map_err(GitError::io("cannot replace `.git` of", dir))?;
    let mut blobs = Blobs::of(private)?;
    let mut cleaning = Cleaning { files: &files, blobs: &mut blobs, rules: IgnoreRules::default() };
    cleaning.directory(&root, b"", Ignored::No).map_err(|error| error.at(dir))?;
    for (path, entry) in &files.0 {
        write_entry(&root, path, entry, &mut blobs).map_err(|error| error.at(dir))?;
    }
    blobs.end()?;
    throw_away_repository(private, commit, dir)
}

fn open_root(dir: &Path) -> io::Result<Dir> {
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)?;
    }
    match fs::symlink_metadata(dir) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => {
            fs::remove_file(dir)?;
            fs::create_dir(dir)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(dir)?,
        Err(error) => return Err(error),
    }
    Dir::open(dir)
}

/// Removes the workspace and all in it, following no symlink. Gone already is fine.
pub fn remove_workspace(dir: &Path) -> Result<(), GitError> {
    let (Some(parent), Some(name)) = (dir.parent(), dir.file_name()) else {
        return Err(GitError::BadPath { path: dir.display().to_string(), reason: "it is not the path of a workspace" });
    };
    let parent = match Dir::open(parent) {
        Ok(parent) => parent,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(GitError::io("cannot open", parent)(error)),
    };
    parent.remove(name.as_encoded_bytes()).map_err(GitError::io("cannot remove", dir))
}

enum Trouble {
    Disk(Vec<u8>, io::Error),
    Git(GitError),
}

impl Trouble {
    fn at(self, dir: &Path) -> GitError {
        match self {
            Self::Disk(path, source) => GitError::Io { doing: "cannot prepare", path: dir.join(shown(&path)), source },
            Self::Git(error) => error,
        }
    }
}

fn on_disk(path: &[u8]) -> impl Fn(io::Error) -> Trouble {
    move |error| Trouble::Disk(path.to_vec(), error)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ignored {
    Yes,
    No,
}

/// Takes away what is neither in the tree nor ignored by the tree's own rules.
struct Cleaning<'a> {
    files: &'a Files,
    blobs: &'a mut Blobs,
    rules: IgnoreRules,
}

impl Cleaning<'_> {
    fn directory(&mut self, dir: &Dir, path: &[u8], ignored: Ignored) -> Result<(), Trouble> {
        let rules = match self.files.get(&joined(path, b".gitignore")) {
            Some(entry) if entry.mode != EntryMode::Symlink && entry.size <= MAX_RULES => {
                Some(self.blobs.read(&entry.id).map_err(Trouble::Git)?)
            }
            Some(_) | None => None,
        };
        self.rules.enter(path, rules.as_deref());
        for name in dir.names().map_err(on_disk(path))? {
            self.entry(dir, &name, &joined(path, &name), ignored)?;
        }
        self.rules.leave();
        Ok(())
    }

    fn entry(&mut self, dir: &Dir, name: &[u8], path: &[u8], ignored: Ignored) -> Result<(), Trouble> {
        let kind = dir.kind(name).map_err(on_disk(path))?;
        let is_directory = kind == Some(Kind::Directory);
        if self.files.get(path).is_some() {
            // Written anew by the caller if it is not what it should be.
            return Ok(());
        }
        let wanted_directory = self.files.has_directory(path);
        let ignored = match ignored {
            Ignored::No if !self.rules.ignores(path, is_directory) => Ignored::No,
            Ignored::No | Ignored::Yes => Ignored::Yes,
        };
        if wanted_directory && is_directory {
            let sub = dir.sub(name).map_err(on_disk(path))?;
            return self.directory(&sub, path, ignored);
        }
        if ignored == Ignored::Yes && !wanted_directory {
            return Ok(());
        }
        if is_directory {
            // Ignored things inside an unknown directory stay, like everywhere else.
            let sub = dir.sub(name).map_err(on_disk(path))?;
            self.directory(&sub, path, ignored)?;
            return dir.remove_if_empty(name).map_err(on_disk(path));
        }
        dir.remove(name).map_err(on_disk(path))
    }
}

pub(crate) fn joined(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() {
        return name.to_vec();
    }
    [directory, b"/", name].concat()
}

fn write_entry(root: &Dir, path: &[u8], entry: &Entry, blobs: &mut Blobs) -> Result<(), Trouble> {
    let (dir, name) = root.make_parent_of(path).map_err(on_disk(path))?;
    let mode = match entry.mode {
        EntryMode::Gitlink => {
            // A submodule is an empty directory here; its content is never fetched.
            return dir.make_sub(name).map(drop).map_err(on_disk(path));
        }
        EntryMode::Symlink => return write_link(&dir, name, path, entry, blobs),
        EntryMode::File => 0o644,
        EntryMode::Executable => 0o755,
    };
    let bytes = blobs.read(&entry.id).map_err(Trouble::Git)?;
    put_file(&dir, name, &bytes, mode).map_err(on_disk(path))
}

/// Leaves a file alone that already is right, so that build tools see it as unchanged.
fn put_file(dir: &Dir, name: &[u8], bytes: &[u8], mode: u32) -> io::Result<()> {
    let size = bytes.len() as u64;
    match dir.kind(name)? {
        Some(Kind::File { executable, size: found }) if found == size => {
            if dir.read(name, size)? != bytes {
                return dir.write(name, bytes, mode);
            }
            match executable == (mode & 0o100 != 0) {
                true => Ok(()),
                false => dir.set_mode(name, mode),
            }
        }
        Some(_) | None => dir.write(name, bytes, mode),
    }
}

/// A link that would lead out of the workspace becomes a plain file with the target as text,
/// like on a system without symlinks; `harvest` knows it again.
fn write_link(dir: &Dir, name: &[u8], path: &[u8], entry: &Entry, blobs: &mut Blobs) -> Result<(), Trouble> {
    let target = blobs.read(&entry.id).map_err(Trouble::Git)?;
    let put = || -> io::Result<()> {
        if !link_stays_inside(path, &target) {
            return put_file(dir, name, &target, 0o644);
        }
        match dir.kind(name)? {
            Some(Kind::Symlink) if dir.read_link(name)? == target => Ok(()),
            Some(_) | None => dir.symlink(name, &target),
        }
    };
    put().map_err(on_disk(path))
}

/// A repository of one commit, so that an agent can look at its own changes with git. It is
/// made after the old one was removed: no configuration of an agent is ever read.
fn throw_away_repository(private: &PrivateRepo, commit: &CommitId, dir: &Path) -> Result<(), GitError> {
    let start = private.commit(&CommitRequest {
        parents: Vec::new(),
        tree: private.tree_of(commit)?,
        text: CommitText {
            message: format!("Start of the work, from {commit}"),
            trailers: Vec::new(),
            when: jiff::Timestamp::UNIX_EPOCH,
            author: Author { name: "Holdpoint".to_owned(), email: "holdpoint@localhost".to_owned() },
        },
    })?;
    let git_dir = dir.join(".git");
    fs::create_dir(&git_dir).map_err(GitError::io("cannot create", &git_dir))?;
    let format = match commit.as_str().len() {
        40 => "sha1",
        _ => "sha256",
    };
    let here = || Call::at(&git_dir).env("GIT_WORK_TREE", dir).pin("core.fsync", "none");
    here()
        .args(["init", "--quiet", "--template=", "--initial-branch=work"])
        .arg(format!("--object-format={format}"))
        .run()?;
    private
        .call()
        .args(["pack-objects", "--revs", "--stdout", "--quiet"])
        .input(format!("{start}\n"))
        .run_into(here().args(["index-pack", "--stdin"]))?;
    here().args(["update-ref", "refs/heads/work", start.as_str()]).run()?;
    for (key, value) in [("core.bare", "false"), ("user.name", "Agent"), ("user.email", "agent@localhost")] {
        here().args(["config", "--local", key, value]).run()?;
    }
    // `core.worktree` would tie the repository to this path; it is found by its place instead.
    here().args(["config", "--local", "--unset-all", "core.worktree"]).finish()?;
    here().args(["read-tree", start.as_str()]).run()?;
    // Exit code 1 only says that some file differs, such as a link written as text.
    here().args(["update-index", "-q", "--refresh"]).finish()?;
    Ok(())
}
