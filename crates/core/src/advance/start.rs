//! The start of a run.

use branchpoint_expr::{Object, Value};

use super::{Machine, Rejected};
use crate::ir::{BudgetLimits, Program};
use crate::state::Purpose;

impl Machine<'_> {
    pub(super) fn start(
        &mut self,
        input: &Value,
        mut facts: Object,
        depth: u32,
        max_ops: u64,
        budget: BudgetLimits,
    ) -> Result<(), Rejected> {
        self.admit(input)?;
        self.admit(&Value::from(facts.clone()))?;
        if let Some(missing) = self.program.facts.iter().find(|fact| !facts.contains_key(&***fact)) {
            return Err(Rejected::MissingFact(missing.to_string()));
        }
        // A run stores only the facts that its program names.
        facts.retain(|fact, _| self.program.facts.iter().any(|named| named == fact));
        (self.state.depth, self.state.semantics) = (depth, self.program.semantics);
        self.state.max_ops = max_ops;
        if self.program.limits.wall_ms > 0 {
            self.set_timer(self.program.limits.wall_ms, Purpose::Wall);
        }
        let values = self.program.scope(Program::ROOT).slots.iter().map(|slot| {
            if self.program.input_slot == Some(*slot) {
                Some(input.clone())
            } else if self.program.facts_slot == Some(*slot) {
                Some(Value::from(facts.clone()))
            } else {
                self.program.slot(*slot).first.clone()
            }
        });
        let values = values.collect();
        self.open_root(values, budget);
        Ok(())
    }
}
