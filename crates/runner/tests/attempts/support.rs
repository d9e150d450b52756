//! One attempt in a temporary data directory.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use futures_util::StreamExt;
use runner::{
    sandbox::{Limits, Tier, TierChoice},
    shim::{
        Exit, How, Input, Launch,
        client::{Attempt, Ended, Message, ShimError, start_or_adopt},
    },
};
use tempfile::TempDir;

/// The stand-in for the `holdpoint` binary.
pub(crate) fn program() -> PathBuf {
    let tests = env::current_exe().unwrap();
    let build = tests.parent().and_then(Path::parent).unwrap();
    let program = build.join("examples/attempt-probe");
    assert!(program.exists(), "build the examples of the runner first");
    program
}

pub(crate) fn grant() -> broker::Grant {
    broker::Grant {
        run: "test".to_owned(),
        attempt: "test".to_owned(),
        role: "implementer".to_owned(),
        visit: 1,
        upstreams: Vec::new(),
        limit: None,
        retry: broker::RetryPolicy::default(),
        max_calls: None,
        search: None,
        embeddings: None,
        mcp: Vec::new(),
        direct: None,
        limits_folder: None,
        ask_after: None,
        purses: Vec::new(),
        purses_folder: None,
    }
}

/// A data directory with a token and a database beside workspace, session and spool.
pub(crate) struct Place {
    pub(crate) root: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for dir in ["data/workspace", "data/session", "outside"] {
            fs::create_dir_all(root.path().join(dir)).unwrap();
        }
        for file in ["data/token", "data/holdpoint.db", "outside/private"] {
            fs::write(root.path().join(file), "SECRET").unwrap();
        }
        Self { root }
    }

    pub(crate) fn path(&self, inner: &str) -> PathBuf {
        self.root.path().join(inner)
    }

    pub(crate) fn spool(&self) -> PathBuf {
        self.path("data/spool")
    }

    /// A variable that every process of the attempt has and no other on the machine.
    pub(crate) fn canary(&self) -> String {
        format!("CANARY={}", self.root.path().display())
    }

    pub(crate) fn order(&self, tier: Tier, argv: &[&str]) -> Launch {
        let (name, value) = self.canary().split_once('=').map(|(n, v)| (n.to_owned(), v.to_owned())).unwrap();
        Launch {
            spool: self.spool(),
            workspace: self.path("data/workspace"),
            session: self.path("data/session"),
            extra_ro: Vec::new(),
            hide: vec![self.path("data")],
            argv: argv.iter().map(|word| (*word).to_owned()).collect(),
            env: BTreeMap::from([(name, value)]),
            tier: TierChoice::Exactly(tier),
            grant: grant(),
            limits: Limits::default(),
            program: program(),
            input: Input::Nothing,
        }
    }

    pub(crate) async fn start(&self, order: Launch) -> Attempt {
        start_or_adopt(&self.spool(), async || Ok::<_, ShimError>(order)).await.unwrap()
    }

    pub(crate) fn output(&self) -> String {
        fs::read_to_string(self.spool().join("output.jsonl")).unwrap_or_default()
    }

    pub(crate) fn errors(&self) -> String {
        fs::read_to_string(self.spool().join("stderr.log")).unwrap_or_default()
    }

    /// Runs a shell script to its end and returns what it printed.
    pub(crate) async fn shell(&self, tier: Tier, script: &str) -> String {
        let attempt = self.start(self.order(tier, &["sh", "-c", script])).await;
        let exit = exit_of(attempt.wait().await.unwrap());
        assert_eq!(exit.exit, How::Code(0), "{}", self.errors());
        self.output()
    }

    /// Runs a server process that starts the attempt; `then` says whether it dies preparing it.
    /// With variables of its own it has no others.
    pub(crate) fn server(&self, order: &Launch, then: &str, env: &[(&str, &str)]) -> Output {
        let order_file = self.path("order");
        fs::write(&order_file, serde_json::to_vec(order).unwrap()).unwrap();
        let mut server = Command::new(program());
        if !env.is_empty() {
            server.env_clear();
        }
        server
            .arg("server")
            .arg(self.spool())
            .arg(then)
            .envs(env.iter().copied())
            .stdin(fs::File::open(order_file).unwrap())
            .stderr(Stdio::inherit())
            .output()
            .unwrap()
    }

    /// Living processes of the attempt.
    pub(crate) fn processes(&self) -> Vec<i32> {
        let canary = self.canary();
        let has_canary = |pid: &i32| {
            fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|variable| variable == canary.as_bytes()))
        };
        fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok())
            .filter(has_canary)
            .collect()
    }
}

/// A failed test leaves no agent behind.
impl Drop for Place {
    fn drop(&mut self) {
        for pid in self.processes() {
            if let Some(pid) = rustix::process::Pid::from_raw(pid) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
}

pub(crate) fn exit_of(ended: Ended) -> Exit {
    match ended {
        Ended::Exited(exit) => exit,
        Ended::Lost => panic!("the shim was lost"),
    }
}

/// Waits until the agent has printed something.
pub(crate) async fn until_output(attempt: &Attempt) {
    let mut messages = attempt.follow();
    while let Some(message) = messages.next().await {
        if matches!(message, Message::Output { .. }) {
            return;
        }
    }
    panic!("the agent ended without output");
}
