//! Actors in place of agents: they hand in at once, ask when the request says `ask`, and never end on `linger`; those
//! of tasks never end on `slow tasks`. On `crash` none hands anything in, on `bad work` judges say FAIL.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use domain::{
    AgentEnd, AgentTask, Artifact, ArtifactKind, CommitId, Digest, Effect, Micros, Outcome, Plan, Proof, Purpose,
    Question, ResponseType, Review, Run, SecretFinding, Severity, SpendReport, Submission, Task, Verdict, Work,
};
use drivers::AgentEvent;
use engine::{EffectRunner, Job};
use jiff::Timestamp;
use runner::git::{ChangeList, ChangeStatus, ChangedFile, Content, FileId, FilePage, PatchPage};
use runner::{Activity, ArtifactText, FileWish, Listing, RunDiff, Talk, Talked, Watch};
use server::{Reading, Shelf, Talking, Telling};
use tokio::sync::broadcast;

pub(crate) struct Actors;

impl EffectRunner for Actors {
    fn run(self: Arc<Self>, job: Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        Box::pin(async move {
            match &job.effect {
                Effect::OpenBranch | Effect::OpenChildBranch => Outcome::BranchOpened { base: commit('a') },
                Effect::OpenFork { .. } => Outcome::ForkOpened { carried: true },
                Effect::RunAgent(task) => act(&job, task).await,
                Effect::Prove { commit, .. } => {
                    Outcome::Proved { proof: Proof { commit: commit.clone(), checks: Vec::new(), earlier_tests: None } }
                }
                Effect::StopAgent { .. } => Outcome::AgentStopped { wip: None },
                Effect::CommitArtifact { stage, kind, .. } => {
                    Outcome::ArtifactCommitted { artifact: Box::new(made(stage, 1, *kind, 'b')) }
                }
                Effect::Adopt { stage } => {
                    Outcome::Adopted { artifact: Box::new(made(stage, 1, ArtifactKind::Code, 'c')) }
                }
                Effect::MergeChild(merge) => Outcome::ChildMerged {
                    commit: commit('c'),
                    digest: Digest::of([merge.task.as_str()]),
                    files: Vec::new(),
                },
                // What runs say to each other never reaches a runner.
                Effect::StartChild(_) | Effect::TellChild { .. } | Effect::TellAgent { .. } | Effect::TellParent => {
                    Outcome::Told
                }
                Effect::OpenPullRequest { .. } => {
                    Outcome::PullRequestOpened { url: "https://forge.example/1".to_owned() }
                }
                Effect::Publish { .. } => Outcome::Published,
                Effect::WriteRecord => Outcome::RecordWritten { commit: commit('d'), memory: None },
                Effect::Land(_) => Outcome::Landed { commit: commit('e'), proof: None, onto: None },
                Effect::PushRemote { .. } => Outcome::Pushed { remote: None },
                Effect::CleanUp => Outcome::CleanedUp,
            }
        })
    }
}

async fn act(job: &Job, task: &AgentTask) -> Outcome {
    let request = job.run.opened().request.as_str();
    let index = job.run.current_stage().unwrap();
    let work = job.run.stage(index).work.clone();
    if request.contains("linger") || (request.contains("slow tasks") && job.run.opened().parent.is_some()) {
        std::future::pending::<()>().await;
    }
    let spend = SpendReport {
        effect: job.id.number,
        call: 1,
        model: "scripted/demo".to_owned(),
        input_tokens: 100,
        output_tokens: 10,
        cost: Some(Micros(1_500)),
        reported_by: None,
    };
    job.spend.report(spend).await;
    let end = match (&task.purpose, &work, work.artifact()) {
        (_, _, _) if request.contains("crash") => {
            AgentEnd::Crashed { reason: "process exited without ## Handoff".to_owned() }
        }
        (Purpose::Answer { .. }, _, _) => AgentEnd::Answered { text: "It is the shortest.".to_owned() },
        (_, Work::Converse { .. }, _) if job.run.conversation.is_empty() => {
            AgentEnd::Said { ready: false, message: "Which pages?".to_owned() }
        }
        (_, Work::Converse { .. }, _) => AgentEnd::Said { ready: true, message: "All pages.".to_owned() },
        (_, _, Some(ArtifactKind::Spec)) if request.contains("ask for a key") && job.run.answers.is_empty() => {
            AgentEnd::Asked { questions: vec![Question { secret: true, ..Question::text("Which key?") }] }
        }
        (_, _, Some(kind)) if kind.is_code() && request.contains("leak") && job.run.allowed_secrets.is_empty() => {
            AgentEnd::HoldsSecrets { findings: vec![finding()] }
        }
        (_, _, Some(ArtifactKind::Spec)) if request.contains("ask") && job.run.answers.is_empty() => AgentEnd::Asked {
            questions: vec![Question {
                question: "Which colour?".to_owned(),
                context: "The page has none.".to_owned(),
                options: vec!["red".to_owned(), "blue".to_owned()],
                response_type: ResponseType::SingleChoice,
                ..Question::text("")
            }],
        },
        (_, Work::Judge { .. }, _) => {
            let review = Review {
                verdict: if request.contains("bad work") { Verdict::Fail } else { Verdict::Pass },
                severity: Severity::Minor,
                summary: "fine".to_owned(),
                findings: Vec::new(),
            };
            submitted(task, ArtifactKind::ValidationReport, 'c', Some(review))
        }
        (_, _, Some(kind)) if kind.is_code() => submitted(task, kind, 'c', None),
        (_, _, Some(kind)) => submitted(task, kind, 'b', None),
        (_, _, None) => AgentEnd::Crashed { reason: "there is nothing to make".to_owned() },
    };
    Outcome::AgentEnded { end, tier: Some("sandboxed".to_owned()), program: None, wip: None }
}

fn submitted(task: &AgentTask, kind: ArtifactKind, at: char, review: Option<Review>) -> AgentEnd {
    let artifact = made(&task.stage, task.session.visit, kind, at);
    AgentEnd::Submitted(Box::new(Submission {
        artifact,
        summary: String::new(),
        decisions: Vec::new(),
        review,
        plan: (kind == ArtifactKind::Plan).then(plan),
        reflection: None,
    }))
}

/// Two tasks at once, then one.
fn plan() -> Plan {
    let task = |id: &str, depends_on: &[&str]| Task {
        id: id.to_owned(),
        title: format!("Do {id}"),
        description: format!("All of {id}."),
        depends_on: depends_on.iter().map(|id| (*id).to_owned()).collect(),
        parent: None,
        files: Vec::new(),
        checks: Vec::new(),
    };
    let tasks = vec![task("store", &[]), task("page", &[]), task("api", &["store"])];
    Plan { summary: "Three tasks.".to_owned(), tasks }
}

fn made(stage: &str, version: u32, kind: ArtifactKind, at: char) -> Artifact {
    Artifact {
        kind,
        stage: stage.to_owned(),
        version,
        path: (kind == ArtifactKind::Spec).then(|| ".autonomous/specs/001-x.md".to_owned()),
        commit: commit(at),
        digest: Digest::of([stage]),
        title: format!("the {}", kind.word()),
        files: Vec::new(),
        risks: Vec::new(),
        created_at: Timestamp::UNIX_EPOCH,
    }
}

fn commit(digit: char) -> CommitId {
    digit.to_string().repeat(40).parse().unwrap()
}

/// One of the files `a`, `b` and `c`.
fn changed(number: u8) -> ChangedFile {
    ChangedFile {
        id: FileId::parse(&format!("{:02x}", b'a' + number)).unwrap(),
        status: ChangeStatus::Modified,
        old: None,
        new: None,
        lines: Some((u64::from(number) + 1, 1)),
        content: Content::Text,
    }
}

/// Papers to read, in place of a private repository.
pub(crate) struct Papers(pub(crate) broadcast::Sender<Activity>);

impl Shelf for Papers {
    fn terminal(&self, run: &Run) -> Option<std::path::PathBuf> {
        run.sitting().map(|_| std::path::PathBuf::from("/nowhere/terminal.sock"))
    }

    fn activity(&self) -> broadcast::Receiver<Activity> {
        self.0.subscribe()
    }

    fn artifact_text<'a>(&'a self, _: &'a Run, artifact: &'a Artifact) -> Reading<'a, ArtifactText> {
        let text = match artifact.kind {
            ArtifactKind::Spec => "# Plan\n\n```mermaid\nflowchart TD\n  Start --> End\n```\n",
            ArtifactKind::Code => "diff --git a/x b/x\n",
            ArtifactKind::Requirement
            | ArtifactKind::Scope
            | ArtifactKind::Research
            | ArtifactKind::Plan
            | ArtifactKind::Handoff
            | ArtifactKind::ValidationReport => "# Report\n",
        };
        Box::pin(async move { Ok(ArtifactText { text: text.to_owned(), ..ArtifactText::default() }) })
    }

    fn changes<'a>(&'a self, run: &'a Run, _: &'a CommitId, _: Listing) -> Reading<'a, Arc<ChangeList>> {
        let damaged = run.opened().request.contains("damaged");
        Box::pin(async move {
            match damaged {
                true => Err(runner::ReadError { message: "the content of `x` is gone".to_owned(), hint: None }),
                false => Ok(Arc::new(ChangeList { files: (0..3).map(changed).collect() })),
            }
        })
    }

    fn file_page<'a>(&'a self, _: &'a Run, _: &'a CommitId, wish: FileWish) -> Reading<'a, Option<FilePage>> {
        let file = (0..3).map(changed).find(|file| file.id == wish.file);
        let page = file.map(|file| FilePage {
            file,
            text: format!("@@ at {}\n", wish.offset),
            next: None,
            exact: true,
            binary: None,
        });
        Box::pin(async move { Ok(page) })
    }

    fn patch_page<'a>(&'a self, _: &'a Run, _: &'a CommitId, (offset, _): (u64, usize)) -> Reading<'a, PatchPage> {
        let next = (offset == 0).then_some(7);
        Box::pin(async move { Ok(PatchPage { text: format!("from {offset}\n"), next, exact: true }) })
    }

    fn diff<'a>(&'a self, run: &'a Run) -> Reading<'a, RunDiff> {
        let diff = RunDiff {
            base: run.base.as_ref().map(ToString::to_string).unwrap_or_default(),
            head: run.head.as_ref().map(ToString::to_string).unwrap_or_default(),
            files: vec![("x".to_owned(), "M".to_owned(), Some(1), None)],
            text: "diff --git a/x b/x\n".to_owned(),
            truncated: false,
            left_out: Vec::new(),
        };
        Box::pin(async move { Ok(diff) })
    }

    fn check_commits<'a>(&'a self, run: &'a Run, commits: Vec<CommitId>) -> Reading<'a, ()> {
        let gone = run.opened().request.contains("cleaned away");
        Box::pin(async move {
            match commits.first().filter(|_| gone) {
                Some(first) => {
                    Err(runner::ReadError { message: format!("commit {} is gone", first.short()), hint: None })
                }
                None => Ok(()),
            }
        })
    }

    fn pass_on<'a>(&'a self, _: &'a Run) -> Telling<'a> {
        Box::pin(async { Ok(()) })
    }

    fn discuss(&self, talk: Talk, watch: Watch) -> Talking<'_> {
        Box::pin(async move {
            watch(&AgentEvent::MessageDelta { turn: 1, text: "I look.".to_owned() });
            let answer = match talk.question.as_str() {
                "who wrote this?" => Err("the model does not answer".to_owned()),
                question => Ok(format!("{question} After {} words: `src/x.rs:3`.", talk.earlier.len())),
            };
            Ok(Talked { answer, cost: Some(domain::Micros(1500)) })
        })
    }
}

fn finding() -> SecretFinding {
    SecretFinding {
        kind: "GitHub token".to_owned(),
        known_as: None,
        path: "src/login.rs".to_owned(),
        line: 3,
        column: 9,
        excerpt: "ghp_…, 40 characters".to_owned(),
        fingerprint: Digest::of(["finding"]).to_string(),
    }
}
