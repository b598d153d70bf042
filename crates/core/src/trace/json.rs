//! The JSON form of decisions, used by the command line, the API and the page. `docs/reference/explanations.md` describes it.

use branchpoint_expr::{Explanation, Object, Part, Value, iso_utc, preview};

use super::{Basis, BranchRecord, CountRecord, DecisionRecord, Iteration, approval_record};
use crate::ir::{Index, Program};

/// Removes secrets from output. Values are redacted as a whole, before they are shortened.
pub trait Redact {
    /// A value without secrets.
    fn value(&self, value: &Value) -> Value;
    /// A value without secrets, for JSON output. Large values may be truncated.
    fn data(&self, value: &Value) -> Value {
        self.value(value)
    }
    /// A text without secrets.
    fn text(&self, text: &str) -> String;
}

/// Redacts nothing.
impl Redact for () {
    fn value(&self, value: &Value) -> Value {
        value.clone()
    }

    fn text(&self, text: &str) -> String {
        text.to_owned()
    }
}

impl DecisionRecord {
    /// The decision as JSON.
    ///
    /// ```
    #[doc = include_str!("../../docs/decision.txt")]
    /// assert_eq!(decided.to_value(&program, &()).get("chosen"), Some(&"high".into()));
    /// ```
    pub fn to_value(&self, program: &Program, redact: &dyn Redact) -> Value {
        let chosen = self.chosen();
        let branches: Vec<Value> = self.branches.iter().map(|branch| branch.to_value(redact)).collect();
        let mut fields = object([
            ("step", Value::Str(program.steps[self.step.index()].id.clone())),
            ("kind", Value::from(self.kind.as_str())),
            ("at", moment(self.at_ms)),
            ("chosen", chosen.map_or(Value::Null, |branch| Value::Str(branch.name.clone()))),
            ("position", self.chosen.map_or(Value::Null, |at| number(u64::from(at) + 1))),
            ("sentence", Value::from(redacted(&self.sentence(), redact))),
            ("branches", Value::from(branches)),
            ("values", self.values(redact)),
        ]);
        if let Some(CountRecord { done, limit, unit }) = self.count {
            let limit = limit.map_or(Value::Null, number);
            let count = object([("unit", Value::from(unit.as_str())), ("done", number(done)), ("limit", limit)]);
            fields.insert("count".into(), Value::from(count));
        }
        if let Some(items) = &self.items {
            let failed = Value::from(items.failed.iter().map(|at| number(u64::from(*at))).collect::<Vec<_>>());
            let (count, left_out) = (number(items.count), number(items.left_out));
            let items = object([("count", count), ("left_out", left_out), ("failed", failed)]);
            fields.insert("items".into(), Value::from(items));
        }
        if let Some(error) = &self.error {
            let part = |key: &str| redact.data(error.get(key).unwrap_or(&Value::Null));
            let step = match part("step") {
                // An error without a step belongs to the step that decides.
                Value::Null => fields["step"].clone(),
                step => step,
            };
            let error = object([("kind", part("kind")), ("message", part("message")), ("step", step)]);
            fields.insert("error".into(), Value::from(error));
        }
        let (key, details) = match &self.basis {
            Basis::Conditions | Basis::Time | Basis::Items { .. } => return Value::from(fields),
            Basis::Votes { request, resolution } => {
                ("approval", approval_record::to_value(request, resolution, redact))
            }
            Basis::Inputs { inputs, .. } => {
                let inputs = inputs.iter().map(|(name, state)| {
                    let state = Value::from(state.as_str());
                    Value::from(object([("name", Value::Str(name.clone())), ("state", state)]))
                });
                ("inputs", Value::from(inputs.collect::<Vec<_>>()))
            }
            Basis::Attempt { attempt, limit, delay_ms, retryable } => {
                let details = object([
                    ("number", number(u64::from(*attempt))),
                    ("limit", number(u64::from(*limit))),
                    ("delay_ms", delay_ms.map_or(Value::Null, number)),
                    ("retryable", Value::Bool(*retryable)),
                ]);
                ("attempt", Value::from(details))
            }
            Basis::Answer { sender, note } => {
                let user = sender.clone().map_or(Value::Null, Value::Str);
                let note = note.as_ref().map_or(Value::Null, |note| redact.data(note));
                ("answer", Value::from(object([("user", user), ("note", note)])))
            }
            Basis::Signal { name } => ("signal", Value::Str(name.clone())),
            Basis::Budget(record) => ("budget", record.to_value(program)),
        };
        fields.insert(key.into(), details);
        Value::from(fields)
    }

    /// The values that evaluated conditions read.
    fn values(&self, redact: &dyn Redact) -> Value {
        let read = |path: &str| {
            self.branches
                .iter()
                .filter_map(|branch| branch.explanation.as_ref())
                .any(|explained| is_read(&explained.tree, path))
        };
        let values = self.reads.iter().filter(|recorded| read(&recorded.path)).map(|recorded| {
            let value = recorded.value.as_ref().map_or(Value::Null, |value| redact.data(value));
            let kind = recorded.value.as_ref().map_or(Value::Null, |value| Value::from(value.view().type_name()));
            Value::from(object([("path", Value::Str(recorded.path.clone())), ("value", value), ("type", kind)]))
        });
        Value::from(values.collect::<Vec<_>>())
    }
}

impl BranchRecord {
    fn to_value(&self, redact: &dyn Redact) -> Value {
        let place = |part: fn((u32, u32)) -> u32| self.position.map_or(Value::Null, |at| number(u64::from(part(at))));
        let explanation = self.explanation.as_ref();
        Value::from(object([
            ("name", Value::Str(self.name.clone())),
            ("condition", self.text.as_ref().map_or(Value::Null, |text| Value::from(redact.text(text)))),
            ("line", place(|(line, _)| line)),
            ("column", place(|(_, column)| column)),
            ("targets", Value::from(self.targets.iter().cloned().map(Value::Str).collect::<Vec<_>>())),
            ("outcome", Value::from(self.outcome.as_str())),
            ("sentence", explanation.map_or(Value::Null, |why| Value::from(redacted(&why.sentence, redact)))),
            ("error", explanation.map_or(Value::Null, |why| error_of(why, redact))),
            ("tree", explanation.map_or(Value::Null, |why| tree(&why.tree, redact))),
        ]))
    }
}

impl Iteration {
    /// A round of a loop as JSON.
    pub fn to_value(&self, program: &Program, redact: &dyn Redact) -> Value {
        Value::from(object([
            ("loop", Value::Str(program.steps[self.step.index()].id.clone())),
            ("index", number(u64::from(self.index))),
            ("item", self.item.as_ref().map_or(Value::Null, |item| redact.data(item))),
        ]))
    }
}

fn error_of(explanation: &Explanation, redact: &dyn Redact) -> Value {
    match &explanation.outcome {
        Ok(_) => Value::Null,
        Err(error) => Value::from(object([
            ("kind", Value::from(error.kind.as_str())),
            ("message", Value::from(redact.text(&error.message))),
        ])),
    }
}

/// The JSON form of a part of a condition, with its value as a preview.
fn tree(part: &Part, redact: &dyn Redact) -> Value {
    let value = match (&part.value, &part.shown) {
        (Some(value), _) => Value::from(preview(&redact.value(value))),
        (None, Some(shown)) => Value::from(redact.text(shown)),
        (None, None) => Value::Null,
    };
    let children: Vec<Value> = part.children.iter().map(|child| tree(child, redact)).collect();
    // The condition of an agent is part of the effect and has no place in the document.
    let is_placed = part.span.start < part.span.end;
    let place = |at: u32| if is_placed { number(u64::from(at)) } else { Value::Null };
    Value::from(object([
        ("start", place(part.span.start)),
        ("end", place(part.span.end)),
        ("text", Value::from(part.text.as_str())),
        ("type", part.kind.map_or(Value::Null, Value::from)),
        ("value", value),
        ("error", part.error.as_ref().map_or(Value::Null, |error| Value::from(redact.text(error)))),
        ("times", number(u64::from(part.times))),
        ("decided", Value::Bool(part.decided)),
        ("children", Value::from(children)),
    ]))
}

fn is_read(part: &Part, path: &str) -> bool {
    part.times > 0 && part.text == path || part.children.iter().any(|child| is_read(child, path))
}

/// A sentence without secrets. Values are redacted as a whole, then shortened.
pub(super) fn redacted(sentence: &branchpoint_expr::Phrase, redact: &dyn Redact) -> String {
    redact.text(&sentence.render(|value| preview(&redact.value(value))))
}

pub(super) fn moment(at_ms: i64) -> Value {
    iso_utc(at_ms).map_or(Value::Null, Value::from)
}

pub(super) fn number(count: u64) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Object {
    crate::request::object(fields)
}
