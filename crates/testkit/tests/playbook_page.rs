//! `docs/playbooks.md` says what the code does: its generated parts are written anew and compared.
//! Set `HOLDPOINT_BLESS=1` to write the page, then look at the difference.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::path::{Path, PathBuf};

use domain::{Playbook, Work};

fn docs(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(file)
}

fn sample() -> String {
    std::fs::read_to_string(docs("playbooks/security.toml")).unwrap()
}

/// The page with what stands between `<!-- generated: part -->` and `<!-- end -->` replaced.
fn with(page: &str, part: &str, text: &str) -> String {
    let begin = format!("<!-- generated: {part} -->\n");
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("no part `{part}` in the page"));
    let (_, after) = rest.split_once("<!-- end -->").expect("every generated part has an end");
    format!("{before}{begin}{}\n<!-- end -->{after}", text.trim_end())
}

#[test]
fn the_page_of_playbooks_is_what_the_code_says() {
    let path = docs("playbooks.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let source = sample();
    let built_in: Vec<String> =
        Playbook::built_in_names().filter_map(Playbook::built_in).map(|playbook| playbook.page()).collect();
    let wanted = with(&page, "sample", &format!("```toml\n{source}```"));
    let wanted = with(&wanted, "built in", &built_in.join("\n"));
    if std::env::var_os("HOLDPOINT_BLESS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
        return;
    }
    let first = page.lines().zip(wanted.lines()).find(|(is, should)| is != should);
    assert!(
        page == wanted,
        "docs/playbooks.md is old, first at {first:?}; write it anew with \
         `HOLDPOINT_BLESS=1 cargo test -p testkit --test playbook_page` and look at the difference"
    );
}

#[test]
fn the_sample_of_the_page_is_a_playbook_without_a_problem() {
    let source = sample();
    assert_eq!(Playbook::check("docs/playbooks/security.toml", &source), []);
    let playbook = Playbook::parse_among("security.toml", &source, &|_| None).unwrap();
    assert_eq!(playbook.stages[2].name, "security-review");
    assert!(matches!(&playbook.stages[2].work, Work::Judge { on_fail, .. } if on_fail == "implementation"));
    assert_eq!(playbook.roles(), ["planner", "implementer", "security-reviewer", "validator"]);
}
