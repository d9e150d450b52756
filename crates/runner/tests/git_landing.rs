//! Diffs, merges, publishing, pushing and landing.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod git_support;

use std::fs;

use git_support::{World, branch, commit_all, git, guarded, read, write};
use runner::git::{
    CappedDiff, ChangeStatus, CommitId, GitError, Landed, Merge, Published, PushOutcome, Strategy, land, publish,
    push_remote,
};

#[test]
fn a_diff_shows_every_kind_of_change() {
    let world = World::new();
    let tip = world.work();
    let diff = world.private.diff(&world.base, &tip).unwrap();
    assert!(diff.contains("-one\n+two\n"), "{diff}");
    let stat = world.private.diffstat(&world.base, &tip).unwrap();
    let seen: Vec<_> =
        stat.iter().map(|change| (change.path.as_str(), change.status.clone(), change.added, change.deleted)).collect();
    assert_eq!(
        seen,
        [
            ("a.txt", ChangeStatus::Modified, Some(1), Some(1)),
            ("new/deep.txt", ChangeStatus::Added, Some(1), Some(0)),
            ("src/lib.rs", ChangeStatus::Deleted, Some(0), Some(1)),
        ]
    );
    let whole = world.private.diff_capped(&world.base, &tip, 1 << 20).unwrap();
    assert_eq!(whole, CappedDiff::Whole(diff.clone()));
    let CappedDiff::CutOff(part) = world.private.diff_capped(&world.base, &tip, 40).unwrap() else {
        panic!("the diff was not cut off");
    };
    assert!(diff.starts_with(&part) && part.len() <= 40 && part.ends_with('\n'));
}

#[test]
fn renames_and_binary_files_are_told_in_a_diffstat() {
    let world = World::new();
    let base = world.private.tree_with(&world.base, &[("old.txt".to_owned(), vec![b'x'; 200])]).unwrap();
    let moved = [("new.txt".to_owned(), vec![b'x'; 200]), ("bin".to_owned(), vec![0, 255])];
    let next = world.private.tree_with(&world.base, &moved).unwrap();
    let stat = world.private.diffstat(&base, &next).unwrap();
    assert_eq!(stat[0].path, "bin");
    assert_eq!((stat[0].added, stat[0].deleted), (None, None));
    assert!(stat[0].is_binary() && !stat[1].is_binary());
    assert_eq!(stat[1].path, "new.txt");
    assert_eq!(stat[1].status, ChangeStatus::Renamed { from: "old.txt".to_owned() });
    world.private.diff(&base, &next).unwrap();
}

#[test]
fn odd_file_names_do_not_confuse_a_diffstat() {
    let world = World::new();
    let lines = |count: usize| "a line of some length\n".repeat(count).into_bytes();
    let set = |files: &[(&str, Vec<u8>)]| {
        let files: Vec<_> = files.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.clone())).collect();
        world.private.tree_with(&world.base, &files).unwrap()
    };
    let before = set(&[(":100644 x\ty", lines(9)), ("tab\t\"quoted\"\n", lines(1)), ("gone\\", lines(2))]);
    let after = set(&[
        ("-\t-\tmoved\nhere", [lines(9), b"one more\n".to_vec()].concat()),
        ("tab\t\"quoted\"\n", lines(3)),
        ("ü =>{a", b"short\n".to_vec()),
        ("1\t1\tbin", vec![0]),
    ]);
    let stat = world.private.diffstat(&before, &after).unwrap();
    let seen: Vec<_> = stat.iter().map(|c| (c.path.as_str(), c.status.clone(), c.added, c.deleted)).collect();
    let from = ":100644 x\\u{9}y".to_owned();
    assert_eq!(
        seen,
        [
            ("-\\u{9}-\\u{9}moved\\u{a}here", ChangeStatus::Renamed { from }, Some(1), Some(0)),
            ("1\\u{9}1\\u{9}bin", ChangeStatus::Added, None, None),
            ("gone\\", ChangeStatus::Deleted, Some(0), Some(2)),
            ("tab\\u{9}\"quoted\"\\u{a}", ChangeStatus::Modified, Some(2), Some(0)),
            ("ü =>{a", ChangeStatus::Added, Some(1), Some(0)),
        ]
    );
}

#[test]
fn a_merge_is_clean_or_names_the_paths() {
    let world = World::new();
    let tip = world.work();
    write(&world.top(), "other.txt", "other\n");
    commit_all(&world.top(), "other");
    let moved = world.private.import_base(&world.user, &branch("main")).unwrap();
    let Merge::Clean(tree) = world.private.merge_trees(&moved, &tip, &[]).unwrap() else {
        panic!("there is no conflict");
    };
    let stat = world.private.diffstat(&tip, &tree).unwrap();
    assert_eq!(stat.len(), 1);
    assert_eq!(stat[0].path, "other.txt");
    write(&world.top(), "a.txt", "three\n");
    commit_all(&world.top(), "conflict");
    let moved = world.private.import_base(&world.user, &branch("main")).unwrap();
    let conflict = world.private.merge_trees(&moved, &tip, &[]).unwrap();
    assert_eq!(conflict, Merge::Conflict { paths: vec!["a.txt".to_owned()] });
    let generated = [("a.txt".to_owned(), b"generated\n".to_vec())];
    let Merge::Clean(tree) = world.private.merge_trees(&moved, &tip, &generated).unwrap() else {
        panic!("a generated file has no conflict");
    };
    let content = git(world.private.dir(), &["show", &format!("{tree}:a.txt")]);
    assert_eq!(content, "generated");
}

#[test]
fn a_published_branch_is_whole_and_nothing_else_changes() {
    let world = World::new();
    let tip = world.work();
    let before = guarded(&world.top());
    let name = branch("autonomous/x");
    let put = |commit: &CommitId| publish(&world.private, &world.user, &name, commit).unwrap();
    assert_eq!(put(&world.base), Published::Done);
    assert_eq!(put(&tip), Published::Done);
    assert_eq!(put(&tip), Published::AlreadyThere);
    assert_eq!(world.user.branch_tip(&name).unwrap(), tip);
    assert_eq!(guarded(&world.top()), before);
    fs::remove_dir_all(world.private.dir()).unwrap();
    git(&world.top(), &["fsck", "--strict", "--connectivity-only"]);
    assert_eq!(git(&world.top(), &["show", "autonomous/x:a.txt"]), "two");
}

#[test]
fn a_branch_of_the_user_is_not_taken_over() {
    let world = World::new();
    let tip = world.work();
    git(&world.top(), &["branch", "autonomous/x", "main"]);
    let answer = publish(&world.private, &world.user, &branch("autonomous/x"), &tip).unwrap();
    assert_eq!(answer, Published::Taken { tip: world.base.clone() });
    assert_eq!(world.user.branch_tip(&branch("autonomous/x")).unwrap(), world.base);
}

#[test]
fn a_push_tells_what_the_remote_said() {
    let world = World::new();
    let tip = world.work();
    let remote_dir = world.dir.path().join("remote.git");
    git(world.dir.path(), &["init", "-q", "--bare", "remote.git"]);
    git(&world.top(), &["remote", "add", "origin", remote_dir.to_str().unwrap()]);
    let remote = world.user.remote(&branch("main")).unwrap().unwrap();
    let name = branch("autonomous/x");
    let before = guarded(&world.top());
    let push = |commit: &CommitId| push_remote(&world.private, &world.user, &remote, &name, commit).unwrap();
    assert_eq!(push(&tip), PushOutcome::Pushed);
    assert_eq!(push(&tip), PushOutcome::AlreadyThere);
    assert_eq!(git(&remote_dir, &["rev-parse", "autonomous/x"]), tip.as_str());
    assert!(matches!(push(&world.base), PushOutcome::Rejected { .. }));
    assert_eq!(git(&remote_dir, &["rev-parse", "autonomous/x"]), tip.as_str());
    fs::remove_dir_all(&remote_dir).unwrap();
    assert!(matches!(push(&tip), PushOutcome::Refused { .. } | PushOutcome::Unreachable { .. }));
    assert_eq!(guarded(&world.top()), before);
}

#[test]
fn a_landing_brings_a_clean_checkout_along() {
    let world = World::new();
    let tip = world.work();
    write(&world.top(), "untracked.txt", "mine");
    let request = world.land_request(&tip, Strategy::Squash);
    let Landed::Done { commit, previous } = land(&world.private, &world.user, &request).unwrap() else {
        panic!("it did not land");
    };
    assert_eq!(previous, world.base);
    assert_eq!(git(&world.top(), &["rev-parse", "main"]), commit.as_str());
    assert_eq!(git(&world.top(), &["status", "--porcelain"]), "?? untracked.txt");
    assert_eq!(git(&world.top(), &["diff-files", "--name-only"]), "");
    assert_eq!(read(&world.top(), "new/deep.txt"), "fresh\n");
    assert!(!world.top().join("src").exists());
    assert_eq!(read(&world.top(), "untracked.txt"), "mine");
    assert_eq!(world.private.parents(&commit).unwrap(), std::slice::from_ref(&world.base));
    let again = land(&world.private, &world.user, &request).unwrap();
    assert_eq!(again, Landed::AlreadyLanded { commit });
    assert_eq!(git(&world.top(), &["status", "--porcelain"]), "?? untracked.txt");
    for name in ["index.lock", "holdpoint-lock", "holdpoint-index"] {
        assert!(!world.top().join(".git").join(name).exists(), "{name} was left");
    }
}

#[test]
fn each_strategy_makes_the_history_it_promises() {
    for (strategy, parents) in [(Strategy::Squash, 1), (Strategy::NoFf, 2), (Strategy::FastForward, 1)] {
        let world = World::new();
        git(&world.top(), &["checkout", "-q", "-b", "elsewhere"]);
        let tip = world.work();
        let before = guarded(&world.top());
        let request = world.land_request(&tip, strategy);
        let Landed::Done { commit, .. } = land(&world.private, &world.user, &request).unwrap() else {
            panic!("it did not land");
        };
        assert_eq!(world.private.parents(&commit).unwrap().len(), parents);
        assert_eq!(commit == tip, strategy == Strategy::FastForward);
        let again = land(&world.private, &world.user, &request).unwrap();
        assert_eq!(again, Landed::AlreadyLanded { commit });
        assert_eq!(guarded(&world.top()), before);
    }
}

#[test]
fn a_base_that_moved_is_left_alone() {
    let world = World::new();
    let tip = world.work();
    write(&world.top(), "other.txt", "other\n");
    commit_all(&world.top(), "other");
    let now = world.user.branch_tip(&branch("main")).unwrap();
    let before = guarded(&world.top());
    let answer = land(&world.private, &world.user, &world.land_request(&tip, Strategy::Squash)).unwrap();
    assert_eq!(answer, Landed::BaseMoved { tip: now.clone() });
    assert_eq!(world.user.branch_tip(&branch("main")).unwrap(), now);
    assert_eq!(guarded(&world.top()), before);
}

#[test]
fn a_fast_forward_needs_the_same_tree() {
    let world = World::new();
    let tip = world.work();
    let mut request = world.land_request(&tip, Strategy::FastForward);
    request.tree = world.private.tree_of(&world.base).unwrap();
    let answer = land(&world.private, &world.user, &request).unwrap();
    assert_eq!(answer, Landed::NotFastForward);
    request.text.trailers.clear();
    let refused = land(&world.private, &world.user, &request);
    assert!(matches!(refused, Err(GitError::BadTrailer { .. })));
}

#[test]
fn a_branch_that_a_person_merged_counts_as_landed() {
    let world = World::new();
    let tip = world.work();
    let name = branch("autonomous/x");
    publish(&world.private, &world.user, &name, &tip).unwrap();
    git(&world.top(), &["merge", "-q", "--no-ff", "-m", "by hand", "autonomous/x"]);
    let answer = land(&world.private, &world.user, &world.land_request(&tip, Strategy::Squash)).unwrap();
    assert_eq!(answer, Landed::AlreadyLanded { commit: tip });
}
