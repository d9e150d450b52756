//! Files without a grammar: Markdown by its headings, everything else by blocks of lines. Pure.

use std::path::Path;

use crate::chunk::Chunk;

const BLOCK: usize = 40;
const MOST_CHUNKS: usize = 400;

pub(crate) fn chunks(path: &Path, text: &str) -> Vec<Chunk> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let markdown = matches!(ending, "md" | "mdx" | "markdown" | "rst" | "adoc");
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let mut first = 0;
    let mut heading: Option<String> = None;
    let mut fenced = false;
    for (at, line) in lines.iter().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let title = if markdown && !fenced { title(line) } else { None };
        // A block ends at a heading, or at an empty line once it is long enough, or when it is too long.
        let long = at - first >= BLOCK && line.trim().is_empty() || at - first >= 2 * BLOCK;
        if title.is_some() || long {
            push(&mut found, &lines, first, at, heading.clone());
            first = at;
        }
        if let Some(title) = title {
            heading = Some(title);
        }
    }
    push(&mut found, &lines, first, lines.len(), heading);
    found.truncate(MOST_CHUNKS);
    found
}

fn title(line: &str) -> Option<String> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    ((1..=6).contains(&level) && rest.starts_with(' ')).then(|| rest.trim().to_owned())
}

fn push(found: &mut Vec<Chunk>, lines: &[&str], from: usize, to: usize, heading: Option<String>) {
    let body = lines.get(from..to).unwrap_or_default().join("\n");
    if !body.trim().is_empty() {
        found.push(Chunk { first: from + 1, last: to, symbol: heading, docs: String::new(), body });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_is_cut_at_headings_outside_code() {
        let text = "Intro\n\n# Install\nsteps\n```sh\n# not a heading\n```\n## Update\nmore\n";
        let chunks = chunks(Path::new("a.md"), text);
        let seen: Vec<(Option<&str>, usize, usize)> =
            chunks.iter().map(|chunk| (chunk.symbol.as_deref(), chunk.first, chunk.last)).collect();
        assert_eq!(seen, [(None, 1, 2), (Some("Install"), 3, 7), (Some("Update"), 8, 9)]);
    }

    #[test]
    fn other_text_is_cut_into_blocks_and_nothing_is_lost() {
        let text: String = (1..=205).map(|n| if n % 10 == 0 { "\n".to_owned() } else { format!("l{n}\n") }).collect();
        let chunks = chunks(Path::new("a.txt"), &text);
        assert_eq!(chunks.first().unwrap().first, 1);
        assert_eq!(chunks.last().unwrap().last, 205);
        assert!(chunks.windows(2).all(|pair| pair[0].last + 1 == pair[1].first));
        assert!(chunks.iter().all(|chunk| chunk.last - chunk.first < 2 * BLOCK));
        assert_eq!(super::chunks(Path::new("a"), ""), []);
    }
}
