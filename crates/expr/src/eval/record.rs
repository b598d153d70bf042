//! Records the results of nodes for explanations. Without an explanation, recording compiles to nothing.

use crate::fault::{Fault, Outcome};
use crate::program::{Id, Program};
use crate::value::View;

/// Receives the result of every node.
pub(crate) trait Recorder<'a> {
    /// Whether results are recorded.
    const ON: bool;

    fn note(&mut self, id: Id, result: &Outcome<View<'a>>);

    fn note_truth(&mut self, id: Id, result: &Outcome<bool>);
}

/// Records nothing.
pub(crate) struct NoRecording;

impl Recorder<'_> for NoRecording {
    const ON: bool = false;

    fn note(&mut self, _: Id, _: &Outcome<View<'_>>) {}

    fn note_truth(&mut self, _: Id, _: &Outcome<bool>) {}
}

/// The latest result of every node. Results are views, not copies, because an element of a long list is recorded at every
/// evaluation.
pub(crate) struct Results<'a>(pub(crate) Vec<Option<NodeResult<'a>>>);

/// The result of one node.
#[derive(Clone)]
pub(crate) struct NodeResult<'a> {
    pub(crate) result: Result<View<'a>, String>,
    /// How often the node was evaluated, which is once per element in a predicate.
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
        *entry = Some(NodeResult { result, times });
    }
}

impl<'a> Recorder<'a> for Results<'a> {
    const ON: bool = true;

    fn note(&mut self, id: Id, result: &Outcome<View<'a>>) {
        self.keep(id, result.as_ref().copied().map_err(|fault| &**fault));
    }

    fn note_truth(&mut self, id: Id, result: &Outcome<bool>) {
        self.keep(id, result.as_ref().map(|holds| View::Bool(*holds)).map_err(|fault| &**fault));
    }
}
