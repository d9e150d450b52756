//! How a program ends that is not ours: whatever it does in place of its work becomes what it is, and nothing of it
//! lives on.

use domain::{Decision, Ending, Event, HoldKind, Phase, Run};
use drivers::AgentEvent;

use crate::mcp::alive;
use crate::program::{completed, left, world};
use crate::world::World;

/// Cancels where it waits: what it waited for, and why its agents crashed.
async fn stuck(world: &World) -> (Run, HoldKind, Vec<String>) {
    let mut kind = None;
    let run = world
        .work("autonomous", "true", |_, hold| {
            kind = Some(hold.kind);
            Decision::Cancel { reason: None }
        })
        .await;
    let crash = |event| match event {
        Event::AgentCrashed { reason, .. } => Some(reason),
        _ => None,
    };
    let reasons = world.events(&run.id).into_iter().filter_map(crash).collect();
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Cancelled });
    (run, kind.unwrap(), reasons)
}

#[tokio::test]
async fn a_program_that_stops_without_handing_in_is_told_twice_and_then_has_crashed() {
    let world = world("implementer", "export default async ({ say }) => void say('I think that is all.');");
    let (run, kind, reasons) = stuck(&world).await;
    assert_eq!(kind, HoldKind::Stuck);
    for reason in &reasons {
        assert!(reason.contains("stopped without handing anything in, also after it was told 2 times"), "{reason}");
    }
    let told = left(&world, &run.id, "implementer-1", "told.jsonl");
    assert_eq!(told.len(), 3 * reasons.len(), "the job and two reminders for each attempt");
    assert!(told[1]["prompt"].as_str().unwrap().contains("complete_pulse"), "{}", told[1]);
    assert_eq!(told[2]["opened"], "session/load");
}

#[tokio::test]
async fn a_program_that_exits_well_with_nothing_done_has_crashed() {
    let world = world("implementer", "export default async () => process.exit(0);");
    let (_, kind, reasons) = stuck(&world).await;
    assert_eq!(kind, HoldKind::Stuck);
    assert!(reasons.iter().all(|reason| reason.contains("without handing anything in")), "{reasons:?}");
}

#[tokio::test]
async fn a_program_that_fails_is_told_of_with_its_last_words() {
    let act = "export default async ({ say }) => { say('Hm.'); console.error('the disk is made of cheese'); process.exit(3); };";
    let (_, kind, reasons) = stuck(&world("implementer", act)).await;
    assert_eq!(kind, HoldKind::Stuck);
    let told = |reason: &String| reason.contains("exit status: 3") && reason.contains("the disk is made of cheese");
    assert!(!reasons.is_empty() && reasons.iter().all(told), "{reasons:?}");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_a_crash_that_names_it() {
    let world = world("implementer", "");
    world.cast("implementer", "acp:no-such-agent --acp");
    let (_, kind, reasons) = stuck(&world).await;
    assert_eq!(kind, HoldKind::Stuck);
    assert!(!reasons.is_empty() && reasons.iter().all(|reason| reason.contains("no-such-agent")), "{reasons:?}");
}

#[tokio::test]
async fn a_program_that_hangs_is_stopped_at_the_stages_limit_and_nothing_of_it_lives() {
    let mark = format!("hang-mark-{}", std::process::id());
    let act = format!(
        "export default async ({{ say }}) => {{
            process.on('SIGTERM', () => {{}});
            spawn('setsid', ['sh', '-c', 'trap : TERM; while :; do sleep 1; done; : {mark}'], {{ detached: true, stdio: 'ignore' }}).unref();
            say('I hang.');
            await new Promise(() => setInterval(() => {{}}, 1000));
        }};"
    );
    let world = world("implementer", &act);
    let mut activity = world.hands.activity();
    let out_of_time = async {
        while !matches!(&activity.recv().await.unwrap().event, AgentEvent::MessageDelta { text, .. } if text.contains("I hang"))
        {
        }
        assert!(alive(&mark) > 0, "it works");
        world.let_clocks_run_out().await;
    };
    let ((run, kind, reasons), ()) = tokio::join!(stuck(&world), out_of_time);
    assert_eq!((kind, reasons), (HoldKind::Timeout, Vec::new()), "{:?}", run.phase);
    assert_eq!(alive(&mark), 0);
}

#[tokio::test]
async fn a_program_that_floods_its_output_is_cut_and_the_run_goes_on() {
    let act = "export default async ({ tool, say }) => {
        say('I flood.');
        const drained = () => new Promise((resolve) => process.stdout.write('', resolve));
        for (let piece = 0; piece < 100; piece++) { process.stdout.write('x'.repeat(1 << 20)); await drained(); }
        process.stdout.write('\\n');
        for (let piece = 0; piece < 200; piece++) { process.stdout.write('nonsense\\n'.repeat(1000)); await drained(); }
        for (let piece = 0; piece < 40; piece++) { say('y'.repeat(1 << 20)); await drained(); }
        console.error('z'.repeat(1 << 20));
        writeFileSync('made.txt', 'x');
        await tool('complete_pulse', { summary: 'made' });
    };";
    let world = world("implementer", act);
    let run = world.work("autonomous", "true", |_, hold| panic!("{}", hold.summary)).await;
    completed(&run);
    let size = |file: &str| world.session_file(&run.id, "implementer-1", file).len();
    assert!(size("transcript.jsonl") <= 64 << 20, "{}", size("transcript.jsonl"));
    assert!(size("stream.jsonl") <= 24 << 20, "{}", size("stream.jsonl"));
    let stream = String::from_utf8(world.session_file(&run.id, "implementer-1", "stream.jsonl")).unwrap();
    assert!(stream.contains("it says more that is not understood"), "{}", stream.len());
}

#[tokio::test]
async fn a_daemon_that_a_program_leaves_behind_is_gone_with_it_and_writes_nothing() {
    let mark = format!("daemon-mark-{}", std::process::id());
    let act = format!(
        "export default async ({{ tool, say }}) => {{
            say('I leave something behind.');
            const later = 'cd {{}}; sleep 5; while :; do sleep 0.2; echo late >> late.txt; done; : {mark}'.replace('{{}}', process.cwd());
            spawn('setsid', ['sh', '-c', later], {{ detached: true, stdio: 'inherit' }}).unref();
            writeFileSync('made.txt', 'x');
            await tool('complete_pulse', {{ summary: 'made' }});
        }};"
    );
    let world = world("implementer", &act);
    let run = world.work("autonomous", "! test -e late.txt", |_, hold| panic!("{}", hold.summary)).await;
    completed(&run);
    assert_eq!(alive(&mark), 0);
}
