//! Steps that choose between blocks, and steps that end the flow.

use std::collections::BTreeSet;

use branchpoint_core::functions::is_same;
use branchpoint_core::ir::{ConditionId, DecisionKind, ExprId, Mark, PlaceId, Write};
use branchpoint_expr::{Condition, Dialect, Kind, Located, Shape, Value};

use super::super::raw::{Case, Step, Test};
use super::{Enclosing, Lower, StepPlaces, literal};

use crate::DocumentKinds as _;

impl Lower {
    pub(super) fn conditional(
        &mut self,
        condition: Option<Test<'_>>,
        [yes, no]: [&[Step<'_>]; 2],
        places: StepPlaces<'_>,
    ) -> PlaceId {
        let targets = [yes, no].map(first_id);
        let [yes, no] = [(yes, true), (no, false)].map(|(blocks, result)| {
            let data = self.formula(&format!(r#"{{"condition_result": {result}}}"#));
            self.way(blocks, if result { "true" } else { "false" }, data, places)
        });
        let condition = condition.map(|condition| self.condition(places.enclosing.scope, condition));
        let arms: Vec<_> = condition.iter().map(|condition| (*condition, yes)).collect();
        let decision = self.b.decision(places.step, DecisionKind::Branch);
        let true_branch = condition.map(|condition| Some(self.b.branch(decision, "true", Some(condition), targets[0])));
        let otherwise = self.b.branch(decision, "false", None, targets[1]);
        let decide = self.b.decide(arms, no, Some(places.fail));
        self.b.decides(decide, decision, true_branch.into_iter().chain([Some(otherwise)]).collect::<Vec<_>>())
    }

    /// The first case that matches. All settings are expanded before the first is compared.
    pub(super) fn switch(
        &mut self,
        variable: &Located,
        cases: &[Case<'_>],
        otherwise: &[Step<'_>],
        places: StepPlaces<'_>,
    ) -> PlaceId {
        let [subject, values] =
            ["subject", "cases"].map(|name| self.b.slot(places.enclosing.scope, name, Some(Value::Null)));
        let slots = [("subject", subject), ("cases", values)];
        let decision = self.b.decision(places.step, DecisionKind::Switch);
        let mut exits = Vec::new();
        let mut arms = Vec::new();
        for (index, case) in cases.iter().enumerate() {
            let matched = format!(
                r#"{{"condition_result": {index}, "matched_case": $cases[{index}] == nil ? "case_null" : "case_" + toString($cases[{index}])}}"#
            );
            let data = self.formula_with(&matched, &slots, &[]);
            let way = self.way(&case.blocks, &marker(case, index), data, places);
            let same = self.test_with(&format!("sameAs($subject, $cases[{index}])"), &slots, &[]);
            arms.push((same, way));
            let case_test = case.value.and_then(|value| self.case_test(places.enclosing, variable, value));
            exits.push(Some(self.b.branch(decision, &marker(case, index), case_test, first_id(&case.blocks))));
        }
        exits.push(Some(match first_id(otherwise) {
            Some(first) => self.b.branch(decision, "default", None, Some(first)),
            None => self.b.default_branch(decision, "default", "there is no default", None),
        }));
        let data = self.formula(r#"{"condition_result": "default", "matched_case": "default"}"#);
        let otherwise = self.way(otherwise, "default", data, places);
        let decide = self.b.decide(arms, otherwise, Some(places.fail));
        self.b.decides(decide, decision, exits);
        let mut writes =
            vec![Write::Clear(values), Write::Put(subject, self.template(places.enclosing.scope, variable))];
        for value in cases.iter().filter_map(|case| case.value) {
            writes.push(Write::Push(values, self.template(places.enclosing.scope, value)));
        }
        self.duplicates(cases);
        self.b.set(writes, decide, Some(places.fail))
    }

    /// The comparison of a case as written, for explanations. Problems of the templates are reported where they are
    /// expanded.
    fn case_test(&mut self, enclosing: &Enclosing, variable: &Located, value: &Located) -> Option<ConditionId> {
        let compiled =
            self.b.condition_with(enclosing.scope, Dialect::Flow, |options| Condition::same(variable, value, options));
        compiled.ok()
    }

    /// Reports cases that an earlier case always hides.
    fn duplicates(&mut self, cases: &[Case<'_>]) {
        // Texts decide for all values but lists and objects, which can be equal in another order.
        let mut texts: BTreeSet<String> = BTreeSet::new();
        let mut collections: Vec<Value> = Vec::new();
        for located in cases.iter().filter_map(|case| case.value) {
            let Some(value) = literal(located) else { continue };
            let is_collection = matches!(value, Value::List(_) | Value::Object(_));
            let is_known = !texts.insert(value.to_string().to_lowercase());
            if is_known || is_collection && collections.iter().any(|known| is_same(known, &value)) {
                let message = format!("an earlier case matches {value:?} already");
                self.error(Kind::DuplicateCase, located.span, message, "put the steps of both into one case");
            }
            if is_collection {
                collections.push(value);
            }
        }
    }

    /// The blocks of one branch, and the data of the step after them.
    fn way(&mut self, blocks: &[Step<'_>], marker: &str, data: ExprId, places: StepPlaces<'_>) -> PlaceId {
        let done = self.b.set([Write::Put(self.slots["data"], data)], places.end, None);
        let mut inside = Enclosing { fail: places.failed, ..places.enclosing.clone() };
        inside.steps.push(places.step);
        let blocks = self.chain(blocks, &inside, done);
        self.b.record(Mark::Branch(places.step, marker.into()), blocks)
    }

    pub(super) fn finish_data(
        &mut self,
        name: &str,
        message: Option<&Located>,
        data: Option<&Located>,
        places: StepPlaces<'_>,
    ) -> PlaceId {
        let nothing = Located { shape: Shape::Null, span: branchpoint_expr::Span::default() };
        let message = self.template(places.enclosing.scope, message.unwrap_or(&nothing));
        let mut writes = vec![Write::Clear(self.slots["work"]), Write::Push(self.slots["work"], message)];
        let mut custom = "";
        if let Some(data) = data {
            writes.push(Write::Push(self.slots["work"], self.template(places.enclosing.scope, data)));
            custom = r#", "custom_data": $work[1]"#;
        }
        let output = format!(r#"{{"message": $work[0], "terminated_at_step": $step, "flow_id": $flow{custom}}}"#);
        let values = [("step", Value::from(name)), ("flow", self.own.flow_id.clone())];
        writes.push(self.store_with("data", &output, &[], &values));
        self.b.set(writes, places.end, Some(places.fail))
    }
}

/// The id of the first block: the target of a branch.
pub(super) fn first_id<'s>(blocks: &'s [Step<'_>]) -> Option<&'s str> {
    blocks.first().map(|step| &*step.name)
}

/// The label of a case: its value, which may be long.
fn marker(case: &Case<'_>, index: usize) -> String {
    const LONGEST: usize = 60;
    let Some(value) = case.value else { return format!("case {index}") };
    let text = value.to_value().to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("case {}…", &text[..end]),
        None => format!("case {text}"),
    }
}
