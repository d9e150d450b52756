//! What in a finished change deserves a person's eyes, judged from the diff and not from what an agent says of it.
//! It only ever finds reasons to hold: nothing here can open a gate, and no pattern can take a path out.
//!
//! | Kind | What raises it |
//! |---|---|
//! | `protected_path` | a path of the policy's `protected`; owners' files; secrets and keys; what steers Holdpoint (`.autonomous/` except its own record) |
//! | `size` | more files than `maxFiles`, or more lines added and removed than `maxLines` |
//! | `deletions` | more deleted files than `maxDeletions` |
//! | `migration` | `migrations/`, `migrate/`, `alembic/versions/`, `db/changelog/`, SQL under `db/`, schema files |
//! | `dependencies` | package manifests, lock files, and settings of where packages come from |
//! | `ci` | workflows, pipelines and actions |
//! | `agent_instructions` | what agents and editors' assistants read as orders: `AGENTS.md`, `CLAUDE.md`, `.cursor/`, `.mcp.json` … |
//! | `binary` | a file that git does not show as text is new or changed: a NUL byte hides a whole script from a diff |
//! | `hooks` | what runs or changes meaning by being checked out or opened: git hooks, `.gitattributes`, `.gitmodules`, `.vscode/`, `.envrc` … |
//!
//! Built-in patterns count at any depth, and every comparison ignores case and what some file systems ignore
//! (invisible characters, dots and spaces at the end of a name). A rename counts at both ends. What Holdpoint itself
//! writes, `.autonomous/specs/`, `.autonomous/runs/` and `.autonomous/memory.md`, is not judged.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::plan::pattern::Pattern;

/// One changed file, as git tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// Where it is now, or was if it is deleted; as git stores it, not as git quotes it.
    pub path: String,
    /// Lines added; 0 for a binary file.
    pub added: u64,
    /// Lines removed; 0 for a binary file.
    pub removed: u64,
    /// What happened to it.
    pub kind: ChangeKind,
    /// Whether its lines cannot be counted.
    #[serde(default)]
    pub binary: bool,
}

/// What happened to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// Its content, mode or type is another.
    Modified,
    /// It is gone.
    Deleted,
    /// It stands elsewhere.
    Renamed {
        /// Where it stood.
        from: String,
    },
}

/// From when on a change is held. Several policies add up, see [`RiskPolicy::tighten`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RiskPolicy {
    /// Files a change may touch.
    pub max_files: u32,
    /// Lines a change may add and remove, together.
    pub max_lines: u64,
    /// Files a change may delete.
    pub max_deletions: u32,
    /// Further protected paths, folders and globs; one without a `/` inside counts at any depth.
    pub protected: Vec<String>,
}

impl Default for RiskPolicy {
    fn default() -> Self {
        Self { max_files: 60, max_lines: 2000, max_deletions: 10, protected: Vec::new() }
    }
}

impl RiskPolicy {
    /// Takes on what is stricter in another policy.
    pub fn tighten(&mut self, other: &Self) {
        self.max_files = self.max_files.min(other.max_files);
        self.max_lines = self.max_lines.min(other.max_lines);
        self.max_deletions = self.max_deletions.min(other.max_deletions);
        for pattern in &other.protected {
            if !self.protected.contains(pattern) {
                self.protected.push(pattern.clone());
            }
        }
    }
}

/// One reason to hold a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Risk {
    /// What sort of reason.
    pub kind: RiskKind,
    /// One line for people, with the full count.
    pub summary: String,
    /// The paths, at most [`Risk::MAX_PATHS`]: sorted, or for [`RiskKind::Size`] the largest changes first.
    pub paths: Vec<String>,
}

impl Risk {
    /// Paths written out with one risk.
    pub const MAX_PATHS: usize = 20;
}

/// Sorts of reasons, in the order they are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RiskKind {
    /// A path somebody said must not change unseen.
    ProtectedPath,
    /// Too much to be read in passing.
    Size,
    /// Many files gone.
    Deletions,
    /// Data may change its form.
    Migration,
    /// Other people's code may come in.
    Dependencies,
    /// What runs with the project's secrets.
    Ci,
    /// What agents take as orders.
    AgentInstructions,
    /// What runs on the machine of whoever checks it out.
    Hooks,
    /// What a diff does not show.
    Binary,
}

impl RiskKind {
    /// The word used in events and views.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::ProtectedPath => "protected_path",
            Self::Size => "size",
            Self::Deletions => "deletions",
            Self::Migration => "migration",
            Self::Dependencies => "dependencies",
            Self::Ci => "ci",
            Self::AgentInstructions => "agent_instructions",
            Self::Hooks => "hooks",
            Self::Binary => "binary",
        }
    }
}

/// Every reason to hold this change, at most one per kind, in the order of [`RiskKind`]. The order of `changes` does
/// not matter.
#[must_use]
pub fn assess(changes: &[FileChange], policy: &RiskPolicy) -> Vec<Risk> {
    let changes: Vec<&FileChange> = changes.iter().filter(|change| !change.ends().all(is_own_record)).collect();
    let ends: BTreeSet<&str> =
        changes.iter().flat_map(|change| change.ends()).filter(|end| !is_own_record(end)).collect();
    let folded: Vec<(&str, String)> = ends.into_iter().map(|path| (path, fold(path))).collect();
    let touched = |kind: RiskKind, what: &str, built_in: &[Pattern], extra: &[Pattern]| {
        let hit = |path: &str| built_in.iter().chain(extra).any(|pattern| pattern.matches(path));
        let paths: Vec<&str> = folded.iter().filter(|(_, path)| hit(path)).map(|(path, _)| *path).collect();
        (!paths.is_empty()).then(|| Risk::new(kind, format!("touches {what} ({})", files(paths.len())), paths))
    };
    let extra: Vec<Pattern> = policy.protected.iter().filter_map(|entry| protected_pattern(entry)).collect();
    let mut risks: Vec<Risk> = BUILT_IN
        .iter()
        .filter_map(|(kind, what, patterns)| {
            let extra = if *kind == RiskKind::ProtectedPath { extra.as_slice() } else { &[] };
            touched(*kind, what, patterns, extra)
        })
        .chain(size(&changes, policy))
        .chain(deletions(&changes, policy))
        .chain(binary(&changes))
        .collect();
    risks.sort_by_key(|risk| risk.kind);
    risks
}

impl Risk {
    fn new(kind: RiskKind, summary: String, paths: Vec<&str>) -> Self {
        Self { kind, summary, paths: paths.into_iter().take(Self::MAX_PATHS).map(str::to_owned).collect() }
    }
}

impl FileChange {
    /// Its path and, of a rename, where it came from.
    fn ends(&self) -> impl Iterator<Item = &str> {
        let from = match &self.kind {
            ChangeKind::Renamed { from } => Some(from.as_str()),
            ChangeKind::Added | ChangeKind::Modified | ChangeKind::Deleted => None,
        };
        std::iter::once(self.path.as_str()).chain(from)
    }
}

fn size(changes: &[&FileChange], policy: &RiskPolicy) -> Option<Risk> {
    let lines = |change: &FileChange| change.added.saturating_add(change.removed);
    let total = changes.iter().fold(0_u64, |sum, change| sum.saturating_add(lines(change)));
    if changes.len() as u64 <= u64::from(policy.max_files) && total <= policy.max_lines {
        return None;
    }
    let binaries = changes.iter().filter(|change| change.binary).count();
    let uncounted = if binaries == 0 { String::new() } else { format!(", {binaries} of them binary") };
    let summary = format!(
        "changes {}{uncounted} and {total} lines; {} and {} lines are allowed without a look",
        files(changes.len()),
        policy.max_files,
        policy.max_lines
    );
    // The largest first: that is where a reader begins.
    let mut largest = changes.to_vec();
    largest.sort_by(|a, b| lines(b).cmp(&lines(a)).then_with(|| a.path.cmp(&b.path)));
    Some(Risk::new(RiskKind::Size, summary, largest.iter().map(|change| change.path.as_str()).collect()))
}

fn deletions(changes: &[&FileChange], policy: &RiskPolicy) -> Option<Risk> {
    let gone: BTreeSet<&str> =
        changes.iter().filter(|change| change.kind == ChangeKind::Deleted).map(|change| change.path.as_str()).collect();
    if gone.len() as u64 <= u64::from(policy.max_deletions) {
        return None;
    }
    let summary = format!("deletes {}; {} are allowed without a look", files(gone.len()), policy.max_deletions);
    Some(Risk::new(RiskKind::Deletions, summary, gone.into_iter().collect()))
}

fn binary(changes: &[&FileChange]) -> Option<Risk> {
    let hidden = changes.iter().filter(|change| change.binary && change.kind != ChangeKind::Deleted);
    let paths: BTreeSet<&str> = hidden.map(|change| change.path.as_str()).collect();
    let summary = format!("has content that a diff does not show ({} binary or with NUL bytes)", files(paths.len()));
    (!paths.is_empty()).then(|| Risk::new(RiskKind::Binary, summary, paths.into_iter().collect()))
}

fn files(count: usize) -> String {
    format!("{count} {}", if count == 1 { "file" } else { "files" })
}

/// What Holdpoint writes beside the code. Compared exactly: a spelling that only resembles it is somebody else's.
fn is_own_record(path: &str) -> bool {
    let inside = path.starts_with(".autonomous/specs/") || path.starts_with(".autonomous/runs/");
    path == ".autonomous/memory.md" || (inside && path.split('/').all(|segment| segment != ".."))
}

fn protected_pattern(entry: &str) -> Option<Pattern> {
    let entry = entry.trim();
    let folded = fold(entry);
    let anchored = entry.trim_end_matches('/').contains('/');
    (!entry.is_empty()).then(|| if anchored { Pattern::new(&folded) } else { Pattern::at_any_depth(&folded) })
}

/// One spelling for all that some file system or tool takes for the same path.
fn fold(path: &str) -> String {
    let lower: String = path
        .chars()
        .filter(|&c| !invisible(c))
        .flat_map(char::to_lowercase)
        .map(|c| match c {
            '\\' => '/',
            'ſ' => 's',
            other => other,
        })
        .collect();
    lower.split('/').map(folded_name).collect::<Vec<_>>().join("/")
}

fn invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn folded_name(name: &str) -> &str {
    let kept = name.trim_end_matches(['.', ' ']);
    if kept.is_empty() { name } else { kept }
}

/// The built-in patterns with what they stand for, each at any depth of the repository.
static BUILT_IN: LazyLock<Vec<(RiskKind, &str, Vec<Pattern>)>> = LazyLock::new(|| {
    let table = |kind, what, entries: &str| {
        (kind, what, entries.split_whitespace().map(Pattern::at_any_depth).collect::<Vec<Pattern>>())
    };
    vec![
        table(RiskKind::ProtectedPath, "protected paths", PROTECTED),
        table(RiskKind::Migration, "migrations or database schemas", MIGRATION),
        table(RiskKind::Dependencies, "dependencies", DEPENDENCIES),
        table(RiskKind::Ci, "what continuous integration runs", CI),
        table(RiskKind::AgentInstructions, "instructions that agents follow", AGENT_INSTRUCTIONS),
        table(RiskKind::Hooks, "what runs on checkout or on opening the folder", HOOKS),
    ]
});

// In lower case, as `fold` leaves the paths they are compared with.

const PROTECTED: &str = "
    .autonomous/ codeowners
    .env .env.local .env.production .env.staging .env.development .env.test .netrc .git-credentials
    *.pem *.key *.p12 *.pfx *.jks *.keystore id_rsa id_ecdsa id_ed25519";

const MIGRATION: &str = "
    migrations/** migrate/** alembic/versions/** db/changelog/** db/**/*.sql
    schema.prisma schema.sql structure.sql db/schema.rb";

const DEPENDENCIES: &str = "
    cargo.toml cargo.lock .cargo/config .cargo/config.toml rust-toolchain rust-toolchain.toml
    package.json package-lock.json npm-shrinkwrap.json pnpm-lock.yaml pnpm-workspace.yaml .pnpmfile.cjs
    yarn.lock .yarnrc .yarnrc.yml .yarn/** .npmrc bun.lock bun.lockb deno.json deno.jsonc deno.lock
    pyproject.toml poetry.lock uv.lock pdm.lock pylock*.toml pipfile pipfile.lock pip.conf setup.py setup.cfg
    requirements*.txt requirements*.in requirements/*.txt requirements/*.in constraints*.txt
    environment.yml environment.yaml pixi.toml pixi.lock
    go.mod go.sum go.work go.work.sum
    gemfile gemfile.lock gems.rb gems.locked *.gemspec composer.json composer.lock mix.exs mix.lock
    pom.xml .mvn/** build.gradle* settings.gradle* gradle.lockfile gradle.properties libs.versions.toml
    gradle/wrapper/** build.sbt
    *.csproj *.fsproj *.vbproj directory.packages.props directory.build.* packages.config packages.lock.json
    nuget.config
    package.swift package.resolved podfile podfile.lock pubspec.yaml pubspec.lock conanfile.* vcpkg.json
    flake.nix flake.lock";

const CI: &str = "
    .github/workflows/** .github/actions/** action.yml action.yaml .forgejo/workflows/** .gitea/workflows/**
    .gitlab-ci.yml *.gitlab-ci.yml .gitlab/ci/** .circleci/** jenkinsfile jenkinsfile.* *.jenkinsfile
    azure-pipelines*.yml azure-pipelines*.yaml .azure-pipelines/** .buildkite/** .drone.yml .drone.yaml
    bitbucket-pipelines.yml .travis.yml appveyor.yml .appveyor.yml .cirrus.yml .woodpecker.yml .woodpecker.yaml
    .woodpecker/** .teamcity/** .semaphore/** cloudbuild.yaml cloudbuild.yml buildspec.yml buildspec.yaml";

const AGENT_INSTRUCTIONS: &str = "
    agents.md agents.override.md agent.md .agents/** claude.md claude.local.md .claude/** gemini.md .gemini/**
    .codex/** .cursorrules .cursor/** .mcp.json mcp.json skill.md
    .github/copilot-instructions.md .github/instructions/** .github/prompts/** .github/agents/** .github/chatmodes/**
    .windsurfrules .windsurf/** .clinerules .roo/** .roorules* .kiro/** .goosehints .goose/** .aider* .aider*/**
    .opencode/** opencode.json opencode.jsonc .continue/** .junie/** .amazonq/**";

const HOOKS: &str = "
    .husky/** .githooks/** .hooks/** .pre-commit-config.yaml .pre-commit-config.yml .overcommit.yml
    lefthook.yml lefthook.yaml .lefthook.yml .lefthook.yaml lefthook-local.yml .lefthook/**
    .gitattributes .gitmodules .gitconfig .vscode/** .devcontainer/** .devcontainer.json .envrc mise.toml .mise.toml";

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, kind: ChangeKind) -> FileChange {
        FileChange { path: path.to_owned(), added: 1, removed: 0, kind, binary: false }
    }

    fn modified(path: &str) -> FileChange {
        change(path, ChangeKind::Modified)
    }

    fn kinds(changes: &[FileChange], policy: &RiskPolicy) -> Vec<RiskKind> {
        assess(changes, policy).into_iter().map(|risk| risk.kind).collect()
    }

    #[track_caller]
    fn raises(expected: &[RiskKind], paths: &str) {
        for path in paths.split_whitespace() {
            assert_eq!(kinds(&[modified(path)], &RiskPolicy::default()), expected, "{path}");
        }
    }

    #[test]
    fn ordinary_work_raises_nothing() {
        raises(
            &[],
            "src/main.rs README.md docs/agents.md.txt src/package.rs tests/migration_test.py \
             github/workflows/x.yml src/ci.rs sql/report.sql db/seed.rb requirements.md env.ts",
        );
        assert_eq!(assess(&[], &RiskPolicy::default()), []);
    }

    #[test]
    fn manifests_and_lock_files_are_dependencies_at_any_depth() {
        raises(
            &[RiskKind::Dependencies],
            "Cargo.toml crates/a/Cargo.toml Cargo.lock package.json web/package-lock.json pnpm-lock.yaml \
             yarn.lock poetry.lock uv.lock go.sum go.mod Gemfile Gemfile.lock composer.lock pyproject.toml \
             requirements.txt requirements-dev.txt requirements/base.txt pom.xml app/build.gradle.kts \
             src/App/App.csproj .npmrc .cargo/config.toml",
        );
    }

    #[test]
    fn pipelines_and_workflows_are_ci() {
        raises(
            &[RiskKind::Ci],
            ".github/workflows/test.yml .github/actions/build/index.js .gitlab-ci.yml .circleci/config.yml \
             Jenkinsfile deploy/Jenkinsfile azure-pipelines.yml .buildkite/pipeline.yml .drone.yml \
             bitbucket-pipelines.yml tools/lint/action.yml",
        );
    }

    #[test]
    fn what_agents_read_as_orders_is_found_in_any_folder() {
        raises(
            &[RiskKind::AgentInstructions],
            "AGENTS.md crates/x/AGENTS.md CLAUDE.md docs/Claude.md GEMINI.md .cursorrules .cursor/rules/a.mdc \
             .claude/settings.json web/.claude/commands/x.md .codex/config.toml .gemini/settings.json \
             .github/copilot-instructions.md .mcp.json .windsurfrules .aider.conf.yml .aider/x",
        );
    }

    #[test]
    fn what_runs_on_checkout_is_a_hook() {
        raises(
            &[RiskKind::Hooks],
            ".husky/pre-commit .githooks/post-checkout .pre-commit-config.yaml lefthook.yml .gitattributes \
             sub/.gitattributes .gitmodules .vscode/tasks.json .envrc",
        );
    }

    #[test]
    fn migrations_and_schemas_are_found() {
        raises(
            &[RiskKind::Migration],
            "migrations/0001.py app/migrations/0001_initial.py cmd/migrate/main.go db/init.sql \
             services/a/db/x/y.sql prisma/schema.prisma db/schema.rb",
        );
    }

    #[test]
    fn other_spellings_of_a_path_are_the_same_path() {
        raises(
            &[RiskKind::Ci],
            ".GitHub/Workflows/x.yml .github/workflows./x.yml .git\u{200b}hub/workflows/x.yml \
             .github\\workflows\\x.yml JENKINSFILE jenKinsfile jen\u{212a}insfile ./.github//workflows/x.yml",
        );
        raises(&[RiskKind::AgentInstructions], "agents.MD AGENTſ.md .CLAUDE/x");
    }

    #[test]
    fn a_path_can_be_of_several_kinds() {
        raises(&[RiskKind::Dependencies, RiskKind::Ci], ".github/actions/build/package.json");
    }

    #[test]
    fn a_rename_counts_at_both_ends() {
        let away = change("old.yml", ChangeKind::Renamed { from: ".github/workflows/x.yml".to_owned() });
        let into = change(".github/workflows/x.yml", ChangeKind::Renamed { from: "old.yml".to_owned() });
        for moved in [away, into] {
            let risks = assess(&[moved], &RiskPolicy::default());
            assert_eq!(risks.len(), 1);
            assert_eq!(
                (risks[0].kind, risks[0].paths.as_slice()),
                (RiskKind::Ci, &[".github/workflows/x.yml".to_owned()][..])
            );
            assert_eq!(risks[0].summary, "touches what continuous integration runs (1 file)");
        }
    }

    #[test]
    fn what_holdpoint_writes_itself_is_not_judged_but_what_steers_it_is() {
        raises(&[], ".autonomous/specs/001-x.md .autonomous/runs/1/package.json .autonomous/memory.md");
        raises(
            &[RiskKind::ProtectedPath],
            ".autonomous/config.json .autonomous/playbooks/team.toml .Autonomous/runs/x \
             .autonomous/specs/../config.json",
        );
        let none = RiskPolicy { max_files: 0, max_lines: 0, max_deletions: 0, ..RiskPolicy::default() };
        assert_eq!(kinds(&[change(".autonomous/runs/1/x", ChangeKind::Deleted)], &none), []);
        let out = change("x.md", ChangeKind::Renamed { from: ".autonomous/runs/1/x.md".to_owned() });
        assert_eq!(kinds(&[out], &none), [RiskKind::Size]);
    }

    #[test]
    fn content_that_a_diff_does_not_show_is_held_unless_it_is_gone() {
        let script = FileChange { added: 0, binary: true, ..modified("deploy.sh") };
        let risks = assess(std::slice::from_ref(&script), &RiskPolicy::default());
        assert_eq!((risks[0].kind, risks[0].paths.as_slice()), (RiskKind::Binary, &["deploy.sh".to_owned()][..]));
        assert_eq!(kinds(&[FileChange { kind: ChangeKind::Deleted, ..script }], &RiskPolicy::default()), []);
    }

    #[test]
    fn size_and_deletions_are_held_above_their_limits_and_not_at_them() {
        let policy = RiskPolicy { max_files: 2, max_lines: 10, max_deletions: 1, ..RiskPolicy::default() };
        let lines = |path: &str, added, removed| FileChange { added, removed, ..modified(path) };
        assert_eq!(assess(&[lines("a", 5, 4), lines("b", 1, 0)], &policy), []);
        let risks = assess(&[lines("a", 1, 0), lines("b", 5, 5)], &policy);
        assert_eq!(risks[0].summary, "changes 2 files and 11 lines; 2 and 10 lines are allowed without a look");
        assert_eq!(risks[0].paths, ["b", "a"]);
        let binary = FileChange { added: 0, binary: true, ..modified("c.png") };
        let risks = assess(&[lines("a", 0, 0), lines("b", 0, 0), binary], &policy);
        assert!(risks[0].summary.starts_with("changes 3 files, 1 of them binary and 0 lines"), "{}", risks[0].summary);
        let gone = |path: &str| FileChange { added: 0, ..change(path, ChangeKind::Deleted) };
        assert_eq!(kinds(&[gone("a")], &policy), []);
        let risks = assess(&[gone("b"), gone("a")], &policy);
        assert_eq!(risks.len(), 1);
        assert_eq!((risks[0].kind, risks[0].paths.join(" ").as_str()), (RiskKind::Deletions, "a b"));
        assert_eq!(kinds(&[lines("a", u64::MAX, u64::MAX), lines("b", 1, 1)], &policy), [RiskKind::Size]);
    }

    #[test]
    fn protected_patterns_of_the_policy_add_to_the_built_in_ones() {
        let policy = |entry: &str| RiskPolicy { protected: vec![entry.to_owned()], ..RiskPolicy::default() };
        for (entry, path, expected) in [
            ("billing/", "src/Billing/x.rs", true),
            ("src/billing", "src/billing/x.rs", true),
            ("src/billing", "lib/src/billing/x.rs", false),
            ("/LICENSE", "license", true),
            ("/LICENSE", "vendor/LICENSE", false),
            ("*.tf", "infra/prod/main.tf", true),
            ("infra/**/*.tf", "infra/main.tf", true),
            ("", "src/a.rs", false),
            ("!src/a.rs", "src/a.rs", false),
        ] {
            let found = kinds(&[modified(path)], &policy(entry)) == [RiskKind::ProtectedPath];
            assert_eq!(found, expected, "`{entry}` and `{path}`");
        }
        for attempt in ["!.github/workflows/**", "!**", "!CLAUDE.md"] {
            assert_eq!(kinds(&[modified("CLAUDE.md")], &policy(attempt)), [RiskKind::AgentInstructions]);
        }
    }

    #[test]
    fn more_changes_and_stricter_policies_never_take_a_risk_away() {
        let paths = [
            "src/a.rs",
            "Cargo.lock",
            ".github/workflows/x.yml",
            "db/x.sql",
            ".env",
            ".autonomous/runs/x",
            "AGENTS.md",
        ];
        let all: Vec<FileChange> = paths.iter().map(|path| change(path, ChangeKind::Deleted)).collect();
        let loose = RiskPolicy { max_deletions: 3, max_files: 4, ..RiskPolicy::default() };
        let mut strict = loose.clone();
        strict.tighten(&RiskPolicy {
            max_deletions: 900,
            max_files: 1,
            protected: vec!["src/".to_owned()],
            ..loose.clone()
        });
        assert_eq!((strict.max_deletions, strict.max_files, strict.protected.len()), (3, 1, 1));
        for subset in 0..1_usize << all.len() {
            let chosen: Vec<FileChange> = all
                .iter()
                .enumerate()
                .filter(|(bit, _)| subset & (1 << bit) != 0)
                .map(|(_, change)| change.clone())
                .collect();
            let before = kinds(&chosen, &loose);
            for kind in &before {
                assert!(kinds(&chosen, &strict).contains(kind));
            }
            for more in &all {
                let mut larger = chosen.clone();
                larger.insert(0, more.clone());
                let after = kinds(&larger, &loose);
                assert!(before.iter().all(|kind| after.contains(kind)), "{chosen:?} and {}", more.path);
            }
        }
    }

    #[test]
    fn the_order_of_the_changes_does_not_matter_and_long_lists_are_cut() {
        let mut changes: Vec<FileChange> = (0..50).map(|number| modified(&format!("{number:02}/Cargo.toml"))).collect();
        let risks = assess(&changes, &RiskPolicy::default());
        assert_eq!((risks[0].paths.len(), risks[0].paths[0].as_str()), (Risk::MAX_PATHS, "00/Cargo.toml"));
        assert_eq!(risks[0].summary, "touches dependencies (50 files)");
        changes.reverse();
        assert_eq!(assess(&changes, &RiskPolicy::default()), risks);
    }

    #[test]
    fn a_kind_is_stored_under_its_word() {
        for kind in [
            RiskKind::ProtectedPath,
            RiskKind::Size,
            RiskKind::Deletions,
            RiskKind::Migration,
            RiskKind::Dependencies,
            RiskKind::Ci,
            RiskKind::AgentInstructions,
            RiskKind::Hooks,
            RiskKind::Binary,
        ] {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.word());
        }
        let policy: RiskPolicy = serde_json::from_str(r#"{"maxFiles": 5}"#).unwrap();
        assert_eq!(policy, RiskPolicy { max_files: 5, ..RiskPolicy::default() });
    }
}
