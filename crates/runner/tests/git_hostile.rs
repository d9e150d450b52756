//! Planted code never runs: every trick leaves a canary file, and no canary appears.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod git_support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use git_support::{World, branch, commit_all, git, guarded, read, snapshot, text, write};
use runner::git::{
    Adopted, CommitRequest, GitError, JoinRequest, Joined, Landed, Merge, Published, PushOutcome, Rescued, Strategy,
    adopt, harvest, join, land, materialise, publish, push_remote, remove_workspace, rescue,
};

const HOOKS: &[&str] = &[
    "pre-commit",
    "commit-msg",
    "post-commit",
    "pre-push",
    "pre-merge-commit",
    "post-merge",
    "post-checkout",
    "post-index-change",
    "reference-transaction",
    "pre-receive",
    "update",
    "post-receive",
    "post-update",
    "pre-auto-gc",
    "post-rewrite",
    "fsmonitor-watchman",
];

/// A program that leaves the canary and fails.
fn trap(dir: &Path, canary: &Path) -> PathBuf {
    let program = dir.join("trap.sh");
    let script = format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", canary.display());
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    program
}

/// Everything in a git directory that makes git run a program.
fn plant(git_dir: &Path, program: &Path) {
    let program = program.display();
    fs::create_dir_all(git_dir.join("hooks")).unwrap();
    for hook in HOOKS {
        let path = git_dir.join("hooks").join(hook);
        fs::write(&path, format!("#!/bin/sh\n{program} {hook}\n")).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let config = format!(
        "\n[core]\n\tfsmonitor = {program}\n\tsshCommand = {program}\n\tpager = {program}\n\
         \teditor = {program}\n\taskPass = {program}\n\talternateRefsCommand = {program}\n\
         [filter \"evil\"]\n\tclean = {program}\n\tsmudge = {program}\n\trequired = true\n\
         [filter \"worse\"]\n\tprocess = {program}\n\
         [diff]\n\texternal = {program}\n\
         [diff \"evil\"]\n\ttextconv = {program}\n\tcommand = {program}\n\
         [merge \"evil\"]\n\tdriver = {program} %A\n\
         [commit]\n\tgpgSign = true\n[tag]\n\tgpgSign = true\n[push]\n\tgpgSign = if-asked\n\
         [gpg]\n\tprogram = {program}\n[credential]\n\thelper = {program}\n\
         [gc]\n\tauto = 1\n[log]\n\tshowSignature = true\n"
    );
    let file = git_dir.join("config");
    let old = fs::read_to_string(&file).unwrap_or_default();
    fs::write(file, old + &config).unwrap();
}

const ATTRIBUTES: &str = "*.txt filter=evil diff=evil merge=evil\n*.rs filter=worse\n";

/// A user's repository full of planted programs, its checkout clean.
fn hostile() -> (World, PathBuf) {
    let world = World::new();
    let top = world.top();
    write(&top, ".gitattributes", ATTRIBUTES);
    commit_all(&top, "attributes");
    let canary = world.dir.path().join("canary");
    let program = trap(world.dir.path(), &canary);
    plant(&top.join(".git"), &program);
    git(&top, &["-c", "core.hooksPath=/dev/null", "update-ref", "refs/heads/--output=owned", "HEAD"]);
    let _ = fs::remove_file(&canary);
    let World { dir, .. } = world;
    (World::over(dir, &top), canary)
}

#[test]
fn nothing_planted_in_the_users_repository_runs_in_a_whole_run() {
    let (world, canary) = hostile();
    let remote = world.dir.path().join("remote.git");
    git(world.dir.path(), &["init", "-q", "--bare", "remote.git"]);
    let before = guarded(&world.top());
    let tip = world.work();
    assert!(world.private.diff(&world.base, &tip).unwrap().contains("+two"));
    world.private.diffstat(&world.base, &tip).unwrap();
    let merged = world.private.merge_trees(&world.base, &tip, &[]).unwrap();
    assert!(matches!(merged, Merge::Clean(_)));
    let name = branch("autonomous/x");
    let published = publish(&world.private, &world.user, &name, &tip).unwrap();
    assert_eq!(published, Published::Done);
    let remote = runner::git::Remote { name: "origin".to_owned(), url: remote.display().to_string() };
    let pushed = push_remote(&world.private, &world.user, &remote, &name, &tip).unwrap();
    assert_eq!(pushed, PushOutcome::Pushed);
    assert_eq!(guarded(&world.top()), before);
    let landed = land(&world.private, &world.user, &world.land_request(&tip, Strategy::Squash)).unwrap();
    assert!(matches!(landed, Landed::Done { .. }), "{landed:?}");
    assert_eq!(read(&world.top(), "a.txt"), "two\n");
    assert!(!canary.exists(), "{}", read(&canary, ""));
    let after = guarded(&world.top());
    for (path, bytes) in before.iter().filter(|(path, _)| path.starts_with(".git")) {
        if path != Path::new(".git/index") {
            assert_eq!(after.get(path), Some(bytes), "{} changed", path.display());
        }
    }
    assert!(!world.top().join("owned").exists());
}

#[test]
fn a_merge_driver_of_the_repository_takes_no_part_in_a_join() {
    let (world, canary) = hostile();
    let name = branch("autonomous/x");
    let ours = world.work();
    let tree = world.private.tree_with(&world.base, &[("a.txt".to_owned(), b"three\n".to_vec())]).unwrap();
    let parents = vec![world.base.clone()];
    let child = world.private.commit(&CommitRequest { parents, tree, text: text("child", "r2", "r2/1") }).unwrap();
    let request = JoinRequest {
        branch: name.clone(),
        onto: ours.clone(),
        child: child.clone(),
        text: text("join", "r1", "r1/7"),
        must_be_resolved: Vec::new(),
    };
    let answer = join(&world.private, &request).unwrap();
    let Joined::Conflict { paths, marked } = answer else { panic!("{answer:?}") };
    assert_eq!(paths, ["a.txt"]);
    assert!(!canary.exists(), "{}", read(&canary, ""));
    let both = world.private.read_file(&marked, "a.txt").unwrap().unwrap();
    assert!(String::from_utf8(both).unwrap().contains("two\n=======\nthree\n"));
    // The same merge in the user's repository does run the driver.
    publish(&world.private, &world.user, &name, &ours).unwrap();
    publish(&world.private, &world.user, &branch("autonomous/x-task-1"), &child).unwrap();
    git(
        &world.top(),
        &["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "checkout", "-qf", "autonomous/x"],
    );
    fs::remove_file(&canary).unwrap();
    let merged = std::process::Command::new("git")
        .current_dir(world.top())
        .args(["merge-tree", "--write-tree", ours.as_str(), child.as_str()])
        .output()
        .unwrap();
    assert!(canary.exists(), "the trap is none: {merged:?}");
}

#[test]
fn nothing_planted_runs_when_a_persons_work_is_taken_over() {
    let (world, canary) = hostile();
    let name = branch("autonomous/x");
    let ours = world.work();
    publish(&world.private, &world.user, &name, &ours).unwrap();
    let top = world.top();
    let tree = world.private.tree_of(&world.base).unwrap();
    let theirs = git(&top, &["commit-tree", "--no-gpg-sign", "-m", "mine", "-p", ours.as_str(), tree.as_str()]);
    git(&top, &["-c", "core.hooksPath=/dev/null", "update-ref", &name.full(), &theirs]);
    assert!(!canary.exists(), "{}", read(&canary, ""));
    let before = guarded(&top);
    let answer = adopt(&world.private, &world.user, &name, &ours, None).unwrap();
    assert!(matches!(&answer, Adopted::Taken { commit, .. } if commit.as_str() == theirs), "{answer:?}");
    assert!(!canary.exists(), "{}", read(&canary, ""));
    assert_eq!(guarded(&top), before);
}

#[test]
fn the_planted_programs_do_run_in_ordinary_use() {
    for args in [
        &["status"][..],
        &["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "add", "-A"],
        &["-c", "core.fsmonitor=false", "diff", "HEAD"],
        &["-c", "core.fsmonitor=false", "update-ref", "refs/heads/x", "HEAD"],
    ] {
        let (world, canary) = hostile();
        write(&world.top(), "a.txt", "changed\n");
        let ran = std::process::Command::new("git").current_dir(world.top()).args(args).output().unwrap();
        assert!(canary.exists(), "{args:?} ran nothing: {ran:?}");
    }
}

#[test]
fn a_dirty_hostile_checkout_stays_byte_for_byte() {
    let (world, canary) = hostile();
    let top = world.top();
    write(&top, "a.txt", "mine\n");
    write(&top, "untracked.txt", "mine\n");
    write(&top, "ignored.log", "mine\n");
    let before = guarded(&top);
    let tip = world.work();
    let landed = land(&world.private, &world.user, &world.land_request(&tip, Strategy::NoFf)).unwrap();
    assert_eq!(landed, Landed::CheckoutDirty { paths: vec!["a.txt".to_owned()] });
    assert_eq!(guarded(&top), before);
    assert!(!canary.exists());
}

/// Harvests, rescues, prepares anew and removes a workspace that an agent prepared.
#[track_caller]
fn harmless(prepare: impl FnOnce(&World, &Path, &Path)) {
    let world = World::new();
    let outside = world.dir.path().join("outside");
    write(&outside, "keep.txt", "keep");
    let canary = world.dir.path().join("canary");
    let program = trap(world.dir.path(), &canary);
    let workspace = world.materialise();
    prepare(&world, &workspace, &program);
    let users = snapshot(&world.top());
    let others = snapshot(&outside);
    // Refused or not is another test's matter.
    let _ = harvest(&world.private, &workspace, &world.base, &[]);
    let rescued = rescue(&world.private, &workspace, &world.base, &branch("r"), &text("r", "r1", "r1/8"), &[]);
    if let Rescued::Kept { commit, .. } = rescued.unwrap() {
        world.private.diff(&world.base, &commit).unwrap();
        world.private.merge_trees(&world.base, &commit, &[]).unwrap();
    }
    materialise(&world.private, &world.base, &workspace).unwrap();
    let tree = harvest(&world.private, &workspace, &world.base, &[]).unwrap();
    assert_eq!(tree, world.private.tree_of(&world.base).unwrap());
    assert_eq!(git(&workspace, &["status", "--porcelain"]), "");
    remove_workspace(&workspace).unwrap();
    assert!(!workspace.exists());
    assert!(!canary.exists(), "{}", read(&canary, ""));
    assert_eq!(snapshot(&world.top()), users);
    assert_eq!(snapshot(&outside), others);
}

#[test]
fn hooks_filters_and_monitors_in_the_throw_away_repository_do_not_run() {
    harmless(|_, workspace, program| {
        plant(&workspace.join(".git"), program);
        write(workspace, ".gitattributes", ATTRIBUTES);
        write(workspace, "a.txt", "changed\n");
    });
}

#[test]
fn a_replaced_git_directory_is_replaced_again() {
    harmless(|world, workspace, _| {
        fs::remove_dir_all(workspace.join(".git")).unwrap();
        symlink(world.top().join(".git"), workspace.join(".git")).unwrap();
    });
    harmless(|world, workspace, _| {
        fs::remove_dir_all(workspace.join(".git")).unwrap();
        let link = format!("gitdir: {}\n", world.top().join(".git").display());
        fs::write(workspace.join(".git"), link).unwrap();
    });
    harmless(|_, workspace, _| fs::remove_dir_all(workspace.join(".git")).unwrap());
}

#[test]
fn nested_and_bare_repositories_run_nothing() {
    harmless(|_, workspace, program| {
        write(workspace, "sub/file.txt", "x");
        git(&workspace.join("sub"), &["init", "-q"]);
        commit_all(&workspace.join("sub"), "sub");
        plant(&workspace.join("sub/.git"), program);
    });
    harmless(|_, workspace, program| {
        fs::create_dir(workspace.join("bare")).unwrap();
        git(&workspace.join("bare"), &["init", "-q", "--bare"]);
        plant(&workspace.join("bare"), program);
    });
}

#[test]
fn links_planted_over_directories_and_files_lead_nowhere() {
    harmless(|world, workspace, _| {
        let outside = world.dir.path().join("outside");
        fs::remove_dir_all(workspace.join("src")).unwrap();
        symlink(&outside, workspace.join("src")).unwrap();
        fs::remove_file(workspace.join("a.txt")).unwrap();
        symlink(outside.join("keep.txt"), workspace.join("a.txt")).unwrap();
        symlink(&outside, workspace.join("target")).unwrap();
        symlink(&outside, workspace.join("extra")).unwrap();
        fs::remove_file(workspace.join(".gitignore")).unwrap();
        symlink(outside.join("keep.txt"), workspace.join(".gitignore")).unwrap();
    });
    harmless(|world, workspace, _| {
        let outside = world.dir.path().join("outside/keep.txt");
        fs::remove_file(workspace.join("a.txt")).unwrap();
        fs::hard_link(outside, workspace.join("a.txt")).unwrap();
    });
}

#[test]
fn a_workspace_that_became_a_link_is_not_followed() {
    let world = World::new();
    let outside = world.dir.path().join("outside");
    write(&outside, "keep.txt", "keep");
    let workspace = world.materialise();
    fs::remove_dir_all(&workspace).unwrap();
    symlink(&outside, &workspace).unwrap();
    assert!(harvest(&world.private, &workspace, &world.base, &[]).is_err());
    world.materialise();
    assert_eq!(read(&workspace, "a.txt"), "one\n");
    fs::remove_dir_all(&workspace).unwrap();
    symlink(&outside, &workspace).unwrap();
    remove_workspace(&workspace).unwrap();
    assert_eq!(read(&outside, "keep.txt"), "keep");
    assert_eq!(snapshot(&outside).len(), 1);
}

#[test]
fn paths_that_leave_the_tree_cannot_be_committed() {
    let world = World::new();
    for path in ["../x", "/etc/x", "a//b", "./a", "a/", "", ".git/config", "x/.GIT/y", "git~1", "a\0b"] {
        let files = [(path.to_owned(), Vec::new())];
        let refused = world.private.tree_with(&world.base, &files);
        assert!(matches!(refused, Err(GitError::BadPath { .. })), "{path:?} was taken");
    }
}
