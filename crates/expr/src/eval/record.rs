//! What an evaluation tells while it runs: nothing on the hot path, everything for an explanation.

use crate::fault::{Fault, Outcome};
use crate::program::{Id, Program};
use crate::value::{Value, View};

/// Something that is told the result of every node.
pub(crate) trait Record {
    /// Whether anybody listens; what is not listened to costs nothing.
    const ON: bool;

    fn note(&mut self, id: Id, result: &Outcome<View<'_>>);

    fn note_truth(&mut self, id: Id, result: &Outcome<bool>);
}

/// Tells nobody. Compiles to nothing.
pub(crate) struct Off;

impl Record for Off {
    const ON: bool = false;

    fn note(&mut self, _: Id, _: &Outcome<View<'_>>) {}

    fn note_truth(&mut self, _: Id, _: &Outcome<bool>) {}
}

/// Keeps the newest result of every node.
pub(crate) struct Results(pub(crate) Vec<Option<Noted>>);

/// The result of one node.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    pub(crate) result: Result<Value, String>,
    /// How often the node was evaluated: more than once in a predicate.
    pub(crate) times: u32,
}

impl Results {
    pub(crate) fn new(program: &Program) -> Self {
        Self(vec![None; program.nodes.len()])
    }
}

impl Results {
    fn keep(&mut self, id: Id, result: Result<Value, &Fault>) {
        let entry = &mut self.0[id as usize];
        let times = entry.as_ref().map_or(0, |noted| noted.times) + 1;
        let result = result.map_err(|fault| fault.message.clone());
        *entry = Some(Noted { result, times });
    }
}

impl Record for Results {
    const ON: bool = true;

    fn note(&mut self, id: Id, result: &Outcome<View<'_>>) {
        self.keep(id, result.as_ref().map(|view| view.to_value()).map_err(|fault| &**fault));
    }

    fn note_truth(&mut self, id: Id, result: &Outcome<bool>) {
        self.keep(id, result.as_ref().map(|holds| Value::Bool(*holds)).map_err(|fault| &**fault));
    }
}
