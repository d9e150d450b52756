//! The screen for people, in a real terminal that tmux holds: keys go in, and the server says what came of them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use tests::product::{Product, binary, command};
use tests::world::World;
use tokio::process::Command;

const SCRIPT: &str = r##"
[[conversation]]
role = "planner"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_plan"
input = { title = "A warmer greeting", body = "# A warmer greeting\n\n## Design\n\n```mermaid\nflowchart TD\n  A[Start] --> B[Greet]\n```\n" }

[[conversation]]
role = "worker"
[[conversation.turn]]
text = "I wait for a person."
[[conversation.turn.call]]
tool = "shell"
input = { command = "sleep 321" }

[[conversation]]
role = "implementer"
visit = 1
[[conversation.turn]]
[[conversation.turn.call]]
tool = "ask_questions"
input = { questions = [{ question = "How warm?", context = "The request does not say", options = ["a little", "very"], responseType = "single_choice" }] }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "shell"
input = { command = "sleep 321" }
"##;

/// A person before a terminal.
struct Person {
    world: World,
    tmux: PathBuf,
}

impl Person {
    fn new() -> Self {
        Self::with(SCRIPT)
    }

    fn with(script: &str) -> Self {
        let world = World::new(script).unwrap();
        let tmux = world.outside().join("tmux");
        std::fs::create_dir_all(tmux.join("inner")).unwrap();
        Self { world, tmux }
    }

    fn inner(&self) -> PathBuf {
        self.tmux.join("inner")
    }

    async fn tmux(&self, words: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        tmux.args(words).env("TMUX_TMPDIR", &self.tmux).env_remove("TMUX").stdin(Stdio::null());
        let output = tmux.output().await.unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Opens the screen; tmux has a window for as long as it is there.
    async fn opens(&self, width: &str, height: &str) {
        let home = format!("HOLDPOINT_HOME={}", self.world.home().display());
        let program = binary().unwrap().display().to_string();
        let begin = ["new-session", "-d", "-s", "people", "-x", width, "-y", height, "-e", &home];
        // As on a terminal of its own: what it attaches to is in another tmux than the one that holds it.
        let inner = format!("TMUX_TMPDIR={}", self.inner().display());
        self.tmux(&[begin.as_slice(), &["env", "-u", "TMUX", &inner, &program, "tui"]].concat()).await;
    }

    /// Looks until the screen shows something.
    async fn sees(&self, wanted: &str) -> String {
        let looked = async {
            loop {
                let screen = self.looks().await;
                if screen.contains(wanted) {
                    return screen;
                }
                tokio::task::yield_now().await;
            }
        };
        match tokio::time::timeout(std::time::Duration::from_secs(60), looked).await {
            Ok(screen) => screen,
            Err(_) => panic!("`{wanted}` does not come: {}", self.looks().await),
        }
    }

    async fn looks(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", "people"]).await
    }

    async fn types(&self, keys: &[&str]) {
        self.tmux(&[["send-keys", "-t", "people"].as_slice(), keys].concat()).await;
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        for folder in [&self.inner(), &self.tmux] {
            let mut ended = std::process::Command::new("tmux");
            let _ = ended.arg("kill-server").env("TMUX_TMPDIR", folder).stderr(Stdio::null()).status();
        }
    }
}

async fn started(person: &Person, product: &Product) -> String {
    let models = json!({"planner": "scripted/story", "implementer": "scripted/story", "validator": "scripted/story"});
    let trust = json!({"planning": "manual", "implementation": "auto", "fixes": "auto"});
    let body = json!({
        "project": person.world.repository(), "request": "Make the greeting warmer", "trust": trust, "models": models,
    });
    let run = product.run(None, &body).await.unwrap();
    let id = run["id"].as_str().unwrap().to_owned();
    product.until(&id, |view| view["hold"]["kind"] == "approval").await.unwrap();
    id
}

async fn events(product: &Product, id: &str, kind: &str) -> Vec<Value> {
    let (_, all) = product.get(&format!("/api/runs/{id}/events")).await.unwrap();
    all.as_array().unwrap().iter().filter(|event| event["type"] == kind).cloned().collect()
}

#[tokio::test]
async fn a_plan_is_approved_a_question_answered_and_a_run_cancelled_on_the_screen() {
    let person = Person::new();
    let product = Product::start(&person.world.home(), &BTreeMap::new()).await.unwrap();
    let id = started(&person, &product).await;
    person.opens("80", "24").await;
    person.sees("Inbox 1").await;
    person.types(&["Enter"]).await;
    let plan = person.sees("Greet").await;
    assert!(plan.contains("◆ planning") && plan.contains("1 now"), "{plan}");
    // The plan is longer than the screen: before its end was seen, a yes is asked about.
    person.types(&["a"]).await;
    let asked = person.sees("(y/N)").await;
    assert!(asked.contains("lines of the spec not shown"), "{asked}");
    person.types(&["n", "G"]).await;
    person.sees("takes: approve").await;
    person.types(&["a"]).await;
    product.until(&id, |view| view["hold"]["kind"] == "clarification").await.unwrap();
    let granted = events(&product, &id, "APPROVAL_GRANTED").await;
    assert_eq!(granted.len(), 1, "{granted:?}");
    person.sees("How warm?").await;
    // A key that was meant for what was there before decides nothing; once it was looked at, it does.
    while !person.looks().await.contains("answer, by number") {
        person.types(&["s"]).await;
    }
    person.types(&["C-u", "2", "Enter"]).await;
    product.until(&id, |view| view["status"] == "running").await.unwrap();
    let answered = events(&product, &id, "CLARIFICATION_ANSWERED").await;
    assert_eq!(answered[0]["payload"]["decision"]["answer"], json!(["very"]), "{answered:?}");
    person.types(&["x"]).await;
    person.sees("The end is final. (y/N)").await;
    person.types(&["y"]).await;
    product.until(&id, |view| view["status"] == "cancelled").await.unwrap();
    person.types(&["q", "q"]).await;
    product.kill().await.unwrap();
}

#[tokio::test]
async fn code_is_approved_on_its_page_only_and_what_was_not_on_the_screen_is_asked_about() {
    let person = Person::with(&crate::runs::story(crate::display::FLOOD));
    let product = Product::start(&person.world.home(), &BTreeMap::new()).await.unwrap();
    let held = crate::display::waiting(&person.world, &product).await;
    let id = held["id"].as_str().unwrap().to_owned();
    person.opens("100", "30").await;
    person.sees("Inbox 1").await;
    // In the list the key opens the page; nothing is approved by a title.
    person.types(&["a"]).await;
    let page = person.sees("20000 −0").await;
    assert!(page.contains("src/auth.ts") && page.contains("deploy.sh") && page.contains("1 now"), "{page}");
    assert!(events(&product, &id, "APPROVAL_GRANTED").await.is_empty());
    person.types(&["a"]).await;
    let asked = person.sees("(y/N)").await;
    assert!(asked.contains("Go on?") && asked.contains("not shown:"), "{asked}");
    person.types(&["n"]).await;
    // The script behind a NUL byte and the file behind the flood are on the page.
    person.types(&["G"]).await;
    let end = person.sees("evil.example").await;
    assert!(end.contains("# \\0"), "{end}");
    person.types(&["a"]).await;
    let asked = person.sees("(y/N)").await;
    assert!(asked.contains("fixtures/data.txt"), "the flood itself was not shown: {asked}");
    person.types(&["y"]).await;
    product.until(&id, |view| view["hold"]["kind"] != "approval").await.unwrap();
    assert_eq!(events(&product, &id, "APPROVAL_GRANTED").await.len(), 1);
    product.kill().await.unwrap();
}

#[tokio::test]
async fn a_screen_whose_server_is_gone_says_so_and_comes_back_by_itself() {
    let person = Person::new();
    let product = Product::start(&person.world.home(), &BTreeMap::new()).await.unwrap();
    started(&person, &product).await;
    person.opens("200", "50").await;
    person.sees("● live").await;
    product.kill().await.unwrap();
    let screen = person.sees("not connected since").await;
    assert!(screen.contains("what you see is of") && !screen.contains("● live"), "{screen}");
    // Another server is started for it, as for any command.
    let screen = person.sees("● live").await;
    assert!(screen.contains("Inbox 1") && !screen.contains("not connected"), "{screen}");
    person.types(&["q"]).await;
    let info = std::fs::read(person.world.home().join("server.json")).unwrap();
    let info: wire::ServerInfo = serde_json::from_slice(&info).unwrap();
    let pid = rustix::process::Pid::from_raw(info.pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
}

#[tokio::test]
async fn an_agent_is_attached_from_the_screen_which_then_comes_back() {
    let person = Person::new();
    let product = Product::start(&person.world.home(), &BTreeMap::new()).await.unwrap();
    let words = ["task", "create", "Write one.txt down", "--model", "scripted/story"];
    let created = command(&person.world.repository(), &person.world.home(), &words).await.unwrap();
    let id = String::from_utf8(created.stdout).unwrap().trim().to_owned();
    product.until(&id, |view| view["stage"] == "working").await.unwrap();
    person.opens("80", "24").await;
    person.sees("Runs 1").await;
    person.types(&["Tab"]).await;
    person.sees(&format!("● {}", &id[..6])).await;
    person.types(&["A"]).await;
    product.until(&id, |view| view["attached"]["active"] == true).await.unwrap();
    person.sees("holdpoint $").await;
    // The keys of the inner tmux: leave it, and the session stays.
    person.types(&["C-b", "d"]).await;
    let screen = person.sees("back from `holdpoint attach`").await;
    assert!(screen.contains("Runs 1"), "{screen}");
    person.types(&["Enter"]).await;
    person.sees("has taken over the session").await;
    product.kill().await.unwrap();
}

#[tokio::test]
async fn without_a_terminal_the_screen_is_refused_in_words() {
    let world = World::new(SCRIPT).unwrap();
    let output = command(world.outside(), &world.home(), &["tui"]).await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("needs a terminal") && said.contains("holdpoint inbox"), "{said}");
}
