//! Playbooks as files: what is refused, with which line and hint, and what a project's own may be.

use domain::{
    Because, HoldKind, Playbook, PlaybookError, StageGate, Status, TaskWord, Transition, TrustKey, Weight, Work,
};

/// A playbook with a plan and code; its first free line is 14.
const BASE: &str = r#"name = "own"
description = "A plan, then code"
[[stage]]
name = "planning"
work = "produce"
role = "planner"
artifact = "plan"

[[stage]]
name = "building"
work = "produce"
role = "implementer"
artifact = "code"
"#;

const JUDGE: &str = "[[stage]]\nname = \"check\"\nwork = \"judge\"\nrole = \"reviewer\"\n";

fn own(extra: &str) -> String {
    format!("{BASE}{extra}")
}

fn problems(source: &str) -> Vec<PlaybookError> {
    let problems = Playbook::check(".autonomous/playbooks/own.toml", source);
    assert!(problems.iter().all(|problem| !problem.hint.is_empty()), "{problems:?}");
    problems
}

/// Exactly one problem, that one.
#[track_caller]
fn check(source: &str, line: usize, key: &str, message: &str) {
    let found = problems(source);
    let short: Vec<_> = found.iter().map(|p| (p.line, p.key.as_deref().unwrap_or(""), p.message.as_str())).collect();
    assert_eq!(short, [(line, key, message)]);
}

#[test]
fn a_playbook_with_a_plan_and_code_has_no_problem() {
    assert_eq!(problems(BASE), []);
    let judged = own(&format!("{JUDGE}on_fail = \"building\"\nrounds = 2\ngate = \"review\"\n"));
    assert_eq!(problems(&judged), []);
}

#[test]
fn a_gate_nobody_knows_is_refused_with_its_line() {
    check(&own("gate = \"trust.deploy\"\n"), 14, "gate", "`trust.deploy` is not a gate");
}

#[test]
fn a_loop_without_a_cap_is_refused() {
    check(&own(&format!("{JUDGE}on_fail = \"building\"\n")), 18, "rounds", "a loop needs a cap");
}

#[test]
fn a_fail_must_go_to_an_earlier_stage() {
    let judge = |target: &str| own(&format!("{JUDGE}on_fail = \"{target}\"\nrounds = 1\n"));
    check(&judge("check"), 18, "on_fail", "there is no earlier stage `check`");
    check(&judge("nowhere"), 18, "on_fail", "there is no earlier stage `nowhere`");
    assert!(problems(&judge("nowhere"))[0].hint.contains("`planning` and `building`"));
}

#[test]
fn a_fail_may_go_back_to_the_plan_but_not_to_a_stage_that_mends_nothing() {
    let back = own(&format!("{JUDGE}on_fail = \"planning\"\nrounds = 1\n"));
    assert_eq!(problems(&back), []);
    let prove = "[[stage]]\nname = \"testing\"\nwork = \"prove\"\non_fail = \"building\"\nrounds = 1\n";
    let source = own(&format!("{prove}{JUDGE}on_fail = \"testing\"\nrounds = 1\n"));
    let message = "`testing` cannot mend what fails here: nothing from there on changes the code";
    check(&source, 23, "on_fail", message);
    let again = "[[stage]]\nname = \"again\"\nwork = \"judge\"\nrole = \"reviewer\"\non_fail = \"check\"\nrounds = 1\n";
    let source = own(&format!("{JUDGE}on_fail = \"building\"\nrounds = 1\n{again}"));
    assert!(problems(&source)[0].message.starts_with("`check` cannot mend"));
}

#[test]
fn work_without_what_it_needs_is_refused() {
    let first = |stage: &str| format!("name = \"own\"\n[[stage]]\nname = \"one\"\n{stage}");
    let judge = "work = \"prove\"\non_fail = \"one\"\nrounds = 1\n";
    let found = problems(&first(judge));
    assert_eq!(found[0].message, "there is nothing to prove yet: no stage before it makes code");
    let pulses = "work = \"produce\"\nrole = \"r\"\nartifact = \"code\"\npulses = true\n";
    check(&first(pulses), 7, "pulses", "a stage in pulses needs a plan, and no stage before it makes one");
    let delegate = "work = \"delegate\"\n";
    check(&first(delegate), 4, "work", "a `delegate` stage needs a plan, and no stage before it makes one");
    let spec = "work = \"produce\"\nrole = \"r\"\nartifact = \"spec\"\npulses = true\n";
    assert_eq!(problems(&first(spec))[0].message, "a spec is not made in pulses");
}

#[test]
fn a_plan_is_delegated_once() {
    let delegate = |name: &str| format!("[[stage]]\nname = \"{name}\"\nwork = \"delegate\"\n");
    let source = own(&format!("{}{}", delegate("one"), delegate("two")));
    check(&source, 19, "work", "`one` has already done all tasks of the plan");
}

#[test]
fn a_review_that_nobody_could_approve_is_refused() {
    let message = |why: &str| format!("nobody could approve this review: {why}");
    let untested = own("gate = \"review\"\n");
    check(&untested, 14, "gate", &message("no stage judges or proves the work"));
    let early = own(&format!("gate = \"review\"\n{JUDGE}on_fail = \"building\"\nrounds = 1\n"));
    check(&early, 14, "gate", &message("`check` looks at the work only afterwards"));
    let more = "[[stage]]\nname = \"more\"\nwork = \"produce\"\nrole = \"r\"\nartifact = \"code\"\ngate = \"review\"\n";
    let late = own(&format!("{JUDGE}on_fail = \"building\"\nrounds = 1\n{more}"));
    assert!(problems(&late).iter().any(|p| p.message == message("`check` has passed older code than this")));
    let fix = own(&format!("{JUDGE}on_fail = \"building\"\nrounds = 1\nfix_gate = \"review\"\n"));
    check(&fix, 20, "fix_gate", "work that failed is not reviewed before it is mended");
}

#[test]
fn a_manual_gate_can_be_passed_everywhere() {
    let prove =
        "[[stage]]\nname = \"testing\"\nwork = \"prove\"\ngate = \"manual\"\non_fail = \"building\"\nrounds = 1\n";
    assert_eq!(problems(&own(&format!("gate = \"manual\"\nrevisions = 0\n{prove}"))), []);
}

#[test]
fn a_verdict_that_later_work_outdates_is_warned_of() {
    let more = "[[stage]]\nname = \"more\"\nwork = \"produce\"\nrole = \"r\"\nartifact = \"code\"\n";
    let found = problems(&own(&format!("{JUDGE}on_fail = \"building\"\nrounds = 1\n{more}")));
    assert_eq!((found.len(), found[0].weight, found[0].line), (1, Weight::Warned, 16));
}

#[test]
fn numbers_have_bounds() {
    let delegate = "[[stage]]\nname = \"d\"\nwork = \"delegate\"\n";
    for bad in ["0", "65", "-1", "99999999999999999999"] {
        let source = own(&format!("{delegate}agents = {bad}\n"));
        check(&source, 17, "agents", &format!("`agents` cannot be {bad}"));
    }
    check(&own("timeout_minutes = 10081\n"), 14, "timeout_minutes", "`timeout_minutes` cannot be 10081");
    check(&own("crashes = 0\n"), 14, "crashes", "`crashes` cannot be 0");
    check(&own("crashes = \"two\"\n"), 14, "crashes", "`crashes` must be a whole number");
    let judge = own(&format!("{JUDGE}on_fail = \"building\"\nrounds = 101\n"));
    check(&judge, 19, "rounds", "`rounds` cannot be 101");
    let pursue = own("[[stage]]\nname = \"p\"\nwork = \"pursue\"\nrole = \"r\"\niterations = 101\n");
    check(&pursue, 18, "iterations", "`iterations` cannot be 101");
    assert_eq!(problems(&own(&format!("{delegate}agents = 64\n"))), []);
}

#[test]
fn keys_must_belong_to_the_kind_of_work() {
    check(&own("agents = 3\n"), 14, "agents", "`agents` does not belong to a `produce` stage");
    check(&own("rounds = 3\n"), 14, "rounds", "`rounds` does not belong to a `produce` stage");
    check(&own("gates = \"auto\"\n"), 14, "gates", "`gates` is not a key of a stage");
    let prove = "[[stage]]\nname = \"t\"\nwork = \"prove\"\non_fail = \"building\"\nrounds = 1\ncrashes = 2\n";
    check(&own(prove), 19, "crashes", "`crashes` does not belong to a `prove` stage");
    check(&format!("colour = 1\n{BASE}"), 1, "colour", "`colour` is not a key of a playbook");
}

#[test]
fn words_nobody_knows_are_refused() {
    let stage = |work: &str| own(&format!("[[stage]]\nname = \"x\"\nrole = \"r\"\n{work}"));
    check(&stage("work = \"ponder\"\n"), 17, "work", "`ponder` is not a kind of work");
    check(&stage("work = \"produce\"\nartifact = \"poem\"\n"), 18, "artifact", "`artifact` cannot be `poem`");
    check(&stage("work = \"produce\"\n"), 17, "artifact", "a `produce` stage must say what it leaves");
    let judge = "work = \"judge\"\nrounds = 1\n";
    check(&stage(judge), 17, "on_fail", "a `judge` stage must say where a FAIL goes");
    let delegate = own("[[stage]]\nname = \"x\"\nwork = \"delegate\"\non_failure = \"cry\"\n");
    check(&delegate, 17, "on_failure", "`on_failure` cannot be `cry`");
}

#[test]
fn names_and_roles_are_plain() {
    check(&BASE.replace("\"own\"", "\"Own\""), 1, "name", "`Own` is not a playbook name");
    check(&BASE.replace("\"planning\"", "\"plan ning\""), 4, "name", "`plan ning` is not a stage name");
    check(&BASE.replace("\"implementer\"", "\"the_one\""), 12, "role", "`the_one` is not a role name");
    check(&BASE.replace("role = \"planner\"\n", ""), 3, "role", "a `produce` stage must say who does it");
    check(&BASE.replace("\"building\"", "\"planning\""), 10, "name", "there are two stages `planning`");
    check(&BASE.replace("\"own\"", "\"team\""), 1, "name", "`team` is the name of a built-in playbook");
    check(&BASE.replace("\"own\"", "\"other\""), 1, "name", "the file is called `own`, the playbook `other`");
}

#[test]
fn every_problem_of_a_file_is_told_in_its_order() {
    let source = own("gate = \"maybe\"\nagents = 3\ncrashes = 99\n[[stage]]\nwork = \"judge\"\n");
    let lines: Vec<_> = problems(&source).into_iter().map(|p| (p.line, p.key.unwrap())).collect();
    let expected = [(14, "gate"), (15, "agents"), (16, "crashes"), (17, "name"), (17, "role"), (18, "on_fail")];
    let lines: Vec<_> = lines.iter().map(|(line, key)| (*line, key.as_str())).collect();
    assert_eq!(lines[..6], expected);
    assert_eq!(Playbook::parse("own.toml", &source).unwrap_err().line, 14);
}

#[test]
fn a_file_that_is_no_playbook_is_refused() {
    check("name = \"own\"\n", 1, "stage", "a playbook needs at least one stage");
    check("name = \"own\"\nstage = 3\n", 2, "stage", "`stage` must be a list of tables");
    check("name = \"own\"\nstage = [3]\n", 2, "stage", "a stage must be a table");
    let broken = problems("name = \"own\"\n[[stage]\n");
    assert!(broken[0].message.starts_with("this is not TOML"), "{broken:?}");
    assert_eq!(broken[0].line, 2);
    let long = format!("{BASE}# {}", "x".repeat(64 * 1024));
    assert_eq!(problems(&long)[0].message, "it is longer than 64 KiB");
    let stage =
        |n: usize| format!("[[stage]]\nname = \"s{n}\"\nwork = \"produce\"\nrole = \"r\"\nartifact = \"code\"\n");
    let many: String = (0..51).map(stage).collect();
    check(&format!("name = \"own\"\n{many}"), 2, "stage", "51 stages are too many");
}

#[test]
fn tasks_are_worked_by_built_in_or_own_playbooks() {
    let delegate =
        |child: &str| own(&format!("[[stage]]\nname = \"d\"\nwork = \"delegate\"\nplaybook = \"{child}\"\n"));
    check(&delegate("nothing"), 17, "playbook", "there is no playbook `nothing`");
    check(&delegate("own"), 17, "playbook", "`own` cannot be the playbook of its own tasks");
    let team = problems(&delegate("team"));
    assert_eq!(team[0].message, "`team` delegates itself, in `execution`; tasks are not split again");
    let task = problems(&delegate("task"));
    assert_eq!(task[0].message, "`task` delegates itself, in `delegated`; tasks are not split again");
    let warned = problems(&delegate("staged"));
    assert_eq!((warned.len(), warned[0].weight), (1, Weight::Warned));
    assert!(Playbook::parse("own.toml", &delegate("staged")).is_ok());

    let small = BASE.replace("\"own\"", "\"small\"");
    let broken = small.replace("artifact = \"code\"", "artifact = \"cod\"");
    let among = |source: &str, child: &str| {
        let child = child.to_owned();
        Playbook::parse_among("own.toml", source, &move |name| (name == "small").then(|| child.clone()))
    };
    let parent = among(&delegate("small"), &small).unwrap();
    assert_eq!(parent.child("small").map(|child| child.stages.len()), Some(2));
    let error = among(&delegate("small"), &broken).unwrap_err();
    let message = "`small` cannot be used: .autonomous/playbooks/small.toml:13: `artifact` cannot be `cod`";
    assert_eq!((error.line, error.message.as_str()), (17, message));
}

#[test]
fn an_open_gate_of_a_repository_follows_the_users_trust() {
    let judge = format!("{JUDGE}on_fail = \"building\"\nrounds = 2\n");
    let playbook = Playbook::parse_among("own.toml", &own(&judge), &|_| None).unwrap();
    let bound = playbook.bound_to_trust();
    let gates: Vec<StageGate> = bound.stages.iter().map(|stage| stage.gate).collect();
    let trust = StageGate::Trust;
    assert_eq!(gates, [trust(TrustKey::Planning), trust(TrustKey::Implementation), StageGate::Auto]);
    assert!(matches!(&bound.stages[2].work, Work::Judge { fix_gate, .. } if *fix_gate == trust(TrustKey::Fixes)));
}

#[test]
fn diagrams_name_every_stage_and_cap() {
    for name in Playbook::built_in_names() {
        let playbook = Playbook::built_in(name).unwrap();
        let source = playbook.mermaid();
        assert!(source.starts_with("stateDiagram-v2\n"), "{source}");
        for stage in &playbook.stages {
            assert!(source.contains(&format!("\"{} · ", stage.name)), "{source}");
            if let Some(rounds) = stage.work.rounds() {
                assert!(source.contains(&format!("{rounds} round")), "{source}");
            }
        }
    }
}

#[test]
fn who_hands_out_tasks_needs_a_stage_behind_it_that_does_them_and_no_other_plan() {
    let worker = "name = \"own\"\ndescription = \"d\"\n[[stage]]\nname = \"work\"\nwork = \"produce\"\nrole = \"worker\"\n\
                  artifact = \"handoff\"\nmay_delegate = true\n";
    let delegate = "[[stage]]\nname = \"parts\"\nwork = \"delegate\"\n";
    assert_eq!(problems(&format!("{worker}{delegate}")), []);
    check(worker, 8, "may_delegate", "nobody would do the tasks it hands out");
    let code = worker.replace("handoff", "code");
    let found = problems(&format!("{code}{delegate}"));
    assert_eq!(found[0].message, "only who hands over the whole work may hand out parts of it");
    let plan = "[[stage]]\nname = \"plan\"\nwork = \"produce\"\nrole = \"planner\"\nartifact = \"plan\"\n";
    let two =
        format!("{}{plan}{}{delegate}", &worker[..worker.find("[[").unwrap()], &worker[worker.find("[[").unwrap()..]);
    check(&two, 13, "may_delegate", "the tasks it hands out would take the place of the plan's");
}

/// The word of a state as the transition table names it.
fn task_word(state: &str) -> &'static str {
    let (place, hold) = state.split_once(": ").unwrap_or((state, ""));
    let kind = serde_json::from_value::<HoldKind>(hold.into()).ok();
    let status = match place {
        "opening" => Status::Queued,
        "completed" => Status::Completed,
        "failed" => Status::Failed,
        "cancelled" => Status::Cancelled,
        _ => Status::Running,
    };
    let stage = (place != "finishing").then_some(place);
    TaskWord::told("task", status, kind, stage).map_or("none", TaskWord::word)
}

/// What people may do beyond the map: force a merge, send finished work back, take an assumption back, take a waiting
/// conversation to their terminal.
fn is_a_persons_own(row: &Transition) -> bool {
    if row.because == Because::Pause && row.from.contains(": ") {
        return true;
    }
    let sent_back = row.from == "agent-review: review" && row.because == Because::Decided("reject");
    row.because == Because::Decided("force_merge") || row.because == Because::Overturn || sent_back
}

#[test]
fn the_words_of_a_task_go_where_its_map_says_and_nowhere_else() {
    let mut ways = std::collections::BTreeMap::<&str, std::collections::BTreeSet<&str>>::new();
    for row in Playbook::built_in("task").unwrap().table(false).iter().filter(|row| !is_a_persons_own(row)) {
        let (from, to) = (task_word(&row.from), task_word(&row.to));
        if from != to {
            ways.entry(from).or_default().insert(to);
        }
    }
    for (from, to) in &ways {
        let from = TaskWord::parse(from).unwrap();
        let strange: Vec<_> = to.iter().filter(|to| !from.may_become(TaskWord::parse(to).unwrap())).collect();
        assert!(strange.is_empty(), "{} → {strange:?} is not in the map", from.word());
    }
    let all = TaskWord::EIGHT.into_iter().chain([TaskWord::Delegated]);
    for from in all.filter(|from| !matches!(from, TaskWord::Pending)) {
        let taken = ways.get(from.word()).cloned().unwrap_or_default();
        let never: Vec<_> = from.ways().iter().map(|to| to.word()).filter(|to| !taken.contains(to)).collect();
        assert_eq!(never, [""; 0], "from {} in the map, and never happens", from.word());
    }
}
