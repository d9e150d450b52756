//! Playbooks for people. Pure; every cell is cleaned here.

use wire::{PlaybookProblem, PlaybookView};

use super::{
    clean_line,
    style::{BAD, BOLD, DIM, WAIT},
    table,
};

/// `playbook list`.
pub(crate) fn list(playbooks: &[PlaybookView], width: usize) -> String {
    let rows = playbooks.iter().map(|playbook| {
        let from = playbook.file.as_deref().map_or("built in".to_owned(), clean_line);
        let broken = playbook.problems.iter().find(|problem| problem.weight == "error");
        let what = match broken {
            Some(problem) => format!("cannot be used: line {}: {}", problem.line, clean_line(&problem.message)),
            None => clean_line(&playbook.description),
        };
        vec![clean_line(&playbook.name), from, clean_line(&playbook.stages.join(" → ")), what]
    });
    table::table(&["playbook", "from", "stages", "what it does"], rows, width)
}

/// `playbook show`.
pub(crate) fn one(playbook: &PlaybookView, width: usize) -> String {
    let from = playbook.file.as_deref().map_or("built in".to_owned(), clean_line);
    let mut lines = vec![
        format!("{BOLD}{}{BOLD:#} {DIM}({from}){DIM:#}", clean_line(&playbook.name)),
        clean_line(&playbook.description),
        String::new(),
    ];
    // Two tables of few columns: one of six would break the names.
    let clean = |cells: &[&String]| cells.iter().map(|cell| clean_line(cell)).collect::<Vec<_>>();
    let doing = playbook.steps.iter().map(|step| clean(&[&step.name, &step.work, &step.role, &step.gate]));
    lines.push(table::table(&["stage", "work", "role", "gate"], doing, width));
    lines.push(String::new());
    let bounds = playbook.steps.iter().map(|step| clean(&[&step.name, &step.limits, &step.loops]));
    lines.push(table::table(&["stage", "limits", "loops"], bounds, width));
    if !playbook.problems.is_empty() {
        lines.push(String::new());
        lines.push(problems(&playbook.problems));
    }
    lines.join("\n")
}

/// `file:line: message`, each with its hint.
pub(crate) fn problems(problems: &[PlaybookProblem]) -> String {
    let line = |problem: &PlaybookProblem| {
        let (place, said) = (clean_line(&problem.file), clean_line(&problem.message));
        let colour = if problem.weight == "error" { BAD } else { WAIT };
        let weight = if problem.weight == "error" { "" } else { "warning: " };
        let hint = clean_line(&problem.hint);
        format!("{place}:{}: {colour}{weight}{colour:#}{said}\n  {DIM}hint:{DIM:#} {hint}", problem.line)
    };
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}
