//! The host that vectors run on: in memory, or in a file, which can be reopened after every event.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use branchpoint_core::codec::encode_state;
use branchpoint_core::ir::Program;
use branchpoint_core::{Fold, JournalRow, Revision, State, continue_on};
use branchpoint_expr::Value;
use branchpoint_host::VirtualDriver;
use branchpoint_host::store::{Filter, ImportLimits, Store, TransferError};

use crate::restate::SteppedHost;

/// The kind of host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hosting {
    /// A store in memory.
    #[default]
    Plain,
    /// A store in a file.
    Sqlite,
    /// A store in a file, with a simulated crash after every event.
    Crashing,
    /// A Restate server, which is started for this process.
    Restate,
}

static HOSTING: OnceLock<Hosting> = OnceLock::new();

/// Sets the host for all vectors of this process, before the first one runs.
pub fn set_hosting(hosting: Hosting) {
    // A second call sets the same host.
    let _ = HOSTING.set(hosting);
}

pub(super) fn hosting() -> Hosting {
    *HOSTING.get_or_init(Hosting::default)
}

/// A driver with a run that has not started.
pub(super) fn driver(program: &Program, now_ms: i64) -> VirtualDriver<'_> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        /// All vectors share one store, with different run ids.
        static FOLDER: RefCell<Option<Directory>> = const { RefCell::new(None) };
    }
    if hosting() == Hosting::Plain {
        return VirtualDriver::new(program, now_ms);
    }
    if hosting() == Hosting::Restate {
        let id = format!("run-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        return VirtualDriver::on(Box::new(SteppedHost::default()), id, program, now_ms);
    }
    let file = FOLDER.with_borrow_mut(|folder| folder.get_or_insert_with(Directory::new).0.join("store.db"));
    let id = format!("run-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let memory = VirtualDriver::in_file(&file, id, program, now_ms);
    if hosting() == Hosting::Crashing { memory.restarting() } else { memory }
}

/// Exports the runs of a store, imports them into an empty one, and compares both exports. Returns the problem, if there is one.
pub fn round_trip(store: &Store) -> Option<String> {
    let first = match exported(store) {
        Ok(first) => first,
        Err(problem) => return Some(format!("the run cannot be exported: {problem}")),
    };
    let other = Store::in_memory().expect("there is memory for a small database");
    if let Err(problem) = other.import(first.as_slice(), ImportLimits::default(), 0) {
        return Some(format!("the run cannot be imported: {problem}"));
    }
    match exported(&other) {
        Ok(second) if second == first => None,
        Ok(_) => Some("the imported run is exported with other bytes".into()),
        Err(problem) => Some(format!("the imported run cannot be exported: {problem}")),
    }
}

fn exported(store: &Store) -> Result<Vec<u8>, TransferError> {
    let runs: Vec<_> = store.runs(&Filter::default())?.iter().rev().map(|run| run.run).collect();
    let mut bytes = Vec::new();
    store.export(&runs, &mut bytes)?;
    Ok(bytes)
}

/// The problem with exporting and importing a run. Stores in files are skipped, because they contain the runs of many vectors. On Restate,
/// the stored journal and state are compared with the run instead.
pub(super) fn exchange_problem(memory: &VirtualDriver<'_>) -> Option<String> {
    if hosting() == Hosting::Restate {
        return memory.journal().is_empty().then(|| "the run has no journal".into());
    }
    if hosting() != Hosting::Plain {
        return None;
    }
    round_trip(memory.store()).or_else(|| revision_problem(memory.store()))
}

/// The longest journal whose every beginning is replayed.
const REPLAYED_EVENTS: usize = 40;

/// The problem with continuing a run on its own program: that must change nothing, at any moment.
fn revision_problem(store: &Store) -> Option<String> {
    let runs = store.runs(&Filter { children: true, ..Filter::default() }).ok()?;
    runs.into_iter().find_map(|run| {
        let program = store.program(run.workflow, &run.part).ok()??;
        let journal = store.journal(run.run).ok()?;
        let first = if journal.len() > REPLAYED_EVENTS { journal.len() } else { 1 };
        (first..=journal.len()).find_map(|count| {
            let problem = same_program_problem(&program, &journal[..count])?;
            Some(format!("run `{}` after event {count}: {problem}", run.id))
        })
    })
}

fn same_program_problem(program: &Program, journal: &[JournalRow]) -> Option<String> {
    let state = Fold::new(program, State::new(), journal.to_vec()).finish().ok()?;
    let revision = Revision {
        old: program,
        new: program,
        offsets_s: &|_, _| Vec::new(),
        fact: &|_| Value::Null,
        has_same_child: &|_, _| true,
    };
    match continue_on(&revision, journal.to_vec()) {
        Err(difference) => Some(format!("it cannot continue on its own program: {difference}")),
        Ok(continued) if continued.rows != journal => Some("its journal differs on its own program".into()),
        Ok(continued) if encode_state(&continued.state) != encode_state(&state) => {
            Some("its state differs on its own program".into())
        }
        Ok(continued) if continued.waiting[0] != continued.waiting[1] || !continued.void_votes.is_empty() => {
            Some("it waits elsewhere on its own program".into())
        }
        Ok(_) => None,
    }
}

/// A temporary directory that is removed when it is dropped.
pub(super) struct Directory(pub(super) PathBuf);

impl Directory {
    pub(super) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("branchpoint-vectors-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary directory can be created");
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // A remaining temporary directory does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
