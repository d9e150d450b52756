//! Reading trees and blobs of the private repository. Content comes out raw: no filter, no
//! line-ending conversion.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::ChildStdout;

use super::names::{path_refusal, shown};
use super::private_repo::id_in;
use super::process::Conversation;
use super::{CommitId, GitError, PrivateRepo, TreeIsh};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryMode {
    File,
    Executable,
    Symlink,
    Gitlink,
}

impl EntryMode {
    pub(crate) fn octal(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Executable => "100755",
            Self::Symlink => "120000",
            Self::Gitlink => "160000",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) mode: EntryMode,
    pub(crate) id: String,
    /// Zero for gitlinks.
    pub(crate) size: u64,
}

/// Every file of a tree, by its path.
#[derive(Debug, Default)]
pub(crate) struct Files(pub(crate) BTreeMap<Vec<u8>, Entry>);

impl Files {
    pub(crate) fn get(&self, path: &[u8]) -> Option<&Entry> {
        self.0.get(path)
    }

    /// Whether the tree has a directory of this path.
    pub(crate) fn has_directory(&self, path: &[u8]) -> bool {
        let mut prefix = path.to_vec();
        prefix.push(b'/');
        self.0.range(prefix.clone()..).next().is_some_and(|(found, _)| found.starts_with(&prefix))
    }
}

impl PrivateRepo {
    /// The content of one file; `None` when the commit has no regular file of that path.
    pub fn read_file(&self, commit: &CommitId, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        check_path(path)?;
        let out = self.call().args(["ls-tree", "-z", "--full-tree", commit.as_str(), "--", path]).run()?;
        let found = out.split(|b| *b == 0).find_map(|line| {
            let text = String::from_utf8_lossy(line);
            let (head, name) = text.split_once('\t')?;
            let mut parts = head.split(' ');
            let regular = parts.next()?.starts_with("100");
            let id = parts.nth(1)?.to_owned();
            (regular && name == path).then_some(id)
        });
        match found {
            Some(id) => self.call().args(["cat-file", "blob", &id]).run().map(Some),
            None => Ok(None),
        }
    }

    /// The names in one directory (`""`: the top), sub-directories included; empty when there
    /// is no such directory.
    pub fn list(&self, commit: &CommitId, dir: &str) -> Result<Vec<String>, GitError> {
        let dir = dir.trim_end_matches('/');
        let mut call = self.call().args(["ls-tree", "-z", "--full-tree", "--name-only", commit.as_str(), "--"]);
        let prefix = match dir {
            "" => String::new(),
            dir => {
                check_path(dir)?;
                format!("{dir}/")
            }
        };
        if !prefix.is_empty() {
            call = call.arg(&prefix);
        }
        let out = call.run()?;
        Ok(out
            .split(|b| *b == 0)
            .filter_map(|name| {
                let name = String::from_utf8_lossy(name);
                let name = name.strip_prefix(&prefix)?;
                (!name.is_empty()).then(|| name.to_owned())
            })
            .collect())
    }

    /// The files of one name below a folder, with their paths: at most so many, and none above so many bytes.
    pub(crate) fn read_below(
        &self,
        commit: &CommitId,
        dir: &str,
        name: &str,
        most: usize,
        longest: u64,
    ) -> Result<Vec<(String, Vec<u8>)>, GitError> {
        check_path(dir)?;
        let below = format!("{dir}/");
        let out =
            self.call().args(["ls-tree", "-r", "-z", "-l", "--full-tree", commit.as_str(), "--", &below]).run()?;
        let entries = out.split(|b| *b == 0).filter_map(parse_entry).filter_map(|(path, entry)| {
            let path = String::from_utf8(path).ok()?;
            let wanted = path.rsplit('/').next() == Some(name) && entry.size <= longest;
            (wanted && entry.mode == EntryMode::File).then_some((path, entry))
        });
        let entries: Vec<(String, Entry)> = entries.take(most).collect();
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let mut blobs = Blobs::of(self)?;
        let mut found = Vec::new();
        for (path, entry) in entries {
            found.push((path, blobs.read(&entry.id)?));
        }
        blobs.end()?;
        Ok(found)
    }

    pub(crate) fn files(&self, tree: &impl TreeIsh) -> Result<Files, GitError> {
        let out = self.call().args(["ls-tree", "-r", "-z", "-l", "--full-tree", tree.id()]).run()?;
        let mut files = BTreeMap::new();
        for line in out.split(|b| *b == 0).filter(|line| !line.is_empty()) {
            let (path, entry) = parse_entry(line)
                .ok_or_else(|| GitError::Unreadable { args: "ls-tree -r -z -l".to_owned(), detail: shown(line) })?;
            files.insert(path, entry);
        }
        Ok(Files(files))
    }
}

fn check_path(path: &str) -> Result<(), GitError> {
    match path_refusal(path.as_bytes()) {
        Some(reason) => Err(GitError::BadPath { path: shown(path.as_bytes()), reason }),
        None => Ok(()),
    }
}

/// `<mode> <type> <id> <size>\t<path>`
fn parse_entry(line: &[u8]) -> Option<(Vec<u8>, Entry)> {
    let tab = line.iter().position(|b| *b == b'\t')?;
    let head = std::str::from_utf8(&line[..tab]).ok()?;
    let mut parts = head.split_ascii_whitespace();
    let mode = match parts.next()? {
        "120000" => EntryMode::Symlink,
        "160000" => EntryMode::Gitlink,
        "100755" => EntryMode::Executable,
        // Very old trees also have group-writable files.
        "100644" | "100664" => EntryMode::File,
        _ => return None,
    };
    let id = id_in(parts.nth(1)?, "ls-tree").ok()?;
    let size = match parts.next()? {
        "-" => 0,
        size => size.parse().ok()?,
    };
    Some((line[tab + 1..].to_vec(), Entry { mode, id, size }))
}

/// Reads many blobs through one git process.
pub(crate) struct Blobs {
    git: Conversation,
    answers: BufReader<ChildStdout>,
}

impl Blobs {
    pub(crate) fn of(private: &PrivateRepo) -> Result<Self, GitError> {
        let mut git = private.call().args(["cat-file", "--batch"]).converse()?;
        let answers = BufReader::new(git.stdout());
        Ok(Self { git, answers })
    }

    pub(crate) fn read(&mut self, id: &str) -> Result<Vec<u8>, GitError> {
        let read = self.head(id).and_then(|size| {
            let Some(size) = size else { return Ok(None) };
            let mut bytes = vec![0; size + 1];
            self.answers.read_exact(&mut bytes)?;
            bytes.pop();
            Ok(Some(bytes))
        });
        self.found(id, read)
    }

    fn found(&self, id: &str, read: std::io::Result<Option<Vec<u8>>>) -> Result<Vec<u8>, GitError> {
        match read {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(GitError::ObjectsMissing { repository: "the project".into(), detail: id.to_owned() }),
            Err(error) => Err(self.git.broke(&error)),
        }
    }

    /// Asks for a blob; its size, when it is there.
    fn head(&mut self, id: &str) -> std::io::Result<Option<usize>> {
        let stdin = self.git.stdin();
        stdin.write_all(format!("{id}\n").as_bytes())?;
        stdin.flush()?;
        let mut head = String::new();
        if self.answers.read_line(&mut head)? == 0 {
            // Git ended: that says nothing about the object.
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(head.trim_end().rsplit(' ').next().and_then(|size| size.parse().ok()))
    }

    /// The first bytes of a blob; the rest is not kept.
    pub(crate) fn sample(&mut self, id: &str, most: usize) -> Result<Vec<u8>, GitError> {
        let sampled = self.head(id).and_then(|size| {
            let Some(size) = size else { return Ok(None) };
            let mut bytes = vec![0; size.min(most)];
            self.answers.read_exact(&mut bytes)?;
            // With the line end after it.
            let rest = (size - bytes.len()) as u64 + 1;
            std::io::copy(&mut (&mut self.answers).take(rest), &mut std::io::sink())?;
            Ok(Some(bytes))
        });
        self.found(id, sampled)
    }

    pub(crate) fn end(self) -> Result<(), GitError> {
        drop(self.answers);
        self.git.end()
    }
}
