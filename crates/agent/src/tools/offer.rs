//! Which tools a job has: a total function of its kind. Pure.

use drivers::{Job, JobKind};

use super::{BlockTool, GoalTool, Tool, WorkTool};

const READING: &[WorkTool] = &[
    WorkTool::ReadFile,
    WorkTool::ListDirectory,
    WorkTool::GlobSearch,
    WorkTool::Grep,
    WorkTool::SemanticSearch,
    WorkTool::TakeNote,
];
const WRITING: &[WorkTool] = &[WorkTool::WriteFile, WorkTool::EditFile, WorkTool::MultiEdit, WorkTool::Shell];
/// What looks at a change that is there.
const LOOKING: &[WorkTool] = &[WorkTool::GetDiff, WorkTool::GetScopeCard];
const JUDGING: &[WorkTool] = &[
    WorkTool::GetDiff,
    WorkTool::GetScopeCard,
    WorkTool::AddLineComment,
    WorkTool::AddFileComment,
    WorkTool::AddReviewComment,
];
const PURSUING: &[GoalTool] = &[GoalTool::PlanTasks, GoalTool::UpdateTask, GoalTool::Observe, GoalTool::Delegate];
const ASKING: &[BlockTool] = &[BlockTool::AskQuestions, BlockTool::RequestExtension];

/// What decides which tools a model is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offer {
    kind: JobKind,
    web: Web,
}

/// Whether there is a way to the web.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Web {
    Offered,
    Off,
}

impl From<JobKind> for Offer {
    fn from(kind: JobKind) -> Self {
        Self { kind, web: Web::Off }
    }
}

impl From<&Job> for Offer {
    fn from(job: &Job) -> Self {
        Self { kind: job.kind, web: if job.web_search { Web::Offered } else { Web::Off } }
    }
}

impl Offer {
    /// Only who is to change the code gets tools that write; who judges or answers may not ask.
    pub(super) fn tools(self) -> Vec<Tool> {
        let last: &[BlockTool] = match self.kind {
            JobKind::Spec => &[BlockTool::SubmitPlan],
            JobKind::Tasks => &[BlockTool::SubmitTasks],
            JobKind::Scope => &[BlockTool::SubmitScope],
            JobKind::Research => &[BlockTool::SubmitResearch],
            JobKind::Code => &[BlockTool::CompletePulse],
            JobKind::Handoff => &[BlockTool::CompleteHandoff],
            JobKind::Lead => &[BlockTool::SubmitTasks, BlockTool::CompleteHandoff],
            JobKind::Review => &[BlockTool::CompleteReview],
            JobKind::Converse => &[BlockTool::Clarify],
            JobKind::Answer | JobKind::Discuss => &[BlockTool::Reply],
            JobKind::Pursue => &[BlockTool::Reflect],
        };
        let (own, asking): (&[WorkTool], &[BlockTool]) = match self.kind {
            JobKind::Code | JobKind::Handoff | JobKind::Lead | JobKind::Pursue => (WRITING, ASKING),
            JobKind::Spec | JobKind::Tasks | JobKind::Scope | JobKind::Research | JobKind::Converse => (&[], ASKING),
            JobKind::Review => (JUDGING, &[]),
            JobKind::Answer => (LOOKING, &[]),
            JobKind::Discuss => (&[], &[]),
        };
        let web: &[WorkTool] = match self.web {
            Web::Offered => &[WorkTool::WebCodeSearch],
            Web::Off => &[],
        };
        let work = READING.iter().chain(web).chain(own).copied().map(Tool::Work);
        let goal: &[GoalTool] = if self.kind == JobKind::Pursue { PURSUING } else { &[] };
        let work = work.chain(goal.iter().copied().map(Tool::Goal));
        work.chain(asking.iter().chain(last).copied().map(Tool::Block)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Definition;
    use super::*;

    #[test]
    fn only_who_changes_the_code_can_write_and_judges_cannot_ask() {
        let has = |kind, name: &str| Tool::named(kind, name).is_some();
        for kind in JobKind::ALL {
            let writes = matches!(kind, JobKind::Code | JobKind::Handoff | JobKind::Lead | JobKind::Pursue);
            for name in ["write_file", "edit_file", "multi_edit", "shell"] {
                assert_eq!(has(kind, name), writes, "{kind:?} {name}");
            }
            let asks = !matches!(kind, JobKind::Review | JobKind::Answer | JobKind::Discuss);
            for name in ["ask_questions", "request_extension"] {
                assert_eq!(has(kind, name), asks, "{kind:?} {name}");
            }
            for name in ["add_line_comment", "add_file_comment", "add_review_comment"] {
                assert_eq!(has(kind, name), kind == JobKind::Review, "{kind:?} {name}");
            }
            for name in ["read_file", "grep", "semantic_search", "take_note"] {
                assert!(has(kind, name), "{kind:?} {name}");
            }
        }
    }

    #[test]
    fn every_job_has_its_ways_to_hand_in_and_no_name_twice() {
        for (kind, wanted) in [
            (JobKind::Spec, &["submit_plan"][..]),
            (JobKind::Tasks, &["submit_plan"][..]),
            (JobKind::Scope, &["submit_scope"][..]),
            (JobKind::Research, &["submit_research"][..]),
            (JobKind::Code, &["complete_pulse"][..]),
            (JobKind::Handoff, &["complete_pulse"][..]),
            (JobKind::Lead, &["submit_plan", "complete_pulse"]),
            (JobKind::Review, &["complete_review"][..]),
            (JobKind::Converse, &["clarify"][..]),
            (JobKind::Answer, &["reply"][..]),
            (JobKind::Discuss, &["reply"]),
            (JobKind::Pursue, &["reflect"][..]),
        ] {
            let tools = Tool::of(kind);
            let hand_in = |tool: &&Tool| matches!(tool, Tool::Block(block) if !ASKING.contains(block));
            let names: Vec<&str> = tools.iter().filter(hand_in).map(|tool| tool.definition().name).collect();
            assert_eq!(names, wanted, "{kind:?}");
            let all: std::collections::BTreeSet<&str> = tools.iter().map(|tool| tool.definition().name).collect();
            assert_eq!(all.len(), tools.len(), "{kind:?}");
        }
    }

    #[test]
    fn every_schema_is_a_closed_object_whose_required_fields_exist() {
        for kind in JobKind::ALL {
            for tool in Tool::of(kind) {
                let Definition { name, description, schema } = tool.definition();
                assert!(description.len() > 40, "{name}");
                assert_eq!(schema["type"], "object", "{name}");
                assert_eq!(schema["additionalProperties"], false, "{name}");
                for field in schema["required"].as_array().into_iter().flatten() {
                    assert!(schema["properties"][field.as_str().unwrap()].is_object(), "{name}: {field}");
                }
            }
        }
    }
}
