//! What a session answers.

use std::sync::Arc;

use branchpoint_core::{BranchOutcome, BranchRecord, Note, What};
use branchpoint_expr::{Object, Value};

/// How a session stands after a request.
#[derive(Clone, Debug)]
pub struct Answer {
    /// `{activeStep, allowedTools, recentlyUsedTools, sequenceIndex, changed, why}`
    pub(super) view: Value,
    /// Conditions that could not be evaluated: `[{step, kind, message}]`.
    pub(super) problems: Value,
    /// Why, if that was asked for: `[{step, holds, explanation}]`.
    pub(super) reasons: Vec<Value>,
}

impl Answer {
    /// The active step.
    pub fn active_step(&self) -> Option<&str> {
        self.view.get("activeStep").and_then(Value::as_str)
    }

    /// The tools offered now, in the agent's order.
    pub fn allowed_tools(&self) -> impl Iterator<Item = &str> {
        self.view.get("allowedTools").and_then(Value::as_list).unwrap_or_default().iter().filter_map(Value::as_str)
    }

    /// Whether the request changed the step.
    pub fn changed(&self) -> bool {
        self.view.get("changed") == Some(&Value::Bool(true))
    }

    /// Conditions that could not be evaluated, and so did not hold: `[{step, kind, message}]`.
    pub fn problems(&self) -> &[Value] {
        self.problems.as_list().unwrap_or_default()
    }

    /// The steps that were asked, in order, whether their conditions held, and why: `[{step, holds, explanation}]`. Empty
    /// unless an explanation was asked for.
    pub fn reasons(&self) -> &[Value] {
        &self.reasons
    }

    /// The view of a session by its id. Problems stand in it only where there are some.
    pub fn view(&self, session_id: &str) -> Value {
        let mut view: Object = [(Arc::from("sessionId"), Value::from(session_id))].into_iter().collect();
        view.extend(self.view.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())));
        if !self.problems().is_empty() {
            view.insert("problems".into(), self.problems.clone());
        }
        Value::from(view)
    }

    /// The same after a request that was not taken.
    pub(super) fn unchanged(mut self) -> Self {
        if let Value::Object(view) = &mut self.view {
            view.edit(|fields| fields.insert("changed".into(), Value::Bool(false)));
        }
        self
    }
}

/// The steps that were evaluated, in order, with what their conditions gave.
pub(super) fn reasons(notes: &[Note]) -> Vec<Value> {
    let decided = notes.iter().filter_map(|note| match &note.what {
        What::Decided(decided) => Some(decided),
        _ => None,
    });
    decided.flat_map(|decided| &decided.branches).filter_map(reason).collect()
}

fn reason(branch: &BranchRecord) -> Option<Value> {
    let explanation = serde_json::from_str(&branch.explanation.as_ref()?.to_json()).unwrap_or_default();
    let holds = Value::Bool(branch.outcome == BranchOutcome::True);
    let reason = [("step", Value::Str(branch.name.clone())), ("holds", holds), ("explanation", explanation)];
    Some(Value::from(reason.into_iter().map(|(key, value)| (key.into(), value)).collect::<Object>()))
}
