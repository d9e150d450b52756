//! Real work on a repository of some fifty files: a rename across it, and a mistake that failing tests bring to light.

use crate::fake::{Fake, Turn};
use crate::project;
use drivers::{HandIn, JobKind};
use serde_json::{Value, json};

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old_text": old, "new_text": new, "replace_all": true})
}

/// What a model makes of the matches: one edit per file, where the name stands as a whole word.
fn edits(paths: &[&str]) -> Value {
    let one = |path: &&str| {
        let markdown = path.ends_with(".md");
        let (old, new) = if markdown { ("`formatPrice`", "`formatMoney`") } else { ("formatPrice", "formatMoney") };
        edit(path, old, new)
    };
    json!({"edits": paths.iter().map(one).collect::<Vec<_>>()})
}

fn users(folder: &std::path::Path) -> Vec<String> {
    let uses = |(path, text): &(String, String)| {
        !path.starts_with("out/") && !path.ends_with(".py") && text.contains("formatPrice")
    };
    project::files(folder).into_iter().filter(uses).map(|(path, _)| path).collect()
}

fn results(fake: &Fake, tool: &str) -> Vec<(bool, String)> {
    let records = fake.records();
    let all = records.iter().filter_map(|record| record["results"].as_array()).flatten();
    let own = all.filter(|result| result["tool"] == tool);
    own.map(|result| (result["ok"] == true, result["output"].as_str().unwrap().to_owned())).collect()
}

fn passes(folder: &std::path::Path) -> bool {
    let run = std::process::Command::new("node").args(["--test", "test/"]).current_dir(folder).output().unwrap();
    run.status.success()
}

#[tokio::test]
async fn a_function_is_renamed_across_the_codebase_in_one_step() {
    let mut fake = Fake::new(Vec::new()).await;
    let root = fake.work("");
    project::write(&root);
    let before = project::files(&root);
    assert!(before.len() >= 40, "{}", before.len());
    assert!(passes(&root), "it works before");
    let paths = users(&root);
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    assert_eq!(paths.len(), 1 + 14 + 14 + 1);
    fake.play(vec![
        Turn::Says(
            "",
            vec![
                ("grep", json!({"pattern": "\\bformatPrice\\b"})),
                ("semantic_search", json!({"query": "how is money in cents written with EUR"})),
            ],
        ),
        Turn::Says("", vec![("multi_edit", edits(&paths))]),
        Turn::Says(
            "",
            vec![
                ("grep", json!({"pattern": "\\bformatPrice\\b"})),
                ("shell", json!({"command": "node --test test/ 2>&1 | tail -n 12"})),
            ],
        ),
        Turn::Says("", vec![("complete_pulse", json!({"summary": "renamed formatPrice to formatMoney"}))]),
    ]);
    let job = fake.job(JobKind::Code);
    assert!(matches!(fake.attempt(&job).await, HandIn::Pulse(_)));

    let matches = results(&fake, "grep");
    for path in &paths {
        assert!(matches[0].1.contains(&format!("{path}:")), "grep shows {path}");
    }
    assert_eq!(matches[1].1, "no line matches `\\bformatPrice\\b`");
    let meant = &results(&fake, "semantic_search")[0].1;
    assert!(meant.contains("src/money.js:3-5 formatPrice"), "by its meaning too: {meant}");
    assert!(results(&fake, "multi_edit")[0].1.starts_with("made 30 edits in 30 files"));
    assert!(results(&fake, "shell")[0].1.contains("# fail 0"), "{:?}", results(&fake, "shell"));
    assert!(passes(&root));
    for ((path, old), (_, new)) in before.iter().zip(project::files(&root)) {
        let wanted = match path.as_str() {
            path if !paths.contains(&path) => old.clone(),
            path if path.ends_with(".md") => old.replace("`formatPrice`", "`formatMoney`"),
            _ => old.replace("formatPrice", "formatMoney"),
        };
        assert_eq!(new, wanted, "{path}: every other byte stays");
    }
}

#[tokio::test]
async fn a_failing_test_shows_a_mistake_and_it_is_mended() {
    let mut fake = Fake::new(Vec::new()).await;
    let root = fake.work("");
    project::write(&root);
    let paths = users(&root);
    let all: Vec<&str> = paths.iter().map(String::as_str).collect();
    // The tests are forgotten at first, and one path is wrong: then nothing at all is changed.
    let forgetful: Vec<&str> = all.iter().copied().filter(|path| !path.starts_with("test/")).collect();
    let mistaken: Vec<&str> = forgetful.iter().copied().chain(["src/prices.js"]).collect();
    let tests: Vec<&str> = all.iter().copied().filter(|path| path.starts_with("test/")).collect();
    let check = || {
        (
            "shell",
            json!({"command": "node --test test/ 2>&1 | grep -E 'SyntaxError|^# (pass|fail)' | sort | uniq -c; node --test test/ >/dev/null"}),
        )
    };
    fake.play(vec![
        Turn::Says("", vec![("multi_edit", edits(&mistaken))]),
        Turn::Says("", vec![("shell", json!({"command": "grep -rl formatMoney src | wc -l"}))]),
        Turn::Says("", vec![("multi_edit", edits(&forgetful))]),
        Turn::Says("", vec![check(), ("complete_pulse", json!({"summary": "too early"}))]),
        Turn::Says("", vec![("multi_edit", edits(&tests))]),
        Turn::Says("", vec![check()]),
        Turn::Says("", vec![("complete_pulse", json!({"summary": "renamed, tests pass"}))]),
    ]);
    let job = fake.job(JobKind::Code);
    let HandIn::Pulse(pulse) = fake.attempt(&job).await else { panic!() };
    assert_eq!(pulse.summary, "renamed, tests pass", "nothing is handed in beside a failing check");

    let edited = results(&fake, "multi_edit");
    assert!(!edited[0].0 && edited[0].1.contains("src/prices.js") && edited[0].1.contains("nothing was changed"));
    let ran = results(&fake, "shell");
    assert_eq!(ran[0].1.trim(), "0", "all or nothing");
    assert!(!ran[1].0 && ran[1].1.contains("formatPrice") && ran[1].1.contains("# fail 14"), "{}", ran[1].1);
    assert!(ran[2].0 && ran[2].1.contains("# fail 0"), "{}", ran[2].1);
    assert!(passes(&root));
}
