//! Answers to requests that came with a client's key: kept before they are given, so that the same request gets the
//! same answer, also after a kill.

use engine::StoreError;
use jiff::{SignedDuration, Timestamp};
use rusqlite::{OptionalExtension as _, params};

use crate::encode::millis;
use crate::fault::fault;
use crate::post::Post;

/// How long an answer is kept.
const KEPT: SignedDuration = SignedDuration::from_hours(24);

/// A request as its client names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Keyed {
    /// Who asks.
    pub caller: String,
    /// For what.
    pub route: String,
    /// The client's key.
    pub key: String,
}

/// What is known of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// It came for the first time, and is written down now.
    New,
    /// It came before; whether it was done is not known here.
    Unanswered,
    /// It was answered so. No text where the answer was not for keeping.
    Answered(u16, Option<String>),
    /// The key came before with something else.
    Other,
}

impl Post {
    /// Writes down that a request is being answered, unless it is known.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(&self, request: &Keyed, said: &str, now: Timestamp) -> Result<Known, StoreError> {
        let Keyed { caller, route, key } = request;
        self.transact(|connection| {
            let old = millis(now.saturating_sub(KEPT).unwrap_or(Timestamp::MIN));
            connection.execute("DELETE FROM answers WHERE began_at < ?1", [old]).map_err(fault)?;
            let sql = "SELECT said, status, body FROM answers WHERE caller = ?1 AND route = ?2 AND key = ?3";
            let read = |row: &rusqlite::Row<'_>| {
                Ok((row.get::<_, String>(0)?, row.get::<_, Option<u16>>(1)?, row.get::<_, Option<String>>(2)?))
            };
            let found = connection.query_row(sql, params![caller, route, key], read).optional().map_err(fault)?;
            match found {
                Some((before, _, _)) if before != said => Ok(Known::Other),
                Some((_, Some(status), body)) => Ok(Known::Answered(status, body)),
                Some((_, None, _)) => Ok(Known::Unanswered),
                None => {
                    let sql = "INSERT INTO answers (caller, route, key, said, began_at) VALUES (?1, ?2, ?3, ?4, ?5)";
                    connection.execute(sql, params![caller, route, key, said, millis(now)]).map_err(fault)?;
                    Ok(Known::New)
                }
            }
        })
    }

    /// Keeps the answer to a request.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn answer(&self, request: &Keyed, status: u16, body: Option<&str>) -> Result<(), StoreError> {
        let Keyed { caller, route, key } = request;
        let sql = "UPDATE answers SET status = ?4, body = ?5 WHERE caller = ?1 AND route = ?2 AND key = ?3";
        self.connection().execute(sql, params![caller, route, key, status, body]).map(drop).map_err(fault)
    }

    /// Forgets a request that changed nothing: it may come again, and be answered anew.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn forget(&self, request: &Keyed) -> Result<(), StoreError> {
        let Keyed { caller, route, key } = request;
        let sql = "DELETE FROM answers WHERE caller = ?1 AND route = ?2 AND key = ?3 AND status IS NULL";
        self.connection().execute(sql, params![caller, route, key]).map(drop).map_err(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyed(caller: &str, key: &str) -> Keyed {
        Keyed { caller: caller.to_owned(), route: "/api/runs".to_owned(), key: key.to_owned() }
    }

    #[test]
    fn a_request_is_known_by_who_where_and_its_key_until_a_day_has_passed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("post.db");
        let post = Post::open(&path).unwrap();
        let (now, ada) = (Timestamp::UNIX_EPOCH + SignedDuration::from_hours(100), keyed("ada", "k"));
        assert_eq!(post.begin(&ada, "one", now).unwrap(), Known::New);
        assert_eq!(post.begin(&ada, "one", now).unwrap(), Known::Unanswered);
        assert_eq!(post.begin(&ada, "two", now).unwrap(), Known::Other);
        assert_eq!(post.begin(&keyed("bob", "k"), "two", now).unwrap(), Known::New);
        post.answer(&ada, 201, Some("{}")).unwrap();
        drop(post);
        let post = Post::open(&path).unwrap();
        assert_eq!(post.begin(&ada, "one", now).unwrap(), Known::Answered(201, Some("{}".to_owned())));
        assert_eq!(post.begin(&ada, "two", now).unwrap(), Known::Other);
        let next_day = now + SignedDuration::from_hours(25);
        assert_eq!(post.begin(&ada, "two", next_day).unwrap(), Known::New);
    }

    #[test]
    fn what_changed_nothing_is_forgotten_and_what_was_done_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let post = Post::open(&folder.path().join("post.db")).unwrap();
        let (now, ada) = (Timestamp::UNIX_EPOCH, keyed("ada", "k"));
        assert_eq!(post.begin(&ada, "one", now).unwrap(), Known::New);
        post.forget(&ada).unwrap();
        assert_eq!(post.begin(&ada, "two", now).unwrap(), Known::New);
        post.answer(&ada, 200, None).unwrap();
        post.forget(&ada).unwrap();
        assert_eq!(post.begin(&ada, "two", now).unwrap(), Known::Answered(200, None));
    }
}
