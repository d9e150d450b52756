//! Vectors of chunks: which are missing, and which are nearest to a question's. Never computes one: a model does that,
//! and who asks it brings them here.
//!
//! Invariant: every stored vector is of the one model and dimension in `embedding`, and of length 1, so that a damaged
//! one shows and is forgotten.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use rusqlite::{OptionalExtension, params};

use crate::chunk;
use crate::language::Language;
use crate::refresh::content;
use crate::search::Ranked;
use crate::spoken::{self, Digest};
use crate::store::{Index, IndexError};

/// An index is copied for every conversation, so it may not grow without end.
const MOST_STORED_BYTES: usize = 256 * 1024 * 1024;
const MOST_DIMENSIONS: usize = 8_192;
/// Files that are ranked by their vectors; further down everything is equally far away.
const MOST_FILES: usize = 200;
/// How far from 1 the square of a length may be by rounding.
const ROUNDING: f64 = 0.01;

/// A chunk that has no vector yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unembedded {
    /// Goes back with the vector.
    pub digest: Digest,
    /// What the model is to be told.
    pub text: String,
}

/// Chunks without a vector.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Missing {
    /// As many as were asked for: definitions and sections first, what lies between them last.
    pub next: Vec<Unembedded>,
    /// Others beside them.
    pub left: usize,
    /// Chunks that are wanted, with or without a vector.
    pub wanted: usize,
}

impl Index {
    /// Names the model whose vectors are kept. Those of another one, or of another dimension, are dropped.
    pub fn embed_with(&mut self, model: &str, dimension: usize) -> Result<(), IndexError> {
        if !(1..=MOST_DIMENSIONS).contains(&dimension) {
            return Err(IndexError::Vector(format!("it has {dimension} numbers")));
        }
        self.chosen(model, dimension).map_err(|source| self.failed(source))
    }

    /// Chunks without a vector, of files that are wanted, at most so many; their text is read from the folder, so one
    /// that changed since the last refresh is left out.
    pub fn missing_vectors(
        &self,
        root: &Path,
        most: usize,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Missing, IndexError> {
        let (places, known) = self.unembedded(wanted).map_err(|source| self.failed(source))?;
        let room = self.room().map_err(|source| self.failed(source))?;
        let mut by_file: BTreeMap<&str, BTreeSet<Digest>> = BTreeMap::new();
        let mut taken: BTreeSet<Digest> = BTreeSet::new();
        let mut missing = Missing { wanted: known, ..Missing::default() };
        for (path, digest) in &places {
            if taken.contains(digest) {
                continue;
            }
            missing.wanted += 1;
            if taken.len() < most.min(room) {
                taken.insert(*digest);
                by_file.entry(path).or_default().insert(*digest);
            } else {
                missing.left += 1;
            }
        }
        missing.next = by_file.into_iter().flat_map(|(path, digests)| texts(root, path, digests)).collect();
        Ok(missing)
    }

    /// Keeps vectors of chunks. What is not of the dimension in use, or points nowhere, is refused, and nothing kept.
    pub fn store_vectors(&mut self, vectors: &[(Digest, Vec<f32>)]) -> Result<(), IndexError> {
        let dimension = self.dimension().map_err(|source| self.failed(source))?;
        let mut ready = Vec::with_capacity(vectors.len());
        for (digest, vector) in vectors {
            ready.push((digest, bytes(&unit(vector, dimension)?)));
        }
        self.keep(&ready).map_err(|source| self.failed(source))
    }

    fn chosen(&mut self, model: &str, dimension: usize) -> rusqlite::Result<()> {
        let wanted = (model.to_owned(), u32::try_from(dimension).unwrap_or(u32::MAX));
        let known = self
            .connection
            .query_row("SELECT model, dimension FROM embedding", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        if known.as_ref() == Some(&wanted) {
            return Ok(());
        }
        let transaction = self.connection.transaction()?;
        transaction.execute_batch("DELETE FROM vectors; DELETE FROM embedding;")?;
        transaction.execute("INSERT INTO embedding VALUES (1, ?1, ?2)", params![wanted.0, wanted.1])?;
        transaction.commit()
    }

    /// Wanted chunks without a vector, best first, and how many different ones have theirs.
    fn unembedded(&self, wanted: impl Fn(&str) -> bool) -> rusqlite::Result<(Vec<(String, Digest)>, usize)> {
        let mut query = self.connection.prepare_cached(
            "SELECT files.path, chunks.digest, vectors.id IS NOT NULL FROM chunks
             JOIN files ON files.id = chunks.file LEFT JOIN vectors ON vectors.digest = chunks.digest
             ORDER BY chunks.symbol IS NULL, chunks.id",
        )?;
        let mut rows = query.query([])?;
        let (mut places, mut known) = (Vec::new(), BTreeSet::new());
        while let Some(row) = rows.next()? {
            let path = row.get_ref(0)?.as_str()?;
            match (wanted(path), row.get(2)?) {
                (false, _) => {}
                (true, true) => drop(known.insert(row.get::<_, Digest>(1)?)),
                (true, false) => places.push((path.to_owned(), row.get(1)?)),
            }
        }
        Ok((places, known.len()))
    }

    fn room(&self) -> rusqlite::Result<usize> {
        let stored: u32 = self.connection.query_row("SELECT count(*) FROM vectors", [], |row| row.get(0))?;
        Ok((MOST_STORED_BYTES / (4 * self.dimension()?.max(1))).saturating_sub(stored as usize))
    }

    /// Zero where no model was named.
    fn dimension(&self) -> rusqlite::Result<usize> {
        let query = self.connection.query_row("SELECT dimension FROM embedding", [], |row| row.get::<_, u32>(0));
        Ok(query.optional()?.unwrap_or(0) as usize)
    }

    fn keep(&mut self, ready: &[(&Digest, Vec<u8>)]) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        for (digest, vector) in ready {
            transaction
                .prepare_cached("INSERT OR REPLACE INTO vectors (digest, vector) VALUES (?1, ?2)")?
                .execute(params![digest, vector])?;
        }
        transaction.commit()
    }

    pub(crate) fn forget_orphans(&self) -> rusqlite::Result<()> {
        let orphans = "DELETE FROM vectors WHERE NOT EXISTS
            (SELECT 1 FROM chunks WHERE chunks.digest = vectors.digest)";
        self.connection.execute(orphans, []).map(drop)
    }

    /// The files nearest to a question's vector, best first, each with its one or two nearest chunks.
    pub(crate) fn nearest(&self, question: &[f32]) -> Result<Vec<Ranked>, IndexError> {
        let dimension = self.dimension().map_err(|source| self.failed(source))?;
        let question = unit(question, dimension)?;
        self.near(&question).map_err(|source| self.failed(source))
    }

    fn near(&self, question: &[f32]) -> rusqlite::Result<Vec<Ranked>> {
        let mut query = self.connection.prepare_cached(
            "SELECT chunks.id, chunks.file, vectors.id, vectors.vector FROM vectors
             JOIN chunks ON chunks.digest = vectors.digest",
        )?;
        let mut rows = query.query([])?;
        let mut files: HashMap<i64, Vec<(f64, i64)>> = HashMap::new();
        let mut damaged: BTreeSet<i64> = BTreeSet::new();
        while let Some(row) = rows.next()? {
            match cosine(question, row.get_ref(3)?.as_bytes().unwrap_or_default()) {
                Some(near) => files.entry(row.get(1)?).or_default().push((near, row.get(0)?)),
                None => drop(damaged.insert(row.get(2)?)),
            }
        }
        for id in damaged {
            self.connection.execute("DELETE FROM vectors WHERE id = ?1", [id])?;
        }
        let mut ranked: Vec<Ranked> = files.into_iter().map(|(file, chunks)| best_of(file, chunks)).collect();
        ranked.sort_by(Ranked::better_first);
        ranked.truncate(MOST_FILES);
        Ok(ranked)
    }
}

fn best_of(file: i64, mut chunks: Vec<(f64, i64)>) -> Ranked {
    chunks.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    let score = chunks[0].0;
    let shown = chunks.iter().take(2).filter(|(near, _)| *near > 0.95 * score).map(|(_, id)| *id);
    Ranked { score, file, chunks: std::iter::once(chunks[0].1).chain(shown.skip(1)).collect() }
}

/// The texts of a file's chunks that are asked for, as the file is now.
fn texts(root: &Path, path: &str, mut digests: BTreeSet<Digest>) -> Vec<Unembedded> {
    let Some(text) = content(&root.join(path)).and_then(|bytes| String::from_utf8(bytes).ok()) else {
        return Vec::new();
    };
    let chunks = chunk::of(Language::of(Path::new(path)), Path::new(path), &text);
    let told = chunks.iter().map(|chunk| spoken::text(path, chunk));
    let wanted = told.filter_map(|text| {
        let digest = spoken::digest(&text);
        digests.remove(&digest).then_some(Unembedded { digest, text })
    });
    wanted.collect()
}

fn unit(vector: &[f32], dimension: usize) -> Result<Vec<f32>, IndexError> {
    if vector.len() != dimension {
        return Err(IndexError::Vector(format!("it has {} numbers and not {dimension}", vector.len())));
    }
    let length = vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() || length == 0.0 {
        return Err(IndexError::Vector("it points nowhere".to_owned()));
    }
    Ok(vector.iter().map(|number| (f64::from(*number) / length) as f32).collect())
}

fn bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// `None` for what is no unit vector of the same dimension.
fn cosine(question: &[f32], stored: &[u8]) -> Option<f64> {
    if stored.len() != 4 * question.len() {
        return None;
    }
    let (mut near, mut square) = (0.0_f64, 0.0_f64);
    let (numbers, _) = stored.as_chunks::<4>();
    for (one, other) in question.iter().zip(numbers) {
        let other = f64::from(f32::from_le_bytes(*other));
        near += f64::from(*one) * other;
        square += other * other;
    }
    ((square - 1.0).abs() < ROUNDING).then_some(near)
}
