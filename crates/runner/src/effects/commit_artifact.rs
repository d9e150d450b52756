//! Commits an artifact that a person wrote or confirmed, exactly as an agent's would be.

use domain::{ArtifactKind, Outcome, Plan};
use engine::Job;

use crate::artifacts::{Made, Refused, Table};
use crate::hands::Hands;
use crate::repos::Repos;
use crate::trouble::Trouble;

pub(crate) async fn run(
    hands: &Hands,
    job: &Job,
    stage: &str,
    kind: ArtifactKind,
    content: &str,
) -> Result<Outcome, Trouble> {
    let (paths, inner, stage, content) = (hands.paths.clone(), job.clone(), stage.to_owned(), content.to_owned());
    let guard = hands.guard(&job.run);
    let commit = move || {
        let repos = Repos::open(&paths, &inner.run)?;
        make(&Table { paths: &paths, repos: &repos, job: &inner, stage: &stage, guard: &guard }, kind, &content)
    };
    Ok(match hands.blocking(&job.id.run, commit).await? {
        Ok(artifact) => Outcome::ArtifactCommitted { artifact: Box::new(artifact) },
        Err(Refused::Because(reason)) => Outcome::ArtifactRefused { reason },
        // A document is redacted, never refused for this.
        Err(Refused::Secrets(_)) => Outcome::ArtifactRefused { reason: "it holds what looks like secrets".to_owned() },
    })
}

fn make(table: &Table, kind: ArtifactKind, content: &str) -> Made {
    match kind {
        ArtifactKind::Plan => match Plan::parse(content) {
            Ok(plan) => table.plan(&plan),
            Err(error) => Ok(Err(Refused::Because(error.to_string()))),
        },
        ArtifactKind::Spec => table.spec(content, content),
        ArtifactKind::Requirement | ArtifactKind::Scope | ArtifactKind::Research => {
            table.document(kind, title(content), content)
        }
        ArtifactKind::Code | ArtifactKind::Handoff | ArtifactKind::ValidationReport => {
            let reason = format!("a `{}` cannot be written by hand; take the stage over instead", kind.word());
            Ok(Err(Refused::Because(reason)))
        }
    }
}

/// What follows the front matter, whose first line says nothing.
fn title(content: &str) -> &str {
    let rest = content.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    rest.map_or(content, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_is_not_taken_from_front_matter() {
        assert_eq!(title("---\ninScope: []\n---\n\n# Scope\n"), "\n# Scope\n");
        assert_eq!(title("# Scope"), "# Scope");
        assert_eq!(title("---\nnever closed"), "---\nnever closed");
    }
}
