//! Isolation policy: every agent and every check runs in the full sandbox, or not at all. The weaker tier is used only
//! for projects whose path the user wrote into their own configuration.

use std::path::{Path, PathBuf};

use crate::sandbox::{Tier, TierChoice, Unsupported, probe};
use crate::trouble::Trouble;

/// Which projects may run below the full sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Isolation {
    /// Repositories that may fall to `restricted` where the full sandbox does not work.
    pub restricted: Vec<PathBuf>,
}

impl Isolation {
    fn choice(&self, project: &Path) -> TierChoice {
        let same = |path: &PathBuf| path == project || std::fs::canonicalize(path).is_ok_and(|path| path == project);
        if self.restricted.iter().any(same) { TierChoice::Best } else { TierChoice::Exactly(Tier::Sandboxed) }
    }

    /// The tier for a project's processes, tried out just now; a refusal says how to get it. Blocks for some tens of
    /// milliseconds.
    pub(crate) fn tier(&self, project: &Path) -> Result<TierChoice, Trouble> {
        let (choice, here) = (self.choice(project), probe());
        match choice.among(&here) {
            Ok(tier) => Ok(TierChoice::Exactly(tier)),
            Err(refused @ (Unsupported::Asked { .. } | Unsupported::Everything { .. })) => {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weaker_tier_is_only_for_projects_the_user_named() {
        let isolation = Isolation { restricted: vec!["/srv/named".into()] };
        assert_eq!(isolation.choice(Path::new("/srv/named")), TierChoice::Best);
        for other in ["/srv/named/inner", "/srv", "/srv/other"] {
            assert_eq!(isolation.choice(Path::new(other)), TierChoice::Exactly(Tier::Sandboxed), "{other}");
        }
    }
}
