//! The speed of SQLite alone on this disk, with which every figure is compared.

use std::time::Instant;

use rusqlite::{Connection, params};

use super::Folder;

/// The number of runs that take turns.
const RUNS: usize = 1_000;

/// Transitions per second of a loop that only writes the rows of a transition.
pub(super) struct Floor {
    /// One small row, 100 transitions per commit.
    pub(super) one_row: f64,
    /// The rows of a transition (event, run, outbox), 100 transitions per commit.
    pub(super) same_rows: f64,
    /// One small row, one transition per commit.
    pub(super) single: f64,
}

pub(super) fn measure() -> Floor {
    Floor { one_row: one_row(100_000, 100), same_rows: same_rows(100_000, 100), single: one_row(2_000, 1) }
}

fn database(folder: &Folder) -> Connection {
    let db = Connection::open(folder.file()).expect("the database opens");
    db.pragma_update(None, "journal_mode", "wal").expect("WAL is supported");
    db.pragma_update(None, "synchronous", "full").expect("a valid setting");
    db
}

fn one_row(transitions: usize, batch: usize) -> f64 {
    let folder = Folder::new("floor-one");
    let db = database(&folder);
    db.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)").expect("the table is created");
    let bytes = [7_u8; 100];
    let begin = Instant::now();
    for _ in 0..transitions / batch {
        db.execute_batch("BEGIN IMMEDIATE").expect("the transaction begins");
        for _ in 0..batch {
            db.prepare_cached("INSERT INTO t (bytes) VALUES (?1)")
                .and_then(|mut row| row.execute([bytes.as_slice()]))
                .expect("the row is written");
        }
        db.execute_batch("COMMIT").expect("the transaction commits");
    }
    transitions as f64 / begin.elapsed().as_secs_f64()
}

/// The tables of the store that a transition writes, with rows of the same size.
fn same_rows(transitions: usize, batch: usize) -> f64 {
    let folder = Folder::new("floor-same");
    let db = database(&folder);
    db.execute_batch(
        "CREATE TABLE runs (run INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, status TEXT, seq INTEGER, touched_ms INTEGER);
         CREATE TABLE events (position INTEGER PRIMARY KEY, run INTEGER, seq INTEGER, mark INTEGER, packed INTEGER, bytes BLOB);
         CREATE UNIQUE INDEX events_of_run ON events (run, seq);
         CREATE TABLE outbox (run INTEGER, effect INTEGER, packed INTEGER, bytes BLOB, PRIMARY KEY (run, effect)) WITHOUT ROWID",
    )
    .expect("the tables are created");
    for run in 0..RUNS {
        db.execute(
            "INSERT INTO runs (id, status, seq, touched_ms) VALUES (?1, 'running', 0, 0)",
            [format!("run-{run:012}")],
        )
        .expect("the row is written");
    }
    let (event, command) = ([7_u8; 60], [7_u8; 40]);
    let run_sql = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
        db.prepare_cached(sql).and_then(|mut row| row.execute(values)).expect("the row is written");
    };
    let begin = Instant::now();
    for number in 0..transitions {
        if number % batch == 0 {
            db.execute_batch("BEGIN IMMEDIATE").expect("the transaction begins");
        }
        let (run, seq) = (number % RUNS + 1, number / RUNS + 1);
        let (run, seq) = (i64::try_from(run).unwrap_or_default(), i64::try_from(seq).unwrap_or_default());
        run_sql("DELETE FROM outbox WHERE run = ?1 AND effect = ?2", params![run, seq - 1]);
        run_sql(
            "INSERT INTO events (run, seq, mark, packed, bytes) VALUES (?1, ?2, 7, 0, ?3)",
            params![run, seq, event.as_slice()],
        );
        run_sql(
            "INSERT INTO outbox (run, effect, packed, bytes) VALUES (?1, ?2, 0, ?3)",
            params![run, seq, command.as_slice()],
        );
        run_sql("UPDATE runs SET seq = ?2, touched_ms = ?2 WHERE run = ?1", params![run, seq]);
        if number % batch == batch - 1 {
            db.execute_batch("COMMIT").expect("the transaction commits");
        }
    }
    transitions as f64 / begin.elapsed().as_secs_f64()
}
