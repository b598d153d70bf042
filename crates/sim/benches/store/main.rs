//! The embedded host beside bare SQLite: `cargo bench -p branchpoint-sim --bench store [-- throughput|latency|paused|long]`.
//!
//! Every figure is printed with a figure of bare SQLite from the same run, on the same disk. The store is in the folder
//! `BRANCHPOINT_BENCH_DIR`, or below the working directory, because temporary folders are often in memory.

mod floor;
mod long;
mod paused;
mod throughput;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use branchpoint_core::ir::Program;
use branchpoint_dialects::load;
use branchpoint_expr::{Dialect, Value};
use branchpoint_host::host::{DrivenRuns, Host};
use branchpoint_host::store::{Document, Durability, Store, Workflow, WorkflowNo};
use branchpoint_runners::{Answer, AnswerFuture, Call, CancellationToken, Runner};

fn main() {
    let named: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let wanted = |name: &str| named.is_empty() || named.iter().any(|named| named == name);
    if wanted("throughput") {
        throughput::run();
    }
    if wanted("latency") {
        throughput::alone();
    }
    if wanted("long") {
        long::run();
    }
    if wanted("paused") {
        paused::run();
    }
}

/// A folder that is removed after the benchmark.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let root = std::env::var_os("BRANCHPOINT_BENCH_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
        let folder = root.join(format!("bench-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the folder can be created");
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("store.db")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A remaining temporary folder does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Answers every call at once, in the same process.
struct InProcess;

impl Runner for InProcess {
    fn perform<'c>(&'c self, _: &'c Call, _: &'c CancellationToken) -> AnswerFuture<'c> {
        unreachable!("every call is answered at once")
    }

    fn answer_immediately(&self, _: &Call) -> Option<Answer> {
        Some(Answer::model("done"))
    }

    fn fact(&self, _: &str) -> Value {
        Value::Null
    }
}

fn program(text: &str) -> Program {
    let loaded = load(text, Some(Dialect::Steps));
    loaded.program.unwrap_or_else(|| panic!("the document does not load: {:?}", loaded.diagnostics))
}

fn saved(store: &Store, text: &str) -> WorkflowNo {
    let program = program(text);
    let name = |name: &str| name.to_owned();
    let document = Document { name: name("bench"), dialect: name("steps"), origin: name("bench"), text: text.into() };
    let workflow = Workflow { document: &document, program: &program, children: &BTreeMap::new() };
    store.save(workflow, 0).expect("the document is stored")
}

fn host(folder: &Folder, drives: DrivenRuns) -> Host {
    let store = Store::open(&folder.file(), Durability::Full).expect("the store opens");
    Host::new(store, "bench", drives, Arc::new(|_| Value::Null), 0).expect("the host starts")
}

/// The resident memory of the process, in megabytes.
fn resident_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok()).unwrap_or_default() / 1024.0
}
