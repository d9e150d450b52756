//! Notices on their way out: what was read of the feed and what is to be delivered are written in one transaction, so
//! that a kill loses none and makes none twice. A delivery keeps its id whatever happens to it.

use engine::StoreError;
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::encode::{count, int, millis, timestamp};
use crate::fault::fault;
use crate::post::Post;

/// How long it stays known what became of a delivery.
const KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);

/// A notice to be delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    /// The same for whoever is told of the same thing.
    pub id: String,
    /// What it is about, in a word.
    pub event: String,
    /// The notice as JSON.
    pub notice: String,
}

/// A notice that waits to be delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Its place in the line.
    pub number: i64,
    /// Its id.
    pub id: String,
    /// What it is about, in a word.
    pub event: String,
    /// The notice as JSON.
    pub notice: String,
    /// How often it was tried.
    pub tries: u32,
}

/// What became of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRow {
    /// Its id.
    pub id: String,
    /// What it is about, in a word.
    pub event: String,
    /// `waiting`, `delivered` or `dead`.
    pub state: String,
    /// How often it was tried.
    pub tries: u32,
    /// Since when it is known.
    pub created_at: Timestamp,
    /// When it was delivered or given up.
    pub ended_at: Option<Timestamp>,
    /// When it is tried next.
    pub due_at: Option<Timestamp>,
    /// What went wrong last.
    pub problem: Option<String>,
}

/// How a destination stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// Deliveries that wait.
    pub waiting: u64,
    /// Deliveries that were given up.
    pub dead: u64,
    /// The newest ones, newest first.
    pub recent: Vec<DeliveryRow>,
}

impl Post {
    /// How far the feed was read for a destination; a new one begins at `newest`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn cursor(&self, destination: &str, newest: u64) -> Result<u64, StoreError> {
        self.transact(|connection| {
            let sql = "INSERT INTO destinations (name, position) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
            connection.execute(sql, params![destination, int(newest)]).map_err(fault)?;
            // A position from the future is one of another database.
            let sql = "UPDATE destinations SET position = min(position, ?2) WHERE name = ?1";
            connection.execute(sql, params![destination, int(newest)]).map_err(fault)?;
            let sql = "SELECT position FROM destinations WHERE name = ?1";
            count(connection.query_row(sql, [destination], |row| row.get(0)).map_err(fault)?)
        })
    }

    /// Takes in what the feed says up to a position. What is known is not taken in twice.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn take_in(
        &self,
        destination: &str,
        position: u64,
        new: &[NewDelivery],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.transact(|connection| {
            for delivery in new {
                add(connection, destination, delivery, now, now)?;
            }
            let sql = "UPDATE destinations SET position = max(position, ?2) WHERE name = ?1";
            connection.execute(sql, params![destination, int(position)]).map_err(fault)?;
            let old = millis(now.saturating_sub(KEPT).unwrap_or(Timestamp::MIN));
            let sql = "DELETE FROM deliveries WHERE destination = ?1 AND state <> 'waiting' AND ended_at < ?2";
            connection.execute(sql, params![destination, old]).map(drop).map_err(fault)
        })
    }

    /// Puts one delivery into the line by hand, due at some time.
    ///
    /// # Errors
    /// When it cannot be written, or the destination was never read for.
    pub fn put(
        &self,
        destination: &str,
        delivery: &NewDelivery,
        due: Timestamp,
        now: Timestamp,
    ) -> Result<Delivery, StoreError> {
        self.transact(|connection| {
            add(connection, destination, delivery, due, now)?;
            let NewDelivery { id, event, notice } = delivery.clone();
            Ok(Delivery { number: connection.last_insert_rowid(), id, event, notice, tries: 0 })
        })
    }

    /// The delivery that has waited longest of those that are due.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn due(&self, destination: &str, now: Timestamp) -> Result<Option<Delivery>, StoreError> {
        let sql = "SELECT number, id, event, notice, tries FROM deliveries
            WHERE destination = ?1 AND state = 'waiting' AND due_at <= ?2 ORDER BY due_at, number LIMIT 1";
        let read = |row: &rusqlite::Row<'_>| {
            Ok(Delivery {
                number: row.get(0)?,
                id: row.get(1)?,
                event: row.get(2)?,
                notice: row.get(3)?,
                tries: row.get(4)?,
            })
        };
        self.connection().query_row(sql, params![destination, millis(now)], read).optional().map_err(fault)
    }

    /// When something is due next.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next_due(&self, destination: &str) -> Result<Option<Timestamp>, StoreError> {
        let sql = "SELECT min(due_at) FROM deliveries WHERE destination = ?1 AND state = 'waiting'";
        let found: Option<i64> = self.connection().query_row(sql, [destination], |row| row.get(0)).map_err(fault)?;
        found.map(timestamp).transpose()
    }

    /// A delivery arrived.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn delivered(&self, number: i64, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE deliveries SET state = 'delivered', tries = tries + 1, ended_at = ?2, problem = NULL
            WHERE number = ?1 AND state = 'waiting'";
        self.connection().execute(sql, params![number, millis(now)]).map(drop).map_err(fault)
    }

    /// A try failed. It is tried again then, or given up where there is no then.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn failed(
        &self,
        number: i64,
        problem: &str,
        again: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE deliveries SET tries = tries + 1, problem = ?2, due_at = coalesce(?3, due_at),
            state = iif(?3 IS NULL, 'dead', 'waiting'), ended_at = iif(?3 IS NULL, ?4, NULL)
            WHERE number = ?1 AND state = 'waiting'";
        let columns = params![number, problem, again.map(millis), millis(now)];
        self.connection().execute(sql, columns).map(drop).map_err(fault)
    }

    /// What was noted as delivered did not arrive, and is not tried again.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn missed(&self, number: i64, problem: &str, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE deliveries SET state = 'dead', problem = ?2, ended_at = ?3 WHERE number = ?1";
        self.connection().execute(sql, params![number, problem, millis(now)]).map(drop).map_err(fault)
    }

    /// One delivery, by its id.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn delivery(&self, destination: &str, id: &str) -> Result<Option<DeliveryRow>, StoreError> {
        let sql = format!("{ROW} WHERE destination = ?1 AND id = ?2");
        let found = self.connection().query_row(&sql, params![destination, id], raw).optional().map_err(fault)?;
        found.map(row).transpose()
    }

    /// Puts those that were given up back into the line, and says how many there were.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn revive(&self, destination: &str, now: Timestamp) -> Result<usize, StoreError> {
        let sql = "UPDATE deliveries SET state = 'waiting', tries = 0, due_at = ?2, ended_at = NULL
            WHERE destination = ?1 AND state = 'dead' AND event <> 'test'";
        self.connection().execute(sql, params![destination, millis(now)]).map_err(fault)
    }

    /// How a destination stands, with its newest deliveries.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn standing(&self, destination: &str, recent: usize) -> Result<Standing, StoreError> {
        let connection = self.connection();
        let of = |state: &str| -> Result<u64, StoreError> {
            let sql = "SELECT count(*) FROM deliveries WHERE destination = ?1 AND state = ?2";
            count(connection.query_row(sql, params![destination, state], |row| row.get(0)).map_err(fault)?)
        };
        let (waiting, dead) = (of("waiting")?, of("dead")?);
        let sql = format!("{ROW} WHERE destination = ?1 ORDER BY number DESC LIMIT ?2");
        let mut statement = connection.prepare_cached(&sql).map_err(fault)?;
        let rows = statement.query_map(params![destination, int(recent as u64)], raw).map_err(fault)?;
        let recent = rows.map(|found| found.map_err(fault).and_then(row)).collect::<Result<_, _>>()?;
        Ok(Standing { waiting, dead, recent })
    }

    /// Forgets all destinations but these, with what waits for them; says how many deliveries that were.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep_only(&self, destinations: &[&str]) -> Result<usize, StoreError> {
        let names = serde_json::to_string(destinations).map_err(|error| StoreError::Other(error.to_string()))?;
        self.transact(|connection| {
            let others = "NOT IN (SELECT value FROM json_each(?1))";
            let sql = format!("DELETE FROM deliveries WHERE destination {others} AND state = 'waiting'");
            let waiting = connection.execute(&sql, [&names]).map_err(fault)?;
            connection
                .execute(&format!("DELETE FROM deliveries WHERE destination {others}"), [&names])
                .map_err(fault)?;
            connection.execute(&format!("DELETE FROM destinations WHERE name {others}"), [&names]).map_err(fault)?;
            Ok(waiting)
        })
    }
}

fn add(
    connection: &Connection,
    destination: &str,
    delivery: &NewDelivery,
    due: Timestamp,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO deliveries (destination, id, event, notice, state, due_at, created_at)
        VALUES (?1, ?2, ?3, ?4, 'waiting', ?5, ?6) ON CONFLICT DO NOTHING";
    let NewDelivery { id, event, notice } = delivery;
    let columns = params![destination, id, event, notice, millis(due), millis(now)];
    connection.execute(sql, columns).map(drop).map_err(fault)
}

const ROW: &str = "SELECT id, event, state, tries, created_at, ended_at, due_at, problem FROM deliveries";

type Raw = (String, String, String, u32, i64, Option<i64>, i64, Option<String>);

fn raw(row: &rusqlite::Row<'_>) -> rusqlite::Result<Raw> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?))
}

fn row((id, event, state, tries, created_at, ended_at, due_at, problem): Raw) -> Result<DeliveryRow, StoreError> {
    let due_at = if state == "waiting" { Some(timestamp(due_at)?) } else { None };
    let ended_at = ended_at.map(timestamp).transpose()?;
    Ok(DeliveryRow { id, event, state, tries, created_at: timestamp(created_at)?, ended_at, due_at, problem })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(id: &str) -> NewDelivery {
        NewDelivery { id: id.to_owned(), event: "run.failed".to_owned(), notice: "{}".to_owned() }
    }

    fn open() -> (tempfile::TempDir, Post) {
        let folder = tempfile::tempdir().unwrap();
        let post = Post::open(&folder.path().join("post.db")).unwrap();
        (folder, post)
    }

    #[test]
    fn what_is_read_twice_of_the_feed_is_delivered_once() {
        let (folder, post) = open();
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(post.cursor("ops", 7).unwrap(), 7);
        post.take_in("ops", 9, &[notice("a"), notice("b")], now).unwrap();
        drop(post);
        let post = Post::open(&folder.path().join("post.db")).unwrap();
        assert_eq!(post.cursor("ops", 99).unwrap(), 9);
        post.take_in("ops", 9, &[notice("b")], now).unwrap();
        assert_eq!(post.standing("ops", 9).unwrap().waiting, 2);
        let first = post.due("ops", now).unwrap().unwrap();
        assert_eq!((first.id.as_str(), first.tries), ("a", 0));
        post.delivered(first.number, now).unwrap();
        post.take_in("ops", 9, &[notice("a")], now).unwrap();
        assert_eq!(post.due("ops", now).unwrap().unwrap().id, "b");
    }

    #[test]
    fn what_failed_waits_its_time_and_what_is_given_up_can_be_revived() {
        let (_folder, post) = open();
        let (now, later) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH + SignedDuration::from_secs(5));
        post.cursor("ops", 0).unwrap();
        post.take_in("ops", 1, &[notice("a")], now).unwrap();
        let delivery = post.due("ops", now).unwrap().unwrap();
        post.failed(delivery.number, "status 500", Some(later), now).unwrap();
        assert_eq!((post.due("ops", now).unwrap(), post.next_due("ops").unwrap()), (None, Some(later)));
        assert_eq!(post.due("ops", later).unwrap().unwrap().tries, 1);
        post.failed(delivery.number, "status 500", None, later).unwrap();
        let standing = post.standing("ops", 9).unwrap();
        assert_eq!((standing.waiting, standing.dead), (0, 1));
        let row = &standing.recent[0];
        assert_eq!((row.state.as_str(), row.tries, row.problem.as_deref()), ("dead", 2, Some("status 500")));
        assert_eq!((row.ended_at, row.due_at), (Some(later), None));
        assert_eq!(post.revive("ops", later).unwrap(), 1);
        assert_eq!(post.due("ops", later).unwrap().unwrap().tries, 0);
    }

    #[test]
    fn a_destination_that_is_gone_takes_what_waits_with_it() {
        let (_folder, post) = open();
        for name in ["ops", "old"] {
            post.cursor(name, 0).unwrap();
            post.take_in(name, 1, &[notice("a")], Timestamp::UNIX_EPOCH).unwrap();
        }
        assert_eq!(post.keep_only(&["ops"]).unwrap(), 1);
        assert_eq!((post.standing("ops", 9).unwrap().waiting, post.standing("old", 9).unwrap().waiting), (1, 0));
        assert_eq!(post.cursor("old", 5).unwrap(), 5);
    }
}
