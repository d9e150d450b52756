//! Taking over what a person committed on a run's branch.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

#[expect(dead_code, reason = "each test file uses its own part of it")]
mod git_support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use git_support::{World, branch, commit_all, git, snapshot, text, write};
use runner::git::{Adopted, BranchName, CommitId, CommitRequest, GitError, HarvestRefusal, Published, adopt, publish};

fn name() -> BranchName {
    branch("autonomous/x")
}

/// A run's branch, published and checked out by the person.
fn handed_over() -> (World, CommitId) {
    let world = World::new();
    let ours = world.work();
    publish(&world.private, &world.user, &name(), &ours).unwrap();
    git(&world.top(), &["checkout", "-q", "autonomous/x"]);
    (world, ours)
}

fn theirs(world: &World) -> CommitId {
    world.user.branch_tip(&name()).unwrap()
}

fn ours_now(world: &World) -> CommitId {
    world.private.tip(&name()).unwrap().unwrap()
}

fn take(world: &World, ours: &CommitId) -> Adopted {
    adopt(&world.private, &world.user, &name(), ours, None).unwrap()
}

#[track_caller]
fn taken(answer: Adopted) -> (CommitId, Vec<String>) {
    let Adopted::Taken { commit, changed, .. } = answer else { panic!("{answer:?}") };
    (commit, changed)
}

#[test]
fn what_a_person_committed_is_taken_over_and_worked_on() {
    let (world, ours) = handed_over();
    write(&world.top(), "mine ü\n.txt", "mine\n");
    write(&world.top(), "a.txt", "mine\n");
    commit_all(&world.top(), "mine");
    let before = snapshot(&world.top());
    let answer = take(&world, &ours);
    let Adopted::Taken { commit, tree, changed } = &answer else { panic!("{answer:?}") };
    assert_eq!(*commit, theirs(&world));
    assert_eq!(*commit, ours_now(&world));
    assert_eq!(*tree, world.private.tree_of(commit).unwrap());
    assert_eq!(changed, &["a.txt", "mine ü\\u{a}.txt"]);
    assert_eq!(snapshot(&world.top()), before);
    let tree = world.private.tree_with(commit, &[("next.txt".to_owned(), b"n\n".to_vec())]).unwrap();
    let next = world.private.commit_tree(&name(), commit, &tree, &text("next", "r1", "r1/2")).unwrap();
    assert_eq!(publish(&world.private, &world.user, &name(), &next).unwrap(), Published::Done);
    assert_eq!(git(&world.top(), &["status", "--porcelain"]), "");
}

#[test]
fn a_second_call_gives_the_same_answer_wherever_the_first_was_cut_off() {
    let (world, ours) = handed_over();
    write(&world.top(), "mine.txt", "mine\n");
    commit_all(&world.top(), "mine");
    let first = taken(take(&world, &ours));
    assert_eq!(taken(take(&world, &ours)), first);
    // The objects and the note were there, our branch was not moved yet.
    git(world.private.dir(), &["update-ref", &name().full(), ours.as_str()]);
    assert_eq!(taken(take(&world, &ours)), first);
    assert_eq!(ours_now(&world), first.0);
    // The caller reads anew where our branch stands.
    assert!(matches!(take(&world, &first.0), Adopted::Nothing));
}

#[test]
fn what_was_taken_over_survives_in_the_private_repository_alone() {
    let (world, ours) = handed_over();
    write(&world.top(), "mine.txt", "mine\n");
    commit_all(&world.top(), "mine");
    let (commit, _) = taken(take(&world, &ours));
    git(&world.top(), &["checkout", "-q", "main"]);
    git(&world.top(), &["branch", "-q", "-D", "autonomous/x"]);
    git(&world.top(), &["reflog", "expire", "--expire=now", "--all"]);
    git(&world.top(), &["gc", "-q", "--prune=now"]);
    assert_eq!(world.private.read_file(&commit, "mine.txt").unwrap().unwrap(), b"mine\n");
    git(world.private.dir(), &["fsck", "--connectivity-only", "--no-dangling"]);
}

#[test]
fn nothing_of_theirs_is_nothing_to_take() {
    let (world, ours) = handed_over();
    assert!(matches!(take(&world, &ours), Adopted::Nothing));
    let tree = world.private.tree_of(&world.base).unwrap();
    let ahead = world.private.commit_tree(&name(), &ours, &tree, &text("ahead", "r1", "r1/2")).unwrap();
    assert!(matches!(take(&world, &ahead), Adopted::Nothing));
    git(&world.top(), &["checkout", "-q", "main"]);
    git(&world.top(), &["branch", "-q", "-D", "autonomous/x"]);
    assert!(matches!(take(&world, &ahead), Adopted::Nothing));
    assert_eq!(ours_now(&world), ahead);
}

#[test]
fn a_rewritten_branch_has_diverged() {
    let (world, ours) = handed_over();
    git(&world.top(), &["commit", "-q", "--amend", "-m", "rewritten"]);
    let answer = take(&world, &ours);
    let Adopted::Diverged { tip } = answer else { panic!("{answer:?}") };
    assert_eq!(tip, theirs(&world));
    assert_eq!(ours_now(&world), ours);
}

#[test]
fn a_branch_without_the_commit_it_must_contain_is_not_taken() {
    let (world, ours) = handed_over();
    let tree = world.private.tree_with(&world.base, &[("c.txt".to_owned(), b"c\n".to_vec())]).unwrap();
    let parents = vec![world.base.clone()];
    let child = world.private.commit(&CommitRequest { parents, tree, text: text("child", "r2", "r2/1") }).unwrap();
    publish(&world.private, &world.user, &branch("autonomous/x-task-1"), &child).unwrap();
    let ask = || adopt(&world.private, &world.user, &name(), &ours, Some(&child)).unwrap();
    write(&world.top(), "mine.txt", "mine\n");
    commit_all(&world.top(), "not merged yet");
    let answer = ask();
    let Adopted::Lacks { missing } = answer else { panic!("{answer:?}") };
    assert_eq!(missing, child);
    assert_eq!(ours_now(&world), ours);
    git(&world.top(), &["merge", "-q", "--no-edit", "autonomous/x-task-1"]);
    let (commit, changed) = taken(ask());
    assert_eq!(changed, ["c.txt", "mine.txt"]);
    assert_eq!(ours_now(&world), commit);
}

#[test]
fn a_branch_of_ours_that_moved_is_not_moved_again() {
    let (world, ours) = handed_over();
    write(&world.top(), "mine.txt", "mine\n");
    commit_all(&world.top(), "mine");
    let tree = world.private.tree_of(&world.base).unwrap();
    let ahead = world.private.commit_tree(&name(), &ours, &tree, &text("ahead", "r1", "r1/2")).unwrap();
    let refused = adopt(&world.private, &world.user, &name(), &ours, None);
    assert!(matches!(refused, Err(GitError::Moved { .. })), "{refused:?}");
    assert_eq!(ours_now(&world), ahead);
}

#[track_caller]
fn refused(prepare: impl FnOnce(&Path)) -> HarvestRefusal {
    let (world, ours) = handed_over();
    prepare(&world.top());
    commit_all(&world.top(), "mine");
    let answer = take(&world, &ours);
    let Adopted::Unsafe(refusal) = answer else { panic!("{answer:?}") };
    assert_eq!(ours_now(&world), ours);
    refusal
}

#[test]
fn what_harvest_refuses_is_refused_from_a_person_too() {
    let link = refused(|top| symlink("/etc/passwd", top.join("link")).unwrap());
    assert!(
        matches!(&link, HarvestRefusal::SymlinkEscapes { path, target } if path == "link" && target == "/etc/passwd")
    );
    let submodule = refused(|top| {
        let head = git(top, &["rev-parse", "HEAD"]);
        git(top, &["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub")]);
        fs::create_dir(top.join("sub")).unwrap();
    });
    assert!(matches!(&submodule, HarvestRefusal::NestedRepository { path } if path == "sub"));
    let bare = refused(|top| {
        for path in ["b/HEAD", "b/objects/x", "b/refs/x"] {
            write(top, path, "x\n");
        }
    });
    assert!(matches!(&bare, HarvestRefusal::BareRepository { path } if path == "b"));
    let deep = refused(|top| write(top, &format!("{}f", "d/".repeat(201)), "x\n"));
    assert!(matches!(deep, HarvestRefusal::TooDeep { .. }));
    let name = refused(|top| write(top, "x/.g\u{200c}it/config", "x\n"));
    assert!(matches!(name, HarvestRefusal::BadName { .. }));
}

#[test]
fn what_the_repository_had_before_does_not_stand_in_the_way() {
    let world = World::new();
    symlink("/etc/passwd", world.top().join("link")).unwrap();
    let head = git(&world.top(), &["rev-parse", "HEAD"]);
    git(&world.top(), &["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub")]);
    fs::create_dir(world.top().join("sub")).unwrap();
    commit_all(&world.top(), "unsafe, and the user's own");
    let World { dir, .. } = world;
    let top = dir.path().join("user");
    let world = World::over(dir, &top);
    let ours = world.work();
    publish(&world.private, &world.user, &name(), &ours).unwrap();
    git(&top, &["checkout", "-q", "autonomous/x"]);
    symlink("a.txt", top.join("safe")).unwrap();
    let bumped = git(&top, &["rev-parse", "HEAD"]);
    git(&top, &["update-index", "--add", "--cacheinfo", &format!("160000,{bumped},sub")]);
    commit_all(&top, "mine");
    assert_eq!(taken(take(&world, &ours)).1, ["safe", "sub"]);
}
