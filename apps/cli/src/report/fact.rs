//! Which events are worth a line while a run is watched, and what that line says. Pure.

use serde_json::Value;
use wire::EventView;

use super::{
    clean_line,
    style::{BAD, BUSY, DIM, GOOD, WAIT},
    words::fit,
};

/// The line of an event; `None` for those that only matter to the engine.
pub(crate) fn line(event: &EventView, width: usize) -> Option<String> {
    let time = event.timestamp.strftime("%H:%M:%S");
    let (mark, colour, said) = fact(event)?;
    let said = fit(&clean_line(&said), width.saturating_sub(14));
    Some(format!("{DIM}{time}{DIM:#} {colour}{mark}{colour:#} {said}"))
}

fn fact(event: &EventView) -> Option<(&'static str, anstyle::Style, String)> {
    let text = |pointer: &str| text_at(&event.payload, pointer);
    let stage = || text("/stage");
    Some(match event.kind.as_str() {
        "RUN_STARTED" => ("▸", BUSY, format!("run started on branch {}", text("/branch"))),
        "RUN_FORKED" => {
            let at = event.payload.pointer("/at").and_then(Value::as_u64).unwrap_or_default();
            let from = super::run::short(&text("/from"));
            ("▸", BUSY, format!("forked from {from} at event {at} by {}", text("/by/name")))
        }
        "FORK_OPENED" => ("✓", GOOD, "the fork has a branch of its own".to_owned()),
        "STAGE_STARTED" => match event.payload.pointer("/visit").and_then(Value::as_u64) {
            Some(visit) if visit > 1 => ("▸", BUSY, format!("{} begins again (visit {visit})", stage())),
            Some(_) | None => ("▸", BUSY, format!("{} begins", stage())),
        },
        "STAGE_COMPLETED" => ("✓", GOOD, format!("{} is done", stage())),
        "ARTIFACT_CREATED" => ("✓", GOOD, artifact(event)),
        "APPROVAL_REQUESTED" | "HOLD_PLACED" => ("◆", WAIT, text("/hold/summary")),
        "CLARIFICATION_REQUESTED" => ("◆", WAIT, format!("question: {}", text("/hold/question/question"))),
        "APPROVAL_GRANTED" => ("✓", GOOD, format!("approved by {}", text("/by/name"))),
        "APPROVAL_REJECTED" => ("↺", WAIT, format!("changes wanted by {}: {}", text("/by/name"), decision_text(event))),
        "CLARIFICATION_ANSWERED" => ("✓", GOOD, format!("answered by {}: {}", text("/by/name"), decision_text(event))),
        "DECISION_MADE" => ("✓", GOOD, format!("{} decided: {}", text("/by/name"), text("/decision/kind"))),
        "CONVERSATION_ADVANCED"
        | "AGENT_ANSWERED"
        | "ASSUMPTION_MADE"
        | "ASSUMPTION_OVERTURNED"
        | "GUIDANCE_GIVEN"
        | "PAUSE_ASKED"
        | "DEADLINE_PASSED"
        | "PULSE_COMPLETED"
        | "REFLECTION_RECORDED"
        | "GOAL_PHASE_ENTERED"
        | "GOAL_TASKS_PLANNED"
        | "GOAL_TASK_UPDATED"
        | "PR_OPENED" => on_the_way(event),
        "TASKS_PLANNED" | "TASK_ADDED" | "CHILD_STARTED" | "CHILD_ENDED" | "CHILD_MERGED" | "CHILD_CONFLICTED"
        | "TASK_RETRIED" | "TASK_FAILED" | "TASK_SKIPPED" | "TASK_STRAYED" => of_tasks(event),
        "AUTO_ADVANCED" => ("✓", GOOD, format!("{} went on by itself: {}", stage(), text("/reason"))),
        "AGENT_CRASHED" => ("✗", BAD, format!("the agent of {} crashed: {}", stage(), text("/reason"))),
        "IMPLEMENTATION_FAILED" => ("✗", BAD, format!("implementation failed: {}", text("/reason"))),
        "PROOF_RECORDED" => proof(event),
        "VALIDATION_PASSED" => ("✓", GOOD, format!("validation passed: {}", text("/review/summary"))),
        "VALIDATION_FAILED" => ("✗", BAD, format!("validation failed: {}", text("/review/summary"))),
        "RUN_TAINTED" => {
            ("!", WAIT, format!("text of strangers was read: {} {}", text("/source/kind"), text("/source/source")))
        }
        "MERGE_FORCED" => ("!", BAD, format!("{} forced the merge of unreviewed work", text("/by/name"))),
        "BRANCH_MERGED" => ("✓", GOOD, format!("merged as {}", fit(&text("/commit"), 11))),
        "BRANCH_PUSHED" => ("✓", GOOD, format!("pushed to {}", text("/remote"))),
        "RUN_COMPLETED" => ("✓", GOOD, "run completed".to_owned()),
        "RUN_FAILED" => ("✗", BAD, format!("run failed: {}", text("/reason"))),
        "RUN_CANCELLED" => ("✗", WAIT, format!("cancelled by {}", text("/by/name"))),
        // Events are open on the wire: a newer server may tell of more.
        _ => return None,
    })
}

type Fact = (&'static str, anstyle::Style, String);

/// What happens between stages and within one.
fn on_the_way(event: &EventView) -> Fact {
    let text = |pointer: &str| text_at(&event.payload, pointer);
    let number = |pointer: &str| event.payload.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
    match event.kind.as_str() {
        "CONVERSATION_ADVANCED" => ("◆", WAIT, format!("turn {}: {}", number("/round"), text("/message"))),
        "AGENT_ANSWERED" => ("✓", GOOD, format!("answered: {}", text("/answer"))),
        "ASSUMPTION_MADE" => {
            let said =
                format!("nobody answered; assumed {}: {}", texts_at(event, "/answer"), text("/question/question"));
            ("!", WAIT, said)
        }
        "ASSUMPTION_OVERTURNED" => {
            let said = format!("{} overturned assumption {}", text("/by/name"), number("/number"));
            ("↺", WAIT, format!("{said}: {}", texts_at(event, "/answer")))
        }
        "GUIDANCE_GIVEN" => ("▸", WAIT, format!("{} told {}: {}", text("/by/name"), text("/stage"), text("/text"))),
        "PAUSE_ASKED" => ("◆", WAIT, format!("{} asked for a pause {}", text("/by/name"), text("/reason"))),
        "DEADLINE_PASSED" => ("!", WAIT, format!("the deadline passed: {}", text("/then").replace('_', " "))),
        "PULSE_COMPLETED" => ("✓", GOOD, format!("task {} of {} is done", number("/pulse"), number("/of"))),
        "REFLECTION_RECORDED" => {
            let (iteration, progress) = (number("/iteration"), number("/reflection/progress"));
            let next = Some(text("/reflection/nextAction")).filter(|next| !next.trim().is_empty());
            let next = next.unwrap_or_else(|| text("/reflection/content"));
            ("▸", BUSY, format!("iteration {iteration}, {progress} %: {next}"))
        }
        "GOAL_PHASE_ENTERED" => ("▸", BUSY, format!("iteration {}: {}", number("/iteration"), text("/phase"))),
        "GOAL_TASKS_PLANNED" => {
            let count = event.payload.pointer("/tasks").and_then(Value::as_array).map_or(0, Vec::len);
            ("✓", GOOD, format!("{count} tasks planned by {}", text("/by")))
        }
        "GOAL_TASK_UPDATED" => {
            let (mark, colour) = match text("/task/status").as_str() {
                "completed" => ("✓", GOOD),
                "failed" => ("✗", BAD),
                _ => ("▸", BUSY),
            };
            let said = format!("task {} is {}", text("/task/id"), text("/task/status"));
            (mark, colour, format!("{said}: {}", text("/task/description")))
        }
        _ => ("✓", GOOD, format!("pull request: {}", text("/url"))),
    }
}

/// What happens to tasks.
fn of_tasks(event: &EventView) -> Fact {
    let text = |pointer: &str| text_at(&event.payload, pointer);
    let task = text("/task");
    let child = || super::run::short(&text("/child"));
    match event.kind.as_str() {
        "TASKS_PLANNED" => {
            let count = event.payload.pointer("/plan/tasks").and_then(Value::as_array).map_or(0, Vec::len);
            ("✓", GOOD, format!("{count} tasks: {}", text("/plan/summary")))
        }
        "TASK_ADDED" => ("▸", BUSY, format!("task {} is added: {}", text("/task/id"), text("/task/title"))),
        "CHILD_STARTED" => ("▸", BUSY, format!("task {task}: run {} begins", child())),
        "CHILD_ENDED" => match text("/ending").as_str() {
            "completed" => ("✓", GOOD, format!("task {task}: run {} is done", child())),
            ending => ("✗", BAD, format!("task {task}: run {} {ending}: {}", child(), text("/problem"))),
        },
        "CHILD_MERGED" => ("✓", GOOD, format!("task {task} is merged")),
        "CHILD_CONFLICTED" => ("✗", WAIT, format!("task {task} conflicts in {}", texts_at(event, "/paths"))),
        "TASK_RETRIED" => ("↺", WAIT, format!("task {task} is tried again: {}", text("/problem"))),
        "TASK_FAILED" => ("✗", BAD, format!("task {task} failed: {}", text("/problem"))),
        "TASK_SKIPPED" => ("✗", WAIT, format!("task {task} is left out: {} is missing", text("/because"))),
        _ => ("!", WAIT, format!("task {task} changed unannounced: {}", texts_at(event, "/files"))),
    }
}

fn texts_at(event: &EventView, pointer: &str) -> String {
    let all = event.payload.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
}

fn artifact(event: &EventView) -> String {
    let kind = event.payload.pointer("/artifact/type").or_else(|| event.payload.pointer("/artifact/kind"));
    let kind = kind.and_then(Value::as_str).unwrap_or("artifact").replace('_', " ");
    format!("{kind}: {}", text_at(&event.payload, "/artifact/title"))
}

fn decision_text(event: &EventView) -> String {
    let decision = event.payload.pointer("/decision").unwrap_or(&Value::Null);
    let said = ["/feedback", "/text"].iter().find_map(|pointer| decision.pointer(pointer).and_then(Value::as_str));
    let chosen = decision.pointer("/answer").and_then(Value::as_array);
    let chosen = chosen.map(|all| all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "));
    said.map(str::to_owned).or(chosen).unwrap_or_else(|| text_at(decision, "/kind"))
}

fn proof(event: &EventView) -> (&'static str, anstyle::Style, String) {
    let checks =
        event.payload.pointer("/proof/checks").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let failed: Vec<String> = failing(event).into_iter().map(|check| check.name).collect();
    if failed.is_empty() {
        ("✓", GOOD, format!("checks passed ({})", checks.len()))
    } else {
        ("✗", BAD, format!("checks failed: {}", failed.join(", ")))
    }
}

/// A check that did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failing {
    pub(crate) name: String,
    pub(crate) tail: String,
}

/// The failing checks of a `PROOF_RECORDED` event.
pub(crate) fn failing(event: &EventView) -> Vec<Failing> {
    let checks =
        event.payload.pointer("/proof/checks").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let failed = checks.iter().filter(|check| check.get("exit").and_then(Value::as_i64) != Some(0));
    failed.map(|check| Failing { name: text_at(check, "/name"), tail: text_at(check, "/tail") }).collect()
}

fn text_at(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{plain, run::sample};
    use serde_json::json;

    #[track_caller]
    fn check(kind: &str, payload: Value, expected: Option<&str>) {
        let run = "r".to_owned();
        let event = EventView { run, sequence: 1, kind: kind.to_owned(), timestamp: sample::at(), payload, task: None };
        assert_eq!(line(&event, 80).map(|line| plain(&line)).as_deref(), expected);
    }

    #[test]
    fn facts_are_told_and_engine_matters_are_not() {
        let by = json!({"name": "ada", "channel": "cli"});
        check("STAGE_STARTED", json!({"stage": "planning", "visit": 1}), Some("20:00:00 ▸ planning begins"));
        let rejected = json!({"by": by, "decision": {"kind": "reject", "feedback": "smaller"}});
        check("APPROVAL_REJECTED", rejected, Some("20:00:00 ↺ changes wanted by ada: smaller"));
        let answered = json!({"by": by, "decision": {"kind": "answer", "answer": ["Ignore case"]}});
        check("CLARIFICATION_ANSWERED", answered, Some("20:00:00 ✓ answered by ada: Ignore case"));
        check("EFFECT_REQUESTED", json!({}), None);
    }

    #[test]
    fn what_happens_to_tasks_is_told_with_the_run_of_the_task() {
        let began = json!({"task": "api", "attempt": 1, "child": "aaaaaa-000000"});
        check("CHILD_STARTED", began, Some("20:00:00 ▸ task api: run aaaaaa begins"));
        let failed = json!({"task": "api", "child": "aaaaaa-000000", "ending": "failed", "problem": "no way"});
        check("CHILD_ENDED", failed, Some("20:00:00 ✗ task api: run aaaaaa failed: no way"));
        let conflicted = json!({"task": "api", "paths": ["a.rs", "b.rs"]});
        check("CHILD_CONFLICTED", conflicted, Some("20:00:00 ✗ task api conflicts in a.rs, b.rs"));
        let assumed = json!({"question": {"question": "Which?"}, "answer": ["red"]});
        check("ASSUMPTION_MADE", assumed, Some("20:00:00 ! nobody answered; assumed red: Which?"));
    }

    #[test]
    fn phases_and_tasks_of_a_goal_are_told() {
        check("GOAL_PHASE_ENTERED", json!({"iteration": 3, "phase": "acting"}), Some("20:00:00 ▸ iteration 3: acting"));
        let planned = json!({"tasks": [{}, {}], "by": "agent"});
        check("GOAL_TASKS_PLANNED", planned, Some("20:00:00 ✓ 2 tasks planned by agent"));
        let failed = json!({"task": {"id": "2", "status": "failed", "description": "mail"}});
        check("GOAL_TASK_UPDATED", failed, Some("20:00:00 ✗ task 2 is failed: mail"));
    }

    #[test]
    fn failed_checks_are_named() {
        let proof = json!({"proof": {"checks": [{"name": "tests", "exit": 1}, {"name": "lint", "exit": 0}]}});
        check("PROOF_RECORDED", proof, Some("20:00:00 ✗ checks failed: tests"));
    }
}
