//! Vectors beside the words. The model here is a table of topics: texts on one topic lie near each other, whatever
//! words they use.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};

use index::{Index, IndexError, Missing, Scope};
use tempfile::TempDir;

const EVERYWHERE: Scope<'static> = Scope { under: None, most: 10 };
const TOPICS: [&[&str]; 4] = [
    &["dun", "arrears", "owes", "late payers"],
    &["walrus", "seal"],
    &["thermostat", "warm", "boiler"],
    &["parse", "grammar", "token"],
];

/// One number per topic, and a little of everything so that no text is without a direction.
fn vector(text: &str) -> Vec<f32> {
    let text = text.to_lowercase();
    TOPICS.iter().map(|words| 0.1 + if words.iter().any(|word| text.contains(word)) { 1.0 } else { 0.0 }).collect()
}

struct World {
    folder: TempDir,
    root: PathBuf,
    index: Index,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repo");
        for (path, text) in files {
            write(&root, path, text);
        }
        let (index, _) = Index::open_for(&folder.path().join("index.db"), &root).unwrap();
        Self { folder, root, index }
    }

    fn missing(&self, most: usize) -> Missing {
        self.index.missing_vectors(&self.root, most, |path| path != ".env").unwrap()
    }

    /// Embeds what is missing, and gives the paths it was told of.
    fn embed(&mut self, model: &str) -> Vec<String> {
        self.index.embed_with(model, TOPICS.len()).unwrap();
        let missing = self.missing(usize::MAX);
        assert_eq!(missing.left, 0);
        let vectors: Vec<_> = missing.next.iter().map(|chunk| (chunk.digest, vector(&chunk.text))).collect();
        self.index.store_vectors(&vectors).unwrap();
        missing.next.iter().map(|chunk| chunk.text.lines().next().unwrap().to_owned()).collect()
    }

    fn paths(&self, question: &str, vector: Option<&[f32]>) -> Vec<String> {
        let hits = self.index.search(question, vector, EVERYWHERE).unwrap();
        let mut paths: Vec<String> = hits.into_iter().map(|hit| hit.path).collect();
        paths.dedup();
        paths
    }

    fn database(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.folder.path().join("index.db")).unwrap()
    }
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

const DUN: (&str, &str) = ("src/collections.rs", "/// Writes to all in arrears.\nfn dun() {\n    letters();\n}\n");
const HEAT: (&str, &str) = ("src/boiler.rs", "fn thermostat() {}\n");
const ZOO: (&str, &str) = ("src/zoo.rs", "fn walrus() {}\n\nfn keeper() {}\n");

#[test]
fn a_file_that_words_alone_miss_is_found_by_its_meaning() {
    let question = "which customer still owes us something";
    let mut world = World::new(&[DUN, HEAT, ZOO]);
    assert!(!world.paths(question, None).contains(&DUN.0.to_owned()), "no word of it is there");
    world.embed("house/one");
    assert_eq!(world.paths(question, Some(&vector(question)))[0], DUN.0);
    let hit = world.index.search(question, Some(&vector(question)), EVERYWHERE).unwrap().remove(0);
    assert_eq!((hit.first, hit.last, hit.symbol.as_deref()), (1, 4, Some("dun")));
    let under = Scope { under: Some("src/zoo.rs"), most: 10 };
    let hits = world.index.search(question, Some(&vector(question)), under).unwrap();
    assert!(!hits.is_empty() && hits.iter().all(|hit| hit.path == ZOO.0), "{hits:?}");
}

#[test]
fn what_both_rankings_like_comes_before_what_one_likes() {
    let mut world = World::new(&[
        ("a.rs", "fn boiler_warm() {}\n"),
        ("b.rs", "fn thermostat() {}\n"),
        ("c.rs", "fn boiling_kettle() {}\n"),
    ]);
    world.embed("house/one");
    let found = world.paths("boiler", Some(&vector("boiler")));
    assert_eq!(found[0], "a.rs", "{found:?}");
    assert!(found.contains(&"b.rs".to_owned()), "{found:?}");
}

#[test]
fn only_chunks_that_are_new_or_changed_are_embedded_again() {
    let mut world = World::new(&[DUN, HEAT, ZOO]);
    assert_eq!(world.embed("house/one").len(), 4);
    assert_eq!(world.embed("house/one"), Vec::<String>::new());
    write(&world.root, ZOO.0, "// New first line of another kind.\n\nfn walrus() {}\n\nfn keeper() { feed(); }\n");
    std::fs::remove_file(world.root.join(HEAT.0)).unwrap();
    write(&world.root, "src/twin.txt", "grammar\n");
    world.index.refresh(&world.root).unwrap();
    let mut again = world.embed("house/one");
    again.sort();
    assert_eq!(again, ["src/twin.txt", ZOO.0, ZOO.0], "the walrus only moved");
    let stored: u32 = world.database().query_row("SELECT count(*) FROM vectors", [], |row| row.get(0)).unwrap();
    assert_eq!(stored, 5, "one of the collection, three of the zoo, one twin; the boiler's is forgotten");
}

#[test]
fn as_many_as_asked_for_are_told_definitions_first_and_never_an_unwanted_file() {
    let mut world = World::new(&[(".env", "SECRET=1\n"), ("a.rs", "use warm;\n\nfn a() {}\n\nfn b() {}\n"), ZOO]);
    world.index.embed_with("house/one", TOPICS.len()).unwrap();
    let some = world.missing(3);
    assert_eq!((some.next.len(), some.left, some.wanted), (3, 2, 5));
    let all = world.missing(99);
    assert!(all.next.iter().all(|chunk| !chunk.text.contains("SECRET")));
    assert!(some.next.iter().all(|chunk| !chunk.text.contains("use warm")), "what is between comes last");
    let first = &some.next[0];
    assert_eq!(first.text, "a.rs\na\nfn a() {}");
    write(&world.root, "a.rs", "fn other() {}\n");
    assert_eq!(world.missing(99).next.len(), 2, "what changed since is not told under an old name");
}

#[test]
fn another_model_or_dimension_starts_anew() {
    let mut world = World::new(&[DUN, HEAT]);
    world.embed("house/one");
    assert_eq!(world.embed("house/two").len(), 2);
    world.index.embed_with("house/two", 7).unwrap();
    assert_eq!(world.missing(99).next.len(), 2);
    let short = world.index.store_vectors(&[([0; 16], vec![1.0; 4])]).unwrap_err();
    assert!(matches!(&short, IndexError::Vector(_)), "{short}");
    assert!(!short.is_damage());
    for bad in [vec![0.0; 7], vec![f32::NAN; 7], vec![f32::INFINITY; 7]] {
        assert!(world.index.store_vectors(&[([0; 16], bad)]).is_err());
    }
    assert!(world.index.search("x", Some(&[1.0; 4]), EVERYWHERE).is_err(), "no question of another model");
}

#[test]
fn a_damaged_vector_is_left_out_and_made_again() {
    for damage in
        ["x'00ff'", "zeroblob(16)", "x'00008040000080400000804000008040'", "x'0000c07f0000c07f0000c07f0000c07f'", "7"]
    {
        let mut world = World::new(&[DUN, HEAT, ZOO]);
        world.embed("house/one");
        let broken = format!(
            "UPDATE vectors SET vector = {damage} WHERE digest IN (SELECT digest FROM chunks WHERE symbol = 'dun')"
        );
        assert_eq!(world.database().execute(&broken, []).unwrap(), 1);
        let found = world.paths("owes", Some(&vector("owes")));
        assert!(!found.contains(&DUN.0.to_owned()), "{damage}: {found:?}");
        assert_eq!(world.embed("house/one"), [DUN.0], "{damage}");
        assert_eq!(world.paths("owes", Some(&vector("owes")))[0], DUN.0);
    }
}
