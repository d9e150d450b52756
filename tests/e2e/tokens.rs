//! Where a token may stand: in a header, and nowhere that is written down.

use std::collections::BTreeMap;
use std::process::Stdio;

use tests::product::Product;
use tests::world::World;

#[tokio::test]
async fn a_token_in_an_address_or_a_header_reaches_no_log_and_no_answer() {
    let world = World::new("[[conversation]]\nrole = \"planner\"\n[[conversation.turn]]\ntext = \"x\"\n").unwrap();
    let path = world.outside().join("server.log");
    let log = Stdio::from(std::fs::File::create(&path).unwrap());
    let all = BTreeMap::from([("HOLDPOINT_LOG".to_owned(), "trace".to_owned())]);
    let product = Product::start_logging_to(log, &world.home(), &all).await.unwrap();
    let token = product.token().to_owned();
    let http = reqwest::Client::new();
    for query in [format!("token={token}"), format!("x=1&access_token={token}")] {
        let answer = http.get(format!("{}/api/runs?{query}", product.url())).bearer_auth(&token).send().await.unwrap();
        assert_eq!(answer.status(), 400);
        assert!(!answer.text().await.unwrap().contains(&token));
    }
    assert_eq!(product.get("/api/runs").await.unwrap().0, 200);
    product.stop().await.unwrap();
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(!written.is_empty(), "at this level something is always said");
    assert!(!written.contains(&token), "{}", written.lines().find(|line| line.contains(&token)).unwrap_or_default());
}
