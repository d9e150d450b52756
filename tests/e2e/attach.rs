//! Agents' sessions in tmux: two workers and their reviews, each taken over by a person and handed back.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use serde_json::Value;
use tests::product::{Product, binary};
use tests::world::World;
use tokio::process::Command;

/// Each of them waits for something that only a person does.
const SCRIPT: &str = r#"
[[conversation]]
role = "worker"
[[conversation.turn]]
text = "I wait for a person."
[[conversation.turn.call]]
tool = "shell"
input = { command = "test -f one.txt || test -f two.txt || sleep 321" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "What the person did is there", look_at = "the file", how_to_test = "read it" }

[[conversation]]
role = "reviewer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "shell"
input = { command = "test -f seen.txt || sleep 321" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", summary = "fine", findings = [] }
"#;

/// A person with a tmux of their own.
struct Person {
    world: World,
    tmux: PathBuf,
}

impl Person {
    fn new() -> Self {
        let world = World::new(SCRIPT).unwrap();
        let tmux = world.outside().join("tmux");
        std::fs::create_dir(&tmux).unwrap();
        Self { world, tmux }
    }

    async fn does(&self, program: impl AsRef<std::ffi::OsStr>, words: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.args(words).current_dir(self.world.repository()).stdin(Stdio::null());
        command.env("HOLDPOINT_HOME", self.world.home()).env("TMUX_TMPDIR", &self.tmux).env_remove("TMUX");
        let output = command.output().await.unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    async fn holdpoint(&self, words: &[&str]) -> String {
        String::from_utf8(self.does(binary().unwrap(), words).await.stdout).unwrap().trim().to_owned()
    }

    async fn windows(&self) -> Vec<String> {
        let said = self.does("tmux", &["list-windows", "-a", "-F", "#{session_name}:#{window_name}"]).await;
        let mut all: Vec<String> = String::from_utf8_lossy(&said.stdout).lines().map(str::to_owned).collect();
        all.sort();
        all
    }

    async fn types(&self, window: &str, keys: &[&str]) {
        let target = format!("={window}");
        self.does("tmux", &[["send-keys", "-t", &target].as_slice(), keys].concat()).await;
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let mut ended = std::process::Command::new("tmux");
        let _ = ended.arg("kill-server").env("TMUX_TMPDIR", &self.tmux).stderr(Stdio::null()).status();
    }
}

fn seated(view: &Value) -> Option<bool> {
    view["attached"]["active"].as_bool()
}

fn window(id: &str, name: &str) -> String {
    format!("holdpoint-{}:{name}", &id[..6])
}

/// The person works in the window, leaves it, and says yes to the question that follows.
async fn works_and_hands_back(person: &Person, product: &Product, id: &str, name: &str, work: &str) {
    let window = window(id, name);
    person.types(&window, &[&format!("{work}; exit"), "Enter"]).await;
    product.until(id, |view| seated(view) == Some(false)).await.unwrap();
    person.types(&window, &["Enter"]).await;
    product.until(id, |view| seated(view).is_none()).await.unwrap();
}

#[tokio::test]
async fn two_workers_and_their_reviews_are_attached_in_tmux_and_handed_back() {
    let person = Person::new();
    let product = Product::start(&person.world.home(), &BTreeMap::new()).await.unwrap();
    let mut ids = Vec::new();
    for what in ["one", "two"] {
        let words = ["task", "create", &format!("Write {what} down"), "--model", "scripted/story"];
        ids.push(person.holdpoint(&words).await);
    }
    for id in &ids {
        product.until(id, |view| view["stage"] == "working").await.unwrap();
        person.holdpoint(&["attach", id]).await;
        let held = product.until(id, |view| seated(view) == Some(true)).await.unwrap();
        assert_eq!(held["hold"]["kind"], "paused", "the run waits: {held}");
    }
    let mut both: Vec<String> = ids.iter().map(|id| window(id, "worker")).collect();
    both.sort();
    assert_eq!(person.windows().await, both);
    // Who has it finds it again; there is still one window, and one session.
    person.holdpoint(&["attach", &ids[0]]).await;
    assert_eq!(person.windows().await, both);
    let listed: Value = serde_json::from_str(&person.holdpoint(&["task", "list", "--json"]).await).unwrap();
    assert!(listed.as_array().unwrap().iter().all(|task| task["session"] == "active"), "{listed}");
    for (id, what) in ids.iter().zip(["one", "two"]) {
        works_and_hands_back(&person, &product, id, "worker", &format!("echo {what} > {what}.txt")).await;
    }
    for id in &ids {
        product.until(id, |view| view["stage"] == "agent-review").await.unwrap();
        person.holdpoint(&["attach", id]).await;
        product.until(id, |view| seated(view) == Some(true)).await.unwrap();
        assert!(person.windows().await.contains(&window(id, "review-1")));
    }
    works_and_hands_back(&person, &product, &ids[0], "review-1", "touch seen.txt").await;
    // Or from anywhere else.
    person.types(&window(&ids[1], "review-1"), &["touch seen.txt; exit", "Enter"]).await;
    product.until(&ids[1], |view| seated(view) == Some(false)).await.unwrap();
    person.holdpoint(&["attach", &ids[1], "--hand-back"]).await;
    for (id, what) in ids.iter().zip(["one", "two"]) {
        product.until(id, |view| view["taskStatus"] == "reviewing").await.unwrap();
        person.holdpoint(&["task", "merge", id]).await;
        if what == "two" {
            // The first merge moved the base, and no checks prove the two together: that needs a yes of its own.
            let moved = |view: &Value| view["hold"]["summary"].as_str().is_some_and(|why| why.contains("has moved"));
            product.until(id, moved).await.unwrap();
            person.holdpoint(&["task", "merge", id]).await;
        }
        product.until(id, |view| view["taskStatus"] == "done").await.unwrap();
        let file = format!("main:{what}.txt");
        assert_eq!(person.world.git(&["show", &file]).unwrap(), what, "what the person did is what was merged");
    }
    product.stop().await.unwrap();
}

#[tokio::test]
async fn a_session_on_a_terminal_outlives_the_server_and_is_handed_back_to_the_next_one() {
    let person = Person::new();
    let product = Product::start(&person.world.home(), &BTreeMap::new()).await.unwrap();
    let id = person.holdpoint(&["task", "create", "Write one down", "--model", "scripted/story"]).await;
    product.until(&id, |view| view["stage"] == "working").await.unwrap();
    person.holdpoint(&["attach", &id]).await;
    let session = person.world.home().join("runs").join(&id).join("sessions/worker-1");
    let pipe = session.join("sat");
    std::fs::create_dir_all(&session).unwrap();
    person.does("mkfifo", &[pipe.to_str().unwrap()]).await;
    person.types(&window(&id, "worker"), &["echo one > one.txt; echo sat > ~/sat", "Enter"]).await;
    assert_eq!(tokio::fs::read_to_string(&pipe).await.unwrap(), "sat\n");
    product.kill().await.unwrap();
    let product = Product::start(&person.world.home(), &BTreeMap::new()).await.unwrap();
    product.until(&id, |view| seated(view) == Some(true)).await.unwrap();
    person.types(&window(&id, "worker"), &["cat one.txt > two.txt; exit", "Enter"]).await;
    product.until(&id, |view| seated(view) == Some(false)).await.unwrap();
    person.holdpoint(&["attach", &id, "--hand-back"]).await;
    product.until(&id, |view| view["stage"] == "agent-review").await.unwrap();
    let (_, diff) = product.get(&format!("/api/runs/{id}/diff")).await.unwrap();
    let files: Vec<&str> = diff["files"].as_array().unwrap().iter().filter_map(|file| file["path"].as_str()).collect();
    assert!(files.contains(&"one.txt") && files.contains(&"two.txt"), "{diff}");
    product.kill().await.unwrap();
}
