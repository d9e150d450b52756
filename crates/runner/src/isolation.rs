//! Isolation policy: every agent and every check runs in the full sandbox, or not at all. The weaker tier is used only
//! for projects whose path the user wrote into their own configuration.

use std::path::{Path, PathBuf};

use domain::{AgentProgram, Purpose};

use crate::sandbox::{Limits, Probe, Tier, TierChoice, Unsupported, probe};
use crate::trouble::Trouble;

/// What holds agents and checks, as the user set it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Isolation {
    /// Repositories that may fall to `restricted` where the full sandbox does not work.
    pub restricted: Vec<PathBuf>,
    /// Paths that sandboxes show besides the system's own; one that is not there is left out.
    pub readable: Vec<PathBuf>,
    /// Caps of each attempt.
    pub limits: Limits,
}

/// What a process must be able to do that not every tier has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing: our own agent, a check.
    Nothing,
    /// Sockets of its own, which `restricted` shuts; the text says who and why, for people.
    Sockets(String),
}

impl Needs {
    /// A hosted program reaches its model over TCP and its tools over a socket; a person's terminal is one too.
    pub(crate) fn of(program: &AgentProgram, purpose: &Purpose) -> Self {
        match purpose {
            Purpose::Sit => Self::Sockets("a session on a person's terminal needs a socket of its own".to_owned()),
            Purpose::Stage | Purpose::Pulse { .. } | Purpose::Iterate { .. } | Purpose::Answer { .. } => {
                match program {
                    AgentProgram::Own => Self::Nothing,
                    AgentProgram::Claude
                    | AgentProgram::Codex
                    | AgentProgram::Gemini
                    | AgentProgram::Opencode
                    | AgentProgram::Command(_)
                    | AgentProgram::CodexExec
                    | AgentProgram::Acp(_) => {
                        Self::Sockets(format!("`{program}` reaches its model and its tools over sockets of its own"))
                    }
                }
            }
        }
    }
}

impl Isolation {
    fn choice(&self, project: &Path) -> TierChoice {
        let same = |path: &PathBuf| path == project || std::fs::canonicalize(path).is_ok_and(|path| path == project);
        if self.restricted.iter().any(same) { TierChoice::Best } else { TierChoice::Exactly(Tier::Sandboxed) }
    }

    /// What is shown beside the system's own: the user's paths, and those that this attempt needs.
    pub(crate) fn readable(&self, more: Vec<PathBuf>) -> Vec<PathBuf> {
        self.readable.iter().filter(|path| path.exists()).cloned().chain(more).collect()
    }

    /// The tier for a project's processes, tried out just now; a refusal says how to get it. Blocks for some tens of
    /// milliseconds.
    pub(crate) fn tier(&self, project: &Path, needs: &Needs) -> Result<TierChoice, Trouble> {
        self.tier_among(project, needs, &probe())
    }

    fn tier_among(&self, project: &Path, needs: &Needs, here: &Probe) -> Result<TierChoice, Trouble> {
        let choice = self.choice(project);
        match (choice.among(here), needs) {
            (Ok(Tier::Restricted), Needs::Sockets(who)) => Err(no_sockets(who, here)),
            (Ok(tier), _) => Ok(TierChoice::Exactly(tier)),
            (Err(refused @ (Unsupported::Asked { .. } | Unsupported::Everything { .. })), _) => {
                let consent = format!(
                    "; or add `{}` to `restricted_projects` in config.toml to let this project's agents run in the \
                     weaker tier",
                    project.display()
                );
                let consent = if choice == TierChoice::Best { String::new() } else { consent };
                let fix = here.fix().unwrap_or_else(|| "run `holdpoint doctor`".to_owned());
                Err(Trouble::with_hint(refused.to_string(), format!("{fix}{consent}; then retry")))
            }
        }
    }
}

fn no_sockets(who: &str, here: &Probe) -> Trouble {
    let fix = here.fix().unwrap_or_else(|| "run `holdpoint doctor`".to_owned());
    Trouble::with_hint(
        format!("nothing was started: only the tier `restricted` works here, which has no sockets, and {who}"),
        format!("for the full sandbox: {fix}; or let Holdpoint's own agent play this role; then retry"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Works;

    #[test]
    fn a_hosted_program_and_a_terminal_are_refused_where_only_the_restricted_tier_works() {
        let isolation = Isolation { restricted: vec!["/srv/named".into()], ..Isolation::default() };
        let why = "is not installed (`bwrap` is not on the PATH)".to_owned();
        let here = Probe { bubblewrap: Works::No { why }, landlock: Works::Yes, seccomp: Works::Yes };
        let tier = |needs: &Needs| isolation.tier_among(Path::new("/srv/named"), needs, &here);
        let own = Needs::of(&AgentProgram::Own, &Purpose::Stage);
        assert_eq!(tier(&own).unwrap(), TierChoice::Exactly(Tier::Restricted));
        for needs in [Needs::of(&AgentProgram::Claude, &Purpose::Stage), Needs::of(&AgentProgram::Own, &Purpose::Sit)] {
            let refused = tier(&needs).unwrap_err();
            assert!(refused.to_string().contains("has no sockets"), "{refused}");
            assert!(refused.hint.unwrap().contains("apt install bubblewrap"));
        }
        let full = Probe { bubblewrap: Works::Yes, ..here };
        let hosted = Needs::of(&AgentProgram::Codex, &Purpose::Stage);
        let tier = isolation.tier_among(Path::new("/srv/named"), &hosted, &full);
        assert_eq!(tier.unwrap(), TierChoice::Exactly(Tier::Sandboxed));
    }

    #[test]
    fn the_weaker_tier_is_only_for_projects_the_user_named() {
        let isolation = Isolation { restricted: vec!["/srv/named".into()], ..Isolation::default() };
        assert_eq!(isolation.choice(Path::new("/srv/named")), TierChoice::Best);
        for other in ["/srv/named/inner", "/srv", "/srv/other"] {
            assert_eq!(isolation.choice(Path::new(other)), TierChoice::Exactly(Tier::Sandboxed), "{other}");
        }
    }
}
