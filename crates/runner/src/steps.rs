//! An agent's steps towards a goal, on their way from its output into the run's log. Each is numbered by its place in
//! the output, so that whoever reads the output again tells nothing twice.

use domain::{PursuitReport, PursuitStep};
use engine::Job;

use crate::rounds::clip;

/// Bytes of a task's description in a line for people.
const SHOWN: usize = 120;

/// Steps that were read, and how many of them were told.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    read: Vec<PursuitStep>,
    told: u32,
}

impl Steps {
    pub(crate) fn add(&mut self, steps: Vec<PursuitStep>) {
        self.read.extend(steps);
    }

    /// Tells what was read and not told; when this returns, it is stored or refused.
    pub(crate) async fn tell(&mut self, job: &Job) {
        for step in std::mem::take(&mut self.read) {
            self.told += 1;
            job.pursuit.report(PursuitReport { effect: job.id.number, number: self.told, step }).await;
        }
    }
}

/// For the conversation's log.
pub(crate) fn words(step: &PursuitStep) -> String {
    match step {
        PursuitStep::Phase { phase } => format!("phase: {}", phase.word()),
        PursuitStep::Planned { tasks } => format!("the goal has {} tasks", tasks.len()),
        PursuitStep::Updated { task } => {
            format!("task {} is {}: {}", task.id, task.status.word(), clip(&task.description, SHOWN))
        }
    }
}
