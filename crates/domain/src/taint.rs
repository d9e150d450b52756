//! Text of strangers: what a run has read of it, and what it may do from then on. The one place that decides this.
//!
//! A run never has all of private data, text of strangers and a way out. One that somebody outside could write to (an
//! issue, a comment, a page) loses the way out and the secrets. One that looked something up through a door the user has
//! set up keeps that door and loses the secrets. Neither gets its work anywhere before a person has looked at it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{CommitId, Run, RunConfig, TaskStatus};

/// Where text of strangers comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaintKind {
    /// An issue or a pull request.
    Issue,
    /// A comment on one.
    Comment,
    /// A page of the web.
    Page,
    /// A search on the web while an agent worked.
    Search,
    /// An MCP server behind an address.
    Mcp,
    /// Something else that somebody else wrote.
    Other,
}

impl TaintKind {
    /// The word used in views.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::Comment => "comment",
            Self::Page => "page",
            Self::Search => "search",
            Self::Mcp => "mcp",
            Self::Other => "other",
        }
    }
}

/// One place text of strangers comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaintSource {
    /// What kind.
    pub kind: TaintKind,
    /// Its address or name; empty where the kind says it all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
}

impl TaintSource {
    /// Bytes of an address or a name.
    pub const MAX_NAME: usize = 500;
    /// More sources than this are not told apart: the run is marked anyway.
    pub const MOST: usize = 50;

    /// A search on the web.
    #[must_use]
    pub fn search() -> Self {
        Self { kind: TaintKind::Search, source: String::new() }
    }

    /// An MCP server of the user's configuration.
    #[must_use]
    pub fn mcp(name: &str) -> Self {
        Self { kind: TaintKind::Mcp, source: name.to_owned() }
    }

    /// What a person named: the kind is told from how it is written, where that tells it.
    #[must_use]
    pub fn named(source: &str) -> Self {
        let address = source.starts_with("https://") || source.starts_with("http://");
        let has = |parts: &[&str]| parts.iter().any(|part| source.contains(part));
        let kind = if !address {
            TaintKind::Other
        } else if has(&["#issuecomment", "#discussion", "#note_", "#pullrequestreview", "/comments/"]) {
            TaintKind::Comment
        } else if has(&["/issues/", "/pull/", "/pulls/", "/merge_requests/"]) {
            TaintKind::Issue
        } else {
            TaintKind::Page
        };
        Self { kind, source: source.to_owned() }
    }

    /// For people.
    #[must_use]
    pub fn words(&self) -> String {
        let source = &self.source;
        match self.kind {
            TaintKind::Issue => format!("issue {source}"),
            TaintKind::Comment => format!("comment {source}"),
            TaintKind::Page => format!("web page {source}"),
            TaintKind::Search if source.is_empty() => "web search".to_owned(),
            TaintKind::Search => format!("web search ({source})"),
            TaintKind::Mcp => format!("MCP server {source}"),
            TaintKind::Other => source.clone(),
        }
    }

    /// How a source is named where the user trusts it.
    #[must_use]
    pub fn key(&self) -> String {
        match self.kind {
            TaintKind::Search => "search".to_owned(),
            TaintKind::Mcp => format!("mcp:{}", self.source),
            TaintKind::Issue | TaintKind::Comment | TaintKind::Page | TaintKind::Other => self.source.clone(),
        }
    }

    /// What a run that has read it is left with.
    fn reach(&self) -> Reach {
        match self.kind {
            TaintKind::Search | TaintKind::Mcp => Reach::NoSecrets,
            TaintKind::Issue | TaintKind::Comment | TaintKind::Page | TaintKind::Other => Reach::ModelsOnly,
        }
    }
}

/// Text of strangers that a run begins with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Brought {
    /// Where it comes from.
    pub source: TaintSource,
    /// The text itself, where it does not stand in the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Sources that the user said can be trusted. Never taken from a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrustedSource {
    /// `*`, a source's key, or the beginning of an address up to a slash.
    pub source: String,
    /// Where it was said; who started the run is in its first event.
    pub by: TrustedBy,
}

/// Where a source was said to be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustedBy {
    /// With the request, by who started the run.
    Request,
    /// In the user's own configuration.
    Configuration,
}

impl TrustedSource {
    /// In place of a source: all of them.
    pub const ALL: &'static str = "*";

    fn covers(&self, source: &TaintSource) -> bool {
        let (key, known) = (source.key(), self.source.as_str());
        let beneath = key.strip_prefix(known.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'));
        known == Self::ALL || key == known || (known.contains("://") && beneath)
    }
}

impl RunConfig {
    /// Whether the user trusts a source for this run.
    #[must_use]
    pub fn trusts(&self, source: &TaintSource) -> bool {
        self.trusted.iter().any(|trusted| trusted.covers(source))
    }
}

/// Text of strangers that a run has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taint {
    /// Where it comes from.
    pub source: TaintSource,
    /// Since when.
    pub since: Timestamp,
    /// The stage whose agent read it; `None` when the run began with it or a child run brought it.
    pub stage: Option<String>,
}

/// What the agents of a run may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Whatever the user has set up.
    #[default]
    Whole,
    /// No secrets: none through MCP servers, and no file whose name says that it holds some.
    NoSecrets,
    /// As before, and of the network only the models, through the broker: no search, no MCP server behind an address.
    ModelsOnly,
}

/// A person's yes to the work as a whole, after the last text of strangers was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The newest code then; none where nothing but documents was made.
    pub code: Option<CommitId>,
    /// The memory entry that was shown with it; none in logs from before holds showed it.
    pub memory: Option<crate::MemoryEntry>,
}

impl Run {
    /// Sources that have consequences: those the user does not trust.
    pub fn strangers(&self) -> impl Iterator<Item = &TaintSource> {
        let config = self.opened.as_ref().map(|opened| &opened.config);
        let trusts = move |source: &TaintSource| config.is_some_and(|config| config.trusts(source));
        self.taints.iter().map(|taint| &taint.source).filter(move |source| !trusts(source))
    }

    /// What its agents may use from now on.
    #[must_use]
    pub fn reach(&self) -> Reach {
        self.strangers().map(TaintSource::reach).max().unwrap_or(Reach::Whole)
    }

    /// Whether a person has to look at its work before it leaves its branch.
    #[must_use]
    pub fn awaits_look(&self) -> bool {
        self.strangers().next().is_some() && !self.is_signed_off()
    }

    /// Tests that the run changed and that fail on the newest code as they were before, unless a person approved it.
    #[must_use]
    pub fn doubted_tests(&self) -> Option<&crate::EarlierTests> {
        let code = self.code().map(|artifact| &artifact.commit);
        let proof = self.proof.as_ref().filter(|proof| Some(&proof.commit) == code && !self.is_signed_off());
        proof.and_then(|proof| proof.earlier_tests.as_ref()).filter(|tests| !tests.passed())
    }

    /// Whether a person said yes to exactly the newest code, knowing of every untrusted text that was read.
    #[must_use]
    pub fn is_signed_off(&self) -> bool {
        let code = self.code().map(|artifact| &artifact.commit);
        self.looked.as_ref().is_some_and(|look| look.code.as_ref() == code)
    }

    /// Why a person is asked, for people; `None` for a run that has read nothing of strangers.
    #[must_use]
    pub fn told_of_strangers(&self) -> Option<String> {
        let all: Vec<String> = self.strangers().map(TaintSource::words).collect();
        let then = if self.opened.is_some() && self.merges() { "merged" } else { "pushed" };
        (!all.is_empty()).then(|| {
            let names = all.join(", ");
            format!("this run has read text of strangers: {names}. It is not {then} without you")
        })
    }

    /// Whether its work goes into the base branch once everything else is fine.
    #[must_use]
    pub(crate) fn merges(&self) -> bool {
        let git = &self.opened().config.git;
        let partial = self.tasks.iter().any(|task| matches!(task.status, TaskStatus::Failed | TaskStatus::Skipped));
        self.merge_approved || git.review || (git.auto_merge && (partial || !git.create_pr))
    }

    /// Whether its work goes anywhere by itself: into the base branch, to the remote, into a pull request.
    #[must_use]
    pub(crate) fn goes_out(&self) -> bool {
        let git = &self.opened().config.git;
        let merged = self.validated.is_some() && !self.wants_pr && self.merges();
        merged || self.wants_pr || git.create_pr || git.push
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_is_told_from_the_address() {
        let kind = |source: &str| TaintSource::named(source).kind;
        assert_eq!(kind("https://github.com/a/b/issues/7"), TaintKind::Issue);
        assert_eq!(kind("https://gitlab.com/a/b/-/merge_requests/7"), TaintKind::Issue);
        assert_eq!(kind("https://github.com/a/b/issues/7#issuecomment-1"), TaintKind::Comment);
        assert_eq!(kind("http://example.com/how-to"), TaintKind::Page);
        assert_eq!(kind("a mail of a customer"), TaintKind::Other);
    }

    #[test]
    fn a_trusted_address_covers_what_lies_beneath_it_and_no_neighbour() {
        let covers = |known: &str, source: &TaintSource| {
            TrustedSource { source: known.to_owned(), by: TrustedBy::Configuration }.covers(source)
        };
        let issue = TaintSource::named("https://github.com/ours/shop/issues/7");
        assert!(covers("https://github.com/ours", &issue) && covers("https://github.com/ours/", &issue));
        assert!(covers("*", &issue) && covers(&issue.source, &issue));
        assert!(!covers("https://github.com/our", &issue) && !covers("", &issue) && !covers("search", &issue));
        let (search, docs) = (TaintSource::search(), TaintSource::mcp("docs"));
        assert!(covers("search", &search) && covers("mcp:docs", &docs) && covers("*", &docs));
        assert!(!covers("mcp:doc", &docs) && !covers("mcp", &docs) && !covers("search", &docs));
    }
}
