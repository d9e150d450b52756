//! Test files, told by their path: files whose change can make a check pass without a change of the code under test.

/// Folders that hold tests, in lower case.
const FOLDERS: &[&str] =
    &["test", "tests", "__tests__", "spec", "specs", "e2e", "cypress", "testdata", "fixtures", "__snapshots__"];

/// Whether a path is a test file of a common language, or is a script that a check's command runs.
#[must_use]
pub fn is_test_file(path: &str, commands: &[&str]) -> bool {
    if path.starts_with(".autonomous/") {
        return false;
    }
    let lower = path.to_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", lower.as_str()));
    let in_folder = folders.split('/').any(|folder| FOLDERS.contains(&folder));
    in_folder || is_test_name(name, path) || commands.iter().any(|command| runs_file(command, path))
}

fn is_test_name(name: &str, path: &str) -> bool {
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let marked = [".test.", ".spec.", ".snap"].iter().any(|mark| name.contains(mark));
    let ends = ["_test", "_tests", "_spec", "-test", "-spec"].iter().any(|end| stem.ends_with(end));
    // `LoginTest.java`, `LoginTests.cs`, `LoginIT.java`: by the capital letter, or `latest.java` would be one.
    let original = path.rsplit('/').next().unwrap_or(path);
    let class = original.split_once('.').is_some_and(|(stem, _)| {
        ["Test", "Tests", "TestCase", "IT", "Spec"].iter().any(|end| stem.len() > end.len() && stem.ends_with(end))
    });
    marked
        || ends
        || class
        || stem.starts_with("test_")
        || matches!(name, "conftest.py" | "tests.py" | "tests.rs" | "test.rs" | "test.py")
}

/// Programs whose first argument is a script.
const INTERPRETERS: &[&str] =
    &["sh", "bash", "dash", "zsh", "python", "python3", "node", "deno", "bun", "ruby", "perl", "php", "source", "."];

/// Whether a shell command runs this file: `./check`, `sh checks/run.sh`. A file that it only reads is none.
fn runs_file(command: &str, path: &str) -> bool {
    let parts = command.split(['\n', ';', '&', '|', '(', ')', '"', '\'', '`']);
    parts.filter_map(script).any(|script| script.strip_prefix("./").unwrap_or(script) == path)
}

/// The file that one simple command runs.
fn script(command: &str) -> Option<&str> {
    let mut words =
        command.split_whitespace().skip_while(|word| word.contains('=') || matches!(*word, "exec" | "env" | "time"));
    let program = words.next()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    if INTERPRETERS.contains(&name) { words.find(|word| !word.starts_with('-')) } else { Some(program) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_hold_tests_are_known_by_their_path() {
        for path in [
            "tests/login.rs",
            "crates/a/tests/it/main.rs",
            "src/login_test.go",
            "src/Login.test.tsx",
            "src/login.spec.ts",
            "test_login.py",
            "pkg/conftest.py",
            "src/test/java/a/LoginTest.java",
            "a/LoginTests.cs",
            "spec/login_spec.rb",
            "src/__tests__/a.js",
            "Tests/A.swift",
            "src/__snapshots__/a.snap",
        ] {
            assert!(is_test_file(path, &[]), "{path}");
        }
        for path in [
            "src/login.rs",
            "src/latest.java",
            "contest.py",
            "src/testing_tools_not.rs",
            "attest/a.rs",
            ".autonomous/tests/a",
        ] {
            assert!(!is_test_file(path, &[]), "{path}");
        }
    }

    #[test]
    fn a_script_that_a_check_runs_is_a_test_file() {
        let commands = ["cargo build && ./checks/run.sh --all", "sh -c \"ci/lint\""];
        assert!(is_test_file("checks/run.sh", &commands));
        assert!(is_test_file("ci/lint", &commands));
        assert!(!is_test_file("run.sh", &commands));
        assert!(is_test_file("check.py", &["CI=1 python3 -u ./check.py --all"]));
        assert!(!is_test_file("README.md", &["grep -q everybody README.md && test -f README.md"]));
    }
}
