//! Vectors of texts, from the model the user named. The broker asks it, outside the sandbox; here only the texts are
//! named. Never asks twice by itself: the broker has the patience, and after a failure there is a rest.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::model::SOCKET;
use crate::shorten;

/// Texts in one request; the broker takes no more.
pub(super) const BATCH: usize = 64;
const PATIENCE: Duration = Duration::from_secs(120);
/// After a failure nothing is asked for so long: who just said no will hardly say yes, and every try costs seconds.
const REST: Duration = Duration::from_secs(60);
const MOST_SAID: usize = 300;

/// Why there are no vectors; the words go to the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoVectors {
    #[error("{0}")]
    Refused(String),
    #[error("the embedding model could not be asked: {0}")]
    NotAsked(String),
    #[error("the embedding model's answer cannot be used: {0}")]
    Unusable(String),
}

#[derive(Debug, Clone)]
pub(super) struct Embedder {
    socket: PathBuf,
    pub(super) model: String,
    failed: Arc<Mutex<Option<(Instant, NoVectors)>>>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Embedder {
    pub(super) fn new(door: &Path, model: &str) -> Self {
        Self { socket: door.join(SOCKET), model: model.to_owned(), failed: Arc::default() }
    }

    /// One vector per text, all of one dimension, in the order of the texts.
    pub(super) async fn vectors(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, NoVectors> {
        if let Some((since, why)) = &*self.failed.lock().unwrap_or_else(PoisonError::into_inner)
            && since.elapsed() < REST
        {
            return Err(why.clone());
        }
        let answered = self.asked(texts).await;
        let failed = answered.as_ref().err().map(|why| (Instant::now(), why.clone()));
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = failed;
        answered
    }

    async fn asked(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, NoVectors> {
        let failed = |error: reqwest::Error| NoVectors::NotAsked(error.to_string());
        let client = reqwest::Client::builder()
            .unix_socket(self.socket.clone())
            .no_proxy()
            .tls_certs_only([])
            .timeout(PATIENCE)
            .build()
            .map_err(failed)?;
        let response = client.post("http://broker/embeddings").json(&json!({"input": texts})).send().await;
        let response = response.map_err(failed)?;
        let status = response.status();
        let body = response.bytes().await.map_err(failed)?;
        if !status.is_success() {
            let said: Value = serde_json::from_slice(&body).unwrap_or_default();
            let said = said["error"]["message"].as_str().map(|said| shorten::one_line(said, MOST_SAID));
            return Err(NoVectors::Refused(said.unwrap_or_else(|| format!("the embedding model answered {status}"))));
        }
        let answer: Answer = serde_json::from_slice(&body).map_err(|error| NoVectors::Unusable(error.to_string()))?;
        in_order(answer.data, texts.len())
    }
}

fn in_order(rows: Vec<Row>, wanted: usize) -> Result<Vec<Vec<f32>>, NoVectors> {
    let unusable = |why: String| Err(NoVectors::Unusable(why));
    if rows.len() != wanted {
        return unusable(format!("it has {} vectors for {wanted} texts", rows.len()));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; wanted];
    for (at, row) in rows.into_iter().enumerate() {
        match vectors.get_mut(row.index.unwrap_or(at)) {
            Some(place @ None) if !row.embedding.is_empty() => *place = Some(row.embedding),
            Some(_) | None => return unusable("a vector is empty, or not where it belongs".to_owned()),
        }
    }
    let vectors: Vec<Vec<f32>> = vectors.into_iter().flatten().collect();
    match vectors.iter().all(|vector| vector.len() == vectors[0].len()) {
        true => Ok(vectors),
        false => unusable("its vectors are not of one dimension".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rows: Value, wanted: usize, expected: Result<Vec<Vec<f32>>, &str>) {
        let answer: Answer = serde_json::from_value(json!({"data": rows})).unwrap();
        match (in_order(answer.data, wanted), expected) {
            (Ok(vectors), expected) => assert_eq!(Ok(vectors), expected),
            (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
            (Err(error), Ok(_)) => panic!("{error}"),
        }
    }

    #[test]
    fn vectors_are_put_where_their_number_says_and_nothing_else_is_taken() {
        let (one, two) = (json!([1.0, 0.0]), json!([0.0, 1.0]));
        let swapped = json!([{"index": 1, "embedding": two}, {"index": 0, "embedding": one}]);
        check(swapped, 2, Ok(vec![vec![1.0, 0.0], vec![0.0, 1.0]]));
        check(json!([{"embedding": one}]), 1, Ok(vec![vec![1.0, 0.0]]));
        check(json!([{"embedding": one}]), 2, Err("1 vectors for 2 texts"));
        check(json!([{"index": 0, "embedding": one}, {"index": 0, "embedding": two}]), 2, Err("where it belongs"));
        check(json!([{"index": 9, "embedding": one}]), 1, Err("where it belongs"));
        check(json!([{"embedding": []}]), 1, Err("empty"));
        check(json!([{"embedding": one}, {"embedding": [1.0]}]), 2, Err("one dimension"));
    }
}
