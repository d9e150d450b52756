//! Every file that Holdpoint reads or writes in a folder of an agent, replaced in turn by everything that an agent can put
//! in its place: each call ends, with something typed, and nothing of what lies outside is read, written or copied.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use domain::{RunId, Session};
use drivers::task_md::TASK_FILE;
use drivers::{GUIDANCE_FILE, Guidance, INDEX_FILE, NOTES_FILE, OBSERVATIONS_FILE, TURNS_FILE};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use testkit::samples::run_id;

use crate::effects::tell_agent;
use crate::paths::Paths;
use crate::{brief, carry, laid, observations, task_file};

/// Only in files that no agent may reach.
const CANARY: &str = "canary-7d1f";
/// Much longer than any of the calls takes; one that has not ended then hangs.
const HANGS: Duration = Duration::from_secs(120);

/// What an agent can put somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Put {
    Pipe,
    Folder,
    LinkToFile,
    LinkToFolder,
    LinkToZeros,
    Huge,
    Socket,
    Nothing,
}

const ALL: [Put; 8] = [
    Put::Pipe,
    Put::Folder,
    Put::LinkToFile,
    Put::LinkToFolder,
    Put::LinkToZeros,
    Put::Huge,
    Put::Socket,
    Put::Nothing,
];

/// A data directory with one conversation, and a folder outside.
struct World {
    home: tempfile::TempDir,
    outside: tempfile::TempDir,
    run: RunId,
    /// The second conversation of a role, so that the first is an earlier one.
    session: Session,
}

impl World {
    fn new() -> Self {
        let (home, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(outside.path().join("secret"), CANARY).unwrap();
        let session = Session { role: "coder".into(), visit: 1, attempt: 2 };
        let world = Self { home, outside, run: run_id(1), session };
        let folder = world.folder();
        std::fs::create_dir_all(folder.join("output")).unwrap();
        std::fs::create_dir_all(world.paths().workspace(&world.run)).unwrap();
        std::fs::create_dir_all(world.home.path().join("project")).unwrap();
        std::fs::write(folder.join("output/1"), "long").unwrap();
        for name in [TURNS_FILE, GUIDANCE_FILE, NOTES_FILE, OBSERVATIONS_FILE] {
            std::fs::write(folder.join(name), "{\"text\":\"t\"}\n").unwrap();
        }
        world
    }

    fn paths(&self) -> Paths {
        Paths::new(self.home.path())
    }

    fn folder(&self) -> PathBuf {
        self.paths().session(&self.run, &self.session)
    }

    fn put(&self, at: &Path, what: Put) {
        match std::fs::symlink_metadata(at) {
            Ok(found) if found.is_dir() => std::fs::remove_dir_all(at).unwrap(),
            Ok(_) => std::fs::remove_file(at).unwrap(),
            Err(_) => {}
        }
        match what {
            Put::Pipe => mknodat(CWD, at, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap(),
            Put::Folder => {
                std::fs::create_dir(at).unwrap();
                std::fs::write(at.join("inside"), "x").unwrap();
            }
            Put::LinkToFile => symlink(self.outside.path().join("secret"), at).unwrap(),
            Put::LinkToFolder => symlink(self.outside.path(), at).unwrap(),
            Put::LinkToZeros => symlink("/dev/zero", at).unwrap(),
            Put::Huge => std::fs::File::create(at).unwrap().set_len(10 << 30).unwrap(),
            // The path may be longer than an address; the file stays when the listener goes.
            Put::Socket => drop(crate::shim::sockets::listen(at).unwrap()),
            Put::Nothing => {}
        }
    }

    /// Nothing of what lies outside was changed or came in.
    fn assert_unharmed(&self, case: &str) {
        let outside: Vec<_> = std::fs::read_dir(self.outside.path()).unwrap().collect();
        assert_eq!(outside.len(), 1, "{case}: something was made outside");
        assert_eq!(std::fs::read_to_string(self.outside.path().join("secret")).unwrap(), CANARY, "{case}");
        let mut folders = vec![self.home.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let kind = entry.file_type().unwrap();
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_file() && entry.metadata().unwrap().len() < 1 << 20 {
                    let bytes = std::fs::read(entry.path()).unwrap();
                    assert!(!String::from_utf8_lossy(&bytes).contains(CANARY), "{case}: {}", entry.path().display());
                }
            }
        }
    }
}

/// For everything that can be put at `name` in the session folder: the call ends and harms nothing.
#[track_caller]
fn check(name: &str, call: impl Fn(&World) -> String + Send + Copy + 'static) {
    check_at(&|world: &World| world.folder().join(name), call);
}

#[track_caller]
fn check_at(place: &dyn Fn(&World) -> PathBuf, call: impl Fn(&World) -> String + Send + Copy + 'static) {
    for what in ALL {
        let world = World::new();
        let at = place(&world);
        world.put(&at, what);
        let case = format!("{what:?} at {}", at.display());
        let (done, wait) = mpsc::channel();
        std::thread::spawn(move || {
            let told = call(&world);
            let _ = done.send((world, told));
        });
        let (world, told) = wait.recv_timeout(HANGS).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert!(!told.contains(CANARY), "{case}: {told}");
        assert!(told.len() < 1 << 20, "{case}: {} bytes were taken", told.len());
        world.assert_unharmed(&case);
    }
}

#[test]
fn a_message_reaches_the_agent_whatever_stands_in_its_place() {
    check(GUIDANCE_FILE, |world| {
        let at = jiff::Timestamp::UNIX_EPOCH;
        let word = Guidance { number: 7, by: "ada".to_owned(), text: "stop".to_owned(), at };
        tell_agent::append(&world.folder(), &word).unwrap();
        let said = std::fs::read_to_string(world.folder().join(GUIDANCE_FILE)).unwrap();
        assert_eq!(Guidance::read(&said), [word]);
        said
    });
}

#[test]
fn what_an_agent_noted_for_the_next_one_leads_nowhere() {
    check(NOTES_FILE, |world| {
        let next = Session { visit: 2, ..world.session.clone() };
        format!("{:?}", laid::notes_of_earlier(&world.paths(), &world.run, &next))
    });
    check(OBSERVATIONS_FILE, |world| format!("{:?}", observations::last_lines(&world.folder())));
}

#[test]
fn a_fork_takes_along_only_plain_files() {
    for name in [TURNS_FILE, GUIDANCE_FILE, NOTES_FILE, OBSERVATIONS_FILE, "output", "output/1", "extension-1"] {
        check(name, |world| {
            let paths = world.paths();
            // Noted before the files were replaced, and noted of what they are now.
            let fork = |number| carry::go_on(&paths, &run_id(number), &world.run, &world.session).unwrap();
            let mark = paths.mark(&world.run, &world.session);
            std::fs::create_dir_all(mark.parent().unwrap()).unwrap();
            let lengths =
                [TURNS_FILE, GUIDANCE_FILE, NOTES_FILE, OBSERVATIONS_FILE].map(|name| format!("\"{name}\":13"));
            std::fs::write(&mark, format!("{{{}}}", lengths.join(","))).unwrap();
            let before = fork(2);
            carry::mark(&paths, &world.run, &world.session).unwrap();
            format!("{before} {}", fork(3))
        });
    }
}

#[test]
fn marks_and_texts_of_ours_are_written_and_read_as_plain_files_only() {
    check("refusal.txt", |world| {
        let read = brief::refusal(&world.folder()).map(|text| text.len() < 1 << 20);
        brief::note_refusal(&world.folder(), "not so").unwrap();
        assert_eq!(brief::refusal(&world.folder()).as_deref(), Some("not so"));
        format!("{read:?}")
    });
    check("extension-1", |world| {
        let read = brief::extensions(&world.folder(), 2);
        brief::note_extension(&world.folder(), 1).unwrap();
        assert_eq!(brief::extensions(&world.folder(), 2), 1);
        read.to_string()
    });
    check("job.json", |world| format!("{:?}", laid::put(&world.folder(), "job.json", b"{}").is_ok()));
}

#[test]
fn the_index_of_a_project_comes_from_a_plain_file_and_goes_to_one() {
    for name in [INDEX_FILE, "index.db-journal", ".index.db.r1.tmp"] {
        check(name, |world| {
            let stored = world.home.path().join("project").join(INDEX_FILE);
            let kept = laid::keep_index(&world.folder(), &stored, "r1").is_ok();
            std::fs::write(&stored, "the project's").unwrap();
            let seeded = laid::seed_index(&stored, &world.folder(), "r1").is_ok();
            format!("{kept} {seeded}")
        });
    }
}

#[test]
fn task_md_is_read_as_a_plain_file_only() {
    check_at(&|world| world.paths().workspace(&world.run).join(TASK_FILE), |world| {
        let read = task_file::read_plain(&world.paths().workspace(&world.run)).unwrap();
        assert_eq!(read, None);
        String::new()
    });
}
