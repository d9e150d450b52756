//! Telling people that something waits or has ended: read from the feed, kept, delivered. None is lost, and one that a
//! receiver gets twice has the same id. Never touches a run.

mod courier;
mod desktop;
mod notice;
mod sign;
mod webhook;

use std::sync::Arc;
use std::time::Duration;

use broker::Secret;
use reqwest::Url;

pub(crate) use courier::{Bureau, Told};
pub use notice::Topic;

/// Who is told, and how patiently.
#[derive(Debug, Clone, Default)]
pub struct Notify {
    /// Webhooks.
    pub webhooks: Vec<Webhook>,
    /// The user's own screen.
    pub desktop: Option<Desktop>,
    /// How often and how long it is tried.
    pub patience: Patience,
}

/// An address that notices are sent to.
#[derive(Debug, Clone)]
pub struct Webhook {
    /// Its name.
    pub name: String,
    /// Where.
    pub url: Url,
    /// What notices are signed with.
    pub secret: Secret,
    /// What it is told of.
    pub topics: Vec<Topic>,
}

/// The user's own screen.
#[derive(Debug, Clone)]
pub struct Desktop {
    /// Its name.
    pub name: String,
    /// Called like `notify-send`.
    pub program: String,
    /// Whether it may be heard.
    pub sound: bool,
    /// What it is told of.
    pub topics: Vec<Topic>,
}

/// How often and how long a delivery is tried.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Then it is given up.
    pub tries: u32,
    /// Between the first try and the second; doubled after each.
    pub first: Duration,
    /// Never longer than this.
    pub longest: Duration,
    /// One try.
    pub one: Duration,
}

impl Default for Patience {
    /// Ten tries within about three quarters of an hour.
    fn default() -> Self {
        Self {
            tries: 10,
            first: Duration::from_secs(5),
            longest: Duration::from_secs(15 * 60),
            one: Duration::from_secs(10),
        }
    }
}

impl Patience {
    /// How long to wait after so many tries; between half and the whole of what is due, so that many do not come back
    /// at once. `None` gives it up.
    fn wait(&self, tries: u32, luck: f64) -> Option<Duration> {
        if tries >= self.tries {
            return None;
        }
        let doubled = self.first.saturating_mul(2_u32.saturating_pow(tries.saturating_sub(1)));
        Some(doubled.min(self.longest).mul_f64(0.5 + luck.clamp(0.0, 1.0) / 2.0))
    }
}

/// A place that notices go to.
#[derive(Debug, Clone)]
pub(crate) enum Destination {
    Webhook(Arc<Webhook>),
    Desktop(Arc<Desktop>),
}

impl Destination {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Webhook(webhook) => &webhook.name,
            Self::Desktop(desktop) => &desktop.name,
        }
    }

    pub(crate) fn topics(&self) -> &[Topic] {
        match self {
            Self::Webhook(webhook) => &webhook.topics,
            Self::Desktop(desktop) => &desktop.topics,
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Webhook(_) => "webhook",
            Self::Desktop(_) => "desktop",
        }
    }

    /// Where it goes, as far as that is no secret: paths of webhooks often are.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Webhook(webhook) => webhook.url.origin().ascii_serialization(),
            Self::Desktop(desktop) => desktop.program.clone(),
        }
    }
}

impl Notify {
    pub(crate) fn destinations(&self) -> Vec<Destination> {
        let webhooks = self.webhooks.iter().cloned().map(|webhook| Destination::Webhook(Arc::new(webhook)));
        webhooks.chain(self.desktop.clone().map(|desktop| Destination::Desktop(Arc::new(desktop)))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_bound_and_then_it_is_given_up() {
        let patience = Patience::default();
        let waits: Vec<u64> = (1..10).map(|tries| patience.wait(tries, 1.0).unwrap().as_secs()).collect();
        assert_eq!(waits, [5, 10, 20, 40, 80, 160, 320, 640, 900]);
        assert_eq!(patience.wait(1, 0.0), Some(Duration::from_millis(2500)));
        assert_eq!(patience.wait(10, 1.0), None);
        assert_eq!(patience.wait(u32::MAX, 1.0), None);
    }
}
