//! Programs, stores and hosts for the tests of this module.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use branchpoint_core::effect::Kind;
use branchpoint_core::ir::builder::{Builder, ROOT, effect};
use branchpoint_core::ir::{Arm, Effect, ExprId, PlaceId, Program, Status};
use branchpoint_expr::Value;

use super::{Accepted, DrivenRuns, Facts, Host, Rejection, Start, Ticket, TurnOutput};
use crate::store::{Document, Durability, RunNo, Store, Workflow, WorkflowNo};

/// A program that begins at some places. It is built with the null value and the place where it ends.
pub(crate) fn program(build: impl FnOnce(&mut Builder, ExprId, PlaceId) -> Vec<PlaceId>) -> Program {
    let mut b = Builder::new();
    let null = b.value(Value::Null);
    let end = b.close(Status::Completed, null);
    let begin = build(&mut b, null, end);
    b.begin(ROOT, &begin);
    b.finish().expect("the program is valid")
}

/// A run that computes without end.
pub(crate) fn spinning() -> Program {
    program(|b, _, _| {
        b.fact("account");
        let again = b.reserve();
        vec![b.at(again).set([], again, None)]
    })
}

/// A run that makes one call and ends.
pub(crate) fn calling() -> Program {
    program(|b, null, end| vec![call(b, effect(Kind::Tool), null, end)])
}

/// A run that ends ten milliseconds after its start.
pub(crate) fn waiting() -> Program {
    program(|b, _, end| vec![wait(b, end)])
}

/// A run that calls another and ends.
pub(crate) fn parent() -> Program {
    program(|b, null, end| vec![call(b, child_call(), null, end)])
}

/// Calls the workflow `child`.
pub(crate) fn child_call() -> Effect {
    let fixed = serde_json::from_str(r#"{"workflow": "child"}"#).expect("this is JSON");
    Effect { fixed, ..effect(Kind::Run) }
}

/// Makes a call and continues.
pub(crate) fn call(b: &mut Builder, definition: Effect, input: ExprId, next: PlaceId) -> PlaceId {
    let effect = b.effect(definition);
    b.do_(effect, input, None, next, None)
}

/// Waits for ten milliseconds and continues.
pub(crate) fn wait(b: &mut Builder, next: PlaceId) -> PlaceId {
    let delay_ms = b.value(10);
    b.wait([Arm::After { delay_ms, next }], None)
}

pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("there is room for a store"))
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.path().join("store.db")
    }

    pub(crate) fn host(&self, facts: Facts) -> Host {
        Host::new(open(&self.file()), "test", DrivenRuns::Requested, facts, 0).expect("the store can be driven")
    }

    pub(crate) fn quiet_host(&self) -> Host {
        self.host(Arc::new(|_| Value::Null))
    }
}

/// A host that drives one run of a program.
pub(crate) fn started(program: &Program) -> (Place, Host, RunNo) {
    let place = Place::new();
    let mut host = place.quiet_host();
    let workflow = save(host.store(), "workflow", program);
    let run = start(&mut host, workflow, "run");
    (place, host, run)
}

pub(crate) fn turns(host: &mut Host, count: usize, now_ms: i64) {
    (0..count).for_each(|_| drop(host.turn(now_ms).expect("the store works")));
}

/// Applies the events that other processes have sent.
pub(crate) fn poll_store(host: &mut Host) {
    host.poll_store().expect("the store works");
    turns(host, 1, 0);
}

pub(crate) fn open(file: &Path) -> Store {
    Store::open(file, Durability::Normal).expect("the store opens")
}

pub(crate) fn save(store: &Store, name: &str, program: &Program) -> WorkflowNo {
    save_with(store, name, program, &BTreeMap::new())
}

pub(crate) fn save_with(
    store: &Store,
    name: &str,
    program: &Program,
    children: &BTreeMap<Arc<str>, Program>,
) -> WorkflowNo {
    let text = |text: &str| text.to_owned();
    let document = Document { name: text(name), dialect: text("test"), origin: text("test"), text: String::new() };
    store.save(Workflow { document: &document, program, children }, 0).expect("it can be kept")
}

pub(crate) fn start(host: &mut Host, workflow: WorkflowNo, id: &str) -> RunNo {
    host.start(Start::new(workflow, id.into(), Value::Null), Ticket(7));
    let outputs = host.turn(0).expect("the store works");
    answered(&outputs).expect("a start is answered in its turn").expect("it starts").run
}

pub(crate) fn answered(outputs: &[TurnOutput]) -> Option<Result<Accepted, Rejection>> {
    outputs.iter().find_map(|output| match output {
        TurnOutput::OrderDone { outcome, .. } => Some(outcome.clone()),
        _ => None,
    })
}

pub(crate) fn ops(host: &Host, run: RunNo) -> u64 {
    host.state_in_memory(run).expect("it is open").ops()
}
