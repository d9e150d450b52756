//! A sample of the suite in which git calls fail; `make faults` walks through every call of every playbook.

use serde_json::json;
use tests::faults::{Fault, StandIn, When, play};
use tests::product::Product;
use tests::stories;
use tests::world::World;

#[tokio::test]
async fn a_git_call_that_fails_once_costs_nobody_anything() {
    let reference = play("autonomous", None).await.unwrap();
    assert_eq!((reference.held, &reference.problem), (0, &None));
    // Where a commit is made, where a branch has just moved, and where a whole tree is written or read.
    let of = |command: &str, nth: usize| {
        let found = reference.git_calls.iter().enumerate().filter(|(_, call)| call.starts_with(command)).nth(nth);
        u64::try_from(found.unwrap_or_else(|| panic!("no `{command}` call")).0 + 1).unwrap()
    };
    let faults = [
        Fault { call: of("update-ref", 2), when: When::After },
        Fault { call: of("fast-import", 0), when: When::Before },
        Fault { call: of("cat-file --batch", 1), when: When::Before },
        Fault { call: of("commit-tree", 2), when: When::After },
        Fault { call: of("index-pack", 0), when: When::After },
    ];
    for fault in faults {
        let went = play("autonomous", Some(fault)).await.unwrap();
        let place = format!("{fault:?} {}", reference.git_calls[usize::try_from(fault.call).unwrap() - 1]);
        assert_eq!((went.held, went.problem), (0, None), "{place}");
        assert_eq!((went.paid, went.files), (reference.paid, reference.files.clone()), "{place}");
    }
}

#[tokio::test]
async fn what_an_agent_handed_in_is_committed_by_a_retry_and_not_paid_for_again() {
    let paid = play("autonomous", None).await.unwrap().paid;
    let story = stories::of("autonomous").unwrap();
    let world = World::new(&story.script).unwrap();
    let stand_in = StandIn::new(&world).unwrap();
    // Only what an agent wrote is read this way.
    stand_in.fail_all("fast-import").unwrap();
    let product = Product::start(&world.home(), &stand_in.environment().unwrap()).await.unwrap();
    let mut request = story.request;
    request["project"] = json!(world.repository());
    request["trust"] = json!({"planning": "auto", "implementation": "auto", "fixes": "auto"});
    let run = product.run(None, &request).await.unwrap()["id"].as_str().unwrap().to_owned();
    let held = product.until(&run, |view| view["hold"].is_object()).await.unwrap();
    assert_eq!(held["hold"]["kind"], "stuck", "{held}");
    let summary = held["hold"]["summary"].as_str().unwrap();
    assert!(summary.contains("something is strange"), "{summary}");
    stand_in.fail_none().unwrap();
    let (status, body) = product.decide(&held, &json!({"decision": "retry"})).await.unwrap();
    assert_eq!(status, 200, "{body}");
    let ended = product.until(&run, |view| view["hold"].is_object() || view["status"] == "completed").await.unwrap();
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(world.given().unwrap().0, paid);
    assert_eq!(ended["spend"]["calls"].as_u64(), Some(paid));
    assert_eq!(world.git(&["show", "main:made.txt"]).unwrap(), "made");
    product.stop().await.unwrap();
}
