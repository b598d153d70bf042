//! What an evaluation tells while it runs: nothing on the hot path, everything for an explanation.

use crate::fault::Outcome;
use crate::program::{Id, Program};
use crate::value::{Value, View};

/// Something that is told the result of every node.
pub(crate) trait Record {
    fn note(&mut self, id: Id, result: &Outcome<View<'_>>);
}

/// Tells nobody. Compiles to nothing.
pub(crate) struct Off;

impl Record for Off {
    #[inline(always)]
    fn note(&mut self, _: Id, _: &Outcome<View<'_>>) {}
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

impl Record for Results {
    fn note(&mut self, id: Id, result: &Outcome<View<'_>>) {
        let entry = &mut self.0[id as usize];
        let times = entry.as_ref().map_or(0, |noted| noted.times) + 1;
        let result = match result {
            Ok(view) => Ok(view.to_value()),
            Err(fault) => Err(fault.message.clone()),
        };
        *entry = Some(Noted { result, times });
    }
}
