//! Tests that an agent changed: the checks also run with the tests as they were in the base commit.

use domain::{Decision, Ending, Event, Hold, HoldKind, Phase, Run, check_log};

use crate::world::{World, git, yes};

fn script(implementer: &str) -> String {
    format!(
        r##"
[[conversation]]
role = "planner"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_plan"
input = {{ title = "A file", body = "# A file\n\n```mermaid\nflowchart TD\n  A[Start] --> B[End]\n```\n" }}

[[conversation]]
role = "implementer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "shell"
input = {{ command = "{implementer}" }}
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = {{ summary = "made" }}

[[conversation]]
role = "validator"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = {{ verdict = "pass", summary = "fine", findings = [] }}
"##
    )
}

const CHECK: &str = "sh tests/check.sh";

fn world(implementer: &str) -> World {
    let world = World::new(&script(implementer));
    world.commit(&[("tests/check.sh", "grep -q right a.txt\n"), ("tests/other.sh", "true\n")]);
    world
}

#[tokio::test]
async fn code_that_passes_only_the_tests_it_changed_is_not_merged_without_a_person() {
    let world = world("echo wrong > a.txt; echo true > tests/check.sh; rm tests/other.sh");
    let before = git(&world.repo(), &["rev-parse", "main"]);
    let mut holds = Vec::new();
    let run = world
        .work("autonomous", CHECK, |_: &Run, hold: &Hold| -> Decision {
            assert_eq!(hold.kind, HoldKind::Review, "{}", hold.summary);
            holds.push(hold.summary.clone());
            Decision::Cancel { reason: None }
        })
        .await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Cancelled });
    assert_eq!(git(&world.repo(), &["rev-parse", "main"]), before);
    let said = &holds[0];
    assert!(said.contains("changed tests") && said.contains("tests/check.sh, tests/other.sh"), "{said}");
    let earlier = run.proof.and_then(|proof| proof.earlier_tests).unwrap();
    assert_eq!(earlier.files, ["tests/check.sh", "tests/other.sh"]);
    assert!(!earlier.passed());
    let report = git(
        &world.repo(),
        &["show", &format!("{}:.autonomous/runs/{}/validation-report.md", run.opened.unwrap().branch, run.id)],
    );
    assert!(report.contains("As they were before, the checks fail on the same code"), "{report}");
}

#[tokio::test]
async fn a_person_can_approve_code_that_fails_earlier_tests() {
    let world = world("echo wrong > a.txt; echo true > tests/check.sh");
    let run = world
        .work("autonomous", CHECK, |_: &Run, hold: &Hold| -> Decision {
            assert_eq!(hold.kind, HoldKind::Review, "{}", hold.summary);
            yes()
        })
        .await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
    assert_eq!(check_log(&run.id, &world.log(&run.id)), []);
    assert_eq!(world.file("main", "a.txt"), "wrong\n");
}

#[tokio::test]
async fn changed_tests_that_also_pass_as_they_were_before_hold_nothing_up() {
    let world = world("echo right > a.txt; echo 'grep -q right a.txt && test -f a.txt' > tests/check.sh");
    let run = world.work("autonomous", CHECK, |_, hold| panic!("it waits: {}", hold.summary)).await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
    let earlier = |event: &Event| matches!(event, Event::ProofRecorded { proof } if proof.earlier_tests.as_ref().is_some_and(domain::EarlierTests::passed));
    assert!(world.events(&run.id).iter().any(earlier));
    assert_eq!(world.file("main", "tests/check.sh"), "grep -q right a.txt && test -f a.txt\n");
}

/// A runner that reads a file by itself, as pytest reads `conftest.py`.
const RUNNER: &str = "if test -e conftest.py; then sh conftest.py; fi; for t in tests/*.sh; do sh $t || exit 1; done";

/// What a review hold says of a run that is then cancelled.
async fn held(implementer: &str, check: &str) -> String {
    let world = world(implementer);
    let mut holds = Vec::new();
    let run = world
        .work("autonomous", check, |_: &Run, hold: &Hold| -> Decision {
            assert_eq!(hold.kind, HoldKind::Review, "{}", hold.summary);
            holds.push(hold.summary.clone());
            Decision::Cancel { reason: None }
        })
        .await;
    assert_eq!(run.merged, None);
    holds.pop().unwrap_or_default()
}

#[tokio::test]
async fn a_new_file_that_the_test_runner_reads_by_itself_does_not_speak_for_the_earlier_tests() {
    let said = held("echo wrong > a.txt; echo 'rm tests/check.sh' > conftest.py", RUNNER).await;
    assert!(said.contains("changed tests") && said.contains("conftest.py"), "{said}");
}

#[tokio::test]
async fn a_test_that_was_moved_out_of_sight_still_runs_where_it_was() {
    let said = held("echo wrong > a.txt; mkdir old; mv tests/check.sh old/check.txt", RUNNER).await;
    assert!(said.contains("changed tests") && said.contains("tests/check.sh"), "{said}");
}

#[tokio::test]
async fn a_test_that_was_replaced_by_a_link_or_a_folder_runs_as_it_was() {
    for replaced in
        ["ln -sf other.sh tests/check.sh", "rm tests/check.sh; mkdir tests/check.sh; echo > tests/check.sh/a"]
    {
        let said =
            held(&format!("echo wrong > a.txt; {replaced}"), "if test -f tests/check.sh; then sh tests/check.sh; fi")
                .await;
        assert!(said.contains("changed tests") && said.contains("tests/check.sh"), "{replaced}: {said}");
    }
}

#[tokio::test]
async fn a_changed_file_that_decides_what_a_check_does_is_in_the_report() {
    let world = world("echo 'check:; true' > Makefile");
    world.commit(&[("Makefile", "check:; false\n")]);
    let run = world.work("autonomous", "make check || true", |_, hold| panic!("{}", hold.summary)).await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
    let report = world.file("main", &format!(".autonomous/runs/{}/validation-report.md", run.id));
    assert!(report.contains("No check ran as it was before:\n\n- `Makefile`"), "{report}");
}
