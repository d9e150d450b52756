//! What a person does in their own repository is taken up, and what the remote refuses is told.

use std::path::Path;

use crate::world::{World, git, yes};
use domain::{Decision, Ending, HoldKind, Phase, TaskStatus};

const STUCK: &str = r##"
[[conversation]]
role = "pursuer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "reflect"
input = { goal_achieved = false, progress = 0, content = "no way in", requires_user_intervention = true, issues = ["no key"] }
"##;

fn commit_on(repo: &Path, branch: &str, file: &str, text: &str) {
    git(repo, &["checkout", "-q", branch]);
    std::fs::write(repo.join(file), text).unwrap();
    git(repo, &["add", "-A"]);
    git(repo, &["commit", "-q", "-m", "By hand"]);
    git(repo, &["checkout", "-q", "main"]);
}

#[tokio::test]
async fn a_person_takes_over_commits_on_the_branch_and_the_run_goes_on_with_that() {
    let world = World::new(STUCK);
    let mut paused = 0;
    let run = world.work("goal", "true", |run, hold| match hold.kind {
        HoldKind::Stuck => Decision::TakeOver,
        _ => {
            paused += 1;
            if paused == 2 {
                commit_on(&world.repo(), &run.opened().branch, "mine.txt", "mine\n");
            }
            Decision::Resume
        }
    });
    let run = run.await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
    assert_eq!(paused, 2, "resuming without a commit only asks again");
    assert_eq!(run.code().unwrap().files, ["mine.txt"]);
    assert_eq!(world.file(&run.opened().branch, "mine.txt"), "mine\n");
}

#[tokio::test]
async fn a_pull_request_on_a_remote_that_is_no_forge_is_refused_with_words() {
    let world = World::new(crate::task::SCRIPT);
    let remote = world.repo().with_file_name("remote.git");
    git(&world.repo(), &["init", "-q", "--bare", &remote.display().to_string()]);
    git(&world.repo(), &["remote", "add", "origin", &remote.display().to_string()]);
    let mut refusal = String::new();
    let run = world.work("task", "test -f package.json", |_, hold| match hold.kind {
        HoldKind::Review => Decision::CreatePr,
        HoldKind::Credentials => {
            refusal.clone_from(&hold.summary);
            Decision::Cancel { reason: None }
        }
        _ => yes(),
    });
    let run = run.await;
    assert!(refusal.contains("is not the address of a GitHub repository"), "{refusal}");
    let pushed = git(&remote, &["branch", "--list", &run.opened().branch]);
    assert!(!pushed.trim().is_empty(), "the branch itself was pushed");
}

#[tokio::test]
async fn a_conflict_that_an_agent_leaves_open_is_merged_by_a_person() {
    let careless = crate::team::SCRIPT.replace("&& printf 'A\\\\nB\\\\n' > both.txt", "&& echo more >> both.txt");
    assert_ne!(careless, crate::team::SCRIPT);
    let world = World::new(&careless);
    let run = world.work("team", "test -s both.txt", |run, hold| match hold.kind {
        HoldKind::Clarification => Decision::Answer { answer: vec!["One.".to_owned()] },
        HoldKind::Conflict => {
            let (repo, branch) = (world.repo(), &run.opened().branch);
            let id = hold.task.as_deref().unwrap();
            let commit = run.task(id).unwrap().commit.clone().unwrap();
            git(&repo, &["checkout", "-q", branch]);
            git(&repo, &["merge", "-q", "--no-ff", "-m", "By hand", commit.as_str()]);
            git(&repo, &["checkout", "-q", "main"]);
            commit_on(&repo, branch, "both.txt", "A\nB\n");
            Decision::Retry { feedback: None, model: None }
        }
        _ => yes(),
    });
    let run = run.await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
    assert!(run.tasks.iter().all(|task| task.status == TaskStatus::Merged));
    assert_eq!(world.file("main", "both.txt"), "A\nB\n");
}
