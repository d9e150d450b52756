//! The benchmark's questions on a repository of some hundred files, and what keeps an index true to its folder.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../benches/repository/noise.rs"]
mod noise;
#[path = "../benches/repository/targets.rs"]
mod targets;

use std::path::Path;

use index::{Index, Refreshed, Scope};
use targets::TARGETS;
use tempfile::TempDir;

const EVERYWHERE: Scope<'static> = Scope { under: None, most: 10 };

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn paths(index: &Index, question: &str) -> Vec<String> {
    let mut found: Vec<String> =
        index.search(question, None, EVERYWHERE).unwrap().into_iter().map(|hit| hit.path).collect();
    found.dedup();
    found
}

fn empty() -> (TempDir, Index) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("repo")).unwrap();
    let index = Index::open(&folder.path().join("index.db")).unwrap();
    (folder, index)
}

#[test]
fn at_least_sixteen_of_twenty_questions_find_their_file_among_the_first_five() {
    let (folder, mut index) = empty();
    let root = folder.path().join("repo");
    noise::write(&root, 400);
    for target in TARGETS {
        write(&root, target.path, target.content);
    }
    assert_eq!(index.refresh(&root).unwrap().indexed, 400 + TARGETS.len());
    let right =
        |target: &&targets::Target| paths(&index, target.question).iter().take(5).any(|path| path == target.path);
    let found = TARGETS.iter().filter(right).count();
    assert!(found >= 16, "{found} of {}", TARGETS.len());
}

#[test]
fn a_hit_names_the_symbol_and_its_lines() {
    let (folder, mut index) = empty();
    let root = folder.path().join("repo");
    write(
        &root,
        "a/door.rs",
        "struct Door;\n\nimpl Door {\n    /// Locks it for the night.\n    fn close_up(&self) {}\n}\n",
    );
    index.refresh(&root).unwrap();
    let hit = index.search("locking at night", None, EVERYWHERE).unwrap().remove(0);
    assert_eq!(
        (hit.path.as_str(), hit.first, hit.last, hit.symbol.as_deref()),
        ("a/door.rs", 4, 5, Some("Door.close_up"))
    );
    let under = |under| index.search("night", None, Scope { under: Some(under), most: 5 }).unwrap().len();
    assert_eq!((under("a"), under("a/door.rs"), under("b")), (1, 1, 0));
    assert_eq!(index.search("\"'*:^()- AND", None, EVERYWHERE).unwrap(), [], "no question is a syntax error");
}

#[test]
fn the_index_follows_the_folder() {
    let (folder, mut index) = empty();
    let root = folder.path().join("repo");
    write(&root, "a.py", "def walrus():\n    pass\n");
    write(&root, "b.md", "# Penguins\nThey swim.\n");
    write(&root, "c.bin", "walrus\0");
    write(&root, "target/d.rs", "fn walrus() {}\n");
    write(&root, ".gitignore", "target\n");
    std::os::unix::fs::symlink("/etc", root.join("link")).unwrap();
    let first = index.refresh(&root).unwrap();
    assert_eq!(
        first,
        Refreshed { files: 3, indexed: 3, same: 0, removed: 0 },
        "ignored, binary and linked ones are out"
    );
    assert_eq!(paths(&index, "walrus"), ["a.py"]);
    write(&root, "a.py", "def seal():\n    pass\n");
    std::fs::rename(root.join("b.md"), root.join("birds.md")).unwrap();
    let second = index.refresh(&root).unwrap();
    assert_eq!((second.files, second.indexed, second.removed), (3, 2, 1));
    assert_eq!(paths(&index, "walrus"), Vec::<String>::new());
    assert_eq!(
        (paths(&index, "seals"), paths(&index, "penguin")),
        (vec!["a.py".to_owned()], vec!["birds.md".to_owned()])
    );
}

#[test]
fn a_copy_of_the_index_serves_a_fresh_checkout_without_cutting_anything_again() {
    let (folder, mut index) = empty();
    let root = folder.path().join("repo");
    noise::write(&root, 60);
    index.refresh(&root).unwrap();
    drop(index);
    let again = folder.path().join("again");
    noise::write(&again, 60);
    write(&again, "new.go", "package a\n\n// Narwhal swims.\nfunc Narwhal() {}\n");
    std::fs::copy(folder.path().join("index.db"), folder.path().join("copy.db")).unwrap();
    let mut copy = Index::open(&folder.path().join("copy.db")).unwrap();
    assert_eq!(copy.refresh(&again).unwrap(), Refreshed { files: 61, indexed: 1, same: 60, removed: 0 });
    assert_eq!(paths(&copy, "narwhals"), ["new.go"]);
}

#[test]
fn a_damaged_index_and_one_of_another_version_are_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let (root, file) = (folder.path().join("repo"), folder.path().join("index.db"));
    write(&root, "a.py", "def walrus():\n    pass\n");
    for damage in ["not a database at all, but long enough to be looked at as one".repeat(40), String::new()] {
        std::fs::write(&file, damage).unwrap();
        let (index, done) = Index::open_for(&file, &root).unwrap();
        assert_eq!(done.indexed, 1);
        assert_eq!(paths(&index, "walrus"), ["a.py"]);
    }
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, [&bytes[..bytes.len() / 3], &vec![7; bytes.len()][..]].concat()).unwrap();
    let (index, _) = Index::open_for(&file, &root).unwrap();
    let index = match index.search("walrus", None, EVERYWHERE) {
        Err(error) if error.is_damage() => index.made_anew(&root).unwrap().0,
        _ => index,
    };
    assert_eq!(paths(&index, "walrus"), ["a.py"]);
}
