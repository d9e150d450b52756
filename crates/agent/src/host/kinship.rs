//! Who may use the tools of a hosted program: a relay that the program itself started. The socket lies in the session folder,
//! and everything in the sandbox can connect to it, a test that the program runs among them. A relay is the program's if
//! it is this binary, if what started it is part of the program and was there before the program said its first word,
//! and if it was there before the program began to work; one that comes later is taken only from a program that had none.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The program that is hosted now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    pid: i32,
    /// What it consists of: all that it had started when its first line was heard, each with its start in ticks since
    /// boot.
    parts: Option<BTreeMap<i32, u64>>,
    /// When it began to work: from then on it may run anything.
    works_since: Option<u64>,
    has_relay: bool,
}

/// How far up a parent is looked for.
const GENERATIONS: usize = 64;

impl Program {
    pub(super) fn started(pid: i32) -> Self {
        Self { pid, parts: None, works_since: None, has_relay: false }
    }

    /// It has said something.
    pub(super) fn speaks(&mut self) {
        if self.parts.is_none() {
            self.parts = Some(self.family(Path::new("/proc")));
        }
    }

    /// Its conversation is open.
    pub(super) fn works(&mut self) {
        if self.works_since.is_none() {
            self.works_since = now(Path::new("/proc"));
        }
    }

    /// Whether the process at the other end of a connection is a relay of the program.
    pub(super) fn admits(&mut self, relay: i32) -> bool {
        let admitted = is_this_binary(relay) && self.started_this(Path::new("/proc"), relay);
        self.has_relay |= admitted;
        admitted
    }

    fn started_this(&self, proc: &Path, relay: i32) -> bool {
        let Some(relay) = stat(proc, relay) else { return false };
        let Some(parent) = stat(proc, relay.parent) else { return false };
        let late = self.works_since.is_some_and(|works_since| relay.started >= works_since);
        if self.has_relay && late {
            return false;
        }
        match &self.parts {
            Some(parts) => parts.get(&relay.parent) == Some(&parent.started),
            None => self.is_above(proc, relay.parent),
        }
    }

    fn is_above(&self, proc: &Path, pid: i32) -> bool {
        let mut above = pid;
        for _ in 0..GENERATIONS {
            if above == self.pid {
                return true;
            }
            match stat(proc, above) {
                Some(stat) if stat.parent > 0 => above = stat.parent,
                Some(_) | None => return false,
            }
        }
        false
    }

    /// The program's process and all that stem from it now.
    fn family(&self, proc: &Path) -> BTreeMap<i32, u64> {
        let entries = std::fs::read_dir(proc).into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let ours = pids.filter(|pid| self.is_above(proc, *pid));
        ours.filter_map(|pid| Some((pid, stat(proc, pid)?.started))).collect()
    }
}

fn is_this_binary(pid: i32) -> bool {
    let file = |path: String| std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    let theirs = file(format!("/proc/{pid}/exe"));
    theirs.is_some() && theirs == file("/proc/self/exe".to_owned())
}

struct Stat {
    parent: i32,
    /// In ticks since boot.
    started: u64,
}

fn stat(proc: &Path, pid: i32) -> Option<Stat> {
    let text = std::fs::read_to_string(proc.join(pid.to_string()).join("stat")).ok()?;
    // The name of the program stands in parentheses and may hold anything.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some(Stat { parent: fields.get(1)?.parse().ok()?, started: fields.get(19)?.parse().ok()? })
}

/// A tick is a hundredth of a second, like the last digit of this file.
fn now(proc: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(proc.join("uptime")).ok()?;
    text.split_whitespace().next()?.replace('.', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relay_is_the_programs_only_if_it_and_what_started_it_were_there_in_time() {
        let folder = tempfile::tempdir().unwrap();
        let process = |pid: i32, parent: i32, started: u64| {
            let rest = format!("S {parent} 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {started} 0");
            std::fs::create_dir(folder.path().join(pid.to_string())).unwrap();
            std::fs::write(folder.path().join(format!("{pid}/stat")), format!("{pid} (a ) 7 b) {rest}")).unwrap();
        };
        process(1, 0, 10);
        process(2, 1, 20); // the host
        process(3, 2, 100); // the program, a wrapper
        process(4, 3, 101); // what it wraps
        process(11, 1, 50); // somebody of an earlier program
        let mut program = Program::started(3);
        let silent = program.clone();
        program.parts = Some(program.family(folder.path()));
        program.works_since = Some(200);
        process(5, 4, 900); // a relay, started late
        process(6, 4, 101); // a shell, as fast as can be
        process(7, 6, 101); // a test
        process(8, 7, 101); // its relay
        process(9, 4, 600); // a test that the program started itself
        process(10, 9, 601); // its relay
        process(12, 11, 700);
        process(13, 3, 120); // a relay of the wrapper
        let admitted = |program: &Program| -> Vec<i32> {
            (1..=14).filter(|pid| program.started_this(folder.path(), *pid)).collect()
        };
        assert_eq!(admitted(&program), [4, 5, 6, 9, 13], "children of the program itself");
        program.has_relay = true;
        assert_eq!(admitted(&program), [4, 6, 13], "who has one gets no other while it works");
        assert_eq!(admitted(&silent), [4, 5, 6, 7, 8, 9, 10, 13]);
    }

    #[test]
    fn this_process_is_found_with_its_parent_and_time() {
        let proc = Path::new("/proc");
        let own = i32::try_from(std::process::id()).unwrap();
        let stat = stat(proc, own).unwrap();
        assert!(stat.parent > 0 && stat.started <= now(proc).unwrap());
        assert!(is_this_binary(own) && !is_this_binary(stat.parent) && !is_this_binary(-1));
    }
}
