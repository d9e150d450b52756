//! Iterations towards a goal: the phases, the tasks, and sub-agents.

use domain::PursuitStep;
use drivers::{AgentEvent, HandIn, JobKind, ObservationKind};
use serde_json::{Value, json};

use crate::fake::{Fake, Turn, write};

type Made = (&'static str, Value);

fn turn(calls: Vec<Made>) -> Turn {
    Turn::Says("", calls)
}

fn plan() -> Made {
    (
        "plan_tasks",
        json!({"tasks": [{"id": "1", "description": "Make it"}, {"id": "2", "description": "Show it",
        "dependencies": ["1"]}]}),
    )
}

fn update(id: &str, status: &str) -> Made {
    ("update_task", json!({"id": id, "status": status}))
}

fn observe() -> Made {
    ("observe", json!({}))
}

fn reflect(achieved: bool, progress: f64) -> Made {
    ("reflect", json!({"goal_achieved": achieved, "progress": progress, "content": "so far", "next_action": "go on"}))
}

fn file(name: &'static str) -> Made {
    ("write_file", json!({"path": name, "content": "x"}))
}

fn steps(events: &[AgentEvent]) -> Vec<String> {
    let told = |event: &AgentEvent| match event {
        AgentEvent::Pursued { step: PursuitStep::Phase { phase } } => Some(phase.word().to_owned()),
        AgentEvent::Pursued { step: PursuitStep::Planned { tasks } } => Some(format!("{} tasks", tasks.len())),
        AgentEvent::Pursued { step: PursuitStep::Updated { task } } => {
            Some(format!("{} {}", task.id, task.status.word()))
        }
        _ => None,
    };
    events.iter().filter_map(told).collect()
}

/// What the model was told last about a call.
fn told(fake: &Fake, at: usize) -> String {
    fake.requests()[at]["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_iteration_goes_through_its_phases_and_tells_each() {
    let mut fake = Fake::new(vec![
        turn(vec![plan()]),
        turn(vec![update("1", "running"), file("a.txt")]),
        turn(vec![update("1", "completed"), observe()]),
        turn(vec![reflect(false, 0.5)]),
    ])
    .await;
    let job = fake.job(JobKind::Pursue);
    assert!(matches!(fake.attempt(&job).await, HandIn::Reflection(said) if said.reflection.progress == 50));
    let expected =
        ["planning", "2 tasks", "1 running", "acting", "1 completed", "observing", "reflecting"].map(str::to_owned);
    assert_eq!(steps(fake.events()), expected);
    let seen = told(&fake, 3);
    assert!(seen.contains("write_file 1") && seen.contains("A a.txt") && seen.contains("- 1 [completed]"), "{seen}");
}

#[tokio::test]
async fn nothing_is_changed_without_a_plan_and_nothing_judged_without_a_look() {
    let mut fake = Fake::new(vec![
        turn(vec![file("a.txt")]),
        turn(vec![("plan_tasks", json!({"tasks": [{"id": "1", "description": "x", "dependencies": ["2"]}]}))]),
        turn(vec![plan(), update("2", "running"), file("a.txt")]),
        turn(vec![reflect(false, 0.5)]),
        turn(vec![observe()]),
        turn(vec![file("b.txt")]),
        turn(vec![reflect(false, 0.5)]),
        turn(vec![observe(), reflect(false, 0.5)]),
    ])
    .await;
    let job = fake.job(JobKind::Pursue);
    assert!(matches!(fake.attempt(&job).await, HandIn::Reflection(_)));
    assert!(told(&fake, 1).contains("there is no plan yet"), "{}", told(&fake, 1));
    assert!(told(&fake, 2).contains("names `2` as its dependency"), "{}", told(&fake, 2));
    let early = fake.requests()[3]["messages"].to_string();
    assert!(early.contains("task `2` cannot be running before these are completed: 1"), "{early}");
    assert!(told(&fake, 4).contains("not observed in this iteration"), "{}", told(&fake, 4));
    assert!(told(&fake, 7).contains("not observed since something was last run"), "{}", told(&fake, 7));
}

#[tokio::test]
async fn a_goal_claimed_against_its_own_tasks_comes_back_once() {
    let met = ("reflect", json!({"goal_achieved": true, "progress": 1, "content": "met", "next_action": ""}));
    let mut fake =
        Fake::new(vec![turn(vec![plan(), file("a.txt"), observe()]), turn(vec![met.clone()]), turn(vec![met])]).await;
    let job = fake.job(JobKind::Pursue);
    assert!(matches!(fake.attempt(&job).await, HandIn::Reflection(said) if said.reflection.goal_achieved));
    let words = told(&fake, 2);
    assert!(words.contains("these tasks are not completed: `1` (pending), `2` (pending)"), "{words}");
}

#[tokio::test]
async fn a_sub_agent_comes_back_with_a_summary_and_no_more() {
    let explore = ("delegate", json!({"kind": "explore", "task": "What is in a.txt?"}));
    let mut fake = Fake::new(vec![
        turn(vec![plan()]),
        turn(vec![explore]),
        turn(vec![observe()]),
        turn(vec![reflect(false, 0.1)]),
    ])
    .await;
    fake.errands(vec![
        turn(vec![("read_file", json!({"path": "a.txt"})), file("b.txt")]),
        turn(vec![("reply", json!({"text": "a.txt says hello"}))]),
    ]);
    write(&fake.work("a.txt"), "hello");
    let job = fake.job(JobKind::Pursue);
    assert!(matches!(fake.attempt(&job).await, HandIn::Reflection(_)));
    assert!(!fake.work("b.txt").exists(), "who explores changes nothing");
    let requests = fake.requests();
    assert_eq!(requests.len(), 6);
    assert!(requests[2]["messages"].to_string().contains("What is in a.txt?"));
    assert!(requests[4]["messages"].to_string().contains("a.txt says hello"));
    assert!(!requests[4]["messages"].to_string().contains("read_file"), "only the summary comes back");
    let seen: Vec<ObservationKind> = fake.observations().iter().map(|seen| seen.kind).collect();
    assert!(seen.contains(&ObservationKind::SubagentResult), "{seen:?}");
    let noted = |event: &AgentEvent| matches!(event, AgentEvent::Noted { text } if text.starts_with("sub-agent (explore) calls read_file"));
    assert!(fake.events().iter().any(noted), "{:?}", fake.events());
}

#[tokio::test]
async fn a_sub_agent_that_a_crash_broke_off_goes_on_and_pays_nothing_twice() {
    let work = ("delegate", json!({"kind": "work", "task": "Make b.txt"}));
    let mut fake =
        Fake::new(vec![turn(vec![plan(), work]), turn(vec![observe()]), turn(vec![reflect(false, 0.1)])]).await;
    let done = turn(vec![("complete_pulse", json!({"summary": "b.txt is there"}))]);
    fake.errands(vec![turn(vec![file("b.txt")]), Turn::Hangs, done]);
    let job = fake.job(JobKind::Pursue);
    fake.put_job(&job);
    let options = fake.options();
    let mut out = Vec::new();
    tokio::select! {
        ended = agent::run_to(options, &mut out) => panic!("{ended:?}"),
        () = fake.hangs() => {}
    }
    assert_eq!(fake.calls(), 3);
    assert!(matches!(fake.attempt(&job).await, HandIn::Reflection(_)));
    assert_eq!(fake.calls(), 6, "the turn that hung, the look and the reflection");
    assert!(fake.work("b.txt").exists());
    let told = steps(fake.events());
    assert_eq!(told[..2], ["planning".to_owned(), "2 tasks".to_owned()], "a restart tells where it stands");
}

#[tokio::test]
async fn a_later_iteration_begins_with_the_tasks_it_was_given() {
    let mut fake =
        Fake::new(vec![turn(vec![file("a.txt")]), turn(vec![observe()]), turn(vec![reflect(false, 0.1)])]).await;
    let mut job = fake.job(JobKind::Pursue);
    let tasks = json!([{"id": "1", "description": "Make it", "status": "running"}]);
    job.iteration = serde_json::from_value(json!({"number": 2, "of": 15, "tasks": tasks})).unwrap();
    assert!(matches!(fake.attempt(&job).await, HandIn::Reflection(_)));
    assert_eq!(steps(fake.events()), ["planning", "acting", "observing", "reflecting"]);
}
