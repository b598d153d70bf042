//! The conditions of gates, branches and loops, and the cases of switches.

use branchpoint_expr::{Cases, Gate, Kind};

use super::Check;
use super::texts::options;
use crate::fields::Access;
use crate::steps::condition;
use crate::steps::tree::Step;

impl Check<'_, '_> {
    pub(super) fn condition_of(&mut self, step: &Step<'_>) {
        let holder = condition::of(step.located);
        if step.is("gate") {
            let compiled = Gate::compile(&holder, options());
            self.compiled(compiled.map(|gate| (gate.condition().warnings().to_vec(), gate.condition().references())));
        } else {
            self.condition(&holder);
        }
    }

    pub(super) fn conditional(&mut self, step: &Step<'_>) {
        self.condition(&condition::of(step.located));
        for entry in step.located.list("elif").iter().filter(|entry| entry.is_object()) {
            self.condition(&condition::of(entry));
        }
    }

    pub(super) fn switch(&mut self, step: &Step<'_>) {
        let compiled = Cases::compile(step.located, options());
        self.compiled(compiled.map(|cases| (cases.warnings().to_vec(), cases.references())));
        for case in step.located.list("cases") {
            if case.is_object() {
                self.unknown_keys(case, &["name", "match", "steps"], "a case");
            } else {
                let message = format!("a case is an object, and this is {}", case.describe());
                self.error(Kind::BadField, case.span, message, "give it `name`, `match` and `steps`");
            }
        }
    }
}
