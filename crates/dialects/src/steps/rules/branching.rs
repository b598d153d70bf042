//! The conditions of gates, branches and loops, and the cases of switches.

use branchpoint_expr::{Cases, Gate, Kind, Located};

use super::texts::options;
use super::{Check, given};
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
        let Some(elif) = step.get("elif") else { return };
        let Some(entries) = elif.items() else {
            let message = format!("`elif` is a list of `{{if, then}}`, and this is {}", elif.describe());
            return self.error(Kind::BadField, elif.span, message, "write each after a `-`");
        };
        for entry in entries {
            if !entry.is_object() {
                let message = format!("an entry of `elif` is `{{if, then}}`, and this is {}", entry.describe());
                self.error(Kind::BadField, entry.span, message, "give it `if` and `then`");
                continue;
            }
            self.unknown_keys(entry, &["if", "conditions", "match", "then"], "an entry of `elif`");
            self.condition(&condition::of(entry));
        }
    }

    pub(super) fn switch(&mut self, step: &Step<'_>) {
        let compiled = Cases::compile(step.located, options());
        self.compiled(compiled.map(|cases| (cases.warnings().to_vec(), cases.references())));
        for case in given(step.located, "cases").and_then(Located::items).unwrap_or_default() {
            if case.is_object() {
                self.unknown_keys(case, &["name", "match", "steps"], "a case");
            } else {
                let message = format!("a case is an object, and this is {}", case.describe());
                self.error(Kind::BadField, case.span, message, "give it `name`, `match` and `steps`");
            }
        }
    }
}
