//! Which paths `.gitignore` files leave out. Only the files of the tree itself count: no user
//! excludes, no `info/exclude`, nothing an agent could have set outside its tree.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// A `.gitignore` larger than this is read as empty.
pub(crate) const MAX_RULES: u64 = 1024 * 1024;

/// The rules of the directories from the top down to the one being visited.
#[derive(Default)]
pub(crate) struct IgnoreRules {
    levels: Vec<Level>,
}

struct Level {
    /// Of the directory, with a `/` at the end; empty for the top.
    prefix: Vec<u8>,
    rules: Gitignore,
}

impl IgnoreRules {
    /// Enters a directory that has this `.gitignore`, if it has one.
    pub(crate) fn enter(&mut self, directory: &[u8], text: Option<&[u8]>) {
        let mut prefix = directory.to_vec();
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        let rules = text.map_or_else(Gitignore::empty, parse);
        self.levels.push(Level { prefix, rules });
    }

    pub(crate) fn leave(&mut self) {
        self.levels.pop();
    }

    /// Whether the path is left out, by the innermost rule that speaks of it.
    pub(crate) fn ignores(&self, path: &[u8], is_directory: bool) -> bool {
        for level in self.levels.iter().rev() {
            let Some(inner) = path.strip_prefix(level.prefix.as_slice()) else {
                continue;
            };
            match level.rules.matched(Path::new(OsStr::from_bytes(inner)), is_directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

fn parse(text: &[u8]) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    for line in String::from_utf8_lossy(text).lines() {
        // A line that is no pattern leaves nothing out, as in git.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_rules_win_over_outer_ones() {
        let mut rules = IgnoreRules::default();
        rules.enter(b"", Some(b"*.log\n/target/\nbuild\n"));
        assert!(rules.ignores(b"a.log", false));
        assert!(rules.ignores(b"target", true));
        assert!(!rules.ignores(b"target", false));
        assert!(!rules.ignores(b"src/target", true));
        assert!(rules.ignores(b"src/build", false));
        rules.enter(b"src", Some(b"!keep.log\n/only\n"));
        assert!(!rules.ignores(b"src/keep.log", false));
        assert!(rules.ignores(b"src/other.log", false));
        assert!(rules.ignores(b"src/only", false));
        rules.leave();
        assert!(rules.ignores(b"src/keep.log", false));
    }
}
