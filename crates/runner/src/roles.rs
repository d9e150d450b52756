//! A project's own words about a role and its skills, from the base commit: what an agent changes does not count.

use domain::{AgentTask, Run};
use drivers::{RoleSettings, Skill};

use crate::paths::Paths;
use crate::repos::Repos;
use crate::trouble::Trouble;

const MOST_SKILLS: usize = 100;

/// What the user and the project say about the role of a task. The user's file is `roles/NAME.toml` of the home folder.
pub(crate) fn settings(paths: &Paths, repos: &Repos, run: &Run, role: &str) -> Result<RoleSettings, Trouble> {
    let path = format!(".autonomous/roles/{role}.toml");
    let project = repos.private.read_file(&Repos::base_commit(run)?, &path)?;
    let project = match project {
        Some(bytes) => parse(&path, &String::from_utf8_lossy(&bytes))?,
        None => RoleSettings::default(),
    };
    let file = paths.home().join("roles").join(format!("{role}.toml"));
    let own = match std::fs::read_to_string(&file) {
        Ok(text) => parse(&file.display().to_string(), &text)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => RoleSettings::default(),
        Err(error) => return Err(Trouble::io("reading", &file, &error)),
    };
    Ok(own.and(project))
}

fn parse(path: &str, text: &str) -> Result<RoleSettings, Trouble> {
    RoleSettings::parse(text).map_err(|error| Trouble::new(format!("`{path}`, {error}; correct the file and retry")))
}

/// The skills that fit what is to be done. One that cannot be read is left out, not the work.
pub(crate) fn skills(repos: &Repos, run: &Run, task: &AgentTask) -> Result<Vec<Skill>, Trouble> {
    const FOLDER: &str = ".autonomous/skills";
    let base = Repos::base_commit(run)?;
    let mut skills = Vec::new();
    let names = repos.private.list(&base, FOLDER)?;
    for name in names.into_iter().filter(|name| name.ends_with(".md")).take(MOST_SKILLS) {
        let path = format!("{FOLDER}/{name}");
        let Some(bytes) = repos.private.read_file(&base, &path)? else { continue };
        match Skill::parse(&String::from_utf8_lossy(&bytes)) {
            Ok(skill) => skills.push(skill),
            Err(error) => tracing::warn!(run = %run.id, stage = task.stage, path, %error, "a skill is left out"),
        }
    }
    let mut files: Vec<String> = run.tasks.iter().flat_map(|state| state.task.files.clone()).collect();
    files.extend(run.artifacts.iter().flat_map(|artifact| artifact.files.clone()));
    Ok(Skill::chosen(skills, &run.opened().request, &files))
}
