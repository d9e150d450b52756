//! Repositories of unusual make, and two processes at once.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

#[expect(dead_code, reason = "each test file uses its own part of it")]
mod git_support;

use std::fs;
use std::path::Path;

use git_support::{World, branch, commit_all, git, read, write};
use runner::git::{Landed, PrivateRepo, Published, Strategy, land, publish};

/// The whole way from a commit to a landed change works in this repository.
#[track_caller]
fn works(world: &World) {
    let tip = world.work();
    let published = publish(&world.private, &world.user, &branch("autonomous/x"), &tip).unwrap();
    assert_eq!(published, Published::Done);
    let request = world.land_request(&tip, Strategy::Squash);
    let landed = land(&world.private, &world.user, &request).unwrap();
    assert!(matches!(landed, Landed::Done { .. }), "{landed:?}");
    assert_eq!(git(&world.top(), &["status", "--porcelain"]), "");
    assert_eq!(read(&world.top(), "a.txt"), "two\n");
}

fn seed(top: &Path) {
    write(top, "a.txt", "one\n");
    write(top, "src/lib.rs", "fn main() {}\n");
    write(top, "späße/ü b.txt", "ü\n");
    commit_all(top, "one");
    write(top, "b.txt", "b\n");
    commit_all(top, "two");
}

#[test]
fn sha256_repositories_work() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().join("user");
    fs::create_dir(&top).unwrap();
    git(&top, &["init", "-q", "-b", "main", "--object-format=sha256"]);
    seed(&top);
    let world = World::over(dir, &top);
    assert_eq!(world.base.as_str().len(), 64);
    works(&world);
}

#[test]
fn shallow_clones_with_odd_paths_work() {
    let dir = tempfile::tempdir().unwrap();
    let full = dir.path().join("full");
    fs::create_dir(&full).unwrap();
    git(&full, &["init", "-q", "-b", "main"]);
    seed(&full);
    let url = format!("file://{}", full.display());
    git(dir.path(), &["clone", "-q", "--depth=1", &url, "shallow ü"]);
    let top = dir.path().join("shallow ü");
    works(&World::over(dir, &top));
}

#[test]
fn a_checkout_with_line_endings_of_its_own_is_clean() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().join("user");
    fs::create_dir(&top).unwrap();
    git(&top, &["init", "-q", "-b", "main"]);
    write(&top, ".gitattributes", "*.bat text eol=crlf\n");
    write(&top, "run.bat", "echo\r\n");
    seed(&top);
    assert_eq!(git(&top, &["cat-file", "-s", "HEAD:run.bat"]), "5");
    works(&World::over(dir, &top));
}

#[test]
fn of_two_landings_at_once_one_lands_and_the_other_adopts_it() {
    let world = World::new();
    let tip = world.work();
    let request = world.land_request(&tip, Strategy::Squash);
    let answers: Vec<Landed> = std::thread::scope(|scope| {
        let one = || land(&world.private, &world.user, &request).unwrap();
        let running: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let done = answers.iter().filter(|answer| matches!(answer, Landed::Done { .. }));
    assert_eq!(done.count(), 1);
    let adopted = answers.iter().filter(|answer| matches!(answer, Landed::AlreadyLanded { .. }));
    assert_eq!(adopted.count(), 3);
    assert_eq!(git(&world.top(), &["rev-list", "--count", "main"]), "2");
    assert_eq!(git(&world.top(), &["status", "--porcelain"]), "");
}

#[test]
fn a_private_repository_opened_by_many_at_once_is_made_once() {
    let world = World::new();
    let dir = world.top().join("../many/repo.git");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let private = PrivateRepo::open(&dir, &world.user).unwrap();
                private.import_base(&world.user, &branch("main")).unwrap();
            });
        }
    });
    let left = fs::read_dir(dir.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["repo.git"]);
}
