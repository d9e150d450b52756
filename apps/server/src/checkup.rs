//! What is there, what is missing, what to do about it. Looks at this machine only; changes nothing.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use runner::TokenPower;
use runner::sandbox::{Enforced, GroupLimits, Limits, Tier, group_limits};
use wire::{FindingState, FindingView};

use crate::Told;

/// What can be told without a server that runs. Blocks: it starts programs.
#[must_use]
pub fn findings(home: &Path, told: &Told) -> Vec<FindingView> {
    let mut findings = vec![
        good("version", env!("CARGO_PKG_VERSION")),
        data_directory(home),
        token(&home.join("token")),
        git(program_version("git")),
        bubblewrap(program_version("bwrap")),
        sandbox(),
        readable(&told.readable),
        limits(group_limits(&Limits::default())),
        keys(&told.keys),
    ];
    findings.extend(told.token_power.as_ref().map(token_power));
    findings
}

/// Scopes of the GitHub token that nothing here needs.
fn token_power(known: &TokenPower) -> FindingView {
    if known.excess.is_empty() {
        return good("github", format!("GITHUB_TOKEN has no more power at {} than pull requests need", known.host));
    }
    let (host, scopes) = (&known.host, known.excess.join(", "));
    let value = format!("GITHUB_TOKEN can do more at {host} than pull requests need: {scopes}");
    warning("github", value, TokenPower::hint())
}

/// Something that is as it should be.
#[must_use]
pub fn good(name: &str, value: impl Into<String>) -> FindingView {
    FindingView { name: name.to_owned(), state: FindingState::Good, value: value.into(), fix: None }
}

fn warning(name: &str, value: impl Into<String>, fix: impl Into<String>) -> FindingView {
    FindingView { state: FindingState::Warning, fix: Some(fix.into()), ..good(name, value) }
}

fn missing(name: &str, value: impl Into<String>, fix: impl Into<String>) -> FindingView {
    FindingView { state: FindingState::Missing, fix: Some(fix.into()), ..good(name, value) }
}

fn data_directory(home: &Path) -> FindingView {
    let value = home.display().to_string();
    let writable = home.ancestors().find(|path| path.exists()).is_some_and(|path| {
        rustix::fs::access(path, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_ok()
    });
    match writable {
        true => good("data", value),
        false => missing("data", format!("{value} is not writable"), "set HOLDPOINT_HOME to a folder you may write"),
    }
}

fn token(path: &Path) -> FindingView {
    match std::fs::metadata(path).map(|metadata| metadata.permissions().mode() & 0o777) {
        Ok(0o600) => good("token", format!("{} (0600)", path.display())),
        Ok(mode) => {
            let value = format!("{} has mode {mode:04o}", path.display());
            warning("token", value, format!("chmod 600 {}", path.display()))
        }
        Err(_) => good("token", "made by the first server"),
    }
}

fn git(version: Option<String>) -> FindingView {
    let numbers = version.as_deref().and_then(version_numbers);
    match (version, numbers) {
        (Some(version), Some(numbers)) if numbers >= (2, 38) => match clones_safely(&version) {
            true => good("git", version),
            false => warning(
                "git",
                version,
                "a clone can run planted code with it (CVE-2025-48384): install 2.50.1 or later, or your system's patched one",
            ),
        },
        (Some(version), _) => missing("git", format!("{version} is too old"), "install git 2.38 or later"),
        (None, _) => missing("git", "not found", "install git 2.38 or later"),
    }
}

/// The first release of each line that is patched against CVE-2025-48384.
fn clones_safely(version: &str) -> bool {
    const PATCHED: [(u32, u32); 8] = [(43, 7), (44, 4), (45, 4), (46, 4), (47, 3), (48, 2), (49, 1), (50, 1)];
    let numbers = version.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let mut parts = numbers.unwrap_or_default().split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let (major, minor, patch) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    let line = PATCHED.iter().find(|(line, _)| *line == minor);
    major > 2 || (major == 2 && (minor > 50 || line.is_some_and(|(_, first)| patch >= *first)))
}

fn bubblewrap(version: Option<String>) -> FindingView {
    const FIRST: (u32, u32) = (0, 8);
    match version {
        Some(version) if version_numbers(&version).is_some_and(|numbers| numbers < FIRST) => warning(
            "bwrap",
            format!("{version} is too old: it cannot forbid namespaces inside"),
            "install bubblewrap 0.8 or newer (Debian 12, Ubuntu 24.04, Fedora 38 have it)",
        ),
        Some(version) => good("bwrap", version),
        None => warning("bwrap", "not found: no agent is started without it", "install bubblewrap"),
    }
}

/// Which isolation agents get on this machine, and why not a better one.
fn sandbox() -> FindingView {
    let probe = runner::sandbox::probe();
    let state = format!("bubblewrap {}; Landlock {}; seccomp {}", probe.bubblewrap, probe.landlock, probe.seccomp);
    match probe.best() {
        Some(Tier::Sandboxed) => good("sandbox", format!("sandboxed ({state})")),
        Some(_) | None => {
            let fix = probe.fix().unwrap_or_else(|| "install bubblewrap 0.8 or newer".to_owned());
            warning("sandbox", format!("the full sandbox does not work, so no agent is started ({state})"), fix)
        }
    }
}

/// What sandboxes show besides the system's own programs, toolchains and the workspace.
fn readable(paths: &[PathBuf]) -> FindingView {
    let text = |paths: &mut dyn Iterator<Item = &PathBuf>| {
        paths.map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    };
    let gone = text(&mut paths.iter().filter(|path| !path.exists()));
    match (paths.is_empty(), gone.is_empty()) {
        (true, _) => good("readable", "the system's programs, toolchains and the workspace; nothing else"),
        (false, true) => good("readable", format!("besides the system's programs: {}", text(&mut paths.iter()))),
        (false, false) => warning(
            "readable",
            format!("{gone} is not there, so no agent sees it"),
            "correct `readable_paths` in config.toml",
        ),
    }
}

/// Which limits of all processes of an attempt together hold on this machine.
fn limits(found: GroupLimits) -> FindingView {
    let word = |enforced| match enforced {
        Enforced::Enforced => "enforced",
        Enforced::Unavailable => "unavailable",
    };
    let value = format!("memory {}; processes {}; disk enforced", word(found.memory), word(found.processes));
    match (found.memory, found.processes) {
        (Enforced::Enforced, Enforced::Enforced) => good("limits", value),
        (_, _) => warning(
            "limits",
            value,
            "let the server make control groups: run it in a systemd user session (`systemd-run --user --scope -p \
             Delegate=yes holdpoint serve`), or delegate memory and pids to its container",
        ),
    }
}

fn keys(found: &[String]) -> FindingView {
    if found.iter().any(|key| key != "GITHUB_TOKEN") {
        return good("keys", found.join(", "));
    }
    let fix = "export ANTHROPIC_API_KEY or another provider's key before the server starts, or set `key_command` of a provider \
         in config.toml; `holdpoint demo` needs none";
    warning("keys", "no model provider", fix)
}

/// The first line a program says about itself.
fn program_version(program: &str) -> Option<String> {
    // A program that cannot be started is as good as none.
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line: String = text.lines().next()?.chars().filter(|c| !c.is_control()).take(200).collect();
    output.status.success().then_some(line)
}

fn version_numbers(text: &str) -> Option<(u32, u32)> {
    let numbers = text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut parts = numbers.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_git_is_refused_and_a_fix_is_named() {
        assert_eq!(git(Some("git version 2.47.3".to_owned())).state, FindingState::Good);
        assert_eq!(git(Some("git version 2.30.0".to_owned())).state, FindingState::Missing);
        assert_eq!(git(None).fix.as_deref(), Some("install git 2.38 or later"));
        for unpatched in ["2.39.5", "2.47.2", "2.50.0"] {
            assert_eq!(git(Some(format!("git version {unpatched}"))).state, FindingState::Warning, "{unpatched}");
        }
        for patched in ["2.43.7", "2.50.1", "2.51.0", "3.0.0"] {
            assert_eq!(git(Some(format!("git version {patched}"))).state, FindingState::Good, "{patched}");
        }
    }

    #[test]
    fn an_old_bubblewrap_and_a_readable_path_that_is_gone_are_warned_of() {
        assert_eq!(bubblewrap(Some("bubblewrap 0.8.0".to_owned())).state, FindingState::Good);
        let old = bubblewrap(Some("bubblewrap 0.4.1".to_owned()));
        assert!(old.state == FindingState::Warning && old.fix.unwrap().contains("0.8"));
        assert_eq!(readable(&[]).state, FindingState::Good);
        assert_eq!(readable(&[PathBuf::from("/usr")]).state, FindingState::Good);
        let gone = readable(&[PathBuf::from("/usr"), PathBuf::from("/no/such")]);
        assert!(gone.state == FindingState::Warning && gone.value.starts_with("/no/such"), "{}", gone.value);
    }

    #[test]
    fn a_key_for_a_forge_is_no_key_for_a_model() {
        assert_eq!(keys(&["OPENAI_API_KEY".to_owned()]).value, "OPENAI_API_KEY");
        assert_eq!(keys(&["GITHUB_TOKEN".to_owned()]).state, FindingState::Warning);
    }
}
