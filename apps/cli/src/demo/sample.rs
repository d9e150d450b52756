//! The demo's folder: made fresh each time, and removed only if a demo made it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::stop;
use crate::{failure::Failure, home::Home};

/// Says that a demo made the folder around it.
const MARKER: &str = ".holdpoint-demo";
const SCRIPT: &str = include_str!("../../demo/script.toml");
/// The sample repository.
pub(super) const FILES: [(&str, &str); 7] = [
    ("package.json", include_str!("../../demo/repo/package.json")),
    ("README.md", include_str!("../../demo/repo/README.md")),
    (".gitignore", include_str!("../../demo/repo/.gitignore")),
    (".autonomous/config.json", include_str!("../../demo/repo/.autonomous/config.json")),
    ("src/app.js", include_str!("../../demo/repo/src/app.js")),
    ("src/server.js", include_str!("../../demo/repo/src/server.js")),
    ("test/app.test.js", include_str!("../../demo/repo/test/app.test.js")),
];

/// Removes an older demo, after stopping its server. Any other folder with something in it is refused.
pub(super) async fn clear(folder: &Path, home: &Home) -> Result<(), Failure> {
    let is_empty = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => return Err(Failure::file("read", folder, &error)),
    };
    if is_empty {
        return Ok(());
    }
    if !folder.join(MARKER).is_file() || folder.is_symlink() {
        return Err(Failure::usage(
            format!("`{}` is not empty and was not made by a demo", folder.display()),
            "choose another folder with --dir",
        ));
    }
    stop::server(home).await?;
    fs::remove_dir_all(folder).map_err(|error| Failure::file("replace the older demo", folder, &error))
}

/// Makes the folder, the repository with its first commit, and the model's script.
pub(super) fn create(folder: &Path, home: &Home) -> Result<PathBuf, Failure> {
    let repository = folder.join("pinboard");
    write(&folder.join(MARKER), "Made by `holdpoint demo`, which replaces this folder.\n")?;
    // Without this line a demo inside another repository would show up there.
    write(&folder.join(".gitignore"), "*\n")?;
    home.create()?;
    write(&home.path().join("scripts/demo.toml"), SCRIPT)?;
    for (path, content) in FILES {
        write(&repository.join(path), content)?;
    }
    git(&repository, &["init", "--quiet", "--initial-branch=main"])?;
    git(&repository, &["config", "user.name", "Ada"])?;
    git(&repository, &["config", "user.email", "ada@example.com"])?;
    git(&repository, &["config", "commit.gpgsign", "false"])?;
    git(&repository, &["add", "--all"])?;
    git(&repository, &["commit", "--quiet", "--no-verify", "--message=A tiny board of notes"])?;
    Ok(repository)
}

/// Runs git in the sample, apart from whatever repository is around it.
pub(super) fn git(repository: &Path, arguments: &[&str]) -> Result<String, Failure> {
    let failed = |why: String| {
        let message = format!("`git {}` failed in the sample: {why}", arguments.join(" "));
        Failure::unavailable("git", message, "check that git 2.38 or later is installed")
    };
    let output = Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(arguments)
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn write(path: &Path, content: &str) -> Result<(), Failure> {
    let parent = path.parent().expect("every file of the demo is in a folder");
    fs::create_dir_all(parent).map_err(|error| Failure::file("create", parent, &error))?;
    fs::write(path, content).map_err(|error| Failure::file("write", path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml::Value;

    fn make() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let repository = create(folder.path(), &Home::at(folder.path().join("home"))).unwrap();
        (folder, repository)
    }

    fn node_tests(repository: &Path) -> bool {
        Command::new("node").arg("--test").current_dir(repository).output().unwrap().status.success()
    }

    /// Does what the script's implementer does in one visit.
    fn play(repository: &Path, visit: Option<i64>) {
        let script: Value = toml::from_str(SCRIPT).unwrap();
        let conversations = script["conversation"].as_array().unwrap();
        let conversation = conversations
            .iter()
            .find(|c| c["role"].as_str() == Some("implementer") && c.get("visit").and_then(Value::as_integer) == visit);
        let turns = conversation.unwrap()["turn"].as_array().unwrap();
        for call in turns.iter().filter_map(|turn| turn.get("call")).flat_map(|calls| calls.as_array().unwrap()) {
            let text = |key: &str| call["input"][key].as_str().unwrap();
            match call["tool"].as_str().unwrap() {
                "write_file" => write(&repository.join(text("path")), text("content")).unwrap(),
                "edit_file" => {
                    let path = repository.join(text("path"));
                    let before = fs::read_to_string(&path).unwrap();
                    assert_eq!(before.matches(text("old_text")).count(), 1, "{}", text("old_text"));
                    fs::write(&path, before.replace(text("old_text"), text("new_text"))).unwrap();
                }
                _ => {}
            }
        }
    }

    #[test]
    fn the_first_version_fails_its_tests_and_the_fixed_one_passes() {
        let (_folder, repository) = make();
        assert!(node_tests(&repository), "the sample itself is green");
        play(&repository, Some(1));
        assert!(!node_tests(&repository), "the first version has a bug");
        play(&repository, None);
        assert!(node_tests(&repository), "the fix round repairs it");
    }

    #[test]
    fn every_conversation_of_the_script_ends_by_handing_in() {
        let script: Value = toml::from_str(SCRIPT).unwrap();
        for conversation in script["conversation"].as_array().unwrap() {
            let last = conversation["turn"].as_array().unwrap().last().unwrap();
            let call = &last["call"].as_array().unwrap()[0];
            let expected = match conversation["role"].as_str().unwrap() {
                "planner" => "submit_plan",
                "implementer" => "complete_pulse",
                _ => "complete_review",
            };
            assert_eq!(call["tool"].as_str(), Some(expected));
            if expected == "submit_plan" {
                assert!(call["input"]["body"].as_str().unwrap().contains("```mermaid\nflowchart TD\n"));
            }
        }
    }

    #[test]
    fn the_sample_is_committed_and_clean() {
        let (_folder, repository) = make();
        assert_eq!(git(&repository, &["status", "--porcelain"]).unwrap(), "");
        assert_eq!(git(&repository, &["log", "--format=%s", "main"]).unwrap(), "A tiny board of notes");
    }

    #[tokio::test]
    async fn a_folder_that_no_demo_made_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("thesis.txt"), "years of work").unwrap();
        let failure = clear(folder.path(), &Home::at(folder.path().join("home"))).await.unwrap_err();
        assert_eq!(failure.exit, wire::ExitCode::Usage);
        assert!(folder.path().join("thesis.txt").exists());
    }

    #[tokio::test]
    async fn an_older_demo_is_replaced() {
        let (folder, _repository) = make();
        let home = Home::at(folder.path().join("home"));
        clear(folder.path(), &home).await.unwrap();
        assert!(!folder.path().exists());
        create(folder.path(), &home).unwrap();
    }
}
