//! A whole installation from one seed: engines over one store, a world that delays, fails and conflicts, people who
//! decide, power cuts, lost leases, a clock that jumps, a store that refuses. When the faults stop, everything must
//! come to rest, and every rule must hold.
//!
//! Not deterministic is only how the engine's own threads take turns between two steps: each step waits until every
//! effect in the air is one that the world holds, so what a step sees is the same for the same seed in all but rare
//! cases (a second engine may take up an effect a step earlier or later).

mod dice;
mod judge;
mod store;
mod world;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::{Command, Gate, OnFailure, Playbook, Recorded, Run, RunConfig, RunId, Start};
use engine::{Engine, EntryRule, NodeId, Parts, Slots, Store as _};
use jiff::{SignedDuration, Timestamp};

pub use dice::Dice;
pub use judge::Report;
use store::{Line, Mood};
use world::{Hands, World};

use crate::moves::{decide, decisions, outcomes};
use crate::{MemoryStore, agree, samples};

/// How large a simulation is.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Runs that are started.
    pub runs: u64,
    /// Steps with faults.
    pub steps: usize,
    /// Agents and checks at once.
    pub slots: usize,
    /// What goes wrong besides effects and people.
    pub faults: Faults,
}

/// What goes wrong with the installation itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Faults {
    /// Power cuts, time that passes while nothing runs, a full disk.
    Cuts,
    /// Also a clock that jumps under running engines, a second engine, leases that are lost, a store that is busy.
    All,
}

/// Plays one seed; what is wrong is in the report.
#[must_use]
pub fn play(seed: u64, size: Size) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime can be made").block_on(Sim::new(seed, size).play())
}

struct Node {
    number: u32,
    engine: Engine,
    line: Arc<Line>,
}

struct Sim {
    seed: u64,
    size: Size,
    dice: Dice,
    store: Arc<MemoryStore>,
    world: Arc<World>,
    now: Arc<Mutex<Timestamp>>,
    nodes: Vec<Node>,
    started: u32,
    crashes: u32,
}

impl Sim {
    fn new(seed: u64, size: Size) -> Self {
        Self {
            seed,
            size,
            dice: Dice::new(seed),
            store: Arc::new(MemoryStore::default()),
            world: Arc::new(World::default()),
            now: Arc::new(Mutex::new(samples::at(0))),
            nodes: Vec::new(),
            started: 0,
            crashes: 0,
        }
    }

    async fn play(mut self) -> Report {
        self.boot(true);
        for n in 1..=self.size.runs {
            self.begin(n).await;
        }
        for _ in 0..self.size.steps {
            self.idle().await;
            self.step().await;
        }
        self.calm().await;
        let mut wrong = judge::at_rest(&self.runs(), &self.logs());
        self.finish().await;
        wrong.extend(judge::over(&self.runs(), &self.logs()));
        let (asked, repeated) = self.world.counts();
        let runs = self.runs();
        let events = self.logs().values().map(Vec::len).sum();
        for node in &self.nodes {
            node.line.set(Mood::Dead);
            node.engine.stop().await;
        }
        Report { seed: self.seed, runs: runs.len(), events, effects: asked, repeated, crashes: self.crashes, wrong }
    }

    /// Starts another engine on the store.
    fn boot(&mut self, alone: bool) {
        self.started += 1;
        let line = Arc::new(Line::new(Arc::clone(&self.store)));
        let now = Arc::clone(&self.now);
        let parts = Parts {
            store: line.clone(),
            runner: Arc::new(Hands { node: self.started, world: Arc::clone(&self.world) }),
            clock: Arc::new(move || *now.lock().expect("nobody panics with the clock")),
            slots: Slots { heavy: self.size.slots, light: self.size.slots },
            // Runs queue; but however many wait for a person, the others come to an end.
            entry: EntryRule { per_user: u32::try_from(self.size.slots).unwrap_or(u32::MAX), waiting: u32::MAX },
            node: NodeId(format!("node-{}", self.started)),
            sole_process: alone,
        };
        let engine = Engine::start(parts).expect("a store that is well lets an engine start");
        self.nodes.push(Node { number: self.started, engine, line });
    }

    async fn begin(&mut self, n: u64) {
        let names: Vec<&str> = Playbook::built_in_names().collect();
        let name = self.dice.pick(&names).copied().unwrap_or("team");
        let playbook = Playbook::built_in(name).expect("a built-in playbook");
        let start = Start { playbook, ..samples::start(self.config()) };
        let id = RunId::from_bits(self.seed.wrapping_mul(1_000_003).wrapping_add(n));
        let _ = self.nodes[0].engine.submit(id, Command::Start(Box::new(start)), None).await;
    }

    fn config(&mut self) -> RunConfig {
        let mut config = samples::config();
        let gate = |dice: &mut Dice| if dice.percent(70) { Gate::Auto } else { Gate::Manual };
        config.trust.planning = gate(&mut self.dice);
        config.trust.implementation = gate(&mut self.dice);
        config.trust.fixes = gate(&mut self.dice);
        config.skip_clarification = self.dice.percent(40);
        config.git.auto_merge = self.dice.percent(60);
        config.git.push = self.dice.percent(30);
        config.git.review = self.dice.percent(30);
        let policies = [OnFailure::Retry, OnFailure::Continue, OnFailure::Stop];
        config.on_failure = self.dice.pick(&policies).copied();
        if self.dice.percent(30) {
            config.budget = Some(domain::Micros(2000));
        }
        if self.dice.percent(30) {
            config.checks.clear();
        }
        if self.dice.percent(20) {
            config.from = vec![samples::brought()];
        }
        config
    }

    /// Lets the engines work until every effect in the air is one that the world holds.
    async fn idle(&self) {
        self.settle().await;
        // Long enough for the engine's own clocks: leases are renewed, due timers fire.
        tokio::time::sleep(Duration::from_secs(31)).await;
        self.settle().await;
    }

    async fn settle(&self) {
        let unwell = self.nodes.iter().any(|node| node.line.mood() != Mood::Well);
        for _ in 0..if unwell { 3 } else { 40 } {
            let mut quiet = true;
            for node in &self.nodes {
                // Refused, but only after all that was asked before it.
                let nobody = RunId::from_bits(u64::MAX);
                let cancel = Command::Cancel { by: samples::actor("bob"), reason: None };
                let _ = node.engine.submit(nobody, cancel, None).await;
                quiet &= node.engine.busy() == self.world.waiting(node.number);
            }
            if quiet {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1100)).await;
        }
    }

    async fn step(&mut self) {
        let all = self.size.faults == Faults::All;
        match self.dice.below(100) {
            0..50 => self.end_one(),
            50..78 => self.person().await,
            78..82 if all => self.jump(),
            82..86 if all => self.second(),
            86..89 if all => drop(self.store.release_all_leases()),
            89..93 => self.mood(),
            78..86 => {
                // Time passes while nothing runs.
                let node = self.cut().await;
                self.jump();
                self.world.forget(node);
                self.boot(true);
            }
            _ => self.crash().await,
        }
    }

    /// One effect ends: well more often than not.
    fn end_one(&mut self) {
        let waiting = self.world.all();
        let Some(key) = self.dice.pick(&waiting).cloned() else { return };
        let (well, which) = (self.dice.percent(70), self.dice.below(1000));
        self.world.end(&key, |run, number, effect| {
            let mut all = outcomes(run, number, effect);
            if well { all.swap_remove(0) } else { all.swap_remove(which % all.len()) }
        });
    }

    /// A person decides, pauses, corrects or cancels.
    async fn person(&mut self) {
        let runs = self.runs();
        let open: Vec<&Run> = runs.values().filter(|run| !run.is_ended()).collect();
        let held: Vec<&&Run> = open.iter().filter(|run| run.hold().is_some()).collect();
        let by = samples::actor("ada");
        let (id, command) = if let Some(run) = self.dice.pick(&held) {
            let all = decisions(run);
            let last = if self.dice.percent(3) { all.len() } else { all.len().saturating_sub(1).max(1) };
            let Some(decision) = all.get(self.dice.below(last)) else { return };
            (run.id.clone(), decide(run, decision.clone()))
        } else if let Some(run) = self.dice.pick(&open) {
            let assumed = run.assumptions.iter().find(|known| !known.overturned);
            let command = match (self.dice.below(20), assumed) {
                (0, _) => Command::Cancel { by, reason: None },
                (1..6, _) => Command::Pause { by, reason: None },
                (_, Some(assumed)) => {
                    Command::Overturn { assumption: assumed.number, answer: vec!["the other".to_owned()], by }
                }
                (_, None) => return,
            };
            (run.id.clone(), command)
        } else {
            return;
        };
        let at = self.dice.below(self.nodes.len());
        let _ = self.nodes[at].engine.submit(id, command, None).await;
    }

    fn jump(&mut self) {
        let minutes = [-30, 1, 1, 40, 40, 200][self.dice.below(6)];
        self.advance(SignedDuration::from_mins(minutes));
    }

    fn advance(&self, by: SignedDuration) {
        let mut now = self.now.lock().expect("nobody panics with the clock");
        *now = now.saturating_add(by).unwrap_or(*now);
    }

    /// The power is cut in the middle of whatever it does; another engine goes on, or a new one begins.
    async fn crash(&mut self) {
        let node = self.cut().await;
        self.world.forget(node);
        if self.nodes.is_empty() {
            self.boot(true);
        }
    }

    async fn cut(&mut self) -> u32 {
        let node = self.nodes.remove(self.dice.below(self.nodes.len()));
        node.line.set(Mood::Dead);
        node.engine.stop().await;
        self.crashes += 1;
        node.number
    }

    fn second(&mut self) {
        if self.nodes.len() < 2 {
            self.boot(false);
        }
    }

    fn mood(&mut self) {
        let busy = if self.size.faults == Faults::All { Mood::Busy } else { Mood::Full };
        let mood = [busy, Mood::Full, Mood::Well, Mood::Well][self.dice.below(4)];
        let at = self.dice.below(self.nodes.len());
        self.nodes[at].line.set(mood);
    }

    /// No more faults: one engine, a store that is well, effects that end well, nobody who decides.
    async fn calm(&mut self) {
        while self.nodes.len() > 1 {
            self.crash().await;
        }
        self.nodes[0].line.set(Mood::Well);
        // What a dead engine held is given on when its lease has run out, however far the clock had jumped back.
        if self.size.faults == Faults::All {
            self.advance(SignedDuration::from_hours(48));
        }
        for _ in 0..400 {
            self.idle().await;
            let waiting = self.world.all();
            if waiting.is_empty() && self.store.outbox(None).is_ok_and(|open| open.is_empty()) {
                return;
            }
            for key in waiting {
                self.world.end(&key, agree);
            }
        }
    }

    /// People say yes where they can until all is over; what cannot end so is cancelled.
    async fn finish(&mut self) {
        for round in 0..60 {
            let runs = self.runs();
            let held: Vec<&Run> = runs.values().filter(|run| run.hold().is_some()).collect();
            for run in &held {
                if let Some(decision) = decisions(run).into_iter().next() {
                    let _ = self.nodes[0].engine.submit(run.id.clone(), decide(run, decision), None).await;
                }
            }
            if round >= 40 {
                for run in runs.values().filter(|run| !run.is_ended() && run.opened().parent.is_none()) {
                    let cancel = Command::Cancel { by: samples::actor("ada"), reason: None };
                    let _ = self.nodes[0].engine.submit(run.id.clone(), cancel, None).await;
                }
            }
            self.calm().await;
            if runs.values().all(Run::is_ended) {
                return;
            }
        }
    }

    fn logs(&self) -> BTreeMap<RunId, Vec<Recorded>> {
        let mut logs: BTreeMap<RunId, Vec<Recorded>> = BTreeMap::new();
        for item in self.store.feed(0, usize::MAX).unwrap_or_default() {
            logs.entry(item.run).or_default().push(item.recorded);
        }
        logs
    }

    fn runs(&self) -> BTreeMap<RunId, Run> {
        self.logs().into_iter().map(|(id, log)| (id.clone(), domain::replay(id, log))).collect()
    }
}
