//! Sample values: ids, commits, configuration, commands. All fixed, so that a failing test reads the same twice.

use std::collections::BTreeMap;

use domain::{
    Actor, Artifact, ArtifactKind, Brought, Check, CheckResult, CommitId, Digest, GitPolicy, GoalTask, GoalTaskStatus,
    ModelName, Plan, Playbook, Proof, Question, Reflection, Review, RunConfig, RunId, Severity, Start, TaintSource,
    Task, Trust, Verdict,
};
use jiff::Timestamp;

/// The n-th run id; all of them have different short ids.
#[must_use]
pub fn run_id(n: u64) -> RunId {
    RunId::from_bits(n)
}

/// Another id with the same short id as the n-th.
#[must_use]
pub fn namesake(n: u64) -> RunId {
    RunId::from_bits(n | 1 << 40)
}

/// The n-th commit.
#[must_use]
pub fn commit(n: u64) -> CommitId {
    format!("{n:040x}").parse().expect("forty hexadecimal digits are a commit id")
}

/// A time, in milliseconds after a fixed day.
#[must_use]
pub fn at(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(1_767_225_600_000 + millis).expect("a few years after 2026 is a time")
}

/// A person.
#[must_use]
pub fn actor(name: &str) -> Actor {
    Actor { name: name.to_owned(), channel: "cli".to_owned() }
}

/// A configuration with every gate open, one check and a budget of ten dollars.
#[must_use]
pub fn config() -> RunConfig {
    let model: ModelName = "scripted/one".parse().expect("a provider and a model");
    let models = ["planner", "implementer", "validator"].map(|role| (role.to_owned(), model.clone()));
    RunConfig {
        trust: Trust { planning: domain::Gate::Auto, implementation: domain::Gate::Auto, fixes: domain::Gate::Auto },
        max_clarifications: 2,
        models: BTreeMap::from(models),
        fallbacks: BTreeMap::new(),
        agents: BTreeMap::new(),
        direct: std::collections::BTreeSet::new(),
        timeout_minutes: BTreeMap::new(),
        git: GitPolicy {
            base_branch: "main".to_owned(),
            auto_merge: true,
            ask_push: false,
            push: false,
            create_pr: false,
            review: false,
        },
        budget: Some(domain::Micros(10_000_000)),
        checks: vec![Check { name: "tests".to_owned(), command: "cargo test".to_owned() }],
        exclude_paths: Vec::new(),
        require_approval: Vec::new(),
        skip_clarification: false,
        max_clarification_rounds: None,
        max_concurrency: None,
        on_failure: None,
        risk: domain::RiskPolicy::default(),
        group: None,
        priority: domain::Priority::Normal,
        task: None,
        estimate: None,
        from: Vec::new(),
        trusted: Vec::new(),
    }
}

/// An issue that a stranger wrote.
#[must_use]
pub fn brought() -> Brought {
    Brought { source: TaintSource::named("https://github.com/ada/shop/issues/7"), text: None }
}

/// The default playbook.
#[must_use]
pub fn playbook() -> Playbook {
    Playbook::built_in("autonomous").expect("the default playbook is compiled in")
}

/// A request of Ada's under a configuration.
#[must_use]
pub fn start(config: RunConfig) -> Start {
    Start {
        project: "/home/ada/shop".to_owned(),
        request: "Add login with OAuth".to_owned(),
        playbook: playbook(),
        config,
        by: actor("ada"),
        parent: None,
    }
}

/// Something a stage made.
#[must_use]
pub fn artifact(kind: ArtifactKind, stage: &str, version: u32, n: u64) -> Artifact {
    let path = match kind {
        ArtifactKind::Spec => Some(".autonomous/specs/001-login.md".to_owned()),
        ArtifactKind::Code => None,
        ArtifactKind::Requirement
        | ArtifactKind::Scope
        | ArtifactKind::Research
        | ArtifactKind::Plan
        | ArtifactKind::Handoff => Some(format!(".autonomous/runs/x/{}.md", kind.word())),
        ArtifactKind::ValidationReport => Some(".autonomous/reports/001.md".to_owned()),
    };
    Artifact {
        kind,
        stage: stage.to_owned(),
        version,
        path,
        commit: commit(n),
        digest: Digest::of([stage, &n.to_string()]),
        title: format!("{} {version}", kind.word()),
        files: vec!["src/login.rs".to_owned()],
        risks: Vec::new(),
        created_at: at(0),
    }
}

/// A plan of two tasks, the second of which needs the first.
#[must_use]
pub fn plan() -> Plan {
    let task = |id: &str, depends_on: Vec<String>| Task {
        id: id.to_owned(),
        title: format!("Do {id}"),
        description: format!("Everything that belongs to {id}"),
        depends_on,
        parent: None,
        files: vec![format!("src/{id}.rs")],
        checks: Vec::new(),
    };
    let tasks = vec![task("one", Vec::new()), task("two", vec!["one".to_owned()])];
    Plan { summary: "One after the other".to_owned(), tasks }
}

/// A plan as a person hands it in.
#[must_use]
pub fn plan_text(plan: &Plan) -> String {
    serde_json::to_string(plan).expect("a plan is plain data")
}

/// How an iteration towards a goal ended.
#[must_use]
pub fn reflection(progress: u8) -> Reflection {
    Reflection {
        goal_achieved: progress >= 100,
        progress,
        content: format!("it is {progress} % there"),
        next_action: format!("the next {progress}"),
        requires_user_intervention: false,
        issues: Vec::new(),
    }
}

/// Two tasks on the way to a goal, the second of which needs the first.
#[must_use]
pub fn goal_tasks() -> Vec<GoalTask> {
    let task = |id: &str, dependencies: Vec<String>| GoalTask {
        id: id.to_owned(),
        description: format!("Do {id}"),
        parent: None,
        dependencies,
        status: GoalTaskStatus::Pending,
        result: None,
        error: None,
    };
    vec![task("one", Vec::new()), task("two", vec!["one".to_owned()])]
}

/// The same as a person hands it in.
#[must_use]
pub fn goal_plan() -> String {
    serde_json::to_string(&goal_tasks()).expect("tasks are plain data")
}

/// A question of an agent.
#[must_use]
pub fn question(text: &str) -> Question {
    Question { context: "the request does not say".to_owned(), ..Question::text(text) }
}

/// A verdict.
#[must_use]
pub fn review(verdict: Verdict, severity: Severity) -> Review {
    Review { verdict, severity, summary: "read it all".to_owned(), findings: Vec::new() }
}

/// A proof with one check that ended so.
#[must_use]
pub fn proof(n: u64, exit: i32) -> Proof {
    let check = CheckResult {
        name: "tests".to_owned(),
        command: "cargo test".to_owned(),
        exit: Some(exit),
        tail: "1 test".to_owned(),
    };
    Proof { commit: commit(n), checks: vec![check], earlier_tests: None }
}

/// Something that looks like a secret.
#[must_use]
pub fn finding(path: &str) -> domain::SecretFinding {
    domain::SecretFinding {
        kind: "GitHub token".to_owned(),
        known_as: None,
        path: path.to_owned(),
        line: 3,
        column: 9,
        excerpt: "ghp_…, 40 characters".to_owned(),
        fingerprint: domain::Digest::of(["GitHub token", path]).to_string(),
    }
}
