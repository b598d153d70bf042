//! Programs, stores and hosts for the tests of this module.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use branchpoint_core::effect::Kind;
use branchpoint_core::ir::builder::{Builder, ROOT, effect};
use branchpoint_core::ir::{Arm, Effect, Program, Status};
use branchpoint_expr::Value;

use super::{Act, Drives, Facts, Host, Refused, Start, Taken, Ticket};
use crate::store::{Document, Durability, RunNo, Store, Workflow, WorkflowNo};

/// A run that never rests.
pub(crate) fn spinning() -> Program {
    let mut b = Builder::new();
    b.fact("account");
    let again = b.reserve();
    b.at(again).set([], again, None);
    b.begin(ROOT, &[again]);
    b.finish().expect("the program is valid")
}

/// A run that makes one call and ends.
pub(crate) fn calling() -> Program {
    let mut b = Builder::new();
    let null = b.value(Value::Null);
    let end = b.close(Status::Completed, null);
    let what = b.effect(effect(Kind::Tool));
    let call = b.do_(what, null, None, end, None);
    b.begin(ROOT, &[call]);
    b.finish().expect("the program is valid")
}

/// A run that ends ten milliseconds after its start.
pub(crate) fn waiting() -> Program {
    let mut b = Builder::new();
    let null = b.value(Value::Null);
    let end = b.close(Status::Completed, null);
    let delay_ms = b.value(10);
    let wait = b.wait([Arm::After { delay_ms, next: end }], None);
    b.begin(ROOT, &[wait]);
    b.finish().expect("the program is valid")
}

/// A run that calls another and ends.
pub(crate) fn parent() -> Program {
    let mut b = Builder::new();
    let null = b.value(Value::Null);
    let end = b.close(Status::Completed, null);
    let fixed = serde_json::from_str(r#"{"workflow": "child"}"#).expect("this is JSON");
    let what = b.effect(Effect { fixed, ..effect(Kind::Run) });
    let call = b.do_(what, null, None, end, None);
    b.begin(ROOT, &[call]);
    b.finish().expect("the program is valid")
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
        Host::new(open(&self.file()), "test", Drives::Named, facts, 0).expect("the store can be driven")
    }

    pub(crate) fn quiet_host(&self) -> Host {
        self.host(Arc::new(|_| Value::Null))
    }
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
    let acts = host.turn(0).expect("the store works");
    answered(&acts).expect("a start is answered in its turn").expect("it starts").run
}

pub(crate) fn answered(acts: &[Act]) -> Option<Result<Taken, Refused>> {
    acts.iter().find_map(|act| match act {
        Act::Answered { outcome, .. } => Some(outcome.clone()),
        _ => None,
    })
}

pub(crate) fn ops(host: &Host, run: RunNo) -> u64 {
    host.state_in_memory(run).expect("it is open").ops()
}
