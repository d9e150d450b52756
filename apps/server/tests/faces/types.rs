//! The dashboard's types are of this server's document.

use reqwest::Method;
use sha2::{Digest as _, Sha256};

use crate::common::{Bench, TOKEN};

#[tokio::test]
async fn the_dashboards_types_are_generated_from_the_document_as_it_is() {
    let bench = Bench::start().await;
    let request = bench.bare(Method::GET, "/api/openapi.json").bearer_auth(TOKEN);
    let document = request.send().await.unwrap().bytes().await.unwrap();
    let digest: String = Sha256::digest(&document).iter().map(|byte| format!("{byte:02x}")).collect();
    let types = concat!(env!("CARGO_MANIFEST_DIR"), "/../web/src/api.ts");
    let text = std::fs::read_to_string(types).unwrap();
    let current = text.lines().any(|line| line == format!("// SHA-256 of the document: {digest}"));
    let remedy = "build the binary, then `npm run types -- ../../target/debug/holdpoint` in apps/web";
    assert!(current, "apps/web/src/api.ts is of another document: {remedy}");
}
