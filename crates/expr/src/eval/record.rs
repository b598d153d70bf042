//! What an evaluation tells while it runs: nothing on the hot path, everything for an explanation.

use crate::fault::{Fault, Outcome};
use crate::program::{Id, Program};
use crate::value::View;

/// Something that is told the result of every node.
pub(crate) trait Record<'a> {
    /// Whether anybody listens; what is not listened to costs nothing.
    const ON: bool;

    fn note(&mut self, id: Id, result: &Outcome<View<'a>>);

    fn note_truth(&mut self, id: Id, result: &Outcome<bool>);
}

/// Tells nobody. Compiles to nothing.
pub(crate) struct Off;

impl Record<'_> for Off {
    const ON: bool = false;

    fn note(&mut self, _: Id, _: &Outcome<View<'_>>) {}

    fn note_truth(&mut self, _: Id, _: &Outcome<bool>) {}
}

/// Keeps the newest result of every node. A look at a value is kept, not a copy: an element of a long list is noted as
/// often as it is looked at.
pub(crate) struct Results<'a>(pub(crate) Vec<Option<Noted<'a>>>);

/// The result of one node.
#[derive(Clone)]
pub(crate) struct Noted<'a> {
    pub(crate) result: Result<View<'a>, String>,
    /// How often the node was evaluated: more than once in a predicate.
    pub(crate) times: u32,
}

impl Results<'_> {
    pub(crate) fn new(program: &Program) -> Self {
        Self(vec![None; program.nodes.len()])
    }
}

impl<'a> Results<'a> {
    fn keep(&mut self, id: Id, result: Result<View<'a>, &Fault>) {
        let entry = &mut self.0[id as usize];
        let times = entry.as_ref().map_or(0, |noted| noted.times).saturating_add(1);
        let result = result.map_err(|fault| fault.message.clone());
        *entry = Some(Noted { result, times });
    }
}

impl<'a> Record<'a> for Results<'a> {
    const ON: bool = true;

    fn note(&mut self, id: Id, result: &Outcome<View<'a>>) {
        self.keep(id, result.as_ref().copied().map_err(|fault| &**fault));
    }

    fn note_truth(&mut self, id: Id, result: &Outcome<bool>) {
        self.keep(id, result.as_ref().map(|holds| View::Bool(*holds)).map_err(|fault| &**fault));
    }
}
