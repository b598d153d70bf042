//! Nodes that choose a way: `if` by what came before, approvals by a person.

use branchpoint_core::ir::{DecisionId, DecisionKind, Mark, PlaceId, Write};
use branchpoint_expr::{Located, Value};

use super::super::wiring::Way;
use super::Lower;

impl Lower<'_> {
    /// Conditions in order; the first that holds wins. An error fails the run: it never picks a way.
    pub(super) fn choice(&mut self, node: usize, conditions: &[Located]) -> PlaceId {
        let mut next = self.follow(node, &Way::Otherwise);
        next = self.took(node, "false", next);
        if conditions.is_empty() {
            // An `if` that asks nothing is still seen to be asked: nothing matches.
            let check = self.log("logic_check", "'no conditions: no'", &[self.id(node)]);
            next = self.b.set([check], next, None);
        }
        let branches = self.declare_choice(node);
        for (index, written) in conditions.iter().enumerate().rev() {
            next = self.tried(node, index, written, next);
            if let Some((decision, otherwise)) = branches {
                let unmatched = (index + 1 == conditions.len()).then_some(otherwise);
                self.b.decides(next, decision, [u32::try_from(index).ok(), unmatched]);
            }
        }
        let writes = [self.begin_log(node), self.put("text", "lower(string(prev ?? ''))")];
        let place = self.b.set(writes, next, None);
        self.begin_mark(node, place)
    }

    /// Declares the branches of an `if` for its explanation: the decision, and the branch that is left when no condition is
    /// true. An `if` without conditions decides nothing.
    fn declare_choice(&mut self, node: usize) -> Option<(DecisionId, u32)> {
        let conditions = self.own.conditions[node].clone();
        if conditions.is_empty() {
            return None;
        }
        let decision = self.b.decision(self.own.steps[node], DecisionKind::Branch);
        for (index, condition) in conditions.into_iter().enumerate() {
            let branch = self.b.branch(decision, &format!("condition-{index}"), Some(condition), None);
            self.add_targets(decision, branch, node, &Way::Condition(index));
        }
        let otherwise = self.b.branch(decision, "false", None, None);
        self.add_targets(decision, otherwise, node, &Way::Otherwise);
        Some((decision, otherwise))
    }

    /// Declares the nodes that a branch leads to, or that nothing follows it.
    fn add_targets(&mut self, decision: DecisionId, branch: u32, node: usize, way: &Way) {
        let graph = self.own.graph;
        let mut targets = graph.after(node, way).into_iter().peekable();
        if targets.peek().is_none() {
            self.b.branch_mut(decision, branch).targets.push("nothing follows (no connection)".into());
        }
        for target in targets {
            self.b.branch_mut(decision, branch).targets.push(graph.nodes[target].id.clone());
        }
    }

    fn tried(&mut self, node: usize, index: usize, written: &Located, next: PlaceId) -> PlaceId {
        let values = [self.id(node), ("asked", Value::from(in_words(written)))];
        let matched = self.follow(node, &Way::Condition(index));
        let matched = self.took(node, &format!("condition-{index}"), matched);
        let [yes, no] = [("asked + ': yes'", matched), ("asked + ': no'", next)].map(|(content, to)| {
            let check = self.log("logic_check", content, &values);
            self.b.set([check], to, None)
        });
        let mut writes = vec![self.log("logic_check", "asked + ': error'", &values)];
        writes.push(self.log("error", "failure.message", &values));
        writes.extend(self.fail("'condition_error'", "failure.message", &values));
        let broken = self.b.set(writes, self.own.end, None);
        let error = self.b.read(self.slots["failure"]);
        self.b.mark(broken, Mark::Fail(self.own.steps[node], error));
        self.b.decide([(self.own.conditions[node][index], yes)], no, Some(self.fail_to(broken)))
    }

    /// Tells which way a node went.
    fn took(&mut self, node: usize, way: &str, next: PlaceId) -> PlaceId {
        let place = self.b.marked(Mark::Branch(self.own.steps[node], way.into()), next);
        self.b.mark(place, Mark::End(self.own.steps[node], None))
    }

    /// The first to wait pauses the run; one that comes while it is paused waits without being begun.
    pub(super) fn approval(&mut self, node: usize, prompt: &Value) -> PlaceId {
        let values = [self.id(node), ("prompt", prompt.clone())];
        let waits = self.formula_with("{nodeId: id, previousOutput: prev, front: len(waiting) == 0}", &[], &values);
        let asked = [
            Write::Push(self.slots["waiting"], waits),
            self.put("mode", "'paused'"),
            self.log("wait_input", "string(prompt ?? '')", &values),
        ];
        let asked = self.b.set(asked, self.own.end, None);
        let begun = [self.begin_log(node)];
        let begun = self.b.set(begun, asked, None);
        self.begin_mark(node, begun);
        // One that waits behind another has begun for people who look at the run.
        let behind = self.b.set([], asked, None);
        self.begin_mark(node, behind);
        let paused = self.test("mode == 'paused'");
        self.b.decide([(paused, behind)], begun, None)
    }

    /// Continues after a person's answer to an approval: `begin.how` says whether it approves.
    pub(super) fn settle_approval(&mut self, node: usize) -> PlaceId {
        let decision = self.b.decision(self.own.steps[node], DecisionKind::Approval);
        let [approve, reject] = [(Way::Approve, "approve"), (Way::Reject, "reject")].map(|(way, name)| {
            let branch = self.b.rule_branch(decision, name, &format!("the answer is {name}"), None);
            self.add_targets(decision, branch, node, &way);
            let next = self.follow(node, &way);
            (self.took(node, name, next), branch)
        });
        let note = self.formula_with("get(state, id + '_approval').note", &[], &[self.id(node)]);
        self.b.decision_mut(decision).answer = Some(note);
        let approved = self.test("begin.how == 'approve'");
        let decide = self.b.decide([(approved, approve.0)], reject.0, None);
        self.b.decides(decide, decision, [Some(approve.1), Some(reject.1)])
    }
}

/// A condition as the log tells it.
fn in_words(written: &Located) -> String {
    if let Some(condition) = written.get("if") {
        return format!("if {}", condition.to_value());
    }
    let operator = written.get("operator").and_then(Located::text).map_or("equal", |text| &**text);
    format!("{operator} {:?}", written.get("value").map(Located::to_value).unwrap_or_default())
}
