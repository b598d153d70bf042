//! Loops while a condition holds: a cycle of places in a scope of its own. Steps of the body show their newest round.

use branchpoint_core::ir::builder::ScopeSpec;
use branchpoint_core::ir::{DecisionKind, Exit, ExprId, Mark, PlaceId, Rounds, ScopeId, SlotId, Unit, Write};
use branchpoint_expr::Value;

use super::{Location, Lower};
use crate::lowering::object;
use crate::steps::condition;
use crate::steps::tree::{Role, Step, StepIndex};

/// How many rounds a loop may make, unless the step says otherwise.
const ROUNDS: i64 = 100;

/// The target of the limit with `on_limit: fail`.
const LIMIT_FAILS: &str = "the step fails (while_limit)";

impl Lower<'_, '_> {
    pub(super) fn while_loop(&mut self, index: StepIndex, at: Location, finish: PlaceId) -> PlaceId {
        let step = &self.own.document.steps[index];
        let failure = self.failure(index, at, Some(finish));
        let mut writes = vec![self.store("answer", "answer[0]")];
        writes.extend(self.take_up(self.slots["answer"]));
        let after = self.b.set(writes, finish, None);
        let (round, begun) = self.round_slot(index, at);
        self.counters_around(index);
        let rounds = Some(Rounds { step: self.own.ids[index], round: Some(round), items: None });
        let scope = self.scope_in(at, ScopeSpec { rounds, ..self.frame(index, after, failure) });
        self.own.bodies.insert(index, scope);
        self.edges_in(scope, Some(index));
        let start = self.b.reserve();
        let body = self.while_body(index, scope, at, start, round);
        let done = self.while_done(index, scope, round);
        let limit = self.limit(step, index, scope, done);
        let holds = self.condition(scope, &condition::of(step.located));
        let most = step.int("max_iterations").unwrap_or(ROUNDS);
        let over = self.test_with("i >= most", &[("i", round)], &[("most", Value::Int(most))]);
        let go_on = self.b.decide([(over, limit)], body, None);
        let inner_failure = self.failure(index, Location { scope, ..at }, None);
        self.b.at(start).decide([(holds, go_on)], done, Some(inner_failure));
        let decision = self.b.decision(self.own.ids[index], DecisionKind::Loop);
        let target = self.steps_of(index, Role::Body).first().map(|step| self.own.document.steps[*step].id.clone());
        let more = self.b.branch(decision, "continue", Some(holds), target.as_deref());
        let rule = if most == 1 { "after 1 round".to_owned() } else { format!("after {most} rounds") };
        // The limit is checked only while the condition is true.
        let end = self.b.branch(decision, "end", None, None);
        let limited = self.b.rule_branch(decision, "limit", &rule, fails_at_limit(step).then_some(LIMIT_FAILS));
        let count = self.b.read(round);
        let limit = self.b.value(most);
        self.b.counts(decision, Unit::Round, count, limit);
        self.b.decides(start, decision, [None, Some(end)]);
        self.b.decides(go_on, decision, [Some(limited), Some(more)]);
        self.b.begin(scope, &[start]);
        let enter = self.b.enter(scope);
        self.b.set(begun, enter, None)
    }

    /// The number of rounds that are done. It stays readable after the loop.
    fn round_slot(&mut self, index: StepIndex, at: Location) -> (SlotId, Vec<Write>) {
        let round = match self.own.step_slots.get(&index).and_then(|step_slots| step_slots.round) {
            Some(round) => round,
            None => self.b.slot(at.home, &format!("{}.iteration", self.own.document.steps[index].id), None),
        };
        self.own.rounds.insert(index, round);
        let zero = self.b.value(Value::Int(0));
        (round, vec![Write::Put(round, zero)])
    }

    fn while_done(&mut self, index: StepIndex, scope: ScopeId, round: SlotId) -> PlaceId {
        let value = self.at_hand("");
        let done = self.b.leave(scope, Exit::Done(Some(value)));
        let never = self.b.set([], done, None);
        for skipped in self.steps_of(index, Role::Body) {
            self.b.mark(never, Mark::Skip(self.own.ids[skipped], "loop_empty".into()));
        }
        let none = self.test_with("i == 0", &[("i", round)], &[]);
        self.b.decide([(none, never)], done, None)
    }

    /// After the last round that is allowed, with the condition still true.
    fn limit(&mut self, step: &Step<'_>, index: StepIndex, scope: ScopeId, done: PlaceId) -> PlaceId {
        if fails_at_limit(step) {
            let rounds = step.int("max_iterations").unwrap_or(ROUNDS);
            let message = format!("the condition still holds after {rounds} rounds");
            let error = self.loop_error("while_limit", &message, step);
            return self.b.leave(scope, Exit::Fail(error));
        }
        self.b.record(Mark::Warn(self.own.ids[index], "while_limit".into()), done)
    }

    /// The error of a loop that fails by its own rule.
    pub(super) fn loop_error(&mut self, kind: &str, message: &str, step: &Step<'_>) -> ExprId {
        let error = [("kind", kind), ("message", message), ("step", &*step.id)];
        self.b.value(object(error.map(|(key, text)| (key, Value::from(text)))))
    }

    fn while_body(&mut self, index: StepIndex, scope: ScopeId, at: Location, start: PlaceId, round: SlotId) -> PlaceId {
        let inside = Location { scope, ..at };
        let mut ended = vec![self.store_with(round, "i + 1", &[("i", round)], &[])];
        ended.extend(self.no_gap());
        let ended = self.b.set(ended, start, None);
        self.b.mark_back_edge(ended);
        let (begin, _) = self.chain(&self.steps_of(index, Role::Body), inside, ended, ended);
        // Merges of the body begin every round unfilled, retries uncounted.
        let merges = self.own.plan.meets_in.get(&Some(index)).cloned().unwrap_or_default();
        let joins = merges.iter().flat_map(|merge| self.own.plan.joins.get(merge).into_iter().flatten().copied());
        let edges = joins.chain(merges.iter().copied()).map(|from| self.own.edges[&from]);
        // The counters of retries in the body, and those that outlive a loop in it.
        let retries = self.own.plan.counted_in.get(&index).into_iter().flatten();
        let counters = retries.filter_map(|retry| self.own.counters.get(retry).copied());
        let writes: Vec<Write> = edges.chain(counters).map(Write::Clear).collect();
        self.b.set(writes, begin, None)
    }
}

fn fails_at_limit(step: &Step<'_>) -> bool {
    step.text("on_limit").is_some_and(|on_limit| &**on_limit == "fail")
}
