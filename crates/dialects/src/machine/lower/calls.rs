//! Calls of other workflows: child runs, whose outputs are returned by name.

use branchpoint_core::effect::{Kind, PathKey, SecretText};
use branchpoint_core::ir::{Effect, PlaceId, Write};
use branchpoint_expr::{Object, Value};

use super::Lower;
use super::commands::report;
use super::files::DOCUMENT_DIR;
use super::state::{CurrentState, Outcomes};
use super::templates::{effect_of, object};
use crate::machine::raw::Call;
use crate::secrets;

/// The default timeout of a call.
const LIMIT_MS: u64 = 300_000;

impl<'d> Lower<'d> {
    pub(super) fn call(&mut self, current: CurrentState<'d>, call: &'d Call, outcomes: Outcomes) -> PlaceId {
        let outcomes =
            Outcomes { ok: self.outputs(call, outcomes.ok), bad: self.outputs(call, outcomes.bad), ..outcomes };
        let workflow = call.workflow.as_ref().map_or("", |name| name.text().as_ref());
        let named = call.inputs.iter().filter(|input| secrets::split(&input.value).is_some());
        let effect = Effect {
            fixed: [("workflow".into(), Value::from(workflow))].into_iter().collect(),
            secrets: named
                .map(|input| SecretText::plain(vec!["inputs".into(), PathKey::Field(input.key.clone())]))
                .collect(),
            ..effect_of(current, Kind::Run, report(current.state, "child"))
        };
        self.b.fact(DOCUMENT_DIR);
        let input = r#"{"inputs": fromPairs(concat(toPairs(file ?? {}), toPairs(request))),
            "facts": {"document_dir": facts.document_dir}}"#;
        let input = self.formula(input);
        let limit = current.state.timeout_ms.unwrap_or(LIMIT_MS);
        let called = self.call_within(current, effect, input, Some(limit), outcomes);
        // Texts are templates; other values are passed unchanged.
        let (texts, literal): (Vec<_>, Vec<_>) = call.inputs.iter().partition(|input| input.value.text().is_some());
        let literal: Object = literal.iter().map(|input| (input.key.clone(), input.value.to_value())).collect();
        let literal = self.b.value(Value::from(literal));
        let called = self.b.set([Write::Put(self.slots["file"], literal)], called, None);
        let template = object(
            texts
                .iter()
                .map(|input| (&*input.key, Some(secrets::split(&input.value).unwrap_or_else(|| input.value.clone())))),
        );
        self.expand(self.scope(current.context), &template, self.slots["request"], called, outcomes.unexpanded)
    }

    /// The declared outputs of the called workflow, or the outputs of its states that ran, under the names of the call, even after a failure.
    fn outputs(&mut self, call: &Call, next: PlaceId) -> PlaceId {
        let pair = |name: &str, state: &str| Value::from(vec![Value::from(name), Value::from(state)]);
        let pairs: Vec<Value> = call.outputs.iter().map(|(state, _, name)| pair(name.text(), state)).collect();
        let constants = [("OUTPUTS", Value::from(pairs))];
        let response = r#"putPath(answer, ["response"],
            fromPairs(filter(map(OUTPUTS, {[#[0], #[1] in (answer.result.outputs ?? {})
                ? answer.result.outputs[#[1]] : answer.result.states[#[1]].Output]}), {#[1] != nil})))"#;
        let output = match call.outputs.len() {
            0 => r#"putPath(answer, ["output"], "")"#,
            1 => r#"putPath(answer, ["output"], string(answer.response[OUTPUTS[0][0]] ?? ""))"#,
            _ => r#"putPath(answer, ["output"], toJSON(answer.response))"#,
        };
        let response = self.store_with("answer", response, &[], &constants);
        let output = self.store_with("answer", output, &[], &constants);
        self.b.set([response, output], next, None)
    }
}
