//! The search's door as an agent meets it.

use broker::calls::{CallRecord, ReadSource};
use broker::{Grant, SearchGrant, Secret};
use serde_json::json;

use crate::kit::{Door, grant};

fn granted(endpoint: &str) -> Grant {
    let search = SearchGrant { endpoint: endpoint.into(), header: None, key: Secret::new("s3cret") };
    Grant { search: Some(search), ..grant(Vec::new()) }
}

#[tokio::test]
async fn without_a_grant_there_is_no_search_and_with_one_no_way_inside() {
    let (status, said) = Door::open(grant(Vec::new())).json("/search", &json!({"query": "x"})).await;
    assert_eq!(status, 404);
    assert!(said["error"]["message"].as_str().unwrap().contains("no web search is set up"), "{said}");
    let door = Door::open(granted("http://localhost:1/?q={query}"));
    assert_eq!(door.json("/search", &json!({"query": " "})).await.0, 400);
    assert_eq!(door.records(), [], "what is not asked brings nothing in");
    let (status, said) = door.json("/search", &json!({"query": "x"})).await;
    assert_eq!(status, 403);
    assert!(said["error"]["message"].as_str().unwrap().contains("private network"), "{said}");
    let read = |record: &CallRecord| matches!(record, CallRecord::Read(read) if read.source == ReadSource::Search);
    assert!(matches!(door.records().as_slice(), [record] if read(record)), "recorded before it was asked");
    for bad in [json!({"query": " "}), json!({"query": "x", "endpoint": "http://other/"}), json!(7)] {
        assert_eq!(door.json("/search", &bad).await.0, 400, "{bad}");
    }
}
