//! How much a folder takes on its disk: a bounded walk by handle that follows no link and changes nothing.

use std::collections::HashSet;
use std::io;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, statat};

use super::dir::{Dir, Kind, os};

/// Folders in folders; each open one costs a handle.
const DEEPEST: usize = 256;
/// `st_blocks` counts these, whatever the disk's own blocks are.
const BLOCK: u64 = 512;

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Usage {
    pub(crate) bytes: u64,
    pub(crate) entries: u64,
    /// Whether the walk stopped before its end: there are more entries, or deeper ones, than it may look at.
    pub(crate) cut: bool,
}

impl Dir {
    /// Counts everything below, each file once however often it is linked, up to `most` entries. Folders that cannot be
    /// opened, and whatever vanishes meanwhile, are not counted.
    pub(crate) fn usage(&self, most: u64) -> io::Result<Usage> {
        let mut walk = Walk { usage: Usage::default(), most, linked: HashSet::new() };
        walk.below(self, 0)?;
        Ok(walk.usage)
    }

    /// The same for one entry; `None` when there is none.
    pub(crate) fn usage_of(&self, name: &[u8], most: u64) -> io::Result<Option<Usage>> {
        match self.kind(name)? {
            None => Ok(None),
            Some(Kind::Directory) => self.sub(name)?.usage(most).map(Some),
            Some(Kind::File { .. } | Kind::Symlink | Kind::Special(_)) => {
                let stat = statat(self.fd(), os(name), AtFlags::SYMLINK_NOFOLLOW)?;
                let bytes = u64::try_from(stat.st_blocks).unwrap_or_default() * BLOCK;
                Ok(Some(Usage { bytes, entries: 1, cut: false }))
            }
        }
    }
}

struct Walk {
    usage: Usage,
    most: u64,
    /// Files with several names that were counted.
    linked: HashSet<(u64, u64)>,
}

impl Walk {
    fn below(&mut self, dir: &Dir, depth: usize) -> io::Result<()> {
        for entry in rustix::fs::Dir::read_from(dir.fd())? {
            let Ok(entry) = entry else { return Ok(()) };
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if self.usage.entries >= self.most || depth >= DEEPEST {
                self.usage.cut = true;
                return Ok(());
            }
            self.usage.entries += 1;
            let Ok(stat) = statat(dir.fd(), os(name), AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let is_dir = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
            if is_dir || stat.st_nlink < 2 || self.linked.insert((stat.st_dev, stat.st_ino)) {
                self.usage.bytes += u64::try_from(stat.st_blocks).unwrap_or_default() * BLOCK;
            }
            if is_dir {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                if let Ok(inner) = openat(dir.fd(), os(name), flags, Mode::empty()) {
                    self.below(&Dir::from_handle(inner), depth + 1)?;
                }
            }
            if self.usage.cut {
                return Ok(());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_lies_below_is_counted_once_and_links_out_are_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("in/deep")).unwrap();
        fs::create_dir(at("out")).unwrap();
        fs::write(at("out/big"), vec![1; 1 << 20]).unwrap();
        fs::write(at("in/deep/file"), vec![1; 64 << 10]).unwrap();
        fs::hard_link(at("in/deep/file"), at("in/again")).unwrap();
        symlink(at("out"), at("in/link")).unwrap();
        let usage = Dir::open(&at("in")).unwrap().usage(100).unwrap();
        assert_eq!((usage.entries, usage.cut), (4, false));
        assert!((64 << 10..256 << 10).contains(&usage.bytes), "{usage:?}");
    }

    #[test]
    fn a_walk_ends_at_its_bound_and_says_so() {
        let root = tempfile::tempdir().unwrap();
        for number in 0..20 {
            fs::write(root.path().join(number.to_string()), "").unwrap();
        }
        let usage = Dir::open(root.path()).unwrap().usage(10).unwrap();
        assert_eq!((usage.entries, usage.cut), (10, true));
        let mut dir = Dir::open(root.path()).unwrap();
        for _ in 0..DEEPEST + 5 {
            dir = dir.make_sub(b"d").unwrap();
        }
        assert!(Dir::open(root.path()).unwrap().usage(10_000).unwrap().cut);
    }
}
