//! Landings on checkouts with changes, and landings that were cut off half-way.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod git_support;

use std::fs;
use std::path::Path;

use git_support::{World, branch, git, guarded, read, write};
use runner::git::{CommitId, Landed, Published, Strategy, UserRepo, land, publish};

#[track_caller]
fn dirty(change: impl FnOnce(&Path), expected: &str) {
    let world = World::new();
    let tip = world.work();
    change(&world.top());
    let before = guarded(&world.top());
    let request = world.land_request(&tip, Strategy::Squash);
    let Landed::CheckoutDirty { paths } = land(&world.private, &world.user, &request).unwrap() else {
        panic!("a checkout with changes was touched");
    };
    assert_eq!(paths, [expected]);
    assert_eq!(world.user.branch_tip(&branch("main")).unwrap(), world.base);
    assert_eq!(guarded(&world.top()), before);
}

#[test]
fn a_checkout_with_changes_is_left_alone() {
    dirty(|top| write(top, "a.txt", "mine\n"), "a.txt");
    dirty(|top| write(top, "run.sh", "mine\n"), "run.sh");
    dirty(|top| fs::remove_file(top.join("a.txt")).unwrap(), "a.txt");
    dirty(
        |top| {
            write(top, "staged.txt", "mine\n");
            git(top, &["add", "staged.txt"]);
        },
        "staged.txt",
    );
}

#[test]
fn an_untracked_file_in_the_way_is_left_alone() {
    dirty(|top| write(top, "new/deep.txt", "mine\n"), "new/deep.txt");
    dirty(|top| write(top, "new", "mine\n"), "new/deep.txt");
    dirty(|top| write(top, "new/deep.txt/mine", "mine\n"), "new/deep.txt");
}

#[test]
fn a_checkout_that_another_git_works_on_is_left_alone() {
    let world = World::new();
    let tip = world.work();
    write(&world.top(), ".git/index.lock", "");
    let before = guarded(&world.top());
    let request = world.land_request(&tip, Strategy::Squash);
    assert_eq!(land(&world.private, &world.user, &request).unwrap(), Landed::CheckoutBusy);
    assert_eq!(guarded(&world.top()), before);
    fs::remove_file(world.top().join(".git/index.lock")).unwrap();
    write(&world.top(), ".git/MERGE_HEAD", tip.as_str());
    let answer = land(&world.private, &world.user, &request).unwrap();
    assert!(matches!(answer, Landed::CheckoutDirty { .. }));
}

/// Lands once on a copy to know the commit, so that states in between can be laid out by hand.
fn landed_commit(world: &World, tip: &CommitId) -> CommitId {
    let copy = world.dir.path().join("copy");
    git(world.dir.path(), &["clone", "-q", world.top().to_str().unwrap(), copy.to_str().unwrap()]);
    let user = UserRepo::open(&copy).unwrap();
    let request = world.land_request(tip, Strategy::Squash);
    let Landed::Done { commit, .. } = land(&world.private, &user, &request).unwrap() else {
        panic!("it did not land");
    };
    // The user's repository gets the objects, as the first call would have done.
    git(&world.top(), &["fetch", "-q", copy.to_str().unwrap(), "main"]);
    fs::remove_file(world.top().join(".git/FETCH_HEAD")).unwrap();
    commit
}

/// Moves the base as the first call would have, and leaves the lock if it should be there.
fn cut_off_after_the_ref(world: &World, commit: &CommitId, lock: bool) {
    git(&world.top(), &["update-ref", "refs/heads/main", commit.as_str()]);
    if lock {
        let text = format!("holdpoint moves this checkout from {} to {commit}\n", world.base);
        write(&world.top(), ".git/index.lock", &text);
    }
}

#[track_caller]
fn repaired(world: &World, tip: &CommitId, commit: &CommitId, status: &str) {
    let request = world.land_request(tip, Strategy::Squash);
    for _ in 0..2 {
        let answer = land(&world.private, &world.user, &request).unwrap();
        assert_eq!(answer, Landed::AlreadyLanded { commit: commit.clone() });
        assert_eq!(git(&world.top(), &["status", "--porcelain"]), status);
        assert!(!world.top().join(".git/index.lock").exists());
    }
}

#[test]
fn a_landing_cut_off_after_the_branch_moved_is_finished() {
    for lock in [true, false] {
        let world = World::new();
        let tip = world.work();
        let commit = landed_commit(&world, &tip);
        cut_off_after_the_ref(&world, &commit, lock);
        repaired(&world, &tip, &commit, "");
        assert_eq!(read(&world.top(), "a.txt"), "two\n");
    }
}

#[test]
fn a_landing_cut_off_between_files_is_finished() {
    let world = World::new();
    let tip = world.work();
    let commit = landed_commit(&world, &tip);
    cut_off_after_the_ref(&world, &commit, true);
    write(&world.top(), "a.txt", "two\n");
    fs::remove_dir_all(world.top().join("src")).unwrap();
    repaired(&world, &tip, &commit, "");
    assert_eq!(read(&world.top(), "new/deep.txt"), "fresh\n");
}

#[test]
fn what_the_user_changed_after_the_cut_is_kept() {
    let world = World::new();
    let tip = world.work();
    let commit = landed_commit(&world, &tip);
    cut_off_after_the_ref(&world, &commit, true);
    write(&world.top(), "a.txt", "mine\n");
    write(&world.top(), "src/lib.rs", "mine too\n");
    repaired(&world, &tip, &commit, "M a.txt\n?? src/");
    assert_eq!(read(&world.top(), "a.txt"), "mine\n");
    assert_eq!(read(&world.top(), "src/lib.rs"), "mine too\n");
    assert_eq!(read(&world.top(), "new/deep.txt"), "fresh\n");
}

#[test]
fn a_landing_cut_off_before_the_branch_moved_begins_anew() {
    let world = World::new();
    let tip = world.work();
    let text = format!("holdpoint moves this checkout from {} to {tip}\n", world.base);
    write(&world.top(), ".git/index.lock", &text);
    let request = world.land_request(&tip, Strategy::Squash);
    let answer = land(&world.private, &world.user, &request).unwrap();
    assert!(matches!(answer, Landed::Done { .. }));
    assert_eq!(git(&world.top(), &["status", "--porcelain"]), "");
}

#[test]
fn a_landing_cut_off_before_the_lock_was_lifted_is_finished() {
    let world = World::new();
    let tip = world.work();
    let request = world.land_request(&tip, Strategy::Squash);
    let Landed::Done { commit, .. } = land(&world.private, &world.user, &request).unwrap() else {
        panic!("it did not land");
    };
    let text = format!("holdpoint moves this checkout from {} to {commit}\n", world.base);
    write(&world.top(), ".git/index.lock", &text);
    write(&world.top(), "src/lib.rs", "made again\n");
    repaired(&world, &tip, &commit, "?? src/");
    assert_eq!(read(&world.top(), "src/lib.rs"), "made again\n");
}

#[test]
fn linked_worktrees_of_the_base_come_along() {
    let world = World::new();
    let tip = world.work();
    let linked = world.dir.path().join("linked");
    git(&world.top(), &["checkout", "-q", "-b", "elsewhere"]);
    git(&world.top(), &["worktree", "add", "-q", linked.to_str().unwrap(), "main"]);
    let before = guarded(&world.top());
    let request = world.land_request(&tip, Strategy::Squash);
    write(&linked, "a.txt", "mine\n");
    let answer = land(&world.private, &world.user, &request).unwrap();
    assert_eq!(answer, Landed::CheckoutDirty { paths: vec!["a.txt".to_owned()] });
    git(&linked, &["checkout", "-q", "--", "a.txt"]);
    let answer = land(&world.private, &world.user, &request).unwrap();
    assert!(matches!(answer, Landed::Done { .. }));
    assert_eq!(git(&linked, &["status", "--porcelain"]), "");
    assert_eq!(read(&linked, "a.txt"), "two\n");
    let mut after = guarded(&world.top());
    let mut before = before;
    for files in [&mut before, &mut after] {
        files.retain(|path, _| !path.starts_with(".git/worktrees"));
    }
    assert_eq!(after, before);
}

#[test]
fn a_published_branch_that_is_checked_out_comes_along() {
    let world = World::new();
    let tip = world.work();
    let name = branch("autonomous/x");
    publish(&world.private, &world.user, &name, &world.base).unwrap();
    git(&world.top(), &["checkout", "-q", "autonomous/x"]);
    assert_eq!(publish(&world.private, &world.user, &name, &tip).unwrap(), Published::Done);
    assert_eq!(git(&world.top(), &["status", "--porcelain"]), "");
    assert_eq!(read(&world.top(), "a.txt"), "two\n");
}
