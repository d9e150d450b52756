//! A small world for one run: a data directory, a sample repository, a script for the model.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

/// Everything a run touches, thrown away with the value.
pub struct World {
    folder: PathBuf,
    /// Gone with the world, unless the folder is somebody else's.
    _temporary: Option<TempDir>,
}

impl World {
    /// A fresh world whose scripted model `scripted/story` tells this story.
    pub fn new(script: &str) -> Result<Self> {
        let temporary = tempfile::Builder::new().prefix("holdpoint-world-").tempdir()?;
        let folder = temporary.path().to_owned();
        Self { folder, _temporary: Some(temporary) }.made(script)
    }

    /// A fresh world in a folder that stays.
    pub fn within(folder: &Path, script: &str) -> Result<Self> {
        Self { folder: folder.to_owned(), _temporary: None }.made(script)
    }

    fn made(self, script: &str) -> Result<Self> {
        let world = self;
        std::fs::create_dir_all(world.home().join("scripts"))?;
        world.tell(script)?;
        world.make_repository()?;
        Ok(world)
    }

    /// From the next attempt of an agent on, the scripted model tells this story.
    pub fn tell(&self, script: &str) -> Result<()> {
        Ok(std::fs::write(self.home().join("scripts/story.toml"), script)?)
    }

    /// What the scripted model has given whole by its own log: calls, tokens in (the prompt cache included), tokens out.
    pub fn given(&self) -> Result<(u64, u64, u64)> {
        let text = std::fs::read_to_string(self.home().join("scripted/story.jsonl"))?;
        let mut sum = (0, 0, 0);
        for line in text.lines() {
            let line: serde_json::Value = serde_json::from_str(line)?;
            let count = |name: &str| line[name].as_u64().unwrap_or(0);
            if line["answer"] == "whole" {
                sum.0 += 1;
                sum.1 += count("inputTokens") + count("cacheReadTokens") + count("cacheWriteTokens");
                sum.2 += count("outputTokens");
            }
        }
        Ok(sum)
    }

    /// While no server is up: every clock that is running has run out, as if the server had been off for long.
    pub fn let_clocks_run_out(&self) -> Result<()> {
        let database = rusqlite::Connection::open(self.home().join("holdpoint.db"))?;
        let clocks = database.execute("UPDATE timers SET due = 0", [])?;
        ensure!(clocks > 0, "no clock is running");
        Ok(())
    }

    /// The data directory.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// The user's repository.
    #[must_use]
    pub fn repository(&self) -> PathBuf {
        self.folder.join("sample")
    }

    /// The folder around both, for canaries.
    #[must_use]
    pub fn outside(&self) -> &Path {
        &self.folder
    }

    /// The bare repository that [`World::add_remote`] makes.
    #[must_use]
    pub fn remote(&self) -> PathBuf {
        self.folder.join("remote.git")
    }

    /// Gives the user's repository an empty remote named `origin`.
    pub fn add_remote(&self) -> Result<()> {
        let remote = self.remote().display().to_string();
        git(&self.folder, &["init", "--quiet", "--bare", &remote])?;
        self.git(&["remote", "add", "origin", &remote])?;
        Ok(())
    }

    /// What git prints in the user's repository.
    pub fn git(&self, args: &[&str]) -> Result<String> {
        git(&self.repository(), args)
    }

    fn make_repository(&self) -> Result<()> {
        let root = self.repository();
        std::fs::create_dir_all(root.join("src"))?;
        std::fs::write(root.join("README.md"), "# Sample\n")?;
        std::fs::write(root.join("src/greet.sh"), "#!/bin/sh\necho hello\n")?;
        std::fs::write(root.join(".gitignore"), "build/\n")?;
        git(&root, &["init", "--quiet", "--initial-branch=main"])?;
        git(&root, &["add", "."])?;
        git(&root, &["commit", "--quiet", "--message", "Sample"])?;
        Ok(())
    }
}

/// Runs git as a person with no configuration would.
pub fn git(folder: &Path, args: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .args(["-c", "user.name=Sample", "-c", "user.email=sample@localhost", "-c", "commit.gpgsign=false"])
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .context("git could not be started")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git {args:?} in {}: {said}", folder.display());
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
