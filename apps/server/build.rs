//! Puts the dashboard's built files into the binary: every file of `apps/web/dist`, with its path, and none where it was
//! not built. Never builds it: `make web` does, and needs node.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).ok_or(io::ErrorKind::NotFound);
    let built = variable("CARGO_MANIFEST_DIR")?.join("../web/dist");
    // An empty folder can be watched and a missing one cannot: cargo would build anew each time. Where the sources
    // cannot be written nothing is lost but that.
    let _unwritable = std::fs::create_dir_all(&built);
    println!("cargo:rerun-if-changed=build.rs");
    if built.is_dir() {
        println!("cargo:rerun-if-changed={}", built.display());
    }
    let mut files = Vec::new();
    collect(&built, &mut files)?;
    files.sort();
    let mut code = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&built).map_err(io::Error::other)?;
        let _infallible = writeln!(code, "    ({:?}, include_bytes!({:?})),", name.to_string_lossy(), file);
    }
    code.push_str("]\n");
    std::fs::write(variable("OUT_DIR")?.join("pages.rs"), code)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        match entry.file_type()? {
            kind if kind.is_dir() => collect(&entry.path(), files)?,
            kind if kind.is_file() => files.push(entry.path()),
            // Links lead anywhere; a build has none.
            _ => {}
        }
    }
    Ok(())
}
