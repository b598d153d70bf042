//! A server that does nothing but insert the rows of a run: axum, one thread that writes, commits shared by all requests that wait.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, params_from_iter};
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// The first argument of the process that is the floor.
pub(crate) const COMMAND: &str = "floor";

/// The id of the run whose rows are inserted.
pub(crate) const TEMPLATE: &str = "template";

/// The most runs of a commit.
const RUNS_PER_COMMIT: usize = 4_096;

/// A row of a table, with the statement that inserts it.
struct Row {
    sql: String,
    cells: Vec<Cell>,
    /// The columns that have the number and the id of the run.
    run: Option<usize>,
    id: Option<usize>,
}

type Order = oneshot::Sender<i64>;

/// Serves until the process is ended.
pub(crate) fn serve(template: &Path, file: &Path) {
    let (orders, received) = sync_channel::<Order>(10_000);
    let (db, rows) = prepared(template, file);
    thread::spawn(move || write(&db, &rows, &received));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads can be started");
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        eprintln!("Serving http://{}", listener.local_addr().expect("it is bound"));
        let routes = Router::new().route("/api/v1/runs", post(start)).with_state(orders);
        axum::serve(listener, routes).await.expect("it serves");
    });
}

async fn start(State(orders): State<SyncSender<Order>>, Json(request): Json<Value>) -> impl IntoResponse {
    let (stored, is_stored) = oneshot::channel();
    orders.send(stored).expect("the thread writes");
    let run = is_stored.await.expect("the run is stored");
    let location = format!("/api/v1/runs/run-{run:012}");
    let body = json!({"id": format!("run-{run:012}"), "status": "running", "input": request["inputs"], "workflow": request["workflow"]});
    (StatusCode::ACCEPTED, [(header::LOCATION, location)], Json(body))
}

/// A database with the tables, indexes and triggers of a store, and the rows of a run of that store.
fn prepared(template: &Path, file: &Path) -> (Connection, Vec<Row>) {
    let store = Connection::open(template).expect("the store opens");
    let db = Connection::open(file).expect("the database opens");
    db.pragma_update(None, "journal_mode", "wal").expect("WAL is supported");
    db.pragma_update(None, "synchronous", "full").expect("a valid setting");
    db.pragma_update(None, "cache_size", -32_000).expect("a valid setting");
    db.set_prepared_statement_cache_capacity(64);
    let texts = |sql: &str| -> Vec<String> {
        let mut statement = store.prepare(sql).expect("a statement");
        let rows = statement.query_map([], |row| row.get(0)).expect("the store can be read");
        rows.collect::<Result<_, _>>().expect("the store can be read")
    };
    // The tables of full-text indexes come with them.
    let schema =
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND name NOT GLOB '*_index_*'
        ORDER BY type = 'table' DESC, type = 'index' DESC, rowid";
    for statement in texts(schema) {
        db.execute_batch(&statement).expect("it is a statement of the store");
    }
    // What rows of runs refer to.
    db.execute("ATTACH ?1 AS store", [template.to_str().expect("a plain path")]).expect("the store opens");
    for table in ["documents", "programs", "workflows", "blobs"] {
        db.execute(&format!("INSERT INTO {table} SELECT * FROM store.{table}"), []).expect("the rows are new");
    }
    db.execute_batch("DETACH store").expect("it is attached");
    let number: i64 = store
        .query_row("SELECT run FROM runs WHERE id = ?1", [TEMPLATE], |row| row.get(0))
        .expect("the template is there");
    // Triggers fill the tables of lists.
    let tables =
        "SELECT m.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'run'
        AND m.name NOT IN ('unindexed_runs', 'run_tags')";
    let mut rows = Vec::new();
    for table in texts(tables) {
        let mut statement = store.prepare(&format!("SELECT * FROM {table} WHERE run = ?1")).expect("a statement");
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        // Numbers that SQLite assigns.
        let copied: Vec<usize> = (0..names.len()).filter(|at| names[*at] != "position").collect();
        let columns: Vec<&str> = copied.iter().map(|at| names[*at].as_str()).collect();
        let marks: Vec<&str> = copied.iter().map(|_| "?").collect();
        let sql = format!("INSERT INTO {table} ({}) VALUES ({})", columns.join(", "), marks.join(", "));
        let place = |name: &str| columns.iter().position(|column| *column == name);
        let mut originals = statement.query([number]).expect("the store can be read");
        while let Some(row) = originals.next().expect("the store can be read") {
            let cells = copied.iter().map(|at| row.get(*at)).collect::<Result<_, _>>().expect("the store can be read");
            let id = place("id").filter(|_| table == "runs");
            rows.push(Row { sql: sql.clone(), cells, run: place("run"), id });
        }
    }
    assert!(rows.len() > 3, "a run has events: {}", rows.len());
    (db, rows)
}

/// Inserts the rows of all runs that wait, and commits.
fn write(db: &Connection, rows: &[Row], orders: &Receiver<Order>) {
    let mut last = 0;
    while let Ok(first) = orders.recv() {
        let waiting: Vec<Order> = [first].into_iter().chain(orders.try_iter().take(RUNS_PER_COMMIT)).collect();
        db.execute_batch("BEGIN IMMEDIATE").expect("the transaction begins");
        for run in (last + 1..).take(waiting.len()) {
            for row in rows {
                let mut cells = row.cells.clone();
                if let Some(at) = row.run {
                    cells[at] = Cell::Integer(run);
                }
                if let Some(at) = row.id {
                    cells[at] = Cell::Text(format!("run-{run:012}"));
                }
                let mut statement = db.prepare_cached(&row.sql).expect("a statement");
                statement.execute(params_from_iter(cells)).expect("the row is new");
            }
        }
        db.execute_batch("COMMIT").expect("it is committed");
        for stored in waiting {
            last += 1;
            // The client may have gone.
            let _ = stored.send(last);
        }
    }
}
