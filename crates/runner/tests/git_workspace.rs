//! Workspaces and what is harvested from them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

#[expect(dead_code, reason = "each test file uses its own part of it")]
mod git_support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use git_support::{World, branch, commit_all, git, read, snapshot, text, write};
use runner::git::{HarvestRefusal, Rescued, harvest, materialise, remove_workspace, rescue};

#[test]
fn an_untouched_workspace_gives_back_the_tree_of_its_commit() {
    let world = World::new();
    let workspace = world.materialise();
    assert_eq!(read(&workspace, "a.txt"), "one\n");
    let mode = fs::metadata(workspace.join("run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    let tree = harvest(&world.private, &workspace, &world.base, &[]).unwrap();
    assert_eq!(tree, world.private.tree_of(&world.base).unwrap());
}

#[test]
fn an_agent_can_use_git_in_its_workspace() {
    let world = World::new();
    let workspace = world.materialise();
    assert_eq!(git(&workspace, &["status", "--porcelain"]), "");
    assert_eq!(git(&workspace, &["rev-list", "--count", "HEAD"]), "1");
    write(&workspace, "a.txt", "two\n");
    assert_eq!(git(&workspace, &["diff", "--name-only"]), "a.txt");
    git(&workspace, &["commit", "-qam", "mine"]);
    git(&workspace, &["fsck", "--strict"]);
}

#[test]
fn changes_new_files_deletions_and_modes_are_harvested() {
    let world = World::new();
    let workspace = world.materialise();
    write(&workspace, "a.txt", "two\n");
    write(&workspace, "new/deep.txt", "fresh\n");
    write(&workspace, "odd\nname", "newline\n");
    write(&workspace, "bin", "\0\u{1}");
    write(&workspace, "crlf.txt", "a\r\nb\r\n");
    fs::remove_file(workspace.join("src/lib.rs")).unwrap();
    fs::set_permissions(workspace.join("run.sh"), PermissionsExt::from_mode(0o644)).unwrap();
    fs::set_permissions(workspace.join("bin"), PermissionsExt::from_mode(0o755)).unwrap();
    symlink("../a.txt", workspace.join("new/link")).unwrap();
    write(&workspace, "debug.log", "ignored");
    write(&workspace, "target/out", "ignored");
    let tree = harvest(&world.private, &workspace, &world.base, &[]).unwrap();
    let listed = git(world.private.dir(), &["ls-tree", "-r", "--format=%(objectmode) %(path)", tree.as_str()]);
    assert_eq!(
        listed,
        "100644 .gitignore\n100644 a.txt\n100755 bin\n100644 crlf.txt\n100644 new/deep.txt\n\
         120000 new/link\n100644 \"odd\\nname\"\n100644 run.sh"
    );
    let crlf = git(world.private.dir(), &["cat-file", "-s", &format!("{tree}:crlf.txt")]);
    assert_eq!(crlf, "6");
    assert_eq!(harvest(&world.private, &workspace, &world.base, &[]).unwrap(), tree);
}

#[test]
fn an_ignored_file_counts_when_the_base_tracks_it() {
    let world = World::new();
    let top = world.top();
    write(&top, "target/kept.txt", "tracked\n");
    git(&top, &["add", "-f", "target/kept.txt"]);
    commit_all(&top, "tracked though ignored");
    let base = world.private.import_base(&world.user, &branch("main")).unwrap();
    let workspace = world.workspace();
    materialise(&world.private, &base, &workspace).unwrap();
    write(&workspace, "target/cache", "cache");
    let same = harvest(&world.private, &workspace, &base, &[]).unwrap();
    assert_eq!(same, world.private.tree_of(&base).unwrap());
    write(&workspace, "target/kept.txt", "changed\n");
    let changed = harvest(&world.private, &workspace, &base, &[]).unwrap();
    assert_ne!(changed, same);
}

#[test]
fn excluded_paths_stay_as_in_the_base() {
    let world = World::new();
    let workspace = world.materialise();
    write(&workspace, "a.txt", "two\n");
    write(&workspace, "TASK.md", "task");
    write(&workspace, "src/lib.rs", "changed");
    let exclude = ["a.txt".to_owned(), "TASK.md".to_owned(), "src/".to_owned()];
    let tree = harvest(&world.private, &workspace, &world.base, &exclude).unwrap();
    assert_eq!(tree, world.private.tree_of(&world.base).unwrap());
}

#[test]
fn a_reused_workspace_keeps_ignored_caches_and_nothing_else() {
    let world = World::new();
    let workspace = world.materialise();
    write(&workspace, "a.txt", "two\n");
    write(&workspace, "left/over.txt", "x");
    write(&workspace, "left/over.log", "cache");
    write(&workspace, "target/cache", "cache");
    fs::remove_file(workspace.join("run.sh")).unwrap();
    write(&workspace, "run.sh/not-a-file", "x");
    fs::write(workspace.join(".gitignore"), "*\n").unwrap();
    let unchanged = fs::metadata(workspace.join("src/lib.rs")).unwrap().modified().unwrap();
    world.materialise();
    let mut names: Vec<String> = snapshot(&workspace)
        .into_keys()
        .filter(|path| !path.starts_with(".git"))
        .map(|path| path.display().to_string())
        .collect();
    names.sort();
    assert_eq!(names, [".gitignore", "a.txt", "left/over.log", "run.sh", "src/lib.rs", "target/cache"]);
    assert_eq!(read(&workspace, "a.txt"), "one\n");
    assert_eq!(read(&workspace, ".gitignore"), "target/\n*.log\n");
    let after = fs::metadata(workspace.join("src/lib.rs")).unwrap().modified().unwrap();
    assert_eq!(after, unchanged);
}

#[track_caller]
fn refused(plant: impl FnOnce(&Path), expected: &str) {
    let world = World::new();
    let workspace = world.materialise();
    plant(&workspace);
    let refusal = harvest(&world.private, &workspace, &world.base, &[]).unwrap_err();
    assert!(!matches!(refusal, HarvestRefusal::Git(_)), "{refusal}");
    assert!(refusal.to_string().contains(expected), "{refusal}");
    assert!(refusal.hint().is_some());
}

#[test]
fn repositories_inside_the_workspace_are_refused() {
    refused(|ws| write(ws, "sub/.git/config", ""), "`sub/.git` is a repository");
    refused(|ws| write(ws, "sub/.git", "gitdir: ../x"), "`sub/.git` is a repository");
    refused(
        |ws| {
            fs::create_dir(ws.join("bare")).unwrap();
            git(&ws.join("bare"), &["init", "-q", "--bare"]);
        },
        "`bare` looks like a bare repository",
    );
}

#[test]
fn symlinks_that_leave_the_workspace_are_refused() {
    for target in ["/etc/passwd", "..", "../outside", "src/../../x", ".git/config"] {
        refused(|ws| symlink(target, ws.join("link")).unwrap(), "the symlink `link` leads out");
    }
    refused(
        |ws| {
            fs::remove_dir_all(ws.join("src")).unwrap();
            symlink("/etc", ws.join("src")).unwrap();
        },
        "the symlink `src`",
    );
}

#[test]
fn names_and_kinds_that_git_must_not_have_are_refused() {
    for name in [".GIT/config", "git~1", ".git /x", ".g\u{200c}it/config"] {
        refused(|ws| write(ws, name, ""), "not a usable name");
    }
    refused(|ws| drop(UnixListener::bind(ws.join("s")).unwrap()), "`s` is a socket");
    refused(
        |ws| {
            let made = std::process::Command::new("mkfifo").arg(ws.join("p")).status();
            assert!(made.unwrap().success());
        },
        "`p` is a named pipe",
    );
    refused(
        |ws| fs::File::create(ws.join("big")).unwrap().set_len(65 * 1024 * 1024).unwrap(),
        "`big` has 68157440 bytes",
    );
}

#[test]
fn what_is_refused_is_fine_where_it_is_ignored() {
    let world = World::new();
    let workspace = world.materialise();
    write(&workspace, "target/dep/.git/config", "");
    symlink("/etc", workspace.join("target/etc")).unwrap();
    let tree = harvest(&world.private, &workspace, &world.base, &[]).unwrap();
    assert_eq!(tree, world.private.tree_of(&world.base).unwrap());
}

#[test]
fn links_and_submodules_of_the_base_survive_a_round_trip() {
    let world = World::new();
    let top = world.top();
    symlink("/etc/hostname", top.join("out")).unwrap();
    symlink("a.txt", top.join("in")).unwrap();
    git(&top, &["add", "out", "in"]);
    let link = format!("160000,{},sub", world.base);
    git(&top, &["update-index", "--add", "--cacheinfo", &link]);
    git(&top, &["commit", "-qm", "links"]);
    let base = world.private.import_base(&world.user, &branch("main")).unwrap();
    let workspace = world.workspace();
    materialise(&world.private, &base, &workspace).unwrap();
    assert_eq!(read(&workspace, "out"), "/etc/hostname");
    assert!(!fs::symlink_metadata(workspace.join("out")).unwrap().is_symlink());
    assert!(fs::symlink_metadata(workspace.join("in")).unwrap().is_symlink());
    let tree = harvest(&world.private, &workspace, &base, &[]).unwrap();
    assert_eq!(tree, world.private.tree_of(&base).unwrap());
    write(&workspace, "sub/file", "x");
    let refusal = harvest(&world.private, &workspace, &base, &[]).unwrap_err();
    assert!(matches!(refusal, HarvestRefusal::NestedRepository { .. }));
}

#[test]
fn a_rescue_keeps_what_can_be_kept_and_names_the_rest() {
    let world = World::new();
    let workspace = world.materialise();
    let name = branch("r1");
    let keep = || rescue(&world.private, &workspace, &world.base, &name, &text("rescue", "r1", "r1/8"), &[]).unwrap();
    assert!(matches!(keep(), Rescued::Nothing));
    write(&workspace, "a.txt", "unsaved\n");
    symlink("/etc", workspace.join("out")).unwrap();
    let Rescued::Kept { commit, left_out } = keep() else {
        panic!("nothing was kept");
    };
    assert_eq!(left_out.len(), 1);
    assert_eq!(world.private.read_file(&commit, "a.txt").unwrap().unwrap(), b"unsaved\n");
    let Rescued::Kept { commit: again, .. } = keep() else {
        panic!("nothing was kept");
    };
    assert_eq!(again, commit);
    write(&workspace, "a.txt", "later\n");
    let Rescued::Kept { commit: later, .. } = keep() else {
        panic!("nothing was kept");
    };
    assert_eq!(world.private.parents(&later).unwrap(), [commit]);
    remove_workspace(&workspace).unwrap();
    remove_workspace(&workspace).unwrap();
    assert!(!workspace.exists());
    let kept = git(world.private.dir(), &["rev-parse", "refs/holdpoint/rescue/r1"]);
    assert_eq!(kept, later.as_str());
}
