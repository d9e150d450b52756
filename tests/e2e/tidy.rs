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
    let groups = [('A', 21), ('B', 8), ('C', 10), ('D', 9), ('E', 10), ('F', 16), ('G', 12)];
    for (letter, last) in groups {
        for number in 1..=last {
            let row = format!("\n| {letter}{number} |");
            assert_eq!(page.matches(&row).count(), 1, "docs/mission.md has not exactly one row {letter}{number}");
        }
    }
}

/// Files of the runner that may name `std::fs`. What they touch, no agent can write: the data directory's own files,
/// repositories, spools, the machine. All others go through `dir_fd`.
const PLAIN_FILE_ACCESS: &[&str] = &[
    "dir_fd/dir.rs",
    "dir_fd/file.rs",
    "durable.rs",
    "effects/left_over.rs",
    "git/bring_along.rs",
    "git/checkout.rs",
    "git/harvest.rs",
    "git/locks.rs",
    "git/private_repo.rs",
    "git/run.rs",
    "git/sync.rs",
    "git/unfinished_move.rs",
    "git/upkeep.rs",
    "git/user_repo.rs",
    "git/workspace.rs",
    "isolation.rs",
    "kept.rs",
    "key_command.rs",
    "models.rs",
    "program_identity.rs",
    "roles.rs",
    "sandbox/cell.rs",
    "sandbox/cgroup.rs",
    "sandbox/descendants.rs",
    "sandbox/landlocked.rs",
    "sandbox/probe.rs",
    "sandbox/readable.rs",
    "sandbox/toolchain.rs",
    "shim/client.rs",
    "shim/nonce.rs",
    "shim/pump.rs",
    "shim/sockets.rs",
    "shim/spool.rs",
    "shim/supervise.rs",
    "specs.rs",
    "token_power.rs",
    "try_model.rs",
];

#[test]
fn folders_that_agents_write_are_touched_by_handle_alone() {
    const PLAIN: &[&str] = &["std::fs", "tokio::fs", "File::open", "File::create", "OpenOptions", "read_dir(", " fs::"];
    let source = root().join("crates/runner/src");
    let mut folders = vec![source.clone()];
    let mut used = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.strip_prefix(&source).unwrap().to_str().unwrap().to_owned();
            // Tests play the agent, and a file of tests alone is declared as one.
            let code = text.split("#[cfg(test)]").next().unwrap().lines();
            let code: String = code.filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
            let plain = PLAIN.iter().find(|word| code.contains(*word)).filter(|_| !name.ends_with("_tests.rs"));
            match plain {
                Some(_) if PLAIN_FILE_ACCESS.contains(&name.as_str()) => used.push(name),
                Some(word) => panic!("`{name}` names `{word}`: in folders of agents use `crate::dir_fd`"),
                None => {}
            }
        }
    }
    used.sort();
    assert_eq!(used, PLAIN_FILE_ACCESS, "the list names a file that needs no exception any more");
}
