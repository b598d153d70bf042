//! Approvals by the rules of `data.approval`: several people vote, and the line of the node waits for them.

use branchpoint_core::ir::{Arm, DecisionKind, ExprId, Mark, PlaceId, SlotId, Write};
use branchpoint_expr::{Located, Value};

use super::super::wiring::NodeBranch;
use super::Lower;
use super::agents::TOKEN;
use crate::approvals::ApprovalRules;

impl Lower<'_> {
    /// The line waits for votes. `approve` follows the branch of the same name, and every other outcome `reject`: nothing but an
    /// approval is consent.
    pub(super) fn ruled_approval(&mut self, node: usize, prompt: &Value, rules: &Located) -> PlaceId {
        let Some(rules) = ApprovalRules::of(rules) else { return self.approval(node, prompt) };
        self.b.fact("account");
        let (votes, shown) = (self.b.local(&format!("{node}.votes")), self.b.local(&format!("{node}.shown")));
        let facts = self.b.facts();
        let settled = self.voted(node, votes);
        let failed = self.approval_failed(node);
        let request = self.b.read(votes);
        let arm = Arm::Request { spec: request, into: Some(votes), next: settled, expired: None };
        let wait = self.b.wait([arm], Some(self.fail_to(failed)));
        let decision = self.b.decision(self.own.steps[node], DecisionKind::Approval);
        for (node_branch, name) in [(NodeBranch::Approve, "approve"), (NodeBranch::Reject, "reject")] {
            let branch = self.b.rule_branch(decision, name, &format!("the votes are for {name}"), None);
            self.add_targets(decision, branch, node, &node_branch);
        }
        self.b.decides(wait, decision, [Some(0)]);
        let text = "{step: id, prompt: string(prompt ?? ''), recipients: filter(concat([account.owner], account.admins ?? []), # != nil), \
             choices: ['approve', 'reject'], required: 1, show: shown.show, \
             rules: {need: RULES.need, veto: RULES.veto, self_approval: RULES.self_approval, escalate_ms: RULES.escalate_ms, \
             escalate_to: RULES.escalate_to, end_early: RULES.end_early, form: RULES.form, defaults: shown.defaults, \
             groups: account.groups, requester: account.requester}}"
            .replace("account.", "facts.account.");
        let values = [self.id(node), ("prompt", prompt.clone()), ("RULES", rules.fixed())];
        let slots = [("facts", facts), ("shown", shown)];
        let spec = self.store_with(votes, &text, &slots, &values);
        let computed = self.shown(rules);
        let requested = self.log("wait_input", "string(prompt ?? '')", &values);
        let writes = [self.begin_log(node), requested, Write::Put(shown, computed), spec];
        let place = self.b.set(writes, wait, Some(self.fail_to(failed)));
        self.begin_mark(node, place)
    }

    /// `{show, defaults}` as an object. Texts can contain the placeholder of the previous output; alone, it gives the value itself.
    fn shown(&mut self, rules: ApprovalRules<'_>) -> ExprId {
        let [(.., show), (.., defaults)] = rules.computed();
        let mut values = vec![("TOKEN".to_owned(), Value::from(TOKEN)), ("SHOW".to_owned(), show.to_value())];
        let mut pairs = Vec::new();
        for (at, field) in defaults.fields().iter().enumerate() {
            let (name, default) = (format!("N{at}N"), format!("D{at}D"));
            pairs.push(format!("[{name}, {}]", expanded(&default, &field.value)));
            values.push((name, Value::Str(field.key.clone())));
            values.push((default, field.value.to_value()));
        }
        let text = format!("{{show: {}, defaults: fromPairs([{}])}}", expanded("SHOW", &show), pairs.join(", "));
        let values: Vec<(&str, Value)> = values.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        self.formula_with(&text, &[], &values)
    }

    /// After the votes: the decision is stored with the outcome, and the line continues at one of the branches.
    fn voted(&mut self, node: usize, votes: SlotId) -> PlaceId {
        let [approve, reject] =
            [(NodeBranch::Approve, "approve"), (NodeBranch::Reject, "reject")].map(|(branch, name)| {
                let next = self.follow(node, &branch);
                self.log_branch(node, name, next)
            });
        let slots = [("votes", votes)];
        let approved = self.test_with("votes.outcome == 'approve'", &slots, &[]);
        let decide = self.b.decide([(approved, approve)], reject, None);
        let values = [self.id(node)];
        let answer = "{decision: votes.outcome == 'approve' ? 'approve' : 'reject', note: votes.votes[-1].comment ?? '', \
             outcome: votes.outcome, settled_by: votes.settled_by, votes: votes.votes, form: votes.form, edited: votes.edited}";
        let content = format!("toJSON({answer})");
        let text = format!("{{timestamp: time, nodeId: id, type: 'input_received', content: {content}}}");
        let received = self.formula_with(&text, &slots, &values);
        let writes = [
            self.store_with("state", &format!("putPath(state, [id + '_approval'], {answer})"), &slots, &values),
            Write::Push(self.slots["logs"], received),
        ];
        self.b.set(writes, decide, None)
    }

    /// An approval that cannot be opened fails the run.
    fn approval_failed(&mut self, node: usize) -> PlaceId {
        let values = [self.id(node)];
        let mut writes = vec![self.log("error", "failure.message", &values)];
        writes.extend(self.fail("failure.kind", "failure.message", &values));
        let failed = self.b.set(writes, self.own.end, None);
        let error = self.b.read(self.slots["failure"]);
        self.b.mark(failed, Mark::Fail(self.own.steps[node], error))
    }
}

/// A formula of a constant in which the placeholder is replaced.
fn expanded(name: &str, written: &Located) -> String {
    match written.text() {
        Some(text) if &**text == TOKEN => "prev".to_owned(),
        Some(text) if text.contains(TOKEN) => format!("replace({name}, TOKEN, string(prev ?? ''))"),
        _ => name.to_owned(),
    }
}
