//! Opening a pull request so that a second call finds what the first one did. Compares what the
//! API lists with what was asked for: it leaves out filters it does not understand.

use reqwest::{Method, Url};
use serde::Deserialize;
use serde_json::json;

use super::{Forge, ForgeError};

/// GitHub takes no longer title.
const MAX_TITLE: usize = 256;

/// A pull request to be opened, from one branch of the repository to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPull {
    pub head: String,
    pub base: String,
    pub title: String,
    pub body: String,
    /// By which a pull request is known to be this one, such as an HTML comment that names run
    /// and effect. Put into the body if it is not there.
    pub marker: String,
    pub draft: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pull {
    pub number: u64,
    /// For people, in a browser.
    pub url: String,
    pub origin: Origin,
}

/// How a pull request came to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// By this call.
    Opened,
    /// By an earlier call with the same marker. It may be closed or merged by now.
    OpenedBefore,
    /// By somebody else, from the same branch to the same base, and it is open.
    Adopted,
}

#[derive(Deserialize)]
struct Listed {
    number: u64,
    html_url: String,
    state: String,
    body: Option<String>,
    head: Side,
    base: Side,
}

#[derive(Deserialize)]
struct Side {
    #[serde(rename = "ref")]
    branch: String,
    /// Gone if it was a fork that is deleted.
    repo: Option<Repository>,
}

#[derive(Deserialize)]
struct Repository {
    full_name: String,
    private: Option<bool>,
}

#[derive(Deserialize)]
struct Created {
    number: u64,
    html_url: String,
    base: Option<Side>,
}

impl Forge {
    /// Opens the pull request, or finds the one that is there already.
    pub async fn open_pull_request(&self, new: &NewPull) -> Result<Pull, ForgeError> {
        if let Some(found) = self.find(new).await? {
            return Ok(found);
        }
        match self.create(new).await {
            // Somebody may have been faster: then the reason to refuse it is the answer.
            Err(ForgeError::Rejected { host, message }) => match self.find(new).await? {
                Some(found) => Ok(found),
                None => Err(ForgeError::Rejected { host, message }),
            },
            other => other,
        }
    }

    /// Closed ones are looked at too: one that we opened and a person closed is not opened again.
    async fn find(&self, new: &NewPull) -> Result<Option<Pull>, ForgeError> {
        let head = format!("{}:{}", self.address.owner, new.head);
        let query = [("head", head.as_str()), ("state", "all"), ("per_page", "100")];
        let listed: Vec<Listed> = self.ask(Method::GET, self.url("pulls", &query), None).await?;
        let bases = listed.iter().filter_map(|pull| pull.base.repo.as_ref());
        bases.for_each(|repository| self.saw_private(repository.private));
        let from_branch: Vec<Listed> = listed.into_iter().filter(|pull| self.is_from(&pull.head, &new.head)).collect();
        let is_ours = |pull: &&Listed| pull.body.as_deref().is_some_and(|body| has_marker(body, new));
        let is_same = |pull: &&Listed| pull.state == "open" && pull.base.branch == new.base;
        let (found, origin) = match (from_branch.iter().find(is_ours), from_branch.iter().find(is_same)) {
            (Some(ours), _) => (ours, Origin::OpenedBefore),
            (None, Some(same)) => (same, Origin::Adopted),
            (None, None) => return Ok(None),
        };
        self.pull(found.number, &found.html_url, origin).map(Some)
    }

    fn is_from(&self, side: &Side, branch: &str) -> bool {
        let here = |repo: &Repository| repo.full_name.eq_ignore_ascii_case(&self.repository());
        side.branch == branch && side.repo.as_ref().is_some_and(here)
    }

    async fn create(&self, new: &NewPull) -> Result<Pull, ForgeError> {
        let body = match new.marker.is_empty() || has_marker(&new.body, new) {
            true => new.body.clone(),
            false => format!("{}\n\n{}", new.marker, new.body),
        };
        let request = json!({
            "title": one_line(&new.title),
            "head": new.head,
            "base": new.base,
            "body": body,
            "draft": new.draft,
        });
        let created: Created = self.ask(Method::POST, self.url("pulls", &[]), Some(&request)).await?;
        self.saw_private(created.base.and_then(|base| base.repo?.private));
        self.pull(created.number, &created.html_url, Origin::Opened)
    }

    fn pull(&self, number: u64, url: &str, origin: Origin) -> Result<Pull, ForgeError> {
        let parsed = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let parsed = parsed.ok_or_else(|| self.strange("a pull request without an address"))?;
        Ok(Pull { number, url: parsed.into(), origin })
    }
}

fn has_marker(body: &str, new: &NewPull) -> bool {
    !new.marker.is_empty() && body.contains(&new.marker)
}

fn one_line(title: &str) -> String {
    let line = title.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.chars().count() > MAX_TITLE {
        true => line.chars().take(MAX_TITLE - 1).chain(['…']).collect(),
        false => line,
    }
}
