//! Fills a store with many copies of its runs, whose rows are those that the program wrote.

use std::path::Path;
use std::time::Instant;

use rusqlite::{Connection, params};

/// Copies all runs of a store until it has so many. Copies are older than their originals: one second between two of them.
pub(crate) fn fill(store: &Path, runs: usize) {
    let begin = Instant::now();
    let db = Connection::open(store).expect("the store opens");
    db.pragma_update(None, "synchronous", "off").expect("a valid setting");
    db.pragma_update(None, "cache_size", -400_000).expect("a valid setting");
    let originals: i64 =
        db.query_row("SELECT max(run) FROM runs", [], |row| row.get(0)).expect("the store can be read");
    let copies = i64::try_from(runs).unwrap_or(i64::MAX) / originals - 1;
    let tables = tables_of_runs(&db);
    db.execute_batch("BEGIN IMMEDIATE").expect("the transaction begins");
    for (table, columns) in &tables {
        let copied: Vec<String> = columns
            .iter()
            .map(|column| match (column.as_str(), table.as_str()) {
                ("run", _) => format!("(n.n + 1) * {originals} + t.run"),
                ("taker", "script_used") => format!("(n.n + 1) * {originals} + t.taker"),
                ("id", "runs") => "t.id || '-' || n.n".to_owned(),
                ("owner", "runs") => "NULL".to_owned(),
                ("started_ms" | "touched_ms", _) => {
                    format!("t.{column} - ({copies} - n.n) * {originals} * 1000 - 60000")
                }
                (column, _) => format!("t.{column}"),
            })
            .collect();
        let sql = format!(
            "WITH RECURSIVE n (n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM n WHERE n + 1 < ?1)
             INSERT INTO {table} ({}) SELECT {} FROM n CROSS JOIN {table} t WHERE t.run <= ?2",
            columns.join(", "),
            copied.join(", ")
        );
        db.execute(&sql, params![copies, originals]).expect("the rows are new");
    }
    let sql = "INSERT INTO run_index (rowid, text)
        SELECT run, id || ' ' || workflow_name || ' question ' || run || iif(run % 10 = 0, ' tenth', '') || iif(run % 1000 = 0, ' thousandth', '')
        FROM runs WHERE run > ?1";
    db.execute(sql, [originals]).expect("the rows are new");
    db.execute_batch("DELETE FROM unindexed_runs; COMMIT; PRAGMA wal_checkpoint(TRUNCATE)").expect("it is committed");
    let bytes = std::fs::metadata(store).map_or(0, |file| file.len());
    println!(
        "{} runs in a store of {:.1} GB, the oldest {:.0} days old, filled in {:.0} s",
        (copies + 1) * originals,
        bytes as f64 / 1e9,
        (copies * originals) as f64 / 86_400.0,
        begin.elapsed().as_secs_f64()
    );
}

/// The tables with rows of runs and their columns, without numbers that SQLite assigns. Triggers fill the other tables.
fn tables_of_runs(db: &Connection) -> Vec<(String, Vec<String>)> {
    let sql =
        "SELECT m.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'run'
        AND m.name NOT IN ('unindexed_runs', 'timers', 'queue', 'notices', 'sessions') ORDER BY m.name <> 'runs'";
    let names: Vec<String> = {
        let mut statement = db.prepare(sql).expect("a statement");
        let rows = statement.query_map([], |row| row.get(0)).expect("the store can be read");
        rows.collect::<Result<_, _>>().expect("the store can be read")
    };
    let columns = |table: &str| -> Vec<String> {
        let sql = "SELECT name FROM pragma_table_info(?1) WHERE name NOT IN ('position', 'item', 'attachment')";
        let mut statement = db.prepare(sql).expect("a statement");
        let rows = statement.query_map([table], |row| row.get(0)).expect("the store can be read");
        rows.collect::<Result<_, _>>().expect("the store can be read")
    };
    names.into_iter().map(|name| (name.clone(), columns(&name))).collect()
}
