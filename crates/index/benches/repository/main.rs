//! `make bench-index`: a repository of 5,000 files (or `BENCH_FILES`) is made, indexed, asked twenty questions, changed
//! and indexed again; with `EMBEDDINGS_URL` it is asked by meaning too.
#![expect(clippy::print_stdout, reason = "figures are printed")]

mod held_out;
mod noise;
mod targets;
mod vectors;

use std::time::Instant;

use held_out::HELD_OUT;
use index::{Index, Scope};
use targets::{TARGETS, Target};
use vectors::Server;

const FILES: usize = 5_000;

fn main() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (root, file) = (folder.path().join("repo"), folder.path().join("index.db"));
    let files = std::env::var("BENCH_FILES").ok().and_then(|files| files.parse().ok()).unwrap_or(FILES);
    noise::write(&root, files - TARGETS.len() - HELD_OUT.len());
    for target in TARGETS.iter().chain(HELD_OUT) {
        let path = root.join(target.path);
        std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder can be made");
        std::fs::write(path, target.content).expect("a file can be written");
    }
    let mut index = Index::open(&file).expect("an index can be made");
    let begun = Instant::now();
    let done = index.refresh(&root).expect("the repository can be indexed");
    println!("index of {} files: {:.2} s", done.files, begun.elapsed().as_secs_f64());
    let size = std::fs::metadata(&file).map_or(0, |metadata| metadata.len());
    println!("size: {:.1} MB", size as f64 / 1e6);
    freshness(&mut index, &root);
    both(&index, None);
    if let Some(server) = Server::named() {
        println!("by words and meaning");
        server.embed(&mut index, &root);
        let size = std::fs::metadata(&file).map_or(0, |metadata| metadata.len());
        println!("size: {:.1} MB", size as f64 / 1e6);
        both(&index, Some(&server));
    }
}

fn both(index: &Index, server: Option<&Server>) {
    println!("twenty questions");
    questions(index, server, TARGETS);
    println!("held out");
    questions(index, server, HELD_OUT);
}

fn freshness(index: &mut Index, root: &std::path::Path) {
    let begun = Instant::now();
    let again = index.refresh(root).expect("the repository can be indexed");
    println!("all files looked at again by content ({} same): {:.0} ms", again.same, millis(begun));
    std::fs::write(root.join("services/new.rs"), "/// Says hello.\nfn hello() {}\n").expect("a file can be written");
    let begun = Instant::now();
    let again = index.refresh(root).expect("the repository can be indexed");
    println!("one new file ({} indexed, {} same by content): {:.0} ms", again.indexed, again.same, millis(begun));
}

fn questions(index: &Index, server: Option<&Server>, targets: &[Target]) {
    let mut times = Vec::new();
    let (mut right, mut first) = (0, 0);
    for target in targets {
        let vector = server.map(|server| server.vectors(&[target.question]).remove(0));
        let begun = Instant::now();
        let hits = index
            .search(target.question, vector.as_deref(), Scope { under: None, most: 10 })
            .expect("a question can be asked");
        times.push(millis(begun));
        let mut files: Vec<&str> = hits.iter().map(|hit| hit.path.as_str()).collect();
        files.dedup();
        let rank = files.iter().position(|path| *path == target.path).map(|at| at + 1);
        right += usize::from(rank.is_some_and(|rank| rank <= 5));
        first += usize::from(rank == Some(1));
        let shown = rank.map_or("-".to_owned(), |rank| rank.to_string());
        println!("  {shown:>2}  {}  ({})", target.question, target.path);
    }
    times.sort_by(f64::total_cmp);
    println!("right file in the first five: {right} of {}, first: {first}", targets.len());
    println!("query p50 {:.1} ms, slowest {:.1} ms", times[times.len() / 2], times[times.len() - 1]);
}

fn millis(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}
