//! What the calls that end an attempt amount to. Pure.

use drivers::{HandIn, JobKind};

use crate::tools::{BlockTool, Tool};
use crate::turns::Call;

/// The calls of one answer that hand something in, decided.
#[derive(Debug, PartialEq)]
pub(crate) struct Decided<'a> {
    /// Calls that get an error back, with its words.
    pub(crate) refused: Vec<(&'a Call, String)>,
    /// The one call that counts.
    pub(crate) chosen: Option<(&'a Call, HandIn)>,
}

/// Whether the calls of the same answer that do work have worked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Siblings {
    Worked,
    Failed,
}

/// Asking wins over handing in: who still asks is not done. Nothing is handed in next to a call that failed,
/// because the model wrote it without knowing.
pub(crate) fn decide<'a>(kind: JobKind, calls: &'a [Call], siblings: Siblings) -> Decided<'a> {
    let read = |call: &'a Call| match Tool::named(kind, &call.tool) {
        Some(Tool::Block(tool)) => Some((call, tool, tool.hand_in(&call.input))),
        Some(Tool::Work(_) | Tool::Goal(_)) | None => None,
    };
    let read: Vec<_> = calls.iter().filter_map(read).collect();
    let called = |wanted: BlockTool| read.iter().any(|(_, tool, _)| *tool == wanted);
    let first = [BlockTool::AskQuestions, BlockTool::RequestExtension].into_iter().find(|tool| called(*tool));
    let mut decided = Decided { refused: Vec::new(), chosen: None };
    for (call, tool, good) in read {
        match good {
            Err(error) => decided.refused.push((call, error.to_string())),
            Ok(_) if first.is_some_and(|first| tool != first) => {
                decided.refused.push((call, "ask or complete, not both: hand in after the answers".to_owned()));
            }
            Ok(_) if decided.chosen.is_some() => {
                decided.refused.push((call, format!("only one `{}` counts per turn", call.tool)));
            }
            Ok(_) if first.is_none() && siblings == Siblings::Failed => {
                let words = "not handed in: another call of the same turn failed; look at it, then hand in again";
                decided.refused.push((call, words.to_owned()));
            }
            Ok(hand_in) => decided.chosen = Some((call, hand_in)),
        }
    }
    decided
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn call(id: &str, tool: &str, input: Value) -> Call {
        Call { id: id.into(), tool: tool.into(), input, signatures: Vec::new() }
    }

    #[track_caller]
    fn check(calls: &[Call], siblings: Siblings, chosen: Option<&str>, refused: &[(&str, &str)]) {
        let decided = decide(JobKind::Code, calls, siblings);
        assert_eq!(decided.chosen.as_ref().map(|(call, _)| call.id.as_str()), chosen);
        assert_eq!(decided.refused.len(), refused.len(), "{:?}", decided.refused);
        for ((call, said), (id, words)) in decided.refused.iter().zip(refused) {
            assert!(call.id == *id && said.contains(words), "{call:?}: {said}");
        }
    }

    #[test]
    fn questions_win_a_failed_sibling_holds_back_and_only_one_counts() {
        let done = |id| call(id, "complete_pulse", json!({"summary": "s"}));
        let ask = |id| call(id, "ask_questions", json!({"questions": [{"question": "q"}]}));
        let bad_ask = call("x", "ask_questions", json!({"questions": []}));
        let shell = call("s", "shell", json!({"command": "true"}));
        check(&[shell, done("1")], Siblings::Worked, Some("1"), &[]);
        check(&[done("1"), ask("2")], Siblings::Worked, Some("2"), &[("1", "not both")]);
        check(&[done("1"), bad_ask], Siblings::Worked, None, &[("1", "not both"), ("x", "at least 1")]);
        check(&[done("1"), done("2")], Siblings::Worked, Some("1"), &[("2", "only one")]);
        check(&[done("1")], Siblings::Failed, None, &[("1", "another call")]);
        check(&[ask("1")], Siblings::Failed, Some("1"), &[]);
        check(&[ask("1"), ask("2")], Siblings::Worked, Some("1"), &[("2", "only one")]);
        check(&[call("1", "submit_plan", json!({}))], Siblings::Worked, None, &[]);
        let longer = call("t", "request_extension", json!({"minutes": 5, "reason": "r"}));
        check(&[done("1"), longer.clone()], Siblings::Failed, Some("t"), &[("1", "not both")]);
        check(&[longer, ask("1")], Siblings::Worked, Some("1"), &[("t", "not both")]);
    }
}
