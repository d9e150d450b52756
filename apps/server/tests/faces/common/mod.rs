//! A real server on a free port of 127.0.0.1, over a real repository, with actors in place of agents.

mod actors;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::{Engine, EntryRule, NodeId, Parts, Slots, Store};
use reqwest::{Method, RequestBuilder, StatusCode};
use runner::{Activity, Models, UpstreamSettings};
use serde_json::{Value, json};
use server::{
    AgentsToken, App, AppParts, ConnectionLimits, Defaults, LiveLimits, Notify, People, Place, Setup, TokenFile,
    accept, router,
};
use tempfile::TempDir;
use tokio::sync::{broadcast, oneshot, watch};

pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// The token that decides nothing.
pub(crate) const AGENT_TOKEN: &str = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210";

const SCRIPT: &str = "[[conversation]]\nrole = \"planner\"\n[[conversation.turn]]\ntext = \"hello\"\n";

pub(crate) struct Bench {
    pub(crate) url: String,
    pub(crate) port: u16,
    pub(crate) repository: PathBuf,
    pub(crate) folder: TempDir,
    pub(crate) activity: broadcast::Sender<Activity>,
    pub(crate) diary: Arc<store::Diary>,
    pub(crate) engine: Engine,
    notify: Notify,
    /// Where the server was before it was killed.
    pub(crate) first_url: Option<String>,
    positions: watch::Receiver<u64>,
    /// It serves for as long as this lives.
    _stop: oneshot::Sender<()>,
    client: reqwest::Client,
}

impl Bench {
    pub(crate) async fn start() -> Self {
        Self::with_limits(LiveLimits::default()).await
    }

    pub(crate) async fn with_limits(live: LiveLimits) -> Self {
        Self::over(new_folder(), live, Notify::default()).await
    }

    /// One whose owner lets agents name more than the defaults.
    pub(crate) async fn with_agents_token(agents_token: AgentsToken) -> Self {
        let folder = new_folder();
        let setup = setup(folder.path());
        let setup = Setup { defaults: Defaults { agents_token, ..setup.defaults }, ..setup };
        Self::set_up(folder, LiveLimits::default(), setup, ConnectionLimits::default()).await
    }

    /// One that takes few connections.
    pub(crate) async fn with_connections(limits: ConnectionLimits) -> Self {
        let folder = new_folder();
        let setup = setup(folder.path());
        Self::set_up(folder, LiveLimits::default(), setup, limits).await
    }

    /// One that tells.
    pub(crate) async fn telling(notify: Notify) -> Self {
        Self::over(new_folder(), LiveLimits::default(), notify).await
    }

    /// The server is gone without a word, and another begins over what it left.
    pub(crate) async fn killed_and_started_again(self) -> Self {
        self.engine.stop().await;
        let Self { folder, notify, url, .. } = self;
        let next = Self::over(folder, LiveLimits::default(), notify).await;
        Self { first_url: Some(url), ..next }
    }

    async fn over(folder: TempDir, live: LiveLimits, notify: Notify) -> Self {
        let setup = Setup { notify, ..setup(folder.path()) };
        Self::set_up(folder, live, setup, ConnectionLimits::default()).await
    }

    async fn set_up(folder: TempDir, live: LiveLimits, setup: Setup, limits: ConnectionLimits) -> Self {
        let notify = setup.notify.clone();
        let repository = folder.path().join("repository");
        let store: Arc<dyn Store> = Arc::new(store::Sqlite::open(&folder.path().join("holdpoint.db")).unwrap());
        let engine = Engine::start(Parts {
            store,
            runner: Arc::new(actors::Actors),
            clock: Arc::new(jiff::Timestamp::now),
            slots: Slots { heavy: 4, light: 4 },
            entry: EntryRule::default(),
            node: NodeId("test".to_owned()),
            sole_process: true,
        })
        .unwrap();
        let (activity, _) = broadcast::channel(64);
        let diary = Arc::new(store::Diary::open(&folder.path().join("conversations.db")).unwrap());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let app = App::new(AppParts {
            engine: engine.clone(),
            shelf: Arc::new(actors::Papers(activity.clone())),
            diary: Arc::clone(&diary),
            post: Arc::new(store::Post::open(&folder.path().join("post.db")).unwrap()),
            setup,
            token: TokenFile::new(folder.path().join("token")),
            agent_token: TokenFile::new(folder.path().join("mcp-token")),
            people: People::open(folder.path().join("people.json")).unwrap(),
            user: "ada".to_owned(),
            place: Place::loopback(port),
            live,
        });
        app.begin_telling().await;
        let (stop, stopped) = oneshot::channel();
        tokio::spawn(accept(listener, router(app), limits, stopped));
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(30)).build().unwrap();
        let positions = engine.positions();
        let url = format!("http://127.0.0.1:{port}");
        let first_url = None;
        Self {
            url,
            port,
            repository,
            folder,
            activity,
            diary,
            engine,
            notify,
            first_url,
            positions,
            client,
            _stop: stop,
        }
    }

    /// A request without a token.
    pub(crate) fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        answer(self.bare(Method::GET, path).bearer_auth(TOKEN)).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        answer(self.bare(Method::POST, path).bearer_auth(TOKEN).json(body)).await
    }

    pub(crate) async fn post_with_key(&self, path: &str, body: &Value, key: &str) -> (StatusCode, Value) {
        let request = self.bare(Method::POST, path).bearer_auth(TOKEN).header("idempotency-key", key);
        answer(request.json(body)).await
    }

    pub(crate) fn new_run(&self, request: &str) -> Value {
        json!({"project": self.repository, "request": request})
    }

    /// Starts a run and waits until it has that status.
    pub(crate) async fn run_until(&self, request: &str, status: &str) -> Value {
        let (created, run) = self.post("/api/runs", &self.new_run(request)).await;
        assert_eq!(created, StatusCode::CREATED, "{run}");
        self.wait(run["id"].as_str().unwrap(), status).await
    }

    /// Starts a run and waits until its code waits for a yes.
    pub(crate) async fn code_awaiting_approval(&self, request: &str) -> Value {
        let mut body = self.new_run(request);
        body["trust"] = json!({"planning": "auto", "implementation": "manual", "fixes": "auto"});
        let (created, run) = self.post("/api/runs", &body).await;
        assert_eq!(created, StatusCode::CREATED, "{run}");
        self.held(run["id"].as_str().unwrap(), "approval").await
    }

    /// Starts a run of several agents.
    pub(crate) async fn team(&self, request: &str) -> Value {
        let mut body = self.new_run(request);
        body["playbook"] = json!("team");
        body["models"] = json!({"*": "scripted/demo"});
        let (created, run) = self.post("/api/runs", &body).await;
        assert_eq!(created, StatusCode::CREATED, "{run}");
        run
    }

    /// Waits until a run has that status.
    pub(crate) async fn wait(&self, id: &str, status: &str) -> Value {
        self.wait_for(id, |run| run["status"] == status).await
    }

    /// Waits until a run waits on that kind of hold.
    pub(crate) async fn held(&self, id: &str, kind: &str) -> Value {
        self.wait_for(id, |run| run["hold"]["kind"] == kind).await
    }

    /// Decides on the hold a run waits on.
    pub(crate) async fn decide(&self, run: &Value, decision: Value) -> (StatusCode, Value) {
        let mut body = decision;
        body["digest"] = run["hold"]["digest"].clone();
        self.post(&format!("/api/runs/{}/decide", run["id"].as_str().unwrap()), &body).await
    }

    /// Waits until something is true of a run.
    pub(crate) async fn wait_for(&self, id: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut positions = self.positions.clone();
        let reached = async {
            loop {
                positions.mark_unchanged();
                let (_, run) = self.get(&format!("/api/runs/{id}")).await;
                if wanted(&run) {
                    return run;
                }
                positions.changed().await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(30), reached).await.expect("the run gets there")
    }

    pub(crate) async fn events_in_all(&self) -> u64 {
        self.engine.store().position().unwrap()
    }
}

pub(crate) async fn answer(request: RequestBuilder) -> (StatusCode, Value) {
    let response = request.send().await.unwrap();
    let status = response.status();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// A data directory with tokens, and a repository in it.
fn new_folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    sample(&folder.path().join("repository"));
    std::fs::write(folder.path().join("token"), TOKEN).unwrap();
    std::fs::write(folder.path().join("mcp-token"), AGENT_TOKEN).unwrap();
    folder
}

fn setup(home: &Path) -> Setup {
    let roles = ["planner", "implementer", "validator", "discussion"];
    let models = roles.map(|role| (role.to_owned(), vec!["scripted/demo".parse().unwrap()]));
    let scripts = BTreeMap::from([("demo".to_owned(), home.join("demo.toml"))]);
    let house = UpstreamSettings {
        kind: broker::UpstreamKind::OpenAi,
        base_url: "http://127.0.0.1:9/v1".to_owned(),
        key: broker::Secret::default(),
        limits: broker::Limits::default(),
        hosted: broker::HostedFeatures::default(),
    };
    std::fs::write(home.join("demo.toml"), SCRIPT).unwrap();
    Setup {
        home: home.to_owned(),
        entry: EntryRule::default(),
        defaults: Defaults { models: models.into(), ..Defaults::default() },
        models: Models {
            upstreams: BTreeMap::from([("house".to_owned(), house)]),
            scripts,
            prices: broker::prices::table(),
            search: None,
            embeddings: None,
            shared: runner::SharedLimits::default(),
            keys: runner::KeyCommands::default(),
        },
        keys: BTreeMap::new(),
        mcp: runner::McpServers::default(),
        direct: runner::DirectAgents::default(),
        isolation: runner::Isolation::default(),
        told: server::Told::default(),
        notify: Notify::default(),
        keep_sessions: None,
    }
}

/// A repository with one commit on `main`.
pub(crate) fn sample(path: &Path) {
    std::fs::create_dir_all(path).unwrap();
    git(path, &["init", "-q", "-b", "main"]);
    std::fs::write(path.join("README.md"), "# Sample\n").unwrap();
    commit(path);
}

pub(crate) fn commit(path: &Path) {
    git(path, &["add", "-A"]);
    git(path, &["-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "-q", "-m", "x"]);
}

pub(crate) fn git(path: &Path, args: &[&str]) {
    let done = std::process::Command::new("git").arg("-C").arg(path).args(args).output().unwrap();
    assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
}
