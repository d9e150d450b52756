//! Which paths an entry can name: a path, a folder or a glob with `*`, `?` and `**`.
//! When it cannot tell, it says yes: an overlap too many costs time, one too few costs a merge conflict.

/// One entry, ready to be compared.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// Invariant: at most [`DEEPEST`] and what `Any` is put before and after them, so that a `u128` has a bit for each.
    segments: Vec<Segment>,
    kind: Kind,
    /// Everything before the first wildcard.
    prefix: String,
}

const DEEPEST: usize = 120;

#[derive(Debug)]
enum Segment {
    Literal(String),
    /// With `*` or `?` in it.
    Wild(String),
    /// `**`: any number of folders, also none.
    Any,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Glob,
    /// No wildcards; names itself and everything beneath it.
    Literal {
        /// Whether it looks like a file, so that nothing lies beneath it.
        file: bool,
    },
}

impl Pattern {
    /// Read from the top of the repository.
    pub(crate) fn new(entry: &str) -> Self {
        let mut segments: Vec<Segment> = segments(entry).map(Segment::new).collect();
        // Alternatives `{a,b}` are read as `*`; if they reach over a `/`, everything from there on is possible. So it
        // is below folders deeper than anybody has.
        let open = |segment: &Segment| matches!(segment, Segment::Wild(text) if text.contains('{'));
        let unclear = segments.iter().position(open).unwrap_or(segments.len()).min(DEEPEST);
        if unclear < segments.len() {
            segments.truncate(unclear);
            segments.push(Segment::Any);
        }
        let literal = segments.iter().all(|segment| matches!(segment, Segment::Literal(_)));
        let prefix = prefix(&segments);
        if literal || entry.ends_with('/') {
            segments.push(Segment::Any);
        }
        let name = entry.rsplit('/').next().unwrap_or(entry);
        let file = name.trim_start_matches('.').contains('.');
        let kind = if literal { Kind::Literal { file } } else { Kind::Glob };
        Self { segments, kind, prefix }
    }

    /// Read at any depth of the repository.
    pub(crate) fn at_any_depth(entry: &str) -> Self {
        let mut pattern = Self::new(entry);
        pattern.segments.insert(0, Segment::Any);
        Self { kind: Kind::Glob, prefix: String::new(), ..pattern }
    }

    /// Whether it names this path.
    pub(crate) fn matches(&self, path: &str) -> bool {
        self.reached(segments(path)) & self.whole() != 0
    }

    /// Whether there can be a path that both name.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        if !self.prefix.starts_with(&other.prefix) && !other.prefix.starts_with(&self.prefix) {
            return false;
        }
        match (&self.kind, &other.kind) {
            // Two globs with one beginning are taken to meet, which is often true and always safe.
            (Kind::Glob, Kind::Glob) => true,
            (Kind::Literal { .. }, Kind::Literal { .. }) => self.matches(&other.prefix) || other.matches(&self.prefix),
            (Kind::Glob, Kind::Literal { file }) => self.meets(&other.prefix, *file),
            (Kind::Literal { file }, Kind::Glob) => other.meets(&self.prefix, *file),
        }
    }

    /// Whether a glob can name the literal path or, unless that is a file, something beneath it.
    fn meets(&self, literal: &str, file: bool) -> bool {
        let reached = self.reached(segments(literal));
        if file { reached & self.whole() != 0 } else { reached != 0 }
    }

    /// A bit for each number of own segments that can stand for exactly this path. All ways are followed at once, so
    /// that no entry, however many `**` it has, takes longer than its length times the path's.
    fn reached<'a>(&self, path: impl Iterator<Item = &'a str>) -> u128 {
        let mut now = self.skip_any(1);
        for name in path {
            let mut next = 0;
            for (at, segment) in self.segments.iter().enumerate().filter(|(at, _)| now & (1 << at) != 0) {
                next |= match segment {
                    Segment::Any => 1 << at,
                    Segment::Literal(_) | Segment::Wild(_) if segment.matches(name) => 1 << (at + 1),
                    Segment::Literal(_) | Segment::Wild(_) => 0,
                };
            }
            now = self.skip_any(next);
        }
        now
    }

    fn skip_any(&self, mut reached: u128) -> u128 {
        for (at, _) in self.segments.iter().enumerate().filter(|(_, segment)| matches!(segment, Segment::Any)) {
            reached |= (reached & (1 << at)) << 1;
        }
        reached
    }

    fn whole(&self) -> u128 {
        1 << self.segments.len()
    }
}

impl Segment {
    fn new(text: &str) -> Self {
        let text = match (text.find('{'), text.rfind('}')) {
            (Some(open), Some(close)) if open < close => format!("{}*{}", &text[..open], &text[close + 1..]),
            (Some(_) | None, Some(_) | None) => text.to_owned(),
        };
        if text == "**" {
            Self::Any
        } else if text.contains('*') {
            // Beside a star a `?` is read as another: to find both at once has no bound that is worth its code.
            Self::Wild(text.replace('?', "*"))
        } else if text.contains(['?', '{']) {
            Self::Wild(text)
        } else {
            Self::Literal(text)
        }
    }

    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Literal(text) => text == name,
            Self::Wild(text) => wild(text, name),
        }
    }
}

/// Wildcards inside one segment, in time that grows with the name alone: each piece between stars is taken where it
/// first fits, because a later place could not leave more for the rest.
fn wild(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        let fits = |(wanted, found)| wanted == '?' || wanted == found;
        return pattern.chars().count() == name.chars().count() && pattern.chars().zip(name.chars()).all(fits);
    };
    let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(mut left) = name.strip_prefix(start).and_then(|name| name.strip_suffix(end)) else { return false };
    for piece in middle.split('*') {
        let Some(at) = left.find(piece) else { return false };
        left = &left[at + piece.len()..];
    }
    true
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty() && *segment != ".")
}

fn prefix(segments: &[Segment]) -> String {
    let mut prefix = String::new();
    for (index, segment) in segments.iter().enumerate() {
        if index > 0 {
            prefix.push('/');
        }
        match segment {
            Segment::Literal(text) => prefix.push_str(text),
            Segment::Wild(text) => {
                prefix.extend(text.chars().take_while(|c| !matches!(c, '*' | '?' | '{')));
                break;
            }
            Segment::Any => break,
        }
    }
    prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn names(entry: &str, yes: &[&str], no: &[&str]) {
        let pattern = Pattern::new(entry);
        for path in yes {
            assert!(pattern.matches(path), "`{entry}` should name `{path}`");
        }
        for path in no {
            assert!(!pattern.matches(path), "`{entry}` should not name `{path}`");
        }
    }

    #[track_caller]
    fn meet(a: &str, b: &str, expected: bool) {
        assert_eq!(Pattern::new(a).overlaps(&Pattern::new(b)), expected, "`{a}` and `{b}`");
        assert_eq!(Pattern::new(b).overlaps(&Pattern::new(a)), expected, "`{b}` and `{a}`");
    }

    #[test]
    fn a_literal_names_itself_and_what_lies_beneath() {
        names("src/a.rs", &["src/a.rs"], &["src/a.rsx", "src/b.rs", "a.rs", "x/src/a.rs"]);
        names("src/", &["src/a.rs", "src/net/b.rs"], &["srcs/a.rs", "lib/src/a.rs"]);
        names("src", &["src/a.rs", "src"], &["src.rs"]);
        names("./src//net", &["src/net/a.rs"], &["src/a.rs"]);
        names(".", &["a", "a/b"], &[]);
        names("app/[id]/page.tsx", &["app/[id]/page.tsx"], &["app/i/page.tsx"]);
    }

    #[test]
    fn a_star_stays_in_its_folder_and_two_stars_do_not() {
        names("src/*.rs", &["src/a.rs", "src/.rs"], &["src/net/a.rs", "src/a.md"]);
        names("src/**/*.rs", &["src/a.rs", "src/net/deep/a.rs"], &["lib/a.rs"]);
        names("**/test_?.py", &["test_a.py", "x/y/test_b.py"], &["test_ab.py", "test_.py"]);
        names("crates/*/", &["crates/a/x", "crates/a/b/c"], &["crate/a/x"]);
        names("src/**", &["src/a", "src/a/b"], &["lib/a"]);
        names("*a*b*c", &["abc", "xaxbxc", "aabbcc"], &["acb", "abcd"]);
        names("a*a", &["aa", "aba"], &["a", "ab"]);
        names("ab*ab*ab", &["ababab", "ab-ab-ab"], &["abab", "ab-ab"]);
    }

    #[test]
    fn alternatives_are_read_as_anything() {
        names("src/{a,b}.rs", &["src/a.rs", "src/b.rs"], &["src/a.md", "lib/a.rs"]);
        names("{src/net,lib}/x.rs", &["src/net/x.rs", "lib/x.rs"], &[]);
    }

    #[test]
    fn entries_meet_when_a_path_can_be_named_by_both() {
        meet("src/a.rs", "src/a.rs", true);
        meet("src/a.rs", "./src/a.rs", true);
        meet("src/a.rs", "src/b.rs", false);
        meet("src/", "src/a.rs", true);
        meet("src", "src/a.rs", true);
        meet("src/", "srcs/a.rs", false);
        meet(".", "docs/x.md", true);
        meet("src/*.rs", "src/a.rs", true);
        meet("src/*.rs", "src/a.md", false);
        meet("src/*.rs", "src/net/", false);
        meet("src/**/*.rs", "src/net/", true);
        meet("**/*.rs", "src/net", true);
        meet("**/*.rs", "src/a.md", false);
        meet("src/*", "src/", true);
    }

    #[test]
    fn two_globs_meet_when_one_begins_like_the_other() {
        meet("src/*.rs", "src/**", true);
        meet("src/*.rs", "src/*.md", true);
        meet("src/*.rs", "docs/*", false);
        meet("**/*.rs", "docs/*", true);
        meet("src/ma*", "src/main*", true);
        meet("crates/a/*", "crates/b/*", false);
    }

    #[test]
    fn whatever_two_entries_both_name_they_also_meet_on() {
        let entries = [
            "a", "a/", "a/b", "a/b.x", "*", "**", "a/*", "a/**", "*/b", "**/b", "?/b.x", "a/**/b", "*.x", "**/*.x",
            "a/{b,c}", "{a/b,c}", ".", "a/*/", "b", "b/*.x",
        ];
        let paths = ["a", "b", "b.x", "a/b", "a/b.x", "b/a.x", "a/c", "a/b/c", "a/b/b", "a/c/b.x", "c", "a/a/a/b"];
        for one in entries {
            for two in entries {
                let (first, second) = (Pattern::new(one), Pattern::new(two));
                for path in paths.iter().filter(|path| first.matches(path) && second.matches(path)) {
                    assert!(first.overlaps(&second), "`{one}` and `{two}` both name `{path}`");
                }
            }
        }
    }

    #[test]
    fn a_question_mark_stands_for_one_character_of_any_length() {
        names("?b", &["äb", "語b"], &["b", "ääb"]);
        names("a??", &["abc"], &["ab", "abcd"]);
    }

    #[test]
    fn an_entry_deeper_than_folders_go_names_all_that_lies_below() {
        let deep = "a/".repeat(200);
        names(&deep, &[&deep, &"a/".repeat(121)], &[&"a/".repeat(119)]);
        assert!(Pattern::at_any_depth(&deep).matches(&format!("x/{deep}")));
        meet(&deep, &format!("{deep}b"), true);
    }

    #[test]
    fn many_wildcards_do_not_take_for_ever() {
        assert!(!Pattern::new(&"**/a/".repeat(59)).matches(&"a/".repeat(58)));
        assert!(Pattern::new(&"**/a/".repeat(59)).matches(&"a/".repeat(59)));
        assert!(!Pattern::new(&"*a".repeat(150)).matches(&"a".repeat(149)));
    }
}
