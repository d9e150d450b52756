//! Runners that do nothing in the world: one follows a script, one agrees to everything.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use domain::{
    AgentEnd, AgentTask, ArtifactKind, Digest, Effect, EffectId, Outcome, Purpose, Run, RunId, Severity, Submission,
    Verdict, Work,
};
use engine::{EffectRunner, Job};

use crate::samples;

/// Ends every effect as its script says, by the effect's word; what is not scripted fails.
#[derive(Default)]
pub struct ScriptedRunner {
    script: Mutex<HashMap<&'static str, VecDeque<Outcome>>>,
    ran: Mutex<Vec<EffectId>>,
}

impl ScriptedRunner {
    /// Adds an outcome for the next effect of that word.
    pub fn then(&self, word: &'static str, outcome: Outcome) {
        let mut script = self.script.lock().expect("no test panics while scripting");
        script.entry(word).or_default().push_back(outcome);
    }

    /// What was run, in order.
    #[must_use]
    pub fn ran(&self) -> Vec<EffectId> {
        self.ran.lock().expect("no test panics while counting").clone()
    }
}

impl EffectRunner for ScriptedRunner {
    fn run(self: Arc<Self>, job: Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        self.ran.lock().expect("no test panics while counting").push(job.id.clone());
        let word = job.effect.word();
        let mut script = self.script.lock().expect("no test panics while scripting");
        let next = script.get_mut(word).and_then(VecDeque::pop_front);
        let unscripted = || Outcome::Failed { message: format!("nothing is scripted for `{word}`"), hint: None };
        Box::pin(ready(next.unwrap_or_else(unscripted)))
    }
}

/// Ends every effect well and at once, and counts how often each was asked for.
#[derive(Default)]
pub struct AgreeableRunner {
    runs: Mutex<BTreeMap<EffectId, u32>>,
}

impl AgreeableRunner {
    /// How often each effect was run.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<EffectId, u32> {
        self.runs.lock().expect("no test panics while counting").clone()
    }
}

impl EffectRunner for AgreeableRunner {
    fn run(self: Arc<Self>, job: Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        let outcome = agree(&job.run, job.id.number, &job.effect);
        *self.runs.lock().expect("no test panics while counting").entry(job.id).or_default() += 1;
        Box::pin(ready(outcome))
    }
}

/// The good end of an effect.
#[must_use]
pub fn agree(run: &Run, number: u32, effect: &Effect) -> Outcome {
    let n = u64::from(number);
    match effect {
        Effect::OpenBranch | Effect::OpenChildBranch => Outcome::BranchOpened { base: samples::commit(n) },
        Effect::OpenFork { .. } => Outcome::ForkOpened { carried: true },
        Effect::RunAgent(AgentTask { purpose: Purpose::Answer { .. }, .. }) => {
            ended(AgentEnd::Answered { text: "because".to_owned() })
        }
        Effect::RunAgent(AgentTask { purpose: Purpose::Sit, .. }) => ended(AgentEnd::Left),
        Effect::RunAgent(task) => submit(run, &task.stage, n),
        Effect::Prove { commit, .. } => {
            Outcome::Proved { proof: domain::Proof { commit: commit.clone(), ..samples::proof(n, 0) } }
        }
        Effect::StopAgent { .. } => Outcome::AgentStopped { wip: Some(samples::commit(n)) },
        Effect::CommitArtifact { stage, kind, .. } => {
            Outcome::ArtifactCommitted { artifact: Box::new(samples::artifact(*kind, stage, 1, n)) }
        }
        Effect::Adopt { stage } => {
            Outcome::Adopted { artifact: Box::new(samples::artifact(ArtifactKind::Code, stage, 1, n)) }
        }
        Effect::StartChild(child) => {
            Outcome::ChildStarted { child: RunId::child_of(&run.id, &child.task, child.attempt, 0) }
        }
        Effect::MergeChild(merge) => Outcome::ChildMerged {
            commit: samples::commit(n),
            digest: Digest::of([merge.task.as_str()]),
            files: vec![format!("src/{}.rs", merge.task)],
        },
        Effect::TellChild { .. } | Effect::TellAgent { .. } | Effect::TellParent => Outcome::Told,
        Effect::OpenPullRequest { .. } => {
            Outcome::PullRequestOpened { url: "https://forge.example/ada/shop/pull/1".to_owned() }
        }
        Effect::Publish { .. } => Outcome::Published,
        Effect::WriteRecord => {
            Outcome::RecordWritten { commit: samples::commit(n), memory: Some(run.memory_entry().digest()) }
        }
        Effect::Land(policy) => Outcome::Landed { commit: samples::commit(n), proof: None, onto: policy.onto.clone() },
        Effect::PushRemote { .. } => Outcome::Pushed { remote: Some("origin".to_owned()) },
        Effect::CleanUp => Outcome::CleanedUp,
    }
}

fn submit(run: &Run, stage: &str, n: u64) -> Outcome {
    let index = run.opened().playbook.index_of(stage).expect("effects name stages of their playbook");
    let work = &run.stage(index).work;
    if matches!(work, Work::Converse { .. }) {
        return ended(AgentEnd::Said { ready: true, message: "Add login with OAuth, with tests".to_owned() });
    }
    let kind = work.artifact().expect("an agent works only in stages that leave something");
    let review = matches!(work, Work::Judge { .. }).then(|| samples::review(Verdict::Pass, Severity::Minor));
    let reflection = matches!(work, Work::Pursue { .. }).then(|| samples::reflection(100));
    let plan = (kind == ArtifactKind::Plan).then(samples::plan);
    let version = run.stages[index].visits;
    let artifact = samples::artifact(kind, stage, version, n);
    let decisions = Vec::new();
    let submission = Submission { artifact, summary: "done".to_owned(), decisions, review, plan, reflection };
    ended(AgentEnd::Submitted(Box::new(submission)))
}

fn ended(end: AgentEnd) -> Outcome {
    Outcome::AgentEnded { end, tier: Some("sandboxed".to_owned()), program: None, wip: None }
}
