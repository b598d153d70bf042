//! Compiles conditions and templates of the document.

use branchpoint_core::effect::{FilesOperation, Kind, Response, SecretText};
use branchpoint_core::ir::builder::effect;
use branchpoint_core::ir::{ConditionId, Effect, ExprId, PlaceId, ScopeId, SlotId, Write};
use branchpoint_expr::{Condition, Dialect, Expression, Form, Located, Object, Problems, Span, Value};

use super::Lower;
use super::state::CurrentState;
use crate::lowering::{located_object, texts};
use crate::machine::raw::{Guard, Text};
use crate::secrets;

impl Lower<'_> {
    pub(super) fn guard(&mut self, scope: ScopeId, guard: &Guard) -> ConditionId {
        let compiled = self.b.condition_with(scope, Dialect::Machine, |options| Condition::if_key(&guard.0, options));
        match compiled {
            Ok(condition) => condition,
            Err(problems) => {
                self.refused(problems);
                self.test("false")
            }
        }
    }

    /// Expands a template into a slot: first the files that it reads, then the text. A failure continues at `bad`.
    pub(super) fn expand(
        &mut self,
        scope: ScopeId,
        template: &Located,
        into: SlotId,
        next: PlaceId,
        bad: PlaceId,
    ) -> PlaceId {
        let files = self.file_slots(scope, template);
        let mut names = Vec::new();
        let compiled = self.b.expr_with(scope, Dialect::Machine, |options| {
            let expression = Expression::with_form(template, Form::Text, options)?;
            names = expression.file_names();
            Ok(expression)
        });
        let value = self.compiled(compiled);
        let mut place = self.b.set([Write::Put(into, value)], next, Some(self.fail_to(bad)));
        for (name, slot) in names.into_iter().zip(files).rev() {
            let name = self.b.expr_with(scope, Dialect::Machine, |_| Ok(name));
            let name = self.compiled(name);
            place = self.read_file(name, slot, place, bad);
        }
        place
    }

    pub(super) fn read_file(&mut self, name: ExprId, into: SlotId, next: PlaceId, bad: PlaceId) -> PlaceId {
        let path = self.formula_with(r#"{"path": name}"#, &[("name", into)], &[]);
        let read = self.read(FilesOperation::Read, path, into, next, bad);
        self.b.set([Write::Put(into, name)], read, Some(self.fail_to(bad)))
    }

    /// Reads a file or a fact into a slot.
    pub(super) fn read(
        &mut self,
        operation: FilesOperation,
        input: ExprId,
        into: SlotId,
        next: PlaceId,
        bad: PlaceId,
    ) -> PlaceId {
        let fixed = [("operation".into(), operation.into())].into_iter().collect();
        let read = self.b.effect(Effect { fixed, ..effect(Kind::Files) });
        self.b.do_(read, input, Some(into), next, Some(self.fail_to(bad)))
    }

    /// A slot for each file that the template may read, which bounds their number.
    fn file_slots(&mut self, scope: ScopeId, template: &Located) -> Vec<SlotId> {
        let mut slots = Vec::new();
        for n in 0..texts(template).map(|text| text.matches("readFile").count()).sum() {
            let name = format!("file:{n}");
            let slot = self.b.local(&name);
            self.b.name(scope, &[&name], slot);
            slots.push(slot);
        }
        slots
    }

    /// The text of a file as a template: its names are known only in the run. Of the environment, which would be
    /// stored with the run, only the variables that the text reads are requested.
    pub(super) fn expand_file(&mut self, current: CurrentState<'_>, next: PlaceId, bad: PlaceId) -> PlaceId {
        let expanded = self.expand_text(current, next, bad);
        let requested = self.formula(r#"{"names": request.asked}"#);
        let ask = self.read(FilesOperation::Environment, requested, self.slots["variables"], expanded, bad);
        let any = self.test("len(request.asked) > 0");
        let requested = self.b.decide([(any, ask)], expanded, None);
        let names = self.store("request", r#"putPath(request, ["asked"], environmentNames(file))"#);
        let none = self.b.value(Value::from(Object::default()));
        self.b.set([Write::Put(self.slots["variables"], none), names], requested, Some(self.fail_to(bad)))
    }

    fn expand_text(&mut self, current: CurrentState<'_>, next: PlaceId, bad: PlaceId) -> PlaceId {
        let mut more = Vec::new();
        more.extend(self.loop_around(current.context).map(|round| ("round", round)));
        let text = format!(
            r#"putPath(request, ["{FROM_FILE}"], expandTemplate(file, {{"inputs": inputs, "states": states, "workflow": workflow,
                "env": fromPairs(concat(toPairs(env), toPairs(variables))), "loop": {}, "error": error, "context": context,
                "awf": awf}}))"#,
            if more.is_empty() { "nil" } else { "round" },
        );
        let request = self.store_with("request", &text, &more, &[]);
        self.b.set([request], next, Some(self.fail_to(bad)))
    }

    pub(super) fn compiled(&mut self, compiled: Result<ExprId, Problems>) -> ExprId {
        compiled.unwrap_or_else(|problems| {
            self.refused(problems);
            self.b.value(Value::Null)
        })
    }

    fn refused(&mut self, problems: Problems) {
        self.own.problems.extend(problems.0);
    }

    /// Clears a slot: the text before one state's prompt must not affect the next state.
    pub(super) fn clear(&mut self, slot: SlotId, next: PlaceId) -> PlaceId {
        let nothing = self.b.value(Value::Null);
        self.b.set([Write::Put(slot, nothing)], next, None)
    }
}

/// The effect of a state's work.
pub(super) fn effect_of(current: CurrentState<'_>, kind: Kind, response: Response) -> Effect {
    Effect { response, step: Some(current.step), ..effect(kind) }
}

/// The key of a request for the text of a file.
pub(super) const FROM_FILE: &str = "text";

/// An object of the templates that are present.
pub(super) fn object<'t>(fields: impl IntoIterator<Item = (&'t str, Option<Located>)>) -> Located {
    located_object(Span::default(), fields.into_iter().filter_map(|(key, value)| Some((key, value?))))
}

/// A text of a call, which may name secrets.
pub(super) fn call_text(text: Option<&Text>) -> Option<Located> {
    text.map(|text| secrets::split(&text.0).unwrap_or_else(|| text.0.clone()))
}

/// The texts of an input that name secrets.
pub(super) fn secret_texts<'t>(texts: impl IntoIterator<Item = (&'static str, Option<&'t Text>)>) -> Vec<SecretText> {
    let named = texts.into_iter().filter(|(_, text)| text.is_some_and(|text| secrets::split(&text.0).is_some()));
    named.map(|(key, _)| SecretText::plain(vec![key.into()])).collect()
}

pub(super) fn plain(text: Option<&Text>) -> Option<Located> {
    text.map(|text| text.0.clone())
}
