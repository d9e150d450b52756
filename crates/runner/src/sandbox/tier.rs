//! The tiers of isolation and the choice among them. A choice either holds or is refused:
//! there is no path from a tier that was asked for to a weaker one.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::probe::{Probe, Works, probe};

/// How an agent is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Namespaces by bubblewrap, with Landlock, seccomp and limits inside them.
    Sandboxed,
    /// Landlock, seccomp and limits only, for machines without bubblewrap.
    ///
    /// There are no sockets but streams to the broker (`socket_filter`), so hosted programs and terminals of people are
    /// not started in it. Known gaps against `Sandboxed`, each a row of the table of escapes: names and metadata of
    /// hidden files can be asked for (`stat` is not covered by Landlock); the mode of an own file outside can be changed
    /// (`chmod` is not covered either); processes of the host can be listed with their arguments, and the processors they
    /// run on be set; on kernels before Landlock ABI 6 (Linux 6.12) they can be sent signals. A supervisor and its init
    /// that are both killed by force leave leftovers which only the environment marker finds.
    Restricted,
    /// Nothing is held back. Needs the consent of a person, asked for elsewhere.
    Unsandboxed,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Sandboxed => "sandboxed",
            Self::Restricted => "restricted",
            Self::Unsandboxed => "unsandboxed",
        })
    }
}

/// What the launching side asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TierChoice {
    /// `Sandboxed` where it works, else `Restricted` where that works, else a refusal.
    Best,
    /// This tier or a refusal.
    Exactly(Tier),
}

/// This machine cannot hold an agent as asked.
#[derive(Debug, thiserror::Error)]
pub enum Unsupported {
    /// Neither of the two holding tiers works.
    #[error(
        "no sandbox works here: bubblewrap {bubblewrap}; Landlock {landlock}; seccomp {seccomp}. \
         No process is started without one"
    )]
    Everything {
        /// State of bubblewrap.
        bubblewrap: Works,
        /// State of Landlock.
        landlock: Works,
        /// State of seccomp.
        seccomp: Works,
    },
    /// The tier that was named does not work.
    #[error("the tier `{tier}` does not work here, and no weaker one is taken silently: {why}")]
    Asked {
        /// The tier asked for.
        tier: Tier,
        /// Why it does not work.
        why: String,
    },
}

impl TierChoice {
    /// The tier to use on this machine, tried out just now.
    pub fn resolve(self) -> Result<Tier, Unsupported> {
        match self {
            Self::Exactly(Tier::Unsandboxed) => Ok(Tier::Unsandboxed),
            Self::Best | Self::Exactly(Tier::Sandboxed | Tier::Restricted) => self.among(&probe()),
        }
    }

    /// The same with a probe that was made before.
    pub fn among(self, probe: &Probe) -> Result<Tier, Unsupported> {
        match self {
            Self::Exactly(tier) => match probe.supports(tier) {
                Works::Yes => Ok(tier),
                Works::No { why } => Err(Unsupported::Asked { tier, why }),
            },
            Self::Best => probe.best().ok_or_else(|| Unsupported::Everything {
                bubblewrap: probe.bubblewrap.clone(),
                landlock: probe.landlock.clone(),
                seccomp: probe.seccomp.clone(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no(why: &str) -> Works {
        Works::No { why: why.into() }
    }

    #[test]
    fn best_falls_to_restricted_only_when_bubblewrap_does_not_work() {
        let mut here = Probe { bubblewrap: Works::Yes, landlock: Works::Yes, seccomp: Works::Yes };
        assert_eq!(TierChoice::Best.among(&here).unwrap(), Tier::Sandboxed);
        here.bubblewrap = no("is not installed");
        assert_eq!(TierChoice::Best.among(&here).unwrap(), Tier::Restricted);
        here.landlock = no("is off");
        assert!(TierChoice::Best.among(&here).is_err());
    }

    #[test]
    fn a_named_tier_is_refused_rather_than_lowered() {
        let here = Probe { bubblewrap: no("is not installed"), landlock: Works::Yes, seccomp: Works::Yes };
        let refused = TierChoice::Exactly(Tier::Sandboxed).among(&here);
        assert!(refused.unwrap_err().to_string().contains("is not installed"));
    }
}
