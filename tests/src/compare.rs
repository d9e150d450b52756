//! What must be the same with and without kills: tree, commits, events, model calls; and what must be gone.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};

use crate::product::Product;
use crate::world::World;

/// A run's result with everything taken out that differs between two runs by nature: ids, object names, times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Type and masked payload of each event, in order.
    pub events: Vec<String>,
    /// Subject of each commit on the base branch and on the run's branch, oldest first.
    pub commits: Vec<String>,
    /// Path to masked content of every file on the base branch and on the run's branch.
    pub files: BTreeMap<String, String>,
    /// Model calls that were paid for.
    pub calls: u64,
    /// What the user's checkout shows as changed.
    pub checkout: String,
    /// Folders of the run that should be gone.
    pub left_over: Vec<String>,
}

/// Takes the picture of an ended run.
pub async fn picture(product: &Product, world: &World, run: &str) -> Result<Picture> {
    let (_, view) = product.get(&format!("/api/runs/{run}")).await?;
    let (_, events) = product.get(&format!("/api/runs/{run}/events")).await?;
    let branch = view["branch"].as_str().context("a run has a branch")?.to_owned();
    let masks = Masks { run: run.to_owned(), project: world.repository().display().to_string() };
    let masks = &masks;
    let events = events.as_array().context("events are a list")?;
    let events = events.iter().map(|event| masks.mask(&format!("{} {}", event["type"], event["payload"]))).collect();
    let mut commits = Vec::new();
    let mut files = BTreeMap::new();
    for reference in ["main", branch.as_str()] {
        let name = if reference == "main" { "main" } else { "branch" };
        let Ok(log) = world.git(&["log", "--reverse", "--format=%s%n%(trailers)", reference]) else { continue };
        commits.extend(log.lines().map(|line| format!("{name}: {}", masks.mask(line))));
        for path in world.git(&["ls-tree", "-r", "--name-only", reference])?.lines() {
            let content = world.git(&["show", &format!("{reference}:{path}")])?;
            files.insert(format!("{name}: {}", masks.mask(path)), masks.mask(&content));
        }
    }
    Ok(Picture {
        events,
        commits,
        files,
        calls: view["spend"]["calls"].as_u64().context("a run has a spend")?,
        checkout: world.git(&["status", "--porcelain"])?,
        left_over: left_over(world, run),
    })
}

/// The picture of a run whose children worked at the same time: what they did counts, not in which order.
pub async fn family_picture(product: &Product, world: &World, run: &str) -> Result<Picture> {
    let mut whole = picture(product, world, run).await?;
    let (_, children) = product.get(&format!("/api/runs?parent={run}&limit=100")).await?;
    let children = children.as_array().context("runs are a list")?.clone();
    let mut names: Vec<(String, String)> = vec![(run.to_owned(), "RUN".to_owned())];
    for child in &children {
        let id = child["id"].as_str().context("a run has an id")?.to_owned();
        let branch = child["branch"].as_str().context("a run has a branch")?;
        let task = branch.rsplit_once("-task-").map_or("?", |(_, task)| task);
        names.push((id, format!("CHILD{task}")));
    }
    for child in &children {
        let id = child["id"].as_str().context("a run has an id")?;
        let of_child = picture(product, world, id).await?;
        whole.events.extend(of_child.events.into_iter().map(|event| format!("child {event}")));
        whole.calls += of_child.calls;
        whole.left_over.extend(of_child.left_over);
    }
    let unordered = |text: &String| {
        let named =
            names.iter().fold(text.clone(), |text, (id, name)| text.replace(id.as_str(), name).replace(&id[..6], name));
        mask_numbers(&named)
    };
    whole.events = whole.events.iter().map(unordered).collect();
    whole.events.sort();
    whole.commits = whole.commits.iter().map(unordered).collect();
    whole.commits.sort();
    // Records tell the order of things; that they are there is what matters here.
    let record = |path: &str| path.contains(".autonomous/runs/") || path.ends_with("memory.md");
    let files = std::mem::take(&mut whole.files).into_iter();
    whole.files =
        files.map(|(path, text)| (unordered(&path), if record(&path) { String::new() } else { text })).collect();
    Ok(whole)
}

/// Numbers of effects, holds and events: they follow from the order of things.
fn mask_numbers(text: &str) -> String {
    let mut masked = String::new();
    let mut digits = false;
    for c in text.chars() {
        match (c.is_ascii_digit(), digits) {
            (true, false) => masked.push('N'),
            (true, true) => {}
            (false, _) => masked.push(c),
        }
        digits = c.is_ascii_digit();
    }
    masked
}

fn left_over(world: &World, run: &str) -> Vec<String> {
    let folder = world.home().join("runs").join(run);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name != "sessions").collect();
    names.sort();
    names
}

struct Masks {
    run: String,
    project: String,
}

impl Masks {
    fn mask(&self, text: &str) -> String {
        let text = text.replace(&self.run, "RUN").replace(&self.run[..6], "SHORT").replace(&self.project, "PROJECT");
        mask_hex(&mask_times(&text))
    }
}

/// Object names and digests: 40 or more hexadecimal digits in a row.
fn mask_hex(text: &str) -> String {
    let mut masked = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\0']) {
        if c.is_ascii_hexdigit() && !c.is_ascii_uppercase() {
            word.push(c);
            continue;
        }
        masked.push_str(if word.len() >= 40 { "HEX" } else { &word });
        word.clear();
        if c != '\0' {
            masked.push(c);
        }
    }
    masked
}

/// `2026-02-21T10:00:00.123Z` and `2026-02-21`.
fn mask_times(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut masked = String::new();
    let mut at = 0;
    while at < bytes.len() {
        let length = time_length(&bytes[at..]);
        if length > 0 {
            masked.push_str("TIME");
            at += length;
        } else {
            let width = text[at..].chars().next().map_or(1, char::len_utf8);
            masked.push_str(&text[at..at + width]);
            at += width;
        }
    }
    masked
}

fn time_length(bytes: &[u8]) -> usize {
    let shape = b"dddd-dd-dd";
    let fits = bytes.len() >= shape.len()
        && shape
            .iter()
            .zip(bytes)
            .all(|(wanted, byte)| if *wanted == b'd' { byte.is_ascii_digit() } else { byte == wanted });
    if !fits {
        return 0;
    }
    let rest = &bytes[shape.len()..];
    if rest.first() != Some(&b'T') {
        return shape.len();
    }
    shape.len() + rest.iter().take_while(|byte| byte.is_ascii_digit() || b"T:.Z".contains(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_object_names_are_masked_and_nothing_else() {
        let text = "at 2026-02-21T10:00:00.123Z on 2026-02-21: 0123456789abcdef0123456789abcdef01234567 deadbeef é";
        assert_eq!(mask_hex(&mask_times(text)), "at TIME on TIME: HEX deadbeef é");
    }
}
