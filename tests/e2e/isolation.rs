//! A machine without bubblewrap: no agent is started in a weaker tier unless the user named the project.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use tests::product::Product;
use tests::world::World;

const STORY: &str = r##"
[[conversation]]
role = "planner"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_plan"
input = { title = "A note", body = "# A note\n\n```mermaid\nflowchart TD\n  A[Ask] --> B[Note]\n```\n" }

[[conversation]]
role = "implementer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "note.txt", content = "hello\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "A note is there" }

[[conversation]]
role = "validator"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", summary = "fine" }
"##;

/// A folder with every program of the machine but bubblewrap.
fn without_bubblewrap(folder: &Path) -> BTreeMap<String, String> {
    let programs = folder.join("bin");
    std::fs::create_dir(&programs).unwrap();
    for path in std::env::split_paths(&std::env::var_os("PATH").unwrap()) {
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            let name = entry.file_name();
            // The first of a name wins, as on a path.
            let taken = programs.join(&name).symlink_metadata().is_ok();
            if name != "bwrap" && !taken {
                std::os::unix::fs::symlink(entry.path(), programs.join(&name)).unwrap();
            }
        }
    }
    BTreeMap::from([("PATH".to_owned(), programs.display().to_string())])
}

fn stands(view: &Value) -> bool {
    view["completedAt"].is_string() || view["hold"].is_object()
}

#[tokio::test]
async fn without_bubblewrap_no_agent_is_started_and_the_hold_says_how_to_get_it() {
    let world = World::new(STORY).unwrap();
    let environment = without_bubblewrap(world.outside());
    let product = Product::start(&world.home(), &environment).await.unwrap();
    let body = json!({
        "project": world.repository(), "request": "Leave a note", "models": {"*": "scripted/story"},
        "trust": {"planning": "auto", "implementation": "auto", "fixes": "auto"}, "push": false,
    });
    let run = product.run(None, &body).await.unwrap();
    let held = product.until(run["id"].as_str().unwrap(), stands).await.unwrap();
    let summary = held["hold"]["summary"].as_str().unwrap_or_default();
    assert!(summary.contains("bubblewrap is not installed") && summary.contains("apt install bubblewrap"), "{held}");
    assert!(summary.contains("restricted_projects"), "{summary}");
    assert!(world.given().is_err(), "no model was asked, so it has no log");
    product.stop().await.unwrap();

    // The user names the project: the weaker tier is taken, and the run says so.
    let consent = format!("restricted_projects = [\"{}\"]\n", world.repository().display());
    std::fs::write(world.home().join("config.toml"), consent).unwrap();
    let product = Product::start(&world.home(), &environment).await.unwrap();
    let (status, said) = product.decide(&held, &json!({"decision": "retry"})).await.unwrap();
    assert_eq!(status, 200, "{said}");
    let hold = held["hold"]["id"].clone();
    let done =
        product.until(run["id"].as_str().unwrap(), |view| stands(view) && view["hold"]["id"] != hold).await.unwrap();
    assert_eq!((&done["status"], &done["tier"]), (&json!("completed"), &json!("restricted")), "{done}");
    product.stop().await.unwrap();
}

#[tokio::test]
async fn a_hosted_program_is_refused_in_the_restricted_tier_with_why_and_how_to_get_the_full_one() {
    let world = World::new(STORY).unwrap();
    let environment = without_bubblewrap(world.outside());
    let config = format!(
        "restricted_projects = [\"{}\"]\n[agents]\nplanner = \"command:sh -c true\"\n",
        world.repository().display()
    );
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(world.home().join("config.toml"), config).unwrap();
    let product = Product::start(&world.home(), &environment).await.unwrap();
    let body = json!({
        "project": world.repository(), "request": "Leave a note", "models": {"*": "scripted/story"},
        "trust": {"planning": "auto", "implementation": "auto", "fixes": "auto"}, "push": false,
    });
    let run = product.run(None, &body).await.unwrap();
    let held = product.until(run["id"].as_str().unwrap(), stands).await.unwrap();
    let summary = held["hold"]["summary"].as_str().unwrap_or_default();
    assert!(summary.contains("nothing was started") && summary.contains("has no sockets"), "{held}");
    assert!(summary.contains("apt install bubblewrap") && summary.contains("own agent"), "{summary}");
    product.stop().await.unwrap();
}
