//! Variables: declared, assigned, set by the result of a step.

use std::sync::Arc;

use branchpoint_core::functions::Typing;
use branchpoint_core::ir::{PlaceId, Write};
use branchpoint_expr::{Located, Value};

use super::super::raw::{Assignment, Declaration};
use super::{Enclosing, Lower, StepPlaces, listed, literal};

impl Lower {
    /// Expands the settings of the step once, then converts each variable to its type.
    pub(super) fn declare(&mut self, declarations: &[Declaration<'_>], places: StepPlaces<'_>) -> PlaceId {
        let mut writes = Vec::new();
        for declaration in declarations {
            let default = match declaration.default {
                Some(default) => {
                    self.check(Typing::Declared, default, declaration.ty);
                    self.template(places.enclosing.scope, default)
                }
                None if declaration.ty == "string" => self.b.value(""),
                None => self.b.value(Value::Null),
            };
            writes.push(Write::Push(self.slots["work"], default));
        }
        writes.insert(0, Write::Clear(self.slots["work"]));
        for (index, declaration) in declarations.iter().enumerate() {
            let exists = declaration.is_user_input || declaration.default.is_some();
            let default = if exists { format!(", $work[{index}]") } else { String::new() };
            let declared = format!("declared($variables, $path, \"{}\"{default})", declaration.ty);
            writes.push(self.store_with("variables", &declared, &[], &[("path", listed(&declaration.path))]));
        }
        self.all_variables(places.enclosing, &mut writes);
        self.b.set(writes, places.end, Some(places.fail))
    }

    /// Assigns in order, each after the previous ones; all or nothing, like a `Set`.
    pub(super) fn assign_all(&mut self, assignments: &[Assignment<'_>], places: StepPlaces<'_>) -> PlaceId {
        let mut writes = Vec::new();
        for assignment in assignments {
            self.check(Typing::Assigned, assignment.value, assignment.ty);
            let value = self.template(places.enclosing.scope, assignment.value);
            writes.push(Write::Put(self.slots["work"], value));
            let typed = match assignment.ty {
                "auto" => "$work".to_owned(),
                ty => format!("assigned($work, \"{ty}\")"),
            };
            self.write(&assignment.path, &typed, places.enclosing, &mut writes);
        }
        self.all_variables(places.enclosing, &mut writes);
        self.b.set(writes, places.end, Some(places.fail))
    }

    /// Sets a variable, or the loop variable that hides it. Every enclosing round records the variables that were set in it.
    pub(super) fn write(&mut self, path: &[Arc<str>], value: &str, enclosing: &Enclosing, writes: &mut Vec<Write>) {
        let Some((name, rest)) = path.split_first() else { return };
        if let Some(local) = enclosing.local(name) {
            let text = match rest {
                [] => value.to_owned(),
                // `putPath` needs an object, but a loop variable can have any value.
                _ => format!(r#"putPath({{"it": $local}}, $path, {value}).it"#),
            };
            let path = std::iter::once(Arc::from("it")).chain(rest.iter().cloned()).collect::<Vec<_>>();
            writes.push(self.store_with(local, &text, &[("local", local)], &[("path", listed(&path))]));
            return;
        }
        let store = format!("putPath($variables, $path, {value})");
        writes.push(self.store_with("variables", &store, &[], &[("path", listed(path))]));
        for touched in &enclosing.touched {
            let values = [("path", listed(&path[..1]))];
            writes.push(self.store_with(*touched, "putPath($touched, $path, true)", &[("touched", *touched)], &values));
        }
    }

    /// The data of a step that sets variables: all of them, loop variables as they hide others.
    fn all_variables(&mut self, enclosing: &Enclosing, writes: &mut Vec<Write>) {
        writes.push(self.store("data", "$variables"));
        for (name, local) in &enclosing.locals {
            let values = [("path", listed(std::slice::from_ref(name)))];
            writes.push(self.store_with("data", "putPath($data, $path, $local)", &[("local", *local)], &values));
        }
    }

    /// Reports a literal that can never have its type, with the kind of the run-time error.
    fn check(&mut self, typing: Typing, value: &Located, ty: &str) {
        if let Some(Err(fault)) = literal(value).map(|literal| typing.check(&literal, ty)) {
            self.error(
                fault.kind,
                value.span,
                fault.message,
                &format!("write a value that can be of the type `{ty}`, or change the type"),
            );
        }
    }
}
