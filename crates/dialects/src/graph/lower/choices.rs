//! Nodes that choose a branch: `if` by the previous output, approvals by a person.

use branchpoint_core::ir::{DecisionId, DecisionKind, Mark, PlaceId, Write};
use branchpoint_expr::{Located, Value};

use super::super::wiring::NodeBranch;
use super::Lower;

impl Lower<'_> {
    /// Evaluates conditions in order; the first that is true wins. An error fails the run: it never chooses a branch.
    pub(super) fn choice(&mut self, node: usize, conditions: &[Located]) -> PlaceId {
        let mut next = self.follow(node, &NodeBranch::Otherwise);
        next = self.log_branch(node, "false", next);
        if conditions.is_empty() {
            // An `if` without conditions is still logged: nothing matches.
            let check = self.log("logic_check", "'no conditions: no'", &[self.id(node)]);
            next = self.b.set([check], next, None);
        }
        let branches = self.declare_choice(node);
        for (index, written) in conditions.iter().enumerate().rev() {
            next = self.evaluate_condition(node, index, written, next);
            if let Some((decision, otherwise)) = branches {
                let unmatched = (index + 1 == conditions.len()).then_some(otherwise);
                self.b.decides(next, decision, [u32::try_from(index).ok(), unmatched]);
            }
        }
        let writes = [self.begin_log(node), self.store("text", "lower(string(prev ?? ''))")];
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
            self.add_targets(decision, branch, node, &NodeBranch::Condition(index));
        }
        let otherwise = self.b.branch(decision, "false", None, None);
        self.add_targets(decision, otherwise, node, &NodeBranch::Otherwise);
        Some((decision, otherwise))
    }

    /// Declares the nodes that a branch leads to, or that nothing follows it.
    pub(super) fn add_targets(&mut self, decision: DecisionId, branch: u32, node: usize, node_branch: &NodeBranch) {
        let graph = self.own.graph;
        let mut targets = graph.after(node, node_branch).into_iter().peekable();
        if targets.peek().is_none() {
            self.b.branch_mut(decision, branch).targets.push("nothing follows (no connection)".into());
        }
        for target in targets {
            self.b.branch_mut(decision, branch).targets.push(graph.nodes[target].id.clone());
        }
    }

    fn evaluate_condition(&mut self, node: usize, index: usize, written: &Located, next: PlaceId) -> PlaceId {
        let values = [self.id(node), ("asked", Value::from(in_words(written)))];
        let matched = self.follow(node, &NodeBranch::Condition(index));
        let matched = self.log_branch(node, &format!("condition-{index}"), matched);
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

    /// Logs the branch that a node chose.
    pub(super) fn log_branch(&mut self, node: usize, node_branch: &str, next: PlaceId) -> PlaceId {
        let place = self.b.record(Mark::Branch(self.own.steps[node], node_branch.into()), next);
        self.b.mark(place, Mark::End(self.own.steps[node], None))
    }

    /// The first to wait pauses the run; one that comes while it is paused waits without being begun.
    pub(super) fn approval(&mut self, node: usize, prompt: &Value) -> PlaceId {
        let values = [self.id(node), ("prompt", prompt.clone())];
        let waits = self.formula_with("{nodeId: id, previousOutput: prev, front: len(waiting) == 0}", &[], &values);
        let writes = [
            Write::Push(self.slots["waiting"], waits),
            self.store("mode", "'paused'"),
            self.log("wait_input", "string(prompt ?? '')", &values),
        ];
        let pending = self.b.set(writes, self.own.end, None);
        let begun = [self.begin_log(node)];
        let begun = self.b.set(begun, pending, None);
        self.begin_mark(node, begun);
        // An approval that waits behind another has begun in traces.
        let behind = self.b.set([], pending, None);
        self.begin_mark(node, behind);
        let paused = self.test("mode == 'paused'");
        self.b.decide([(paused, behind)], begun, None)
    }

    /// Continues after a person's answer to an approval: `begin.how` says whether it approves.
    pub(super) fn settle_approval(&mut self, node: usize) -> PlaceId {
        let decision = self.b.decision(self.own.steps[node], DecisionKind::Approval);
        let [approve, reject] =
            [(NodeBranch::Approve, "approve"), (NodeBranch::Reject, "reject")].map(|(node_branch, name)| {
                let branch = self.b.rule_branch(decision, name, &format!("the answer is {name}"), None);
                self.add_targets(decision, branch, node, &node_branch);
                let next = self.follow(node, &node_branch);
                (self.log_branch(node, name, next), branch)
            });
        let note = self.formula_with("get(state, id + '_approval').note", &[], &[self.id(node)]);
        self.b.decision_mut(decision).answer = Some(note);
        let approved = self.test("begin.how == 'approve'");
        let decide = self.b.decide([(approved, approve.0)], reject.0, None);
        self.b.decides(decide, decision, [Some(approve.1), Some(reject.1)])
    }
}

/// A condition in the form of the log.
fn in_words(written: &Located) -> String {
    if let Some(condition) = written.get("if") {
        return format!("if {}", condition.to_value());
    }
    let operator = written.get("operator").and_then(Located::text).map_or("equal", |text| &**text);
    format!("{operator} {:?}", written.get("value").map(Located::to_value).unwrap_or_default())
}
