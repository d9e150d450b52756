//! Rules of the house that a machine can hold: who may name whom, and files that open with their purpose.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Which of our rooms each room may name. A new edge is a decision: it goes here and into ARCHITECTURE.md.
const EDGES: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("wire", &[]),
    ("spec", &[]),
    ("drivers", &["domain"]),
    ("engine", &["domain"]),
    ("store", &["domain", "engine"]),
    ("broker", &[]),
    ("runner", &["broker", "domain", "drivers", "engine", "spec"]),
    ("index", &[]),
    ("agent", &["domain", "drivers", "index"]),
    ("testkit", &["domain", "engine"]),
    ("server", &["broker", "domain", "drivers", "engine", "runner", "spec", "store", "wire"]),
    ("holdpoint", &["agent", "domain", "engine", "runner", "server", "spec", "store", "wire"]),
    ("tests", &["domain", "engine", "runner", "server", "store", "testkit", "wire"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn manifests() -> BTreeMap<String, toml::Table> {
    let mut found = BTreeMap::new();
    let folders = ["crates", "apps"].map(|folder| root().join(folder));
    let rooms = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    for room in rooms.chain([root().join("tests")]) {
        let Ok(text) = std::fs::read_to_string(room.join("Cargo.toml")) else { continue };
        let manifest: toml::Table = text.parse().unwrap();
        let name = manifest["package"]["name"].as_str().unwrap().to_owned();
        found.insert(name, manifest);
    }
    found
}

#[test]
fn rooms_name_only_the_rooms_they_may() {
    let manifests = manifests();
    let rooms: Vec<&String> = manifests.keys().collect();
    for (name, manifest) in &manifests {
        let allowed = EDGES.iter().find(|(room, _)| room == name).map(|(_, allowed)| *allowed);
        let allowed = allowed.unwrap_or_else(|| panic!("`{name}` is a new room: say in EDGES whom it may name"));
        let named =
            manifest.get("dependencies").and_then(|table| table.as_table()).into_iter().flat_map(|table| table.keys());
        for other in named.filter(|other| rooms.contains(other)) {
            assert!(allowed.contains(&other.as_str()), "`{name}` must not name `{other}`");
        }
    }
    assert_eq!(rooms.len(), EDGES.len(), "EDGES lists a room that is gone");
}

#[test]
fn every_source_file_opens_with_what_it_is_for() {
    let mut folders = vec![root().join("crates"), root().join("apps"), root().join("tests")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && name != "node_modules" {
                folders.push(path);
            } else if name.ends_with(".rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(text.starts_with("//!"), "{} does not open with `//!`", path.display());
            }
        }
    }
}

#[test]
fn the_mission_page_lists_every_id_once() {
    let page = std::fs::read_to_string(root().join("docs/mission.md")).unwrap();
    let groups = [('A', 21), ('B', 8), ('C', 10), ('D', 9), ('E', 10), ('F', 16)];
    for (letter, last) in groups {
        for number in 1..=last {
            let row = format!("\n| {letter}{number} |");
            assert_eq!(page.matches(&row).count(), 1, "docs/mission.md has not exactly one row {letter}{number}");
        }
    }
}
