//! A playbook as a Mermaid state diagram: stages, gates, loops with their caps, and what happens when these are spent.
//! Draws what a playbook says, not what a run did.

use std::fmt::Write as _;

use super::words::counted;
use super::{Playbook, Stage, StageGate, WhenStuck, Work};

impl Playbook {
    /// The source of its diagram.
    #[must_use]
    pub fn mermaid(&self) -> String {
        let mut sketch = Sketch::default();
        for stage in &self.stages {
            sketch.state("s", stage, &format!("{} · {}", stage.name, doing(&stage.work)));
        }
        sketch.arrow("[*]", &id("s", &self.stages[0].name), "");
        for (index, stage) in self.stages.iter().enumerate() {
            let next = self.stages.get(index + 1).map_or("finish".to_owned(), |next| id("s", &next.name));
            forward(&mut sketch, stage, &next);
            back(&mut sketch, stage, &next, self.when_stuck);
        }
        sketch.arrow("finish", "[*]", "");
        sketch.finish()
    }
}

/// Through the gate to the next stage.
fn forward(sketch: &mut Sketch, stage: &Stage, next: &str) {
    let from = id("s", &stage.name);
    let done = match &stage.work {
        Work::Judge { .. } | Work::Prove { .. } => "PASS",
        Work::Converse { .. } => "confirmed",
        Work::Delegate { .. } => "all merged",
        Work::Pursue { .. } => "goal met",
        Work::Produce { .. } => "",
    };
    let (title, yes) = match stage.gate {
        StageGate::Auto => return sketch.arrow(&from, next, done),
        StageGate::Manual => ("approval", "approve"),
        StageGate::Review => ("review", "approve or open a pull request"),
        StageGate::Trust(_) => ("gate", "auto or approve"),
    };
    let gate = id("g", &stage.name);
    let by = if let StageGate::Trust(_) = stage.gate { format!("{} {title}", stage.gate) } else { title.to_owned() };
    sketch.state("g", stage, &by);
    sketch.arrow(&from, &gate, done);
    sketch.arrow(&gate, next, yes);
    if stage.revisions > 0 {
        let target = id("s", stage.work.on_fail().unwrap_or(&stage.name));
        sketch.arrow(&gate, &target, &format!("send back, {}", counted(stage.revisions, "time")));
    }
}

/// From a FAIL to the stage that mends it, and on when the rounds are spent.
fn back(sketch: &mut Sketch, stage: &Stage, next: &str, when_stuck: WhenStuck) {
    let (Work::Judge { on_fail, fix_gate, rounds, .. } | Work::Prove { on_fail, fix_gate, rounds }) = &stage.work
    else {
        return;
    };
    let (from, target, hold) = (id("s", &stage.name), id("s", on_fail), id("f", &stage.name));
    let cap = counted(*rounds, "round");
    if *fix_gate != StageGate::Manual {
        let label = match fix_gate {
            StageGate::Auto => format!("FAIL, {cap}"),
            StageGate::Trust(_) | StageGate::Manual | StageGate::Review => format!("FAIL by {fix_gate}, {cap}"),
        };
        sketch.arrow(&from, &target, &label);
    }
    if when_stuck == WhenStuck::Fail && *fix_gate == StageGate::Auto {
        return sketch.arrow(&from, "failed", "rounds spent");
    }
    sketch.state("f", stage, "fix hold");
    let reviewed = stage.gate == StageGate::Review;
    let why = match (fix_gate, reviewed) {
        (StageGate::Manual, _) => "FAIL",
        (StageGate::Auto | StageGate::Trust(_) | StageGate::Review, true) => "rounds spent",
        (StageGate::Auto | StageGate::Trust(_) | StageGate::Review, false) => "major or rounds spent",
    };
    sketch.arrow(&from, &hold, why);
    sketch.arrow(&hold, &target, "retry");
    if reviewed {
        sketch.arrow(&hold, &from, "look again");
    } else {
        sketch.arrow(&hold, next, "accept anyway");
    }
}

fn doing(work: &Work) -> String {
    match work {
        Work::Produce { artifact, pulses, .. } => {
            format!("produce {}{}", artifact.word(), if *pulses { " in pulses" } else { "" })
        }
        Work::Delegate { playbook, agents, .. } => {
            format!("delegate to {playbook}, {} at once", counted(*agents, "agent"))
        }
        Work::Pursue { iterations } => format!("pursue, {}", counted(*iterations, "iteration")),
        Work::Converse { rounds } => format!("converse, {}", counted(*rounds, "turn")),
        Work::Judge { prove: true, .. } => "prove and judge".to_owned(),
        Work::Judge { .. } | Work::Prove { .. } => work.word().to_owned(),
    }
}

/// Mermaid's ids take no dash, and some words mean something to it.
fn id(kind: &str, stage: &str) -> String {
    format!("{kind}_{}", stage.replace('-', "_"))
}

#[derive(Default)]
struct Sketch {
    states: String,
    arrows: String,
}

impl Sketch {
    fn state(&mut self, kind: &str, stage: &Stage, label: &str) {
        let id = id(kind, &stage.name);
        writeln!(self.states, "    state \"{label}\" as {id}").expect("a string takes what is written");
    }

    fn arrow(&mut self, from: &str, to: &str, label: &str) {
        let label = if label.is_empty() { String::new() } else { format!(" : {label}") };
        writeln!(self.arrows, "    {from} --> {to}{label}").expect("a string takes what is written");
    }

    fn finish(mut self) -> String {
        if self.arrows.contains("--> failed") {
            self.arrows.push_str("    failed --> [*]\n");
        }
        format!("stateDiagram-v2\n{}{}", self.states, self.arrows)
    }
}
