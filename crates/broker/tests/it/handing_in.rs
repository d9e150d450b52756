//! Handing in, as the host of an agent and as everybody else in its sandbox meet it.

use std::sync::{Arc, Mutex};

use broker::HandIns;
use serde_json::json;

use crate::kit::{Door, grant};

#[tokio::test]
async fn only_who_knows_the_nonce_hands_in_and_only_once() {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let inner = Arc::clone(&kept);
    let keep = move |bytes: &[u8]| {
        inner.lock().unwrap().push(String::from_utf8(bytes.to_vec()).unwrap());
        Ok(())
    };
    let door = Door::taking(grant(Vec::new()), HandIns::new("n0nce".to_owned(), Box::new(keep)));
    let (pass, fail) = (json!({"verdict": "pass"}), json!({"verdict": "fail"}));
    let say = async |nonce: Option<&str>, body| {
        let request = door.post("/handed-in", body);
        let request =
            nonce.map_or_else(|| door.post("/handed-in", body), |nonce| request.header("x-holdpoint-nonce", nonce));
        request.send().await.unwrap().status().as_u16()
    };
    for nonce in [None, Some(""), Some("n0nc"), Some("n0nce0"), Some("guess")] {
        assert_eq!(say(nonce, &pass).await, 403, "{nonce:?}");
    }
    assert_eq!(*kept.lock().unwrap(), [""; 0]);
    assert_eq!(say(Some("n0nce"), &fail).await, 200);
    assert_eq!(say(Some("n0nce"), &fail).await, 200, "an answer can be lost");
    assert_eq!(say(Some("n0nce"), &pass).await, 409);
    assert_eq!(*kept.lock().unwrap(), [fail.to_string()]);
    let nowhere = Door::open(grant(Vec::new()));
    assert_eq!(nowhere.json("/handed-in", &fail).await.0, 404, "a check hands nothing in");
}
