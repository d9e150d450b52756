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
    in_folder
        || is_test_name(name, path)
        || is_harness_name(name)
        || commands.iter().any(|command| runs_file(command, path))
}

/// Whether a path is a file that a test runner reads by itself before any test: one that is new can make every test pass.
#[must_use]
pub fn is_test_harness(path: &str) -> bool {
    let lower = path.to_lowercase();
    is_harness_name(lower.rsplit('/').next().unwrap_or(&lower))
}

fn is_harness_name(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "conftest.py",
        "sitecustomize.py",
        "usercustomize.py",
        "pytest.ini",
        ".pytest.ini",
        "pytest.toml",
        ".pytest.toml",
        "tox.ini",
        "noxfile.py",
        ".rspec",
        "spec_helper.rb",
        "rails_helper.rb",
        "phpunit.xml",
        "phpunit.xml.dist",
    ];
    const STEMS: &[&str] = &[
        "jest.config",
        "jest.setup",
        "jest-setup",
        "vitest.config",
        "vitest.setup",
        "vitest.workspace",
        "setuptests",
        "setup-tests",
        "karma.conf",
        ".mocharc",
        "playwright.config",
        "cypress.config",
        "ava.config",
    ];
    let begins = |stem: &&str| name.strip_prefix(*stem).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    NAMES.contains(&name) || STEMS.iter().any(begins)
}

/// Files by which a program decides what a check's command does.
const DEFINITIONS: &[(&[&str], &[&str])] = &[
    (&["make", "gmake"], &["makefile", "gnumakefile", "*.mk"]),
    (&["npm", "npx", "pnpm", "yarn", "bun", "node"], &["package.json"]),
    (&["just"], &["justfile", ".justfile"]),
    (&["task"], &["taskfile.yml", "taskfile.yaml"]),
    (&["cargo"], &["config.toml", "nextest.toml", "build.rs"]),
    (&["pytest", "python", "python3", "uv", "poetry", "hatch"], &["pyproject.toml", "setup.cfg"]),
    (&["rake", "bundle"], &["rakefile"]),
    (&["gradle", "gradlew"], &["build.gradle", "build.gradle.kts"]),
    (&["mvn", "mvnw"], &["pom.xml"]),
    (&["composer"], &["composer.json"]),
    (&["deno"], &["deno.json", "deno.jsonc"]),
    (&["bazel"], &["build", "build.bazel"]),
];

/// Whether a path is a file that decides what the command of a check does, and holds more than that: a script of
/// `package.json`, a target of a `Makefile`. It cannot be taken from an earlier commit alone.
#[must_use]
pub fn is_check_definition(path: &str, commands: &[&str]) -> bool {
    let lower = path.to_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let is = |pattern: &&str| pattern.strip_prefix('*').map_or(name == *pattern, |end| name.ends_with(end));
    let programs: Vec<String> = commands.iter().flat_map(|command| programs(command)).collect();
    DEFINITIONS
        .iter()
        .any(|(of, files)| files.iter().any(&is) && programs.iter().any(|program| of.contains(&program.as_str())))
}

/// The names of the programs that a shell text runs.
fn programs(command: &str) -> Vec<String> {
    let mut found = Vec::new();
    for words in simple_commands(command) {
        let mut words =
            words.iter().skip_while(|word| word.contains('=') || matches!(word.as_str(), "exec" | "env" | "time"));
        let Some(program) = words.next() else { continue };
        let name = program.rsplit('/').next().unwrap_or(program);
        // The text is shorter than the command, so this ends.
        if INTERPRETERS.contains(&name)
            && words.next().is_some_and(|option| option.starts_with('-') && option.ends_with('c'))
        {
            found.extend(words.next().map(|text| programs(text)).unwrap_or_default());
        }
        found.push(name.to_owned());
    }
    found
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
        || matches!(name, "tests.py" | "tests.rs" | "test.rs" | "test.py")
}

/// Programs whose first argument is a script.
const INTERPRETERS: &[&str] =
    &["sh", "bash", "dash", "zsh", "python", "python3", "node", "deno", "bun", "ruby", "perl", "php", "source", "."];

/// Whether a shell command runs this file: `./check`, `sh checks/run.sh`, `sh -c "ci/lint"`. A file that it only reads is
/// none.
fn runs_file(command: &str, path: &str) -> bool {
    simple_commands(command).iter().any(|words| {
        let mut words =
            words.iter().skip_while(|word| word.contains('=') || matches!(word.as_str(), "exec" | "env" | "time"));
        let Some(program) = words.next() else { return false };
        let name = program.rsplit('/').next().unwrap_or(program);
        if !INTERPRETERS.contains(&name) {
            return is_same(program, path);
        }
        let options: Vec<&String> = words.clone().take_while(|word| word.starts_with('-')).collect();
        let Some(script) = words.nth(options.len()) else { return false };
        let is_text = options.iter().any(|option| option.ends_with('c') && !option.starts_with("--"));
        // The text is shorter than the command, so this ends.
        if is_text { runs_file(script, path) } else { is_same(script, path) }
    })
}

fn is_same(word: &str, path: &str) -> bool {
    word.strip_prefix("./").unwrap_or(word) == path
}

/// The words of each command in a shell text, without their quotes.
fn simple_commands(text: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some('\''), _) => word.get_or_insert_default().push(letter),
            (_, '\\') => word.get_or_insert_default().extend(letters.next()),
            (Some(_), _) => word.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '\n' | ';' | '&' | '|' | '(' | ')' | '`') => {
                words.extend(word.take());
                commands.push(std::mem::take(&mut words));
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    commands.push(words);
    commands
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
            "jest.config.js",
            "web/vitest.setup.ts",
            "src/setupTests.js",
            ".mocharc.json",
            "pytest.ini",
            "sitecustomize.py",
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
    fn what_a_runner_reads_before_any_test_is_its_harness() {
        for path in ["conftest.py", "a/b/conftest.py", "jest.config.mjs", "web/.mocharc.yml", "playwright.config.ts"] {
            assert!(is_test_harness(path), "{path}");
        }
        for path in ["tests/login.rs", "src/config.js", "jest.configuration.md", "package.json"] {
            assert!(!is_test_harness(path), "{path}");
        }
    }

    #[test]
    fn files_that_decide_what_a_check_does_are_known_by_its_program() {
        for (path, command) in [
            ("package.json", "npm test"),
            ("web/package.json", "cd web && CI=1 npm run lint"),
            ("Makefile", "make check"),
            ("mk/rules.mk", "make"),
            ("pyproject.toml", "python3 -m pytest"),
            ("Makefile", "sh -c 'make all'"),
            ("gradle/app/build.gradle", "./gradlew test"),
        ] {
            assert!(is_check_definition(path, &[command]), "{path} {command}");
        }
        for (path, command) in [("package.json", "make"), ("Makefile", "npm test"), ("src/a.js", "npm test")] {
            assert!(!is_check_definition(path, &[command]), "{path} {command}");
        }
    }

    #[test]
    fn a_script_that_a_check_runs_is_a_test_file() {
        let commands = ["cargo build && ./checks/run.sh --all", "sh -c \"ci/lint\""];
        assert!(is_test_file("checks/run.sh", &commands));
        assert!(is_test_file("ci/lint", &commands));
        assert!(!is_test_file("run.sh", &commands));
        assert!(is_test_file("check.py", &["CI=1 python3 -u ./check.py --all"]));
        assert!(is_test_file("my check", &["env A=b './my check' now"]));
        assert!(is_test_file("ci/lint", &["bash -ec 'set -u; ci/lint \"$@\"'"]));
        for command in
            ["grep -q everybody README.md && test -f README.md", "grep -q 'for everybody' README.md", "sh", ""]
        {
            assert!(!is_test_file("README.md", &[command]), "{command}");
        }
    }
}
