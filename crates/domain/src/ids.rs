//! Names of things: runs, effects, holds, commits. Ids are made elsewhere and only checked here.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The name of one run: two groups of six characters, e.g. `k7m2q9-x4tz3c`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

impl RunId {
    /// Letters and digits an id is made of: no `i`, `l`, `o`, `u`, so that ids can be read aloud.
    pub const ALPHABET: &'static [u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

    /// Makes an id from 60 bits of the caller's randomness.
    #[must_use]
    pub fn from_bits(bits: u64) -> Self {
        let mut text = String::with_capacity(13);
        for place in 0..12 {
            if place == 6 {
                text.push('-');
            }
            let index = (bits >> (5 * place)) & 31;
            text.push(char::from(Self::ALPHABET[usize::try_from(index).unwrap_or(0)]));
        }
        Self(text)
    }

    /// So many salts are tried for a child's id before its start is given up.
    pub const SALTS: u32 = 8;

    /// The id of a task's child run: always the same for the same child, so that a repeat finds it. `salt` rises when
    /// another run has the short id already.
    #[must_use]
    pub fn child_of(parent: &Self, task: &str, attempt: u32, salt: u32) -> Self {
        let digest = crate::Digest::of([parent.as_str(), task, &attempt.to_string(), &salt.to_string()]);
        Self::from_bits(u64::from_str_radix(&digest.as_str()[..15], 16).unwrap_or(0))
    }

    /// The first group, which names the branch; the store keeps it unique.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.0[..6]
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Not of the form `abc123-def456`.
    #[error("`{0}` is not a run id; they look like `k7m2q9-x4tz3c`")]
    Run(String),
    /// Not of the form `run/number`.
    #[error("`{0}` is not an effect id; they look like `k7m2q9-x4tz3c/4`")]
    Effect(String),
    /// Not a full hexadecimal object name.
    #[error("`{0}` is not a full commit id")]
    Commit(String),
}

impl FromStr for RunId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let well_formed = text.len() == 13
            && text.bytes().enumerate().all(|(place, byte)| match place {
                6 => byte == b'-',
                _ => Self::ALPHABET.contains(&byte),
            });
        if well_formed { Ok(Self(text.to_owned())) } else { Err(IdError::Run(shorten(text))) }
    }
}

impl TryFrom<String> for RunId {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One wished-for effect of a run; it names workspace, process and commit, so that a repeat finds them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EffectId {
    /// The run that wants it.
    pub run: RunId,
    /// 1, 2, 3 … within the run.
    pub number: u32,
}

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.run, self.number)
    }
}

impl FromStr for EffectId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let refuse = || IdError::Effect(shorten(text));
        let (run, number) = text.split_once('/').ok_or_else(refuse)?;
        Ok(Self { run: run.parse()?, number: number.parse().map_err(|_| refuse())? })
    }
}

/// One hold of a run: the sequence number of the event that placed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HoldId(pub u64);

impl fmt::Display for HoldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A full git object name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommitId(String);

impl CommitId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first seven characters, for people.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.0[..7]
    }
}

impl FromStr for CommitId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let hex = text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        if hex && matches!(text.len(), 40 | 64) {
            Ok(Self(text.to_owned()))
        } else {
            Err(IdError::Commit(shorten(text)))
        }
    }
}

impl TryFrom<String> for CommitId {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<CommitId> for String {
    fn from(id: CommitId) -> Self {
        id.0
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn shorten(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_made_from_bits_parses_back() {
        for bits in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
            let id = RunId::from_bits(bits);
            assert_eq!(id.as_str().parse(), Ok(id.clone()));
            assert_eq!(id.short().len(), 6);
        }
    }

    #[test]
    fn a_text_that_is_no_id_is_refused_without_its_control_characters() {
        assert_eq!("..\u{1b}[31m".parse::<RunId>(), Err(IdError::Run("..[31m".to_owned())));
        assert!("k7m2q9_x4tz3c".parse::<RunId>().is_err());
        assert!("HEAD".parse::<CommitId>().is_err());
    }
}
