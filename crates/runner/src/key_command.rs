//! Keys that a command of the user's prints, such as `pass show x`: the way to the platform's credential store. The command
//! runs without a shell, with nothing on standard input, for a limited time; only what it prints on standard output is
//! read, up to a limit, and none of it is shown in an error.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use broker::Secret;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};

/// Enough to unlock a store by hand.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// Far above every key.
const MAX_BYTES: usize = 16 * 1024;

/// A command that prints a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyCommand {
    program: String,
    arguments: Vec<String>,
}

/// Why a command gave no key. Holds nothing that the command printed.
#[derive(Debug, thiserror::Error)]
pub enum KeyCommandError {
    /// No program is named.
    #[error("key_command names no program")]
    Empty,
    /// It depends on where the server was started.
    #[error("`{0}` is a relative path")]
    Relative(String),
    /// Other users could replace it.
    #[error("`{}` can be written by every user of this machine", .0.display())]
    Writable(PathBuf),
    /// It cannot be run.
    #[error("`{program}` cannot be started: {source}")]
    Start {
        /// The program.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// It ended badly.
    #[error("`{program}` ended with {status}")]
    Failed {
        /// The program.
        program: String,
        /// How.
        status: ExitStatus,
    },
    /// It did not end.
    #[error("`{0}` gave no key within {seconds} seconds", seconds = PATIENCE.as_secs())]
    TimedOut(String),
    /// It prints something else.
    #[error("`{0}` printed more than {MAX_BYTES} bytes, which is no key")]
    TooLong(String),
    /// It prints nothing.
    #[error("`{0}` printed nothing")]
    Nothing(String),
    /// It prints something else.
    #[error("what `{0}` printed is no key: it has line breaks or other characters that cannot stand in a header")]
    NotAKey(String),
}

impl KeyCommandError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Empty => "write it as a list, such as `key_command = [\"pass\", \"show\", \"NAME\"]`",
            Self::Relative(_) => "use an absolute path, or a name that is found on the PATH",
            Self::Writable(_) => "take the right to write away from others (`chmod o-w`)",
            Self::Start { .. } => "install it, or correct key_command in config.toml; then retry",
            Self::Failed { .. } | Self::Nothing(_) => {
                "run the command in a terminal to see what it says, unlock its store, then retry"
            }
            Self::TimedOut(_) => {
                "unlock its store, or let it not ask on a terminal (it has none here); run it in a terminal to see, then \
                 retry"
            }
            Self::TooLong(_) | Self::NotAKey(_) => "let the command print the key alone, on one line; then retry",
        }
    }
}

impl KeyCommand {
    /// A command and its arguments; nothing is run yet.
    ///
    /// # Errors
    /// When there is none, or when it is found by the folder that the server happens to be in.
    pub fn new(argv: &[String]) -> Result<Self, KeyCommandError> {
        let (program, arguments) = argv.split_first().ok_or(KeyCommandError::Empty)?;
        if program.trim().is_empty() {
            return Err(KeyCommandError::Empty);
        }
        if program.contains('/') && !program.starts_with('/') {
            return Err(KeyCommandError::Relative(program.clone()));
        }
        Ok(Self { program: program.clone(), arguments: arguments.to_vec() })
    }

    /// The program's name. The arguments are not for display: they may hold private names.
    #[must_use]
    pub fn name(&self) -> &str {
        self.program.rsplit('/').next().unwrap_or(&self.program)
    }

    pub(crate) async fn key(&self, patience: Duration) -> Result<Secret, KeyCommandError> {
        self.check_file()?;
        let mut child = self.start()?;
        // Not yet waited for, so the number is still its own.
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let printed = tokio::time::timeout(patience, self.printed(&mut child)).await;
        let printed = printed.unwrap_or_else(|_| Err(KeyCommandError::TimedOut(self.name().to_owned())));
        if child.id().is_some()
            && let Some(group) = group
        {
            // What it started may hold its pipe; a group that is gone is what is wanted.
            let _ = kill_process_group(group, Signal::KILL);
        }
        self.trimmed(printed?)
    }

    fn start(&self) -> Result<Child, KeyCommandError> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        // It may hold the key, so nothing of it may get into our log.
        command.stderr(Stdio::null()).current_dir("/").process_group(0).kill_on_drop(true);
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.ends_with("_API_KEY") || name == "GITHUB_TOKEN") {
                command.env_remove(name);
            }
        }
        command.spawn().map_err(|source| KeyCommandError::Start { program: self.name().to_owned(), source })
    }

    async fn printed(&self, child: &mut Child) -> Result<Vec<u8>, KeyCommandError> {
        let start = |source| KeyCommandError::Start { program: self.name().to_owned(), source };
        let mut bytes = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            stdout.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).await.map_err(start)?;
        }
        if bytes.len() > MAX_BYTES {
            return Err(KeyCommandError::TooLong(self.name().to_owned()));
        }
        let status = child.wait().await.map_err(start)?;
        if status.success() {
            Ok(bytes)
        } else {
            Err(KeyCommandError::Failed { program: self.name().to_owned(), status })
        }
    }

    fn trimmed(&self, printed: Vec<u8>) -> Result<Secret, KeyCommandError> {
        let key = printed.trim_ascii();
        if key.is_empty() {
            return Err(KeyCommandError::Nothing(self.name().to_owned()));
        }
        match std::str::from_utf8(key) {
            Ok(key) if key.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Secret::new(key)),
            Ok(_) | Err(_) => Err(KeyCommandError::NotAKey(self.name().to_owned())),
        }
    }

    /// A program that everybody may replace is not asked for keys.
    fn check_file(&self) -> Result<(), KeyCommandError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut files = std::env::split_paths(&path).map(|folder| folder.join(&self.program));
        let own = self.program.starts_with('/').then(|| PathBuf::from(&self.program));
        let found = own.or_else(|| files.find(|file| file.is_file()));
        match found.and_then(|file| Some((std::fs::metadata(&file).ok()?.permissions().mode(), file))) {
            Some((mode, file)) if mode & 0o002 != 0 => Err(KeyCommandError::Writable(file)),
            // The start reports a missing program.
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// A killed process ends a moment later.
    fn ends(process: Pid) -> bool {
        let Ok(process) = rustix::process::pidfd_open(process, rustix::process::PidfdFlags::empty()) else {
            return true;
        };
        let limit = rustix::event::Timespec { tv_sec: 60, tv_nsec: 0 };
        let mut ended = [rustix::event::PollFd::new(&process, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut ended, Some(&limit)).unwrap() == 1
    }

    fn shell(script: &str) -> KeyCommand {
        KeyCommand::new(&["/bin/sh", "-c", script].map(str::to_owned)).unwrap()
    }

    async fn given(script: &str) -> Result<String, String> {
        let key = shell(script).key(Duration::from_secs(20)).await;
        key.map(|key| key.hand_over()).map_err(|error| format!("{error}; {}", error.hint()))
    }

    #[tokio::test]
    async fn what_a_command_prints_is_the_key_without_the_line_break() {
        assert_eq!(given("echo ' k3y-of-mine '").await.unwrap(), "k3y-of-mine");
    }

    #[tokio::test]
    async fn a_command_has_nothing_to_read_and_no_key_of_ours_in_its_environment() {
        assert_eq!(given("cat; echo end").await.unwrap(), "end");
        assert_eq!(given("env | grep -c _API_KEY= || true").await.unwrap(), "0");
    }

    #[tokio::test]
    async fn an_error_says_what_to_do_and_nothing_of_what_was_printed() {
        for (script, expected) in [
            (
                "echo k3y-of-mine; echo k3y-of-mine >&2; exit 1",
                "ended with exit status: 1; run the command in a terminal",
            ),
            ("kill -9 $$", "signal: 9"),
            ("true", "printed nothing"),
            ("printf 'k3y-of\\nmine'", "print the key alone"),
            ("printf 'k3y-of-mine\\377'", "print the key alone"),
        ] {
            let said = given(script).await.unwrap_err();
            assert!(said.contains(expected) && !said.contains("k3y"), "{script}: {said}");
        }
        let gone = KeyCommand::new(&["no-such-program-of-anybody".to_owned()]).unwrap();
        let said = gone.key(Duration::from_secs(20)).await.unwrap_err();
        assert!(said.to_string().contains("cannot be started") && said.hint().contains("config.toml"), "{said}");
    }

    #[tokio::test]
    async fn a_command_without_an_end_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let script = format!("sleep 600 & echo $! > '{}'; wait", pid.display());
        let said = shell(&script).key(Duration::from_secs(1)).await.unwrap_err();
        assert!(matches!(said, KeyCommandError::TimedOut(_)), "{said}");
        // On a busy machine it may have been ended before it started anything.
        if let Ok(text) = std::fs::read_to_string(&pid)
            && let Some(pid) = text.trim().parse().ok().and_then(Pid::from_raw)
        {
            assert!(ends(pid), "{text}");
        }
    }

    #[tokio::test]
    async fn a_flood_is_read_up_to_a_limit_and_ended() {
        let begun = Instant::now();
        let said = given("exec head -c 1073741824 /dev/zero").await.unwrap_err();
        assert!(said.contains("more than 16384 bytes"), "{said}");
        assert!(begun.elapsed() < Duration::from_secs(20));
    }

    #[tokio::test]
    async fn a_program_that_everybody_may_replace_is_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("key");
        std::fs::write(&program, "#!/bin/sh\necho k3y-of-mine\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o777)).unwrap();
        let command = KeyCommand::new(&[program.display().to_string()]).unwrap();
        let said = command.key(Duration::from_secs(20)).await.unwrap_err();
        assert!(matches!(said, KeyCommandError::Writable(_)) && said.hint().contains("chmod"), "{said}");
    }

    #[test]
    fn a_command_is_a_name_or_an_absolute_path() {
        let made = |argv: &[&str]| KeyCommand::new(&argv.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>());
        assert_eq!(made(&["/usr/bin/pass", "show", "x"]).unwrap().name(), "pass");
        assert!(matches!(made(&[]), Err(KeyCommandError::Empty)));
        assert!(matches!(made(&[" "]), Err(KeyCommandError::Empty)));
        assert!(matches!(made(&["./key"]), Err(KeyCommandError::Relative(_))));
    }
}
