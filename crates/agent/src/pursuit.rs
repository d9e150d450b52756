//! Where an iteration towards a goal stands, from its conversation alone: phase, tasks, and what was not looked at yet.
//! Pure: after a restart the same records give the same stand.

use domain::{GoalPhase, GoalTask, GoalTaskStatus, PursuitStep, Reflection};
use drivers::{Job, MCP_PREFIX};

use crate::tools::{GoalTool, Tool, WorkTool, plan_tasks, update_task};
use crate::turns::{By, Call, CallResult, Record};

/// How a reflection begins that contradicts itself and comes back, once.
const CONTRADICTS: &str = "this contradicts itself:";

/// The stand of an iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pursuit {
    pub(crate) phase: GoalPhase,
    pub(crate) tasks: Vec<GoalTask>,
    /// How often was looked.
    pub(crate) observes: usize,
    /// Sub-agents that worked.
    pub(crate) delegated: usize,
    /// Something may have changed since the last look.
    unseen: bool,
    /// A contradiction was pointed out.
    doubted: bool,
}

impl Pursuit {
    /// Before anything was said.
    pub(crate) fn begin(job: &Job) -> Self {
        let tasks = job.iteration.as_ref().map(|iteration| iteration.tasks.clone()).unwrap_or_default();
        Self { phase: GoalPhase::Planning, tasks, observes: 0, delegated: 0, unseen: false, doubted: false }
    }

    pub(crate) fn of(job: &Job, records: &[Record]) -> Self {
        let mut stand = Self::begin(job);
        let mut calls: &[Call] = &[];
        for record in records {
            match record {
                Record::Assistant(answer) => calls = &answer.calls,
                Record::Results(results) => {
                    for result in results {
                        if let Some(call) = calls.iter().find(|call| call.id == result.id) {
                            stand.take(job, call, result);
                        }
                    }
                }
                Record::Opening { .. }
                | Record::Nudge { .. }
                | Record::Begun { .. }
                | Record::Guidance(_)
                | Record::Compacted(_) => {}
            }
        }
        stand
    }

    fn take(&mut self, job: &Job, call: &Call, result: &CallResult) {
        match Tool::named(job, &call.tool) {
            Some(Tool::Goal(tool)) if result.by == By::Tool => self.take_goal(tool, call, result.ok),
            Some(Tool::Work(tool)) if result.by == By::Tool && acts(tool) => self.acted(),
            // What was handed in came back.
            Some(Tool::Block(_)) if call.tool == "reflect" => {
                self.doubted |= result.output.starts_with(CONTRADICTS);
                if result.by == By::Tool {
                    self.phase = GoalPhase::Reflecting;
                }
            }
            // Nobody knows what a server's tool changes.
            None if result.by == By::Tool && call.tool.starts_with(MCP_PREFIX) => self.acted(),
            Some(Tool::Goal(_) | Tool::Work(_) | Tool::Block(_)) | None => {}
        }
    }

    fn take_goal(&mut self, tool: GoalTool, call: &Call, ok: bool) {
        match tool {
            GoalTool::PlanTasks if ok => {
                self.phase = GoalPhase::Planning;
                self.tasks = plan_tasks::tasks(&call.input).unwrap_or_default();
            }
            GoalTool::UpdateTask if ok => {
                if let Ok(task) = update_task::task(&self.tasks, &call.input) {
                    self.put(task);
                }
            }
            GoalTool::Observe if ok => {
                self.phase = GoalPhase::Observing;
                self.observes += 1;
                self.unseen = false;
            }
            GoalTool::Delegate => {
                self.delegated += 1;
                self.acted();
            }
            GoalTool::PlanTasks | GoalTool::UpdateTask | GoalTool::Observe => {}
        }
    }

    fn put(&mut self, task: GoalTask) {
        if let Some(known) = self.tasks.iter_mut().find(|known| known.id == task.id) {
            *known = task;
        }
    }

    fn acted(&mut self) {
        self.unseen = true;
        // Looking around before there is a plan is part of planning.
        if !self.tasks.is_empty() {
            self.phase = GoalPhase::Acting;
        }
    }

    /// Whether a call of this tool is acting, now.
    pub(crate) fn is_acting(&self, tool: WorkTool) -> bool {
        acts(tool) && !self.tasks.is_empty()
    }

    /// Why a file cannot be changed yet.
    pub(crate) fn unplanned(&self, tool: WorkTool) -> Option<String> {
        let writes = matches!(tool, WorkTool::WriteFile | WorkTool::EditFile | WorkTool::MultiEdit);
        (writes && self.tasks.is_empty()).then(|| {
            "there is no plan yet: lay out what is to be done with plan_tasks (one task is enough for a small goal), then \
             change files"
                .to_owned()
        })
    }

    /// Why this cannot be the end of the iteration yet.
    pub(crate) fn not_yet(&self, said: &Reflection) -> Option<String> {
        if self.tasks.is_empty() && !said.requires_user_intervention {
            return Some(
                "there is no plan: call plan_tasks with what the goal needs, then observe, then reflect".into(),
            );
        }
        if self.observes == 0 || self.unseen {
            let since =
                if self.observes == 0 { "in this iteration" } else { "since something was last run or changed" };
            return Some(format!(
                "you have not observed {since}: run what shows whether it works, call observe, look at what it says, \
                 then reflect"
            ));
        }
        let against = self.against(said);
        (said.goal_achieved && !self.doubted && !against.is_empty()).then(|| {
            format!(
                "{CONTRADICTS} you say that the goal is met, but {}. Bring the tasks up to date with update_task, finish \
                 what is open, or set `goal_achieved` to false. If you hand in the same again, a person is asked",
                against.join("; ")
            )
        })
    }

    fn against(&self, said: &Reflection) -> Vec<String> {
        let open = self.tasks.iter().filter(|task| task.status != GoalTaskStatus::Completed);
        let open: Vec<String> = open.map(|task| format!("`{}` ({})", task.id, task.status.word())).collect();
        let mut against = Vec::new();
        if said.progress < 100 {
            against.push(format!("`progress` says {} %", said.progress));
        }
        if !open.is_empty() {
            against.push(format!("these tasks are not completed: {}", open.join(", ")));
        }
        if !said.issues.is_empty() {
            against.push("`issues` names what is in the way".to_owned());
        }
        against
    }

    /// What is to be told to who knows `before`.
    pub(crate) fn steps_from(&self, before: Option<&Self>, known: &[GoalTask]) -> Vec<PursuitStep> {
        let same = |one: &GoalTask, other: &GoalTask| {
            (&one.id, &one.description, &one.parent, &one.dependencies)
                == (&other.id, &other.description, &other.parent, &other.dependencies)
        };
        let tree = self.tasks.len() == known.len() && self.tasks.iter().zip(known).all(|(one, other)| same(one, other));
        let mut steps = Vec::new();
        if before.is_none_or(|before| before.phase != self.phase) {
            steps.push(PursuitStep::Phase { phase: self.phase });
        }
        if tree {
            let changed = self.tasks.iter().filter(|task| !known.contains(task));
            steps.extend(changed.map(|task| PursuitStep::Updated { task: task.clone() }));
        } else if !self.tasks.is_empty() {
            steps.push(PursuitStep::Planned { tasks: self.tasks.clone() });
        }
        steps
    }
}

/// Whether a tool may change what the goal is about.
fn acts(tool: WorkTool) -> bool {
    tool.changes() && tool != WorkTool::TakeNote
}

/// The tasks as a tree, a line each.
pub(crate) fn tree(tasks: &[GoalTask]) -> Vec<String> {
    fn below(tasks: &[GoalTask], parent: Option<&str>, depth: usize, lines: &mut Vec<String>) {
        for task in tasks.iter().filter(|task| task.parent.as_deref() == parent) {
            let after = if task.dependencies.is_empty() {
                String::new()
            } else {
                format!(" (after {})", task.dependencies.join(", "))
            };
            let came = task.error.as_ref().or(task.result.as_ref());
            let came = came.map(|came| format!(": {}", crate::shorten::one_line(came, 200))).unwrap_or_default();
            let (indent, status) = ("  ".repeat(depth), task.status.word());
            lines.push(format!("{indent}- {} [{status}] {}{after}{came}", task.id, task.description));
            below(tasks, Some(&task.id), depth + 1, lines);
        }
    }
    let mut lines = Vec::new();
    below(tasks, None, 0, &mut lines);
    lines
}
