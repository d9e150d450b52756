//! Bringing one checkout of the user from an old commit to a new one, and finishing it after a
//! crash. Only files that are exactly the old content are touched; whatever the user changed is
//! either a reason to do nothing, or left alone.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::checkout::{Checkout, Locked};
use super::names::shown;
use super::on_disk::{OnDisk, delete, on_disk};
use super::private_repo::remove_if_there;
use super::run::Call;
use super::{CommitId, GitError, PrivateRepo};
use crate::dir_fd::Dir;

/// What bringing a checkout from one commit to another takes.
pub(crate) struct Step<'a> {
    private: &'a PrivateRepo,
    checkout: &'a Checkout,
    old: &'a CommitId,
    new: &'a CommitId,
    filters: Vec<String>,
}

/// What stands in the way of a checkout, if anything.
pub(crate) enum Prepared {
    Ready(Plan),
    /// Changed by the user: nothing was done.
    Dirty(Vec<String>),
    /// Another git process works on the index.
    Busy,
}

pub(crate) struct Plan {
    /// The new index, not yet in place.
    index: IndexCopy,
    write: Vec<Vec<u8>>,
    delete: Vec<Vec<u8>>,
    /// Neither the old nor the new content: the user's, left alone.
    foreign: Vec<Vec<u8>>,
}

impl<'a> Step<'a> {
    pub(crate) fn new(
        private: &'a PrivateRepo,
        checkout: &'a Checkout,
        old: &'a CommitId,
        new: &'a CommitId,
    ) -> Result<Self, GitError> {
        Ok(Self { private, checkout, old, new, filters: checkout.filter_drivers()? })
    }

    /// Locks the index and makes sure that the checkout is exactly the old commit.
    pub(crate) fn prepare(&self) -> Result<Prepared, GitError> {
        if self.checkout.in_the_middle_of_something() {
            let what = "a merge or rebase under way".to_owned();
            return Ok(Prepared::Dirty(vec![what]));
        }
        match self.checkout.lock(self.old, self.new)? {
            Locked::Yes => {}
            Locked::BySomeoneElse => return Ok(Prepared::Busy),
        }
        let outcome = self.dirty_paths().and_then(|dirty| match dirty[..] {
            [] => self.plan().map(Prepared::Ready),
            _ => Ok(Prepared::Dirty(dirty.iter().map(|path| shown(path)).collect())),
        });
        match outcome {
            Ok(Prepared::Ready(plan)) if plan.foreign.is_empty() => Ok(Prepared::Ready(plan)),
            Ok(Prepared::Ready(plan)) => {
                self.checkout.unlock()?;
                Ok(Prepared::Dirty(plan.foreign.iter().map(|path| shown(path)).collect()))
            }
            other => {
                self.checkout.unlock()?;
                other
            }
        }
    }

    /// Whether an earlier call moved the branch and was stopped before the checkout followed.
    pub(crate) fn is_unfinished(&self) -> Result<bool, GitError> {
        if self.checkout.unfinished()?.is_some() {
            return Ok(true);
        }
        if self.checkout.in_the_middle_of_something() {
            return Ok(false);
        }
        // The lock may have been removed by hand. Then the index still is exactly the old tree.
        let index = self.copy_of_index()?;
        let old = self.differing(&index.0, &["diff-index", "--cached"], Some(self.old))?;
        let new = self.differing(&index.0, &["diff-index", "--cached"], Some(self.new))?;
        Ok(old.is_empty() && !new.is_empty())
    }

    /// Finishes what `is_unfinished` found. What the user changed since stays as it is.
    pub(crate) fn repair(&self) -> Result<(), GitError> {
        match self.checkout.lock(self.old, self.new)? {
            Locked::Yes => self.apply(&self.plan()?),
            Locked::BySomeoneElse => Ok(()),
        }
    }

    pub(crate) fn apply(&self, plan: &Plan) -> Result<(), GitError> {
        let top = &self.checkout.work_tree;
        let root = Dir::open(top).map_err(GitError::io("cannot open", top))?;
        for path in &plan.delete {
            delete(&root, path).map_err(GitError::io("cannot remove", top.join(shown(path))))?;
        }
        let mut list = Vec::new();
        for path in &plan.write {
            list.extend_from_slice(path);
            list.push(0);
        }
        self.call(&plan.index.0)
            .args(["checkout-index", "--force", "--index", "-q", "-z", "--stdin"])
            .input(list)
            .run()?;
        self.refresh(&plan.index.0)?;
        let git_dir = &self.checkout.git_dir;
        let fresh = git_dir.join("holdpoint-index");
        fs::copy(&plan.index.0, &fresh).map_err(GitError::io("cannot write", &fresh))?;
        let index = git_dir.join("index");
        fs::rename(&fresh, &index).map_err(GitError::io("cannot replace", &index))?;
        // A branch that outlasts a power cut while its checkout does not would show the change as undone by the user.
        for folder in [top, git_dir] {
            sync_file_system(folder).map_err(GitError::io("cannot sync", folder))?;
        }
        self.checkout.unlock()
    }

    fn plan(&self) -> Result<Plan, GitError> {
        let index = self.copy_of_index()?;
        let cached = self.differing(&index.0, &["diff-index", "--cached"], Some(self.old))?;
        let not_old = self.differing(&index.0, &["diff-files"], None)?;
        let mut plan = Plan { index, write: Vec::new(), delete: Vec::new(), foreign: Vec::new() };
        self.call(&plan.index.0).args(["read-tree", "-i", "-m", self.old.as_str(), self.new.as_str()]).run()?;
        self.refresh(&plan.index.0)?;
        let not_new = self.differing(&plan.index.0, &["diff-files"], None)?;
        let is_old = |path: &Vec<u8>| !cached.contains(path) && !not_old.contains(path);
        let top = &self.checkout.work_tree;
        let root = Dir::open(top).map_err(GitError::io("cannot open", top))?;
        let look = |path: &[u8]| on_disk(&root, path).map_err(GitError::io("cannot read", top));
        let (gone, kept) = self.changes()?;
        for path in gone {
            match look(&path)? {
                OnDisk::Nothing | OnDisk::Behind(_) | OnDisk::Directory(_) => {}
                OnDisk::File if is_old(&path) => plan.delete.push(path),
                OnDisk::File => plan.foreign.push(path),
            }
        }
        for (path, was_there) in kept {
            if !not_new.contains(&path) {
                continue;
            }
            let free = match look(&path)? {
                OnDisk::Nothing => !was_there || is_old(&path),
                OnDisk::File => was_there && is_old(&path),
                OnDisk::Behind(parent) => plan.delete.contains(&parent),
                OnDisk::Directory(files) => files.iter().all(|file| plan.delete.contains(file)),
            };
            match free {
                true => plan.write.push(path),
                false => plan.foreign.push(path),
            }
        }
        Ok(plan)
    }

    /// Paths that the new commit has no longer, and paths that it has anew or changed (and
    /// whether the old one had them).
    #[expect(clippy::type_complexity, reason = "a pair of lists used once")]
    fn changes(&self) -> Result<(Vec<Vec<u8>>, Vec<(Vec<u8>, bool)>), GitError> {
        let out = self
            .private
            .call()
            .args(["diff-tree", "-r", "-z", "--name-status", "--no-renames"])
            .args(["--end-of-options", self.old.as_str(), self.new.as_str(), "--"])
            .run()?;
        let mut fields = out.split(|b| *b == 0).filter(|field| !field.is_empty());
        let (mut gone, mut kept) = (Vec::new(), Vec::new());
        while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
            match status {
                b"D" => gone.push(path.to_vec()),
                b"A" => kept.push((path.to_vec(), false)),
                _ => kept.push((path.to_vec(), true)),
            }
        }
        Ok((gone, kept))
    }

    /// Tracked files that are staged or changed, compared with the old commit.
    fn dirty_paths(&self) -> Result<Vec<Vec<u8>>, GitError> {
        let index = self.copy_of_index()?;
        let mut dirty = self.differing(&index.0, &["diff-index", "--cached"], Some(self.old))?;
        dirty.extend(self.differing(&index.0, &["diff-files"], None)?);
        Ok(dirty.into_iter().collect())
    }

    fn differing(
        &self,
        index: &Path,
        command: &[&str],
        commit: Option<&CommitId>,
    ) -> Result<BTreeSet<Vec<u8>>, GitError> {
        let mut call =
            self.call(index).args(command).args(["-z", "--name-only", "--no-renames", "--ignore-submodules=all"]);
        if let Some(commit) = commit {
            call = call.arg(commit.as_str());
        }
        let out = call.arg("--").run()?;
        let paths = out.split(|b| *b == 0).filter(|path| !path.is_empty());
        Ok(paths.map(<[u8]>::to_vec).collect())
    }

    /// A refreshed copy, so that the user's own index is only read.
    fn copy_of_index(&self) -> Result<IndexCopy, GitError> {
        let copy = IndexCopy(self.private.scratch("checkout"));
        let index = self.checkout.git_dir.join("index");
        match fs::copy(&index, &copy.0) {
            Ok(_) => self.refresh(&copy.0)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(GitError::io("cannot read", index)(error)),
        }
        Ok(copy)
    }

    fn refresh(&self, index: &Path) -> Result<(), GitError> {
        // Exit code 1 says that some file differs; that is asked for separately.
        self.call(index).args(["update-index", "-q", "--refresh"]).finish().map(drop)
    }

    /// A call that works on the checkout with another index, and with the user's filters off.
    fn call(&self, index: &Path) -> Call {
        let objects = self.private.dir().join("objects");
        let mut call = Call::at(&self.checkout.git_dir)
            // Git takes paths as relative to where it runs, if that is inside the work tree.
            .directory(&self.checkout.work_tree)
            .env("GIT_WORK_TREE", &self.checkout.work_tree)
            .index(index)
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects);
        for driver in &self.filters {
            for part in ["clean", "smudge", "process"] {
                call = call.pin(&format!("filter.{driver}.{part}"), "");
            }
            call = call.pin(&format!("filter.{driver}.required"), "false");
        }
        call
    }
}

/// The files are many and of all sizes: one call for all of them.
fn sync_file_system(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(fs::File::open(folder)?)?)
}

/// A copy of the index, gone when dropped.
struct IndexCopy(PathBuf);

impl Drop for IndexCopy {
    fn drop(&mut self) {
        // What cannot be removed is a file that no later call reads.
        let _ = remove_if_there(&self.0);
        let _ = remove_if_there(&self.0.with_extension("lock"));
    }
}
