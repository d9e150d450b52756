//! Channels and their questions, in the file of the conversations. A question is kept before anything is done about it
//! and answered once.

use domain::Micros;
use engine::{Answered, Channel, Question, StoreError};
use rusqlite::{OptionalExtension as _, Row, TransactionBehavior, params};

use crate::diary::Diary;
use crate::encode::{int, millis, timestamp};
use crate::fault::fault;

const QUESTION: &str = "SELECT channel, number, asked_by, text, model, asked_at, answer, problem, answered_at, cost
    FROM questions";

impl Diary {
    /// Keeps a new channel.
    ///
    /// # Errors
    /// When it cannot be written, or the id is taken.
    pub fn open_channel(&self, channel: &Channel) -> Result<(), StoreError> {
        let Channel { id, project, title, created_by, created_at } = channel;
        let sql = "INSERT INTO channels (id, project, title, created_by, created_at) VALUES (?1, ?2, ?3, ?4, ?5)";
        let values = params![id, project, title, created_by, millis(*created_at)];
        self.connection().prepare_cached(sql).and_then(|mut statement| statement.execute(values)).map_err(fault)?;
        Ok(())
    }

    /// A channel by its id.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn channel(&self, id: &str) -> Result<Option<Channel>, StoreError> {
        let connection = self.connection();
        let sql = "SELECT id, project, title, created_by, created_at FROM channels WHERE id = ?1";
        let found = connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row([id], raw_channel).optional())
            .map_err(fault)?;
        found.map(channel).transpose()
    }

    /// All channels, the newest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn channels(&self) -> Result<Vec<Channel>, StoreError> {
        let connection = self.connection();
        let sql = "SELECT id, project, title, created_by, created_at FROM channels ORDER BY created_at DESC, id";
        let mut statement = connection.prepare_cached(sql).map_err(fault)?;
        let rows = statement.query_map([], raw_channel).map_err(fault)?;
        rows.map(|found| found.map_err(fault).and_then(channel)).collect()
    }

    /// Keeps a question under the next number of its channel; whatever number it came with.
    ///
    /// # Errors
    /// When it cannot be written, or there is no such channel.
    pub fn ask(&self, question: &Question) -> Result<u32, StoreError> {
        let mut connection = self.connection();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
        let number: u32 = transaction
            .query_row("SELECT count(*) + 1 FROM questions WHERE channel = ?1", [&question.channel], |row| row.get(0))
            .map_err(fault)?;
        let Question { channel, asked_by, text, model, asked_at, .. } = question;
        let sql = "INSERT INTO questions (channel, number, asked_by, text, model, asked_at)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let values = params![channel, number, asked_by, text, model, millis(*asked_at)];
        transaction.execute(sql, values).map_err(fault)?;
        transaction.commit().map_err(fault)?;
        Ok(number)
    }

    /// Keeps what came of a question. Only the first word counts.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn answered(&self, channel: &str, number: u32, answered: &Answered) -> Result<bool, StoreError> {
        let sql = "UPDATE questions SET answer = ?3, problem = ?4, answered_at = ?5, cost = ?6
                   WHERE channel = ?1 AND number = ?2 AND answered_at IS NULL";
        let (answer, problem) = (answered.answer.as_ref().ok(), answered.answer.as_ref().err());
        let cost = answered.cost.map(|cost| int(cost.0));
        let values = params![channel, number, answer, problem, millis(answered.at), cost];
        let connection = self.connection();
        let changed =
            connection.prepare_cached(sql).and_then(|mut statement| statement.execute(values)).map_err(fault)?;
        Ok(changed == 1)
    }

    /// The questions of a channel, in order.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn questions(&self, channel: &str) -> Result<Vec<Question>, StoreError> {
        self.find_questions(&format!("{QUESTION} WHERE channel = ?1 ORDER BY number"), &[channel])
    }

    /// Questions of all channels that nobody has answered yet, oldest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn open_questions(&self) -> Result<Vec<Question>, StoreError> {
        self.find_questions(&format!("{QUESTION} WHERE answered_at IS NULL ORDER BY asked_at, channel, number"), &[])
    }

    fn find_questions(&self, sql: &str, values: &[&str]) -> Result<Vec<Question>, StoreError> {
        let connection = self.connection();
        let mut statement = connection.prepare_cached(sql).map_err(fault)?;
        let rows = statement.query_map(rusqlite::params_from_iter(values), raw_question).map_err(fault)?;
        rows.map(|found| found.map_err(fault).and_then(question)).collect()
    }
}

type RawChannel = (Channel, i64);

fn raw_channel(row: &Row<'_>) -> rusqlite::Result<RawChannel> {
    let channel = Channel {
        id: row.get(0)?,
        project: row.get(1)?,
        title: row.get(2)?,
        created_by: row.get(3)?,
        created_at: jiff::Timestamp::UNIX_EPOCH,
    };
    Ok((channel, row.get(4)?))
}

fn channel((channel, created_at): RawChannel) -> Result<Channel, StoreError> {
    Ok(Channel { created_at: timestamp(created_at)?, ..channel })
}

struct RawQuestion {
    question: Question,
    asked_at: i64,
    answer: Option<String>,
    problem: Option<String>,
    answered_at: Option<i64>,
    cost: Option<i64>,
}

fn raw_question(row: &Row<'_>) -> rusqlite::Result<RawQuestion> {
    Ok(RawQuestion {
        question: Question {
            channel: row.get(0)?,
            number: row.get(1)?,
            asked_by: row.get(2)?,
            text: row.get(3)?,
            model: row.get(4)?,
            asked_at: jiff::Timestamp::UNIX_EPOCH,
            answered: None,
        },
        asked_at: row.get(5)?,
        answer: row.get(6)?,
        problem: row.get(7)?,
        answered_at: row.get(8)?,
        cost: row.get(9)?,
    })
}

fn question(raw: RawQuestion) -> Result<Question, StoreError> {
    let answered = match raw.answered_at {
        None => None,
        Some(at) => Some(Answered {
            answer: raw.answer.ok_or_else(|| raw.problem.unwrap_or_default()),
            at: timestamp(at)?,
            cost: raw.cost.map(|cost| Micros(u64::try_from(cost).unwrap_or(0))),
        }),
    };
    Ok(Question { asked_at: timestamp(raw.asked_at)?, answered, ..raw.question })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_stays_open_until_it_is_answered_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.db");
        let diary = Diary::open(&path).unwrap();
        let at = jiff::Timestamp::UNIX_EPOCH;
        let channel = Channel {
            id: "ch-0123456789".to_owned(),
            project: "/p".to_owned(),
            title: "t".to_owned(),
            created_by: "ada".to_owned(),
            created_at: at,
        };
        diary.open_channel(&channel).unwrap();
        assert!(diary.open_channel(&channel).is_err(), "an id is taken once");
        let ask = Question {
            channel: channel.id.clone(),
            number: 0,
            asked_by: "ada".to_owned(),
            text: "where?".to_owned(),
            model: "scripted/story".to_owned(),
            asked_at: at,
            answered: None,
        };
        assert_eq!((diary.ask(&ask).unwrap(), diary.ask(&ask).unwrap()), (1, 2));
        drop(diary);
        let diary = Diary::open(&path).unwrap();
        assert_eq!(diary.open_questions().unwrap().len(), 2);
        let here = Answered { answer: Ok("here".to_owned()), at, cost: Some(Micros(5)) };
        let nowhere = Answered { answer: Err("gone".to_owned()), at, cost: None };
        assert!(diary.answered(&channel.id, 1, &here).unwrap());
        assert!(!diary.answered(&channel.id, 1, &nowhere).unwrap(), "the first word counts");
        assert!(diary.answered(&channel.id, 2, &nowhere).unwrap());
        let all = diary.questions(&channel.id).unwrap();
        assert_eq!((all[0].answered.clone(), all[1].answered.clone()), (Some(here), Some(nowhere)));
        assert_eq!((diary.open_questions().unwrap().len(), diary.channels().unwrap()), (0, vec![channel]));
        assert!(diary.ask(&Question { channel: "ch-nothing".to_owned(), ..ask }).is_err());
    }
}
