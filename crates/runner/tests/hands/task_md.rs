//! A task whose agents speak through TASK.md alone and end without a word: every rule by which it goes on, crashes or is
//! stuck, with nobody watching.

use crate::world::{World, git, yes};
use domain::{ArtifactKind, Decision, DecisionKind, Ending, Event, HoldKind, Phase, Run, TaskBrief, TaskWord};
use testkit::samples;

/// A world whose repository has a program for each conversation: they know TASK.md and nothing else of Holdpoint.
fn world(programs: &[(&str, &str)]) -> World {
    let world = World::new("[[conversation]]\nrole = \"nobody\"\n[[conversation.turn]]\ntext = \"hm\"\n");
    std::fs::create_dir(world.repo().join("agents")).unwrap();
    for (conversation, program) in programs {
        std::fs::write(world.repo().join(format!("agents/{conversation}.sh")), program).unwrap();
    }
    git(&world.repo(), &["add", "-A"]);
    git(&world.repo(), &["commit", "-q", "-m", "agents"]);
    world
}

/// Does one thing, and another when it comes back after a crash.
fn then(first: &str, second: &str) -> String {
    format!("if grep -q '^crash_count: 0' TASK.md; then\n{first}\nelse\n{second}\nfi\n")
}

const WORK: &str =
    "echo new >> made.txt\nprintf '\\n## Handoff\\n\\nmade a file\\n\\n### Look at\\n\\nmade.txt\\n' >> TASK.md";
const PASS: &str = "printf '\\n## Review\\n\\nPASS: fine\\n' >> TASK.md";
const FAIL: &str = "printf '\\n## Review\\n\\nVerdict: FAIL\\n\\nthe file is too short\\n' >> TASK.md";

/// The words a task had, each once until it changes.
fn words(world: &World, run: &Run) -> Vec<&'static str> {
    let mut words = Vec::new();
    let mut state = Run::unopened(run.id.clone());
    for (sequence, event) in (1..).zip(world.events(&run.id)) {
        let recorded = domain::Recorded { sequence, at: run.updated_at, event };
        state = domain::evolve(state, &recorded);
        words.extend(TaskWord::of(&state).map(TaskWord::word));
    }
    words.dedup();
    words
}

fn crashes(world: &World, run: &Run) -> Vec<(String, u32, String)> {
    let events = world.events(&run.id).into_iter();
    let crash = |event| match event {
        Event::AgentCrashed { stage, count, reason } => Some((stage, count, reason)),
        _ => None,
    };
    events.filter_map(crash).collect()
}

/// Cancels where it waits; what it waited for is told first.
async fn held(world: &World, check: &str) -> (Run, Vec<(HoldKind, String)>) {
    let mut holds = Vec::new();
    let run = world
        .work("task", check, |_, hold| {
            holds.push((hold.kind, hold.summary.clone()));
            Decision::Cancel { reason: None }
        })
        .await;
    (run, holds)
}

#[tokio::test]
async fn a_handoff_leads_to_review_a_pass_to_a_person_and_nothing_of_the_file_is_committed() {
    let world = world(&[("worker-1", WORK), ("reviewer-1", PASS)]);
    let run = world.work("task", "test -f made.txt && ! test -e TASK.md", |_, _| yes()).await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
    assert_eq!(words(&world, &run), ["pending", "working", "agent-review", "reviewing", "done"]);
    assert_eq!(crashes(&world, &run), []);
    let files = git(&world.repo(), &["ls-tree", "-r", "--name-only", run.merged.as_ref().unwrap().as_str()]);
    assert!(files.contains("made.txt") && !files.contains("TASK.md"), "{files}");
    let handoff = world.hands.artifact_text(&run, run.latest(ArtifactKind::Handoff).unwrap()).await.unwrap().text;
    assert!(handoff.contains("made a file") && handoff.contains("made.txt"), "{handoff}");
}

#[tokio::test]
async fn a_worker_without_a_handoff_crashes_is_respawned_and_is_stuck_after_two() {
    let world = world(&[("worker-1", &then("echo half > half.txt", "test -f half.txt && exit 7"))]);
    let (run, holds) = held(&world, "true").await;
    assert_eq!(words(&world, &run), ["pending", "working", "stuck", "cancelled"]);
    assert_eq!(holds[0].0, HoldKind::Stuck);
    let crashes = crashes(&world, &run);
    assert_eq!(
        crashes.iter().map(|(stage, count, _)| (stage.as_str(), *count)).collect::<Vec<_>>(),
        [("working", 1), ("working", 2)]
    );
    assert!(crashes[0].2.starts_with("process exited without ## Handoff"), "{}", crashes[0].2);
}

#[tokio::test]
async fn the_first_fail_sends_the_worker_back_with_the_review_and_the_second_is_stuck() {
    let again = "grep -q 'the file is too short' TASK.md && grep -q 'Handed over before' TASK.md || exit 1\n";
    let world = world(&[
        ("worker-1", &format!("printf '\\n## Notes\\n\\nremember the milk\\n' >> TASK.md\n{WORK}")),
        ("reviewer-1", FAIL),
        ("worker-2", &format!("{again}grep -q 'remember the milk' TASK.md || exit 1\n{WORK}")),
        ("reviewer-2", &format!("grep -q '^review_round: 2' TASK.md || exit 1\n{FAIL}")),
    ]);
    let (run, holds) = held(&world, "true").await;
    assert_eq!(
        words(&world, &run),
        ["pending", "working", "agent-review", "working", "agent-review", "stuck", "cancelled"]
    );
    assert_eq!((holds.len(), holds[0].0), (1, HoldKind::Fix));
    assert!(run.notes.iter().any(|note| note.stage == "working" && note.text.contains("too short")), "{:?}", run.notes);
    assert_eq!(crashes(&world, &run), []);
}

#[tokio::test]
async fn a_reviewer_without_a_verdict_crashes_is_respawned_and_is_stuck_after_two() {
    let unsure = "printf '\\n## Review\\n\\n```\\nPASS\\n```\\n' >> TASK.md";
    let world = world(&[("worker-1", &then("exit 0", WORK)), ("reviewer-1", &then(unsure, "kill -9 $$"))]);
    let (run, holds) = held(&world, "true").await;
    assert_eq!(words(&world, &run), ["pending", "working", "agent-review", "stuck", "cancelled"]);
    assert_eq!(holds[0].0, HoldKind::Stuck);
    let crashes = crashes(&world, &run);
    let counted: Vec<_> = crashes.iter().map(|(stage, count, _)| (stage.as_str(), *count)).collect();
    assert_eq!(counted, [("working", 1), ("agent-review", 1), ("agent-review", 2)], "a transition forgets the crashes");
    assert!(crashes[1].2.starts_with("process exited without a verdict"), "{}", crashes[1].2);
    assert!(crashes[2].2.starts_with("process exited without ## Review"), "{}", crashes[2].2);
}

#[tokio::test]
async fn a_question_in_the_file_waits_for_a_person_and_its_answer_stands_in_the_next() {
    let ask = "printf '\\n## Questions\\n\\n- Which colour?\\n' >> TASK.md";
    let answered = "grep -q 'Answer: blue' TASK.md && ! grep -q '^## Questions' TASK.md || exit 1\n";
    let worker = format!("if grep -q 'Answered questions' TASK.md; then\n{answered}{ask}\n{WORK}\nelse\n{ask}\nfi");
    let world = world(&[("worker-1", &worker), ("reviewer-1", PASS)]);
    let mut asked = Vec::new();
    let run = world.work("task", "true", |_, hold| match (&hold.question, hold.kind) {
        (Some(question), HoldKind::Clarification) => {
            asked.push(question.question.clone());
            Decision::Answer { answer: vec!["blue".to_owned()] }
        }
        _ => yes(),
    });
    let run = run.await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
    assert_eq!(asked, ["Which colour?"], "what was answered is not asked again");
    let expected = ["pending", "working", "clarification", "working", "agent-review", "reviewing", "done"];
    assert_eq!(words(&world, &run), expected);
}

#[tokio::test]
async fn a_link_or_a_folder_in_place_of_the_file_is_nothing_handed_in() {
    let worker = then("rm TASK.md && ln -s /etc/passwd TASK.md", "rm TASK.md && mkdir TASK.md");
    let world = world(&[("worker-1", &worker)]);
    let (run, holds) = held(&world, "true").await;
    assert_eq!((crashes(&world, &run).len(), holds[0].0), (2, HoldKind::Stuck));
}

#[tokio::test]
async fn a_file_of_that_name_that_the_branch_has_stays_as_it_is() {
    let world = world(&[("worker-1", WORK), ("reviewer-1", PASS)]);
    std::fs::write(world.repo().join("TASK.md"), "mine\n").unwrap();
    git(&world.repo(), &["add", "-A"]);
    git(&world.repo(), &["commit", "-q", "-m", "mine"]);
    let run = world.work("task", "grep -qx mine TASK.md", |_, _| yes()).await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
    assert_eq!(world.file("main", "TASK.md"), "mine\n");
}

#[tokio::test]
async fn unreviewed_work_is_merged_by_force_with_who_said_so() {
    let world = world(&[("worker-1", WORK), ("reviewer-1", FAIL), ("worker-2", WORK), ("reviewer-2", FAIL)]);
    let run = world.start("task", "true", "Make the files", None).await;
    world.until_held(&run, HoldKind::Fix).await;
    let force =
        domain::Command::ForceMerge { by: samples::actor("bob"), reason: Some("it is late".into()), shown: None };
    world.engine.submit(run.clone(), force, None).await.unwrap();
    let run = world.ended(&run).await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
    assert_eq!(world.file("main", "made.txt"), "new\nnew\n");
    let forced = world.events(&run.id).into_iter().any(|event| {
        matches!(event, Event::MergeForced { by, reason, .. } if by.name == "bob" && reason.as_deref() == Some("it is late"))
    });
    assert!(forced);
    assert_eq!(domain::check_log(&run.id, &world.log(&run.id)), []);
}

#[tokio::test]
async fn an_empty_task_asks_first_and_its_worker_reads_the_answer() {
    let look = "grep -q '^summary: Write the greeting' TASK.md && grep -q 'Answer by friday' TASK.md || exit 1\n";
    let world = world(&[("worker-1", &format!("{look}{WORK}")), ("reviewer-1", PASS)]);
    let task = TaskBrief { name: Some("hello".into()), context: Some("Answer by friday".into()) };
    let id = world.start("task", "true", "", Some(task)).await;
    world.until_held(&id, HoldKind::Clarification).await;
    let run = world.engine.load(&id).await.unwrap().unwrap();
    assert_eq!(run.hold().unwrap().allowed, [DecisionKind::Answer, DecisionKind::Cancel]);
    assert!(run.sessions.is_empty(), "no agent works before the answer");
    let run = world
        .drive(&id, |_, hold| match hold.kind {
            HoldKind::Clarification => Decision::Answer { answer: vec!["Write the greeting".to_owned()] },
            _ => yes(),
        })
        .await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
}

#[tokio::test]
async fn a_handoff_without_a_change_is_refused_and_the_next_try_reads_why() {
    let claim = "printf '\\n## Handoff\\n\\nall done\\n' >> TASK.md";
    let again = format!("grep -q 'no file was changed' TASK.md && grep -q 'all done' TASK.md || exit 1\n{WORK}");
    let world = world(&[("worker-1", &then(claim, &again)), ("reviewer-1", PASS)]);
    let run = world.work("task", "true", |_, _| yes()).await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
    assert_eq!(crashes(&world, &run).len(), 1);
}
