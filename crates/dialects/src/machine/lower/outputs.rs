//! Declared outputs: evaluated when the run ends, for the workflow that called it.

use branchpoint_core::ir::builder::ROOT;
use branchpoint_core::ir::{PlaceId, Write};
use branchpoint_expr::{Dialect, Expression, Value};

use super::Lower;

impl Lower<'_> {
    /// Evaluates the declared outputs into the slot `outputs`, then continues. One that cannot be evaluated continues at `bad`, or is
    /// left out without one.
    pub(super) fn declared_outputs(&mut self, next: PlaceId, bad: Option<PlaceId>) -> PlaceId {
        let document = self.own.document;
        document.outputs.iter().rev().fold(next, |next, output| {
            let value =
                self.b.expr_with(ROOT, Dialect::Machine, |options| Expression::compile(output.from.text(), options));
            let value = self.compiled(value);
            let named = [("NAME", Value::Str(output.name.text().clone()))];
            let stored = self.store_with("outputs", "putPath(outputs ?? {}, [NAME], request)", &[], &named);
            let stored = self.b.set([stored], next, None);
            let fail = self.fail_to(bad.unwrap_or(next));
            self.b.set([Write::Put(self.slots["request"], value)], stored, Some(fail))
        })
    }
}
