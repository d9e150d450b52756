//! Stories told by a few events, and the figures over them.

use domain::{Actor, CommitId, Digest, Hold, Parent, Playbook};

use super::*;

const DAY: i64 = 24 * 60 * 60;
/// A Wednesday.
const NOW: i64 = 1_763_510_400;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn id(number: u64) -> RunId {
    RunId::from_bits(number)
}

fn ada() -> Actor {
    Actor { name: "ada".to_owned(), channel: "cli".to_owned() }
}

fn commit() -> CommitId {
    "a".repeat(40).parse().unwrap()
}

fn started(playbook: &str, parent: Option<u64>) -> Event {
    let parent = parent.map(|number| Parent {
        run: id(number),
        branch: "autonomous/x".to_owned(),
        task: "store".to_owned(),
        number: 1,
        attempt: 1,
        at: commit(),
        problem: None,
        resolve: Vec::new(),
    });
    let config = serde_json::json!({
        "trust": {"planning": "auto", "implementation": "auto", "fixes": "auto"}, "maxClarifications": 3, "models": {},
        "git": {"baseBranch": "main", "autoMerge": true, "push": false}, "budget": null,
    });
    Event::RunStarted {
        project: "/repo".to_owned(),
        request: "Add search".to_owned(),
        playbook: Playbook::built_in(playbook).unwrap(),
        config: serde_json::from_value(config).unwrap(),
        branch: "autonomous/x".to_owned(),
        by: ada(),
        parent,
        forked_from: None,
    }
}

fn paid(model: &str, micros: u64) -> Event {
    Event::SpendRecorded {
        effect: 1,
        call: 1,
        model: model.to_owned(),
        input_tokens: 1,
        output_tokens: 1,
        cost: Some(Micros(micros)),
        reported_by: None,
    }
}

fn held(hold: u64, kind: HoldKind) -> Event {
    let hold: Hold = serde_json::from_value(serde_json::json!({
        "id": hold, "kind": kind, "stage": null, "since": at(0), "summary": "s", "digest": Digest::of(["x"]),
        "allowed": [],
    }))
    .unwrap();
    Event::HoldPlaced { hold }
}

fn decided(hold: u64) -> Event {
    let digest = Digest::of(["x"]);
    Event::DecisionMade { hold: HoldId(hold), digest, by: ada(), decision: domain::Decision::Resume }
}

fn merged() -> Event {
    Event::BranchMerged { commit: commit(), validated: commit(), onto: None }
}

fn completed() -> Event {
    Event::RunCompleted { commit: commit() }
}

fn visited(visit: u32) -> Event {
    Event::StageStarted { stage: "implementation".to_owned(), visit }
}

/// What happened, as run, second and event.
fn told(events: Vec<(u64, i64, Event)>) -> Stories {
    let mut stories = Stories::default();
    for (run, second, event) in events {
        stories.tell(&id(run), &Recorded { sequence: 1, at: at(second), event });
    }
    stories
}

#[test]
fn success_time_and_money_are_of_the_runs_that_ended() {
    let stories = told(vec![
        (1, NOW - 600, started("autonomous", None)),
        (1, NOW - 500, paid("a/one", 2_000_000)),
        (1, NOW - 310, merged()),
        (1, NOW - 300, completed()),
        (2, NOW - 400, started("autonomous", None)),
        (2, NOW - 390, paid("a/two", 1_000_000)),
        (2, NOW - 100, Event::RunFailed { reason: "no".to_owned() }),
        (3, NOW - 50, started("autonomous", None)),
    ]);
    let view = stories.view(None, 4, at(NOW));
    let total = &view.total;
    assert_eq!((view.open, total.ended, total.completed, total.failed, total.merged), (1, 2, 1, 1, 1));
    assert_eq!((total.success_rate, total.median_seconds), (Some(0.5), Some(300)));
    assert_eq!((total.usd, total.usd_per_run, total.usd_per_merged), (3.0, Some(1.5), Some(3.0)));
    let names: Vec<(&str, f64)> = view.models.iter().map(|one| (one.name.as_str(), one.figures.usd)).collect();
    assert_eq!(names, [("a/one", 2.0), ("a/two", 1.0)]);
}

#[test]
fn the_run_of_a_task_is_a_part_of_the_run_it_was_started_for() {
    let stories = told(vec![
        (1, NOW - 600, started("team", None)),
        (2, NOW - 500, started("subtask", Some(1))),
        (3, NOW - 490, started("subtask", Some(2))),
        (3, NOW - 480, paid("a/one", 5_000_000)),
        (3, NOW - 470, held(7, HoldKind::Permission)),
        (3, NOW - 460, decided(7)),
        (2, NOW - 400, completed()),
        (1, NOW - 300, completed()),
    ]);
    let view = stories.view(None, 1, at(NOW));
    assert_eq!((view.total.ended, view.total.usd, view.total.decisions), (1, 5.0, 1));
    assert_eq!(view.playbooks.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["team"]);
    assert_eq!(
        view.holds[0],
        WaitView { kind: "permission".to_owned(), decisions: 1, median_seconds: 10, p90_seconds: 10 }
    );
    assert_eq!(stories.projects(|_| true).iter().map(|one| (one.runs, one.usd)).collect::<Vec<_>>(), [(1, 5.0)]);
}

#[test]
fn what_a_fork_begins_with_is_counted_where_it_was_done() {
    let mut begun = started("autonomous", None);
    if let Event::RunStarted { forked_from, .. } = &mut begun {
        *forked_from = Some(ForkedFrom { run: id(1), at: 3 });
    }
    let mut stories = Stories::default();
    let log = [
        begun,
        paid("a/one", 2_000_000),
        held(3, HoldKind::Approval),
        decided(3),
        paid("a/one", 1_000_000),
        completed(),
    ];
    for (event, sequence) in log.into_iter().zip(1..) {
        stories.tell(&id(2), &Recorded { sequence, at: at(NOW - 100), event });
    }
    let total = stories.view(None, 1, at(NOW)).total;
    assert_eq!((total.ended, total.usd, total.decisions), (1, 1.0, 0));
}

#[test]
fn a_pause_of_ones_own_is_no_wait_for_a_decision() {
    let stories = told(vec![
        (1, NOW - 900, started("autonomous", None)),
        (1, NOW - 800, held(2, HoldKind::Paused)),
        (1, NOW - 500, decided(2)),
        (1, NOW - 400, completed()),
    ]);
    let view = stories.view(None, 1, at(NOW));
    assert_eq!((view.total.decisions, view.total.decision_median_seconds, view.holds.len()), (0, None, 0));
}

#[test]
fn iterations_are_those_of_the_stage_done_most_often() {
    let stories = told(vec![
        (1, NOW - 900, started("autonomous", None)),
        (1, NOW - 800, visited(1)),
        (1, NOW - 700, visited(3)),
        (1, NOW - 600, visited(2)),
        (1, NOW - 500, completed()),
        (2, NOW - 400, started("autonomous", None)),
        (2, NOW - 300, visited(1)),
        (2, NOW - 200, completed()),
    ]);
    let total = stories.view(None, 1, at(NOW)).total;
    assert_eq!((total.iterations, total.first_time), (Some(2.0), Some(0.5)));
}

#[test]
fn weeks_begin_on_mondays_and_empty_ones_are_told_too() {
    let stories = told(vec![
        (1, NOW - 20 * DAY, started("autonomous", None)),
        (1, NOW - 15 * DAY, completed()),
        (2, NOW - 100 * DAY, started("autonomous", None)),
        (2, NOW - 99 * DAY, completed()),
    ]);
    let view = stories.view(None, 4, at(NOW));
    let weeks: Vec<(&str, u64)> = view.weeks.iter().map(|one| (one.name.as_str(), one.figures.ended)).collect();
    assert_eq!(weeks, [("2025-10-27", 0), ("2025-11-03", 1), ("2025-11-10", 0), ("2025-11-17", 0)]);
    assert_eq!(view.total.ended, 1, "what ended before the first week does not count");
    assert_eq!(view.since, "2025-10-27T00:00:00Z".parse().unwrap());
}

#[test]
fn other_repositories_are_left_out_where_one_is_asked_for() {
    let stories = told(vec![(1, NOW - 20, started("autonomous", None)), (1, NOW - 10, completed())]);
    assert_eq!(stories.view(Some("/other"), 1, at(NOW)).total, FiguresView::default());
    assert_eq!(stories.view(Some("/repo"), 1, at(NOW)).total.ended, 1);
}

#[test]
fn nine_of_ten_are_as_quick_as_the_ninetieth_rank() {
    let sorted: Vec<i64> = (1..=10).collect();
    assert_eq!(
        (rank(&sorted, 50), rank(&sorted, 90), rank(&[], 50), rank(&[7], 90)),
        (Some(5), Some(9), None, Some(7))
    );
}

#[test]
fn every_type_that_is_asked_for_is_one_that_is_stored() {
    for kind in TYPES {
        let stored = serde_json::json!({"type": kind, "payload": {}});
        let error = serde_json::from_value::<Event>(stored).unwrap_err().to_string();
        assert!(error.starts_with("missing field"), "{kind}: {error}");
    }
}
