//! Vectors from a server of one's own, for who sets `EMBEDDINGS_URL` to the address of its `/v1/embeddings`: the same
//! questions are then asked by meaning too. The index itself never asks anybody; here `curl` does.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use index::Index;
use serde_json::{Value, json};

const BATCH: usize = 64;

/// A server that makes vectors.
pub(crate) struct Server {
    url: String,
}

impl Server {
    pub(crate) fn named() -> Option<Self> {
        Some(Self { url: std::env::var("EMBEDDINGS_URL").ok().filter(|url| !url.is_empty())? })
    }

    pub(crate) fn vectors(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        let mut curl = Command::new("curl")
            .args(["--silent", "--show-error", "--fail", "--header", "content-type: application/json"])
            .args(["--data", "@-", &self.url])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("curl can be started");
        let body = json!({"model": "bench", "input": texts}).to_string();
        curl.stdin.take().expect("it has an input").write_all(body.as_bytes()).expect("curl reads its input");
        let answer = curl.wait_with_output().expect("curl ends");
        assert!(answer.status.success(), "{} gave no vectors", self.url);
        let answer: Value = serde_json::from_slice(&answer.stdout).expect("the answer is JSON");
        let rows = answer["data"].as_array().expect("the answer has vectors");
        rows.iter().map(|row| serde_json::from_value(row["embedding"].clone()).expect("a vector is numbers")).collect()
    }

    /// Gives every chunk its vector.
    pub(crate) fn embed(&self, index: &mut Index, root: &Path) {
        let begun = Instant::now();
        index.embed_with(&self.url, self.vectors(&["?"])[0].len()).expect("the dimension is usual");
        let missing = index.missing_vectors(root, usize::MAX, |_| true).expect("the index can be read");
        for batch in missing.next.chunks(BATCH) {
            let texts: Vec<&str> = batch.iter().map(|chunk| chunk.text.as_str()).collect();
            let vectors = batch.iter().map(|chunk| chunk.digest).zip(self.vectors(&texts)).collect::<Vec<_>>();
            index.store_vectors(&vectors).expect("vectors can be stored");
        }
        println!("vectors of {} chunks: {:.1} s", missing.next.len(), begun.elapsed().as_secs_f64());
    }
}
