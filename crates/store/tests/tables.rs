//! Tables told from events are written with them: questions, artifacts, spend, the moments of a run.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use domain::{AgentEnd, Command, Decision, Micros, Outcome};
use engine::{Append, Appended, Batch, Store as _};
use store::Sqlite;
use testkit::{History, samples};

struct Book {
    directory: tempfile::TempDir,
    store: Sqlite,
    history: History,
}

impl Book {
    fn planning() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Sqlite::open(&directory.path().join("holdpoint.db")).unwrap();
        let mut book = Self { directory, store, history: History::unopened(samples::run_id(1)) };
        book.take(Command::Start(Box::new(samples::start(samples::config()))));
        book.report(1, Outcome::BranchOpened { base: samples::commit(1) });
        book
    }

    fn write(&self, append: Append) {
        let committed = self.store.commit(&Batch { appends: vec![append], lease: None }).unwrap();
        assert_eq!(committed.appended, [Appended::Done]);
    }

    fn take(&mut self, command: Command) {
        let append = self.history.take(command).unwrap();
        self.write(append);
    }

    fn report(&mut self, effect: u32, outcome: Outcome) {
        self.take(Command::Report(domain::Report { effect, outcome }));
    }

    fn decide(&mut self, decision: Decision) {
        let append = self.history.decide("ada", decision).unwrap();
        self.write(append);
    }

    fn ask(&mut self, count: usize) {
        let questions = (0..count).map(|n| samples::question(&format!("what about {n}?"))).collect();
        let effect = self.history.open().unwrap();
        self.report(
            effect,
            Outcome::AgentEnded { end: AgentEnd::Asked { questions }, tier: None, program: None, wip: None },
        );
    }

    #[track_caller]
    fn check(&self, sql: &str, expected: &[&str]) {
        let connection = rusqlite::Connection::open(self.directory.path().join("holdpoint.db")).unwrap();
        let mut statement = connection.prepare(sql).unwrap();
        let found: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert_eq!(found, expected);
    }
}

const QUESTIONS: &str =
    "SELECT attempt_number || ' ' || stage || ' ' || question || ' ' || response_type || ' ' || status
    || ' ' || coalesce(response, '-') FROM clarification_requests ORDER BY attempt_number";

#[test]
fn a_question_is_listed_and_its_answer_beside_it() {
    let mut book = Book::planning();
    book.ask(2);
    book.check(QUESTIONS, &["1 planning what about 0? text pending -"]);
    book.decide(Decision::Answer { answer: vec!["Google".to_owned()] });
    book.decide(Decision::Ignore);
    book.check(
        QUESTIONS,
        &["1 planning what about 0? text answered [\"Google\"]", "2 planning what about 1? text ignored -"],
    );
}

#[test]
fn an_open_question_of_a_cancelled_run_is_cancelled() {
    let mut book = Book::planning();
    book.ask(1);
    book.take(Command::Cancel { by: samples::actor("bob"), reason: None });
    book.check(QUESTIONS, &["1 planning what about 0? text cancelled -"]);
}

#[test]
fn every_artifact_is_listed() {
    let mut book = Book::planning();
    for append in book.history.go_on() {
        book.write(append);
    }
    let sql = "SELECT kind || ' ' || stage || ' ' || version FROM artifacts ORDER BY sequence";
    book.check(sql, &["spec planning 1", "code implementation 1", "validation_report validation 1"]);
}

#[test]
fn every_paid_call_is_listed() {
    let mut book = Book::planning();
    for (call, cost) in [(1, Some(Micros(7))), (2, None)] {
        book.take(Command::Spend(domain::SpendReport {
            effect: 2,
            call,
            model: "scripted/one".to_owned(),
            input_tokens: 10,
            output_tokens: 5,
            cost,
            reported_by: None,
        }));
    }
    let sql = "SELECT effect || '/' || call || ' ' || model || ' ' || coalesce(cost_micros, 'unknown') FROM spend";
    book.check(sql, &["2/1 scripted/one 7", "2/2 scripted/one unknown"]);
}

#[test]
fn a_row_keeps_when_the_run_started_paused_and_resumed() {
    let mut book = Book::planning();
    book.ask(1);
    book.decide(Decision::Ignore);
    let sql = "SELECT (started_at - created_at) || ' ' || (paused_at - created_at) || ' ' || (resumed_at - created_at)
        FROM workflow_runs";
    book.check(sql, &["1000 2000 3000"]);
}

#[test]
fn what_was_spent_before_a_fork_is_in_no_table_of_the_fork() {
    let mut book = Book::planning();
    let spend = domain::SpendReport {
        effect: book.history.open().unwrap(),
        call: 1,
        model: "scripted/one".to_owned(),
        input_tokens: 10,
        output_tokens: 5,
        cost: Some(Micros(700)),
        reported_by: None,
    };
    book.take(Command::Spend(spend));
    book.ask(1);
    let (origin, log, by) = (book.history.run.id.clone(), book.history.log.clone(), samples::actor("eve"));
    let asked = domain::Fork { origin: origin.clone(), log, changes: domain::ForkChanges::default(), by };
    let mut fork = History::unopened(samples::run_id(2));
    book.write(fork.take(Command::Fork(Box::new(asked))).unwrap());
    book.check("SELECT DISTINCT workflow_run_id FROM spend", &[origin.as_str()]);
    let sums =
        "SELECT cost_micros || ' ' || inherited_micros || ' ' || calls || ' ' || inherited_calls FROM workflow_runs
        ORDER BY number";
    book.check(sums, &["700 0 1 0", "0 700 0 1"]);
    book.check("SELECT status FROM clarification_requests", &["pending", "pending"]);
}
