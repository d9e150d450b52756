//! Watches a run until it ends or a person is needed, and asks that person when there is one.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use wire::{AnswerRequest, DecideRequest, EventView, ExitCode, HoldView, RunView};

use crate::{
    ask::{self, Wish},
    change::{self, Of},
    client::Client,
    commands::{draft, edited},
    failure::Failure,
    live::{Feed, Follower, Update},
    report::{self, clean_line, fact, hold, run},
    screen::{Drawing, Screen},
    session::Session,
};

/// A server that dies this often does not get better by starting it again.
const MOST_TAKEOVERS: u32 = 10;

/// Who decides when the run holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decider {
    /// Whoever sits at the keyboard.
    Person,
    /// Nobody here: the command says how to decide and ends.
    Elsewhere,
    /// The first option, always yes.
    Always,
}

impl Decider {
    /// A person if one can see and type, and no program reads along.
    pub(crate) fn present(session: &Session) -> Self {
        if report::person_present() && !session.report.is_json() { Self::Person } else { Self::Elsewhere }
    }
}

/// Watches from an event the caller already told of; gives back the run as it then is.
pub(crate) async fn watch(
    session: &Session,
    client: Client,
    run: RunView,
    told: u64,
    decider: Decider,
) -> Result<RunView, Failure> {
    let feed = Follower::new(Feed::new(client.clone(), run.id.clone(), told));
    let mut watching = Watching {
        session,
        client,
        feed,
        told,
        takeovers: 0,
        screen: Screen::new(session.report),
        run,
        children: BTreeMap::new(),
        decided: Vec::new(),
        drawn: None,
        unseen: None,
        called: None,
        retries: 0,
    };
    if let Some(reason) = watching.client.queued(&watching.run).await {
        watching.screen.line(&format!("queued: {}", clean_line(&reason)));
    }
    let result = Box::pin(watching.until_settled(decider)).await;
    watching.screen.erase();
    result.map(|stopped| match stopped {
        // What a script has to decide on is the child's hold.
        Stopped::AtChild(id) => watching.children.remove(&id).unwrap_or(watching.run),
        Stopped::Here => watching.run,
    })
}

/// Bytes of a diff that are printed with a hold; a longer one is shown when the person asks for it.
const SHORT_DIFF: usize = 8 * 1024;

/// How often a demo tries again what did not work.
const MOST_RETRIES: u32 = 2;

/// Where watching ended.
enum Stopped {
    Here,
    AtChild(String),
}

/// Prints how a watched run ended, and says which number the process ends with.
pub(crate) fn conclude(session: &Session, run: &RunView) -> ExitCode {
    let report = session.report;
    if report.is_json() {
        report.json(run);
    } else {
        match &run.hold {
            Some(held) => report.note(&hold::how_to_decide(held)),
            None => report.data(&run::ending(run, Timestamp::now())),
        }
    }
    ExitCode::of_status(&run.status)
}

/// What a hold shows besides itself; of a change every file, and their text up to about so many bytes.
pub(crate) async fn shown(
    client: &Client,
    run: &RunView,
    held: &HoldView,
    most: usize,
) -> Result<hold::Shown, Failure> {
    if held.kind == "fix" || held.kind == "stuck" {
        let events = client.events(&run.id, 0).await?;
        let proof = events.iter().rev().find(|event| event.kind == "PROOF_RECORDED");
        let failing = proof.map(fact::failing).unwrap_or_default();
        return Ok(if failing.is_empty() { hold::Shown::Nothing } else { hold::Shown::Failing(failing) });
    }
    if let Some(of) = Of::shown_by(held, run) {
        return change::load(client, &run.id, of, most).await.map(|loaded| hold::Shown::Change(Box::new(loaded)));
    }
    let Some(artifact) = &held.artifact else { return Ok(hold::Shown::Nothing) };
    let all = client.artifacts(&run.id).await?;
    match all.iter().position(|other| other.digest == artifact.digest && other.commit == artifact.commit) {
        Some(index) => client.artifact(&run.id, index + 1).await.map(|made| hold::Shown::Document(Box::new(made))),
        None => Ok(hold::Shown::Nothing),
    }
}

/// Sends a decision; an answer goes to its question by id.
pub(crate) async fn send(client: &Client, held: &HoldView, request: DecideRequest) -> Result<RunView, Failure> {
    match request.answer {
        Some(answer) if request.decision == "answer" && held.kind == "clarification" => {
            client.answer(&held.id, &AnswerRequest { answer, digest: Some(request.digest) }).await
        }
        Some(_) | None => client.decide(&held.run, &request).await,
    }
}

struct Watching<'a> {
    session: &'a Session,
    client: Client,
    feed: Follower,
    /// Last event that was told.
    told: u64,
    takeovers: u32,
    screen: Screen,
    run: RunView,
    /// The runs of its tasks, as far as they were told.
    children: BTreeMap<String, RunView>,
    /// Holds that were decided or told here; news of them may still come in.
    decided: Vec<String>,
    /// The hold that was drawn last.
    drawn: Option<String>,
    /// What of its change was not shown.
    unseen: Option<String>,
    /// The hold the terminal was told of last.
    called: Option<String>,
    /// How often something was tried again without a person.
    retries: u32,
}

impl Watching<'_> {
    async fn until_settled(&mut self, decider: Decider) -> Result<Stopped, Failure> {
        let mut tick = tokio::time::interval(Duration::from_millis(200));
        loop {
            if self.is_ended() || self.open_hold().is_some() {
                self.tell_what_led_here().await?;
            }
            if self.is_ended() {
                self.call(&format!("the run is {}", self.run.status));
                return Ok(Stopped::Here);
            }
            if let Some(held) = self.open_hold().or_else(|| self.child_hold())
                && self.called.as_ref() != Some(&held.id)
            {
                self.call(&format!("the run waits for you: {}", held.summary));
                self.called = Some(held.id);
            }
            if let Some(held) = self.open_hold()
                && self.decide(&held, decider).await? == Next::Leave
            {
                return Ok(Stopped::Here);
            }
            if let Some(held) = self.child_hold()
                && self.decide_for_child(&held, decider).await? == Next::Leave
            {
                return Ok(Stopped::AtChild(held.run));
            }
            tokio::select! {
                update = self.feed.next() => match update {
                    Ok(update) => self.take(update),
                    Err(failure) => self.server_gone(failure).await?,
                },
                _ = tick.tick(), if self.screen.drawing() == Drawing::Region => self.screen.draw(&self.run),
            }
        }
    }

    fn call(&self, text: &str) {
        if let Some(attention) = self.session.attention {
            attention.call(self.session.report, text);
        }
    }

    fn is_ended(&self) -> bool {
        matches!(self.run.status.as_str(), "completed" | "failed" | "cancelled")
    }

    fn open_hold(&self) -> Option<HoldView> {
        self.run.hold.clone().filter(|held| !self.decided.contains(&held.id))
    }

    /// A hold of a task's run that was not told yet. Only the newest run of a task counts.
    fn child_hold(&self) -> Option<HoldView> {
        let open = self.run.tasks.iter().filter(|task| task.status == "working").filter_map(|task| task.child.as_ref());
        let held = open.filter_map(|id| self.children.get(id)?.hold.clone());
        held.into_iter().find(|held| !self.decided.contains(&held.id))
    }

    /// Whether every task that is at work waits for a person, so that nothing goes on by itself.
    fn all_children_wait(&self) -> bool {
        let busy = |status: &str| matches!(status, "starting" | "ready" | "merging");
        let mut working = self.run.tasks.iter().filter(|task| task.status == "working");
        let waits = |id: &String| self.children.get(id).is_some_and(|child| child.hold.is_some());
        !self.run.tasks.iter().any(|task| busy(&task.status))
            && working.all(|task| task.child.as_ref().is_some_and(waits))
    }

    /// A task waits for a person while the others go on.
    async fn decide_for_child(&mut self, held: &HoldView, decider: Decider) -> Result<Next, Failure> {
        if decider != Decider::Elsewhere {
            return self.decide(held, decider).await;
        }
        let task = self.run.tasks.iter().find(|task| task.child.as_ref() == Some(&held.run));
        let name = task.map(|task| report::clean_line(&task.id)).unwrap_or_default();
        let (id, summary) = (run::short(&held.run), report::clean_line(&held.summary));
        self.screen.line(&format!("task {name} waits for a person: {summary}; `holdpoint watch {id}`"));
        if self.all_children_wait() {
            return Ok(Next::Leave);
        }
        self.decided.push(held.id.clone());
        Ok(Next::Stay)
    }

    fn take(&mut self, update: Update) {
        match update {
            Update::Run(run) => {
                // Live views may leave the stages out; those known stay until newer ones come.
                let stages = std::mem::take(&mut self.run.stages);
                self.run = *run;
                if self.run.stages.is_empty() {
                    self.run.stages = stages;
                }
            }
            Update::Event(event) => self.tell(&event),
            Update::Child(run) => {
                // An older state would show a hold that is gone.
                let known = self.children.get(&run.id).map_or(0, |known| known.version);
                if run.version >= known {
                    self.screen.child(run.as_ref().clone());
                    self.children.insert(run.id.clone(), *run);
                }
            }
            Update::Activity(of, name, data) => {
                let child = (of != self.run.id).then_some(of.as_str());
                self.screen.activity(child, name, &data);
            }
        }
    }

    fn tell(&mut self, event: &EventView) {
        if event.sequence > self.told {
            self.told = event.sequence;
            self.screen.event(event);
        }
    }

    /// A view may be newer than the events that have come in; what led to it is told first.
    async fn tell_what_led_here(&mut self) -> Result<(), Failure> {
        if self.told < self.run.version {
            for event in self.client.events(&self.run.id, self.told).await? {
                self.tell(&event);
            }
        }
        Ok(())
    }

    /// A killed server loses nothing: another one takes over.
    async fn server_gone(&mut self, failure: Failure) -> Result<(), Failure> {
        if failure.problem.code != "server_unreachable" || self.takeovers == MOST_TAKEOVERS {
            return Err(failure);
        }
        self.takeovers += 1;
        self.screen.line("the server is gone; another one takes over");
        self.client = self.session.connect().await?;
        self.feed = Follower::new(Feed::new(self.client.clone(), self.run.id.clone(), self.told));
        Ok(())
    }

    /// Prints every line of the change that waits.
    async fn show_whole(&mut self, held: &HoldView) -> Result<(), Failure> {
        let run = self.children.get(&held.run).unwrap_or(&self.run);
        let Some(of) = Of::shown_by(held, run) else { return Ok(()) };
        let list = change::files(&self.client, &run.id, of).await?;
        let report = self.session.report;
        let print = |section: change::Section| {
            let file = list.files.get(section.at);
            file.iter().for_each(|file| report.note(&format!("\n{}", report::change::section(file, &section))));
            change::Then::GoOn
        };
        change::each_section(&self.client, &run.id, of, &list, print).await?;
        self.unseen = None;
        Ok(())
    }

    async fn decide(&mut self, held: &HoldView, decider: Decider) -> Result<Next, Failure> {
        if decider == Decider::Elsewhere {
            return Ok(Next::Leave);
        }
        self.screen.erase();
        let run = self.children.get(&held.run).unwrap_or(&self.run);
        // After a refusal its reason stands right above the question.
        if self.drawn.as_ref() != Some(&held.id) {
            let shown = shown(&self.client, run, held, SHORT_DIFF).await?;
            if let hold::Shown::Change(loaded) = &shown
                && loaded.missing().is_empty()
            {
                self.session.report.note(&report::change::sections(loaded));
            }
            self.session.report.note(&hold::draw(held, &shown, Timestamp::now(), report::width()));
            self.drawn = Some(held.id.clone());
            self.unseen = match (&shown, Of::shown_by(held, run)) {
                (hold::Shown::Failing(_) | hold::Shown::Nothing, Some(of)) => {
                    let list = change::files(&self.client, &run.id, of).await?;
                    report::change::unseen(&list.files.iter().collect::<Vec<_>>(), list.files.len(), hold::MOST_NAMED)
                }
                (_, _) => shown.unseen(),
            };
        }
        let wish = match decider {
            Decider::Always => match ask::nobody(held) {
                // What does not work again and again is left for a person to look at.
                Some(request) if request.decision == "retry" && self.retries >= MOST_RETRIES => Wish::Later,
                Some(request) => {
                    self.retries += u32::from(request.decision == "retry");
                    Wish::Decide(request)
                }
                None => Wish::Later,
            },
            Decider::Person | Decider::Elsewhere => {
                let (asked, unseen) = (held.clone(), self.unseen.clone());
                let answer = tokio::task::spawn_blocking(move || ask::person(&asked, unseen.as_deref())).await;
                answer.map_err(|error| Failure::failed("terminal", error.to_string(), "try again"))??
            }
        };
        let request = match wish {
            Wish::Decide(request) => request,
            Wish::Show => {
                self.show_whole(held).await?;
                return Ok(Next::Stay);
            }
            Wish::Edit(request) => match edited(&self.client, held, self.session).await {
                Ok(text) => DecideRequest { text: Some(text), ..request },
                Err(failure) => {
                    self.session.report.failure(&failure);
                    return Ok(Next::Stay);
                }
            },
            // The others go on while a task waits.
            Wish::Later if held.run != self.run.id && !self.all_children_wait() => {
                self.decided.push(held.id.clone());
                return Ok(Next::Stay);
            }
            Wish::Later => return Ok(Next::Leave),
        };
        let sent = match send(&self.client, held, request.clone()).await {
            // A server with nothing to do ends by itself while a person thinks. Sending twice is safe:
            // a decision is bound to its hold and counts once.
            Err(failure) if failure.problem.code == "server_unreachable" => {
                self.server_gone(failure).await?;
                send(&self.client, held, request).await
            }
            sent => sent,
        };
        match sent {
            Ok(_) => {
                draft(held, self.session).drop();
                self.decided.push(held.id.clone());
            }
            Err(failure) if failure.is_conflict() => {
                self.session.report.failure(&failure);
                self.drawn = None;
                let fresh = self.client.run(&held.run).await?;
                if fresh.id == self.run.id {
                    self.run = fresh;
                } else {
                    self.children.insert(fresh.id.clone(), fresh);
                }
            }
            Err(failure) if failure.exit == ExitCode::Usage && decider == Decider::Person => {
                self.session.report.failure(&failure);
            }
            Err(failure) => return Err(failure),
        }
        Ok(Next::Stay)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Stay,
    Leave,
}
