//! The command line of `bwrap`: a read-only view of the machine without homes, sockets and the
//! data directory, with the few things an agent may write laid over it.
//!
//! Known gap: on kernels before Landlock ABI 9 a unix socket that a service keeps outside `/run`,
//! `/tmp`, the homes and the data directory can be connected to, where its mode allows that.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use super::cell::{Cell, DOOR_INSIDE, PROGRAM_INSIDE};

/// Readable for the superuser even without capabilities, and nobody's business.
pub(super) const SECRET_FILES: &[&str] = &["/etc/shadow", "/etc/gshadow", "/etc/sudoers"];

/// Options that make the namespaces; the probe tries exactly these.
pub(super) fn namespaces() -> &'static [&'static str] {
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
    line.0.extend(namespaces().iter().map(OsString::from));
    line.add(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
    line.add(["--perms", "1777"]);
    line.add(["--size", &cell.limits.tmp_bytes.to_string()]);
    line.add(["--tmpfs", "/tmp", "--tmpfs", "/run", "--tmpfs", "/var/tmp"]);
    for hidden in &cell.hidden {
        line.add([OsStr::new("--tmpfs"), hidden.as_os_str()]);
    }
    for secret in SECRET_FILES.iter().filter(|path| Path::new(path).exists()) {
        line.add(["--ro-bind", "/dev/null", secret]);
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
    line.add([OsStr::new("--chdir"), cell.workspace.as_os_str()]);
    line.0
}

#[derive(Default)]
struct Line(Vec<OsString>);

impl Line {
    fn add<S: AsRef<OsStr>, const N: usize>(&mut self, words: [S; N]) {
        self.0.extend(words.iter().map(|word| word.as_ref().to_owned()));
    }

    fn bind(&mut self, how: &str, from: &Path, to: &Path) {
        self.add([OsStr::new(how), from.as_os_str(), to.as_os_str()]);
    }

    fn hide(&mut self, secret: &Path) {
        if secret.is_dir() {
            self.add([OsStr::new("--tmpfs"), secret.as_os_str()]);
        } else {
            self.bind("--ro-bind", Path::new("/dev/null"), secret);
        }
    }
}
