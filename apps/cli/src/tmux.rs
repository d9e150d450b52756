//! Windows for people: one tmux session per run, one window per conversation. tmux only shows; what lives and what is
//! over is known from processes and never from a screen.

use std::io::IsTerminal;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::failure::Failure;

/// A tmux session of a run.
pub(crate) struct Tmux {
    name: String,
}

impl Tmux {
    pub(crate) fn of_run(id: &str) -> Self {
        Self { name: format!("holdpoint-{id}") }
    }

    /// What a person types to see it from anywhere.
    pub(crate) fn how(&self) -> String {
        format!("tmux attach -t {}", self.name)
    }

    /// Opens a window that runs `command`, or finds the one that does.
    pub(crate) fn open(&self, window: &str, folder: &Path, home: &Path, command: &[String]) -> Result<(), Failure> {
        let home = format!("HOLDPOINT_HOME={}", home.display());
        let folder = folder.display().to_string();
        let place = format!("={}:", self.name);
        let mut words: Vec<&str> = if self.exists()? {
            if self.windows()?.iter().any(|known| known == window) {
                return self.run(&["select-window", "-t", &format!("{place}{window}")]).map(drop);
            }
            vec!["new-window", "-t", &place, "-n", window, "-c", &folder, "-e", &home]
        } else {
            vec!["new-session", "-d", "-s", &self.name, "-n", window, "-c", &folder, "-e", &home]
        };
        words.extend(command.iter().map(String::as_str));
        self.run(&words).map(drop)
    }

    /// Shows the window to the person at this terminal; without a terminal nothing is shown.
    pub(crate) fn show(&self, window: &str) -> Result<Shown, Failure> {
        if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            return Ok(Shown::Nowhere);
        }
        let target = format!("={}:{window}", self.name);
        let words = match std::env::var_os("TMUX") {
            Some(_) => ["switch-client", "-t", &target],
            None => ["attach-session", "-t", &target],
        };
        let status = Command::new("tmux").args(words).status().map_err(|error| missing(&error))?;
        if status.success() { Ok(Shown::Here) } else { Err(refused(&words, "it ended with an error")) }
    }

    fn exists(&self) -> Result<bool, Failure> {
        let mut asked = Command::new("tmux");
        asked.args(["has-session", "-t", &format!("={}", self.name)]).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(asked.status().map_err(|error| missing(&error))?.success())
    }

    fn windows(&self) -> Result<Vec<String>, Failure> {
        let said = self.run(&["list-windows", "-t", &format!("={}", self.name), "-F", "#{window_name}"])?;
        Ok(String::from_utf8_lossy(&said.stdout).lines().map(str::to_owned).collect())
    }

    fn run(&self, words: &[&str]) -> Result<Output, Failure> {
        let said = Command::new("tmux").args(words).stdin(Stdio::null()).output().map_err(|error| missing(&error))?;
        if said.status.success() {
            return Ok(said);
        }
        Err(refused(words, String::from_utf8_lossy(&said.stderr).trim()))
    }
}

/// Whether a person saw the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Here,
    Nowhere,
}

fn missing(error: &std::io::Error) -> Failure {
    Failure::unavailable(
        "tmux",
        format!("tmux cannot be started: {error}"),
        "install tmux, or use this terminal with `holdpoint attach RUN --here`",
    )
}

fn refused(words: &[&str], why: &str) -> Failure {
    let what = words.first().copied().unwrap_or_default();
    Failure::failed(
        "tmux",
        format!("tmux did not do `{what}`: {why}"),
        "look at `tmux list-sessions`, or use this terminal with `holdpoint attach RUN --here`",
    )
}
