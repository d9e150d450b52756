//! The one place that builds a git call: empty environment, pinned configuration, explicit
//! `GIT_DIR`. No git call of Holdpoint runs a hook, a filter, a file-system monitor or a
//! prompt, and none looks for a repository by itself except `Call::discover`.

use std::ffi::OsStr;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use super::GitError;
use super::locks;
use super::process::{Collected, Conversation, collect};
use crate::passing::{CALL_WAITS, rest, words_pass};

/// Set above any configuration file, in every call.
const PINS: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.splitIndex", "false"),
    ("core.autocrlf", "false"),
    ("core.safecrlf", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.protectHFS", "true"),
    ("core.protectNTFS", "true"),
    // What an event names must be there after a power cut: objects, packs and references are synced by git itself.
    ("core.fsync", "committed"),
    ("core.fsyncMethod", "fsync"),
    ("core.pager", "cat"),
    ("protocol.ext.allow", "never"),
    ("protocol.file.allow", "user"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("push.recurseSubmodules", "no"),
    ("push.followTags", "false"),
    ("push.gpgSign", "false"),
    ("commit.gpgSign", "false"),
    ("log.showSignature", "false"),
    ("gc.auto", "0"),
    // Many runs share one repository: a reference another one is just moving is waited for.
    ("core.filesRefLockTimeout", "10000"),
    ("maintenance.auto", "false"),
    ("transfer.fsckObjects", "true"),
    ("fastimport.unpackLimit", "10"),
    ("safe.bareRepository", "explicit"),
    ("i18n.commitEncoding", "UTF-8"),
    ("i18n.logOutputEncoding", "UTF-8"),
    ("diff.renames", "true"),
    ("diff.relative", "false"),
    ("diff.suppressBlankEmpty", "false"),
];

/// What a call that acts for the user at a remote may see of the user's environment.
const USERS_ENVIRONMENT: &[&str] = &[
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK",
    "GIT_SSH_COMMAND",
    "DBUS_SESSION_BUS_ADDRESS",
    "GNUPGHOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
];

/// Whose configuration files git may read besides the repository's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settings {
    /// None: only the repository's, under our pins.
    Pinned,
    /// The user's, under our pins: for credentials at a remote and `safe.directory`.
    Users,
}

pub(crate) struct Call {
    command: Command,
    shown: Vec<String>,
    input: Option<Vec<u8>>,
    pins: Vec<(String, String)>,
    timeout: Option<Duration>,
    index: Option<PathBuf>,
    /// The private repository, when the call takes locks there.
    locks_of: Option<PathBuf>,
}

pub(crate) struct Finished {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Call {
    /// A call on exactly this repository. It runs in the git directory, never in a work tree.
    pub(crate) fn at(git_dir: &Path) -> Self {
        let mut call = Self::with(Settings::Pinned);
        call.command.env("GIT_DIR", git_dir).current_dir(git_dir);
        call
    }

    /// For a call on the private repository that takes locks there: what a killed one left is taken away.
    pub(crate) fn taking_locks_of_ours(mut self) -> Self {
        self.locks_of = self.command.get_current_dir().map(Path::to_owned);
        // Who is met at a reference is soon done, or dead: that is looked into between the tries.
        self.pin("core.filesRefLockTimeout", "2000")
    }

    /// A call on exactly this repository that acts for the user.
    pub(crate) fn for_user(git_dir: &Path) -> Self {
        let mut call = Self::with(Settings::Users);
        call.command.env("GIT_DIR", git_dir).current_dir(git_dir);
        call
    }

    /// A call that finds the repository around `directory`, by the user's own rules of trust.
    pub(crate) fn discover(directory: &Path) -> Self {
        let mut call = Self::with(Settings::Users);
        call.command.current_dir(directory);
        call
    }

    fn with(settings: Settings) -> Self {
        let mut command = Command::new(program());
        command.env_clear();
        let pass = |command: &mut Command, name: &str| {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        };
        pass(&mut command, "PATH");
        pass(&mut command, "HOME");
        let mut pins: Vec<(String, String)> =
            PINS.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        match settings {
            Settings::Pinned => {
                command
                    .env("GIT_CONFIG_NOSYSTEM", "1")
                    .env("GIT_CONFIG_GLOBAL", "/dev/null")
                    .env("GIT_ATTR_NOSYSTEM", "1");
                pins.push(("credential.helper".to_owned(), String::new()));
            }
            Settings::Users => {
                for name in USERS_ENVIRONMENT {
                    pass(&mut command, name);
                }
            }
        }
        command
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "")
            .env("SSH_ASKPASS_REQUIRE", "never")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_LITERAL_PATHSPECS", "1")
            .env("GIT_EDITOR", "false")
            .env("GIT_COMMITTER_NAME", "Holdpoint")
            .env("GIT_COMMITTER_EMAIL", "holdpoint@localhost")
            .env("LC_ALL", "C");
        Self { command, shown: Vec::new(), input: None, pins, timeout: None, index: None, locks_of: None }
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.shown.push(redacted(&arg.as_ref().to_string_lossy()));
        self.command.arg(arg);
        self
    }

    pub(crate) fn args<I: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = I>) -> Self {
        for arg in args {
            self = self.arg(arg);
        }
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn pin(mut self, key: &str, value: &str) -> Self {
        self.pins.push((key.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Some(bytes.into());
        self
    }

    pub(crate) fn directory(mut self, directory: &Path) -> Self {
        self.command.current_dir(directory);
        self
    }

    pub(crate) fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Works with an index file that no other call uses.
    pub(crate) fn index(mut self, index: &Path) -> Self {
        self.command.env("GIT_INDEX_FILE", index);
        self.index = Some(index.to_owned());
        self
    }

    /// Runs to the end; any exit code is an answer. A git that was killed, or had no memory, process, descriptor or
    /// space left, gave none: it is asked again, and every call of ours may be made twice.
    pub(crate) fn finish(mut self) -> Result<Finished, GitError> {
        let input = self.input.take();
        for wait in CALL_WAITS {
            match self.once(input.as_deref()) {
                Err(error) if error.passes() => self.make_way(&error),
                Ok(finished) if finished.gave_no_answer() || self.met_a_lock(&finished) => {
                    self.make_way(&finished.stderr);
                }
                answer => return answer,
            }
            rest(wait);
        }
        let finished = self.once(input.as_deref())?;
        match finished.gave_no_answer() {
            true => Err(finished.failed(self.shown.join(" "))),
            false => Ok(finished),
        }
    }

    fn once(&mut self, input: Option<&[u8]>) -> Result<Finished, GitError> {
        let stdin = match input {
            Some(_) => Stdio::piped(),
            None => Stdio::null(),
        };
        let _taking = self.locks_of.as_ref().map(|_| locks::taking_locks());
        let child = self.spawn(stdin, Stdio::piped())?;
        let ended = collect(child, input, self.timeout).map_err(GitError::Start)?;
        let (status, stdout, stderr) = ended.ok_or_else(|| GitError::TimedOut {
            args: self.shown.join(" "),
            seconds: self.timeout.unwrap_or_default().as_secs(),
        })?;
        Ok(Finished { code: code_of(status), stdout, stderr: for_people(&stderr) })
    }

    /// Takes away what a killed try left in the way of the next.
    fn make_way(&self, why: &dyn std::fmt::Display) {
        tracing::warn!(args = self.shown.join(" "), %why, "git gave no answer and is asked again");
        if let Some(index) = &self.index {
            let mut lock = index.clone().into_os_string();
            lock.push(".lock");
            // If it stays, the next try says so.
            let _ = std::fs::remove_file(lock);
        }
        if let Some(dir) = &self.locks_of
            && let Err(error) = locks::remove_stale_locks(dir)
        {
            tracing::warn!(%error, "stale locks stay");
        }
    }

    fn met_a_lock(&self, finished: &Finished) -> bool {
        self.locks_of.is_some() && finished.code != 0 && locks::speaks_of_a_lock(&finished.stderr)
    }

    /// Runs to the end; any exit code but 0 is an error. Gives standard output.
    pub(crate) fn run(self) -> Result<Vec<u8>, GitError> {
        let args = self.shown.join(" ");
        let finished = self.finish()?;
        match finished.code {
            0 => Ok(finished.stdout),
            _ => Err(finished.failed(args)),
        }
    }

    /// Like `run`, for output that is one line of text.
    pub(crate) fn line(self) -> Result<String, GitError> {
        let args = self.shown.join(" ");
        let out = self.run()?;
        match String::from_utf8(out) {
            Ok(text) => Ok(text.trim_end_matches('\n').to_owned()),
            Err(_) => Err(GitError::Unreadable { args, detail: "text that is not UTF-8".to_owned() }),
        }
    }

    /// Runs this call with its output going straight into `reader`; both must succeed. Asked again like `finish`.
    pub(crate) fn run_into(mut self, mut reader: Call) -> Result<Vec<u8>, GitError> {
        let input = self.input.take().unwrap_or_default();
        for wait in CALL_WAITS {
            match self.pipe_once(&input, &mut reader) {
                Err(error) if error.passes() => self.make_way(&error),
                answer => return answer,
            }
            rest(wait);
        }
        self.pipe_once(&input, &mut reader)
    }

    fn pipe_once(&mut self, input: &[u8], reader: &mut Call) -> Result<Vec<u8>, GitError> {
        let mut source = self.spawn(Stdio::piped(), Stdio::piped())?;
        let pipe = source.stdout.take().expect("stdout was asked for as a pipe");
        let sink = reader.spawn(Stdio::from(pipe), Stdio::piped());
        // Without a reader the source ends by itself: its pipe is closed.
        let (sent, received) = thread::scope(|scope| {
            let feeding = scope.spawn(move || collect(source, Some(input), None));
            let received = sink.and_then(|sink| collect(sink, None, None).map_err(GitError::Start));
            (feeding.join().expect("collecting output does not panic").map_err(GitError::Start), received)
        });
        let received = whole(received?, reader.shown.join(" "));
        // A source that was killed is the reason why its reader failed, and the other way round: what passes is told.
        match (whole(sent?, self.shown.join(" ")), received) {
            (Ok(_), received) => received,
            (Err(error), Err(other)) if other.passes() && !error.passes() => Err(other),
            (Err(error), _) => Err(error),
        }
    }

    /// Starts a call that is spoken to while it runs.
    pub(crate) fn converse(mut self) -> Result<Conversation, GitError> {
        let args = self.shown.join(" ");
        for wait in CALL_WAITS {
            match self.spawn(Stdio::piped(), Stdio::piped()) {
                Err(error) if error.passes() => rest(wait),
                child => return Ok(Conversation { child: child?, args }),
            }
        }
        let child = self.spawn(Stdio::piped(), Stdio::piped())?;
        Ok(Conversation { child, args })
    }

    fn spawn(&mut self, stdin: Stdio, stdout: Stdio) -> Result<Child, GitError> {
        self.command.env("GIT_CONFIG_COUNT", self.pins.len().to_string());
        for (n, (key, value)) in self.pins.iter().enumerate() {
            self.command.env(format!("GIT_CONFIG_KEY_{n}"), key).env(format!("GIT_CONFIG_VALUE_{n}"), value);
        }
        tracing::trace!(args = self.shown.join(" "), "git");
        self.command
            .stdin(stdin)
            .stdout(stdout)
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(GitError::Start)
    }
}

/// Where git is. By a bare name together with a PATH of its own a child could only be made by copying this process's
/// page tables, which costs more than the git call; by its path it is made without.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|file| file.is_file());
        found.filter(|file| file.is_absolute()).unwrap_or_else(|| PathBuf::from("git"))
    })
}

impl Finished {
    pub(crate) fn failed(self, args: String) -> GitError {
        GitError::Failed { args, code: self.code, stderr: self.stderr }
    }

    /// Whether what was asked for is there: exit code 0 says yes, 1 says no, any other that git could not tell.
    pub(crate) fn found(self, args: &str) -> Result<Option<Vec<u8>>, GitError> {
        match self.code {
            0 => Ok(Some(self.stdout)),
            1 => Ok(None),
            _ => Err(self.failed(args.to_owned())),
        }
    }

    fn gave_no_answer(&self) -> bool {
        self.code < 0 || (self.code != 0 && words_pass(&self.stderr))
    }
}

/// The exit code; for a process that a signal ended, the signal's number below zero.
pub(crate) fn code_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| status.signal().map_or(-1, |signal| -signal))
}

fn whole(ended: Collected, args: String) -> Result<Vec<u8>, GitError> {
    let Some((status, stdout, stderr)) = ended else { return Ok(Vec::new()) };
    match status.success() {
        true => Ok(stdout),
        false => Err(GitError::Failed { args, code: code_of(status), stderr: for_people(&stderr) }),
    }
}

/// Git's words, short enough for a message and without credentials.
pub(crate) fn for_people(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let text: String = text.trim().chars().take(2000).collect();
    redacted(&text)
}

/// Takes `user:password@` out of every URL.
pub(crate) fn redacted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after.find(|c: char| c == '/' || c.is_whitespace() || c == '\'' || c == '"').unwrap_or(after.len());
        let (authority, tail) = after.split_at(end);
        match authority.rfind('@') {
            Some(at) => out.push_str(&authority[at + 1..]),
            None => out.push_str(authority),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_urls_are_not_shown() {
        let text = "fatal: unable to access 'https://me:s3cret@host/x.git/': 403 (ssh://git@h/y)";
        assert_eq!(redacted(text), "fatal: unable to access 'https://host/x.git/': 403 (ssh://h/y)");
    }

    #[test]
    fn a_call_that_hangs_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        // `cat-file --batch` waits for input that never comes.
        Call::discover(dir.path()).args(["init", "--bare", "--quiet", "."]).run().unwrap();
        let mut call = Call::at(dir.path()).args(["cat-file", "--batch"]).timeout(Duration::from_millis(50));
        let mut child = call.spawn(Stdio::piped(), Stdio::piped()).unwrap();
        let held = child.stdin.take();
        assert!(collect(child, None, call.timeout).unwrap().is_none());
        drop(held);
    }
}
