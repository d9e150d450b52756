//! A repository, hands and an engine in a temporary folder, and a person who decides.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::{Arc, Mutex};

use domain::{
    AgentProgram, Check, Command, Decide, Decision, Hold, HoldKind, ModelName, Playbook, Run, RunConfig, RunId, Start,
    TaskBrief,
};
use engine::{Engine, NodeId, Parts, Slots, Store};
use runner::{DirectAgents, ForgeSettings, Hands, HandsConfig, Isolation, Models, UpstreamSettings};
use tempfile::TempDir;
use testkit::{MemoryStore, samples};

pub(crate) struct World {
    folder: TempDir,
    pub(crate) engine: Engine,
    store: Arc<dyn Store>,
    pub(crate) hands: Arc<Hands>,
    /// Holds that went on by themselves.
    pub(crate) passed: Mutex<Vec<Hold>>,
    /// Programs that play roles in place of our own agent.
    agents: Mutex<BTreeMap<String, AgentProgram>>,
    /// Text of strangers that runs begin with.
    from: Mutex<Vec<domain::Brought>>,
    /// Roles whose program uses its own login.
    direct: Mutex<BTreeSet<String>>,
    pub(crate) budget: Mutex<Option<domain::Micros>>,
    /// What else is different for runs from now on.
    pub(crate) configure: Mutex<Option<fn(&mut RunConfig)>>,
    models: Models,
    mcp: runner::McpServers,
    logins: runner::DirectAgents,
    isolation: Isolation,
}

/// Hands and an engine on what is kept in this folder and store.
fn started(
    folder: &Path,
    store: &Arc<dyn Store>,
    models: Models,
    mcp: runner::McpServers,
    direct: runner::DirectAgents,
    isolation: Isolation,
    clock: engine::Clock,
) -> (Arc<Hands>, Engine) {
    let hands = Hands::new(HandsConfig {
        home: folder.join("home"),
        program: program(),
        models,
        mcp,
        direct,
        isolation,
        forge: ForgeSettings::default(),
        secrets: runner::ServerSecrets::default(),
        store: Arc::clone(store),
        diary: engine::DiarySink::none(),
    });
    let engine = Engine::start(Parts {
        store: Arc::clone(store),
        runner: hands.clone(),
        clock,
        slots: Slots { heavy: 3, light: 8 },
        entry: engine::EntryRule::default(),
        node: NodeId("here".to_owned()),
        sole_process: true,
    });
    (hands, engine.unwrap())
}

impl World {
    pub(crate) fn new(script: &str) -> Self {
        Self::with(script, BTreeMap::new())
    }

    /// With providers beside the script.
    pub(crate) fn with(script: &str, upstreams: BTreeMap<String, UpstreamSettings>) -> Self {
        Self::with_mcp(script, upstreams, runner::McpServers::default())
    }

    /// With MCP servers besides.
    pub(crate) fn with_mcp(
        script: &str,
        upstreams: BTreeMap<String, UpstreamSettings>,
        mcp: runner::McpServers,
    ) -> Self {
        Self::made(script, upstreams, mcp, None, Isolation::default(), |_| DirectAgents::default())
    }

    /// With a model that makes vectors of texts.
    pub(crate) fn with_embeddings(script: &str, upstreams: BTreeMap<String, UpstreamSettings>, model: &str) -> Self {
        let (mcp, model) = (runner::McpServers::default(), model.parse().unwrap());
        Self::made(script, upstreams, mcp, Some(model), Isolation::default(), |_| DirectAgents::default())
    }

    /// With programs that use their own login.
    pub(crate) fn with_direct(script: &str, direct: impl FnOnce(&Path) -> DirectAgents) -> Self {
        Self::made(script, BTreeMap::new(), runner::McpServers::default(), None, Isolation::default(), direct)
    }

    /// With other walls and limits.
    pub(crate) fn with_isolation(script: &str, isolation: Isolation) -> Self {
        let mcp = runner::McpServers::default();
        Self::made(script, BTreeMap::new(), mcp, None, isolation, |_| DirectAgents::default())
    }

    /// Everything of it.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn made(
        script: &str,
        upstreams: BTreeMap<String, UpstreamSettings>,
        mcp: runner::McpServers,
        embeddings: Option<ModelName>,
        isolation: Isolation,
        direct: impl FnOnce(&Path) -> DirectAgents,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repo = folder.path().join("repo");
        std::fs::create_dir(&repo).unwrap();
        std::fs::write(repo.join("README.md"), "# Sample\n").unwrap();
        git(&repo, &["init", "-q", "-b", "main"]);
        git(&repo, &["add", "-A"]);
        git(&repo, &["commit", "-q", "-m", "start"]);
        let path = folder.path().join("script.toml");
        std::fs::write(&path, script).unwrap();
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let models = Models {
            upstreams,
            scripts: BTreeMap::from([("story".to_owned(), path)]),
            prices: broker::prices::table(),
            search: None,
            embeddings,
            shared: runner::SharedLimits::default(),
            keys: runner::KeyCommands::default(),
        };
        let logins = direct(&folder.path().join("home"));
        let clock = Arc::new(jiff::Timestamp::now);
        let (models_too, mcp_too, logins_too) = (models.clone(), mcp.clone(), logins.clone());
        let (hands, engine) = started(folder.path(), &store, models_too, mcp_too, logins_too, isolation.clone(), clock);
        Self {
            folder,
            engine,
            store,
            hands,
            models,
            mcp,
            logins,
            isolation,
            passed: Mutex::default(),
            agents: Mutex::default(),
            from: Mutex::default(),
            direct: Mutex::default(),
            budget: Mutex::default(),
            configure: Mutex::default(),
        }
    }

    /// The server goes away and comes back after this time. Only what was kept is left.
    pub(crate) async fn back_after(&mut self, away: jiff::SignedDuration) {
        self.engine.stop().await;
        let clock = Arc::new(move || jiff::Timestamp::now() + away);
        let (models, mcp, logins) = (self.models.clone(), self.mcp.clone(), self.logins.clone());
        let isolation = self.isolation.clone();
        let (hands, engine) = started(self.folder.path(), &self.store, models, mcp, logins, isolation, clock);
        (self.hands, self.engine) = (hands, engine);
    }

    /// From now on a role is played by another program.
    pub(crate) fn cast(&self, role: &str, program: &str) {
        self.agents.lock().unwrap().insert(role.to_owned(), program.parse().unwrap());
    }

    /// From now on runs begin with text of strangers.
    pub(crate) fn bring(&self, from: Vec<domain::Brought>) {
        *self.from.lock().unwrap() = from;
    }

    /// The same by one that uses its own login and its own model.
    pub(crate) fn cast_direct(&self, role: &str, program: &str) {
        self.cast(role, program);
        self.direct.lock().unwrap().insert(role.to_owned());
    }

    /// Files that the repository has from now on.
    pub(crate) fn commit(&self, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = self.repo().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        git(&self.repo(), &["add", "-A"]);
        git(&self.repo(), &["commit", "-q", "-m", "files"]);
    }

    /// Every clock of every run has run out.
    pub(crate) async fn let_clocks_run_out(&self) {
        for due in self.store.due_timers(jiff::Timestamp::MAX, 100).unwrap() {
            self.engine.submit(due.run, Command::TimerFired { timer: due.timer }, None).await.unwrap();
        }
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    /// Works a request to its end; `person` answers every hold.
    pub(crate) async fn work(&self, playbook: &str, check: &str, person: impl FnMut(&Run, &Hold) -> Decision) -> Run {
        self.work_with(playbook, check, &["scripted/story"], person).await
    }

    /// The same with other models, in the order they are tried.
    pub(crate) async fn work_with(
        &self,
        playbook: &str,
        check: &str,
        models: &[&str],
        person: impl FnMut(&Run, &Hold) -> Decision,
    ) -> Run {
        let id = self.start_with(playbook, check, models, "Make the files", None).await;
        self.drive(&id, person).await
    }

    /// Starts a request, or a task.
    pub(crate) async fn start(&self, playbook: &str, check: &str, request: &str, task: Option<TaskBrief>) -> RunId {
        self.start_with(playbook, check, &["scripted/story"], request, task).await
    }

    async fn start_with(
        &self,
        playbook: &str,
        check: &str,
        models: &[&str],
        request: &str,
        task: Option<TaskBrief>,
    ) -> RunId {
        let playbook = Playbook::built_in(playbook).unwrap();
        let models: Vec<ModelName> = models.iter().map(|name| name.parse().unwrap()).collect();
        let direct = self.direct.lock().unwrap().clone();
        let roles = || playbook.roles().into_iter().filter(|role| !direct.contains(*role)).map(str::to_owned);
        let mut config = RunConfig {
            models: roles().map(|role| (role, models[0].clone())).collect(),
            fallbacks: roles().map(|role| (role, models[1..].to_vec())).collect(),
            agents: self.agents.lock().unwrap().clone(),
            direct: direct.clone(),
            budget: *self.budget.lock().unwrap(),
            checks: vec![Check { name: "there".to_owned(), command: check.to_owned() }],
            task: task.map(Box::new),
            from: self.from.lock().unwrap().clone(),
            ..samples::config()
        };
        if let Some(configure) = *self.configure.lock().unwrap() {
            configure(&mut config);
        }
        let project = self.repo().display().to_string();
        let request = request.to_owned();
        let start = Start { project, request, playbook, config, by: samples::actor("ada"), parent: None };
        let id = samples::run_id(1);
        self.engine.submit(id.clone(), Command::Start(Box::new(start)), None).await.unwrap();
        id
    }

    /// Waits until a run waits for a person for this reason.
    pub(crate) async fn until_held(&self, id: &RunId, kind: HoldKind) {
        let mut positions = self.engine.positions();
        loop {
            positions.mark_unchanged();
            let run = self.engine.load(id).await.unwrap().unwrap();
            match run.hold() {
                Some(hold) if hold.kind == kind => return,
                Some(hold) => panic!("it waits on something else: {}", hold.summary),
                None => positions.changed().await.unwrap(),
            }
        }
    }

    /// Waits until a run has ended.
    pub(crate) async fn ended(&self, id: &RunId) -> Run {
        self.drive(id, |_, hold| panic!("it waits: {}", hold.summary)).await
    }

    /// What is recorded of a run, with times.
    pub(crate) fn log(&self, run: &RunId) -> Vec<domain::Recorded> {
        self.store.events(run, 0).unwrap()
    }

    pub(crate) async fn drive(&self, id: &RunId, mut person: impl FnMut(&Run, &Hold) -> Decision) -> Run {
        let mut positions = self.engine.positions();
        loop {
            positions.mark_unchanged();
            let run = self.engine.load(id).await.unwrap().unwrap();
            if run.is_ended() && self.engine.busy() == 0 {
                return run;
            }
            if let Some(hold) = run.hold().filter(|hold| hold.kind == HoldKind::Quota) {
                let mut passed = self.passed.lock().unwrap();
                if !passed.contains(hold) {
                    passed.push(hold.clone());
                }
            } else if let Some(hold) = run.hold().cloned() {
                let decision = person(&run, &hold);
                let (digest, by) = (hold.digest.clone(), samples::actor("ada"));
                let decide = Command::Decide(Decide { hold: hold.id, digest, decision, by });
                let taken = self.engine.submit(id.clone(), decide, None).await;
                taken.unwrap_or_else(|error| panic!("{error:?} at: {}", hold.summary));
                continue;
            }
            positions.changed().await.unwrap();
        }
    }

    /// What is recorded of a run.
    pub(crate) fn events(&self, run: &RunId) -> Vec<domain::Event> {
        self.store.events(run, 0).unwrap().into_iter().map(|recorded| recorded.event).collect()
    }

    /// A file of a branch in the user's repository.
    pub(crate) fn file(&self, branch: &str, path: &str) -> String {
        git(&self.repo(), &["show", &format!("{branch}:{path}")])
    }

    /// An agent's whole conversation, as it is on disk.
    pub(crate) fn turns(&self, run: &RunId, role: &str, visit: u32) -> String {
        let session = format!("home/runs/{run}/sessions/{role}-{visit}/turns.jsonl");
        std::fs::read_to_string(self.folder.path().join(session)).unwrap()
    }

    /// The lines of an agent's conversation.
    pub(crate) fn turn_lines(&self, run: &RunId, role: &str, visit: u32) -> Vec<serde_json::Value> {
        let session = format!("home/runs/{run}/sessions/{role}-{visit}/turns.jsonl");
        let turns = std::fs::read_to_string(self.folder.path().join(session)).unwrap();
        turns.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What an agent was told when its conversation began.
    pub(crate) fn told(&self, run: &RunId, role: &str, visit: u32) -> String {
        let turns = self.turns(run, role, visit);
        let opening: serde_json::Value = serde_json::from_str(turns.lines().next().unwrap()).unwrap();
        opening["opening"]["user"].as_str().unwrap().to_owned()
    }

    /// What the tools answered in a conversation, in order, with whether they worked.
    pub(crate) fn results(&self, run: &RunId, role: &str, visit: u32) -> Vec<(bool, String)> {
        let turns = self.session_file(run, &format!("{role}-{visit}"), "turns.jsonl");
        let turns = String::from_utf8(turns).unwrap();
        let records = turns.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let results = records.filter_map(|record| record["results"].as_array().cloned()).flatten();
        results.map(|result| (result["ok"] == true, result["output"].as_str().unwrap().to_owned())).collect()
    }

    pub(crate) fn session_file(&self, run: &RunId, session: &str, name: &str) -> Vec<u8> {
        std::fs::read(self.folder.path().join(format!("home/runs/{run}/sessions/{session}/{name}"))).unwrap()
    }

    /// Calls the scripted model answered for a run, by its own log: role and turn.
    pub(crate) fn calls(&self, run: &RunId) -> Vec<String> {
        let log = std::fs::read_to_string(self.folder.path().join("home/scripted/story.jsonl")).unwrap();
        let lines = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let ours = lines.filter(|line| line["run"] == run.as_str());
        ours.map(|line| format!("{} {}", line["role"].as_str().unwrap(), line["turn"])).collect()
    }

    /// Holdpoint's own repository of the project is gone.
    pub(crate) fn lose_private_repository(&self) {
        let mut projects = std::fs::read_dir(self.folder.path().join("home/projects")).unwrap();
        std::fs::remove_dir_all(projects.next().unwrap().unwrap().path().join("repo.git")).unwrap();
    }

    /// The folder of a conversation.
    pub(crate) fn session_path(&self, run: &RunId, session: &str) -> PathBuf {
        self.folder.path().join(format!("home/runs/{run}/sessions/{session}"))
    }

    /// A file that is kept for the project.
    pub(crate) fn project_file(&self, name: &str) -> Vec<u8> {
        let mut projects = std::fs::read_dir(self.folder.path().join("home/projects")).unwrap();
        std::fs::read(projects.next().unwrap().unwrap().path().join(name)).unwrap()
    }
}

pub(crate) fn yes() -> Decision {
    Decision::Approve { notes: None }
}

pub(crate) fn git(repo: &Path, args: &[&str]) -> String {
    let done = Process::new("git")
        .current_dir(repo)
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
        .args(args)
        .output()
        .unwrap();
    assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// The stand-in for the `holdpoint` binary.
fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let build = tests.parent().and_then(Path::parent).unwrap();
    let program = build.join("examples/attempt-probe");
    assert!(program.exists(), "build the examples of the runner first");
    program
}
