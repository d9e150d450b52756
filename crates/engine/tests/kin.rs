//! Parents and children over a real store, with hands that do nothing in the world.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::future::{Future, pending, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use domain::{Command, Decide, Decision, Effect, Outcome, Playbook, Run, RunId, Start, TaskStatus};
use engine::{EffectRunner, Engine, EntryRule, Job, NodeId, Parts, Slots};
use testkit::{MemoryStore, agree, samples};

/// Agrees to everything, except that the implementers of children never come to an end.
struct Thoughtful;

impl EffectRunner for Thoughtful {
    fn run(self: Arc<Self>, job: Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        let at_work = matches!(job.effect, Effect::RunAgent(_)) && job.run.opened().parent.is_some();
        if at_work {
            return Box::pin(pending());
        }
        let mut outcome = agree(&job.run, job.id.number, &job.effect);
        if let Outcome::AgentEnded { end: domain::AgentEnd::Submitted(submission), .. } = &mut outcome
            && let Some(plan) = &mut submission.plan
        {
            plan.tasks.iter_mut().for_each(|task| task.depends_on.clear());
        }
        Box::pin(ready(outcome))
    }
}

fn begin() -> Engine {
    let parts = Parts {
        store: Arc::new(MemoryStore::default()),
        runner: Arc::new(Thoughtful),
        clock: Arc::new(|| samples::at(0)),
        slots: Slots { heavy: 8, light: 8 },
        entry: EntryRule::default(),
        node: NodeId("here".to_owned()),
        sole_process: true,
    };
    Engine::start(parts).unwrap()
}

async fn until(engine: &Engine, id: &RunId, wanted: impl Fn(&Run) -> bool) -> Run {
    let mut positions = engine.positions();
    loop {
        positions.mark_unchanged();
        if let Some(run) = engine.load(id).await.unwrap().filter(&wanted) {
            return run;
        }
        positions.changed().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_task_that_may_start_does_so_without_waiting_for_a_look_around() {
    let engine = begin();
    let id = samples::run_id(1);
    let mut config = samples::config();
    config.skip_clarification = true;
    let start = Start { playbook: Playbook::built_in("team").unwrap(), ..samples::start(config) };
    engine.submit(id.clone(), Command::Start(Box::new(start)), None).await.unwrap();
    let run = until(&engine, &id, |run| run.hold().is_some()).await;
    let hold = run.hold().unwrap();
    let decision = Decision::Approve { notes: None };
    let yes = Decide { hold: hold.id, digest: hold.digest.clone(), decision, by: samples::actor("ada") };
    engine.submit(id.clone(), Command::Decide(yes), None).await.unwrap();
    let all_at_work =
        |run: &Run| !run.tasks.is_empty() && run.tasks.iter().all(|task| task.status == TaskStatus::Working);
    // The look around that would hide a forgotten effect comes every ten seconds.
    let run = tokio::time::timeout(Duration::from_secs(6), until(&engine, &id, all_at_work)).await.unwrap();
    let by = samples::actor("ada");
    engine.submit(id.clone(), Command::Cancel { by, reason: None }, None).await.unwrap();
    for task in &run.tasks {
        until(&engine, task.child.as_ref().unwrap(), Run::is_ended).await;
    }
    engine.stop().await;
}
