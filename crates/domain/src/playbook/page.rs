//! A playbook as a section of the documentation: stages, diagram, transitions. The page is held to this by a test.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Playbook;

impl Playbook {
    /// Its section, in Markdown.
    #[must_use]
    pub fn page(&self) -> String {
        let mut page = format!("### `{}`\n\n{}.\n\n", self.name, self.description);
        page.push_str("| stage | work | role | gate | limits | loops |\n|---|---|---|---|---|---|\n");
        for row in self.words() {
            let cells = [row.name, row.work, row.role, row.gate, row.limits, row.loops];
            line(&mut page, &format!("| {} |", cells.join(" | ")));
        }
        line(&mut page, &format!("\n```mermaid\n{}```\n", self.mermaid()));
        page.push_str(&self.transitions());
        page
    }

    /// Every way of a run, grouped by where it starts.
    fn transitions(&self) -> String {
        let mut ways: BTreeMap<String, BTreeMap<String, Vec<&str>>> = BTreeMap::new();
        let table = self.table(false);
        for row in &table {
            let to = ways.entry(row.from.clone()).or_default().entry(row.to.clone()).or_default();
            to.push(row.because.word());
        }
        let mut text = format!("<details><summary>All {} transitions</summary>\n\n", table.len());
        text.push_str("| from | to |\n|---|---|\n");
        for (from, to) in ways {
            let to: Vec<String> = to.iter().map(|(to, why)| format!("{to} ({})", why.join(", "))).collect();
            line(&mut text, &format!("| {from} | {} |", to.join("; ")));
        }
        text.push_str("\n</details>\n");
        text
    }
}

fn line(page: &mut String, text: &str) {
    writeln!(page, "{text}").expect("a string takes what is written");
}
