//! Checked names: branches, object ids, paths in a tree, targets of symlinks. Pure text rules;
//! nothing here looks at a disk. What passes is safe as an argument of git and on every
//! platform that may one day clone the result.

use std::fmt;

use super::GitError;

/// A branch name that git accepts and that cannot be taken for an option or a revision range.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BranchName(String);

impl BranchName {
    pub fn parse(name: &str) -> Result<Self, GitError> {
        match refusal(name) {
            Some(reason) => Err(GitError::BadRef { name: name.escape_debug().take(300).collect(), reason }),
            None => Ok(Self(name.to_owned())),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `refs/heads/<name>`: the only form that is ever given to git.
    pub fn full(&self) -> String {
        format!("refs/heads/{}", self.0)
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn refusal(name: &str) -> Option<&'static str> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._/-".contains(&b);
    if name.is_empty() {
        Some("it is empty")
    } else if name.len() > 201 {
        Some("it is longer than 201 characters")
    } else if !name.as_bytes()[0].is_ascii_alphanumeric() {
        Some("it does not start with a letter or digit")
    } else if !name.bytes().all(plain) {
        Some("it has a character other than letters, digits, `.`, `_`, `/`, `-`")
    } else if name == "HEAD" || name.starts_with("refs/") {
        Some("git uses that name itself")
    } else if name.contains("..") || name.contains("//") {
        Some("it has `..` or `//` in it")
    } else if name.ends_with('/') || name.ends_with('.') {
        Some("it ends with `/` or `.`")
    } else if name.split('/').any(|part| part.starts_with('.') || part.ends_with(".lock")) {
        Some("a part of it starts with `.` or ends with `.lock`")
    } else {
        None
    }
}

macro_rules! object_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            pub fn parse(hex: &str) -> Result<Self, GitError> {
                if is_object_id(hex) {
                    Ok(Self(hex.to_owned()))
                } else {
                    Err(GitError::BadObjectId(hex.escape_debug().take(80).collect()))
                }
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TreeIsh for $name {
            fn id(&self) -> &str {
                &self.0
            }
        }
    };
}

object_id!(
    /// The full id of a commit.
    CommitId
);
object_id!(
    /// The full id of a tree.
    TreeId
);

/// What git can read a tree from.
pub trait TreeIsh {
    fn id(&self) -> &str;
}

pub(crate) fn is_object_id(hex: &str) -> bool {
    matches!(hex.len(), 40 | 64) && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// Why a path must not stand in a tree, if so. `path` is relative, with `/` between its parts.
pub(crate) fn path_refusal(path: &[u8]) -> Option<&'static str> {
    if path.is_empty() || path.len() > 4096 {
        return Some("it is empty or longer than 4096 bytes");
    }
    path.split(|b| *b == b'/').find_map(part_refusal)
}

fn part_refusal(part: &[u8]) -> Option<&'static str> {
    if part.is_empty() || part == b"." || part == b".." {
        Some("it has an empty, `.` or `..` part")
    } else if part.contains(&0) {
        Some("it has a NUL byte")
    } else if aliases_dot_git(part) {
        Some("a part of it is another way to write `.git`")
    } else {
        None
    }
}

/// Whether some file system takes this name for `.git`: by case, by NTFS short name, trailing
/// dots, spaces or streams, or by code points that HFS+ leaves out.
pub(crate) fn aliases_dot_git(part: &[u8]) -> bool {
    part.split(|b| *b == b'\\').any(|piece| {
        let text: String = String::from_utf8_lossy(piece)
            .chars()
            .filter(|c| !is_ignored_by_hfs(*c))
            .collect::<String>()
            .to_ascii_lowercase();
        let name = text.split(':').next().unwrap_or_default();
        let name = name.trim_end_matches([' ', '.']);
        name == ".git" || name == "git~1"
    })
}

fn is_ignored_by_hfs(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

/// Whether a symlink at `path` with this target stays inside the tree, whatever other links of
/// the tree it passes: `..` only at the front and no further up than the root, and never into
/// `.git`.
pub(crate) fn link_stays_inside(path: &[u8], target: &[u8]) -> bool {
    let depth = path.iter().filter(|b| **b == b'/').count();
    if target.is_empty() || target.len() > 4095 || target[0] == b'/' || target.contains(&0) {
        return false;
    }
    let mut ups = 0;
    let mut went_down = false;
    for part in target.split(|b| *b == b'/') {
        match part {
            b"" | b"." => {}
            // After a named part, `..` may leave through a linked directory.
            b".." if went_down => return false,
            b".." => ups += 1,
            name if aliases_dot_git(name) => return false,
            _ => went_down = true,
        }
    }
    ups <= depth
}

/// A path as people read it.
pub(crate) fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path)
        .chars()
        .flat_map(|c| {
            let escaped: Vec<char> =
                if c.is_control() || is_ignored_by_hfs(c) { c.escape_unicode().collect() } else { vec![c] };
            escaped
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_branch_names_are_taken() {
        for name in ["main", "autonomous/1f3a-add-login", "release/1.2", "a_b-c", &"x".repeat(201)] {
            assert_eq!(BranchName::parse(name).unwrap().as_str(), name);
        }
    }

    #[test]
    fn hostile_branch_names_are_refused() {
        let long = "x".repeat(300);
        for name in [
            "",
            "-",
            "--output=x",
            "--upload-pack=x",
            "@",
            "@{-1}",
            "HEAD",
            "refs/../x",
            "refs/heads/x",
            "a..b",
            "x.lock",
            "x.lock/y",
            "a//b",
            "/a",
            "a/",
            "a.",
            ".a",
            "a/.b",
            "a b",
            "a~1",
            "a^",
            "a:b",
            "a?b",
            "a*b",
            "a[b",
            "a\\b",
            "a\nb",
            "a\0b",
            "ü",
            "a;rm",
            "$(x)",
            &long,
        ] {
            assert!(BranchName::parse(name).is_err(), "{name:?} was taken");
        }
    }

    #[test]
    fn object_ids_are_full_lower_case_hex() {
        assert!(CommitId::parse(&"a".repeat(40)).is_ok());
        assert!(TreeId::parse(&"0".repeat(64)).is_ok());
        for id in ["", "HEAD", &"A".repeat(40), &"a".repeat(39), &"g".repeat(40)] {
            assert!(CommitId::parse(id).is_err(), "{id:?} was taken");
        }
    }

    #[test]
    fn every_spelling_of_dot_git_is_known() {
        for name in [
            ".git",
            ".GIT",
            ".Git",
            "git~1",
            "GIT~1",
            ".git ",
            ".git.",
            ".git. .",
            ".git::$INDEX_ALLOCATION",
            ".g\u{200c}it",
            "\u{feff}.git",
            "a\\.git",
        ] {
            assert!(aliases_dot_git(name.as_bytes()), "{name:?} was missed");
        }
        for name in [".gitignore", ".github", "git", "x.git", "git~2", "digit"] {
            assert!(!aliases_dot_git(name.as_bytes()), "{name:?} was refused");
        }
    }

    #[test]
    fn links_may_not_leave_the_tree() {
        let inside = [("a", "b"), ("d/a", "../b"), ("d/e/a", "../../b/c"), ("a", "./b"), ("d/a", "..")];
        for (path, target) in inside {
            assert!(link_stays_inside(path.as_bytes(), target.as_bytes()), "{path} -> {target}");
        }
        let outside = [
            ("a", "/etc/passwd"),
            ("a", ".."),
            ("a", "../x"),
            ("d/a", "../../x"),
            ("a", "b/../../x"),
            ("a", "b/../c"),
            ("a", ".git/config"),
            ("d/a", "../.GIT/hooks"),
            ("a", ""),
        ];
        for (path, target) in outside {
            assert!(!link_stays_inside(path.as_bytes(), target.as_bytes()), "{path} -> {target}");
        }
    }
}
