//! Rules 8 and 10: every loop has a cap, and nobody passes it.

use super::Checker;
use crate::{Recorded, Run, Stage, StageState, Work};

impl Checker {
    pub(super) fn caps(&mut self, recorded: &Recorded) {
        let run = &self.run;
        if run.opened.is_none() {
            return;
        }
        let mut found = Vec::new();
        if run.questions_asked > run.opened().config.max_clarifications {
            found.push((8, "more questions than allowed".to_owned()));
        }
        for (state, stage) in run.stages.iter().zip(&run.opened().playbook.stages) {
            found.extend(passed(run, state, stage).map(|what| (10, format!("`{}` {what}", stage.name))));
        }
        for (rule, message) in found {
            self.broken(recorded, rule, message);
        }
    }
}

impl Checker {
    /// A fix round begins by itself only while there are rounds; after that a person says so.
    pub(super) fn advanced(&mut self, recorded: &Recorded, stage: &str) {
        let index = self.run.opened().playbook.index_of(stage);
        let Some((state, stage)) = index.map(|index| (&self.run.stages[index], self.run.stage(index))) else {
            return self.broken(recorded, 1, format!("there is no stage `{stage}`"));
        };
        let spent = stage.work.rounds().is_some_and(|rounds| state.fails > rounds + state.rounds_granted);
        if spent && state.passed_for.is_none() {
            let message = format!("`{}` failed more often than its rounds", stage.name);
            self.broken(recorded, 10, message);
        }
    }
}

/// Which caps a stage is past.
fn passed<'a>(run: &'a Run, state: &'a StageState, stage: &'a Stage) -> impl Iterator<Item = &'static str> + 'a {
    let iterations =
        matches!(&stage.work, Work::Pursue { iterations } if state.iterations > iterations + state.iterations_granted);
    let talk = matches!(&stage.work, Work::Converse { rounds } if state.turns > most_turns(run, *rounds));
    let pulses = matches!(&stage.work, Work::Produce { pulses: true, .. } if state.pulses > run.pulses());
    let past = [
        (state.crashes > stage.crashes, "crashed more often than its cap"),
        (state.revisions > stage.revisions, "was sent back more often than its cap"),
        (iterations, "went on longer than its iterations"),
        (talk, "talked longer than its rounds"),
        (pulses, "had more pulses than the plan has tasks"),
    ];
    past.into_iter().filter_map(|(past, what)| past.then_some(what))
}

/// Turns of a conversation: its rounds, and one more for each time it began again.
fn most_turns(run: &Run, rounds: u32) -> u32 {
    let again = run.stages.iter().map(|state| state.visits).max().unwrap_or(1).saturating_sub(1);
    run.opened().config.max_clarification_rounds.unwrap_or(rounds).max(1) + again
}
