//! Evaluation: the first step whose conditions all hold, else the active one, else the default, else none.

use branchpoint_core::ir::builder::ROOT;
use branchpoint_core::ir::{ConditionId, DecisionId, DecisionKind, Failure, Mark, PlaceId, StepId, Write};
use branchpoint_expr::{Condition, Dialect, Located, Options, Value};

use super::super::raw::Step;
use super::Lower;
use crate::report::Report;

/// The id of the session's own step in traces, which decides which of the document's steps is active.
const SESSION: &str = "session";

impl Lower<'_, '_> {
    /// The steps in document order, each a decision of its own: a condition that cannot be evaluated does not hold, and
    /// the steps after it are still evaluated.
    pub(super) fn evaluate(&mut self, report: &mut Report) {
        let agent = self.own.agent;
        let steps: Vec<StepId> = agent.steps.iter().map(|step| self.step(step)).collect();
        let conditional = agent.steps.iter().zip(steps).filter_map(|(step, id)| Some((step, id, step.conditions?)));
        let conditional: Vec<_> = conditional.collect();
        let session = self.b.step(SESSION, SESSION, None, (0, 0));
        let decision = self.b.decision(session, DecisionKind::Transition);
        let mut candidates = Vec::new();
        for (step, id, conditions) in conditional {
            let sequence = step.sequence;
            let compile = |options: Options<'_>| Condition::history(conditions, sequence, options);
            let compiled = self.b.condition_with(ROOT, Dialect::Session, compile);
            let Some(holds) = report.ok_or_report(compiled) else { continue };
            let branch = self.b.branch(decision, &step.name, Some(holds), Some(&step.name));
            candidates.push((step, id, holds, branch));
        }
        let mut next = self.nothing_new(session, decision);
        for candidate in candidates.into_iter().rev() {
            next = self.candidate(candidate, (session, decision), next);
        }
        self.b.at(self.own.evaluate).set([], next, None);
        let event = self.b.read(self.slots["got"]);
        self.b.mark(self.own.evaluate, Mark::Begin(session, Some(event)));
        let active = self.b.read(self.slots["active"]);
        let evaluated = self.own.evaluated;
        self.b.mark(evaluated, Mark::End(session, Some(active)));
        let (record, recorded) = (self.own.record, self.after_evaluation());
        let is_tool = self.test("after == 'record'");
        self.b.at(evaluated).decide([(is_tool, record)], recorded, None);
    }

    fn step(&mut self, step: &Step<'_>) -> StepId {
        self.b.step(&step.name, "step", None, (step.span.start, step.span.end))
    }

    /// One step: it becomes active if all its conditions are true, else the next one is evaluated.
    fn candidate(
        &mut self,
        (step, id, holds, branch): (&Step<'_>, StepId, ConditionId, u32),
        (session, decision): (StepId, DecisionId),
        next: PlaceId,
    ) -> PlaceId {
        let name = [("name", Value::Str(step.name.clone()))];
        let problem_entry = self.formula_with("{step: name, kind: problem.kind, message: problem.message}", &[], &name);
        let failed = self.b.set([Write::Push(self.slots["problems"], problem_entry)], next, None);
        self.b.mark(failed, Mark::Warn(id, "condition_error".into()));
        // A step that is active already stays as it is; any other begins its sequence.
        let because = format!("step {}: {}", step.name, step.conditions.map(why).unwrap_or_default());
        let active = self.become_step(Value::Str(step.name.clone()), because);
        self.b.mark(active, Mark::Branch(session, step.name.clone()));
        let fail = Failure { to: failed, error: Some(self.slots["problem"]) };
        let decide = self.b.decide([(holds, active)], next, Some(fail));
        // The next step is evaluated after a false condition, and after one that cannot be evaluated.
        self.b.decides(decide, decision, [Some(branch), None, None])
    }

    fn become_step(&mut self, name: Value, because: String) -> PlaceId {
        let values = [("name", name), ("because", Value::from(because))];
        let writes =
            [("index", "active == name ? index : 0"), ("why", "active == name ? why : because"), ("active", "name")];
        let writes = writes.map(|(slot, text)| self.store_with(slot, text, &[], &values));
        self.b.set(writes, self.own.evaluated, None)
    }

    /// No step's conditions hold: the active step stays if it still exists, else the default step is the start.
    fn nothing_new(&mut self, session: StepId, decision: DecisionId) -> PlaceId {
        let target = self.own.agent.default.map(|step| self.own.agent.steps[step].name.clone());
        let (name, because) = match self.own.agent.default {
            Some(step) => {
                let name = self.own.agent.steps[step].name.clone();
                let because = format!("step {name}: the default step");
                (Value::Str(name), because)
            }
            None => (Value::Null, "no step: no conditions hold, and there is no default step".to_owned()),
        };
        let default = self.become_step(name, because);
        let start = if target.is_some() { "default" } else { "none" };
        self.b.mark(default, Mark::Branch(session, start.into()));
        let unchanged = self.b.record(Mark::Branch(session, "unchanged".into()), self.own.evaluated);
        let exists = self.test("active in names");
        let decide = self.b.decide([(exists, unchanged)], default, None);
        let reason = "active in names ? 'step `' + active + '` stays active' : 'a step is active'";
        let stays = self.ruled(decision, ("unchanged", "the active step stays active"), reason, &[], None);
        let active = self.formula("active in names ? active : nil");
        self.b.branch_mut(decision, stays).leads_to = Some(active);
        self.b.branch_mut(decision, stays).test = Some(exists);
        let reason =
            if target.is_some() { "no step is active" } else { "there is neither an active nor a default step" };
        let starts = self.b.default_branch(decision, start, reason, target.as_deref());
        self.b.decides(decide, decision, [Some(stays), Some(starts)])
    }
}

/// A short description of the conditions of a step.
fn why(conditions: &Located) -> String {
    conditions.items().unwrap_or_default().iter().map(condition_in_words).collect::<Vec<_>>().join(", ")
}

fn condition_in_words(entry: &Located) -> String {
    let text = |key: &str| entry.get(key).and_then(Located::text).map_or("", |text| &**text);
    match entry.get("if") {
        Some(condition) => format!("if {}", condition.text().map_or("the group holds", |text| &**text)),
        None if text("type") == "sequence_match" => "sequence_match".to_owned(),
        None => format!("{} {}", text("type"), text("value")),
    }
}
