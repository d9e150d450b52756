//! Conversations in a file of their own: many small writes that no run depends on stay away from the facts. Never
//! read by the engine; a lost or damaged file costs history, nothing else.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::RunId;
use engine::{Note, Page, SessionId, SessionRow, StoreError, TurnItem, TurnRow};
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use crate::encode::{int, millis, timestamp};
use crate::fault::{fault, fault_at};
use crate::sqlite::alone;

const SCHEMA: &str = include_str!("../migrations/D1__conversations.sql");
const VERSION: i64 = 1;
/// Who says what no person and no agent said.
const NOTER: &str = "holdpoint";

/// The open file.
pub struct Diary {
    connection: Mutex<Connection>,
}

impl Diary {
    /// Opens the file, or makes one.
    ///
    /// # Errors
    /// When it cannot be written, is damaged or made by a newer version.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let at = |error| fault_at(path, error);
        let _alone = alone(path);
        let mut connection = Connection::open(path).map_err(at)?;
        connection.busy_timeout(Duration::from_secs(5)).map_err(at)?;
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).map_err(at)?;
        // A power cut may cost the last moments; a killed process costs nothing.
        connection.pragma_update(None, "synchronous", "NORMAL").map_err(at)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(at)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(at)?;
        let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(at)?;
        match found {
            0 => {
                transaction.execute_batch(SCHEMA).map_err(at)?;
                transaction.pragma_update(None, "user_version", VERSION).map_err(at)?;
            }
            VERSION => {}
            newer => {
                let text = format!("`{}` has schema {newer}, this version knows {VERSION}", path.display());
                return Err(StoreError::TooNew(text));
            }
        }
        transaction.commit().map_err(at)?;
        Ok(Self { connection: Mutex::new(connection) })
    }

    pub(crate) fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what was not taken in before: all of it or nothing.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, page: &Page) -> Result<(), StoreError> {
        let mut connection = self.connection();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
        let writer = Writer { connection: &transaction, page };
        if writer.write().map_err(fault)? {
            transaction.commit().map_err(fault)?;
        }
        Ok(())
    }

    /// The conversations of a run, oldest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn sessions(&self, run: &RunId) -> Result<Vec<SessionRow>, StoreError> {
        let connection = self.connection();
        let sql = format!("{ROW} WHERE run = ?1 GROUP BY sessions.id ORDER BY sessions.started_at, sessions.id");
        let mut statement = connection.prepare_cached(&sql).map_err(fault)?;
        let rows = statement.query_map([run.as_str()], row).map_err(fault)?;
        rows.map(|found| found.map_err(fault).and_then(stamped)).collect()
    }

    /// One conversation in a line.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn session(&self, id: &SessionId) -> Result<Option<SessionRow>, StoreError> {
        let connection = self.connection();
        let mut statement =
            connection.prepare_cached(&format!("{ROW} WHERE sessions.id = ?1 GROUP BY sessions.id")).map_err(fault)?;
        statement.query_row([id.as_str()], row).optional().map_err(fault)?.map(stamped).transpose()
    }

    /// Turns of a conversation above a number, in order, at most `limit`.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn turns(&self, id: &SessionId, after: u32, limit: u32) -> Result<Vec<TurnRow>, StoreError> {
        let connection = self.connection();
        let mut statement = connection
            .prepare_cached(
                "SELECT number, started_at, completed_at, input_tokens, output_tokens FROM turns
                 WHERE session = ?1 AND number > ?2 ORDER BY number LIMIT ?3",
            )
            .map_err(fault)?;
        let found = statement
            .query_map(params![id.as_str(), after, limit], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get::<_, Option<i64>>(2)?, row.get(3)?, row.get(4)?))
            })
            .map_err(fault)?;
        let mut turns = Vec::new();
        for turn in found {
            let (number, started_at, completed_at, input_tokens, output_tokens) = turn.map_err(fault)?;
            turns.push(TurnRow {
                number,
                started_at: timestamp(started_at)?,
                completed_at: completed_at.map(timestamp).transpose()?,
                input_tokens: count(input_tokens),
                output_tokens: count(output_tokens),
                items: items(&connection, id, number).map_err(fault)?,
            });
        }
        Ok(turns)
    }
}

const ROW: &str = "SELECT sessions.id, sessions.stage, sessions.role, sessions.started_at, sessions.updated_at,
    sessions.ended, sessions.problem, (SELECT count(*) FROM attempts WHERE attempts.session = sessions.id),
    count(turns.number), coalesce(sum(turns.input_tokens), 0), coalesce(sum(turns.output_tokens), 0)
    FROM sessions LEFT JOIN turns ON turns.session = sessions.id";

type Raw = (SessionRow, i64, i64);

fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Raw> {
    let session = SessionRow {
        id: SessionId::named(&row.get::<_, String>(0)?),
        stage: row.get(1)?,
        role: row.get(2)?,
        started_at: jiff::Timestamp::UNIX_EPOCH,
        updated_at: jiff::Timestamp::UNIX_EPOCH,
        ended: row.get(5)?,
        problem: row.get(6)?,
        attempts: row.get(7)?,
        turns: row.get(8)?,
        input_tokens: count(row.get(9)?),
        output_tokens: count(row.get(10)?),
    };
    Ok((session, row.get(3)?, row.get(4)?))
}

fn stamped((row, started_at, updated_at): Raw) -> Result<SessionRow, StoreError> {
    Ok(SessionRow { started_at: timestamp(started_at)?, updated_at: timestamp(updated_at)?, ..row })
}

fn items(connection: &Connection, id: &SessionId, turn: u32) -> rusqlite::Result<Vec<TurnItem>> {
    let mut statement = connection.prepare_cached(
        "SELECT position, 'message', said_by, text, NULL, NULL, NULL, NULL FROM turn_messages
             WHERE session = ?1 AND turn = ?2
         UNION ALL SELECT position, 'thought', NULL, text, NULL, NULL, NULL, NULL FROM turn_thoughts
             WHERE session = ?1 AND turn = ?2
         UNION ALL SELECT position, tool, call, input, output, ok, millis, 1 FROM turn_tools
             WHERE session = ?1 AND turn = ?2
         ORDER BY 1",
    )?;
    let rows = statement.query_map(params![id.as_str(), turn], |row| {
        let is_tool = row.get::<_, Option<i64>>(7)?.is_some();
        let kind: String = row.get(1)?;
        Ok(match kind.as_str() {
            _ if is_tool => TurnItem::Tool {
                tool: kind,
                call: row.get(2)?,
                input: row.get(3)?,
                output: row.get(4)?,
                ok: row.get(5)?,
                millis: row.get::<_, Option<i64>>(6)?.map(count),
            },
            "message" => TurnItem::Message { by: row.get(2)?, text: row.get(3)? },
            _ => TurnItem::Thought { text: row.get(3)? },
        })
    })?;
    rows.collect()
}

fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

struct Writer<'a> {
    connection: &'a Connection,
    page: &'a Page,
}

impl Writer<'_> {
    /// Whether there was anything new.
    fn write(&self) -> rusqlite::Result<bool> {
        let Page { session, attempt, upto, .. } = self.page;
        let known: Option<i64> = self
            .connection
            .prepare_cached("SELECT lines FROM attempts WHERE session = ?1 AND attempt = ?2")?
            .query_row(params![session.as_str(), attempt], |row| row.get(0))
            .optional()?;
        // An attempt that is adopted after a restart is told from its beginning.
        let known = known.map_or(0, |lines| u64::try_from(lines).unwrap_or(0));
        if known >= *upto {
            return Ok(false);
        }
        self.begin()?;
        for (_, note) in self.page.notes.iter().filter(|(line, _)| *line > known) {
            self.note(note)?;
        }
        self.connection
            .prepare_cached("INSERT OR REPLACE INTO attempts (session, attempt, lines) VALUES (?1, ?2, ?3)")?
            .execute(params![session.as_str(), attempt, int(*upto)])?;
        Ok(true)
    }

    fn begin(&self) -> rusqlite::Result<()> {
        let Page { session, stage, role, at, .. } = self.page;
        let run = session.run().map(|run| run.as_str().to_owned());
        self.connection
            .prepare_cached(
                "INSERT INTO sessions (id, run, stage, role, started_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)
                 ON CONFLICT (id) DO UPDATE SET updated_at = max(updated_at, excluded.updated_at), ended = NULL",
            )?
            .execute(params![session.as_str(), run, stage, role, millis(*at)])?;
        Ok(())
    }

    fn note(&self, note: &Note) -> rusqlite::Result<()> {
        match note {
            Note::TurnBegun { turn } => self.begin_turn(*turn),
            Note::Said { turn, text } => self.append("turn_messages", *turn, text),
            Note::Thought { turn, text } => self.append("turn_thoughts", *turn, text),
            Note::Told { turn, by, text } => self.told(*turn, by, text),
            Note::Noted { text } => self.told(self.newest()?, NOTER, text),
            Note::ToolBegun { turn, call, tool, input } => {
                self.turn(*turn)?;
                let sql = "INSERT INTO turn_tools (session, turn, position, call, tool, input)
                           VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
                let position = self.next(*turn)?;
                let values = params![self.id(), turn, position, call, tool, input];
                self.connection.prepare_cached(sql)?.execute(values).map(drop)
            }
            Note::ToolEnded { turn, call, ok, output, millis } => {
                let sql = "UPDATE turn_tools SET ok = ?4, output = ?5, millis = ?6
                           WHERE session = ?1 AND turn = ?2 AND call = ?3";
                let values = params![self.id(), turn, call, ok, output, int(*millis)];
                self.connection.prepare_cached(sql)?.execute(values).map(drop)
            }
            Note::TurnEnded { turn, input_tokens, output_tokens } => {
                self.turn(*turn)?;
                let sql = "UPDATE turns SET completed_at = ?3, input_tokens = ?4, output_tokens = ?5
                           WHERE session = ?1 AND number = ?2";
                let values = params![self.id(), turn, millis(self.page.at), int(*input_tokens), int(*output_tokens)];
                self.connection.prepare_cached(sql)?.execute(values).map(drop)
            }
            Note::Trouble { message } => self.set("problem", message),
            Note::Ended { word } => self.set("ended", word),
        }
    }

    fn id(&self) -> &str {
        self.page.session.as_str()
    }

    fn told(&self, turn: u32, by: &str, text: &str) -> rusqlite::Result<()> {
        self.turn(turn)?;
        let sql = "INSERT INTO turn_messages (session, turn, position, said_by, text) VALUES (?1, ?2, ?3, ?4, ?5)";
        let position = self.next(turn)?;
        self.connection.prepare_cached(sql)?.execute(params![self.id(), turn, position, by, text]).map(drop)
    }

    fn newest(&self) -> rusqlite::Result<u32> {
        let sql = "SELECT coalesce(max(number), 1) FROM turns WHERE session = ?1";
        self.connection.prepare_cached(sql)?.query_row([self.id()], |row| row.get(0))
    }

    fn set(&self, column: &str, value: &str) -> rusqlite::Result<()> {
        let sql = format!("UPDATE sessions SET {column} = ?2 WHERE id = ?1");
        self.connection.prepare_cached(&sql)?.execute(params![self.id(), value]).map(drop)
    }

    /// What an earlier attempt said in a turn it did not complete is said again.
    fn begin_turn(&self, turn: u32) -> rusqlite::Result<()> {
        self.turn(turn)?;
        for sql in [
            "DELETE FROM turn_messages WHERE session = ?1 AND turn = ?2 AND said_by IS NULL",
            "DELETE FROM turn_thoughts WHERE session = ?1 AND turn = ?2",
            "DELETE FROM turn_tools WHERE session = ?1 AND turn = ?2",
        ] {
            self.connection.prepare_cached(sql)?.execute(params![self.id(), turn])?;
        }
        Ok(())
    }

    fn turn(&self, turn: u32) -> rusqlite::Result<()> {
        let sql = "INSERT OR IGNORE INTO turns (session, number, started_at) VALUES (?1, ?2, ?3)";
        self.connection.prepare_cached(sql)?.execute(params![self.id(), turn, millis(self.page.at)]).map(drop)
    }

    fn last(&self, turn: u32) -> rusqlite::Result<Option<(i64, String)>> {
        let sql = "SELECT position, kind FROM (
                SELECT position, CASE WHEN said_by IS NULL THEN 'turn_messages' ELSE '' END AS kind FROM turn_messages
                    WHERE session = ?1 AND turn = ?2
                UNION ALL SELECT position, 'turn_thoughts' FROM turn_thoughts WHERE session = ?1 AND turn = ?2
                UNION ALL SELECT position, '' FROM turn_tools WHERE session = ?1 AND turn = ?2
            ) ORDER BY position DESC LIMIT 1";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_row(params![self.id(), turn], |row| Ok((row.get(0)?, row.get(1)?))).optional()
    }

    fn next(&self, turn: u32) -> rusqlite::Result<i64> {
        Ok(self.last(turn)?.map_or(1, |(position, _)| position + 1))
    }

    /// The next piece of what is being said, or the beginning of something new.
    fn append(&self, table: &str, turn: u32, text: &str) -> rusqlite::Result<()> {
        self.turn(turn)?;
        let (position, sql) = match self.last(turn)? {
            Some((position, kind)) if kind == table => {
                let sql =
                    format!("UPDATE {table} SET text = text || ?4 WHERE session = ?1 AND turn = ?2 AND position = ?3");
                (position, sql)
            }
            last => {
                let sql = format!("INSERT INTO {table} (session, turn, position, text) VALUES (?1, ?2, ?3, ?4)");
                (last.map_or(1, |(position, _)| position + 1), sql)
            }
        };
        self.connection.prepare_cached(&sql)?.execute(params![self.id(), turn, position, text]).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "xf643g-twbbkr";

    fn page(attempt: u32, notes: &[(u64, Note)]) -> Page {
        Page {
            session: SessionId::named(&format!("{RUN}.worker-1")),
            stage: "working".to_owned(),
            role: "worker".to_owned(),
            attempt,
            upto: notes.last().map_or(0, |(line, _)| *line),
            at: jiff::Timestamp::UNIX_EPOCH,
            notes: notes.to_vec(),
        }
    }

    fn said(turn: u32, text: &str) -> Note {
        Note::Said { turn, text: text.to_owned() }
    }

    fn begun(turn: u32, call: &str) -> Note {
        Note::ToolBegun { turn, call: call.to_owned(), tool: "grep".to_owned(), input: "x".to_owned() }
    }

    fn words(diary: &Diary) -> Vec<Vec<String>> {
        let turns = diary.turns(&SessionId::named(&format!("{RUN}.worker-1")), 0, 100).unwrap();
        let word = |item: &TurnItem| match item {
            TurnItem::Message { by: None, text } => text.clone(),
            TurnItem::Message { by: Some(by), text } => format!("{by}: {text}"),
            TurnItem::Thought { text } => format!("({text})"),
            TurnItem::Tool { tool, output, .. } => format!("{tool}={}", output.as_deref().unwrap_or("?")),
        };
        turns.iter().map(|turn| turn.items.iter().map(word).collect()).collect()
    }

    #[test]
    fn pieces_are_put_together_in_order_and_told_again_change_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let diary = Diary::open(&folder.path().join("c.db")).unwrap();
        let thought = Note::Thought { turn: 1, text: "hm".to_owned() };
        let ended = Note::ToolEnded { turn: 1, call: "a".to_owned(), ok: true, output: "3".to_owned(), millis: 5 };
        let all = [
            (1, Note::TurnBegun { turn: 1 }),
            (2, thought),
            (3, said(1, "I lo")),
            (4, said(1, "ok")),
            (6, begun(1, "a")),
            (7, ended),
            (8, said(1, "done")),
            (9, Note::TurnEnded { turn: 1, input_tokens: 10, output_tokens: 4 }),
        ];
        for upto in [3, 5, 8, 8] {
            diary.keep(&page(1, &all[..upto])).unwrap();
        }
        assert_eq!(words(&diary), [["(hm)", "I look", "grep=3", "done"]]);
        let row = diary.session(&SessionId::named(&format!("{RUN}.worker-1"))).unwrap().unwrap();
        assert_eq!((row.turns, row.attempts, row.input_tokens, row.output_tokens), (1, 1, 10, 4));
    }

    #[test]
    fn a_turn_that_was_not_completed_is_told_anew_by_the_next_attempt() {
        let folder = tempfile::tempdir().unwrap();
        let diary = Diary::open(&folder.path().join("c.db")).unwrap();
        let told = Note::Told { turn: 2, by: "ada".to_owned(), text: "use grep".to_owned() };
        diary.keep(&page(1, &[(1, told), (2, Note::TurnBegun { turn: 2 }), (3, said(2, "half a se"))])).unwrap();
        diary
            .keep(&page(4, &[(1, Note::TurnBegun { turn: 2 }), (2, said(2, "A sentence.")), (3, begun(2, "b"))]))
            .unwrap();
        assert_eq!(words(&diary), [["ada: use grep", "A sentence.", "grep=?"]]);
        let of_run = diary.sessions(&RUN.parse().unwrap()).unwrap();
        assert_eq!((of_run.len(), of_run[0].attempts), (1, 2));
    }

    #[test]
    fn a_file_of_a_newer_version_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.db");
        drop(Diary::open(&path).unwrap());
        Connection::open(&path).unwrap().pragma_update(None, "user_version", 9).unwrap();
        assert!(matches!(Diary::open(&path), Err(StoreError::TooNew(_))));
    }
}
