//! A program that is not ours plays a role: it speaks ACP, calls Holdpoint's tools over MCP from inside its sandbox, and
//! asks before it acts. It has no model, so what it does is what each test says.

use domain::{Command, Decision, Ending, HoldKind, Phase, Run, RunId};
use drivers::AgentEvent;
use serde_json::Value;
use testkit::samples;

use crate::world::{World, yes};

pub(crate) const PROGRAM: &str = include_str!("programs/fake-acp.mjs");

/// Planner and validator are ours and agree.
pub(crate) const OTHERS: &str = r##"
[[conversation]]
role = "planner"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_plan"
input = { title = "A note", body = "# A note\n\n```mermaid\nflowchart TD\n  A[Ask] --> B[Note]\n```\n" }

[[conversation]]
role = "implementer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "made.txt", content = "ours\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "made" }

[[conversation]]
role = "validator"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", severity = "minor", summary = "fine" }
"##;

/// A world in which a role is played by a program that does this when it is told something.
pub(crate) fn world(role: &str, act: &str) -> World {
    let world = World::new(OTHERS);
    let act = format!(
        "import {{ execSync, spawn }} from 'node:child_process';\n\
         import {{ existsSync, readFileSync, writeFileSync }} from 'node:fs';\n{act}"
    );
    world.commit(&[("fake-acp.mjs", PROGRAM), ("act.mjs", &act)]);
    world.cast(role, "acp:node fake-acp.mjs");
    world
}

/// Lines of JSON that the program left in its session folder.
pub(crate) fn left(world: &World, run: &RunId, session: &str, file: &str) -> Vec<Value> {
    let bytes = world.session_file(run, session, file);
    String::from_utf8(bytes).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What it was told, and in which session, and how that was opened.
fn told(world: &World, run: &RunId) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let told = left(world, run, "implementer-1", "told.jsonl");
    told.iter().map(|told| (text(&told["session"]), text(&told["opened"]), text(&told["prompt"]))).collect()
}

pub(crate) fn completed(run: &Run) {
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
}

#[tokio::test]
async fn what_a_program_hands_in_through_the_tools_is_committed_checked_and_merged() {
    let act = "export default async ({ tool, say, may }) => {
        say('I make it.');
        if (!await may('edit', { file_path: `${process.cwd()}/made.txt` })) return;
        writeFileSync('made.txt', 'by a program\\n');
        await tool('complete_pulse', { summary: 'made it', decisions: [{ topic: 'name', choice: 'made.txt', reason: 'short' }] });
    };";
    let world = world("implementer", act);
    let run = world.work("autonomous", "grep -q program made.txt", |_, hold| panic!("{}", hold.summary)).await;
    completed(&run);
    assert_eq!(world.file("main", "made.txt"), "by a program\n");
    assert_eq!(run.decisions[0].choice, "made.txt", "{:?}", run.decisions);
    let program = &run.programs["implementer"];
    assert!(program.name == "acp" && program.path.ends_with("node") && program.sha256.len() == 64, "{program:?}");
    assert_eq!(run.programs.len(), 1, "our own agent is no program of somebody else's");
    let told = told(&world, &run.id);
    assert_eq!(told.len(), 1);
    assert!(told[0].2.contains("complete_pulse") && told[0].2.contains("Make the files"), "{}", told[0].2);
    assert_eq!(domain::check_log(&run.id, &world.log(&run.id)), []);
}

/// Asks, and finishes when it is told an answer.
const ASKS: &str = "export default async ({ prompt, tool, say }) => {
    if (prompt.includes('green, like the grass')) {
        writeFileSync('made.txt', `${existsSync('half.txt')}\\n`);
        return void await tool('complete_pulse', { summary: 'made' });
    }
    say('I begin with half of it.');
    writeFileSync('half.txt', 'half');
    await tool('ask_questions', { questions: [{ question: 'Which colour?', context: 'none is said' }] });
};";

/// Works to the end with the answer, and tells what was asked.
async fn answered(world: &World) -> Run {
    let run = world.work("autonomous", "test -f made.txt", |_, hold| {
        assert_eq!(hold.kind, HoldKind::Clarification, "{}", hold.summary);
        assert_eq!(hold.question.as_ref().unwrap().question, "Which colour?");
        Decision::Answer { answer: vec!["green, like the grass".to_owned()] }
    });
    let run = run.await;
    completed(&run);
    assert_eq!(world.file("main", "made.txt"), "true\n", "what it had done before is there");
    run
}

#[tokio::test]
async fn a_question_ends_the_process_and_the_same_session_is_loaded_with_the_answer() {
    let world = world("implementer", ASKS);
    let run = answered(&world).await;
    let told = told(&world, &run.id);
    let sessions: Vec<_> = told.iter().map(|told| (told.0.as_str(), told.1.as_str())).collect();
    assert_eq!(sessions, [("session-1", "session/new"), ("session-1", "session/load")]);
    let second = &told[1].2;
    assert!(second.starts_with("You asked: Which colour?\nThe person answers: green, like the grass"), "{second}");
    assert!(!second.contains("Make the files"), "what it knows is not said again: {second}");
}

#[tokio::test]
async fn an_answer_a_week_later_to_another_server_goes_into_the_same_session() {
    let week = jiff::SignedDuration::from_hours(7 * 24);
    let mut world = world("implementer", ASKS);
    let id = world.start("autonomous", "test -f made.txt", "Make the files", None).await;
    world.until_held(&id, HoldKind::Clarification).await;
    world.back_after(week).await;
    let answer = vec!["green, like the grass".to_owned()];
    let run = world.drive(&id, |_, _| Decision::Answer { answer: answer.clone() }).await;
    completed(&run);
    assert_eq!(world.file("main", "made.txt"), "true\n", "what it had done before is there");
    assert!(run.ended_at.unwrap().duration_since(run.opened().at) > week);
    let told = told(&world, &run.id);
    let sessions: Vec<_> = told.iter().map(|told| (told.0.as_str(), told.1.as_str())).collect();
    assert_eq!(sessions, [("session-1", "session/new"), ("session-1", "session/load")]);
    assert_eq!(domain::check_log(&run.id, &world.log(&run.id)), []);
}

#[tokio::test]
async fn a_program_that_cannot_load_sessions_gets_a_fresh_one_with_a_recap_and_the_answer() {
    let world = world("implementer", &format!("export const loads = false;\n{ASKS}"));
    told_all_again(&world).await;
}

#[tokio::test]
async fn a_program_that_lost_its_session_gets_a_fresh_one_with_a_recap_and_the_answer() {
    let forgets = ASKS.replace(
        "say('I begin",
        "setTimeout(() => writeFileSync(`${folder}/fake-sessions.json`, '[]'), 0); say('I begin",
    );
    let world = world("implementer", &forgets.replace("({ prompt,", "({ folder, prompt,"));
    told_all_again(&world).await;
}

async fn told_all_again(world: &World) {
    let run = answered(world).await;
    let told = told(world, &run.id);
    assert_eq!((told.len(), told[1].1.as_str()), (2, "session/new"), "{told:?}");
    let second = &told[1].2;
    assert!(second.contains("Make the files"), "the job: {second}");
    assert!(second.contains("- said: I begin with half of it."), "what it did: {second}");
    assert!(second.contains("You asked: Which colour?\nThe person answers: green, like the grass"), "{second}");
}

/// Wants to push, does without, and tells what it was allowed.
const PUSHES: &str = "export default async ({ prompt, opened, tool, say, may, note }) => {
    say('I push.');
    const first = await may('execute', { command: 'git push origin main' });
    note({ opened, first, prompt });
    if (opened === 'session/new') return;
    const second = await may('execute', { command: 'echo fine' });
    note({ second });
    writeFileSync('made.txt', 'x');
    await tool('complete_pulse', { summary: 'made' });
};";

async fn pushed(decision: Decision) -> (World, Run, Vec<Value>) {
    let world = world("implementer", PUSHES);
    let mut asked = Vec::new();
    let run = world.work("autonomous", "true", |_, hold| {
        assert_eq!(hold.kind, HoldKind::Permission, "{}", hold.summary);
        asked.push(hold.summary.clone());
        decision.clone()
    });
    let run = run.await;
    completed(&run);
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].contains("git push origin main") && asked[0].contains("it sends work out"), "{asked:?}");
    let noted = left(&world, &run.id, "implementer-1", "noted.jsonl");
    assert_eq!(noted[0]["first"], false, "it waits for the person's word: {noted:?}");
    assert_eq!(noted[2]["second"], true, "what needs no yes is allowed: {noted:?}");
    (world, run, noted)
}

#[tokio::test]
async fn a_push_waits_for_a_person_and_after_their_yes_the_same_call_is_allowed() {
    let (_world, _run, noted) = pushed(yes()).await;
    assert_eq!((&noted[1]["opened"], &noted[1]["first"]), (&"session/load".into(), &true.into()), "{noted:?}");
}

#[tokio::test]
async fn after_a_no_the_same_call_is_refused_and_the_program_is_told_why() {
    let (_world, _run, noted) = pushed(Decision::Reject { feedback: "nothing leaves on fridays".to_owned() }).await;
    assert_eq!((&noted[1]["opened"], &noted[1]["first"]), (&"session/load".into(), &false.into()), "{noted:?}");
    let prompt = noted[1]["prompt"].as_str().unwrap();
    assert!(prompt.contains("About what you wanted to do, the person said: not allowed: "), "{prompt}");
    assert!(prompt.contains("nothing leaves on fridays"), "{prompt}");
}

#[tokio::test]
async fn a_yes_is_for_one_call_and_the_next_one_like_it_is_asked_again() {
    let act = "export default async ({ tool, say, may }) => {
        say('I push.');
        for (let pushed = 0; pushed < 2; pushed++)
            if (!await may('execute', { command: 'git push' })) return;
        writeFileSync('made.txt', 'x');
        await tool('complete_pulse', { summary: 'made' });
    };";
    let world = world("implementer", act);
    let mut asked = 0;
    let run = world.work("autonomous", "true", |_, hold| {
        assert_eq!(hold.kind, HoldKind::Permission, "{}", hold.summary);
        asked += 1;
        if asked == 3 { Decision::Cancel { reason: None } } else { yes() }
    });
    let run = run.await;
    assert_eq!(asked, 3, "the first yes was used up by the first attempt's call, and so on: {:?}", run.phase);
}

#[tokio::test]
async fn a_planner_that_wants_to_change_a_file_is_refused_and_nothing_it_changes_is_kept() {
    let act = r##"export default async ({ tool, say, may, note }) => {
        say('I plan.');
        note({ edit: await may('edit', { file_path: `${process.cwd()}/README.md` }), read: await may('read', { path: 'README.md' }) });
        try { writeFileSync('README.md', 'mine'); } catch {}
        await tool('submit_plan', { title: 'A note', body: '# A note\n\n```mermaid\nflowchart TD\n  A --> B\n```\n' });
    };"##;
    let world = world("planner", act);
    let run = world.work("autonomous", "test -f made.txt", |_, hold| panic!("{}", hold.summary)).await;
    completed(&run);
    let noted = left(&world, &run.id, "planner-1", "noted.jsonl");
    assert_eq!((&noted[0]["edit"], &noted[0]["read"]), (&false.into(), &true.into()), "{noted:?}");
    assert_eq!(world.file("main", "README.md"), "# Sample\n");
}

#[tokio::test]
async fn a_persons_word_reaches_a_program_at_the_latest_when_it_hands_in_and_only_once() {
    // Like many, it asks before it calls a tool of ours.
    let act = "export default async ({ folder, tool, say, may, note }) => {
        say('I am at work.');
        while (!existsSync(`${folder}/guidance.jsonl`)) await new Promise((resolve) => setTimeout(resolve, 10));
        writeFileSync('made.txt', 'x');
        for (let tries = 0; tries < 4; tries++) {
            await may('other', {});
            const { ok, text } = await tool('complete_pulse', { summary: 'made' });
            note({ ok, text });
            if (ok) return;
        }
    };";
    let world = world("implementer", act);
    let mut activity = world.hands.activity();
    let guide = async {
        while !matches!(&activity.recv().await.unwrap().event, AgentEvent::MessageDelta { text, .. } if text.contains("at work"))
        {
        }
        let guide = Command::Guide { text: "Make it blue".to_owned(), by: samples::actor("bob") };
        world.engine.submit(samples::run_id(1), guide, None).await.unwrap();
        let run = world.engine.load(&samples::run_id(1)).await.unwrap().unwrap();
        world.hands.pass_on(&run).await.unwrap();
    };
    let work = world.work("autonomous", "true", |_, hold| panic!("{}", hold.summary));
    let (run, ()) = tokio::join!(work, guide);
    completed(&run);
    let noted = left(&world, &run.id, "implementer-1", "noted.jsonl");
    let oks: Vec<_> = noted.iter().map(|noted| noted["ok"] == true).collect();
    assert_eq!(oks, [false, true], "{noted:?}");
    let text = noted[0]["text"].as_str().unwrap();
    assert!(text.starts_with("not handed in yet: bob") && text.contains("Make it blue"), "{text}");
}
