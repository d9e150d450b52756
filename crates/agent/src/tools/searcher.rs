//! The index of a session, kept in step with the workspace, and asked. It lies in the session folder. Where the user
//! named a model for it, chunks are embedded as questions come; those of files that hold secrets never are.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use drivers::INDEX_FILE;
use index::{Hit, Index, IndexError, Missing, Scope};

use super::ToolError;
use super::embedder::{BATCH, Embedder};
use crate::policy::Policy;

/// Chunks that one call has embedded at most, and for how long: a model waits for the answer.
const MOST_EMBEDDED: usize = 1_024;
const LONGEST_EMBEDDING: Duration = Duration::from_secs(60);

/// The index of this session, opened at the first question, and who makes vectors for it.
#[derive(Debug, Clone)]
pub(crate) struct Searcher {
    path: PathBuf,
    open: Arc<Mutex<Option<Index>>>,
    embedder: Option<Embedder>,
    /// Held while chunks are embedded: two questions at once must not pay for the same ones.
    embedding: Arc<tokio::sync::Mutex<()>>,
}

/// Whether the folder is looked at before the index is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Folder {
    LookedAt,
    AsKnown,
}

/// What a question means, as far as that could be found out.
#[derive(Debug, Default)]
struct Meaning {
    vector: Option<Vec<f32>>,
    /// What the model should know about the ranking.
    note: Option<String>,
}

impl Searcher {
    pub(super) fn new(session: &Path, door: &Path, embeddings: Option<&str>) -> Self {
        Self {
            path: session.join(INDEX_FILE),
            open: Arc::default(),
            embedder: embeddings.map(|model| Embedder::new(door, model)),
            embedding: Arc::default(),
        }
    }

    /// The places that answer a question best.
    pub(super) async fn find(
        &self,
        root: &Path,
        question: &str,
        under: Option<String>,
        most: usize,
    ) -> Result<Found, ToolError> {
        let (folder, meaning) = match &self.embedder {
            None => (Folder::LookedAt, Meaning::default()),
            Some(embedder) => (Folder::AsKnown, self.meaning(embedder, root, question).await?),
        };
        let Meaning { vector, note } = meaning;
        let asked = question.to_owned();
        let search = move |index: &mut Index| {
            let scope = Scope { under: under.as_deref(), most };
            match index.search(&asked, vector.as_deref(), scope) {
                Err(IndexError::Vector(_)) => index.search(&asked, None, scope),
                answered => answered,
            }
        };
        Ok(Found { hits: self.on_index(root, folder, search).await?, note })
    }

    /// Asks for the question's vector, and for those of chunks that have none yet. Whatever fails there leaves the
    /// words to go by.
    async fn meaning(&self, embedder: &Embedder, root: &Path, question: &str) -> Result<Meaning, ToolError> {
        let by_words = |why: &dyn std::fmt::Display| Some(format!("ranked by words alone: {why}"));
        let vector = match embedder.vectors(&[question]).await {
            Ok(mut vectors) => vectors.remove(0),
            Err(why) => {
                self.on_index(root, Folder::LookedAt, |_| Ok(())).await?;
                return Ok(Meaning { vector: None, note: by_words(&why) });
            }
        };
        let (model, dimension, folder) = (embedder.model.clone(), vector.len(), root.to_owned());
        let _only = self.embedding.lock().await;
        let missing = move |index: &mut Index| {
            let rules = Policy::new("", &[]);
            match index.embed_with(&model, dimension) {
                Err(IndexError::Vector(why)) => return Ok(Err(why)),
                other => other?,
            }
            index.missing_vectors(&folder, MOST_EMBEDDED, |path| !rules.is_sensitive(path)).map(Ok)
        };
        let missing = match self.on_index(root, Folder::LookedAt, missing).await? {
            Ok(missing) => missing,
            Err(why) => return Ok(Meaning { vector: None, note: by_words(&why) }),
        };
        let note = self.embed(embedder, root, missing).await?;
        Ok(Meaning { vector: Some(vector), note })
    }

    /// Each batch is kept before the next is asked for, so that nothing is paid twice. What stays without is told.
    async fn embed(&self, embedder: &Embedder, root: &Path, missing: Missing) -> Result<Option<String>, ToolError> {
        let begun = Instant::now();
        let (mut without, mut why) = (missing.next.len() + missing.left, None);
        for batch in missing.next.chunks(BATCH) {
            if begun.elapsed() > LONGEST_EMBEDDING {
                break;
            }
            let texts: Vec<&str> = batch.iter().map(|chunk| chunk.text.as_str()).collect();
            let vectors = match embedder.vectors(&texts).await {
                Ok(vectors) => vectors,
                Err(error) => {
                    why = Some(error.to_string());
                    break;
                }
            };
            let vectors: Vec<_> = batch.iter().map(|chunk| chunk.digest).zip(vectors).collect();
            let count = vectors.len();
            let stored = self.on_index(root, Folder::AsKnown, move |index| match index.store_vectors(&vectors) {
                Err(IndexError::Vector(why)) => Ok(Some(why)),
                stored => stored.map(|()| None),
            });
            why = stored.await?;
            if why.is_some() {
                break;
            }
            without -= count;
        }
        let why = why.unwrap_or_else(|| match missing.next.is_empty() {
            true => "the index has no room for more".to_owned(),
            false => format!("each search adds up to {MOST_EMBEDDED}"),
        });
        let told = || {
            format!("{without} of {} places have no vector yet and are ranked by words alone: {why}", missing.wanted)
        };
        Ok((without > 0).then(told))
    }

    /// Works with the index on a thread that may wait: the first look at a folder takes seconds.
    async fn on_index<T: Send + 'static>(
        &self,
        root: &Path,
        folder: Folder,
        work: impl FnMut(&mut Index) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let (searcher, root) = (self.clone(), root.to_owned());
        tokio::task::spawn_blocking(move || searcher.with_index(&root, folder, work))
            .await
            .map_err(|error| ToolError::Refused(format!("the search ended early: {error}; use grep instead")))?
            .map_err(|error| ToolError::Refused(format!("{error}; use grep and glob_search instead")))
    }

    /// A damaged index is made anew, and the work done on that.
    fn with_index<T>(
        &self,
        root: &Path,
        folder: Folder,
        mut work: impl FnMut(&mut Index) -> Result<T, IndexError>,
    ) -> Result<T, IndexError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut index = match (open.take(), folder) {
            (None, _) => Index::open_for(&self.path, root)?.0,
            (Some(index), Folder::AsKnown) => index,
            (Some(mut index), Folder::LookedAt) => match index.refresh(root) {
                Ok(_) => index,
                Err(error) if error.is_damage() => index.made_anew(root)?.0,
                Err(error) => return Err(error),
            },
        };
        match work(&mut index) {
            Err(error) if error.is_damage() => work(open.insert(index.made_anew(root)?.0)),
            done => {
                *open = Some(index);
                done
            }
        }
    }
}

/// Places, and what to know about how they were ranked.
pub(super) struct Found {
    pub(super) hits: Vec<Hit>,
    pub(super) note: Option<String>,
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::StatusCode;
    use axum::routing::post;
    use serde_json::{Value, json};

    use super::super::fixture::{desk, with_embeddings};
    use super::super::{Desk, WorkTool};
    use super::*;
    use crate::model::SOCKET;

    /// A broker whose model knows two topics; says no from the n-th request on.
    #[derive(Clone)]
    struct Broker {
        told: Arc<Mutex<Vec<Vec<String>>>>,
        answers: usize,
    }

    impl Broker {
        fn start(folder: &Path, answers: usize) -> Self {
            let broker = Self { told: Arc::default(), answers };
            // A socket of a broker before it is taken over.
            let _ = std::fs::remove_file(folder.join(SOCKET));
            let listener = tokio::net::UnixListener::bind(folder.join(SOCKET)).unwrap();
            let inner = broker.clone();
            let answer = async move |body: axum::Json<Value>| inner.answer(&body["input"]);
            tokio::spawn(async move { axum::serve(listener, Router::new().route("/embeddings", post(answer))).await });
            broker
        }

        fn answer(&self, input: &Value) -> (StatusCode, axum::Json<Value>) {
            let texts: Vec<String> = serde_json::from_value(input.clone()).unwrap();
            let mut told = self.told.lock().unwrap();
            told.push(texts.clone());
            if told.len() > self.answers {
                let error = json!({"error": {"message": "the spend limit of $1.00 does not cover this call"}});
                return (StatusCode::PAYMENT_REQUIRED, axum::Json(error));
            }
            let topic =
                |text: &str, words: [&str; 2]| if words.iter().any(|word| text.contains(word)) { 1.0 } else { 0.1 };
            let vector =
                |text: &String| json!([topic(text, ["dun", "owes"]), topic(text, ["walrus", "sea animal"]), 0.1]);
            let data: Vec<Value> = texts.iter().map(|text| json!({"embedding": vector(text)})).collect();
            (StatusCode::OK, axum::Json(json!({"data": data})))
        }

        fn told(&self) -> Vec<usize> {
            self.told.lock().unwrap().iter().map(Vec::len).collect()
        }
    }

    async fn find(desk: &Desk, query: &str) -> String {
        WorkTool::SemanticSearch.run(desk, &json!({"query": query})).await.unwrap_or_else(|error| error.to_string())
    }

    const FILES: [(&str, &str); 3] =
        [("pay.rs", "fn dun() {}\n"), ("zoo.rs", "fn walrus() {}\n"), (".env", "DUN_KEY=dun-secret\n")];

    #[tokio::test]
    async fn a_place_is_found_by_its_meaning_and_only_what_changed_is_told_again() {
        let (folder, words) = desk(&FILES);
        assert!(find(&words, "which customer owes us").await.contains("nothing is like"));
        let broker = Broker::start(folder.path(), usize::MAX);
        let desk = with_embeddings(&folder, "house/m");
        let found = find(&desk, "which customer owes us").await;
        assert!(found.starts_with("pay.rs:1-1 dun") && !found.contains("ranked by words"), "{found}");
        assert_eq!(broker.told(), [1, 2], "the question, then the chunks, without the file that holds secrets");
        assert!(find(&desk, "a sea animal").await.starts_with("zoo.rs"));
        std::fs::write(desk.workspace.root().join("pay.rs"), "fn dun() {}\n\nfn walrus_feed() {}\n").unwrap();
        find(&desk, "a sea animal").await;
        assert_eq!(broker.told(), [1, 2, 1, 1, 1], "one new chunk");
        let again = with_embeddings(&folder, "house/m");
        find(&again, "a sea animal").await;
        assert_eq!(broker.told().last(), Some(&1), "vectors outlive the process");
        find(&with_embeddings(&folder, "house/other"), "a sea animal").await;
        assert_eq!(broker.told()[6..], [1, 3], "another model is told everything");
        let told = broker.told.lock().unwrap().concat().join("\n");
        assert!(!told.contains("dun-secret"), "{told}");
    }

    #[tokio::test]
    async fn without_vectors_the_words_decide_and_that_is_said() {
        let (folder, _) = desk(&FILES);
        let desk = with_embeddings(&folder, "house/m");
        let found = find(&desk, "dun").await;
        assert!(found.starts_with("pay.rs:1-1 dun"), "{found}");
        assert!(found.contains("(ranked by words alone: the embedding model could not be asked"), "{found}");
        let broker = Broker::start(folder.path(), 0);
        let desk = with_embeddings(&folder, "house/m");
        let found = find(&desk, "dun").await;
        assert!(found.starts_with("pay.rs:1-1 dun"), "{found}");
        assert!(
            found.ends_with("(ranked by words alone: the spend limit of $1.00 does not cover this call)"),
            "{found}"
        );
        assert!(find(&desk, "zebra").await.contains("try other words, or grep for a name\n(ranked by words alone"));
        assert_eq!(broker.told(), [1], "who said no is not asked again at once");
    }

    #[tokio::test]
    async fn what_stays_without_a_vector_is_told_and_what_is_paid_is_kept() {
        let many: Vec<(String, String)> =
            (0..70).map(|at| (format!("f{at:02}.rs"), format!("fn step{at}() {{}}\n"))).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let (folder, _) = desk(&many);
        let broker = Broker::start(folder.path(), 2);
        let found = find(&with_embeddings(&folder, "house/m"), "step7").await;
        assert!(found.starts_with("f07.rs"), "{found}");
        let note = "(6 of 70 places have no vector yet and are ranked by words alone: the spend limit";
        assert!(found.contains(note), "{found}");
        assert_eq!(broker.told(), [1, 64, 6]);
        let broker = Broker::start(folder.path(), usize::MAX);
        assert!(!find(&with_embeddings(&folder, "house/m"), "step7").await.contains("no vector yet"));
        assert_eq!(broker.told(), [1, 6]);
    }

    #[tokio::test]
    async fn two_questions_at_once_pay_for_each_chunk_once() {
        let (folder, _) = desk(&FILES);
        let broker = Broker::start(folder.path(), usize::MAX);
        let desk = with_embeddings(&folder, "house/m");
        tokio::join!(find(&desk, "who owes"), find(&desk, "a sea animal"));
        let mut told = broker.told();
        told.sort_unstable();
        assert_eq!(told, [1, 1, 2]);
    }
}
