//! Artifacts become commits on the run's branch, the same way whether an agent or a person made them.
//! Never decides whether one is good: what cannot be used is refused with the reason.

use domain::{Artifact, ArtifactKind, ChangeKind, Digest, FileChange, Plan, Risk, SecretFinding, slug};
use engine::{Job, boundary};

use crate::git::{self, ChangeStatus, CommitText, HarvestRefusal};
use crate::paths::Paths;
use crate::repos::{Repos, commit_text, from_git, wished_at};
use crate::secret_guard::SecretGuard;
use crate::specs;
use crate::task_file;
use crate::trouble::Trouble;

/// Why something cannot be taken; whoever made it is told and may mend it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It cannot be used.
    Because(String),
    /// It holds what looks like secrets: a person says whether it may.
    Secrets(Vec<SecretFinding>),
}

/// The artifact, or why it cannot be taken.
pub(crate) type Made = Result<Result<Artifact, Refused>, Trouble>;

const MAX_FILES_LISTED: usize = 500;
/// Bytes of a document.
const MAX_TEXT: usize = 512 * 1024;

/// Where a stage's artifacts are made.
pub(crate) struct Table<'a> {
    pub(crate) paths: &'a Paths,
    pub(crate) repos: &'a Repos,
    pub(crate) job: &'a Job,
    pub(crate) stage: &'a str,
    pub(crate) guard: &'a SecretGuard,
}

/// Code that an agent left in the workspace.
pub(crate) struct Code<'a> {
    pub(crate) kind: ArtifactKind,
    pub(crate) summary: &'a str,
    /// A file of Holdpoint's own that goes into the same commit, beside the run's other records.
    pub(crate) note: Option<(&'static str, String)>,
    /// Where the change that may be risky begins.
    pub(crate) since: &'a git::CommitId,
}

impl Table<'_> {
    /// A design with diagrams, under the run's number.
    pub(crate) fn spec(&self, title: &str, body: &str) -> Made {
        if let Err(error) = spec::Spec::parse(body) {
            return refused(format!("the plan cannot be used: {}", error.retry_prompt()));
        }
        let (title, body) = (one_line(&self.guard.without_secrets(title)), &*self.guard.without_secrets(body));
        let number = specs::number(self.paths, self.repos, &self.job.run)?;
        let path = format!(".autonomous/specs/{number:03}-{}.md", slug(&self.job.run.opened().request));
        let commit = self.commit_files(&[(path.clone(), body.as_bytes().to_vec())], format!("Plan: {title}"))?;
        Ok(Ok(self.artifact(ArtifactKind::Spec, Some(path), &commit, Digest::of([body]), title)?))
    }

    /// A plan of tasks: for machines as JSON, for people as Markdown with a drawing.
    pub(crate) fn plan(&self, plan: &Plan) -> Made {
        if let Err(error) = plan.check() {
            return refused(format!("the plan cannot be used: {error}"));
        }
        let mut json = serde_json::to_string_pretty(plan).map_err(|error| Trouble::of(&error))?;
        json.push('\n');
        let json = self.guard.without_secrets(&json);
        let drawn = self.guard.without_secrets(&plan.to_markdown());
        let (path, digest) = (self.record("plan.md"), Digest::of([json.as_str(), drawn.as_str()]));
        let files = [(self.record("plan.json"), json.into_bytes()), (path.clone(), drawn.into_bytes())];
        let tasks = plan.leaves().len();
        let title = format!(
            "{tasks} {}: {}",
            if tasks == 1 { "task" } else { "tasks" },
            one_line(&self.guard.without_secrets(&plan.summary))
        );
        let commit = self.commit_files(&files, format!("Plan: {title}"))?;
        Ok(Ok(self.artifact(ArtifactKind::Plan, Some(path), &commit, digest, title)?))
    }

    /// A document among the run's records.
    pub(crate) fn document(&self, kind: ArtifactKind, title: &str, body: &str) -> Made {
        let (file, what) = match kind {
            ArtifactKind::Requirement => ("requirement.md", "Requirement"),
            ArtifactKind::Scope => ("scope.md", "Scope"),
            ArtifactKind::Research => ("research.md", "Research"),
            ArtifactKind::ValidationReport => ("validation-report.md", "Validation"),
            ArtifactKind::Plan | ArtifactKind::Spec | ArtifactKind::Code | ArtifactKind::Handoff => {
                return refused(format!("a `{}` is not a document", kind.word()));
            }
        };
        if body.trim().is_empty() || body.len() > MAX_TEXT {
            return refused(format!("the {} has {} bytes; it needs 1 to {MAX_TEXT}", kind.word(), body.trim().len()));
        }
        // What a judge says of checks names this machine's folders.
        let body = &*match kind {
            ArtifactKind::ValidationReport => self.guard.redact(body),
            ArtifactKind::Requirement
            | ArtifactKind::Scope
            | ArtifactKind::Research
            | ArtifactKind::Plan
            | ArtifactKind::Spec
            | ArtifactKind::Code
            | ArtifactKind::Handoff => self.guard.without_secrets(body),
        };
        let (title, path) = (one_line(&self.guard.without_secrets(title)), self.record(file));
        let files = [(path.clone(), body.as_bytes().to_vec())];
        let commit = self.commit_files(&files, subject(&format!("{what}: {title}")))?;
        Ok(Ok(self.artifact(kind, Some(path), &commit, Digest::of([body]), title)?))
    }

    /// A plan for others, by who could have done the work: what they begin from is the branch, not the workspace.
    pub(crate) fn handed_out(&self, plan: &Plan) -> Made {
        let tree = match self.harvest()? {
            Ok(tree) => tree,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if self.repos.private.tree_of(&Repos::head(&self.job.run)?)? != tree {
            return refused(
                "files were changed, and the tasks would begin without that: undo the changes and hand out the tasks, \
                 or do the rest and hand over"
                    .to_owned(),
            );
        }
        self.plan(plan)
    }

    fn harvest(&self) -> Result<Result<git::TreeId, Refused>, Trouble> {
        let run = &*self.job.run;
        let mut exclude = run.opened().config.exclude_paths.clone();
        // Records, specs and policy are Holdpoint's to write; an agent's changes there count for nothing.
        exclude.push(".autonomous".to_owned());
        exclude.extend(task_file::excluded(run));
        match git::harvest(&self.repos.private, &self.paths.workspace(&run.id), &Repos::head(run)?, &exclude) {
            Ok(tree) => Ok(Ok(tree)),
            Err(HarvestRefusal::Git(error)) => Err(error.into()),
            Err(refusal) => Ok(Err(Refused::Because(format!("the workspace cannot be committed: {refusal}")))),
        }
    }

    /// What stands in the workspace.
    pub(crate) fn code(&self, code: &Code) -> Made {
        let head = Repos::head(&self.job.run)?;
        let mut tree = match self.harvest()? {
            Ok(tree) => tree,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if self.repos.private.tree_of(&head)? == tree {
            return refused("no file was changed; change what the plan asks for, then complete".to_owned());
        }
        let found = self.guard.in_tree(&self.repos.private, &head, &tree)?;
        if !found.is_empty() {
            return Ok(Err(Refused::Secrets(found)));
        }
        let mut path = None;
        if let Some((file, text)) = &code.note {
            let (file, text) = (self.record(file), self.guard.redact(text));
            tree = self.repos.private.tree_with(&tree, &[(file.clone(), text.into_bytes())])?;
            path = Some(file);
        }
        let summary = self.guard.redact(code.summary);
        let title = one_line(&summary);
        let text = self.text(format!("{}\n\n{summary}", subject(&title)));
        boundary("commit.before");
        let commit = self.repos.private.commit_tree(&self.repos.branch, &head, &tree, &text)?;
        boundary("commit.after");
        let changed = self.repos.private.diffstat(&head, &commit)?;
        let mut artifact = self.artifact(code.kind, path, &commit, Digest::of([tree.as_str()]), title)?;
        artifact.files = changed.into_iter().map(|change| change.path).take(MAX_FILES_LISTED).collect();
        artifact.risks = risks(self.repos, self.job, code.since, &commit)?;
        Ok(Ok(artifact))
    }

    pub(crate) fn artifact(
        &self,
        kind: ArtifactKind,
        path: Option<String>,
        commit: &git::CommitId,
        digest: Digest,
        title: String,
    ) -> Result<Artifact, Trouble> {
        let run = &*self.job.run;
        let earlier = run.artifacts.iter().filter(|artifact| artifact.stage == self.stage).count();
        Ok(Artifact {
            kind,
            stage: self.stage.to_owned(),
            version: u32::try_from(earlier + 1).unwrap_or(u32::MAX),
            path,
            commit: from_git(commit)?,
            digest,
            title,
            files: Vec::new(),
            risks: Vec::new(),
            created_at: wished_at(run, &self.job.id),
        })
    }

    fn record(&self, file: &str) -> String {
        format!(".autonomous/runs/{}/{file}", self.job.run.id)
    }

    fn commit_files(&self, files: &[(String, Vec<u8>)], message: String) -> Result<git::CommitId, Trouble> {
        let head = Repos::head(&self.job.run)?;
        boundary("commit.before");
        let commit = self.repos.private.commit_files(&self.repos.branch, &head, files, &self.text(message))?;
        boundary("commit.after");
        Ok(commit)
    }

    fn text(&self, message: String) -> CommitText {
        commit_text(&self.job.id, self.stage, self.guard.redact(&message), wished_at(&self.job.run, &self.job.id))
    }
}

fn refused(reason: String) -> Made {
    Ok(Err(Refused::Because(reason)))
}

/// What of a change a person should look at, by the run's policy.
fn risks(repos: &Repos, job: &Job, since: &git::CommitId, commit: &git::CommitId) -> Result<Vec<Risk>, Trouble> {
    let changes: Vec<FileChange> = repos.private.diffstat(since, commit)?.into_iter().map(change).collect();
    Ok(domain::assess(&changes, &job.run.opened().config.risk))
}

fn change(change: git::FileChange) -> FileChange {
    let binary = change.is_binary();
    let kind = match change.status {
        ChangeStatus::Added => ChangeKind::Added,
        ChangeStatus::Modified | ChangeStatus::TypeChanged => ChangeKind::Modified,
        ChangeStatus::Deleted => ChangeKind::Deleted,
        ChangeStatus::Renamed { from } => ChangeKind::Renamed { from },
    };
    FileChange {
        path: change.path,
        added: change.added.unwrap_or(0),
        removed: change.deleted.unwrap_or(0),
        kind,
        binary,
    }
}

/// The first line of a text, fit for a title.
pub(crate) fn one_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("untitled").trim();
    let clean: String = line.trim_start_matches('#').trim().chars().filter(|c| !c.is_control()).collect();
    if clean.chars().count() <= 100 { clean } else { clean.chars().take(99).chain(['…']).collect() }
}

pub(crate) fn subject(title: &str) -> String {
    if title.chars().count() <= 72 { title.to_owned() } else { title.chars().take(71).chain(['…']).collect() }
}
