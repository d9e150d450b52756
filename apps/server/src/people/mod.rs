//! Who may come in besides the owner of the data directory, and which browsers are logged in. Kept in one file that only
//! its owner can read, written whole before anything counts; tokens and sessions are in it as digests only.
//!
//! The server alone writes the file, so what it knows is what is so: who is revoked is out with the next request.

mod codes;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use wire::{Role, UserView};

pub(crate) use codes::{CODE_LIFE, Codes, Miss};

use crate::home::{HomeError, open_private, replace};

/// How long a browser stays logged in.
pub(crate) const SESSION_LIFE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// More browsers than this are not remembered; the oldest are logged out.
const MOST_SESSIONS: usize = 200;

/// The digest of a secret, as hex. Secrets are random and long, so nothing slower is needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Mark(String);

impl Mark {
    pub(crate) fn of(secret: &[u8]) -> Self {
        Self(hex(&Sha256::digest(secret)))
    }

    fn fits(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

/// Whose a session is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Holder {
    /// The owner's, for as long as the owner's token is the one with this mark.
    Owner(Mark),
    /// A user's.
    User(String),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Session {
    mark: Mark,
    holder: Holder,
    since: Timestamp,
    until: Timestamp,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct User {
    name: String,
    role: Role,
    token: Mark,
    added_at: Timestamp,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    users: Vec<User>,
    sessions: Vec<Session>,
}

/// The people and their browsers.
pub struct People {
    path: PathBuf,
    kept: RwLock<Kept>,
}

impl People {
    /// Reads the file, if there is one.
    pub fn open(path: PathBuf) -> Result<Self, HomeError> {
        let kept = read(&path).map_err(|source| HomeError::File { path: path.clone(), source })?;
        Ok(Self { path, kept: RwLock::new(kept) })
    }

    /// Lets somebody in; the text is the token. `None` where the name is taken.
    pub(crate) fn add(&self, name: &str, role: Role, now: Timestamp) -> Result<Option<String>, HomeError> {
        if self.role(name).is_some() {
            return Ok(None);
        }
        let secret = new_secret();
        let user = User { name: name.to_owned(), role, token: Mark::of(secret.as_bytes()), added_at: now };
        let added = self.change(|kept| {
            let free = kept.users.iter().all(|known| known.name != user.name);
            if free {
                kept.users.push(user);
            }
            free
        })?;
        Ok(added.then_some(secret))
    }

    /// Lets somebody in no more, in no browser either. `None` where there is no such user.
    pub(crate) fn revoke(&self, name: &str) -> Result<Option<UserView>, HomeError> {
        let Some(view) = self.users(Timestamp::now()).into_iter().find(|user| user.name == name) else {
            return Ok(None);
        };
        self.change(|kept| {
            kept.users.retain(|known| known.name != name);
            kept.sessions.retain(|known| !matches!(&known.holder, Holder::User(user) if user == name));
        })?;
        Ok(Some(view))
    }

    /// All users, by name.
    pub(crate) fn users(&self, now: Timestamp) -> Vec<UserView> {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        let browsers = |name: &str| {
            let own = |known: &&Session| matches!(&known.holder, Holder::User(user) if user == name);
            kept.sessions.iter().filter(own).filter(|known| known.until > now).count()
        };
        let view = |user: &User| UserView {
            name: user.name.clone(),
            role: user.role,
            added_at: user.added_at,
            browsers: browsers(&user.name),
        };
        let mut users: Vec<_> = kept.users.iter().map(view).collect();
        users.sort_by(|one, other| one.name.cmp(&other.name));
        users
    }

    /// What a user may do.
    pub(crate) fn role(&self, name: &str) -> Option<Role> {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        kept.users.iter().find(|user| user.name == name).map(|user| user.role)
    }

    /// Whose token this is.
    pub(crate) fn with_token(&self, secret: &str) -> Option<(String, Role)> {
        let mark = Mark::of(secret.as_bytes());
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        let found = kept.users.iter().find(|user| user.token.fits(&mark))?;
        Some((found.name.clone(), found.role))
    }

    /// Logs a browser in; the text is for its cookie.
    pub(crate) fn log_in(&self, holder: Holder, now: Timestamp) -> Result<String, HomeError> {
        let secret = new_secret();
        let until = now.saturating_add(SESSION_LIFE).unwrap_or(Timestamp::MAX);
        let session = Session { mark: Mark::of(secret.as_bytes()), holder, since: now, until };
        self.change(|kept| {
            kept.sessions.retain(|known| known.until > now);
            kept.sessions.push(session);
            let surplus = kept.sessions.len().saturating_sub(MOST_SESSIONS);
            kept.sessions.drain(..surplus);
        })?;
        Ok(secret)
    }

    /// Whose browser has this cookie.
    pub(crate) fn session(&self, secret: &str, now: Timestamp) -> Option<Holder> {
        let mark = Mark::of(secret.as_bytes());
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        let found = kept.sessions.iter().find(|known| known.mark.fits(&mark) && known.until > now)?;
        Some(found.holder.clone())
    }

    /// Logs one browser out, or all of whoever has it. Says how many.
    pub(crate) fn log_out(&self, which: &LogOut<'_>) -> Result<usize, HomeError> {
        let gone = |known: &Session| match which {
            LogOut::One(secret) => known.mark.fits(&Mark::of(secret.as_bytes())),
            LogOut::AllOfOwner => matches!(known.holder, Holder::Owner(_)),
            LogOut::AllOf(name) => matches!(&known.holder, Holder::User(user) if user == name),
        };
        self.change(|kept| {
            let before = kept.sessions.len();
            kept.sessions.retain(|known| !gone(known));
            before - kept.sessions.len()
        })
    }

    /// Changes what is kept: on the disk first, then for everybody.
    fn change<T>(&self, change: impl FnOnce(&mut Kept) -> T) -> Result<T, HomeError> {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        let mut next = kept.clone();
        let done = change(&mut next);
        let text = serde_json::to_vec_pretty(&next).expect("names, times and digests always serialise");
        replace(&self.path, &text)?;
        *kept = next;
        Ok(done)
    }
}

/// Who is logged out.
pub(crate) enum LogOut<'a> {
    /// The browser with this cookie.
    One(&'a str),
    /// All browsers of the owner.
    AllOfOwner,
    /// All browsers of a user.
    AllOf(&'a str),
}

fn read(path: &Path) -> io::Result<Kept> {
    use std::io::Read as _;
    let mut text = String::new();
    match open_private(path, std::fs::OpenOptions::new().read(true)) {
        Ok(mut file) => file.read_to_string(&mut text)?,
        Err(HomeError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(Kept::default()),
        Err(HomeError::File { source, .. }) => return Err(source),
        Err(HomeError::Taken { .. }) => return Err(io::ErrorKind::ResourceBusy.into()),
    };
    serde_json::from_str(&text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// 256 bits, as hex.
pub(crate) fn new_secret() -> String {
    hex(&rand::random::<[u8; 32]>())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
