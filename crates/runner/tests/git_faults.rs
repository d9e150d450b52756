//! What a power cut, a killed git or a failed effect leaves in Holdpoint's own repository is no obstacle to the next one.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

#[expect(dead_code, reason = "each test file uses its own part of it")]
mod git_support;

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use git_support::{World, branch, commit_all, git, text, write};
use runner::git::{Adopted, CommitId, GitError, Landed, PrivateRepo, Strategy, adopt, harvest, land, publish};

/// The private repository as the next server process finds it: at a path this one has not opened yet.
fn after_restart(world: &World, name: &str) -> PathBuf {
    let copy = world.dir.path().join(name);
    let done = Command::new("cp").arg("-a").args([world.private.dir(), copy.as_path()]).status().unwrap();
    assert!(done.success());
    copy
}

fn reopened(world: &World, dir: &Path) -> PrivateRepo {
    PrivateRepo::open(dir, &world.user).unwrap()
}

fn commit(private: &PrivateRepo, onto: &CommitId, effect: &str, content: &str) -> Result<CommitId, GitError> {
    let files = [("note.md".to_owned(), content.as_bytes().to_vec())];
    private.commit_files(&branch("autonomous/x"), onto, &files, &text("note", "r1", effect))
}

#[test]
fn locks_that_a_killed_git_left_are_taken_away() {
    let world = World::new();
    let tip = world.work();
    for lock in ["HEAD.lock", "packed-refs.lock", "config.lock", "refs/heads/autonomous/x.lock"] {
        fs::write(world.private.dir().join(lock), "").unwrap();
    }
    let copy = after_restart(&world, "restarted");
    let done = commit(&world.private, &tip, "r1/2", "after the kill\n").unwrap();
    assert_eq!(world.private.tip(&branch("autonomous/x")).unwrap(), Some(done));
    // A server that starts takes them away before anybody meets them.
    reopened(&world, &copy);
    assert!(!copy.join("refs/heads/autonomous/x.lock").exists());
    assert!(!copy.join("packed-refs.lock").exists());
}

#[test]
fn a_lock_of_a_git_that_is_at_work_stays() {
    let world = World::new();
    world.work();
    let copy = after_restart(&world, "restarted");
    let lock = copy.join("refs/heads/autonomous/x.lock");
    fs::write(&lock, "").unwrap();
    // What a killed server left behind: its git, still at work on the repository.
    let mut orphan = Command::new("sh")
        .args(["-c", "echo here; read line", "update-ref"])
        .env("GIT_DIR", &copy)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // Until it runs, the kernel may show a process without an environment.
    let mut here = [0];
    orphan.stdout.as_mut().unwrap().read_exact(&mut here).unwrap();
    let refused = PrivateRepo::open(&copy, &world.user);
    assert!(matches!(refused, Err(GitError::RefLocked { .. })), "{refused:?}");
    assert!(lock.exists());
    orphan.kill().unwrap();
    orphan.wait().unwrap();
    reopened(&world, &copy);
    assert!(!lock.exists());
}

#[test]
fn a_lock_in_the_users_repository_is_not_ours_to_take() {
    let world = World::new();
    let tip = world.work();
    let lock = world.top().join(".git/refs/heads/main.lock");
    fs::write(&lock, "").unwrap();
    let refused = land(&world.private, &world.user, &world.land_request(&tip, Strategy::Squash));
    assert!(matches!(refused, Err(GitError::RefLocked { .. })), "{refused:?}");
    assert!(lock.exists());
    fs::remove_file(&lock).unwrap();
    let landed = land(&world.private, &world.user, &world.land_request(&tip, Strategy::Squash)).unwrap();
    assert!(matches!(landed, Landed::Done { .. }));
}

#[test]
fn a_repository_without_head_or_configuration_is_rebuilt_with_all_its_commits() {
    type Damage = fn(&Path);
    let damages: [Damage; 5] = [
        |dir| fs::write(dir.join("HEAD"), "").unwrap(),
        |dir| fs::remove_file(dir.join("HEAD")).unwrap(),
        |dir| fs::write(dir.join("config"), "").unwrap(),
        |dir| fs::write(dir.join("config"), [0; 66]).unwrap(),
        |dir| {
            for name in ["HEAD", "config"] {
                fs::write(dir.join(name), "").unwrap();
            }
            fs::write(dir.join("packed-refs"), [0; 40]).unwrap();
        },
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        let world = World::new();
        let tip = world.work();
        let copy = after_restart(&world, &format!("cut-{number}"));
        damage(&copy);
        let private = reopened(&world, &copy);
        assert_eq!(private.tip(&branch("autonomous/x")).unwrap(), Some(tip.clone()), "damage {number}");
        let next = commit(&private, &tip, "r1/2", "goes on\n").unwrap();
        assert_eq!(private.read_file(&next, "new/deep.txt").unwrap().unwrap(), b"fresh\n");
    }
}

#[test]
fn a_repository_that_is_gone_is_made_anew_and_has_what_the_user_has() {
    let world = World::new();
    let tip = world.work();
    publish(&world.private, &world.user, &branch("autonomous/x"), &tip).unwrap();
    fs::remove_dir_all(world.private.dir()).unwrap();
    let private = reopened(&world, world.private.dir());
    assert_eq!(private.tip(&branch("autonomous/x")).unwrap(), None);
    assert_eq!(private.read_file(&tip, "a.txt").unwrap().unwrap(), b"two\n");
}

#[test]
fn empty_references_and_objects_of_a_power_cut_are_written_again() {
    let world = World::new();
    let tip = world.work();
    let copy = after_restart(&world, "cut");
    fs::write(copy.join("refs/heads/autonomous/x"), "").unwrap();
    let id = tip.as_str();
    let object = copy.join("objects").join(&id[..2]).join(&id[2..]);
    fs::set_permissions(&object, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    fs::write(&object, "").unwrap();
    let private = reopened(&world, &copy);
    private.create_branch(&branch("autonomous/x"), &world.base).unwrap();
    let tree = harvest(&private, &world.workspace(), &world.base, &[]).unwrap();
    let again = private.commit_tree(&branch("autonomous/x"), &world.base, &tree, &text("work", "r1", "r1/1")).unwrap();
    assert_eq!(again, tip);
    assert_eq!(private.read_file(&again, "a.txt").unwrap().unwrap(), b"two\n");
}

#[test]
fn what_a_crash_left_of_making_a_repository_is_no_obstacle() {
    let world = World::new();
    let place = world.dir.path().join("second");
    let left = world.dir.path().join("second.new");
    fs::create_dir_all(left.join("objects")).unwrap();
    fs::write(left.join("HEAD"), "").unwrap();
    let private = reopened(&world, &place);
    private.import_base(&world.user, &branch("main")).unwrap();
    assert!(!left.exists());
}

#[test]
fn a_repository_that_git_cannot_read_is_not_a_branch_that_is_not_there() {
    let world = World::new();
    world.work();
    fs::write(world.private.dir().join("HEAD"), "").unwrap();
    let tip = world.private.tip(&branch("autonomous/x"));
    assert!(tip.is_err(), "{tip:?}");
}

#[test]
fn a_commit_of_an_effect_that_failed_afterwards_is_no_obstacle_to_the_next_one() {
    let world = World::new();
    let head = world.work();
    let stray = commit(&world.private, &head, "r1/2", "made, and then git failed\n").unwrap();
    let done = commit(&world.private, &head, "r1/3", "by the next effect\n").unwrap();
    assert_eq!(world.private.tip(&branch("autonomous/x")).unwrap(), Some(done.clone()));
    assert_eq!(world.private.parents(&done).unwrap(), [head]);
    let kept = git(world.private.dir(), &["for-each-ref", "--format=%(objectname)", "refs/holdpoint/rescue/"]);
    assert_eq!(kept, stray.as_str(), "what is taken off the branch is kept");
}

#[test]
fn a_branch_that_stands_before_its_log_is_brought_forward() {
    let world = World::new();
    let head = world.work();
    git(world.private.dir(), &["update-ref", "refs/heads/autonomous/x", world.base.as_str()]);
    let done = commit(&world.private, &head, "r1/2", "goes on\n").unwrap();
    assert_eq!(world.private.tip(&branch("autonomous/x")).unwrap(), Some(done));
}

#[test]
fn commits_of_somebody_else_or_of_a_later_effect_are_not_taken_off_the_branch() {
    let world = World::new();
    let head = world.work();
    let later = commit(&world.private, &head, "r1/9", "of a later effect\n").unwrap();
    let refused = commit(&world.private, &head, "r1/3", "late\n");
    assert!(matches!(refused, Err(GitError::Moved { .. })), "{refused:?}");
    assert_eq!(world.private.tip(&branch("autonomous/x")).unwrap(), Some(later));
    let files = [("note.md".to_owned(), b"of another run\n".to_vec())];
    let other = text("note", "r2", "r2/1");
    let refused = world.private.commit_files(&branch("autonomous/x"), &head, &files, &other);
    assert!(matches!(refused, Err(GitError::Moved { .. })), "{refused:?}");
}

#[test]
fn a_take_over_that_failed_half_way_is_done_again_also_when_the_person_went_on() {
    let world = World::new();
    let ours = world.work();
    let name = branch("autonomous/x");
    publish(&world.private, &world.user, &name, &ours).unwrap();
    git(&world.top(), &["checkout", "-q", "autonomous/x"]);
    let take = || adopt(&world.private, &world.user, &name, &ours, None).unwrap();
    for content in ["first", "second"] {
        write(&world.top(), "mine.txt", content);
        commit_all(&world.top(), content);
        // Nobody heard of the first answer: the log still says `ours`.
        let Adopted::Taken { commit, .. } = take() else { panic!("it was not taken") };
        assert_eq!(world.private.tip(&name).unwrap(), Some(commit));
    }
    // And if the person thought better of it, an agent goes on from where the log says.
    let done = commit(&world.private, &ours, "r1/4", "by an agent\n").unwrap();
    assert_eq!(world.private.parents(&done).unwrap(), [ours]);
}
