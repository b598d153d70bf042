//! Lowers waits for a time, a signal or people.

use branchpoint_core::ir::{Arm, DecisionKind, ExprId, OnEarly, PlaceId};
use branchpoint_expr::Value;

use super::{Lower, Surroundings, object};
use crate::model::{CHOICES, REMINDERS};
use crate::tree::{ApprovalRules, Node, NodeKind};

impl<'t> Lower<'t> {
    pub(super) fn wait(&mut self, node: &'t Node, around: &Surroundings<'t>, next: PlaceId) {
        let arms = match &node.kind {
            NodeKind::Sleep { delay_ms } => vec![self.after(*delay_ms, next)],
            NodeKind::Signal { keep, picky, limit_ms } => {
                let signal =
                    self.b.signal(&format!("s{}", node.id), if *keep { OnEarly::Keep } else { OnEarly::Reject });
                let check = picky.then(|| {
                    let payload = self.b.payload();
                    self.b.name(around.scope(), &["payload"], payload);
                    self.condition("payload % 2 == 0", around)
                });
                let signalled = Arm::Signal { signal, check, into: Some(self.v), next };
                let limit = limit_ms.map(|limit| self.after(limit, next));
                std::iter::once(signalled).chain(limit).collect()
            }
            NodeKind::Request { expired, .. } => {
                let spec = self.request_spec(node);
                let rules = matches!(node.kind, NodeKind::Request { rules: Some(_), .. });
                let result = if rules { RULED_RESULT } else { "[r.outcome, len(r.votes)]" };
                let resolved = self.set_expr(result, around, next);
                let expired = expired.then(|| self.set_value(Value::from("expired"), next));
                vec![Arm::Request { spec, into: Some(self.r), next: resolved, expired }]
            }
            _ => unreachable!("only waits are lowered here"),
        };
        let exits = vec![None; arms.len()];
        let place = self.b.at(self.places[&node.id]).wait(arms, None);
        let is_request = matches!(node.kind, NodeKind::Request { .. });
        let kind = if is_request { DecisionKind::Approval } else { DecisionKind::Wait };
        self.decision(node.id, place, kind, &exits);
    }

    fn after(&mut self, delay_ms: u64, next: PlaceId) -> Arm {
        let delay_ms = self.b.value(ms(delay_ms));
        Arm::After { delay_ms, next: self.set_value(Value::from("time"), next) }
    }

    fn request_spec(&mut self, node: &Node) -> ExprId {
        let NodeKind::Request { people, required, timeout_ms, reminder_ms, rules, .. } = &node.kind else {
            unreachable!("only requests have a specification");
        };
        self.b.value(object([
            ("node", Value::Int(node.id.into())),
            ("recipients", users(0..*people)),
            ("choices", Value::from(CHOICES.map(Value::from).to_vec())),
            ("required", Value::Int((*required).into())),
            ("timeout_ms", timeout_ms.map_or(Value::Null, ms)),
            ("reminder_ms", reminder_ms.map_or(Value::Null, ms)),
            ("reminder_max", Value::Int(REMINDERS.into())),
            ("rules", rules.as_deref().map_or(Value::Null, rules_spec)),
        ]))
    }
}

/// What the step after an approval with rules reads.
const RULED_RESULT: &str = "[r.outcome, len(r.votes), r.settled_by, r.escalated, r.edited, r.form?.amount]";

fn rules_spec(rules: &ApprovalRules) -> Value {
    let number = |number: u32| Value::Int(number.into());
    let needs = |need: &[u32; 2]| {
        let needs = ["g0", "g1"].into_iter().zip(need).filter(|(_, needed)| **needed > 0);
        let needs: branchpoint_expr::Object = needs.map(|(group, needed)| (group.into(), number(*needed))).collect();
        Value::from(needs)
    };
    let of_group = rules.veto_group.map(|group| Value::from(format!("g{group}")));
    let veto = rules.veto.iter().map(|user| Value::from(format!("u{user}"))).chain(of_group);
    let field = |ty: &str| object([("type", Value::from(ty))]);
    let schema = || {
        object([
            ("type", Value::from("object")),
            ("properties", object([("amount", field("integer")), ("note", field("string"))])),
            ("required", Value::from(vec![Value::from("amount")])),
        ])
    };
    let [first, second] = &rules.groups;
    object([
        ("groups", object([("g0", users(first.iter().copied())), ("g1", users(second.iter().copied()))])),
        ("need", rules.need.as_ref().map_or(Value::Null, needs)),
        ("veto", Value::from(veto.collect::<Vec<_>>())),
        ("self_approval", Value::Bool(rules.excluded.is_none())),
        ("requester", rules.excluded.map_or(Value::Null, |user| Value::from(format!("u{user}")))),
        ("escalate_ms", rules.escalation.as_ref().map_or(Value::Null, |(after, _)| ms(*after))),
        ("escalate_to", rules.escalation.as_ref().map_or(Value::Null, |(_, to)| users(to.iter().copied()))),
        ("end_early", Value::Bool(rules.end_early)),
        ("form", rules.form.map_or(Value::Null, |_| schema())),
        ("defaults", rules.form.map_or(Value::Null, |amount| object([("amount", Value::Int(amount))]))),
    ])
}

fn users(numbers: impl Iterator<Item = u32>) -> Value {
    Value::from(numbers.map(|number| Value::from(format!("u{number}"))).collect::<Vec<_>>())
}

fn ms(ms: u64) -> Value {
    Value::Int(i64::try_from(ms).expect("generated times are small"))
}
