//! The identity of an agent program that is not ours: its file, version and SHA-256 when an attempt began, and what they
//! were when it last ran here. Programs update themselves; a person can see which one did a run's work, and that it
//! changed. The program is read, never run.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use domain::{AgentProgram, ProgramIdentity};
use sha2::{Digest as _, Sha256};

use crate::dir_fd::{Dir, FileError, read_trusted};
use crate::durable;
use crate::paths::Paths;

/// In an attempt's spool.
const FILE: &str = "program.json";
/// In the data directory: the programs that ran here, by their files.
const KNOWN: &str = "programs.json";
/// Bytes of a program; larger ones are told by their version alone.
const MAX_PROGRAM: u64 = 1 << 30;
const MAX_JSON: u64 = 4 << 20;
/// Folders above a program in which its package may be described.
const PACKAGE_DEPTH: usize = 4;

/// Notes which program an attempt runs, in its spool. A program that cannot be read is not noted; starting it will say why.
pub(crate) fn note(paths: &Paths, spool: &Path, program: &AgentProgram) -> std::io::Result<()> {
    let Some(mut identity) = identify(program) else { return Ok(()) };
    let known = paths.home().join(KNOWN);
    let text = read_trusted(&known, MAX_JSON).unwrap_or_default();
    let mut all: BTreeMap<String, ProgramIdentity> = serde_json::from_slice(&text).unwrap_or_default();
    let before = all.get(&identity.path).filter(|before| before.sha256 != identity.sha256);
    identity.changed_from = before.map(ProgramIdentity::describe);
    if let Some(before) = &identity.changed_from {
        tracing::warn!(program = %identity.path, now = %identity.describe(), %before, "an agent program has changed since it last ran");
    }
    durable::create_folders(spool)?;
    durable::replace(&spool.join("program.json.new"), &spool.join(FILE), &serde_json::to_vec(&identity)?)?;
    if all.get(&identity.path).is_none_or(|before| before.sha256 != identity.sha256) {
        let now = ProgramIdentity { changed_from: None, ..identity };
        all.insert(now.path.clone(), now);
        let aside = paths.home().join(format!("{KNOWN}.{}", std::process::id()));
        durable::replace(&aside, &known, &serde_json::to_vec_pretty(&all)?)?;
    }
    Ok(())
}

/// The program that was noted for an attempt.
pub(crate) fn noted(spool: &Path) -> Option<ProgramIdentity> {
    let read = || -> Result<Vec<u8>, FileError> { Dir::open(spool)?.read_file(FILE, MAX_JSON) };
    serde_json::from_slice(&read().ok()?).ok()
}

fn identify(program: &AgentProgram) -> Option<ProgramIdentity> {
    let command = match program {
        AgentProgram::Own => return None,
        AgentProgram::Claude => "claude",
        AgentProgram::Codex | AgentProgram::CodexExec => "codex",
        AgentProgram::Gemini => "gemini",
        AgentProgram::Opencode => "opencode",
        AgentProgram::Acp(command) | AgentProgram::Command(command) => command,
    };
    let path = executable(command)?;
    let sha256 = digest(&path)?;
    let version = version(&path);
    Some(ProgramIdentity {
        name: program.word().to_owned(),
        path: path.display().to_string(),
        version,
        sha256,
        changed_from: None,
    })
}

/// The file a command runs: of an interpreter its script, links followed.
fn executable(command: &str) -> Option<PathBuf> {
    let mut words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    let program = words.next()?;
    let script = words.next().map(Path::new).filter(|script| script.is_absolute() && script.is_file());
    let found = match script {
        Some(script) => script.to_owned(),
        None if program.contains('/') => PathBuf::from(program),
        None => {
            let path = std::env::var_os("PATH")?;
            std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())?
        }
    };
    fs::canonicalize(found).ok()
}

fn digest(path: &Path) -> Option<String> {
    let file = fs::File::open(path).ok()?;
    let size = file.metadata().ok().filter(fs::Metadata::is_file)?.len();
    if size > MAX_PROGRAM {
        return None;
    }
    let mut hasher = Sha256::new();
    let mut reader = file.take(MAX_PROGRAM);
    let mut part = vec![0; 1 << 20];
    loop {
        match reader.read(&mut part).ok()? {
            0 => break,
            read => hasher.update(&part[..read]),
        }
    }
    Some(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The version in the `package.json` of the package a program is part of.
fn version(program: &Path) -> Option<String> {
    let package = |folder: &Path| {
        let text = read_trusted(&folder.join("package.json"), MAX_JSON).ok()?;
        let package: serde_json::Value = serde_json::from_slice(&text).ok()?;
        let version = package["version"].as_str()?;
        Some(version.chars().filter(|c| !c.is_control()).take(60).collect())
    };
    program.ancestors().skip(1).take(PACKAGE_DEPTH).find_map(package)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_changed_since_it_last_ran_says_what_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let paths = Paths::new(&folder.path().join("home"));
        std::fs::create_dir_all(paths.home()).unwrap();
        std::fs::create_dir_all(folder.path().join("package/bin")).unwrap();
        let program = folder.path().join("package/bin/agent.js");
        std::fs::write(folder.path().join("package/package.json"), r#"{"version": "1.2.3"}"#).unwrap();
        let command = AgentProgram::Command(format!("node {} --fast", program.display()));
        let run = |text: &str, number: u32| {
            std::fs::write(&program, text).unwrap();
            let spool = folder.path().join(number.to_string());
            note(&paths, &spool, &command).unwrap();
            noted(&spool).unwrap()
        };
        let first = run("one", 1);
        assert_eq!((first.version.as_deref(), first.changed_from.as_deref()), (Some("1.2.3"), None));
        assert!(first.path.ends_with("package/bin/agent.js"));
        assert_eq!(run("one", 2), first);
        std::fs::write(folder.path().join("package/package.json"), r#"{"version": "1.3.0"}"#).unwrap();
        let changed = run("two", 3);
        assert_eq!(changed.changed_from, Some(first.describe()));
        assert_eq!((changed.version.as_deref(), run("two", 4).changed_from), (Some("1.3.0"), None));
        assert_ne!(changed.sha256, first.sha256);
    }

    #[test]
    fn our_own_agent_and_a_missing_program_have_no_identity() {
        assert_eq!(identify(&AgentProgram::Own), None);
        assert_eq!(identify(&AgentProgram::Command("/no/such/program".to_owned())), None);
        assert_eq!(identify(&AgentProgram::Command(String::new())), None);
    }
}
