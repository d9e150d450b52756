//! Supply chain: everything that a build brings in is pinned by a hash and comes from a registry, and installing it runs no
//! script of a package. Offline; reads files of the repository alone.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Files of the repository with that name.
fn files(name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let last = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !matches!(last.as_str(), "target" | "node_modules" | ".git") {
                folders.push(path);
            } else if last == name {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Names of the packages whose manifests are in the repository.
fn own_packages() -> Vec<String> {
    let manifests = files("Cargo.toml").into_iter().map(|path| std::fs::read_to_string(path).unwrap());
    let tables = manifests.map(|text| text.parse::<toml::Table>().unwrap());
    tables.filter_map(|table| Some(table.get("package")?.get("name")?.as_str()?.to_owned())).collect()
}

/// Packages of a `Cargo.lock` that are neither ours nor pinned by a checksum to the one registry.
fn unpinned_crates(lock: &str, own: &[String]) -> Vec<String> {
    let lock: toml::Table = lock.parse().unwrap();
    let packages = lock["package"].as_array().unwrap();
    assert!(!packages.is_empty());
    let is_pinned = |package: &toml::Value| {
        let text = |key: &str| package.get(key).and_then(toml::Value::as_str);
        match text("source") {
            Some(source) => {
                let hash = text("checksum").unwrap_or_default();
                source == "registry+https://github.com/rust-lang/crates.io-index"
                    && hash.len() == 64
                    && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
            }
            None => own.iter().any(|name| Some(name.as_str()) == text("name")),
        }
    };
    let loose = packages.iter().filter(|package| !is_pinned(package));
    loose.map(|package| package["name"].as_str().unwrap().to_owned()).collect()
}

/// Packages of a `package-lock.json` that are not pinned by a strong hash, or that come from an address of their own
/// (git, a file, a link, a tarball) instead of the registry that npm is set up with.
fn unpinned_modules(lock: &str) -> Vec<String> {
    let lock: serde_json::Value = serde_json::from_str(lock).unwrap();
    assert!(lock["lockfileVersion"].as_u64().is_some_and(|version| version >= 3), "an old lock file has no hashes");
    let packages = lock["packages"].as_object().unwrap().iter().filter(|(path, _)| !path.is_empty());
    let is_pinned = |package: &serde_json::Value| {
        let hash = package["integrity"].as_str().unwrap_or_default();
        let strong = hash.strip_prefix("sha512-").is_some_and(|rest| rest.len() == 88);
        let version = package["version"].as_str().unwrap_or_default();
        let plain = version.starts_with(|first: char| first.is_ascii_digit()) && !version.contains(':');
        strong && plain && package.get("resolved").is_none() && package.get("link").is_none()
    };
    packages.filter(|(_, package)| !is_pinned(package)).map(|(path, _)| path.clone()).collect()
}

/// Lines of a script that install packages of npm and let them run scripts of their own.
fn installs_with_scripts(script: &str) -> Vec<String> {
    const INSTALLS: [&str; 7] = ["npm ci", "npm install", "npm i ", "npm add", "npm update", "npm exec", "npx "];
    let joined = script.replace("\\\n", " ");
    let commands = joined.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let loose = commands.filter(|line| INSTALLS.iter().any(|install| line.contains(install)));
    loose.filter(|line| !line.contains("--ignore-scripts")).map(str::to_owned).collect()
}

#[test]
fn every_crate_comes_from_the_registry_with_a_checksum() {
    let own = own_packages();
    let locks = files("Cargo.lock");
    assert!(locks.len() >= 2, "{locks:?}");
    for path in locks {
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(unpinned_crates(&text, &own), [""; 0], "{}", path.display());
    }
}

#[test]
fn every_npm_package_comes_from_the_registry_with_an_integrity_hash() {
    let locks = files("package-lock.json");
    assert!(!locks.is_empty());
    for path in locks {
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(unpinned_modules(&text), [""; 0], "{}", path.display());
    }
    for path in files("package.json") {
        let manifest: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let brings_in = |kind: &str| manifest[kind].as_object().is_some_and(|named| !named.is_empty());
        if !["dependencies", "devDependencies", "optionalDependencies"].iter().any(|kind| brings_in(kind)) {
            continue;
        }
        assert!(path.with_file_name("package-lock.json").is_file(), "{} has no lock file", path.display());
    }
}

#[test]
fn no_install_runs_scripts_of_the_packages_it_installs() {
    let recipes = std::fs::read_dir(root().join(".ci")).unwrap().map(|entry| entry.unwrap().path());
    for path in recipes.chain([root().join("Makefile")]) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(installs_with_scripts(&text), [""; 0], "{}", path.display());
    }
}

#[test]
fn every_build_of_ours_is_locked() {
    let recipes = std::fs::read_dir(root().join(".ci")).unwrap().map(|entry| entry.unwrap().path());
    for path in recipes.chain([root().join("Makefile")]) {
        let text = std::fs::read_to_string(&path).unwrap().replace("$(CARGO)", "cargo");
        let builds = text.lines().filter(|line| {
            let verbs = ["build", "run", "clippy", "nextest run", "bench", "install"];
            verbs.iter().any(|verb| line.contains(&format!("cargo {verb} ")))
        });
        let loose: Vec<&str> = builds.filter(|line| !line.contains("--locked")).collect();
        assert_eq!(loose, [""; 0], "{}", path.display());
    }
}

#[test]
fn a_manipulated_cargo_lock_is_noticed() {
    let own = own_packages();
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let from = |source: &str| {
        let real = "registry+https://github.com/rust-lang/crates.io-index";
        unpinned_crates(&lock.replacen(real, source, 1), &own).len()
    };
    assert_eq!(from("git+https://example.com/crate?rev=1#1"), 1);
    assert_eq!(from("registry+https://example.com/index"), 1);
    let checksum = lock.lines().find(|line| line.starts_with("checksum")).unwrap();
    assert_eq!(unpinned_crates(&lock.replacen(checksum, "", 1), &own).len(), 1, "no checksum");
    let path = "\n[[package]]\nname = \"planted\"\nversion = \"1.0.0\"\n";
    assert_eq!(unpinned_crates(&format!("{lock}{path}"), &own), ["planted"], "a path outside of the repository");
}

#[test]
fn a_manipulated_package_lock_is_noticed() {
    let lock = std::fs::read_to_string(root().join("apps/web/package-lock.json")).unwrap();
    let with = |key: &str, value: serde_json::Value| {
        let mut lock: serde_json::Value = serde_json::from_str(&lock).unwrap();
        lock["packages"]["node_modules/react"][key] = value;
        unpinned_modules(&lock.to_string())
    };
    assert_eq!(with("version", "19.3.1".into()), [""; 0]);
    let tampered = [
        ("integrity", serde_json::Value::Null),
        ("integrity", "sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA=".into()),
        ("version", "git+ssh://git@example.com/react.git#1".into()),
        ("resolved", "https://example.com/react.tgz".into()),
        ("link", true.into()),
    ];
    for (key, value) in tampered {
        assert_eq!(with(key, value.clone()), ["node_modules/react"], "{key} = {value}");
    }
}

#[test]
fn an_install_with_scripts_is_noticed() {
    assert_eq!(
        installs_with_scripts("\tnpm ci --prefix apps/web --no-audit\n"),
        ["npm ci --prefix apps/web --no-audit"]
    );
    assert_eq!(installs_with_scripts("npm install --silent \\\n  some-package\n").len(), 1);
    assert_eq!(installs_with_scripts("npx some-package\n").len(), 1);
    assert_eq!(installs_with_scripts("# npm install x\nnpm run build\nnpm ci --ignore-scripts\n"), [""; 0]);
}
