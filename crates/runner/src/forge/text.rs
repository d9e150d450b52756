//! What a pull request says: our summary, and the repository's own template below it for the
//! person to fill in. Templates are read from a commit, never from a checkout.

use crate::git::{CommitId, GitError, PrivateRepo};

/// GitHub takes no longer text.
const MAX_BODY: usize = 65_536;
const BETWEEN: &str = "\n\n---\n\n";
const SHORTENED: &str = "\n\n(shortened)";
const PLACES: [&str; 3] = [".github/", "", "docs/"];
const NAMES: [&str; 2] = ["pull_request_template.md", "pull_request_template.txt"];

/// The text of a pull request: the marker, which stands first so that nothing can swallow it,
/// the summary, and the template if there is one. Shortened to what GitHub takes.
pub fn body(summary: &str, template: Option<&str>, marker: &str) -> String {
    let template = template.map(str::trim).filter(|text| !text.is_empty());
    let room = MAX_BODY.saturating_sub(marker.chars().count() + 2 + BETWEEN.len());
    let template = template.map(|text| cut(text, room / 2));
    let left = room - template.as_deref().map_or(0, |text| text.chars().count());
    let mut text = format!("{marker}\n\n{}", cut(summary.trim(), left));
    if let Some(template) = template {
        text.push_str(BETWEEN);
        text.push_str(&template);
    }
    text
}

fn cut(text: &str, limit: usize) -> String {
    match text.chars().count() > limit {
        true => text.chars().take(limit.saturating_sub(SHORTENED.len())).chain(SHORTENED.chars()).collect(),
        false => text.to_owned(),
    }
}

/// The template GitHub would use, among the paths of a commit: in `.github`, at the top or in
/// `docs`, however it is capitalised.
pub fn template_among<'a>(paths: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let rank = |path: &str| {
        let wanted = PLACES.iter().flat_map(|place| NAMES.iter().map(move |name| format!("{place}{name}")));
        wanted.into_iter().position(|wanted| wanted.eq_ignore_ascii_case(path))
    };
    paths.into_iter().filter_map(|path| Some((rank(path)?, path))).min().map(|(_, path)| path)
}

/// The text of the repository's template at this commit.
pub fn pull_request_template(private: &PrivateRepo, commit: &CommitId) -> Result<Option<String>, GitError> {
    let mut paths = private.list(commit, "")?;
    let is_place = |name: &&String| [".github", "docs"].iter().any(|place| name.eq_ignore_ascii_case(place));
    let places: Vec<String> = paths.iter().filter(is_place).cloned().collect();
    for place in places {
        paths.extend(private.list(commit, &place)?.into_iter().map(|name| format!("{place}/{name}")));
    }
    let Some(path) = template_among(paths.iter().map(String::as_str)) else {
        return Ok(None);
    };
    let bytes = private.read_file(commit, path)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKER: &str = "<!-- holdpoint: r1/9 -->";

    #[test]
    fn a_body_has_marker_summary_and_template() {
        assert_eq!(body(" What it does.\n", None, MARKER), format!("{MARKER}\n\nWhat it does."));
        assert_eq!(body("What.", Some("\n \n"), MARKER), format!("{MARKER}\n\nWhat."));
        let whole = body("What.", Some("## Checklist\n- [ ] tests\n"), MARKER);
        assert_eq!(whole, format!("{MARKER}\n\nWhat.\n\n---\n\n## Checklist\n- [ ] tests"));
    }

    #[test]
    fn a_body_that_is_too_long_is_shortened_and_keeps_its_marker() {
        let (long, short) = ("ü".repeat(200_000), "short");
        for (summary, template) in
            [(&*long, None), (&*long, Some(short)), (short, Some(&*long)), (&*long, Some(&*long))]
        {
            let text = body(summary, template, MARKER);
            assert!(text.chars().count() <= MAX_BODY);
            assert!(text.starts_with(MARKER) && text.contains("(shortened)"));
        }
        assert!(body(&long, Some(short), MARKER).ends_with(short));
        assert!(body(short, Some(&long), MARKER).starts_with(&format!("{MARKER}\n\nshort\n")));
    }

    #[test]
    fn the_template_is_found_where_github_looks() {
        let check = |paths: &[&'static str]| template_among(paths.iter().copied());
        assert_eq!(check(&["README.md", "src/pull_request_template.md", "x.pull_request_template.md"]), None);
        assert_eq!(check(&[".github/PULL_REQUEST_TEMPLATE/one.md"]), None);
        assert_eq!(check(&["docs/pull_request_template.txt"]), Some("docs/pull_request_template.txt"));
        let all = ["PULL_REQUEST_TEMPLATE.md", "docs/pull_request_template.md", ".github/Pull_Request_Template.md"];
        assert_eq!(check(&all), Some(".github/Pull_Request_Template.md"));
        assert_eq!(check(&all[..2]), Some("PULL_REQUEST_TEMPLATE.md"));
    }
}
