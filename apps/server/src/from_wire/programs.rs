//! Which program plays each role of a new run, and whether the model it is given can be reached by it.

use std::collections::{BTreeMap, BTreeSet};

use broker::UpstreamKind;
use domain::{AgentProgram, ModelName, Playbook};
use drivers::driver;
use wire::NewRun;

use super::{EVERY_ROLE, plain};
use crate::config::{ProjectFile, Setup};
use crate::problem::Failure;

/// Who plays which role.
pub(super) struct Cast {
    /// Our own agent is not named.
    pub(super) programs: BTreeMap<String, AgentProgram>,
    /// Roles whose program uses its own login.
    pub(super) direct: BTreeSet<String>,
}

/// Whose word it is that a program plays a role.
#[derive(PartialEq, Eq)]
enum Word {
    Users,
    Repositorys,
}

/// The request wins over the user's file, and that over the repository's.
pub(super) fn cast(setup: &Setup, playbook: &Playbook, new: &NewRun, file: &ProjectFile) -> Result<Cast, Failure> {
    let mut cast = Cast { programs: BTreeMap::new(), direct: BTreeSet::new() };
    for role in playbook.roles() {
        let said = new.programs.get(role).or_else(|| new.programs.get(EVERY_ROLE)).map(|text| program(text));
        let own = setup.defaults.programs.get(role).or_else(|| setup.defaults.programs.get(EVERY_ROLE));
        let (program, word) = match (said.transpose()?, own, file.programs.get(role)) {
            (Some(said), _, _) => (said, Word::Users),
            (None, Some(own), _) => (own.clone(), Word::Users),
            (None, None, Some(theirs)) => (theirs.clone(), Word::Repositorys),
            (None, None, None) => continue,
        };
        // A repository may name a program, but not hand it the user's login.
        if word == Word::Users && uses_own_login(setup, role, &program)? {
            cast.direct.insert(role.to_owned());
        }
        if !program.is_own() {
            cast.programs.insert(role.to_owned(), program);
        }
    }
    Ok(cast)
}

/// A program by its name.
pub(super) fn program(text: &str) -> Result<AgentProgram, Failure> {
    text.parse().map_err(|error: domain::ConfigError| {
        let hint = "see `holdpoint agent list` for the ones that are installed";
        Failure::user("programs", "bad_agent", plain(&error.to_string()), hint)
    })
}

/// Whether it does; one whose login is not there is refused before anything starts.
pub(super) fn uses_own_login(setup: &Setup, role: &str, program: &AgentProgram) -> Result<bool, Failure> {
    let name = program.to_string();
    let Some(settings) = setup.direct.0.get(&name) else { return Ok(false) };
    settings.check(&name).map_err(|error| {
        Failure::user("programs", "login_missing", plain(&format!("{role}: {error}")), error.hint())
    })?;
    Ok(true)
}

impl Cast {
    pub(super) fn program(&self, role: &str) -> AgentProgram {
        self.programs.get(role).cloned().unwrap_or_default()
    }

    /// The provider whose models the program of a role asks for, where it is always the same.
    pub(super) fn vendor(&self, role: &str) -> Option<&'static str> {
        driver::vendor(&self.program(role))
    }

    /// Whether the models of a role can be reached by its program.
    pub(super) fn check_served(&self, setup: &Setup, role: &str, models: &[ModelName]) -> Result<(), Failure> {
        let program = self.program(role);
        models.iter().try_for_each(|model| check_served(setup, role, &program, model))
    }
}

/// A program asks its models in one protocol; the provider has to speak it.
pub(super) fn check_served(
    setup: &Setup,
    role: &str,
    program: &AgentProgram,
    model: &ModelName,
) -> Result<(), Failure> {
    let wanted = match program {
        AgentProgram::Claude => UpstreamKind::Anthropic,
        AgentProgram::Codex | AgentProgram::Opencode | AgentProgram::CodexExec => UpstreamKind::OpenAi,
        AgentProgram::Gemini => UpstreamKind::Gemini,
        AgentProgram::Own | AgentProgram::Acp(_) | AgentProgram::Command(_) => return Ok(()),
    };
    let kind = setup.models.upstreams.get(model.provider()).map(|upstream| upstream.kind);
    if kind.is_none_or(|kind| kind == wanted) {
        return Ok(());
    }
    let words = match wanted {
        UpstreamKind::Anthropic => "the Anthropic protocol",
        UpstreamKind::Gemini => "the Gemini protocol",
        UpstreamKind::OpenAi | UpstreamKind::Scripted => "the OpenAI protocol",
    };
    let message = format!("{role}: `{program}` asks its model in {words}, which `{}` does not speak", model.provider());
    let hint = format!("name another model for the role with --model {role}=PROVIDER/MODEL, or another agent");
    Err(Failure::user("programs", "agent_not_served", plain(&message), hint))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Wishes, models};
    use super::*;

    /// Claude Code with its own login, and no provider at all.
    fn setup(home: &Path) -> Setup {
        let login = home.join(".credentials.json");
        std::fs::write(&login, "{}").unwrap();
        let file = format!("[agents.direct.claude]\nlogin = [\"{}\"]\n", login.display());
        std::fs::write(home.join("config.toml"), file).unwrap();
        Setup::read(home, &BTreeMap::new()).unwrap()
    }

    fn request(programs: &[(&str, &str)], models: &[(&str, &str)]) -> NewRun {
        let map = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        NewRun { programs: map(programs), models: map(models), ..NewRun::default() }
    }

    fn chosen(setup: &Setup, new: &NewRun, file: &ProjectFile) -> Result<(Cast, Vec<(String, String)>), Failure> {
        let playbook = Playbook::built_in("autonomous").unwrap();
        let cast = cast(setup, &playbook, new, file)?;
        let wishes = Wishes { file, roles: &BTreeMap::new() };
        let lists = models(setup, &playbook, new, &wishes, &cast)?;
        let lists = lists.into_iter().map(|(role, list)| (role, list[0].to_string())).collect();
        Ok((cast, lists))
    }

    #[track_caller]
    fn refused(chosen: Result<(Cast, Vec<(String, String)>), Failure>, expected: &str) {
        let Err(failure) = chosen else { panic!("taken") };
        let told = format!("{failure:?}");
        assert!(told.contains(expected), "{told}");
    }

    #[test]
    fn a_program_with_its_own_login_needs_no_provider_and_no_model() {
        let home = tempfile::tempdir().unwrap();
        let (setup, none) = (setup(home.path()), ProjectFile::default());
        let (cast, models) = chosen(&setup, &request(&[("*", "claude")], &[]), &none).unwrap();
        assert_eq!(cast.direct.iter().map(String::as_str).collect::<Vec<_>>(), ["implementer", "planner", "validator"]);
        assert_eq!(models, []);
        let named = request(&[("*", "claude")], &[("planner", "anthropic/claude-x")]);
        let planner = ("planner".to_owned(), "anthropic/claude-x".to_owned());
        assert_eq!(chosen(&setup, &named, &none).unwrap().1, [planner]);
        refused(chosen(&setup, &request(&[("*", "claude")], &[("planner", "openai/gpt")]), &none), "agent_not_served");
        refused(chosen(&setup, &request(&[("planner", "claude")], &[]), &none), "no_model");
    }

    #[test]
    fn a_repository_names_a_program_and_hands_it_no_login() {
        let home = tempfile::tempdir().unwrap();
        let setup = setup(home.path());
        let text = r#"{"defaultRunConfig": {"agentRouting": {"implementer": "claude"}}}"#;
        let file = ProjectFile::parse(text).unwrap();
        let playbook = Playbook::built_in("autonomous").unwrap();
        let theirs = cast(&setup, &playbook, &NewRun::default(), &file).unwrap();
        assert_eq!(theirs.programs["implementer"], AgentProgram::Claude);
        assert!(theirs.direct.is_empty(), "{:?}", theirs.direct);
    }

    #[test]
    fn a_login_that_is_not_there_is_refused_before_anything_starts() {
        let home = tempfile::tempdir().unwrap();
        let setup = setup(home.path());
        std::fs::remove_file(home.path().join(".credentials.json")).unwrap();
        refused(chosen(&setup, &request(&[("*", "claude")], &[]), &ProjectFile::default()), "login_missing");
    }
}
