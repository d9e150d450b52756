//! The hands: does effects. Each effect has a file of its own under `effects/`; this one routes.
//! Every effect may be asked for twice; the second time adopts what the first did.

use std::collections::HashMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use domain::{Effect, Outcome, RunId};
use drivers::{AgentEvent, Guidance};
use engine::{DiarySink, EffectRunner, Job, SessionId, Store};
use tokio::sync::{OwnedMutexGuard, broadcast};

use crate::change_lists::ChangeLists;
use crate::direct::DirectAgents;
use crate::effects;
use crate::git;
use crate::isolation::{Isolation, Needs};
use crate::kept;
use crate::mcp::McpServers;
use crate::models::Models;
use crate::passing::EFFECT_WAITS;
use crate::paths::Paths;
use crate::repos::wished_at;
use crate::sandbox::TierChoice;
use crate::secret_guard::{Guards, SecretGuard};
use crate::server_secrets::ServerSecrets;
use crate::settings::ForgeSettings;
use crate::trouble::{Prospect, Trouble};

/// What hands are made of.
pub struct HandsConfig {
    /// The data directory.
    pub home: PathBuf,
    /// The holdpoint binary, re-executed as shim, sandbox init and agent.
    pub program: PathBuf,
    /// Keys, upstreams, scripts, prices.
    pub models: Models,
    /// MCP servers, and which role may use them.
    pub mcp: McpServers,
    /// Programs that use their own login.
    pub direct: DirectAgents,
    /// Tiers, readable paths and limits.
    pub isolation: Isolation,
    /// How to open pull requests.
    pub forge: ForgeSettings,
    /// Secrets of the server that the hands do not work with: they must not get into what a run leaves either.
    pub secrets: ServerSecrets,
    /// For reading logs; the hands never write it.
    pub store: Arc<dyn Store>,
    /// Where conversations are kept.
    pub diary: DiarySink,
}

/// Something an agent does right now.
#[derive(Debug, Clone)]
pub struct Activity {
    /// The run.
    pub run: RunId,
    /// The stage.
    pub stage: String,
    /// The conversation.
    pub session: SessionId,
    /// What.
    pub event: AgentEvent,
}

/// Does effects.
pub struct Hands {
    pub(crate) paths: Paths,
    pub(crate) program: PathBuf,
    pub(crate) models: Models,
    pub(crate) mcp: McpServers,
    pub(crate) direct: DirectAgents,
    pub(crate) isolation: Isolation,
    pub(crate) forge: ForgeSettings,
    secrets: ServerSecrets,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) diary: DiarySink,
    pub(crate) activity: broadcast::Sender<Activity>,
    lanes: Lanes,
    pub(crate) change_lists: Arc<ChangeLists>,
}

/// One lock per name, so that work on one thing is done one after the other even when its waiter has left.
#[derive(Default)]
struct Lanes(Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>);

impl Lanes {
    async fn enter(&self, name: &str) -> OwnedMutexGuard<()> {
        let lane = {
            let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            lanes.retain(|_, lane| Arc::strong_count(lane) > 1);
            Arc::clone(lanes.entry(name.to_owned()).or_default())
        };
        lane.lock_owned().await
    }
}

// A slow watcher misses old activity; stored facts are never sent this way.
const ACTIVITY_BACKLOG: usize = 4096;

impl Hands {
    /// New hands.
    #[must_use]
    pub fn new(config: HandsConfig) -> Arc<Self> {
        let secrets = config.secrets.clone().with_those_of(&config);
        config.models.keys.report_to(&secrets);
        let HandsConfig { home, program, models, mcp, direct, isolation, forge, secrets: _, store, diary } = config;
        let (activity, _) = broadcast::channel(ACTIVITY_BACKLOG);
        let paths = Paths::new(&home);
        let lanes = Lanes::default();
        let change_lists = Arc::default();
        Arc::new(Self {
            paths,
            program,
            models,
            mcp,
            direct,
            isolation,
            forge,
            secrets,
            store,
            diary,
            activity,
            lanes,
            change_lists,
        })
    }

    /// The tier for processes that work on a project; refused where the machine cannot hold them as it must.
    pub(crate) async fn tier(&self, project: &Path, needs: Needs) -> Result<TierChoice, Trouble> {
        let (isolation, project) = (self.isolation.clone(), project.to_owned());
        let tried = tokio::task::spawn_blocking(move || isolation.tier(&project, &needs)).await;
        tried.unwrap_or_else(|join| Err(Trouble::new(format!("trying the sandbox ended early: {join}"))))
    }

    /// What keeps secrets out of what a run leaves.
    pub(crate) fn guard(&self, run: &domain::Run) -> SecretGuard {
        self.guards().of(run)
    }

    /// The same, for who makes one on another thread.
    pub(crate) fn guards(&self) -> Guards {
        Guards { secrets: self.secrets.clone(), paths: self.paths.clone(), store: self.store.clone() }
    }

    /// What agents do right now.
    #[must_use]
    pub fn activity(&self) -> broadcast::Receiver<Activity> {
        self.activity.subscribe()
    }

    /// The models it was given.
    #[must_use]
    pub fn models(&self) -> &Models {
        &self.models
    }

    /// Where a person's terminal is reached, while a run's conversation is on one.
    #[must_use]
    pub fn terminal(&self, run: &domain::Run) -> Option<PathBuf> {
        let (_, task) = run.sitting()?;
        Some(self.paths.session(&run.id, &task.session).join(drivers::TERMINAL_SOCKET))
    }

    /// Does blocking work for a run. The run's lane is held until the work itself ends, also when its waiter left.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        run: &RunId,
        work: impl FnOnce() -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Trouble> {
        self.blocking_on(run.as_str(), work).await
    }

    /// The same on a lane of another name.
    pub(crate) async fn blocking_on<T: Send + 'static>(
        &self,
        lane: &str,
        work: impl FnOnce() -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Trouble> {
        let lane = self.lanes.enter(lane).await;
        let task = tokio::task::spawn_blocking(move || {
            let result = work();
            drop(lane);
            result
        });
        task.await.unwrap_or_else(|join| Err(Trouble::new(format!("the work ended early: {join}"))))
    }

    /// Only one landing at a time per project, so that each is checked against the base it lands on.
    pub(crate) async fn landing_lane(&self, project: &str) -> OwnedMutexGuard<()> {
        self.lanes.enter(&format!("land {project}")).await
    }

    /// Does an effect; what failed for a reason that may pass is done again, and adopts what was done before.
    async fn act(&self, job: Job) -> Outcome {
        let mut tries = 0;
        loop {
            let trouble = match self.attempt(&job).await {
                Ok(outcome) => return outcome,
                Err(trouble) => trouble,
            };
            tracing::warn!(effect = %job.id, word = job.effect.word(), %trouble, tries, "an effect could not be done");
            if tries == trouble.prospect.tries() {
                return self.give_up(&job, trouble);
            }
            if trouble.prospect == Prospect::Unclear {
                git::distrust_all();
            }
            tokio::time::sleep(EFFECT_WAITS[tries]).await;
            tries += 1;
        }
    }

    fn give_up(&self, job: &Job, trouble: Trouble) -> Outcome {
        if let Effect::RunAgent(task) = &job.effect
            && let Err(trouble) = kept::keep(&self.paths, job, task)
        {
            tracing::warn!(effect = %job.id, %trouble, "that an agent has handed something in could not be noted");
        }
        if job.effect == Effect::CleanUp {
            effects::left_over::note(self, job);
        }
        Outcome::Failed { message: trouble.to_string(), hint: trouble.hint }
    }

    async fn attempt(&self, job: &Job) -> Result<Outcome, Trouble> {
        match job.effect.clone() {
            Effect::StartChild(_) | Effect::TellChild { .. } | Effect::TellParent => {
                Err(Trouble::new(format!("`{}` is between runs and nothing for hands", job.effect.word())))
            }
            Effect::OpenBranch => effects::open_branch::run(self, job).await,
            Effect::OpenChildBranch => effects::open_child_branch::run(self, job).await,
            Effect::OpenFork { at } => effects::open_fork::run(self, job, &at).await,
            Effect::RunAgent(task) => effects::run_agent::run(self, job, &task).await,
            Effect::Prove { commit, .. } => effects::prove::run(self, job, &commit).await,
            Effect::StopAgent { target } => effects::stop_agent::run(self, job, target).await,
            Effect::TellAgent { target, number, by, text } => {
                let at = wished_at(&job.run, &job.id);
                effects::tell_agent::run(self, job, target, Guidance { number, by, text, at }).await
            }
            Effect::CommitArtifact { stage, kind, content } => {
                effects::commit_artifact::run(self, job, &stage, kind, &content).await
            }
            Effect::Adopt { stage } => effects::adopt::run(self, job, &stage).await,
            Effect::MergeChild(merge) => effects::merge_child::run(self, job, &merge).await,
            Effect::Publish { commit } => effects::publish::run(self, job, &commit).await,
            Effect::WriteRecord => effects::write_record::run(self, job).await,
            Effect::Land(policy) => effects::land::run(self, job, &policy).await,
            Effect::PushRemote { commit, ask } => effects::push_remote::run(self, job, &commit, ask).await,
            Effect::OpenPullRequest { commit } => effects::open_pull_request::run(self, job, &commit).await,
            Effect::CleanUp => effects::clean_up::run(self, job).await,
        }
    }
}

impl EffectRunner for Hands {
    fn run(self: Arc<Self>, job: Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        Box::pin(async move { self.act(job).await })
    }
}
