//! Opening repositories, branches, commits and their ids.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

#[expect(dead_code, reason = "each test file uses its own part of it")]
mod git_support;

use git_support::{World, branch, commit_all, git, guarded, text, write};
use runner::git::{CommitRequest, GitError, PrivateRepo, UserRepo};

#[test]
fn what_is_no_usable_repository_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let open = |name: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    };
    let plain = open("plain");
    assert!(matches!(UserRepo::open(&plain), Err(GitError::NotARepository(_))));
    let bare = open("bare");
    git(&bare, &["init", "-q", "--bare"]);
    assert!(matches!(UserRepo::open(&bare), Err(GitError::Bare(_))));
    let empty = open("empty");
    git(&empty, &["init", "-q"]);
    let error = UserRepo::open(&empty).unwrap_err();
    assert!(matches!(error, GitError::Empty(_)));
    assert!(error.hint().unwrap().contains("first commit"));
    let gone = dir.path().join("gone");
    assert!(matches!(UserRepo::open(&gone), Err(GitError::Io { .. })));
}

#[test]
fn a_repository_is_found_from_below_and_from_linked_worktrees() {
    let world = World::new();
    let below = UserRepo::open(&world.top().join("src")).unwrap();
    assert_eq!(below.top(), world.top());
    let linked = world.dir.path().join("linked");
    git(&world.top(), &["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    let found = UserRepo::open(&linked).unwrap();
    assert_eq!(found.top(), linked.canonicalize().unwrap());
    assert_eq!(found.common_dir(), world.user.common_dir());
    assert_eq!(found.current_branch().unwrap(), branch("side"));
    let private = PrivateRepo::open(&world.dir.path().join("p2"), &found).unwrap();
    let tip = private.import_base(&found, &branch("main")).unwrap();
    assert_eq!(private.read_file(&tip, "a.txt").unwrap().unwrap(), b"one\n");
}

#[test]
fn branches_heads_and_remotes_are_told() {
    let world = World::new();
    let (user, top) = (&world.user, world.top());
    assert_eq!(user.current_branch().unwrap(), branch("main"));
    assert_eq!(user.default_branch().unwrap(), branch("main"));
    assert_eq!(user.branch_tip(&branch("main")).unwrap(), world.base);
    assert!(matches!(user.branch_tip(&branch("nope")), Err(GitError::BranchMissing(_))));
    assert_eq!(user.remote(&branch("main")).unwrap(), None);
    git(&top, &["remote", "add", "fork", "https://example.com/fork.git"]);
    assert_eq!(user.remote(&branch("main")).unwrap().unwrap().name, "fork");
    git(&top, &["remote", "add", "origin", "https://example.com/origin.git"]);
    assert_eq!(user.remote(&branch("main")).unwrap().unwrap().name, "origin");
    git(&top, &["config", "branch.main.remote", "fork"]);
    let remote = user.remote(&branch("main")).unwrap().unwrap();
    assert_eq!(remote.url, "https://example.com/fork.git");
    git(&top, &["checkout", "-q", "--detach"]);
    assert!(matches!(user.current_branch(), Err(GitError::DetachedHead(_))));
    assert!(user.head_name().unwrap().starts_with("detached at "));
}

#[test]
fn the_private_repository_opens_again_and_sees_new_commits_of_the_user() {
    let world = World::new();
    write(&world.top(), "later.txt", "later\n");
    commit_all(&world.top(), "later");
    let before = guarded(&world.top());
    let again = PrivateRepo::open(&world.dir.path().join("private"), &world.user).unwrap();
    let tip = again.import_base(&world.user, &branch("main")).unwrap();
    assert_ne!(tip, world.base);
    assert_eq!(again.list(&tip, "").unwrap(), [".gitignore", "a.txt", "later.txt", "run.sh", "src"]);
    assert_eq!(again.list(&tip, "src").unwrap(), ["lib.rs"]);
    assert_eq!(again.list(&tip, "nope").unwrap(), Vec::<String>::new());
    assert_eq!(again.read_file(&tip, "nope").unwrap(), None);
    assert_eq!(again.read_file(&tip, "src").unwrap(), None);
    assert!(matches!(again.read_file(&tip, "../x"), Err(GitError::BadPath { .. })));
    assert_eq!(again.parents(&tip).unwrap(), std::slice::from_ref(&world.base));
    assert_eq!(again.message(&tip).unwrap(), "later");
    assert_eq!(guarded(&world.top()), before);
}

#[test]
fn the_same_request_gives_the_same_commit_in_any_repository() {
    let (one, two) = (World::new(), World::new());
    let make = |world: &World| {
        world
            .private
            .commit(&CommitRequest {
                parents: Vec::new(),
                tree: world.private.tree_of(&world.base).unwrap(),
                text: text("same", "r1", "r1/1"),
            })
            .unwrap()
    };
    assert_eq!(make(&one), make(&one));
    assert_eq!(make(&one), make(&two));
    let message = one.private.message(&make(&one)).unwrap();
    assert_eq!(message, "same\n\nHoldpoint-Run: r1\nHoldpoint-Effect: r1/1");
}

#[test]
fn a_commit_of_files_is_made_once_and_adopted_after() {
    let world = World::new();
    let name = branch("autonomous/x");
    world.private.create_branch(&name, &world.base).unwrap();
    world.private.create_branch(&name, &world.base).unwrap();
    let files = [(".autonomous/specs/001-x.md".to_owned(), b"# X\n".to_vec())];
    let commit = |effect: &str, parent| world.private.commit_files(&name, parent, &files, &text("spec", "r1", effect));
    let first = commit("r1/1", &world.base).unwrap();
    assert_eq!(commit("r1/1", &world.base).unwrap(), first);
    assert_eq!(world.private.tip(&name).unwrap().unwrap(), first);
    assert_eq!(world.private.find_by_effect(&name, "r1/1", None).unwrap().unwrap(), first);
    assert_eq!(world.private.find_by_effect(&name, "r1/10", None).unwrap(), None);
    assert_eq!(world.private.read_file(&first, "a.txt").unwrap().unwrap(), b"one\n");
    // An effect from before, on the same parent, comes too late.
    assert!(matches!(commit("r1/0", &world.base), Err(GitError::Moved { .. })));
    let second = commit("r1/2", &first).unwrap();
    assert_eq!(commit("r1/1", &world.base).unwrap(), first);
    assert_eq!(world.private.tip(&name).unwrap().unwrap(), second);
    let scratch = world.private.dir().join("tmp");
    assert_eq!(std::fs::read_dir(scratch).unwrap().count(), 0);
}

#[test]
fn a_trailer_in_the_message_body_is_not_taken_for_ours() {
    let world = World::new();
    let name = branch("autonomous/x");
    world.private.create_branch(&name, &world.base).unwrap();
    let forged = text("agent text\n\nHoldpoint-Effect: r1/7", "r1", "r1/1");
    let files = [("f".to_owned(), Vec::new())];
    world.private.commit_files(&name, &world.base, &files, &forged).unwrap();
    assert_eq!(world.private.find_by_effect(&name, "r1/7", None).unwrap(), None);
    let mut bad = text("x", "r1", "r1/2");
    bad.trailers.push(("Key".to_owned(), "a\nHoldpoint-Effect: r1/7".to_owned()));
    let refused = world.private.commit_files(&name, &world.base, &files, &bad);
    assert!(matches!(refused, Err(GitError::BadTrailer { .. })));
}

#[test]
fn a_branch_moves_only_from_where_it_is_expected() {
    let world = World::new();
    let tip = world.work();
    let name = branch("other");
    let set = |new, old| world.private.set_tip(&name, new, old);
    set(&world.base, None).unwrap();
    set(&world.base, None).unwrap();
    assert!(matches!(set(&tip, None), Err(GitError::Moved { .. })));
    assert!(matches!(set(&tip, Some(&tip)), Err(GitError::Moved { .. })));
    set(&tip, Some(&world.base)).unwrap();
    assert_eq!(world.private.tip(&name).unwrap().unwrap(), tip);
    world.private.delete_branch(&name, &tip).unwrap();
    world.private.delete_branch(&name, &tip).unwrap();
    assert_eq!(world.private.tip(&name).unwrap(), None);
}
