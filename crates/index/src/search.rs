//! A question against the index: each of its words and their synonyms is ranked by BM25, and places that answer more of
//! the question come first. With the question's vector, files near to it are ranked beside, and the two rankings fused.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::params;

use crate::store::{Index, IndexError};
use crate::{synonyms, words};

/// How much a word counts in the path, the symbol's name, its comments, its body.
const WEIGHTS: &str = "3.0, 6.0, 4.0, 1.0";
/// A synonym counts less than the word itself.
const SYNONYM: f64 = 0.45;
/// Places looked at for one word.
const MOST_PLACES: u32 = 3_000;
/// Words of a question that are looked for.
const MOST_WORDS: usize = 24;
/// Tests talk about the same things as what they test, and are wanted less often.
const TESTS: f64 = 0.8;

/// Reciprocal rank fusion: how little the very first ranks differ. The usual number.
const FUSION: f64 = 60.0;
/// Files of each ranking that are looked at when two are fused.
const MOST_FUSED: usize = 200;

/// Where to look and how much to bring.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// Only beneath this folder, or this file; relative to the root.
    pub under: Option<&'a str>,
    /// Most places.
    pub most: usize,
}

/// A place that may answer the question.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Relative to the root.
    pub path: String,
    /// From 1, inclusive.
    pub first: usize,
    /// Inclusive.
    pub last: usize,
    /// What is defined there.
    pub symbol: Option<String>,
    /// Higher is better; only good for comparing.
    pub score: f64,
}

/// A file with its best chunks, in one of the rankings.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ranked {
    /// Higher is better, within this ranking.
    pub(crate) score: f64,
    pub(crate) file: i64,
    pub(crate) chunks: Vec<i64>,
}

impl Ranked {
    pub(crate) fn better_first(one: &Self, other: &Self) -> std::cmp::Ordering {
        other.score.total_cmp(&one.score).then(one.file.cmp(&other.file))
    }
}

#[derive(Debug, Default)]
struct Place {
    file: i64,
    score: f64,
    words: BTreeSet<usize>,
}

impl Index {
    /// The places that answer a question best, at most one or two of each file; by its words alone without a vector.
    pub fn search(&self, question: &str, vector: Option<&[f32]>, scope: Scope<'_>) -> Result<Vec<Hit>, IndexError> {
        let near = vector.map(|vector| self.nearest(vector)).transpose()?;
        self.answered(question, near, scope).map_err(|source| self.failed(source))
    }

    fn answered(&self, question: &str, near: Option<Vec<Ranked>>, scope: Scope<'_>) -> rusqlite::Result<Vec<Hit>> {
        let mut asked = words::of_question(question);
        asked.truncate(MOST_WORDS);
        let by_words = self.by_words(question, &asked)?;
        let tests_wanted = wants_tests(&asked);
        let ranked = match near {
            None => self.sifted(by_words, tests_wanted, scope, 4 * scope.most)?,
            Some(near) => fused(
                self.sifted(by_words, tests_wanted, scope, MOST_FUSED)?,
                self.sifted(near, tests_wanted, scope, MOST_FUSED)?,
            ),
        };
        self.named(ranked, scope)
    }

    fn by_words(&self, question: &str, asked: &[String]) -> rusqlite::Result<Vec<Ranked>> {
        let mut places: HashMap<i64, Place> = HashMap::new();
        for (number, word) in asked.iter().enumerate() {
            let mut scores: HashMap<i64, (i64, f64)> = HashMap::new();
            self.look_up(&quoted(&[word.as_str()]), 1.0, &mut scores)?;
            let others = synonyms::of(word);
            if !others.is_empty() {
                self.look_up(&quoted(&others), SYNONYM, &mut scores)?;
            }
            for (id, (file, score)) in scores {
                let place = places.entry(id).or_default();
                place.file = file;
                place.score += score;
                place.words.insert(number);
            }
        }
        self.shortened(question, asked, &mut places)?;
        Ok(best(places, asked.len()))
    }

    /// Places that say it in initials count for every word the initials stand for.
    fn shortened(&self, question: &str, asked: &[String], places: &mut HashMap<i64, Place>) -> rusqlite::Result<()> {
        for (initials, spoken) in words::initialisms(question) {
            let numbers: Vec<usize> =
                spoken.iter().filter_map(|word| asked.iter().position(|other| other == word)).collect();
            // Initials that are mostly of words that say nothing are an accident.
            if numbers.len() < 3 {
                continue;
            }
            let mut scores = HashMap::new();
            self.look_up(&quoted(&[initials.as_str()]), 1.0, &mut scores)?;
            for (id, (file, score)) in scores {
                let place = places.entry(id).or_default();
                place.file = file;
                place.score += score;
                place.words.extend(&numbers);
            }
        }
        Ok(())
    }

    fn look_up(&self, query: &str, weight: f64, scores: &mut HashMap<i64, (i64, f64)>) -> rusqlite::Result<()> {
        let sql = format!(
            "SELECT found.id, chunks.file, found.score FROM
               (SELECT rowid AS id, bm25(words, {WEIGHTS}) AS score FROM words WHERE words MATCH ?1
                ORDER BY score LIMIT ?2) AS found
             JOIN chunks ON chunks.id = found.id"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params![query, MOST_PLACES])?;
        while let Some(row) = rows.next()? {
            // SQLite's better is more negative.
            let (id, file, score): (i64, i64, f64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let score = -score * weight;
            let known = scores.entry(id).or_insert((file, 0.0));
            known.1 = known.1.max(score);
        }
        Ok(())
    }

    /// Leaves out what is not in scope, and puts tests back a little unless they are asked for. Only so many are looked
    /// at, because nobody reads further.
    fn sifted(
        &self,
        ranked: Vec<Ranked>,
        tests_wanted: bool,
        scope: Scope<'_>,
        most: usize,
    ) -> rusqlite::Result<Vec<Ranked>> {
        let mut sifted = Vec::new();
        for mut ranked in ranked {
            if sifted.len() >= most {
                break;
            }
            let path = self.path_of(ranked.file)?;
            if scope.under.is_some_and(|under| !std::path::Path::new(&path).starts_with(under)) {
                continue;
            }
            if !tests_wanted && is_test(&path) {
                ranked.score *= TESTS;
            }
            sifted.push(ranked);
        }
        // Stable: files of the same score stay in the order they came in.
        sifted.sort_by(|one, other| other.score.total_cmp(&one.score));
        Ok(sifted)
    }

    fn named(&self, ranked: Vec<Ranked>, scope: Scope<'_>) -> rusqlite::Result<Vec<Hit>> {
        let mut hits = Vec::new();
        let mut chunk = self.connection.prepare_cached("SELECT first, last, symbol FROM chunks WHERE id = ?1")?;
        for Ranked { score, file, chunks } in ranked.into_iter().take(scope.most) {
            let path = self.path_of(file)?;
            for id in chunks {
                let place: (i64, i64, Option<String>) =
                    chunk.query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
                let line = |line: i64| usize::try_from(line).unwrap_or(1);
                let (first, last, symbol) = (line(place.0), line(place.1), place.2);
                hits.push(Hit { path: path.clone(), first, last, symbol, score });
            }
        }
        hits.truncate(scope.most);
        Ok(hits)
    }

    fn path_of(&self, file: i64) -> rusqlite::Result<String> {
        self.connection.prepare_cached("SELECT path FROM files WHERE id = ?1")?.query_row([file], |row| row.get(0))
    }
}

/// Files by their best chunk, and a little by their next ones.
fn best(places: HashMap<i64, Place>, asked: usize) -> Vec<Ranked> {
    let asked = asked.max(1);
    let mut files: HashMap<i64, Vec<(i64, f64, BTreeSet<usize>)>> = HashMap::new();
    for (id, place) in places {
        let covered = share(place.words.len(), asked);
        let score = place.score * (0.35 + 0.65 * covered);
        files.entry(place.file).or_default().push((id, score, place.words));
    }
    let mut ranked: Vec<Ranked> = Vec::new();
    for (file, mut chunks) in files {
        chunks.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        let union: BTreeSet<usize> = chunks.iter().take(6).flat_map(|(_, _, words)| words.iter().copied()).collect();
        let next: f64 = chunks.iter().skip(1).take(2).map(|(_, score, _)| score).sum();
        let score = (chunks[0].1 + 0.15 * next) * (0.6 + 0.4 * share(union.len(), asked));
        let second = chunks.get(1).filter(|(_, other, _)| *other > 0.8 * chunks[0].1);
        let shown = [Some(chunks[0].0), second.map(|chunk| chunk.0)].into_iter().flatten().collect();
        ranked.push(Ranked { score, file, chunks: shown });
    }
    ranked.sort_by(Ranked::better_first);
    ranked
}

/// Two rankings as one, by the ranks alone: their scores cannot be compared. Of a file that is in both, the best chunk
/// of each is shown.
fn fused(by_words: Vec<Ranked>, near: Vec<Ranked>) -> Vec<Ranked> {
    let mut files: BTreeMap<i64, Ranked> = BTreeMap::new();
    for ranking in [by_words, near] {
        let (mut rank, mut last) = (0, f64::INFINITY);
        for (at, ranked) in ranking.into_iter().enumerate() {
            // Who is equally good has the same rank: the order of files says nothing.
            if ranked.score < last {
                (rank, last) = (at + 1, ranked.score);
            }
            let score = 1.0 / (FUSION + number(rank));
            match files.entry(ranked.file) {
                Entry::Vacant(entry) => drop(entry.insert(Ranked { score, ..ranked })),
                Entry::Occupied(mut entry) => {
                    let known = entry.get_mut();
                    known.score += score;
                    let other = ranked.chunks.first().filter(|chunk| known.chunks.first() != Some(chunk));
                    known.chunks.splice(1.., other.copied());
                }
            }
        }
    }
    let mut fused: Vec<Ranked> = files.into_values().collect();
    fused.sort_by(Ranked::better_first);
    fused
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

fn share(part: usize, whole: usize) -> f64 {
    number(part) / number(whole.max(1))
}

/// Words as FTS5 reads them: quoted, so that none is taken for an operator.
fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("\"{}\"", word.replace('"', ""))).collect::<Vec<_>>().join(" OR ")
}

fn wants_tests(asked: &[String]) -> bool {
    asked.iter().any(|word| matches!(word.as_str(), "test" | "tests" | "tested" | "spec" | "fixture"))
}

fn is_test(path: &str) -> bool {
    let path = path.to_lowercase();
    path.split(['/', '.', '_', '-']).any(|part| matches!(part, "test" | "tests" | "spec" | "specs" | "testing"))
}
