//! Measurements, run by hand: `cargo nextest run -p store --release --run-ignored only --no-capture`.

use std::time::Instant;

use domain::{Command, Effect, Event, Recorded};
use engine::{Append, Batch, Fence, Lease, NodeId, Row, Store as _, TimerChange};
use store::Sqlite;
use testkit::{History, samples};

const BATCH: usize = 128;
const ROUNDS: u64 = 100;

fn lease() -> Lease {
    Lease { node: NodeId("a".to_owned()), until: samples::at(1_000_000), epoch: 1 }
}

/// The report of one effect and the wish for the next: three events, one effect out, one in, one row.
fn report(row: &mut Row, number: u32) -> Append {
    let expected = row.version;
    let finished = Event::EffectFinished {
        number,
        result: "published".to_owned(),
        tier: None,
        program: None,
        wip: None,
        problem: None,
    };
    let published = Event::BranchPublished { commit: samples::commit(u64::from(number)) };
    let effect = Effect::Publish { commit: samples::commit(u64::from(number) + 1) };
    let requested = Event::EffectRequested { number: number + 1, effect: effect.clone() };
    let recorded = |(event, sequence)| Recorded { sequence, at: samples::at(5), event };
    row.version += 3;
    Append {
        run: row.id.clone(),
        expected,
        events: [finished, published, requested].into_iter().zip(expected + 1..).map(recorded).collect(),
        added: vec![(number + 1, effect, Some(lease()))],
        removed: vec![number],
        fence: Some(Fence { number, epoch: 1 }),
        timer: TimerChange::Keep,
        row: Some(row.clone()),
        key: None,
    }
}

#[test]
#[ignore = "a measurement"]
fn appends_per_second() {
    let directory = tempfile::tempdir().unwrap();
    let store = Sqlite::open(&directory.path().join("holdpoint.db")).unwrap();
    let mut rows = Vec::new();
    for n in 0..BATCH as u64 {
        let mut history = History::unopened(samples::run_id(n));
        let mut append = history.take(Command::Start(Box::new(samples::start(samples::config())))).unwrap();
        append.added[0].2 = Some(lease());
        rows.push(append.row.clone().unwrap());
        store.commit(&Batch { appends: vec![append], lease: None }).unwrap();
    }
    let mut batches = Vec::new();
    for round in 0..ROUNDS {
        let number = u32::try_from(round).unwrap() + 1;
        let appends = rows.iter_mut().map(|row| report(row, number)).collect();
        batches.push(Batch { appends, lease: None });
    }
    let begin = Instant::now();
    for batch in &batches {
        let committed = store.commit(batch).unwrap();
        assert!(committed.appended.iter().all(|appended| *appended == engine::Appended::Done));
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!("{:.0} appends/s at batch {BATCH}", (BATCH as u64 * ROUNDS) as f64 / seconds);
}

#[test]
#[ignore = "a measurement"]
fn opening_an_existing_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("holdpoint.db");
    drop(Sqlite::open(&path).unwrap());
    let begin = Instant::now();
    for _ in 0..100 {
        drop(Sqlite::open(&path).unwrap());
    }
    println!("{:.2} ms per open and close", begin.elapsed().as_secs_f64() * 10.0);
}
