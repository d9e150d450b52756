//! What an agent is told: its job, put together from the run's log and what the run has committed. Decides nothing.

use std::collections::BTreeMap;
use std::path::Path;

use domain::{
    AgentTask, Artifact, ArtifactKind, Note, NoteKind, Purpose, Run, SENT_BACK_FOR_SECRETS, Task, TaskStatus, Work,
};
use drivers::{IterationJob, Job as AgentJob, JobKind, PastAnswer, Permission, PulseJob};
use engine::Job;

use crate::dir_fd::Dir;
use crate::git::CappedDiff;
use crate::goal;
use crate::laid;
use crate::observations;
use crate::past;
use crate::paths::Paths;
use crate::record;
use crate::report;
use crate::repos::{Repos, to_git, wished_at};
use crate::roles;
use crate::rounds::{clip, shorten};
use crate::trouble::Trouble;

const REFUSAL_FILE: &str = "refusal.txt";
/// One for each time the conversation was paused for more time, named by the attempt that asked.
const EXTENSION_PREFIX: &str = "extension-";
const MAX_DIFF: u64 = 200 * 1024;
/// What `get_diff` can reach.
const MAX_DIFF_FILE: u64 = 16 * 1024 * 1024;
/// Bytes of one document.
const MAX_TEXT: usize = 128 * 1024;
/// Bytes of a plan whose tasks are written out.
const MAX_PLAN: usize = 64 * 1024;
const MAX_TURNS: u32 = 150;
const MAX_LINES: usize = 40;

/// Keeps for the conversation's next process why its work was refused.
pub(crate) fn note_refusal(session: &Path, reason: &str) -> Result<(), Trouble> {
    laid::put(session, REFUSAL_FILE, reason.as_bytes())
}

/// Why the work of the conversation was refused last, if it was.
pub(crate) fn refusal(session: &Path) -> Option<String> {
    laid::text(session, REFUSAL_FILE)
}

/// The same, where a person may have sent it back for the secrets in it.
pub(crate) fn refusal_of(paths: &Paths, run: &Run, task: &AgentTask) -> Option<String> {
    let said = run.notes.iter().rev().find(|note| note.stage == task.stage);
    let sent_back = said.filter(|note| note.kind == NoteKind::Feedback && note.text.starts_with(SENT_BACK_FOR_SECRETS));
    sent_back.map(|note| note.text.clone()).or_else(|| refusal(&paths.session(&run.id, &task.session)))
}

/// Keeps for the conversation's next process that it is only begun because the time asked for was granted.
pub(crate) fn note_extension(session: &Path, attempt: u32) -> Result<(), Trouble> {
    laid::put(session, &extension_file(attempt), b"")
}

pub(crate) fn extension_file(attempt: u32) -> String {
    format!("{EXTENSION_PREFIX}{attempt}")
}

/// What an agent's attempt is for.
pub(crate) fn kind_of(run: &Run, task: &AgentTask) -> Result<JobKind, Trouble> {
    if matches!(task.purpose, Purpose::Answer { .. }) {
        return Ok(JobKind::Answer);
    }
    let strange = |work: &str| Trouble::new(format!("no agent of ours works at `{work}` (stage `{}`)", task.stage));
    match work_of(run, task)? {
        Work::Converse { .. } => Ok(JobKind::Converse),
        Work::Produce { may_delegate: true, .. } => Ok(JobKind::Lead),
        Work::Produce { artifact, .. } => match artifact {
            ArtifactKind::Scope => Ok(JobKind::Scope),
            ArtifactKind::Research => Ok(JobKind::Research),
            ArtifactKind::Plan => Ok(JobKind::Tasks),
            ArtifactKind::Spec => Ok(JobKind::Spec),
            ArtifactKind::Code => Ok(JobKind::Code),
            ArtifactKind::Handoff => Ok(JobKind::Handoff),
            ArtifactKind::Requirement | ArtifactKind::ValidationReport => Err(strange(artifact.word())),
        },
        Work::Judge { .. } => Ok(JobKind::Review),
        Work::Pursue { .. } => Ok(JobKind::Pursue),
        work @ (Work::Prove { .. } | Work::Delegate { .. }) => Err(strange(work.word())),
    }
}

fn work_of<'run>(run: &'run Run, task: &AgentTask) -> Result<&'run Work, Trouble> {
    let index = run.opened().playbook.index_of(&task.stage);
    let index = index.ok_or_else(|| Trouble::new(format!("the playbook has no stage `{}`", task.stage)))?;
    Ok(&run.stage(index).work)
}

pub(crate) fn describe(paths: &Paths, repos: &Repos, job: &Job, task: &AgentTask) -> Result<AgentJob, Trouble> {
    let run = &*job.run;
    let session = paths.session(&job.id.run, &task.session);
    let desk = Desk { repos, run, task, kind: kind_of(run, task)?, own: work_of(run, task)?.artifact() };
    let model = run.model(&task.session.role).map(ToString::to_string);
    let previous = desk.previous()?;
    Ok(AgentJob {
        run: run.id.to_string(),
        role: task.session.role.clone(),
        kind: desk.kind,
        program: run.program(&task.session.role),
        model: match model {
            // A program with its own login may choose for itself.
            None if run.is_direct(&task.session.role) => String::new(),
            model => {
                model.ok_or_else(|| Trouble::new(format!("no model is set for the role `{}`", task.session.role)))?
            }
        },
        fallbacks: run.fallbacks(&task.session.role).iter().map(ToString::to_string).collect(),
        // Known to whoever knows the providers.
        doors: BTreeMap::new(),
        workspace: paths.workspace(&run.id).display().to_string(),
        request: run.wanted(),
        requirement: desk.given(ArtifactKind::Requirement)?,
        conversation: conversation(run, desk.kind),
        scope: desk.given(ArtifactKind::Scope)?,
        research: desk.given(ArtifactKind::Research)?,
        spec: desk.given(ArtifactKind::Spec)?,
        plan: desk.plan(),
        pulse: desk.pulse(),
        iteration: desk.iteration(paths),
        question: match &task.purpose {
            Purpose::Answer { question } => Some(question.clone()),
            Purpose::Stage | Purpose::Pulse { .. } | Purpose::Iterate { .. } | Purpose::Sit => None,
        },
        memory: desk.memory()?,
        past: desk.past()?,
        tried: desk.tried(previous.is_some()),
        notes: desk.notes(),
        own_notes: laid::notes_of_earlier(paths, &run.id, &task.session),
        previous,
        diff: desk.diff()?,
        proof: run.proof.as_ref().filter(|_| desk.kind == JobKind::Review).map(report::proof_text),
        answers: answers(run, task),
        refusal: refusal_of(paths, run, task),
        extensions: extensions(&session, task.session.attempt),
        minutes: minutes(job, task),
        max_turns: MAX_TURNS,
        web_search: false,
        embeddings: None,
        mcp: Vec::new(),
        context_tokens: None,
        // Known to whoever knows what the run has read.
        reach: domain::Reach::Whole,
        strangers: Vec::new(),
        strangers_texts: Vec::new(),
        strange_tools: Vec::new(),
        secret_tools: Vec::new(),
        way: drivers::Way::Broker,
        permissions: permissions(run),
        settings: roles::settings(paths, repos, run, &task.session.role)?,
        skills: roles::skills(repos, run, task)?,
        protected: run.opened().config.risk.protected.clone(),
    })
}

/// The change that is judged, as far as a file may hold it.
pub(crate) fn whole_diff(repos: &Repos, job: &Job, task: &AgentTask) -> Result<Option<String>, Trouble> {
    let run = &*job.run;
    let desk = Desk { repos, run, task, kind: kind_of(run, task)?, own: work_of(run, task)?.artifact() };
    Ok(desk.diff_up_to(MAX_DIFF_FILE)?.map(|diff| match diff {
        CappedDiff::Whole(text) => text,
        CappedDiff::CutOff(text) => format!("{text}\n[the diff goes on; read the files]\n"),
    }))
}

/// Everything that is known when an attempt is prepared.
struct Desk<'a> {
    repos: &'a Repos,
    run: &'a Run,
    task: &'a AgentTask,
    kind: JobKind,
    /// What the stage itself makes.
    own: Option<ArtifactKind>,
}

impl Desk<'_> {
    /// The newest document of a kind, for those who work from it and not on it.
    fn given(&self, kind: ArtifactKind) -> Result<Option<String>, Trouble> {
        match self.run.latest(kind).filter(|_| self.own != Some(kind)) {
            Some(artifact) => self.text_of(artifact),
            None => Ok(None),
        }
    }

    fn text_of(&self, artifact: &Artifact) -> Result<Option<String>, Trouble> {
        let Some(path) = &artifact.path else { return Ok(None) };
        let bytes = self.repos.private.read_file(&to_git(&artifact.commit)?, path)?;
        Ok(bytes.map(|bytes| clip(&String::from_utf8_lossy(&bytes), MAX_TEXT)))
    }

    /// What the stage made last. Code stands in the workspace; an earlier verdict would only lead a judge.
    fn previous(&self) -> Result<Option<String>, Trouble> {
        let silent = match self.kind {
            JobKind::Code
            | JobKind::Handoff
            | JobKind::Lead
            | JobKind::Pursue
            | JobKind::Review
            | JobKind::Converse => true,
            JobKind::Spec
            | JobKind::Tasks
            | JobKind::Scope
            | JobKind::Research
            | JobKind::Answer
            | JobKind::Discuss => false,
        };
        match self.made().last().filter(|_| !silent) {
            Some(artifact) => self.text_of(artifact),
            None => Ok(None),
        }
    }

    fn made(&self) -> Vec<&Artifact> {
        self.run.artifacts.iter().filter(|artifact| artifact.stage == self.task.stage).collect()
    }

    /// Earlier versions in a line each; the last one only if it is not shown whole.
    fn tried(&self, shown: bool) -> Vec<String> {
        let tells = match (self.kind, &self.task.purpose) {
            (JobKind::Review | JobKind::Answer | JobKind::Discuss | JobKind::Converse, _)
            | (_, Purpose::Pulse { .. }) => false,
            (
                JobKind::Spec
                | JobKind::Tasks
                | JobKind::Scope
                | JobKind::Research
                | JobKind::Code
                | JobKind::Handoff
                | JobKind::Lead
                | JobKind::Pursue,
                Purpose::Stage | Purpose::Iterate { .. } | Purpose::Answer { .. } | Purpose::Sit,
            ) => true,
        };
        let made = self.made();
        let made = made.get(..made.len().saturating_sub(usize::from(shown))).unwrap_or_default();
        let from = made.len().saturating_sub(MAX_LINES);
        made[from..].iter().filter(|_| tells).map(|artifact| version_line(artifact)).collect()
    }

    fn notes(&self) -> Vec<String> {
        let notes = self.run.notes.iter().filter(|note| note.stage == self.task.stage);
        let mut notes: Vec<String> = notes.zip(1..).map(|(note, round)| note_text(round, note)).collect();
        notes.extend(self.asked_before());
        shorten(&notes)
    }

    /// What was asked in a conversation of the stage that a fork could not take along, and the answers.
    fn asked_before(&self) -> impl Iterator<Item = String> {
        let forked = self.run.opened().forked_from.is_some();
        let session = &self.task.session;
        let earlier = |answer: &&domain::Answer| {
            let visit = answer.session.visit;
            answer.stage == self.task.stage && answer.session.role == session.role && visit < session.visit
        };
        self.run.answers.iter().filter(move |_| forked).filter(earlier).map(|answer| {
            let said = answer.answer.as_ref().map(|words| words.join("\n"));
            let said = said.map_or_else(|| "decide yourself".to_owned(), |said| format!("answered: {said}"));
            format!("you asked before: {}\n{} {said}", answer.question.question, answer.by)
        })
    }

    fn memory(&self) -> Result<Option<String>, Trouble> {
        let memory = self.repos.private.read_file(&Repos::base_commit(self.run)?, ".autonomous/memory.md")?;
        Ok(memory.map(|bytes| clip(&record::trusted_memory(&String::from_utf8_lossy(&bytes)), MAX_TEXT)))
    }

    /// For who begins something: what was done before that is like it.
    fn past(&self) -> Result<Vec<String>, Trouble> {
        let begins = match self.kind {
            JobKind::Spec
            | JobKind::Tasks
            | JobKind::Scope
            | JobKind::Research
            | JobKind::Handoff
            | JobKind::Lead
            | JobKind::Pursue => true,
            JobKind::Code | JobKind::Review | JobKind::Converse | JobKind::Answer | JobKind::Discuss => false,
        };
        if begins { past::solutions(self.repos, self.run) } else { Ok(Vec::new()) }
    }

    /// The change that is judged, or that a question can be about.
    fn diff(&self) -> Result<Option<String>, Trouble> {
        Ok(self.diff_up_to(MAX_DIFF)?.map(|diff| match diff {
            CappedDiff::Whole(text) => text,
            CappedDiff::CutOff(text) => format!("{text}\n[the diff goes on; read on with get_diff]\n"),
        }))
    }

    fn diff_up_to(&self, most: u64) -> Result<Option<CappedDiff>, Trouble> {
        let about_code = self.own.is_some_and(|own| own.is_code() || own == ArtifactKind::ValidationReport);
        let wanted = self.kind == JobKind::Review || (self.kind == JobKind::Answer && about_code);
        let Some(code) = self.run.code().filter(|_| wanted) else { return Ok(None) };
        let base = Repos::base_commit(self.run)?;
        Ok(Some(self.repos.private.diff_capped(&base, &to_git(&code.commit)?, most)?))
    }

    /// The plan and how its tasks stand. Whoever does one task is shown the others by their titles only.
    fn plan(&self) -> Option<String> {
        let plan = self.run.plan.as_ref().filter(|_| self.own != Some(ArtifactKind::Plan))?;
        let mut text = format!("{}\n", plan.summary.trim());
        let worked = self.run.tasks.iter().any(|state| state.status != TaskStatus::Waiting);
        for (state, number) in self.run.tasks.iter().zip(1..) {
            let stands = match self.task.purpose {
                Purpose::Pulse { number: now } if number < now => " [done]",
                Purpose::Pulse { number: now } if number == now => " [now]",
                Purpose::Pulse { .. } => " [later]",
                Purpose::Stage | Purpose::Iterate { .. } | Purpose::Answer { .. } | Purpose::Sit => "",
            };
            let word = if worked { format!(" [{}]", state.status.word()) } else { stands.to_owned() };
            text.push_str(&format!("\n{number}. `{}`{word} {}", state.task.id, state.task.title));
        }
        text.push('\n');
        if !matches!(self.task.purpose, Purpose::Pulse { .. }) {
            for state in &self.run.tasks {
                text.push_str(&format!("\n{}\n", task_text(&state.task)));
            }
        }
        Some(clip(&text, MAX_PLAN))
    }

    fn pulse(&self) -> Option<PulseJob> {
        let Purpose::Pulse { number } = self.task.purpose else { return None };
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        let state = self.run.tasks.get(index)?;
        let made = self.made();
        let done = made[made.len().saturating_sub(index)..].iter();
        Some(PulseJob {
            number,
            of: self.run.pulses(),
            title: state.task.title.clone(),
            text: task_text(&state.task),
            done: done.map(|artifact| format!("{}{}", artifact.title, count(artifact))).collect(),
        })
    }

    fn iteration(&self, paths: &Paths) -> Option<IterationJob> {
        let index = self.run.opened().playbook.index_of(&self.task.stage)?;
        let Work::Pursue { iterations } = self.run.stage(index).work else { return None };
        let state = self.run.stages.get(index)?;
        let number = match self.task.purpose {
            Purpose::Iterate { number } => number,
            // Who answers for the work is told how far it is.
            Purpose::Answer { .. } => state.iterations,
            Purpose::Stage | Purpose::Pulse { .. } | Purpose::Sit => return None,
        };
        let granted = state.iterations_granted;
        let earlier = goal::condensed(&self.run.reflections);
        let before = domain::Session { visit: self.task.session.visit.checked_sub(1)?, ..self.task.session.clone() };
        let observations = observations::last_lines(&paths.session(&self.run.id, &before));
        let tasks = self.run.goal.tasks.clone();
        Some(IterationJob { number, of: iterations + granted, earlier: shorten(&earlier), observations, tasks })
    }
}

fn version_line(artifact: &Artifact) -> String {
    format!("version {}: {}{}", artifact.version, artifact.title, count(artifact))
}

fn count(artifact: &Artifact) -> String {
    match artifact.files.len() {
        0 => String::new(),
        1 => " (1 file)".to_owned(),
        files => format!(" ({files} files)"),
    }
}

fn task_text(task: &Task) -> String {
    let mut text = format!("# `{}` {}\n\n{}\n", task.id, task.title, task.description.trim());
    if !task.files.is_empty() {
        text.push_str(&format!("\nFiles it is expected to touch: {}\n", task.files.join(", ")));
    }
    for check in &task.checks {
        text.push_str(&format!("\nCheck `{}`: `{}`\n", check.name, check.command));
    }
    text
}

fn note_text(round: u32, note: &Note) -> String {
    let kind = match note.kind {
        NoteKind::Approval => "approved, with notes",
        NoteKind::Feedback => "sent back",
        NoteKind::Validation => "validation failed",
        NoteKind::Guidance => "guidance",
        NoteKind::Correction => "correction",
    };
    format!("round {round}, {} ({kind}): {}", note.by, note.text)
}

/// What was said before the plan; secrets in it are told to who was spoken with alone.
fn conversation(run: &Run, kind: JobKind) -> Vec<String> {
    let hidden = run.secret_answers.iter().filter(|_| kind != JobKind::Converse);
    let hidden: Vec<&String> = hidden.filter(|secret| !secret.trim().is_empty()).collect();
    let told = |said: &domain::Said| {
        let text = hidden.iter().fold(said.text.clone(), |text, secret| text.replace(*secret, domain::SECRET_ANSWER));
        format!("{}: {text}", said.by)
    };
    shorten(&run.conversation.iter().map(told).collect::<Vec<_>>())
}

fn answers(run: &Run, task: &AgentTask) -> Vec<PastAnswer> {
    let same = |session: &domain::Session| session.role == task.session.role && session.visit == task.session.visit;
    let of_session = run.answers.iter().filter(|answer| same(&answer.session));
    of_session
        .map(|answer| PastAnswer { question: answer.question.question.clone(), answer: answer.answer.clone() })
        .collect()
}

/// What people said to agents that asked for permission; word for word, because it is compared.
fn permissions(run: &Run) -> Vec<String> {
    let of_person = |note: &&Note| matches!(note.kind, NoteKind::Guidance | NoteKind::Feedback);
    let said = run.notes.iter().filter(of_person).filter(|note| Permission::is_said_in(&note.text));
    said.map(|note| note.text.clone()).collect()
}

/// How often earlier processes of the conversation asked for more time.
pub(crate) fn extensions(session: &Path, attempt: u32) -> u32 {
    let Ok(folder) = Dir::open(session) else { return 0 };
    let earlier = |attempt: &u32| folder.open_file(extension_file(*attempt)).is_ok();
    u32::try_from((1..attempt).filter(earlier).count()).unwrap_or(u32::MAX)
}

fn minutes(job: &Job, task: &AgentTask) -> Option<u32> {
    let whole = task.deadline.duration_since(wished_at(&job.run, &job.id)).as_mins();
    u32::try_from(whole).ok().filter(|minutes| *minutes > 0)
}
