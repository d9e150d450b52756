//! Folders of an agent that change while they are walked, and folders that are as large, deep and odd as one can make them.

use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};

use super::Dir;

/// A folder of the user with files in it, of a mode that is seen to change.
fn outside(root: &Path) -> std::path::PathBuf {
    let outside = root.join("outside");
    for number in 0..20 {
        fs::create_dir_all(outside.join(format!("sub/{number}"))).unwrap();
        fs::write(outside.join(format!("sub/{number}/keep")), "x").unwrap();
    }
    fs::write(outside.join("keep"), "x").unwrap();
    fs::set_permissions(&outside, Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(outside.join("keep"), Permissions::from_mode(0o444)).unwrap();
    outside
}

#[track_caller]
fn assert_untouched(outside: &Path) {
    let kept = (0..20).all(|number| outside.join(format!("sub/{number}/keep")).exists());
    assert!(kept && fs::read_to_string(outside.join("keep")).unwrap() == "x");
    assert_eq!(fs::read_dir(outside).unwrap().count(), 2, "something was made outside");
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
    assert_eq!((mode(outside), mode(&outside.join("keep"))), (0o755, 0o444));
}

/// Puts a link out in the place of a folder and back, as fast as it can, while `work` is done again and again.
fn while_swapped(root: &Path, swapped: &Path, work: impl Fn(usize)) {
    let (outside, link, done) = (root.join("outside"), root.join("link"), AtomicBool::new(false));
    thread::scope(|threads| {
        threads.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let is_link = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
                if !is_link(&link) && !is_link(swapped) {
                    // What was swapped was removed; another link takes its turn.
                    let _ = fs::remove_dir_all(&link);
                    let _ = symlink(&outside, &link);
                }
                let _ = renameat_with(CWD, &link, CWD, swapped, RenameFlags::EXCHANGE);
            }
        });
        (0..400).for_each(&work);
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn removal_leaves_what_lies_behind_a_link_that_takes_a_folders_place_meanwhile() {
    let root = tempfile::tempdir().unwrap();
    let outside = outside(root.path());
    let (top, swapped) = (Dir::open(root.path()).unwrap(), root.path().join("in/a/b"));
    while_swapped(root.path(), &swapped, |_| {
        // Both ends may be gone, or a link, at any moment.
        let _ = fs::create_dir_all(swapped.join("sub"));
        for number in 0..20 {
            let _ = fs::create_dir_all(root.path().join(format!("in/a/c{number}")));
        }
        let _ = top.remove(b"in");
    });
    // Writes through the link by this test itself are `sub`, which is there already.
    assert_untouched(&outside);
}

#[test]
fn writing_and_reading_below_a_folder_that_becomes_a_link_stays_inside() {
    let root = tempfile::tempdir().unwrap();
    let outside = outside(root.path());
    let (inside, swapped) = (root.path().join("in"), root.path().join("in/a"));
    fs::create_dir_all(&swapped).unwrap();
    let dir = Dir::open(&inside).unwrap();
    while_swapped(root.path(), &swapped, |_| {
        if let Ok((parent, name)) = dir.make_parent_of(b"a/planted") {
            let _ = parent.write(name, b"planted", 0o666);
            let _ = parent.set_mode(name, 0o777);
        }
        let _ = dir.set_mode(b"a", 0o777);
        assert!(dir.read_file("a/keep", 10).is_err(), "a file behind the link was read");
        if let Ok(sub) = dir.sub(b"a") {
            assert!(sub.read(b"keep", 10).is_err(), "a file behind the link was read");
        }
    });
    assert_untouched(&outside);
}

#[test]
fn twenty_thousand_files_ten_thousand_folders_deep_with_odd_names_and_no_permissions_are_removed() {
    let root = tempfile::tempdir().unwrap();
    let outside = outside(root.path());
    let top = Dir::open(root.path()).unwrap();
    let inside = root.path().join("in");
    for folder in 0..10 {
        fs::create_dir_all(inside.join(format!("wide{folder}"))).unwrap();
        for file in 0..2_000 {
            fs::File::create(inside.join(format!("wide{folder}/{file}"))).unwrap();
        }
    }
    let mut deep = top.make_sub(b"in").unwrap().make_sub(b"deep").unwrap();
    for _ in 0..10_000 {
        deep = deep.make_sub(b"d").unwrap();
    }
    let long = vec![b'n'; 255];
    for name in [&b"a\nb"[..], b"\xff\xfe", b"-rf", b" ", b"*", b"\x1b[2J", b".removing-1", &long] {
        fs::create_dir(inside.join(std::ffi::OsStr::from_bytes(name))).unwrap();
        deep.write(name, b"x", 0o000).unwrap();
    }
    mknodat(CWD, inside.join("pipe"), FileType::Fifo, Mode::from_raw_mode(0o000), 0).unwrap();
    symlink(&outside, inside.join("link")).unwrap();
    symlink("loop", inside.join("loop")).unwrap();
    fs::hard_link(outside.join("keep"), inside.join("hard")).unwrap();
    fs::write(inside.join("setuid"), "x").unwrap();
    fs::set_permissions(inside.join("setuid"), Permissions::from_mode(0o6777)).unwrap();
    for folder in ["wide0", "deep/d/d", "deep", ""] {
        fs::set_permissions(inside.join(folder), Permissions::from_mode(0o000)).unwrap();
    }
    drop(deep);
    top.remove(b"in").unwrap();
    assert!(!inside.exists());
    assert_untouched(&outside);
}
