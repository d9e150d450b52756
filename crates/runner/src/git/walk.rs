//! The walk through a workspace: what is taken, what is ignored, what is refused. Reads only
//! through directory handles and follows no symlink.

use std::collections::BTreeSet;
use std::io;

use super::GitError;
use super::harvest::{HarvestRefusal, MAX_FILE_BYTES, MAX_NEW_FILES, OnRefusal};
use super::ignore_rules::{IgnoreRules, MAX_RULES};
use super::names::{link_stays_inside, path_refusal, shown};
use super::objects::{Entry, EntryMode, Files};
use super::workspace::joined;
use crate::dir_fd::{Dir, Kind};

pub(crate) const MAX_DEPTH: usize = 200;
const MAX_TOLD: usize = 1000;

/// One file or link of the workspace, with its content.
pub(crate) struct Found<'a> {
    pub(crate) path: Vec<u8>,
    pub(crate) mode: EntryMode,
    pub(crate) bytes: Vec<u8>,
    pub(crate) base: Option<&'a Entry>,
}

type Take<'t, 'a> = &'t mut dyn FnMut(Found<'a>) -> Result<(), GitError>;

pub(crate) struct Walk<'a> {
    base: &'a Files,
    exclude: &'a [String],
    on_refusal: OnRefusal,
    rules: IgnoreRules,
    depth: usize,
    ignored: bool,
    new_files: usize,
    /// Submodules of the base whose directory has content: already refused.
    filled: BTreeSet<Vec<u8>>,
    refused: Vec<HarvestRefusal>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(base: &'a Files, exclude: &'a [String], on_refusal: OnRefusal) -> Self {
        Self {
            base,
            exclude,
            on_refusal,
            rules: IgnoreRules::default(),
            depth: 0,
            ignored: false,
            new_files: 0,
            filled: BTreeSet::new(),
            refused: Vec::new(),
        }
    }

    /// What stays as it is in the base without being looked at, and what was left out.
    pub(crate) fn end(self) -> (Vec<(&'a [u8], &'a Entry)>, Vec<HarvestRefusal>) {
        let kept = self.base.0.iter().filter(|(path, entry)| {
            let untouched = entry.mode == EntryMode::Gitlink && !self.filled.contains(*path);
            untouched || is_excluded(self.exclude, path)
        });
        let kept = kept.map(|(path, entry)| (path.as_slice(), entry));
        (kept.collect(), self.refused)
    }

    pub(crate) fn directory(&mut self, dir: &Dir, path: &[u8], take: Take<'_, 'a>) -> Result<(), HarvestRefusal> {
        let names = dir.names().map_err(unreadable(path))?;
        self.rules.enter(path, read_rules(dir).as_deref());
        for name in names {
            if path.is_empty() && name == b".git" {
                continue;
            }
            let outcome = self.entry(dir, &name, &joined(path, &name), take);
            if let Err(refusal) = outcome {
                self.refuse(refusal)?;
            }
        }
        self.rules.leave();
        Ok(())
    }

    /// Passes trouble with git on; a refusal of a path may be noted and passed by.
    fn refuse(&mut self, refusal: HarvestRefusal) -> Result<(), HarvestRefusal> {
        match (refusal, self.on_refusal) {
            (HarvestRefusal::Git(error), _) => Err(HarvestRefusal::Git(error)),
            (refusal, OnRefusal::Stop) => Err(refusal),
            (refusal, OnRefusal::LeaveOut) => {
                if self.refused.len() < MAX_TOLD {
                    self.refused.push(refusal);
                }
                Ok(())
            }
        }
    }

    fn entry(&mut self, dir: &Dir, name: &[u8], path: &[u8], take: Take<'_, 'a>) -> Result<(), HarvestRefusal> {
        if is_excluded(self.exclude, path) {
            return Ok(());
        }
        let Some(kind) = dir.kind(name).map_err(unreadable(path))? else {
            return Ok(());
        };
        let is_directory = kind == Kind::Directory;
        let base = self.base.get(path);
        let ignored = self.ignored || self.rules.ignores(path, is_directory);
        let tracked = match kind {
            Kind::Directory => self.base.has_directory(path) || base.is_some(),
            Kind::File { .. } | Kind::Symlink | Kind::Special(_) => base.is_some(),
        };
        if ignored && !tracked {
            return Ok(());
        }
        if let Some(reason) = path_refusal(path) {
            let path = shown(path);
            return Err(match name {
                b".git" => HarvestRefusal::NestedRepository { path },
                _ => HarvestRefusal::BadName { path, reason },
            });
        }
        match kind {
            Kind::Directory => self.sub_directory(dir, name, path, ignored, take),
            Kind::File { executable, size } => self.file(dir, name, path, executable, size, take),
            Kind::Symlink => self.link(dir, name, path, take),
            Kind::Special(kind) => {
                let path = shown(path);
                Err(HarvestRefusal::SpecialFile { path, kind })
            }
        }
    }

    fn sub_directory(
        &mut self,
        dir: &Dir,
        name: &[u8],
        path: &[u8],
        ignored: bool,
        take: Take<'_, 'a>,
    ) -> Result<(), HarvestRefusal> {
        if self.depth >= MAX_DEPTH {
            let path = shown(path);
            let limit = MAX_DEPTH;
            return Err(HarvestRefusal::TooDeep { path, limit });
        }
        let sub = dir.sub(name).map_err(unreadable(path))?;
        if self.base.get(path).is_some_and(|entry| entry.mode == EntryMode::Gitlink) {
            if sub.names().map_err(unreadable(path))?.is_empty() {
                return Ok(());
            }
            self.filled.insert(path.to_vec());
            return Err(HarvestRefusal::NestedRepository { path: shown(path) });
        }
        if !ignored {
            self.refuse_repository(&sub, path)?;
        }
        let outside = std::mem::replace(&mut self.ignored, ignored);
        self.depth += 1;
        let outcome = self.directory(&sub, path, take);
        self.depth -= 1;
        self.ignored = outside;
        outcome
    }

    fn refuse_repository(&self, dir: &Dir, path: &[u8]) -> Result<(), HarvestRefusal> {
        let kind = |name: &[u8]| dir.kind(name).map_err(unreadable(path));
        if kind(b".git")?.is_some() {
            let path = shown(&joined(path, b".git"));
            return Err(HarvestRefusal::NestedRepository { path });
        }
        let bare = kind(b"HEAD")?.is_some()
            && kind(b"objects")? == Some(Kind::Directory)
            && kind(b"refs")? == Some(Kind::Directory);
        if bare && self.base.get(&joined(path, b"HEAD")).is_none() {
            let path = shown(path);
            return Err(HarvestRefusal::BareRepository { path });
        }
        Ok(())
    }

    fn file(
        &mut self,
        dir: &Dir,
        name: &[u8],
        path: &[u8],
        executable: bool,
        size: u64,
        take: Take<'_, 'a>,
    ) -> Result<(), HarvestRefusal> {
        let too_large = |size| HarvestRefusal::TooLarge { path: shown(path), size, limit: MAX_FILE_BYTES };
        let base = self.base.get(path);
        // A large file that was there before may stay, if it is not made larger still.
        let limit = MAX_FILE_BYTES.max(base.map_or(0, |entry| entry.size));
        if size > limit {
            return Err(too_large(size));
        }
        let bytes = dir.read(name, limit).map_err(unreadable(path))?;
        if bytes.len() as u64 > limit {
            return Err(too_large(bytes.len() as u64));
        }
        self.count(path)?;
        let mode = match executable {
            true => EntryMode::Executable,
            false => EntryMode::File,
        };
        self.pass(path, mode, bytes, take)
    }

    fn link(&mut self, dir: &Dir, name: &[u8], path: &[u8], take: Take<'_, 'a>) -> Result<(), HarvestRefusal> {
        let target = dir.read_link(name).map_err(unreadable(path))?;
        if !link_stays_inside(path, &target) {
            return Err(HarvestRefusal::SymlinkEscapes { path: shown(path), target: shown(&target) });
        }
        if name.eq_ignore_ascii_case(b".gitmodules") {
            let path = shown(path);
            let reason = "git refuses it as a symlink";
            return Err(HarvestRefusal::BadName { path, reason });
        }
        self.count(path)?;
        self.pass(path, EntryMode::Symlink, target, take)
    }

    fn count(&mut self, path: &[u8]) -> Result<(), HarvestRefusal> {
        if self.base.get(path).is_none() {
            self.new_files += 1;
        }
        if self.new_files > MAX_NEW_FILES {
            let path = shown(path);
            let limit = MAX_NEW_FILES;
            return Err(HarvestRefusal::TooManyFiles { path, limit });
        }
        Ok(())
    }

    fn pass(&self, path: &[u8], mode: EntryMode, bytes: Vec<u8>, take: Take<'_, 'a>) -> Result<(), HarvestRefusal> {
        let base = self.base.get(path);
        let path = path.to_vec();
        Ok(take(Found { path, mode, bytes, base })?)
    }
}

fn is_excluded(exclude: &[String], path: &[u8]) -> bool {
    exclude.iter().any(|excluded| {
        let excluded = excluded.trim_end_matches('/').as_bytes();
        path.strip_prefix(excluded).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    })
}

fn read_rules(dir: &Dir) -> Option<Vec<u8>> {
    let Ok(Some(Kind::File { size, .. })) = dir.kind(b".gitignore") else {
        return None;
    };
    // Rules that cannot be read leave nothing out; the walk itself tells about the file.
    match size <= MAX_RULES {
        true => dir.read(b".gitignore", MAX_RULES).ok(),
        false => None,
    }
}

fn unreadable(path: &[u8]) -> impl FnOnce(io::Error) -> HarvestRefusal {
    let path = match path {
        b"" => ".".to_owned(),
        path => shown(path),
    };
    move |source| HarvestRefusal::Unreadable { path, source }
}
