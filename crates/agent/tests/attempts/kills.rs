//! The agent is killed, in a process of its own or by cutting its conversation anywhere, and started again.

use std::process::Stdio;

use crate::fake::{Fake, Turn, options, write};
use crate::flows::code_story;
use drivers::{AgentEvent, HandIn, JobKind};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};

const FOLDER: &str = "HOLDPOINT_TEST_AGENT_FOLDER";

#[tokio::test]
#[ignore = "the agent as a process, started and killed by the other tests"]
async fn as_a_process() {
    let folder = std::path::PathBuf::from(std::env::var_os(FOLDER).expect("only the kill tests start this"));
    agent::run(options(&folder)).await.unwrap();
}

/// The agent as Holdpoint starts it: something that can be killed at any instruction.
pub(crate) fn start(fake: &Fake) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["kills::as_a_process", "--exact", "--ignored", "--nocapture"])
        .env(FOLDER, fake.folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

pub(crate) async fn kill(mut child: Child) {
    child.start_kill().unwrap();
    child.wait().await.unwrap();
}

fn tree(fake: &Fake) -> (String, String) {
    let read = |path| std::fs::read_to_string(fake.work(path)).unwrap();
    (read("a.txt"), read("src/b.txt"))
}

fn made_tree() -> (String, String) {
    ("new\n".into(), "one\ntwo\n".into())
}

fn answers(fake: &Fake) -> usize {
    fake.records().iter().filter(|record| record.get("assistant").is_some()).count()
}

#[tokio::test]
async fn killed_within_a_streamed_answer_only_that_answer_is_asked_for_again() {
    const HALF: &str = "I was about to say something long enough to be told at once, so that whoever watches sees the \
                        beginning of an answer whose end never comes, because the agent is killed in the middle of it.";
    for at in 0..4 {
        let mut story = code_story();
        story.insert(at, Turn::Stalls(HALF));
        let mut fake = Fake::new(story).await;
        write(&fake.work("a.txt"), "old\n");
        let job = fake.job(JobKind::Code);
        fake.put_job(&job);
        let mut child = start(&fake);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        loop {
            let line = lines.next_line().await.unwrap().expect("the agent tells what it hears");
            if line.contains("message_delta") && line.contains("I was about") {
                break;
            }
        }
        kill(child).await;
        let told = std::fs::read_to_string(fake.session("stream.jsonl")).unwrap();
        assert!(told.contains("I was about"), "what was streamed is on disk: {told}");
        assert_eq!(answers(&fake), at, "half an answer is none");

        assert!(matches!(fake.attempt(&job).await, HandIn::Pulse(_)));
        assert_eq!(fake.calls(), 4 + 1, "only the answer that was cut is paid again");
        assert_eq!(tree(&fake), made_tree());
        assert!(!fake.requests().last().unwrap().to_string().contains("I was about"));
    }
}

#[tokio::test]
async fn killed_between_turns_no_complete_turn_is_paid_again() {
    for at in 0..4 {
        let mut story = code_story();
        story.insert(at, Turn::Hangs);
        let mut fake = Fake::new(story).await;
        write(&fake.work("a.txt"), "old\n");
        let job = fake.job(JobKind::Code);
        fake.put_job(&job);
        let child = start(&fake);
        fake.hangs().await;
        kill(child).await;
        assert!(matches!(fake.attempt(&job).await, HandIn::Pulse(_)));
        assert_eq!(fake.calls(), 4 + 1);
        assert_eq!(tree(&fake), made_tree());
        let resumed = u32::try_from(at).unwrap();
        assert_eq!(fake.events()[0], AgentEvent::SessionStarted { resumed_turns: resumed });
    }
}

#[tokio::test]
async fn a_command_that_was_killed_with_the_agent_is_told_and_not_run_again() {
    let command = "echo x >> ran.txt; echo $$ > told; exec sleep 600";
    let mut fake = Fake::new(vec![
        Turn::Says("", vec![("read_file", json!({"path": "a.txt"})), ("shell", json!({"command": command}))]),
        Turn::Says("", vec![("complete_pulse", json!({"summary": "looked first"}))]),
    ])
    .await;
    write(&fake.work("a.txt"), "a\n");
    let told = fake.work("told");
    rustix::fs::mkfifoat(rustix::fs::CWD, &told, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    let job = fake.job(JobKind::Code);
    fake.put_job(&job);
    let child = start(&fake);
    let mut pid = String::new();
    tokio::fs::File::open(&told).await.unwrap().read_to_string(&mut pid).await.unwrap();
    kill(child).await;
    let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();

    // The model of this test makes an interrupted call again; this time it is short.
    std::fs::remove_file(&told).unwrap();
    let text = std::fs::read_to_string(fake.session("turns.jsonl")).unwrap();
    write(&fake.session("turns.jsonl"), &text.replace("exec sleep 600", "true"));
    assert!(matches!(fake.attempt(&job).await, HandIn::Pulse(_)));
    let sent = fake.requests()[1]["messages"].to_string();
    assert!(sent.contains("interrupted: the agent was stopped while `shell` ran"), "{sent}");
    assert_eq!(std::fs::read_to_string(fake.work("ran.txt")).unwrap(), "x\nx\n", "once by each call of the model");
    assert_eq!(fake.calls(), 3, "the first turn was not paid again");
}

#[tokio::test]
async fn after_a_kill_at_any_record_the_tree_is_the_same_and_no_complete_turn_is_paid_again() {
    let mut fake = Fake::new(code_story()).await;
    write(&fake.work("a.txt"), "old\n");
    let job = fake.job(JobKind::Code);
    let whole = fake.attempt(&job).await;
    let text = std::fs::read_to_string(fake.session("turns.jsonl")).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    assert_eq!(lines.len(), 1 + 4 + 5 + 3, "opening, four answers, five results, three of them of changes");
    for kept in 0..=lines.len() {
        let begun = kept > 0 && lines[kept - 1].starts_with("{\"begun\"");
        // A call that was begun may have been done or not; both must end the same.
        for happened in if begun { &[false, true][..] } else { &[false] } {
            let torn = lines.get(kept).map_or("", |line| &line[..line.len() / 2]);
            let kept_lines = lines[..kept].concat();
            write(&fake.session("turns.jsonl"), &(kept_lines.clone() + torn));
            let next = if *happened { lines[kept] } else { "" };
            let did = |word: &str| kept_lines.contains(word) || next.contains(word);
            write(&fake.work("a.txt"), if did("replaced 1 occurrence") { "new\n" } else { "old\n" });
            std::fs::remove_dir_all(fake.work("src")).unwrap();
            if did("\"tool\":\"write_file\",\"ok\":true") {
                std::fs::create_dir(fake.work("src")).unwrap();
                write(&fake.work("src/b.txt"), "one\ntwo\n");
            }
            let before = fake.calls();
            let paid = lines[..kept].iter().filter(|line| line.starts_with("{\"assistant\"")).count();
            assert_eq!(fake.attempt(&job).await, whole, "kept {kept}");
            // A command is told as interrupted and the model makes it again; an edit is made good without asking.
            let redone = usize::from(begun && is_command(lines[kept - 1], &kept_lines));
            assert_eq!(fake.calls() - before, 4 - paid + redone, "kept {kept}");
            assert_eq!(tree(&fake), made_tree(), "kept {kept}, happened {happened}");
            let first = fake.events().first().unwrap();
            assert_eq!(first, &AgentEvent::SessionStarted { resumed_turns: u32::try_from(paid).unwrap() });
            let results: usize =
                fake.records().iter().filter_map(|r| r.get("results").and_then(Value::as_array)).map(Vec::len).sum();
            // The cut-off part left its lines behind; those that are there are never written twice.
            assert!(fake.observations().len() >= results);
        }
    }
}

/// Whether the call that was begun is a command.
fn is_command(begun: &str, records: &str) -> bool {
    let begun: Value = serde_json::from_str(begun).unwrap();
    let of = |line: &str| serde_json::from_str::<Value>(line).ok();
    let mut calls =
        records.lines().filter_map(of).filter_map(|record| record["assistant"]["calls"].as_array().cloned());
    calls.any(|calls| calls.iter().any(|call| call["id"] == begun["begun"]["id"] && call["tool"] == "shell"))
}
