//! The command line of `bwrap`: an empty root in which the system's programs, the toolchains of the user and what the
//! attempt is given are mounted, read-only but for the workspace and the session folder.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use super::{
    cell::{Cell, DOOR_INSIDE, PROGRAM_INSIDE},
    readable::{self, Shown},
};

/// Bytes of memory behind folders that are there and hold next to nothing.
const LITTLE: u64 = 1 << 20;

/// Options that make the namespaces.
fn namespaces() -> &'static [&'static str] {
    &[
        "--unshare-user",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--disable-userns",
        "--new-session",
        "--die-with-parent",
        "--as-pid-1",
        "--cap-drop",
        "ALL",
    ]
}

/// All options for `cell`, up to the `--` before the program.
pub(super) fn arguments(cell: &Cell) -> Vec<OsString> {
    let mut line = Line::default();
    line.system(&cell.shown, cell.limits.tmp_bytes, cell.limits.shm_bytes);
    for hidden in cell.hidden.iter().filter(|path| cell.trees().any(|tree| path.starts_with(tree))) {
        line.memory(hidden, "0755", LITTLE);
    }
    for root in &cell.toolchain.roots {
        line.bind("--ro-bind", root, root);
    }
    for secret in &cell.toolchain.hidden {
        line.hide(secret);
    }
    for path in &cell.extra_ro {
        line.bind("--ro-bind", path, path);
    }
    for path in [&cell.workspace, &cell.session] {
        line.bind("--bind", path, path);
    }
    line.bind("--ro-bind", &cell.door, Path::new(DOOR_INSIDE));
    line.bind("--ro-bind", &cell.program, Path::new(PROGRAM_INSIDE));
    // Folders on the way to what is mounted are memory too.
    line.add(["--remount-ro", "/"]);
    line.add([OsStr::new("--chdir"), cell.workspace.as_os_str()]);
    line.0
}

/// The same without an attempt: a shell in the system's own part of it.
pub(super) fn trial() -> Vec<OsString> {
    let mut line = Line::default();
    line.system(&readable::system(), LITTLE, LITTLE);
    line.add(["--remount-ro", "/", "--chdir", "/", "--", "/bin/sh", "-c", "exit 0"]);
    line.0
}

#[derive(Default)]
struct Line(Vec<OsString>);

impl Line {
    fn add<S: AsRef<OsStr>>(&mut self, words: impl IntoIterator<Item = S>) {
        self.0.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
    }

    /// Namespaces, devices, temporary folders of limited size, and what of the system is shown.
    fn system(&mut self, shown: &[Shown], tmp_bytes: u64, shm_bytes: u64) {
        self.add(namespaces());
        self.add(["--dev", "/dev", "--proc", "/proc"]);
        self.memory(Path::new("/dev/shm"), "1777", shm_bytes);
        self.add(["--remount-ro", "/dev"]);
        self.memory(Path::new("/tmp"), "1777", tmp_bytes);
        self.memory(Path::new("/var/tmp"), "1777", tmp_bytes);
        self.memory(Path::new("/run"), "0755", LITTLE);
        for shown in shown {
            match shown {
                Shown::Tree(path) => self.bind("--ro-bind", path, path),
                Shown::Link { at, to } => self.bind("--symlink", to, at),
            }
        }
    }

    fn memory(&mut self, at: &Path, mode: &str, bytes: u64) {
        self.add(["--perms", mode, "--size", &bytes.to_string()]);
        self.add([OsStr::new("--tmpfs"), at.as_os_str()]);
    }

    fn bind(&mut self, how: &str, from: &Path, to: &Path) {
        self.add([OsStr::new(how), from.as_os_str(), to.as_os_str()]);
    }

    fn hide(&mut self, secret: &Path) {
        if secret.is_dir() {
            self.memory(secret, "0755", LITTLE);
        } else {
            self.bind("--ro-bind", Path::new("/dev/null"), secret);
        }
    }
}
