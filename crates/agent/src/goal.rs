//! The tools of an agent that pursues a goal: they work on the conversation itself. Each phase and each change of the
//! tasks is said as it happens.

use std::time::{Duration, Instant};

use domain::{GoalPhase, PursuitStep, Reflection};
use drivers::{AgentEvent, HandIn, JobKind};
use serde_json::json;

use crate::AgentError;
use crate::calls::result;
use crate::observations;
use crate::pursuit::Pursuit;
use crate::tools::{GoalTool, ToolError, WorkTool, delegate, observe, plan_tasks, update_task};
use crate::turns::{By, Call};
use crate::work::{Step, Work};

/// Sub-agents of one iteration.
const MOST_DELEGATES: usize = 5;

impl Work<'_> {
    /// Tells where the iteration stands, also what a crash kept from being told.
    pub(crate) fn begin_pursuit(&mut self) -> Result<(), AgentError> {
        if self.job.kind != JobKind::Pursue {
            return Ok(());
        }
        if let Err(error) = observe::begin(&self.desk) {
            self.say(AgentEvent::Trouble { message: error.to_string() })?;
        }
        let stand = Pursuit::of(&self.job, self.conversation.records());
        let known = Pursuit::begin(&self.job).tasks;
        self.tell(&stand.steps_from(None, &known))?;
        self.pursuit = Some(stand);
        Ok(())
    }

    /// Tells what the last results changed.
    pub(crate) fn advance(&mut self) -> Result<(), AgentError> {
        let Some(before) = self.pursuit.take() else { return Ok(()) };
        let stand = Pursuit::of(&self.job, self.conversation.records());
        let steps = stand.steps_from(Some(&before), &before.tasks);
        self.pursuit = Some(stand);
        self.tell(&steps)
    }

    /// The iteration is at another phase before its next result is there.
    fn enter(&mut self, phase: GoalPhase) -> Result<(), AgentError> {
        match &mut self.pursuit {
            Some(stand) if stand.phase != phase => {
                stand.phase = phase;
                self.tell(&[PursuitStep::Phase { phase }])
            }
            Some(_) | None => Ok(()),
        }
    }

    /// A call that changes something is about to run.
    pub(crate) fn begin_acting(&mut self, tool: WorkTool) -> Result<(), AgentError> {
        let acts = self.pursuit.as_ref().is_some_and(|stand| stand.is_acting(tool));
        if acts { self.enter(GoalPhase::Acting) } else { Ok(()) }
    }

    /// Why a call cannot be run before there is a plan.
    pub(crate) fn unplanned(&self, tool: WorkTool) -> Option<String> {
        self.pursuit.as_ref().and_then(|stand| stand.unplanned(tool))
    }

    /// Why what is to be handed in comes back.
    pub(crate) fn not_yet(&self, hand_in: &HandIn) -> Option<String> {
        let HandIn::Reflection(said) = hand_in else { return None };
        let reflection: &Reflection = &said.reflection;
        self.pursuit.as_ref().and_then(|stand| stand.not_yet(reflection))
    }

    /// What is handed in ends the iteration.
    pub(crate) fn begin_reflecting(&mut self, hand_in: &HandIn) -> Result<(), AgentError> {
        if matches!(hand_in, HandIn::Reflection(_)) { self.enter(GoalPhase::Reflecting) } else { Ok(()) }
    }

    fn tell(&mut self, steps: &[PursuitStep]) -> Result<(), AgentError> {
        steps.iter().try_for_each(|step| self.say(AgentEvent::Pursued { step: step.clone() }))
    }

    /// Runs one of the goal's own tools; another step only where the whole attempt ends with it.
    pub(crate) async fn pursue(&mut self, call: &Call, tool: GoalTool) -> Result<Step, AgentError> {
        self.started(call)?;
        let begun = Instant::now();
        let stand = Pursuit::of(&self.job, self.conversation.records());
        let done = match tool {
            GoalTool::PlanTasks => plan_tasks::run(&call.input),
            GoalTool::UpdateTask => update_task::run(&stand.tasks, &call.input),
            GoalTool::Observe => {
                let since = observations::since_last(self.conversation.records(), "observe");
                observe::run(&self.desk, &call.input, stand.observes, &since, &stand.tasks)
            }
            GoalTool::Delegate if stand.delegated >= MOST_DELEGATES => Err(ToolError::Refused(format!(
                "{MOST_DELEGATES} sub-agents worked in this iteration, which is all it has; do the rest yourself"
            ))),
            GoalTool::Delegate if stand.tasks.is_empty() && call.input["kind"] == json!("work") => {
                Err(ToolError::Refused("there is no plan yet: call plan_tasks before others change files".to_owned()))
            }
            GoalTool::Delegate => match delegate::read(&call.input) {
                Err(error) => Err(error),
                Ok(errand) => {
                    if !stand.tasks.is_empty() {
                        self.enter(GoalPhase::Acting)?;
                    }
                    match self.send_out(call, errand).await? {
                        Ok(done) => done,
                        // The models or the money are gone for everybody; the call goes on where it stands.
                        Err(hand_in) => return Ok(Step::HandIn(*hand_in)),
                    }
                }
            },
        };
        let took: Duration = begun.elapsed();
        let settled = match done {
            Ok(output) => result(call, true, output, By::Tool, took),
            Err(error @ ToolError::Refused(_)) => result(call, false, error.to_string(), By::Agent, took),
            Err(error) => result(call, false, error.to_string(), By::Tool, took),
        };
        self.settled(vec![settled])?;
        Ok(Step::GoOn)
    }
}
