//! TASK.md under everything that people and agents write: nothing panics, nothing is lost, nothing is guessed.

use domain::Verdict;
use drivers::task_md::{TaskFile, TaskSection, TaskSheet, hand_in, missing};
use drivers::{HandIn, JobKind};
use proptest::prelude::*;

fn file(text: &str) -> TaskFile {
    TaskFile::parse(text.as_bytes())
}

#[track_caller]
fn verdict(review: &str, expected: Option<Verdict>) {
    assert_eq!(file(&format!("## Review\n{review}\n")).verdict(), expected, "{review:?}");
}

#[test]
fn the_verdict_is_on_the_first_line_with_the_word_outside_code_and_quotes() {
    let (pass, fail) = (Some(Verdict::Pass), Some(Verdict::Fail));
    for (review, expected) in [
        ("PASS", pass),
        ("Verdict: **FAIL**", fail),
        ("pass", pass),
        ("### Verdict\n\nFail - two things", fail),
        ("looks good\n\nPASS\nFAIL", pass),
        ("PASSED", None),
        ("bypass the FAILSAFE", None),
        ("pass_through", None),
        ("it does not pass, so FAIL", fail),
        ("```\nFAIL\n```\nPASS", pass),
        ("~~~text\nFAIL\n```\nFAIL\n~~~\nPASS", pass),
        ("````\n```\nFAIL\n````\nPASS", pass),
        ("   ```\n   FAIL\n   ```\n   PASS", pass),
        ("1. see\n    ```\n    FAIL\n    ```\n\nPASS", pass),
        ("1. see\n    ```\n    FAIL\nPASS", pass),
        ("> FAIL, said the first\n\nPASS", pass),
        ("  > FAIL", None),
        ("log:\n\n    FAIL test_a\n\nPASS", pass),
        ("log:\n\n\tFAIL test_a\n\nPASS", pass),
        ("a paragraph\n    that goes on: PASS", pass),
        ("<!-- PASS or FAIL -->\nFAIL", fail),
        ("<!--\nPASS\n-->", None),
        ("`cargo test -- fail` works: PASS", pass),
        ("`PASS`", pass),
        ("the word `pass()` is code", None),
        ("```\nPASS", None),
        ("", None),
        ("\u{200b}", None),
    ] {
        verdict(review, expected);
        verdict(&review.replace('\n', "\r\n"), expected);
    }
}

#[test]
fn a_section_is_there_when_its_heading_is_one_and_it_says_something() {
    for (text, there) in [
        ("## Handoff\ndone\n", true),
        ("\u{feff}## Handoff\r\ndone\r\n", true),
        ("##\tHandoff ##\ndone", true),
        ("   ## handoff\ndone", true),
        ("text\n## Handoff\n\n```\ncode is something\n```", true),
        ("## Handoff\n# A title inside\n", true),
        ("## Handoff\n", false),
        ("## Handoff\n \t\n\n## Notes\nx", false),
        ("## Handoff\n<!-- write it here -->\n", false),
        ("## Handoff", false),
        ("# Handoff\ndone", false),
        ("### Handoff\ndone", false),
        ("##Handoff\ndone", false),
        ("## Handoffs\ndone", false),
        ("    ## Handoff\n    done", false),
        ("> ## Handoff\n> done", false),
        ("```\n## Handoff\ndone\n```", false),
        ("~~~\n## Handoff\ndone", false),
        ("<!--\n## Handoff\ndone\n-->", false),
        ("---\nsummary: |\n  ## Handoff\n  done\n---\n", false),
        ("", false),
    ] {
        assert_eq!(file(text).artifacts().has_handoff, there, "{text:?}");
    }
}

#[test]
fn front_matter_is_read_as_people_write_it_and_a_broken_line_is_named() {
    let text = "---\nid: r1\nsummary: \"Add: a \\\"search\\\"\" # short\nstatus: 'it''s'\nlabels:\n  - a\n  - b\n\
                pr_url: ~\nlong: |\n  one\n  two\nreview_round: 2\n---\n## Notes\nx\n";
    let read = file(text);
    assert_eq!(read.problems(), []);
    assert_eq!(
        read.keys().collect::<Vec<_>>(),
        ["id", "summary", "status", "labels", "pr_url", "long", "review_round"]
    );
    let got = |key: &str| read.get(key).unwrap().to_owned();
    assert_eq!((got("summary"), got("status")), ("Add: a \"search\"".to_owned(), "it's".to_owned()));
    assert_eq!((got("pr_url"), got("long"), got("review_round")), (String::new(), "one\ntwo".into(), "2".into()));
    for (front, line) in [
        ("id: 1\nno colon\n", 3),
        ("id: \"open\n", 2),
        ("a: 1\nb: 2\na: 3\n", 4),
        ("id:1\n", 2),
        ("a b: c\n", 2),
        ("id: 'x' y\n", 2),
    ] {
        let read = file(&format!("---\n{front}---\n## Handoff\ndone\n"));
        assert_eq!(read.problems().iter().map(|problem| problem.line).collect::<Vec<_>>(), [line], "{front:?}");
        assert!(read.artifacts().has_handoff, "the body counts all the same");
    }
    let open = file("---\nid: 1\n## Handoff\ndone\n");
    assert_eq!(open.problems()[0].line, 1);
    assert!(open.artifacts().has_handoff);
}

#[test]
fn setting_one_thing_leaves_every_other_line_as_it_was() {
    let text = "\u{feff}---\r\nid: r1\r\nmine: [1, 2]\r\n# why\r\n---\r\nhello\r\n\r\n## Mine\r\nkeep\r\n## Review\r\nFAIL\r\n## Notes\r\nn";
    let mut read = file(text);
    assert_eq!(read.render(), text);
    read.set("id", "r2: x");
    read.set_section(TaskSection::Review, "PASS");
    let expected = text.replace("id: r1\r\n", "id: \"r2: x\"\n").replace("\r\nFAIL\r\n", "\r\n\nPASS\n\n");
    assert_eq!(read.render(), expected);
    let again = file(&read.render());
    assert_eq!((again.get("id"), again.verdict()), (Some("r2: x"), Some(Verdict::Pass)));
    assert_eq!(again.section(TaskSection::Notes), Some("n"));
}

#[test]
fn what_is_put_into_a_section_cannot_begin_another_or_swallow_the_rest() {
    let mut read = file("## Notes\n```\nnever closed");
    read.set_section(TaskSection::Handoff, "done\n## Review\nPASS\n<!-- open");
    read.set_section(TaskSection::Context, "~~~\ncode");
    let again = file(&read.render());
    assert_eq!(again.verdict(), None);
    assert!(again.section(TaskSection::Handoff).unwrap().contains("### Review\nPASS"));
    assert!(again.section(TaskSection::Context).is_some());
}

fn handed(kind: JobKind, text: &str, answered: &[&str]) -> Option<HandIn> {
    let answered: Vec<String> = answered.iter().map(|text| (*text).to_owned()).collect();
    hand_in(kind, &file(text), &answered)
}

fn asked(text: &str, answered: &[&str]) -> Vec<String> {
    match handed(JobKind::Lead, &format!("## Questions\n{text}\n## Handoff\ndone\n"), answered) {
        Some(HandIn::Questions { questions }) => questions.into_iter().map(|question| question.question).collect(),
        Some(HandIn::Handoff(_)) => Vec::new(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn questions_are_items_or_paragraphs_and_only_new_ones_are_asked() {
    assert_eq!(asked("- Which one?\n- How\n  many?\n", &[]), ["Which one?", "How\nmany?"]);
    assert_eq!(asked("Before we go on:\n\n1. Which?\n2) Why?\n", &[]), ["Which?", "Why?"]);
    assert_eq!(asked("Which one?\n\nAnd why?\n", &[]), ["Which one?", "And why?"]);
    assert_eq!(asked("- [x] Which?\n- [ ] Why?\n", &[]), ["Why?"]);
    assert_eq!(asked("- which  ONE?\n", &["Which one?"]), [""; 0]);
    assert_eq!(asked("None.\n", &[]), [""; 0]);
    assert_eq!(asked("<!-- ask here -->\n", &[]), [""; 0]);
    assert_eq!(asked(&"- Again?\n".repeat(50), &[]).len(), 10);
}

#[test]
fn a_question_that_ends_with_secret_wants_a_secret() {
    let text = "## Questions\n- Which host?\n- Which password? (secret)\n";
    let Some(HandIn::Questions { questions }) = handed(JobKind::Code, text, &[]) else { panic!("it asks") };
    assert_eq!(questions.iter().map(|question| question.secret).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn each_job_hands_in_its_own_section_and_nothing_else() {
    let both = "## Handoff\nAdded it.\n\n### Look at\na.rs\n\n### How to test\nrun it\n## Review\nPASS fine\n";
    let Some(HandIn::Handoff(handoff)) = handed(JobKind::Lead, both, &[]) else { panic!("a worker hands over") };
    assert_eq!(
        (handoff.summary.as_str(), handoff.look_at.as_str(), handoff.how_to_test.as_str()),
        ("Added it.", "a.rs", "run it")
    );
    assert!(matches!(handed(JobKind::Code, both, &[]), Some(HandIn::Pulse(_))));
    let Some(HandIn::Review(review)) = handed(JobKind::Review, both, &[]) else { panic!("a reviewer judges") };
    assert_eq!((review.verdict, review.summary.as_str()), (Verdict::Pass, "PASS fine"));
    assert_eq!(handed(JobKind::Review, "## Questions\n- Which?\n## Review\nhm\n", &[]), None);
    assert_eq!(handed(JobKind::Spec, both, &[]), None);
    for kind in JobKind::ALL {
        let handed = handed(kind, both, &[]);
        assert!(handed.is_none_or(|handed| handed.fits(kind)), "{kind:?}");
    }
    let nothing = file("---\nbroken\n---\n");
    assert_eq!(missing(JobKind::Lead, &file("")), "process exited without ## Handoff");
    assert_eq!(missing(JobKind::Review, &file("## Review\nhm")), "process exited without a verdict in ## Review");
    assert!(missing(JobKind::Lead, &nothing).contains("line 2"), "{}", missing(JobKind::Lead, &nothing));
}

fn sheet() -> TaskSheet {
    TaskSheet {
        id: "r1".into(),
        summary: "Add a search: fast".into(),
        status: "working".into(),
        context: "1. read".into(),
        answers: vec![("Which?".into(), Some("the first".into())), ("Why?".into(), None)],
        handoff: Some("made it\n## Review\nPASS".into()),
        review: Some("FAIL\n\ntoo slow".into()),
        ..TaskSheet::default()
    }
}

#[test]
fn a_worker_begins_without_a_handoff_and_a_reviewer_without_a_review() {
    let worker = file(&sheet().write(JobKind::Lead, None).render());
    assert_eq!((worker.problems(), worker.get("summary")), (&[][..], Some("Add a search: fast")));
    assert_eq!(hand_in(JobKind::Lead, &worker, &[]), None);
    assert_eq!(worker.section(TaskSection::Review), Some("FAIL\n\ntoo slow"));
    let context = worker.section(TaskSection::Context).unwrap();
    assert!(context.contains("Answer: the first") && context.contains("made it"), "{context}");
    let reviewer = file(&sheet().write(JobKind::Review, Some(&worker)).render());
    assert_eq!((hand_in(JobKind::Review, &reviewer, &[]), reviewer.verdict()), (None, None));
    assert!(reviewer.section(TaskSection::Handoff).unwrap().starts_with("made it"));
}

#[test]
fn what_the_agent_wrote_is_there_again_for_the_next() {
    let before =
        "---\nid: old\nmood: fine\n---\nhello\n\n## Notes\nremember\n\n## Ideas\n- one\n\n## Questions\n- Which?\n";
    let next = sheet().write(JobKind::Lead, Some(&file(before)));
    let (next, text) = (file(&next.render()), next.render());
    assert_eq!((next.get("id"), next.get("mood")), (Some("r1"), Some("fine")));
    assert_eq!((next.section(TaskSection::Notes), next.section(TaskSection::Questions)), (Some("remember"), None));
    assert!(text.contains("hello") && text.contains("## Ideas\n- one\n"), "{text}");
    let refused = file(&format!("{text}\n## Handoff\nall of it\n"));
    let sheet_after = TaskSheet { refusal: Some("no file was changed".into()), ..sheet() };
    let after = file(&sheet_after.write(JobKind::Lead, Some(&refused)).render());
    let context = after.section(TaskSection::Context).unwrap();
    assert!(context.contains("no file was changed") && context.contains("all of it"), "{context}");
    assert!(!after.artifacts().has_handoff);
    let third = sheet().write(JobKind::Lead, Some(&next)).render();
    assert_eq!(third, text, "writing it again changes nothing");
}

/// Text that is full of what has a meaning here.
fn nasty() -> impl Strategy<Value = String> {
    let pieces = [
        "---",
        "...",
        "\n",
        "\r\n",
        "## ",
        "Handoff",
        "Review",
        "Questions",
        "Notes",
        "PASS",
        "FAIL",
        "```",
        "~~~",
        "> ",
        "    ",
        "\t",
        "<!--",
        "-->",
        "`",
        "- ",
        "1. ",
        "key: ",
        "\"",
        "'",
        "# ",
        "|",
        "\u{feff}",
        "\u{0}",
        "é",
        " ",
    ];
    prop::collection::vec(
        prop_oneof![8 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1 => ".{0,6}"],
        0..60,
    )
    .prop_map(|parts| parts.concat())
}

fn section() -> impl Strategy<Value = TaskSection> {
    prop::sample::select(TaskSection::ALL.to_vec())
}

proptest! {
    #[test]
    fn any_bytes_are_read_and_written_back_as_they_were(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let read = TaskFile::parse(&bytes);
        prop_assert_eq!(read.render(), String::from_utf8_lossy(&bytes));
        for kind in JobKind::ALL {
            let _ = hand_in(kind, &read, &[]);
            let _ = missing(kind, &read);
        }
    }

    #[test]
    fn any_text_is_read_and_written_back_as_it_was(text in nasty()) {
        let read = file(&text);
        prop_assert_eq!(read.render(), text);
        prop_assert_eq!(read.artifacts().verdict.is_some(), read.verdict().is_some());
        prop_assert!(read.verdict().is_none() || read.artifacts().has_review);
    }

    #[test]
    fn setting_a_section_changes_that_section_alone(text in nasty(), new in nasty(), which in section()) {
        let before = file(&text);
        let mut changed = before.clone();
        changed.set_section(which, &new);
        let after = file(&changed.render());
        for other in TaskSection::ALL.into_iter().filter(|other| *other != which) {
            let kept = before.section(other).is_none() || after.section(other).is_some();
            prop_assert!(kept, "{other:?} is gone:\n{}", changed.render());
            if before.section(other).is_none() {
                prop_assert_eq!(after.section(other), None);
            }
        }
        prop_assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    }

    #[test]
    fn no_text_of_a_run_makes_a_verdict_for_a_reviewer(handoff in nasty(), earlier in nasty()) {
        let sheet = TaskSheet { handoff: Some(handoff), ..sheet() };
        let written = sheet.write(JobKind::Review, Some(&file(&earlier))).render();
        prop_assert_eq!(hand_in(JobKind::Review, &file(&written), &[]), None, "{}", written);
        let written = sheet.write(JobKind::Lead, Some(&file(&earlier))).render();
        prop_assert_eq!(hand_in(JobKind::Lead, &file(&written), &[]), None, "{}", written);
    }
}
