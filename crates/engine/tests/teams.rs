//! Fifty runs of four tasks each, sixteen effects at once, over SQLite, with effects that fail at random: all of them
//! come to an end, and no rule is broken in any log.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::collections::BTreeMap;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use domain::{AgentEnd, ArtifactKind, Command, Outcome, Playbook, Run, RunConfig, RunId, Start, Status, check_family};
use engine::{EffectRunner, Engine, Job, NodeId, Parts, Slots, Store};
use store::Sqlite;
use testkit::moves::{decide, decisions, outcomes};
use testkit::samples;
use testkit::sim::Dice;

const RUNS: u64 = 50;

/// Ends nine of ten effects well and the rest in any way; its plans have four tasks, two of them dependent.
struct Moody(Mutex<Dice>);

impl EffectRunner for Moody {
    fn run(self: Arc<Self>, job: Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        let mut dice = self.0.lock().unwrap();
        let mut all = outcomes(&job.run, job.id.number, &job.effect);
        let mut outcome = if dice.percent(90) { all.swap_remove(0) } else { all.swap_remove(dice.below(all.len())) };
        if let Outcome::AgentEnded { end: AgentEnd::Submitted(submission), .. } = &mut outcome
            && submission.artifact.kind == ArtifactKind::Plan
        {
            let mut plan = samples::plan();
            let more: Vec<_> = plan
                .tasks
                .iter()
                .map(|task| {
                    let mut task = task.clone();
                    task.id = format!("{}-more", task.id);
                    task.depends_on = task.depends_on.iter().map(|id| format!("{id}-more")).collect();
                    task.files = vec![format!("src/{}.rs", task.id)];
                    task
                })
                .collect();
            plan.tasks.extend(more);
            submission.plan = Some(plan);
        }
        Box::pin(ready(outcome))
    }
}

fn runs(store: &dyn Store) -> BTreeMap<RunId, Vec<domain::Recorded>> {
    let mut logs: BTreeMap<RunId, Vec<domain::Recorded>> = BTreeMap::new();
    for item in store.feed(0, usize::MAX >> 1).unwrap() {
        logs.entry(item.run).or_default().push(item.recorded);
    }
    logs
}

/// People say yes, or what comes first, until everything is over; after many rounds they give up on what is left.
async fn answer(engine: &Engine, store: &dyn Store) {
    let mut positions = engine.positions();
    for round in 0.. {
        positions.mark_unchanged();
        let folded: Vec<Run> = runs(store).into_iter().map(|(id, log)| domain::replay(id, log)).collect();
        if folded.iter().all(|run| run.is_ended() && run.open_effects.is_empty()) {
            return;
        }
        let mut said = false;
        for run in folded.iter().filter(|run| run.hold().is_some()) {
            let mut all = decisions(run);
            let decision = if round < 200 { all.swap_remove(0) } else { all.pop().unwrap() };
            said |= engine.submit(run.id.clone(), decide(run, decision), None).await.is_ok();
        }
        if !said {
            positions.changed().await.unwrap();
        }
    }
}

#[tokio::test]
async fn fifty_runs_of_four_tasks_with_random_failures_break_no_rule() {
    let began = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(Sqlite::open(&folder.path().join("holdpoint.db")).unwrap());
    let parts = Parts {
        store: Arc::clone(&store),
        runner: Arc::new(Moody(Mutex::new(Dice::new(6)))),
        clock: Arc::new(|| samples::at(0)),
        slots: Slots { heavy: 16, light: 16 },
        entry: engine::EntryRule { per_user: 64, waiting: 1000 },
        node: NodeId("here".to_owned()),
        sole_process: true,
    };
    let engine = Engine::start(parts).unwrap();
    for n in 1..=RUNS {
        let config = RunConfig { skip_clarification: n % 2 == 0, ..samples::config() };
        let start = Start { playbook: Playbook::built_in("team").unwrap(), ..samples::start(config) };
        engine.submit(samples::run_id(n), Command::Start(Box::new(start)), None).await.unwrap();
    }
    answer(&engine, &*store).await;
    let logs = runs(&*store);
    assert_eq!(check_family(&logs), []);
    assert_eq!(store.outbox(None).unwrap(), []);
    let statuses = (1..=RUNS).map(|n| store.row(&samples::run_id(n)).unwrap().unwrap().status);
    let completed = statuses.filter(|status| *status == Status::Completed).count();
    let events: usize = logs.values().map(Vec::len).sum();
    println!(
        "{RUNS} runs, {} children, {events} events, {completed} completed, 0 breaks, {:.1} s",
        logs.len() as u64 - RUNS,
        began.elapsed().as_secs_f64()
    );
    assert!(logs.len() as u64 > RUNS * 4, "four tasks each: {}", logs.len());
}
