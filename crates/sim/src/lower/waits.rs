//! Lowers waits for a time, a signal or people.

use branchpoint_core::ir::{Arm, DecisionKind, ExprId, OnEarly, PlaceId};
use branchpoint_expr::Value;

use super::{Lower, Surroundings, object};
use crate::model::{CHOICES, REMINDERS};
use crate::tree::{Node, NodeKind};

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
                let resolved = self.set_expr("[r.outcome, len(r.votes)]", around, next);
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
        let NodeKind::Request { people, required, timeout_ms, reminder_ms, .. } = node.kind else {
            unreachable!("only requests have a specification");
        };
        let texts = |texts: Vec<String>| Value::from(texts.into_iter().map(Value::from).collect::<Vec<_>>());
        self.b.value(object([
            ("node", Value::Int(node.id.into())),
            ("recipients", texts((0..people).map(|person| format!("u{person}")).collect())),
            ("choices", texts(CHOICES.map(String::from).to_vec())),
            ("required", Value::Int(required.into())),
            ("timeout_ms", timeout_ms.map_or(Value::Null, ms)),
            ("reminder_ms", reminder_ms.map_or(Value::Null, ms)),
            ("reminder_max", Value::Int(REMINDERS.into())),
        ]))
    }
}

fn ms(ms: u64) -> Value {
    Value::Int(i64::try_from(ms).expect("generated times are small"))
}
