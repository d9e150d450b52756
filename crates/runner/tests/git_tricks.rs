//! Eighteen ways to make git run planted code or write elsewhere, each against everything Holdpoint does with a tree:
//! harvest, diff, merge, push, checkout, proof, clean-up. Every trick leaves a canary; no canary appears.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod git_support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use git_support::{World, branch, commit_all, git, guarded, read, text, write};
use runner::git::{
    CommitId, CommitRequest, JoinRequest, Remote, Strategy, harvest, join, land, materialise, publish, push_remote,
    remove_workspace, rescue,
};

/// A trick: what is planted, and ordinary use of git that springs the trap.
struct Trick {
    /// Sections of a git configuration; `PROGRAM` stands for the trap.
    config: &'static str,
    attributes: &'static str,
    hooks: &'static [&'static str],
    /// What else is planted, in the workspace and in the user's repository.
    plant: fn(&Planted),
    /// Arguments of git in the user's checkout that run the trap, if git does not refuse by itself.
    ordinary: Option<&'static [&'static str]>,
}

const NONE: Trick = Trick { config: "", attributes: "", hooks: &[], plant: |_| {}, ordinary: None };

/// A world with a trick in it.
struct Planted {
    world: World,
    workspace: PathBuf,
    program: PathBuf,
    canary: PathBuf,
}

/// Something Holdpoint does with a tree, by its name.
type Operation = (&'static str, fn(&Planted));

const OPERATIONS: &[Operation] = &[
    ("harvest", |it| {
        // Refused or not is another test's matter.
        let _ = harvest(&it.world.private, &it.workspace, &it.world.base, &[]);
    }),
    ("diff", |it| {
        let tip = it.commit();
        it.world.private.diff(&it.world.base, &tip).unwrap();
        it.world.private.diffstat(&it.world.base, &tip).unwrap();
    }),
    ("merge", |it| {
        let tip = it.commit();
        it.world.private.merge_trees(&it.world.base, &tip, &[]).unwrap();
        let tree = it.world.private.tree_with(&it.world.base, &[("a.txt".to_owned(), b"three\n".to_vec())]).unwrap();
        let request = CommitRequest { parents: vec![it.world.base.clone()], tree, text: text("child", "r2", "r2/1") };
        let child = it.world.private.commit(&request).unwrap();
        let text = text("join", "r1", "r1/7");
        let request =
            JoinRequest { branch: branch("autonomous/x"), onto: tip, child, text, must_be_resolved: Vec::new() };
        join(&it.world.private, &request).unwrap();
    }),
    ("push", |it| {
        let tip = it.commit();
        let name = branch("autonomous/x");
        publish(&it.world.private, &it.world.user, &name, &tip).unwrap();
        let url = it.world.dir.path().join("remote.git").display().to_string();
        let remote = Remote { name: "origin".to_owned(), url };
        push_remote(&it.world.private, &it.world.user, &remote, &name, &tip).unwrap();
        // A remote whose address is an option or a command is refused, or fails without running it.
        for url in [format!("--upload-pack={}", it.program.display()), format!("ext::{}", it.program.display())] {
            let _ =
                push_remote(&it.world.private, &it.world.user, &Remote { name: "origin".to_owned(), url }, &name, &tip);
        }
    }),
    ("checkout", |it| {
        let tip = it.commit();
        materialise(&it.world.private, &tip, &it.workspace).unwrap();
        let _ = land(&it.world.private, &it.world.user, &it.world.land_request(&tip, Strategy::Squash)).unwrap();
    }),
    ("proof", |it| {
        let tip = it.commit();
        let ground = it.world.dir.path().join("proof/ground");
        materialise(&it.world.private, &tip, &ground).unwrap();
        // The next check begins in the same folder, which the one before could write.
        write(&ground, ".gitattributes", "*.txt filter=evil diff=evil merge=evil\n");
        materialise(&it.world.private, &tip, &ground).unwrap();
        remove_workspace(&ground).unwrap();
    }),
    ("clean-up", |it| {
        let text = text("r", "r1", "r1/8");
        let _ = rescue(&it.world.private, &it.workspace, &it.world.base, &branch("r"), &text, &[]).unwrap();
        remove_workspace(&it.workspace).unwrap();
        it.world.private.import_base(&it.world.user, &branch("main")).unwrap();
    }),
];

impl Planted {
    fn new(trick: &Trick) -> Self {
        let world = World::new();
        let canary = world.dir.path().join("canary");
        let program = world.dir.path().join("trap.sh");
        fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\n", canary.display())).unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        git(world.dir.path(), &["init", "-q", "--bare", "remote.git"]);
        if !trick.attributes.is_empty() {
            write(&world.top(), ".gitattributes", trick.attributes);
            commit_all(&world.top(), "attributes");
        }
        let World { dir, user, .. } = world;
        let world = World::over(dir, user.top());
        let workspace = world.materialise();
        let it = Self { world, workspace, program, canary };
        for place in [it.world.top().join(".git"), it.workspace.join(".git")] {
            it.arm(trick, &place);
        }
        write(&it.workspace, "a.txt", "two\n");
        (trick.plant)(&it);
        it
    }

    fn arm(&self, trick: &Trick, git_dir: &Path) {
        let program = self.program.display().to_string();
        let config = git_dir.join("config");
        let before = fs::read_to_string(&config).unwrap_or_default();
        fs::write(config, format!("{before}\n{}", trick.config.replace("PROGRAM", &program))).unwrap();
        fs::create_dir_all(git_dir.join("hooks")).unwrap();
        for hook in trick.hooks {
            let path = git_dir.join("hooks").join(hook);
            fs::write(&path, format!("#!/bin/sh\n{program} {hook}\n")).unwrap();
            fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        }
    }

    /// What the agent left, or ordinary work where that is refused, on the run's branch.
    fn commit(&self) -> CommitId {
        match harvest(&self.world.private, &self.workspace, &self.world.base, &[]) {
            Ok(tree) => {
                let name = branch("autonomous/x");
                self.world.private.create_branch(&name, &self.world.base).unwrap();
                let private = &self.world.private;
                private.commit_tree(&name, &self.world.base, &tree, &text("work", "r1", "r1/1")).unwrap()
            }
            Err(_) => self.world.work(),
        }
    }

    fn quiet(&self) -> bool {
        let outside = self.world.dir.path().join("owned");
        !self.canary.exists() && !outside.exists() && !self.world.top().join("owned").exists()
    }
}

/// Plays one trick against every operation.
#[track_caller]
fn play(trick: &Trick) {
    if let Some(args) = trick.ordinary {
        let it = Planted::new(trick);
        write(&it.world.top(), "a.txt", "changed\n");
        let mut command = Command::new("git");
        command
            .current_dir(it.world.top())
            .args(["-c", "user.name=User", "-c", "user.email=user@example.com"])
            .args(args);
        // What `git credential` wants to be asked; nothing else reads it.
        let asked = it.world.dir.path().join("asked");
        fs::write(&asked, "protocol=https\nhost=nobody.invalid\n\n").unwrap();
        let ran = command.stdin(fs::File::open(asked).unwrap()).env("GIT_TERMINAL_PROMPT", "0").output().unwrap();
        assert!(!it.quiet(), "ordinary use runs nothing, so the trap is none: git {args:?}: {ran:?}");
    }
    assert_eq!(OPERATIONS.len(), 7);
    for (name, operation) in OPERATIONS {
        let it = Planted::new(trick);
        let before = guarded(&it.world.top());
        operation(&it);
        assert!(it.quiet(), "{name}: {}", read(&it.canary, ""));
        let after = guarded(&it.world.top());
        let kept = |path: &&PathBuf| path.starts_with(".git") && **path != Path::new(".git/index");
        for path in before.keys().filter(kept) {
            assert_eq!(after.get(path), before.get(path), "{name} changed {}", path.display());
        }
    }
}

const ALL_TXT: &str = "*.txt filter=evil diff=evil merge=evil\n";

macro_rules! tricks {
    ($($name:ident => $trick:expr,)*) => {
        $(#[test] fn $name() { play(&$trick); })*
        /// How many tricks there are.
        const COUNT: usize = [$(stringify!($name)),*].len();
    };
}

tricks! {
    a_monitor_of_the_file_system_does_not_run => Trick {
        config: "[core]\n\tfsmonitor = PROGRAM\n", ordinary: Some(&["status"]), ..NONE
    },
    a_clean_or_smudge_filter_does_not_run => Trick {
        config: "[filter \"evil\"]\n\tclean = PROGRAM\n\tsmudge = PROGRAM\n\trequired = true\n", attributes: ALL_TXT,
        ordinary: Some(&["add", "-A"]), ..NONE
    },
    a_filter_process_does_not_run => Trick {
        config: "[filter \"evil\"]\n\tprocess = PROGRAM\n", attributes: ALL_TXT, ordinary: Some(&["add", "-A"]), ..NONE
    },
    a_text_conversion_does_not_run => Trick {
        config: "[diff \"evil\"]\n\ttextconv = PROGRAM\n", attributes: ALL_TXT, ordinary: Some(&["diff"]), ..NONE
    },
    an_external_diff_does_not_run => Trick {
        config: "[diff]\n\texternal = PROGRAM\n[diff \"evil\"]\n\tcommand = PROGRAM\n", attributes: ALL_TXT,
        ordinary: Some(&["diff"]), ..NONE
    },
    a_replaced_git_directory_is_not_used => Trick {
        plant: |it| {
            fs::remove_dir_all(it.workspace.join(".git")).unwrap();
            git(&it.workspace, &["init", "-q"]);
            it.arm(&Trick { config: "[core]\n\tfsmonitor = PROGRAM\n", ..NONE }, &it.workspace.join(".git"));
        },
        ..NONE
    },
    a_hook_of_commits_does_not_run => Trick {
        hooks: &["pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "post-index-change"],
        ordinary: Some(&["commit", "-q", "-a", "-m", "x"]), ..NONE
    },
    a_hook_of_references_does_not_run => Trick {
        hooks: &["reference-transaction", "pre-push", "post-checkout", "post-merge", "pre-auto-gc"],
        ordinary: Some(&["update-ref", "refs/heads/y", "HEAD"]), ..NONE
    },
    a_command_for_ssh_does_not_run => Trick {
        config: "[core]\n\tsshCommand = PROGRAM\n\tgitProxy = PROGRAM\n[remote \"origin\"]\n\turl = ssh://nobody.invalid/x\n",
        ordinary: Some(&["ls-remote", "ssh://nobody.invalid/x"]), ..NONE
    },
    a_credential_helper_does_not_run => Trick {
        config: "[credential]\n\thelper = PROGRAM\n[core]\n\taskPass = PROGRAM\n",
        ordinary: Some(&["credential", "fill"]), ..NONE
    },
    a_signing_program_does_not_run => Trick {
        config: "[commit]\n\tgpgSign = true\n[tag]\n\tgpgSign = true\n[push]\n\tgpgSign = if-asked\n[gpg]\n\tprogram = PROGRAM\n[log]\n\tshowSignature = true\n",
        ordinary: Some(&["commit", "-q", "-a", "-m", "x"]), ..NONE
    },
    a_merge_driver_does_not_run => Trick {
        config: "[merge \"evil\"]\n\tdriver = PROGRAM %A\n[merge]\n\tdefault = evil\n", attributes: ALL_TXT, ..NONE
    },
    a_nested_repository_runs_nothing => Trick {
        plant: |it| for top in [&it.workspace, &it.world.dir.path().join("elsewhere")] {
            write(top, "sub/file.txt", "x");
            git(&top.join("sub"), &["init", "-q"]);
            commit_all(&top.join("sub"), "sub");
            it.arm(&Trick { config: "[core]\n\tfsmonitor = PROGRAM\n", hooks: &["post-checkout"], ..NONE }, &top.join("sub/.git"));
        },
        ..NONE
    },
    a_bare_repository_in_the_tree_runs_nothing => Trick {
        plant: |it| {
            fs::create_dir(it.workspace.join("bare")).unwrap();
            git(&it.workspace.join("bare"), &["init", "-q", "--bare"]);
            it.arm(&Trick { config: "[core]\n\tfsmonitor = PROGRAM\n\tworktree = ..\n", ..NONE }, &it.workspace.join("bare"));
        },
        ..NONE
    },
    an_address_that_is_an_option_or_a_command_does_not_run => Trick {
        config: "[remote \"origin\"]\n\turl = ext::PROGRAM\n\tuploadpack = PROGRAM\n\treceivepack = PROGRAM\n[protocol]\n\tallow = always\n[protocol \"ext\"]\n\tallow = always\n[url \"ext::PROGRAM \"]\n\tinsteadOf = ssh://\n",
        ordinary: Some(&["fetch", "origin"]), ..NONE
    },
    a_revision_that_is_an_option_writes_nothing => Trick {
        plant: |it| {
            // Packed, so that no hook and no check of names sees it.
            let tip = git(&it.world.top(), &["rev-parse", "HEAD"]);
            let packed = it.world.top().join(".git/packed-refs");
            let before = fs::read_to_string(&packed).unwrap_or_default();
            fs::write(packed, format!("{before}{tip} refs/heads/--output=owned\n{tip} refs/tags/--output=owned\n")).unwrap();
        },
        ..NONE
    },
    a_branch_of_a_remote_that_is_an_option_writes_nothing => Trick {
        plant: |it| {
            let tip = git(&it.world.top(), &["rev-parse", "HEAD"]);
            let remote = it.world.dir.path().join("remote.git");
            git(&it.world.top(), &["push", "-q", &remote.display().to_string(), "HEAD:refs/heads/main"]);
            let packed = format!("# pack-refs with: peeled fully-peeled sorted \n{tip} refs/heads/--output=owned\n");
            fs::write(remote.join("packed-refs"), packed).unwrap();
        },
        ..NONE
    },
    names_that_some_systems_take_for_the_git_directory_are_not_taken => Trick {
        plant: |it| for name in [".GIT", "git~1", ".git ", ".git.", ".g\u{200c}it", "sub/.GiT"] {
            write(&it.workspace, &format!("{name}/config"), &format!("[core]\n\tfsmonitor = {}\n", it.program.display()));
            let taken = harvest(&it.world.private, &it.workspace, &it.world.base, &[]);
            let names = taken.ok().map(|tree| it.world.private.diffstat(&it.world.base, &tree).unwrap());
            let names: Vec<String> = names.unwrap_or_default().into_iter().map(|change| change.path).collect();
            assert!(names.iter().all(|path| path == "a.txt"), "{name} was taken: {names:?}");
            fs::remove_dir_all(it.workspace.join(name.split('/').next().unwrap())).unwrap();
        },
        ..NONE
    },
}

#[test]
fn eighteen_tricks_meet_seven_operations() {
    assert_eq!(COUNT * OPERATIONS.len(), 126);
}
