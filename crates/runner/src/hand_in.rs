//! What an agent handed in becomes a commit on the run's branch, or is refused with a reason for the agent.

use domain::{AgentTask, ArtifactKind, DecisionNote, Submission, Verdict};
use drivers::{HandIn, HandoffHandIn, JobKind, ReflectionHandIn};
use engine::Job;

use crate::artifacts::{Code, Made, Refused, Table, one_line};
use crate::brief;
use crate::cards;
use crate::paths::Paths;
use crate::report;
use crate::repos::{Repos, to_git};
use crate::secret_guard::SecretGuard;
use crate::trouble::Trouble;

type Taken = Result<Result<Submission, Refused>, Trouble>;

pub(crate) fn commit(paths: &Paths, job: &Job, task: &AgentTask, work: HandIn, guard: &SecretGuard) -> Taken {
    let repos = Repos::open(paths, &job.run)?;
    let table = Table { paths, repos: &repos, job, stage: &task.stage, guard };
    let since = match &task.since {
        Some(approved) => to_git(approved)?,
        None => Repos::base_commit(&job.run)?,
    };
    match work {
        HandIn::Plan(plan) => taken(table.spec(&plan.title, &plan.body), String::new(), plan.decisions),
        HandIn::Tasks(tasks) => {
            let leads = brief::kind_of(&job.run, task)? == JobKind::Lead;
            let made = if leads { table.handed_out(&tasks.plan) } else { table.plan(&tasks.plan) };
            let made = taken(made, tasks.plan.summary.clone(), tasks.decisions);
            with(made, |submission| submission.plan = Some(tasks.plan))
        }
        HandIn::Scope(scope) => {
            let title = if scope.summary.is_empty() { scope.in_scope.join("; ") } else { scope.summary.clone() };
            let made = table.document(ArtifactKind::Scope, &title, &cards::scope(&scope));
            taken(made, scope.summary, scope.decisions)
        }
        HandIn::Research(found) => {
            let title = if found.summary.is_empty() { found.recommendations.join("; ") } else { found.summary.clone() };
            let made = table.document(ArtifactKind::Research, &title, &cards::research(&found));
            taken(made, found.summary, found.decisions)
        }
        HandIn::Pulse(pulse) => {
            let code = Code { kind: ArtifactKind::Code, summary: &pulse.summary, note: None, since: &since };
            taken(table.code(&code), pulse.summary.clone(), pulse.decisions)
        }
        HandIn::Handoff(handoff) => {
            let note = Some(("handoff.md", cards::handoff(&handoff)));
            let HandoffHandIn { summary, decisions, .. } = handoff;
            let code = Code { kind: ArtifactKind::Handoff, summary: &summary, note, since: &since };
            taken(table.code(&code), summary.clone(), decisions)
        }
        HandIn::Reflection(ReflectionHandIn { reflection, decisions }) => {
            let summary = reflection.content.clone();
            let code = Code { kind: ArtifactKind::Code, summary: &summary, note: None, since: &since };
            with(taken(table.code(&code), summary.clone(), decisions), |made| made.reflection = Some(reflection))
        }
        HandIn::Review(review) => {
            let verdict = match review.verdict {
                Verdict::Pass => "passed",
                Verdict::Fail => "failed",
            };
            let title = format!("validation {verdict}: {}", one_line(&review.summary));
            let body = report::validation(&job.run, &review);
            let made = table.document(ArtifactKind::ValidationReport, &title, &body);
            with(taken(made, review.summary.clone(), Vec::new()), |made| made.review = Some(review))
        }
        HandIn::Said { .. }
        | HandIn::Answer { .. }
        | HandIn::Questions { .. }
        | HandIn::Extension { .. }
        | HandIn::ModelFailed { .. }
        | HandIn::QuotaSpent { .. }
        | HandIn::BudgetSpent { .. }
        | HandIn::Permission { .. }
        | HandIn::GaveUp { .. } => Ok(Err(Refused::Because("nothing was handed in".to_owned()))),
    }
}

fn taken(made: Made, summary: String, decisions: Vec<DecisionNote>) -> Taken {
    let submission = |artifact| Submission { artifact, summary, decisions, review: None, plan: None, reflection: None };
    Ok(made?.map(submission))
}

fn with(taken: Taken, add: impl FnOnce(&mut Submission)) -> Taken {
    Ok(taken?.map(|mut submission| {
        add(&mut submission);
        submission
    }))
}
