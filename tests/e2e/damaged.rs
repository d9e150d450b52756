//! Damage of one run in the database, by a disk or by hand: that run is left alone with words, the others go on.

use std::collections::BTreeMap;

use serde_json::json;
use tests::product::Product;
use tests::world::World;

use crate::runs::{story, verify};

async fn waiting(world: &World, product: &Product, request: &str) -> String {
    let body = json!({
        "project": world.repository(),
        "request": request,
        "trust": {"planning": "manual", "implementation": "auto", "fixes": "auto"},
        "models": {"planner": "scripted/story", "implementer": "scripted/story", "validator": "scripted/story"},
    });
    let run = product.run(None, &body).await.unwrap();
    let id = run["id"].as_str().unwrap().to_owned();
    product.until(&id, |view| view["hold"]["kind"] == "approval").await.unwrap();
    id
}

/// Two runs that wait, of which the first is then edited while no server is up.
async fn edited(edit: &str) -> (World, Product, String, String) {
    let world = World::new(&story("mkdir notes && echo x > notes/x")).unwrap();
    let product = Product::start(&world.home(), &BTreeMap::new()).await.unwrap();
    let bad = waiting(&world, &product, "The first").await;
    let good = waiting(&world, &product, "The second").await;
    product.stop().await.unwrap();
    let database = rusqlite::Connection::open(world.home().join("holdpoint.db")).unwrap();
    let edit = edit.replace("RUN", &format!("(SELECT number FROM workflow_runs WHERE id = '{bad}')"));
    database.execute_batch(&edit).unwrap();
    assert!(database.changes() > 0, "the edit hits something");
    drop(database);
    let product = Product::start(&world.home(), &BTreeMap::new()).await.unwrap();
    (world, product, bad, good)
}

/// The other run is listed, shown, watched and decided on; of the damaged one it is said.
async fn others_go_on(edit: &str, shown: u16) {
    let (world, product, bad, good) = edited(edit).await;
    let (health, _) = product.get("/healthz").await.unwrap();
    assert_eq!(health, 200, "{edit}");
    let (status, list) = product.get("/api/runs").await.unwrap();
    assert_eq!(status, 200, "{edit}: {list}");
    assert!(list.as_array().unwrap().iter().any(|run| run["id"] == *good), "{edit}: {list}");
    let (status, said) = product.get(&format!("/api/runs/{bad}")).await.unwrap();
    assert_eq!(status, shown, "{edit}: {said}");
    if status == 500 {
        assert_eq!(said["code"], "run_unreadable", "{edit}");
        assert!(said["message"].as_str().is_some_and(|said| said.contains(&bad)), "{edit}: {said}");
    }
    let (status, holds) = product.get("/api/holds").await.unwrap();
    assert_eq!(status, 200, "{edit}: {holds}");
    let (_, view) = product.get(&format!("/api/runs/{good}")).await.unwrap();
    let (status, said) = product.decide(&view, &json!({"decision": "approve"})).await.unwrap();
    assert_eq!(status, 200, "{edit}: {said}");
    let view = product
        .until(&good, |view| view["completedAt"].is_string() || view["hold"].is_object() && view["stage"] != "planning")
        .await
        .unwrap();
    assert_ne!(view["status"], "failed", "{edit}: {view}");
    assert_eq!(product.get("/healthz").await.unwrap().0, 200, "{edit}");
    product.stop().await.unwrap();
    let said = verify(&world).await;
    assert!(said.contains(&bad), "{edit}: {said}");
}

const LAST: &str = "run = RUN AND sequence = (SELECT max(sequence) FROM workflow_events WHERE run = RUN)";

#[tokio::test]
async fn an_event_that_does_not_decode_costs_only_its_run() {
    others_go_on(&format!("UPDATE workflow_events SET payload = '{{\"hold\":' WHERE {LAST}"), 500).await;
}

#[tokio::test]
async fn an_event_of_an_unknown_type_costs_only_its_run() {
    others_go_on(&format!("UPDATE workflow_events SET type = 'TELEPORTED' WHERE {LAST}"), 500).await;
}

#[tokio::test]
async fn an_event_that_is_no_text_or_has_no_time_costs_only_its_run() {
    others_go_on(&format!("UPDATE workflow_events SET payload = x'fffe00' WHERE {LAST}"), 500).await;
    others_go_on(&format!("UPDATE workflow_events SET timestamp = 9223372036854775807 WHERE {LAST}"), 500).await;
}

#[tokio::test]
async fn a_row_that_does_not_decode_costs_only_its_run() {
    others_go_on("UPDATE workflow_runs SET hold = '{' WHERE number = RUN", 200).await;
    others_go_on("UPDATE workflow_runs SET status = 'enlightened' WHERE number = RUN", 200).await;
}

#[tokio::test]
async fn every_edit_of_a_run_by_hand_is_said_by_verify() {
    let world = World::new(&story("mkdir notes && echo x > notes/x")).unwrap();
    let product = Product::start(&world.home(), &BTreeMap::new()).await.unwrap();
    let run = waiting(&world, &product, "The first").await;
    waiting(&world, &product, "The second").await;
    product.stop().await.unwrap();
    let place = world.home().join("holdpoint.db");
    assert!(verify(&world).await.ends_with(" 0 violations"));
    let database = rusqlite::Connection::open(&place).unwrap();
    database.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(database);
    let whole = std::fs::read(&place).unwrap();
    let columns = "run, workflow_run_id, type, payload, timestamp, form";
    for (edit, said) in [
        ("UPDATE workflow_runs SET status = 'completed' WHERE number = RUN".to_owned(), "its row is not what"),
        ("UPDATE workflow_runs SET original_request = 'Another' WHERE number = RUN".to_owned(), "its row is not what"),
        (format!("UPDATE workflow_events SET timestamp = timestamp - 60000 WHERE {LAST}"), "was changed or taken out"),
        (format!("UPDATE workflow_events SET type = 'APPROVAL_GRANTED' WHERE {LAST}"), "cannot be read"),
        (format!("DELETE FROM workflow_events WHERE {LAST}"), "but has"),
        (
            format!(
                "DELETE FROM workflow_events WHERE {LAST}; UPDATE workflow_runs SET version = version - 1 WHERE number = RUN"
            ),
            "taken out",
        ),
        (
            format!(
                "INSERT INTO workflow_events ({columns}, sequence) SELECT run, workflow_run_id, 'APPROVAL_GRANTED', \
                 '{{\"hold\":{{}}}}', timestamp, form, sequence + 1 FROM workflow_events WHERE {LAST}; \
                 UPDATE workflow_runs SET version = version + 1 WHERE number = RUN"
            ),
            "cannot be read",
        ),
        (
            format!(
                "INSERT INTO workflow_events ({columns}, sequence) SELECT {columns}, sequence + 1 FROM workflow_events \
                 WHERE {LAST}; UPDATE workflow_runs SET version = version + 1 WHERE number = RUN"
            ),
            "was changed or taken out",
        ),
    ] {
        let database = rusqlite::Connection::open(&place).unwrap();
        let number = format!("(SELECT number FROM workflow_runs WHERE id = '{run}')");
        database.execute_batch(&edit.replace("RUN", &number)).unwrap();
        drop(database);
        let found = verify(&world).await;
        assert!(found.contains(&run) && found.contains(said), "{edit}: {found}");
        for left in ["holdpoint.db-wal", "holdpoint.db-shm"] {
            let _gone = std::fs::remove_file(world.home().join(left));
        }
        std::fs::write(&place, &whole).unwrap();
    }
    assert!(verify(&world).await.ends_with(" 0 violations"));
}
