//! What an agent handed in becomes a commit on the run's branch, or is refused with a reason for the agent.

use domain::{AgentTask, Artifact, ArtifactKind, Digest, Submission, slug};
use drivers::{HandIn, PlanHandIn, PulseHandIn};
use engine::{Job, boundary};

use crate::git::{self, CommitText, HarvestRefusal};
use crate::paths::Paths;
use crate::report;
use crate::repos::{Repos, commit_text, from_git, wished_at};
use crate::specs;
use crate::trouble::Trouble;

/// Why the work cannot be taken; the agent is told and may mend it.
pub(crate) struct Refused(pub(crate) String);

type Taken = Result<Result<Submission, Refused>, Trouble>;

const MAX_FILES_LISTED: usize = 500;

pub(crate) fn commit(paths: &Paths, job: &Job, task: &AgentTask, work: HandIn) -> Taken {
    let repos = Repos::open(paths, &job.run)?;
    let hands = Table { paths, repos: &repos, job, task };
    match work {
        HandIn::Plan(plan) => hands.plan(plan),
        HandIn::Pulse(pulse) => hands.pulse(pulse),
        HandIn::Review(review) => hands.review(review),
        HandIn::Questions { .. } | HandIn::ModelFailed { .. } | HandIn::BudgetSpent { .. } | HandIn::GaveUp { .. } => {
            Ok(Err(Refused("nothing was handed in".to_owned())))
        }
    }
}

struct Table<'a> {
    paths: &'a Paths,
    repos: &'a Repos,
    job: &'a Job,
    task: &'a AgentTask,
}

impl Table<'_> {
    fn plan(&self, plan: PlanHandIn) -> Taken {
        let PlanHandIn { title, body, decisions } = plan;
        if let Err(error) = spec::Spec::parse(&body) {
            return Ok(Err(Refused(format!("the plan cannot be used: {}", error.retry_prompt()))));
        }
        let title = one_line(&title);
        let number = specs::number(self.paths, self.repos, &self.job.run)?;
        let path = format!(".autonomous/specs/{number:03}-{}.md", slug(&self.job.run.opened().request));
        let files = [(path.clone(), body.clone().into_bytes())];
        let text = self.text(format!("Plan: {title}"));
        let commit = self.commit_files(&files, &text)?;
        let artifact =
            self.artifact(ArtifactKind::Spec, Some(path), &commit, Digest::of([body.as_str()]), title, Vec::new())?;
        Ok(Ok(Submission { artifact, summary: String::new(), decisions, review: None, plan: None, reflection: None }))
    }

    fn pulse(&self, pulse: PulseHandIn) -> Taken {
        let run = &*self.job.run;
        let head = Repos::head(run)?;
        let workspace = self.paths.workspace(&run.id);
        let mut exclude = run.opened().config.exclude_paths.clone();
        // Records, specs and policy are Holdpoint's to write; an agent's changes there count for nothing.
        exclude.push(".autonomous".to_owned());
        let tree = match git::harvest(&self.repos.private, &workspace, &head, &exclude) {
            Ok(tree) => tree,
            Err(HarvestRefusal::Git(error)) => return Err(error.into()),
            Err(refusal) => return Ok(Err(Refused(format!("the workspace cannot be committed: {refusal}")))),
        };
        if self.repos.private.tree_of(&head)? == tree {
            return Ok(Err(Refused("no file was changed; change what the plan asks for, then complete".to_owned())));
        }
        let title = one_line(&pulse.summary);
        let text = self.text(format!("{}\n\n{}", subject(&title), pulse.summary));
        boundary("commit.before");
        let commit = self.repos.private.commit_tree(&self.repos.branch, &head, &tree, &text)?;
        boundary("commit.after");
        let changed = self.repos.private.diffstat(&head, &commit)?;
        let files = changed.into_iter().map(|change| change.path).take(MAX_FILES_LISTED).collect();
        let artifact = self.artifact(ArtifactKind::Code, None, &commit, Digest::of([tree.as_str()]), title, files)?;
        Ok(Ok(Submission {
            artifact,
            summary: pulse.summary,
            decisions: pulse.decisions,
            review: None,
            plan: None,
            reflection: None,
        }))
    }

    fn review(&self, review: domain::Review) -> Taken {
        let run = &*self.job.run;
        let path = format!(".autonomous/runs/{}/validation-report.md", run.id);
        let body = report::validation(run, &review);
        let files = [(path.clone(), body.clone().into_bytes())];
        let verdict = match review.verdict {
            domain::Verdict::Pass => "passed",
            domain::Verdict::Fail => "failed",
        };
        let commit = self.commit_files(&files, &self.text(format!("Validation {verdict}")))?;
        let title = format!("validation {verdict}: {}", one_line(&review.summary));
        let digest = Digest::of([body.as_str()]);
        let artifact = self.artifact(ArtifactKind::ValidationReport, Some(path), &commit, digest, title, Vec::new())?;
        Ok(Ok(Submission {
            artifact,
            summary: review.summary.clone(),
            decisions: Vec::new(),
            review: Some(review),
            plan: None,
            reflection: None,
        }))
    }

    fn commit_files(&self, files: &[(String, Vec<u8>)], text: &CommitText) -> Result<git::CommitId, Trouble> {
        let head = Repos::head(&self.job.run)?;
        boundary("commit.before");
        let commit = self.repos.private.commit_files(&self.repos.branch, &head, files, text)?;
        boundary("commit.after");
        Ok(commit)
    }

    fn text(&self, message: String) -> CommitText {
        commit_text(&self.job.id, &self.task.stage, message, wished_at(&self.job.run, &self.job.id))
    }

    fn artifact(
        &self,
        kind: ArtifactKind,
        path: Option<String>,
        commit: &git::CommitId,
        digest: Digest,
        title: String,
        files: Vec<String>,
    ) -> Result<Artifact, Trouble> {
        let run = &*self.job.run;
        let earlier = run.artifacts.iter().filter(|artifact| artifact.stage == self.task.stage).count();
        Ok(Artifact {
            kind,
            stage: self.task.stage.clone(),
            version: u32::try_from(earlier + 1).unwrap_or(u32::MAX),
            path,
            commit: from_git(commit)?,
            digest,
            title,
            files,
            risks: Vec::new(),
            created_at: wished_at(run, &self.job.id),
        })
    }
}

/// The first line of a text, fit for a title.
pub(crate) fn one_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("untitled").trim();
    let clean: String = line.trim_start_matches('#').trim().chars().filter(|c| !c.is_control()).collect();
    if clean.chars().count() <= 100 { clean } else { clean.chars().take(99).chain(['…']).collect() }
}

fn subject(title: &str) -> String {
    if title.chars().count() <= 72 { title.to_owned() } else { title.chars().take(71).chain(['…']).collect() }
}
