//! Opens a pull request for the pushed branch, or finds the one an earlier try opened.

use std::fmt::Write as _;

use domain::{CommitId, Outcome, Run};
use engine::{Job, boundary};

use crate::artifacts::one_line;
use crate::forge::{self, Forge, ForgeError, NewPull};
use crate::git::Remote;
use crate::hands::Hands;
use crate::report;
use crate::repos::{Repos, to_git};
use crate::secret_guard::SecretGuard;
use crate::token_power;
use crate::trouble::Trouble;

/// The only host that a token is sent to unless somebody said which API it is for.
const HOST: &str = "github.com";

pub(crate) async fn run(hands: &Hands, job: &Job, commit: &CommitId) -> Result<Outcome, Trouble> {
    let (paths, run, commit) = (hands.paths.clone(), job.run.clone(), to_git(commit)?);
    let guards = hands.guards();
    let prepare = move || {
        let repos = Repos::open(&paths, &run)?;
        let Some(remote) = repos.user.remote(&repos.base)? else { return Ok(None) };
        let template = forge::pull_request_template(&repos.private, &commit)?;
        Ok(Some((remote, new_pull(&run, &repos, template.as_deref(), &guards.with_tasks(&run)?))))
    };
    let refused = |reason: String| Ok(Outcome::PullRequestRefused { reason });
    let Some((remote, new)) = hands.blocking(&job.id.run, prepare).await? else {
        return refused("there is no remote to open it on; add one with `git remote add`, then retry".to_owned());
    };
    let forge = match forge_of(hands, &remote) {
        Ok(forge) => forge,
        Err(reason) => return refused(reason),
    };
    boundary("pull_request.before");
    let opened = forge.open_pull_request(&new).await;
    boundary("pull_request.after");
    note_power(hands, job, forge).await?;
    match opened {
        Ok(pull) => Ok(Outcome::PullRequestOpened { url: pull.url }),
        Err(error) => refused(words(&error)),
    }
}

/// What the answers told of the token, also when they refused.
async fn note_power(hands: &Hands, job: &Job, forge: Forge) -> Result<(), Trouble> {
    let Some(token) = hands.forge.token.clone() else { return Ok(()) };
    let home = hands.paths.home().to_owned();
    let note = move || {
        token_power::note(&home, &token, &forge);
        Ok(())
    };
    hands.blocking(&job.id.run, note).await
}

fn forge_of(hands: &Hands, remote: &Remote) -> Result<Forge, String> {
    let settings = &hands.forge;
    let host = forge::host_of(&remote.url).map_err(|error| words(&error))?;
    if settings.api.is_none() && host != HOST {
        return Err(format!(
            "`{host}` is not {HOST}, so the token is not sent there; set GITHUB_API_URL to its API (for example \
             `https://{host}/api/v3`) and GITHUB_TOKEN to a token for it where the server runs, then retry"
        ));
    }
    let forge = Forge::for_remote(&remote.url, settings.token.clone(), settings.api.clone());
    forge.map_err(|error| {
        let where_to = if matches!(error, ForgeError::NoToken { .. }) { "; set it as GITHUB_TOKEN" } else { "" };
        format!("{}{where_to}", words(&error))
    })
}

fn words(error: &ForgeError) -> String {
    let trouble = Trouble::of(error);
    error.hint().map_or_else(|| trouble.to_string(), |hint| format!("{trouble} ({hint})"))
}

fn new_pull(run: &Run, repos: &Repos, template: Option<&str>, guard: &SecretGuard) -> NewPull {
    // Redacted before it is cut: half a secret would not be known.
    let template = template.map(|text| guard.redact(text));
    // Names the run alone: another try of the same run must find what the first one opened.
    let marker = format!("<!-- holdpoint-run: {} -->", run.id);
    NewPull {
        head: repos.branch.to_string(),
        base: repos.base.to_string(),
        title: title(run, guard),
        body: forge::body(&guard.redact(&summary(run)), template.as_deref(), &marker),
        marker,
        draft: false,
    }
}

fn title(run: &Run, guard: &SecretGuard) -> String {
    let spec = run.latest(domain::ArtifactKind::Spec).map(|spec| guard.redact(&spec.title));
    spec.unwrap_or_else(|| one_line(&guard.redact(&run.summary())))
}

/// What a reviewer wants to know: what was asked, what was done, what was checked.
fn summary(run: &Run) -> String {
    let mut text = String::new();
    let mut line = |words: &str| writeln!(text, "{words}").expect("writing to a String cannot fail");
    line("## Request\n");
    for words in run.wanted().trim().lines() {
        line(&format!("> {words}"));
    }
    line("\n## What was done\n");
    for artifact in run.artifacts.iter().filter(|artifact| artifact.kind.is_code()) {
        line(&format!("- {}", artifact.title));
    }
    for state in &run.tasks {
        line(&format!("- `{}` {}: {}", state.task.id, state.task.title, state.status.word()));
    }
    if let Some(review) = &run.review {
        line(&format!("\n## Review\n\n{}", review.summary.trim()));
    }
    if let Some(proof) = &run.proof {
        line(&format!("\n## Checks\n\n{}", report::proof_text(proof)));
    }
    line(&format!("\nMade by Holdpoint, run `{}`.", run.id));
    text
}
