//! One run for people: everything that matters on one screen. Pure.

use jiff::Timestamp;
use wire::{AssumptionView, RunView, SpendCall, WhyView};

use super::{
    clean, clean_line, goal, hold, rail,
    style::{BAD, BOLD, DIM, WAIT, of_status},
    table, tasks,
    words::{ago, count, duration, fit, money, tokens, wrap},
};

/// The start of an id, as branches show it: enough for people, and a prefix the server takes.
pub(crate) fn short(id: &str) -> String {
    let start = match id.find('-') {
        Some(dash @ 6..=8) => dash,
        Some(_) | None => id.char_indices().nth(8).map_or(id.len(), |(at, _)| at),
    };
    clean_line(&id[..start])
}

/// How a run stands, in the words its list is kept in.
pub(crate) fn status_word(run: &RunView) -> String {
    clean_line(&run.task_status.as_deref().unwrap_or(&run.status).replace('_', " "))
}

/// The commit as git shows it.
pub(crate) fn short_commit(commit: &str) -> String {
    clean_line(commit).chars().take(10).collect()
}

/// `show`.
pub(crate) fn show(run: &RunView, now: Timestamp, width: usize) -> String {
    let colour = of_status(&run.status);
    let title = fit(&clean_line(&run.request), width.saturating_sub(2));
    let mut lines = vec![format!("{BOLD}{title}{BOLD:#}"), String::new()];
    if !run.stages.is_empty() {
        lines.extend([format!("  {}", rail::rail(&run.stages)), String::new()]);
    }
    let mut row = |name: &str, value: String| lines.push(format!("  {DIM}{name:<9}{DIM:#} {value}"));
    row("run", format!("{} {DIM}({}){DIM:#}", clean_line(&run.id), clean_line(&run.playbook)));
    row("status", format!("{colour}{}{colour:#}", status_word(run)));
    row("project", clean_line(&run.project));
    row("branch", format!("{} {DIM}from{DIM:#} {}", clean_line(&run.branch), clean_line(&run.base)));
    if let Some(parent) = &run.parent {
        let task = run.task.as_deref().map(|task| format!(", task {}", clean_line(task))).unwrap_or_default();
        row("part of", format!("{}{task}", short(parent)));
    }
    if let Some(from) = &run.forked_from {
        row("forked", format!("from {} at event {}", short(&from.run), from.at));
    }
    if let Some(group) = run.group.as_ref().filter(|group| group.of > 1) {
        let word = if group.variants { "variant" } else { "run" };
        row("group", format!("{word} {} of {} {DIM}({}){DIM:#}", group.index, group.of, short(&group.id)));
    }
    if let Some(commit) = &run.commit {
        let merged = if run.merged.is_some() { format!(" {DIM}(merged){DIM:#}") } else { String::new() };
        row("commit", format!("{}{merged}", short_commit(commit)));
    }
    row("started", started(run, now));
    row("spend", spend_line(run));
    for direct in &run.direct {
        let who = format!("{} ({})", clean_line(&direct.role), clean_line(&direct.program));
        row("own login", format!("{who}: {WAIT}its login is inside its sandbox{WAIT:#}, its cost is what it reports"));
    }
    for program in &run.programs {
        let version = program.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        let digest: String = program.sha256.chars().take(12).collect();
        let said = format!("{}: {}{version} (sha256 {digest})", program.role, program.program);
        let before = program
            .changed_from
            .as_deref()
            .map(|before| format!("; {WAIT}changed since it last ran: {}{WAIT:#}", clean_line(before)));
        row("program", format!("{}{}", clean_line(&said), before.unwrap_or_default()));
    }
    if let Some(tier) = &run.tier {
        let colour = if tier == "unsandboxed" { BAD } else { anstyle::Style::new() };
        row("sandbox", format!("{colour}{}{colour:#}", clean_line(tier)));
    }
    for known in &run.strangers {
        let stage = known.stage.as_deref().map(|stage| format!(", read in {stage}")).unwrap_or_default();
        let trusted = if known.trusted { ", trusted" } else { "" };
        row("strangers", clean_line(&format!("{}{stage}{trusted}", known.words)));
    }
    if let Some(url) = &run.pull_request {
        row("pull req.", clean_line(url));
    }
    if let Some(goal) = &run.goal {
        row("goal", fit(&clean_line(&goal.line), width.saturating_sub(13)));
    }
    if let Some(last) = run.reflections.last().filter(|last| !last.next_action.is_empty()) {
        row("next", fit(&clean_line(&last.next_action), width.saturating_sub(13)));
    }
    if let Some(failure) = &run.failure {
        row("failure", wrap(&clean(failure), width.saturating_sub(12)).join("\n            "));
    }
    if !run.artifacts.is_empty() {
        lines.extend([String::new(), table::artifacts(&run.artifacts, now, width)]);
    }
    if !run.tasks.is_empty() {
        lines.extend([String::new(), tasks::table(run, width)]);
    }
    if let Some(goal) = run.goal.as_ref().filter(|goal| !goal.tasks.is_empty()) {
        lines.push(String::new());
        lines.extend(goal::tree(goal, width));
    }
    lines.extend(assumptions(run, width));
    if let Some(hold) = &run.hold {
        let summary = wrap(&clean_line(&hold.summary), width.saturating_sub(4)).join("\n  ");
        let how = format!("holdpoint watch {}", short(&run.id));
        lines.extend([
            String::new(),
            format!(
                "  {WAIT}◆ waits for you{WAIT:#} {DIM}({}, {}){DIM:#}",
                clean_line(&hold.kind),
                ago(now, hold.since)
            ),
            format!("  {summary}"),
        ]);
        lines.extend(hold::deadline(hold, now).map(|line| format!("  {DIM}{line}{DIM:#}")));
        lines.extend([format!("  {DIM}decide: {how}, or one of {}{DIM:#}", clean_line(&hold.allowed.join(", ")))]);
    }
    lines.join("\n")
}

/// What it went on with because nobody answered, and how to take it back.
fn assumptions(run: &RunView, width: usize) -> Vec<String> {
    let open: Vec<&AssumptionView> = run.assumptions.iter().filter(|known| !known.overturned).collect();
    if open.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), format!("  {WAIT}assumed because nobody answered{WAIT:#}")];
    for known in open {
        let said = format!("{} → {}", known.question, known.answer.join(", "));
        lines.push(format!("  {:>3}. {}", known.number, fit(&clean_line(&said), width.saturating_sub(8))));
    }
    lines.push(format!("  {DIM}overturn: holdpoint overturn {} NUMBER \"what is right\"{DIM:#}", short(&run.id)));
    lines
}

/// One line for the end of a run.
pub(crate) fn ending(run: &RunView, now: Timestamp) -> String {
    let colour = of_status(&run.status);
    let took = duration(run.created_at, run.completed_at.unwrap_or(now));
    let status = status_word(run);
    let tail = match (&run.merged, &run.commit, &run.failure) {
        (_, _, Some(failure)) => format!(": {}", clean_line(failure)),
        (Some(commit), _, None) => format!(": {} is on {}", short_commit(commit), clean_line(&run.base)),
        (None, Some(_), None) if run.status == "completed" => format!(": branch {}", clean_line(&run.branch)),
        (None, _, None) => String::new(),
    };
    format!("{colour}{status}{colour:#}{tail} {DIM}({took}, {}){DIM:#}", money(run.spend.usd))
}

/// `why`.
pub(crate) fn why(why: &WhyView, now: Timestamp) -> String {
    let mut lines = vec![
        format!("{} {DIM}({}){DIM:#}", clean_line(&why.waits_for), clean_line(&why.status.replace('_', " "))),
        format!("{DIM}since {}{DIM:#}", ago(now, why.since)),
    ];
    if let Some(from) = &why.forked_from {
        lines.push(format!("{DIM}forked from {} at event {}{DIM:#}", short(&from.run), from.at));
    }
    lines.extend(why.unblocked_by.iter().map(|way| format!("  → {}", clean_line(way))));
    lines.join("\n")
}

/// `cost`.
pub(crate) fn cost(run: &RunView, calls: &[SpendCall], width: usize) -> String {
    format!("{}\n{}", table::calls(calls, width), spend_line(run))
}

fn started(run: &RunView, now: Timestamp) -> String {
    let took = run.completed_at.map(|end| format!(" {DIM}(took {}){DIM:#}", duration(run.created_at, end)));
    format!("{}{}", ago(now, run.created_at), took.unwrap_or_default())
}

fn spend_line(run: &RunView) -> String {
    let spend = &run.spend;
    let limit = spend.limit_usd.map(|limit| format!(" of {}", money(limit))).unwrap_or_default();
    let unpriced = spend.unpriced_calls.filter(|calls| *calls > 0);
    let unpriced = unpriced.map(|calls| format!(", {calls} without a known price")).unwrap_or_default();
    let thought = spend.estimate_usd.map(|usd| format!("; about {} was expected", money(usd))).unwrap_or_default();
    let tasks = spend.children_usd.map(|usd| format!(", {} of it in its tasks", money(usd))).unwrap_or_default();
    let reported = spend.reported_usd.map(|usd| format!(", {} of it reported by programs, not metered", money(usd)));
    let reported = reported.unwrap_or_default();
    let inherited =
        spend.inherited_usd.map(|usd| format!(" {DIM}+ {} inherited{DIM:#}", money(usd))).unwrap_or_default();
    format!(
        "{}{tasks}{reported}{limit}{inherited} {DIM}({} in, {} out, {}{unpriced}{thought}){DIM:#}",
        money(spend.usd),
        tokens(spend.input_tokens),
        tokens(spend.output_tokens),
        count(spend.calls, "call", "calls"),
    )
}

#[cfg(test)]
pub(crate) mod sample {
    use super::*;
    use wire::{ArtifactView, HoldView, RiskView, SpendView, StageView};

    pub(crate) fn at() -> Timestamp {
        "2026-11-15T20:00:00Z".parse().unwrap()
    }

    fn stage(name: &str, state: &str, visits: u32) -> StageView {
        let (name, role, state) = (name.to_owned(), "planner".to_owned(), state.to_owned());
        StageView { name, role, state, visits, started_at: None, completed_at: None }
    }

    pub(crate) fn document(kind: &str, content: &str) -> wire::ArtifactContent {
        wire::ArtifactContent {
            artifact: ArtifactView {
                kind: kind.to_owned(),
                stage: "planning".to_owned(),
                version: 1,
                path: Some("spec.md".to_owned()),
                commit: "c1".to_owned(),
                digest: "d1".to_owned(),
                title: "A plan".to_owned(),
                files: Vec::new(),
                risks: Vec::new(),
                created_at: at(),
            },
            content: content.to_owned(),
            drawings: Vec::new(),
            truncated: false,
            left_out: Vec::new(),
            total: None,
            note: None,
        }
    }

    pub(crate) fn running() -> RunView {
        RunView {
            id: "0193f2c4a1b2c3d4".to_owned(),
            project: "/home/ada/notes".to_owned(),
            request: "Search over notes".to_owned(),
            playbook: "autonomous".to_owned(),
            priority: "normal".to_owned(),
            status: "running".to_owned(),
            task_status: None,
            stage: Some("implementation".to_owned()),
            branch: "autonomous/0193f2c4-search".to_owned(),
            base: "main".to_owned(),
            commit: None,
            created_at: at(),
            updated_at: at(),
            completed_at: None,
            clarification_count: 0,
            hold: None,
            artifacts: Vec::new(),
            spend: SpendView {
                usd: 0.0123,
                input_tokens: 12_345,
                output_tokens: 950,
                calls: 4,
                inherited_usd: None,
                inherited_calls: None,
                limit_usd: Some(2.0),
                estimate_usd: None,
                unpriced_calls: Some(0),
                children_usd: None,
                reported_usd: None,
            },
            tier: Some("sandboxed".to_owned()),
            failure: None,
            merged: None,
            stages: vec![
                stage("planning", "done", 1),
                stage("implementation", "active", 2),
                stage("validation", "pending", 0),
            ],
            parent: None,
            forked_from: None,
            task: None,
            group: None,
            tasks: Vec::new(),
            groups: Vec::new(),
            overlaps: Vec::new(),
            assumptions: Vec::new(),
            conversation: Vec::new(),
            reflections: Vec::new(),
            goal: None,
            pull_request: None,
            attached: None,
            checkpoints: Vec::new(),
            strangers: Vec::new(),
            direct: Vec::new(),
            programs: Vec::new(),
            version: 17,
        }
    }

    pub(crate) fn code() -> ArtifactView {
        ArtifactView {
            kind: "code".to_owned(),
            stage: "implementation".to_owned(),
            version: 1,
            path: None,
            commit: "c".repeat(40),
            digest: "d2".to_owned(),
            title: "Search".to_owned(),
            files: vec!["Cargo.lock".to_owned()],
            risks: vec![RiskView {
                kind: "dependencies".to_owned(),
                summary: "1 lock file changed".to_owned(),
                paths: vec!["Cargo.lock".to_owned()],
            }],
            created_at: at(),
        }
    }

    pub(crate) fn question() -> HoldView {
        HoldView {
            id: "0193f2c4a1b2c3d4.17".to_owned(),
            run: "0193f2c4a1b2c3d4".to_owned(),
            kind: "clarification".to_owned(),
            stage: Some("implementation".to_owned()),
            since: at(),
            digest: "d1".to_owned(),
            summary: "the agent asks".to_owned(),
            allowed: ["answer", "ignore", "cancel"].map(str::to_owned).to_vec(),
            artifact: None,
            question: Some("Should the search ignore case?".to_owned()),
            context: Some("Both are easy.".to_owned()),
            options: Some(["Ignore case", "Match case"].map(str::to_owned).to_vec()),
            response_type: Some("single_choice".to_owned()),
            attempt_number: Some(1),
            default: Vec::new(),
            reversible: None,
            deadline: None,
            purse: None,
            at_deadline: None,
            asked: Vec::new(),
            task: None,
            strangers: Vec::new(),
            memory: Vec::new(),
            secret: false,
            findings: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::plain;

    #[test]
    fn a_waiting_run_fits_on_one_screen() {
        let run = RunView { hold: Some(sample::question()), ..sample::running() };
        let now = sample::at() + jiff::SignedDuration::from_mins(3);
        let expected = "\
Search over notes

  ● planning ─ ◐ implementation ×2 ─ ○ validation

  run       0193f2c4a1b2c3d4 (autonomous)
  status    running
  project   /home/ada/notes
  branch    autonomous/0193f2c4-search from main
  started   3 min ago
  spend     $0.0123 of $2.00 (12.3k in, 950 out, 4 calls)
  sandbox   sandboxed

  ◆ waits for you (clarification, 3 min ago)
  the agent asks
  decide: holdpoint watch 0193f2c4, or one of answer, ignore, cancel";
        assert_eq!(plain(&show(&run, now, 80)), expected);
    }

    #[test]
    fn tasks_assumptions_and_kin_are_shown() {
        let assumed = AssumptionView {
            number: 1,
            stage: "planning".to_owned(),
            question: "Which colour?".to_owned(),
            answer: vec!["blue".to_owned()],
            overturned: false,
        };
        let run = RunView {
            parent: Some("aaaaaa-000000".to_owned()),
            task: Some("api".to_owned()),
            assumptions: vec![assumed.clone(), AssumptionView { number: 2, overturned: true, ..assumed }],
            ..tasks::sample::delegating()
        };
        let text = plain(&show(&run, sample::at(), 80));
        assert!(text.contains("  part of   aaaaaa, task api\n"), "{text}");
        assert!(text.contains("\n  group 2\n    ◐ api"), "{text}");
        let end = "    1. Which colour? → blue\n  overturn: holdpoint overturn 0193f2c4 NUMBER \"what is right\"";
        assert!(text.ends_with(end), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn an_id_is_shortened_as_its_branch_is() {
        assert_eq!(["jd8m7s-k2x9qa", "0193f2c4a1b2", "a-b", "日本"].map(short), ["jd8m7s", "0193f2c4", "a-b", "日本"]);
    }

    #[test]
    fn the_end_of_a_merged_run_names_commit_and_base() {
        let end = sample::at() + jiff::SignedDuration::from_secs(42);
        let merged = Some("abcdef0123456789".to_owned());
        let run = RunView {
            status: "completed".to_owned(),
            merged: merged.clone(),
            commit: merged,
            completed_at: Some(end),
            ..sample::running()
        };
        assert_eq!(plain(&ending(&run, end)), "completed: abcdef0123 is on main (42 s, $0.0123)");
    }
}
