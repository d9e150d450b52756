//! No secret is committed or pushed by accident: a person is asked about code, Holdpoint's own texts are redacted.

use domain::{Decision, Ending, Hold, HoldKind, Phase, Run, check_log};

use crate::world::{World, git, yes};

/// A bare repository as the remote of the user's.
fn remote(world: &World) -> std::path::PathBuf {
    let remote = world.repo().with_file_name("remote.git");
    git(&world.repo(), &["init", "-q", "--bare", &remote.display().to_string()]);
    git(&world.repo(), &["remote", "add", "origin", &remote.display().to_string()]);
    remote
}

/// Everything that anybody who can read the repository can read: content, messages and paths of all commits.
fn all_of(repository: &std::path::Path) -> String {
    git(repository, &["log", "--all", "-p", "--text", "--format=%H%n%B"])
}

fn pushing(world: &World) {
    *world.configure.lock().unwrap() = Some(|config| {
        config.git = domain::GitPolicy { auto_merge: false, push: true, ask_push: false, ..config.git.clone() };
        config.trust = domain::Trust { implementation: domain::Gate::Auto, ..domain::Trust::default() };
    });
}

fn completed(world: &World, run: &Run) {
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
    assert_eq!(check_log(&run.id, &world.log(&run.id)), []);
}

/// Looks like a token of GitHub and is none; put together here, so that no scanner takes this file for a leak.
fn token() -> String {
    ["gh", "p_", "q7Zt1Lw9Xc3Vb5Nm2Kj8Hg4Fd6Sa0Pr1Ty3u"].concat()
}

fn plan() -> &'static str {
    r##"
[[conversation]]
role = "planner"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_plan"
input = { title = "A file", body = "# A file\n\n```mermaid\nflowchart TD\n  A[Start] --> B[End]\n```\n" }
"##
}

fn review() -> &'static str {
    r##"
[[conversation]]
role = "validator"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", summary = "fine", findings = [] }
"##
}

/// An implementer that writes each of these contents in turn, and hands in after each.
fn implementer(contents: &[&str]) -> String {
    let mut text = "\n[[conversation]]\nrole = \"implementer\"\n".to_owned();
    for content in contents {
        text.push_str(&format!(
            "[[conversation.turn]]\n[[conversation.turn.call]]\ntool = \"write_file\"\ninput = {{ path = \"a.env\", \
             content = {content:?} }}\n[[conversation.turn]]\n[[conversation.turn.call]]\ntool = \"complete_pulse\"\n\
             input = {{ summary = \"made\" }}\n"
        ));
    }
    text
}

#[tokio::test]
async fn code_with_a_secret_is_neither_committed_nor_pushed_before_a_person_allows_it() {
    let token = token();
    let world = World::new(&[plan(), &implementer(&[&format!("DEPLOY={token}\n")]), review()].concat());
    let remote = remote(&world);
    pushing(&world);
    let mut asked = Vec::new();
    let run = world
        .work("autonomous", "test -f a.env", |run: &Run, hold: &Hold| -> Decision {
            if hold.kind == HoldKind::Permission {
                assert!(run.code().is_none(), "nothing was committed");
                assert!(!all_of(&world.repo()).contains(&token) && !all_of(&remote).contains(&token));
                asked.push(hold.clone());
            }
            yes()
        })
        .await;
    completed(&world, &run);
    assert_eq!(asked.len(), 1, "one question, before anything was committed");
    assert!(asked[0].summary.contains("a.env:1"), "{}", asked[0].summary);
    assert!(!format!("{:?}", world.events(&run.id)).contains(&token), "no event holds the value");
    let calls = world.calls(&run.id);
    assert_eq!(
        calls.iter().filter(|call| call.starts_with("implementer")).count(),
        2,
        "nobody was paid again: {calls:?}"
    );
    assert_eq!(world.file(&run.opened().branch, "a.env"), format!("DEPLOY={token}\n"), "what was allowed is there");
}

#[tokio::test]
async fn what_is_pushed_holds_no_answered_secret_and_no_path_of_this_machine() {
    let token = token();
    let asks = r##"
[[conversation]]
role = "implementer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "ask_questions"
input = { questions = [ { question = "Which password has the database?", context = "to migrate", response_type = "text" }, { question = "Which token?", context = "to deploy", response_type = "text" } ] }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "a.env", content = "a\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "made" }
"##;
    let asks = asks.replacen("response_type", "secret = true, response_type", 1);
    let world = World::new(&[plan(), &asks, review()].concat());
    let remote = remote(&world);
    pushing(&world);
    let run = world
        .work("autonomous", "test -f a.env && pwd", |_: &Run, hold: &Hold| -> Decision {
            match &hold.question {
                Some(question) if question.question.contains("password") => {
                    Decision::Answer { answer: vec!["correct horse battery".to_owned()] }
                }
                Some(_) => Decision::Answer { answer: vec![token.clone()] },
                None => yes(),
            }
        })
        .await;
    completed(&world, &run);
    let told = world.turns(&run.id, "implementer", 1);
    assert!(told.contains("correct horse battery") && told.contains(&token), "who asked is told");
    let pushed = all_of(&remote);
    assert!(pushed.contains("context.json") && pushed.contains("Which password"), "{pushed}");
    for value in ["correct horse battery", token.as_str()] {
        let line = pushed.lines().find(|line| line.contains(value));
        assert!(line.is_none(), "`{value}` was pushed: {line:?}");
    }
    let folder = world.repo().parent().unwrap().display().to_string();
    let line = pushed.lines().find(|line| line.contains(&folder));
    assert!(line.is_none(), "a path of this machine was pushed: {line:?}");
}

#[tokio::test]
async fn work_that_is_sent_back_for_a_secret_is_mended_by_its_agent_and_nothing_of_it_is_in_any_commit() {
    let token = token();
    let script = implementer(&[&format!("DEPLOY={token}\n"), "DEPLOY=${DEPLOY_TOKEN}\n"]);
    let world = World::new(&[plan(), &script, review()].concat());
    let remote = remote(&world);
    pushing(&world);
    let mut asked = 0;
    let run = world
        .work("autonomous", "test -f a.env", |_: &Run, hold: &Hold| -> Decision {
            if hold.kind != HoldKind::Permission {
                return yes();
            }
            asked += 1;
            assert!(asked < 3, "it hands in the same again");
            Decision::Reject { feedback: "read it from the environment".to_owned() }
        })
        .await;
    completed(&world, &run);
    assert_eq!(asked, 1);
    let said = world.turns(&run.id, "implementer", 1);
    assert!(said.contains("a.env:1: GitHub token") && said.contains("read it from the environment"), "{said}");
    assert!(!all_of(&remote).contains(&token) && !all_of(&world.repo()).contains(&token));
    assert_eq!(world.file(&run.opened().branch, "a.env"), "DEPLOY=${DEPLOY_TOKEN}\n");
}

#[tokio::test]
async fn a_key_of_the_server_is_known_in_any_wrapping_and_said_to_be_so() {
    let key = "plain words as a key";
    let settings = runner::UpstreamSettings {
        kind: broker::UpstreamKind::OpenAi,
        base_url: "http://127.0.0.1:9/v1".to_owned(),
        key: broker::Secret::new(key),
        limits: broker::Limits::default(),
        hosted: broker::HostedFeatures::default(),
    };
    // `x` and the key, in base64.
    let script = implementer(&["data = eHBsYWluIHdvcmRzIGFzIGEga2V5\n"]);
    let upstreams = std::collections::BTreeMap::from([("acme".to_owned(), settings)]);
    let world = World::with(&[plan(), &script, review()].concat(), upstreams);
    let mut asked = Vec::new();
    let run = world
        .work("autonomous", "test -f a.env", |_: &Run, hold: &Hold| -> Decision {
            if hold.kind != HoldKind::Permission {
                return yes();
            }
            asked.push(hold.summary.clone());
            Decision::Cancel { reason: None }
        })
        .await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Cancelled });
    assert!(
        asked.len() == 1 && asked[0].contains("the value of the key of `acme`, which Holdpoint knows"),
        "{asked:?}"
    );
    assert!(!asked[0].contains("plain words"), "{asked:?}");
}

#[tokio::test]
async fn what_was_in_the_files_before_or_was_only_moved_is_nobodys_fault() {
    let token = token();
    let script = r##"
[[conversation]]
role = "implementer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "shell"
input = { command = "git mv old.env a.env 2>/dev/null || mv old.env a.env; echo more >> a.env; echo more >> kept.env" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "made" }
"##;
    let world = World::new(&[plan(), script, review()].concat());
    let line = format!("DEPLOY={token}\n");
    world.commit(&[("old.env", &line), ("kept.env", &line)]);
    let run = world
        .work("autonomous", "test -f a.env", |_: &Run, hold: &Hold| -> Decision {
            assert_ne!(hold.kind, HoldKind::Permission, "{}", hold.summary);
            yes()
        })
        .await;
    completed(&world, &run);
}

#[tokio::test]
async fn commits_of_a_person_with_a_secret_in_them_are_not_pushed_before_they_say_so() {
    let token = token();
    let stuck = r##"
[[conversation]]
role = "pursuer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "reflect"
input = { goal_achieved = false, progress = 0, content = "no way in", requires_user_intervention = true, issues = ["no key"] }
"##;
    let world = World::new(stuck);
    let remote = remote(&world);
    pushing(&world);
    let mut asked = Vec::new();
    let run = world
        .work("goal", "true", |run: &Run, hold: &Hold| -> Decision {
            match hold.kind {
                HoldKind::Stuck => Decision::TakeOver,
                HoldKind::Paused => {
                    let (repo, branch) = (world.repo(), &run.opened().branch);
                    git(&repo, &["checkout", "-q", branch]);
                    world.commit(&[("mine.env", &format!("\nDEPLOY={token}\n"))]);
                    // Gone from the files, and still in the history.
                    world.commit(&[("mine.env", "\n")]);
                    git(&repo, &["checkout", "-q", "main"]);
                    Decision::Resume
                }
                HoldKind::Permission => {
                    assert_eq!(all_of(&remote), "", "nothing was pushed");
                    asked.push(hold.summary.clone());
                    yes()
                }
                _ => yes(),
            }
        })
        .await;
    completed(&world, &run);
    assert!(asked.len() == 1 && asked[0].contains("mine.env:2: GitHub token"), "{asked:?}");
    assert!(all_of(&remote).contains(&token), "a person said that it may");
}

/// Everything of a run that any view or record shows, as text.
fn shown(world: &World, run: &Run, hold: Option<&Hold>) -> String {
    let events: Vec<String> = world.events(&run.id).iter().map(|event| format!("{event:?}")).collect();
    format!("{}{hold:?}", events.join("\n"))
}

#[tokio::test]
async fn a_file_or_folder_whose_name_holds_a_secret_is_committed_only_after_a_yes_and_named_without_it() {
    let token = token();
    for path in [format!("keys/{token}.txt"), format!("{token}/a.txt"), format!("new\nline-{token}")] {
        let script = format!(
            "\n[[conversation]]\nrole = \"implementer\"\n[[conversation.turn]]\n[[conversation.turn.call]]\n\
             tool = \"shell\"\ninput = {{ command = {:?} }}\n[[conversation.turn]]\n[[conversation.turn.call]]\n\
             tool = \"complete_pulse\"\ninput = {{ summary = \"made\" }}\n",
            format!("mkdir -p \"$(dirname '{path}')\" && echo plain > '{path}'")
        );
        let world = World::new(&[plan(), &script, review()].concat());
        let mut asked = Vec::new();
        let run = world
            .work("autonomous", "true", |run: &Run, hold: &Hold| -> Decision {
                if hold.kind == HoldKind::Permission {
                    assert!(run.code().is_none(), "nothing was committed");
                    assert!(!all_of(&world.repo()).contains(&token));
                    asked.push((hold.clone(), shown(&world, run, Some(hold))));
                }
                yes()
            })
            .await;
        completed(&world, &run);
        assert_eq!(asked.len(), 1, "{path}");
        let (hold, shown) = &asked[0];
        assert!(hold.summary.contains("GitHub token") && hold.summary.contains("[redacted"), "{}", hold.summary);
        assert!(!shown.contains(&token), "{shown}");
    }
}

#[tokio::test]
async fn names_that_were_there_before_are_not_asked_about() {
    let token = token();
    let world = World::new(&[plan(), &implementer(&["plain\n"]), review()].concat());
    world.commit(&[(&format!("{token}/a.txt"), "plain\n")]);
    let run = world
        .work("autonomous", "true", |_: &Run, hold: &Hold| -> Decision {
            assert_ne!(hold.kind, HoldKind::Permission, "{}", hold.summary);
            yes()
        })
        .await;
    completed(&world, &run);
}

const STUCK: &str = r##"
[[conversation]]
role = "pursuer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "reflect"
input = { goal_achieved = false, progress = 0, content = "no way in", requires_user_intervention = true, issues = ["no key"] }
"##;

#[tokio::test]
async fn a_name_with_a_secret_in_the_history_of_a_person_is_found_before_a_push() {
    let token = token();
    let world = World::new(STUCK);
    let remote = remote(&world);
    pushing(&world);
    let mut asked = Vec::new();
    let run = world
        .work("goal", "true", |run: &Run, hold: &Hold| -> Decision {
            match hold.kind {
                HoldKind::Stuck => Decision::TakeOver,
                HoldKind::Paused => {
                    let (repo, branch) = (world.repo(), &run.opened().branch);
                    git(&repo, &["checkout", "-q", branch]);
                    world.commit(&[(&format!("{token}/mine.txt"), "plain\n")]);
                    // Gone from the tree, and still in the history.
                    git(&repo, &["rm", "-q", "-r", &token]);
                    git(&repo, &["commit", "-q", "-m", "away with it"]);
                    git(&repo, &["checkout", "-q", "main"]);
                    Decision::Resume
                }
                HoldKind::Permission => {
                    assert_eq!(all_of(&remote), "", "nothing was pushed");
                    asked.push(hold.summary.clone());
                    yes()
                }
                _ => yes(),
            }
        })
        .await;
    completed(&world, &run);
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].contains("[redacted: GitHub token]/mine.txt") && !asked[0].contains(&token), "{asked:?}");
}

#[tokio::test]
async fn commits_of_a_person_with_a_secret_in_them_are_not_merged_before_they_say_so() {
    let token = token();
    let careless = crate::team::SCRIPT.replace("&& printf 'A\\\\nB\\\\n' > both.txt", "&& echo more >> both.txt");
    assert_ne!(careless, crate::team::SCRIPT);
    for (answer, lands) in [(yes(), true), (Decision::Cancel { reason: None }, false)] {
        let world = World::new(&careless);
        let on_main = || git(&world.repo(), &["log", "main", "-p", "--text"]).contains(&token);
        let mut asked = Vec::new();
        let run = world.work("team", "test -s both.txt", |run: &Run, hold: &Hold| -> Decision {
            match hold.kind {
                HoldKind::Clarification => Decision::Answer { answer: vec!["One.".to_owned()] },
                HoldKind::Conflict => {
                    let (repo, branch) = (world.repo(), &run.opened().branch);
                    let commit = run.task(hold.task.as_deref().unwrap()).unwrap().commit.clone().unwrap();
                    git(&repo, &["checkout", "-q", branch]);
                    git(&repo, &["merge", "-q", "--no-ff", "-m", "By hand", commit.as_str()]);
                    world.commit(&[("both.txt", "A\nB\n"), ("mine.env", &format!("\nDEPLOY={token}\n"))]);
                    git(&repo, &["checkout", "-q", "main"]);
                    Decision::Retry { feedback: None, model: None }
                }
                HoldKind::Permission => {
                    assert!(!on_main(), "it is on the base already");
                    asked.push(hold.summary.clone());
                    answer.clone()
                }
                _ => yes(),
            }
        });
        let run = run.await;
        assert_eq!(check_log(&run.id, &world.log(&run.id)), []);
        assert!(asked.len() == 1 && asked[0].contains("mine.env:2: GitHub token"), "{asked:?}");
        assert!(asked[0].contains("what is to be merged") && !asked[0].contains(&token), "{asked:?}");
        assert_eq!(on_main(), lands);
    }
}

#[tokio::test]
async fn the_end_of_what_a_check_printed_holds_no_secret_and_no_half_of_one() {
    let token = token();
    let reversed: String = token.chars().rev().collect();
    // The last 8 KiB begin in the middle of the token; then in the middle of what is read of a longer output.
    for (after, name) in [(8_170, "kept"), (65_520, "read"), (10, "whole")] {
        let world = World::new(&[plan(), &implementer(&["plain\n"]), review()].concat());
        let check = format!(
            "head -c 70000 /dev/zero | tr '\\0' y; echo; printf %s {reversed} | rev | tr -d '\\n'; printf ' '; head -c {after} /dev/zero | tr '\\0' x"
        );
        let run = world.work("autonomous", &check, |_: &Run, _: &Hold| -> Decision { yes() }).await;
        completed(&world, &run);
        let tail = &run.proof.as_ref().unwrap().checks[0].tail;
        let halves = [&token[20..], &token[32..], &token[..20]];
        assert!(halves.iter().all(|half| !tail.contains(half)), "{name}: {tail}");
        assert!(!shown(&world, &run, None).contains(&token[20..]), "{name}");
        assert!(tail.ends_with("xxxxx"), "{name}: {tail}");
    }
}
