//! The stories the crash suite tells, each once without a kill and once for every boundary.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::compare::{Picture, family_picture, picture};
use crate::product::Product;
use crate::world::World;

/// One story.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    /// Nobody is asked.
    Auto,
    /// The plan waits for a yes.
    ManualApproval,
    /// The implementer asks a question.
    Clarification,
    /// The checks fail once.
    ValidationRetry,
    /// A person ends it while the implementer works.
    Cancel,
    /// Two agents at once work on three tasks, one of which needs another.
    Team,
}

impl Scenario {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Auto, Self::ManualApproval, Self::Clarification, Self::ValidationRetry, Self::Cancel, Self::Team];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::ManualApproval => "manual approval",
            Self::Clarification => "clarification",
            Self::ValidationRetry => "validation retry",
            Self::Cancel => "cancel",
            Self::Team => "team",
        }
    }

    fn script(self) -> String {
        let implementer = match self {
            Self::Auto | Self::ManualApproval => format!("{}{}", turn_write(1, "fixed"), TURN_DONE),
            Self::Clarification => format!("{CONVERSATION_1}{TURN_ASK}{}{TURN_DONE}", bare_write("fixed")),
            Self::ValidationRetry => {
                format!("{}{}{}{}", turn_write(1, "broken"), TURN_DONE, turn_write(2, "fixed"), TURN_DONE)
            }
            Self::Cancel => format!("{}{}", turn_write(1, "fixed"), TURN_SLOW),
            Self::Team => return team_script(),
        };
        format!("{PLANNER}{implementer}{VALIDATOR}")
    }

    fn request(self, world: &World) -> Value {
        if self == Self::Team {
            return json!({
                "project": world.repository(),
                "request": "Greet in three languages",
                "playbook": "team",
                "agents": 2,
                "skipClarification": true,
                "models": {"*": "scripted/story"},
                "autoMerge": true,
                "checks": [{"name": "syntax", "command": "for f in src/*.sh; do sh -n $f || exit 1; done"}],
            });
        }
        json!({
            "project": world.repository(),
            "request": "Make the greeting warmer",
            "trust": self.trust(),
            "models": {"planner": "scripted/story", "implementer": "scripted/story", "validator": "scripted/story"},
            "autoMerge": true,
            "checks": [{"name": "warm", "command": "grep -q fixed src/greet.sh"}],
        })
    }

    fn trust(self) -> Value {
        let planning = if self == Self::ManualApproval { "manual" } else { "auto" };
        json!({"planning": planning, "implementation": "auto", "fixes": "auto"})
    }
}

const PLANNER: &str = r##"
[[conversation]]
role = "planner"
[[conversation.turn]]
text = "I look around first."
[[conversation.turn.call]]
tool = "read_file"
input = { path = "src/greet.sh" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_plan"
input = { title = "A warmer greeting", body = "# A warmer greeting\n\n## Design\n\n```mermaid\nflowchart TD\n  A[Start] --> B[Greet]\n```\n" }
"##;

const CONVERSATION_1: &str = "\n[[conversation]]\nrole = \"implementer\"\nvisit = 1\n";

const TURN_DONE: &str = r#"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "The greeting is warmer" }
"#;

const TURN_ASK: &str = r#"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "ask_questions"
input = { questions = [{ question = "How warm?", context = "The request does not say", options = ["a little", "very"], responseType = "single_choice" }] }
"#;

/// Longer than any of these stories may take.
const TURN_SLOW: &str = r#"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "shell"
input = { command = "sleep 600" }
"#;

const VALIDATOR: &str = r#"
[[conversation]]
role = "validator"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", severity = "minor", summary = "As planned" }
"#;

const ARCHITECT: &str = r#"
[[conversation]]
role = "architect"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_plan"
[conversation.turn.call.input]
summary = "One file per language"
tasks = [
  { id = "english", title = "Greet in English", description = "src/english.sh", files = ["src/english.sh"] },
  { id = "french", title = "Greet in French", description = "src/french.sh", files = ["src/french.sh"] },
  { id = "both", title = "Greet in both", description = "src/both.sh", files = ["src/both.sh"], dependsOn = ["english"] },
]
"#;

const REVIEWER: &str = r#"
[[conversation]]
role = "reviewer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", severity = "minor", summary = "As asked" }
"#;

fn team_script() -> String {
    let worker = |when: &str, file: &str| {
        format!(
            "\n[[conversation]]\nrole = \"implementer\"\nwhen = [\"{when}\"]\n[[conversation.turn]]\n\
             [[conversation.turn.call]]\ntool = \"write_file\"\n\
             input = {{ path = \"src/{file}.sh\", content = \"echo {file}\\n\" }}\n[[conversation.turn]]\n\
             [[conversation.turn.call]]\ntool = \"complete_pulse\"\ninput = {{ summary = \"It greets\" }}\n"
        )
    };
    let workers =
        [worker("Greet in English", "english"), worker("Greet in French", "french"), worker("Greet in both", "both")];
    format!("{ARCHITECT}{}{REVIEWER}", workers.concat())
}

fn bare_write(content: &str) -> String {
    format!(
        "\n[[conversation.turn]]\n[[conversation.turn.call]]\ntool = \"write_file\"\ninput = {{ path = \"src/greet.sh\", content = \"echo {content}\\n\" }}\n"
    )
}

fn turn_write(visit: u32, content: &str) -> String {
    format!("\n[[conversation]]\nrole = \"implementer\"\nvisit = {visit}\n{}", bare_write(content))
}

/// What a telling left behind.
pub struct Told {
    /// Everything that must be the same with and without kills.
    pub picture: Picture,
    /// How often the server was killed on the way.
    pub kills: u32,
    /// Names of the boundaries that were reached, in order.
    pub boundaries: Vec<String>,
}

/// Tells a story; the first server kills itself at a boundary, later ones do not.
pub async fn tell(scenario: Scenario, kill_at: Option<u64>) -> Result<Told> {
    let told = tokio::time::timeout(Duration::from_secs(120), tell_it(scenario, kill_at)).await;
    told.with_context(|| format!("{} killed at {kill_at:?} did not end in two minutes", scenario.name()))?
}

async fn tell_it(scenario: Scenario, kill_at: Option<u64>) -> Result<Told> {
    let world = World::new(&scenario.script())?;
    let log = world.outside().join("boundaries");
    let mut environment = BTreeMap::from([("HOLDPOINT_BOUNDARIES".to_owned(), log.display().to_string())]);
    if let Some(kill_at) = kill_at {
        environment.insert("HOLDPOINT_KILL_AT".to_owned(), kill_at.to_string());
    }
    let mut kills = 0;
    let mut product = Product::start(&world.home(), &environment).await;
    let (product, run) = loop {
        match product {
            Ok(alive) => match advance(&alive, &world, scenario).await {
                Ok(run) => break (alive, run),
                // Only a dead server excuses a failing call.
                Err(error) => {
                    let mut dead = alive;
                    ensure_killed(&mut dead, error).await?;
                }
            },
            Err(error) if kills == 0 && kill_at.is_some() => drop(error),
            Err(error) => return Err(error),
        }
        kills += 1;
        ensure!(kills < 5, "the server died again and again");
        product = Product::start(&world.home(), &BTreeMap::new()).await;
    };
    let picture = match scenario {
        Scenario::Team => family_picture(&product, &world, &run).await?,
        Scenario::Auto
        | Scenario::ManualApproval
        | Scenario::Clarification
        | Scenario::ValidationRetry
        | Scenario::Cancel => picture(&product, &world, &run).await?,
    };
    product.stop().await?;
    let boundaries = std::fs::read_to_string(&log).unwrap_or_default().lines().map(str::to_owned).collect();
    Ok(Told { picture, kills, boundaries })
}

async fn ensure_killed(product: &mut Product, error: anyhow::Error) -> Result<()> {
    use std::os::unix::process::ExitStatusExt as _;
    match tokio::time::timeout(Duration::from_secs(5), product.ended()).await {
        Ok(Ok(status)) if status.signal() == Some(9) => Ok(()),
        Ok(status) => Err(error.context(format!("the server ended with {status:?}"))),
        Err(_) => Err(error.context("the server lives, but a call failed")),
    }
}

/// Does whatever the story needs next, until it has ended. May be called again after a crash.
async fn advance(product: &Product, world: &World, scenario: Scenario) -> Result<String> {
    let started = product.run(Some("the run"), &scenario.request(world)).await?;
    let id = started["id"].as_str().context("a run has an id")?.to_owned();
    loop {
        let view = product.until(&id, |view| wants_us(scenario, view)).await?;
        match view["status"].as_str().unwrap_or_default() {
            "completed" | "cancelled" | "failed" => return settled(product, &id).await,
            "awaiting_approval" => accept(product.decide(&view, &json!({"decision": "approve"})).await?)?,
            "awaiting_clarification" => {
                let answer = json!({"decision": "answer", "answer": ["very"]});
                accept(product.decide(&view, &answer).await?)?;
            }
            "running" => accept(product.post(&format!("/api/runs/{id}/cancel"), Some("cancel"), &json!({})).await?)?,
            other => bail!("the run is unexpectedly `{other}`: {view}"),
        }
    }
}

fn wants_us(scenario: Scenario, view: &Value) -> bool {
    let working = view["stage"] == "implementation" && view["status"] == "running";
    // Two calls of the planner and two of the implementer are paid for: now its command runs for a long time, and what
    // is paid does not depend on the moment.
    let deep_in_work = working && view["spend"]["calls"] == 4;
    match view["status"].as_str() {
        Some("queued") => false,
        Some("running") => scenario == Scenario::Cancel && deep_in_work,
        _ => true,
    }
}

fn accept((status, body): (u16, Value)) -> Result<()> {
    // After a crash the decision may be on disk already: that it counted once is what matters.
    ensure!(matches!(status, 200..=299 | 409), "refused with {status}: {body}");
    Ok(())
}

/// Waits until clean-up after the end is done as well.
async fn settled(product: &Product, id: &str) -> Result<String> {
    loop {
        let (_, events) = product.get(&format!("/api/runs/{id}/events")).await?;
        let events = events.as_array().context("events are a list")?;
        let open = |event: &&Value| event["type"] == "EFFECT_REQUESTED";
        let closed = |event: &&Value| event["type"] == "EFFECT_FINISHED";
        let clean_up = events.iter().rev().find(open).context("a run has effects")?;
        let number = &clean_up["payload"]["number"];
        if events.iter().filter(closed).any(|event| event["payload"]["number"] == *number) {
            return Ok(id.to_owned());
        }
        let seen = events.len() as u64;
        product.until(id, |view| view["version"].as_u64() > Some(seen)).await?;
    }
}
