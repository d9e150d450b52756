//! Two processes on one file: nothing lost, nothing doubled. And a process killed at either side of a commit.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;
use std::process::Command as Process;

use domain::Command;
use engine::{Append, Appended, Batch, EntryRule, LeaseWish, NodeId, Store as _};
use store::Sqlite;
use testkit::{History, samples};

const RUNS: u64 = 20;

/// Every append of every run, in order; each process tries to write all of them.
fn script(runs: u64) -> Vec<Append> {
    let whole = |n| {
        let mut history = History::unopened(samples::run_id(n));
        let mut appends = vec![history.take(Command::Start(Box::new(samples::start(samples::config())))).unwrap()];
        appends.extend(history.go_on());
        appends
    };
    (1..=runs).flat_map(whole).collect()
}

/// Writes the script; how many of its appends were this writer's.
fn write_all(store: &Sqlite, runs: u64) -> usize {
    let mut mine = 0;
    for append in script(runs) {
        let committed = store.commit(&Batch { appends: vec![append], lease: None }).unwrap();
        match &committed.appended[0] {
            Appended::Done => mine += 1,
            Appended::Conflict => {}
            other => panic!("{other:?}"),
        }
    }
    mine
}

fn child(path: &Path, runs: u64) -> Process {
    let mut process = Process::new(std::env::current_exe().unwrap());
    process.args(["--exact", "the_other_process", "--nocapture"]);
    process.env("STORE_CHILD", path).env("STORE_CHILD_RUNS", runs.to_string());
    process
}

/// Does nothing unless it is started by one of the tests below.
#[test]
fn the_other_process() {
    let Some(path) = std::env::var_os("STORE_CHILD") else { return };
    let runs = std::env::var("STORE_CHILD_RUNS").unwrap().parse().unwrap();
    let mine = write_all(&Sqlite::open(Path::new(&path)).unwrap(), runs);
    println!("\nmine={mine}");
}

#[test]
fn two_processes_lose_and_double_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("holdpoint.db");
    let other = child(&path, RUNS).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let store = Sqlite::open(&path).unwrap();
    let mine = write_all(&store, RUNS);
    let output = other.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let theirs: usize = text.lines().find_map(|line| line.strip_prefix("mine=")).unwrap().parse().unwrap();
    let script = script(RUNS);
    assert_eq!(mine + theirs, script.len());
    let events: usize = script.iter().map(|append| append.events.len()).sum();
    assert_eq!(store.position().unwrap(), events as u64);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    for n in 1..=RUNS {
        let log = store.events(&samples::run_id(n), 0).unwrap();
        assert_eq!(domain::check_log(&samples::run_id(n), &log), []);
    }
}

#[test]
fn a_new_file_may_be_opened_by_many_at_once() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..20 {
        let (facts, talk) =
            (directory.path().join(format!("{round}.db")), directory.path().join(format!("{round}-c.db")));
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    Sqlite::open(&facts).unwrap();
                    store::Diary::open(&talk).unwrap();
                });
            }
        });
    }
}

#[test]
fn a_process_killed_before_a_commit_leaves_the_state_before_it() {
    check_killed_at(7, 3);
}

#[test]
fn a_process_killed_after_a_commit_leaves_the_state_after_it() {
    check_killed_at(8, 4);
}

/// Boundaries come in pairs, one before and one after each commit.
#[track_caller]
fn check_killed_at(boundary: u32, commits: usize) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("holdpoint.db");
    let status = child(&path, 1).env("HOLDPOINT_KILL_AT", boundary.to_string()).status().unwrap();
    assert!(!status.success());
    let store = Sqlite::open(&path).unwrap();
    let written: Vec<_> = script(1).into_iter().take(commits).collect();
    let events: Vec<_> = written.iter().flat_map(|append| append.events.clone()).collect();
    assert_eq!(store.events(&samples::run_id(1), 0).unwrap(), events);
    assert_eq!(store.row(&samples::run_id(1)).unwrap(), written.last().unwrap().row);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn two_handles_that_let_runs_in_at_once_never_pass_the_limit() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("holdpoint.db");
    let stores = [Sqlite::open(&path).unwrap(), Sqlite::open(&path).unwrap()];
    let start = |n| {
        let start = Command::Start(Box::new(samples::start(samples::config())));
        History::unopened(samples::run_id(n)).take(start).unwrap()
    };
    let rule = EntryRule { per_user: 7, waiting: 9 };
    let count = std::thread::scope(|scope| {
        let looks = stores.iter().zip([0, 100]).map(|(store, first)| {
            scope.spawn(move || {
                let node = NodeId(format!("node-{first}"));
                let (now, until) = (samples::at(0), samples::at(60_000));
                // Each starts runs of its own, and looks with every start for as many as it could take.
                let look = |n| {
                    let entry = Some(rule);
                    let wish = LeaseWish { node: node.clone(), now, until, heavy: 0, light: 4, entry };
                    store.commit(&Batch { appends: vec![start(first + n)], lease: Some(wish) }).unwrap().leased.len()
                };
                (1..=RUNS).map(look).sum::<usize>()
            })
        });
        let looks: Vec<_> = looks.collect();
        looks.into_iter().map(|look| look.join().unwrap()).sum::<usize>()
    });
    assert_eq!(count, 7);
    let outbox = stores[0].outbox(None).unwrap();
    assert_eq!(outbox.iter().filter(|open| open.lease.is_some()).count(), 7);
    assert_eq!(outbox.len() as u64, 2 * RUNS);
}
