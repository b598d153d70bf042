//! Loops: a cycle of places in its own scope, in which the states of the body are lowered again.

use branchpoint_core::ir::builder::ScopeSpec;
use branchpoint_core::ir::{
    self, ConditionId, DecisionId, DecisionKind, Exit, ExprId, Items, Mark, PlaceId, SlotId, Unit, Write,
};
use branchpoint_expr::{Value, duration_text};

use super::Lower;
use super::context::{Context, ContextId, ContextKind, LoopSlots};
use super::next_state::LOOP_FAILS;
use super::state::{CurrentState, Outcomes};
use crate::machine::raw::{Loop, Repetition};

/// The default number of rounds of a `while` loop, and the largest number of rounds of any loop.
const WHILE_ROUNDS: u32 = 100;
const MOST_ROUNDS: u32 = 10_000;

/// The output of a loop.
pub(super) const SUMMARY: &str = r#""completed " + string(begun) + " iterations""#;

/// The kind of the error in the slot `failure` if documents may read it, otherwise the value of the formula `kind`.
pub(super) fn kind_or(kind: &str) -> String {
    let known = r#"["timeout", "condition", "template"]"#;
    format!("failure.kind in {known} ? failure.kind : {kind}")
}

impl<'d> Lower<'d> {
    pub(super) fn looped(&mut self, current: CurrentState<'d>, round: &'d Loop, outcomes: Outcomes) -> PlaceId {
        let outer = self.scope(current.context);
        let slots = ["loop", "index", "begun", "items", "most", "left_out"]
            .map(|name| (name, self.b.slot(outer, &format!("{}.{name}", current.state.name), None)));
        let around = self.slots.clone();
        for (name, slot) in slots {
            self.slots.add(name, slot);
        }
        let begin = self.named_loop(current, round, slots, outcomes);
        self.slots = around;
        begin
    }

    /// Lowers a loop whose slots have names in formulas.
    fn named_loop(
        &mut self,
        current: CurrentState<'d>,
        round: &'d Loop,
        slots: LoopSlots,
        outcomes: Outcomes,
    ) -> PlaceId {
        let outer = self.scope(current.context);
        let done = self.assign("answer", &format!(r#"{{"output": {SUMMARY}}}"#), outcomes.ok);
        let failed = self.loop_failed(current, outcomes);
        let spec = ScopeSpec {
            time_limit_ms: current.state.timeout_ms,
            next: Some(done),
            fail: Some(self.fail_to(failed)),
            rounds: Some(ir::Rounds {
                step: current.step,
                round: Some(self.slots["index"]),
                items: matches!(round.over, Repetition::Each(_)).then_some(self.slots["items"]),
            }),
            ..ScopeSpec::default()
        };
        let scope = self.b.scope(outer, spec);
        self.b.name(scope, &["loop"], self.slots["loop"]);
        let body_end = self.b.reserve();
        let within = ContextKind::Loop { state: current.at, body_end, slots };
        let context = self.open(Context { parent: Some(current.context), scope, within, step: Some(current.step) });
        let start = self.round(current, round, context, body_end);
        self.b.begin(scope, &[start]);
        let enter = self.b.enter(scope);
        let first = vec![self.store("index", "0"), self.store("begun", "0")];
        let enter = self.b.set(first, enter, None);
        self.bounds(current, round, enter, outcomes)
    }

    /// One round: the check before it, the body, `break_when`, and the way back to the check.
    fn round(&mut self, current: CurrentState<'d>, round: &'d Loop, context: ContextId, body_end: PlaceId) -> PlaceId {
        let (scope, again) = (self.scope(context), self.b.reserve());
        let done = self.b.leave(scope, Exit::Done(None));
        let [while_failed, break_failed] = ["while", "break_when"].map(|key| {
            let error = format!(r#"{{"kind": "condition", "message": "`{key}`: " + failure.message}}"#);
            let error = self.formula(&error);
            let error = self.b.leave(scope, Exit::Fail(error));
            Some(self.fail_to(error))
        });

        let next = self.assign("index", "index + 1", again);
        match &round.break_when {
            Some(guard) => {
                let guard = self.guard(scope, guard);
                self.b.at(body_end).decide([(guard, done)], next, break_failed);
                let decision = self.b.decision(current.step, DecisionKind::Loop);
                let stops = self.b.branch(decision, "break", Some(guard), None);
                let continues = self.b.branch(decision, "no break", None, None);
                let begun = self.b.read(self.slots["begun"]);
                let limit = self.round_limit(round);
                self.b.counts(decision, Unit::Round, begun, limit);
                self.b.decides(body_end, decision, [Some(stops), Some(continues)]);
            }
            None => {
                self.b.at(body_end).set([], next, None);
            }
        }

        let document = self.own.document;
        let first = round.body.first().and_then(|name| document.state(name.text()));
        let body = first.map_or(done, |first| self.state_place(context, first));
        let begin = self.assign("begun", "begun + 1", body);
        let ahead = match &round.over {
            Repetition::Each(_) => self.next_item(current, round, (begin, done)),
            Repetition::While(guard) => {
                let holds = guard.as_ref().map(|guard| self.guard(scope, guard));
                let holds = holds.unwrap_or_else(|| self.test("false"));
                let look = self.b.decide([(holds, begin)], done, while_failed);
                self.next_round(current, round, holds, look, done)
            }
        };
        let reported = self.loop_object(current, matches!(round.over, Repetition::Each(_)));
        self.b.at(again).set([reported], ahead, None);
        again
    }

    /// Begins another round while items are left.
    fn next_item(&mut self, current: CurrentState<'d>, round: &Loop, (begin, done): (PlaceId, PlaceId)) -> PlaceId {
        let left = self.test("index < len(items)");
        let none = self.test("len(items) == 0");
        let decide = self.b.decide([(left, begin), (none, done)], done, None);
        let decision = self.b.decision(current.step, DecisionKind::Loop);
        let more = self.b.rule_branch(decision, "continue", "an item is left", first_of(round));
        let empty = self.b.rule_branch(decision, "empty", "there are no items", None);
        let end = self.b.rule_branch(decision, "end", "every item is done", None);
        if round.max_iterations.is_some() {
            let reason = r#"(left_out ?? 0) == 0 ? "every item is done"
                : "the allowed items are done, and max_iterations leaves out " + string(left_out)"#;
            let reason = self.formula(reason);
            self.b.reason(decision, end, reason);
        }
        let (index, count) = (self.b.read(self.slots["index"]), self.round_limit(round));
        self.b.counts(decision, Unit::Round, index, count);
        self.items_of(decision, &[], None);
        self.b.decides(decide, decision, [Some(more), Some(empty), Some(end)])
    }

    /// The limit of rounds of a loop.
    fn round_limit(&mut self, round: &Loop) -> ExprId {
        match round.over {
            Repetition::Each(_) => self.formula("len(items)"),
            Repetition::While(_) => self.b.read(self.slots["most"]),
        }
    }

    /// Declares the items of a loop over items that has begun.
    pub(super) fn items_of(&mut self, decision: DecisionId, slots: &[(&str, SlotId)], failed: Option<ExprId>) {
        let [count, left_out] = ["len(items)", "left_out ?? 0"].map(|text| self.formula_with(text, slots, &[]));
        self.b.decision_mut(decision).items = Some(Items { count, left_out: Some(left_out), failed });
    }

    /// Begins another round while the condition, which `look` evaluates, is true, up to the limit.
    fn next_round(
        &mut self,
        current: CurrentState<'d>,
        round: &Loop,
        holds: ConditionId,
        look: PlaceId,
        done: PlaceId,
    ) -> PlaceId {
        let capped = self.b.record(Mark::Warn(current.step, "max_iterations".into()), done);
        let over = self.test("index >= most");
        let decide = self.b.decide([(over, capped)], look, None);
        let decision = self.b.decision(current.step, DecisionKind::Loop);
        let limit = self.b.rule_branch(decision, "limit", &limit_rule(round), None);
        if round.max_iterations.as_ref().is_some_and(|most| most.text().trim().parse::<u32>().is_err()) {
            let reason = self.formula(r#""max_iterations " + string(most) + " is reached""#);
            self.b.reason(decision, limit, reason);
        }
        let more = self.b.branch(decision, "continue", Some(holds), first_of(round));
        let end = self.b.branch(decision, "end", None, None);
        let (index, most) = (self.b.read(self.slots["index"]), self.round_limit(round));
        self.b.counts(decision, Unit::Round, index, most);
        self.b.decides(decide, decision, [Some(limit), None]);
        self.b.decides(look, decision, [Some(more), Some(end)]);
        decide
    }

    /// The value of `loop` in a round.
    fn loop_object(&mut self, current: CurrentState<'d>, each: bool) -> Write {
        let outer = self.loop_around(current.context);
        let parent = if outer.is_some() { "outer" } else { "nil" };
        let (item, length, last) =
            if each { ("items[index]", "len(items)", "index == len(items) - 1") } else { ("nil", "-1", "false") };
        let text = format!(
            r#"{{"Index": index, "Index1": index + 1, "Item": {item}, "Length": {length}, "First": index == 0,
                "Last": {last}, "Parent": {parent}}}"#
        );
        let outer: Vec<_> = outer.map(|outer| ("outer", outer)).into_iter().collect();
        self.store_with("loop", &text, &outer, &[])
    }

    /// The loop cannot continue.
    fn loop_failed(&mut self, current: CurrentState<'d>, outcomes: Outcomes) -> PlaceId {
        let text = format!(
            r#"{{"output": {SUMMARY}, "exit_code": failure.kind == "timeout" ? -1 : 1,
                "error": {{"kind": {}, "message": failure.message}}}}"#,
            kind_or(r#""loop""#),
        );
        let failed = self.assign("answer", &text, outcomes.bad);
        if current.state.timeout_ms.is_none() {
            return failed;
        }
        let rule = format!("the loop exceeded its timeout of {}", duration_text(current.state.timeout_ms.unwrap_or(0)));
        let error = self.formula("failure");
        let (timed_out, _) = self.decide_by_rule(
            (current.step, DecisionKind::Loop),
            ("timeout", &rule),
            Some("the loop fails (timeout)"),
            Some(error),
            failed,
        );
        let is_late = self.test(r#"failure.kind == "timeout""#);
        self.b.decide([(is_late, timed_out)], failed, None)
    }

    /// Computes the items and the limit of rounds before the loop begins.
    fn bounds(&mut self, current: CurrentState<'d>, round: &'d Loop, enter: PlaceId, outcomes: Outcomes) -> PlaceId {
        let scope = self.scope(current.context);
        let next = match &round.over {
            Repetition::While(_) => enter,
            Repetition::Each(_) => self.limit_items(current, round.max_iterations.is_some(), enter, outcomes),
        };
        let next = match &round.max_iterations {
            None => {
                let most = self.b.value(Value::Int(WHILE_ROUNDS.into()));
                self.b.set([Write::Put(self.slots["most"], most)], next, None)
            }
            Some(written) => {
                let range = format!("not a whole number from 1 to {MOST_ROUNDS}");
                let reason = format!(r#""`max_iterations` is " + toJSON(request) + ", {range}""#);
                let message = format!("`max_iterations` is {range}");
                let refused = self.loop_refused(current, (&message, &reason), outcomes);
                let in_range = self.test(&format!("1 <= most && most <= {MOST_ROUNDS}"));
                let next = self.b.decide([(in_range, next)], refused, None);
                let most = self.store("most", "integerOf(request)");
                let next = self.b.set([most], next, Some(self.fail_to(refused)));
                self.expand(scope, &written.0, self.slots["request"], next, outcomes.unexpanded)
            }
        };
        let Repetition::Each(Some(items)) = &round.over else { return next };
        let listed = self.store("items", "itemsOf(request)");
        let next = self.b.set([listed], next, Some(self.fail_to(outcomes.unexpanded)));
        self.expand(scope, &items.0, self.slots["request"], next, outcomes.unexpanded)
    }

    /// More items than rounds: an explicit limit drops the rest with a report, the default limit is an error.
    fn limit_items(&mut self, current: CurrentState<'d>, bounded: bool, enter: PlaceId, outcomes: Outcomes) -> PlaceId {
        if bounded {
            let left_out = self.store("left_out", "len(items) - most");
            let limit_items = self.store("items", "take(items, most)");
            let limit_items = self.b.set([left_out, limit_items], enter, None);
            self.b.mark(limit_items, Mark::Warn(current.step, "max_iterations".into()));
            let over = self.test("len(items) > most");
            let decide = self.b.decide([(over, limit_items)], enter, None);
            let decision = self.b.decision(current.step, DecisionKind::Loop);
            let reason =
                r#"string(most) + " of " + string(len(items)) + " items run (max_iterations " + string(most) + ")""#;
            let limit = self.ruled(decision, ("cut", "max_iterations leaves items out"), reason, &[], None);
            let (count, left_out) = (self.b.read(self.slots["most"]), self.formula("len(items) - most"));
            self.b.decision_mut(decision).items = Some(Items { count, left_out: Some(left_out), failed: None });
            self.b.decides(decide, decision, [Some(limit), None]);
            // A loop that runs again must not keep an earlier number of dropped items.
            return self.b.set([Write::Clear(self.slots["left_out"])], decide, None);
        }
        let message = format!("there are more than {MOST_ROUNDS} items");
        let reason = format!(r#""there are " + string(len(items)) + " items, more than the {MOST_ROUNDS} allowed""#);
        let refused = self.loop_refused(current, (&message, &reason), outcomes);
        let over = self.test(&format!("len(items) > {MOST_ROUNDS}"));
        self.b.decide([(over, refused)], enter, None)
    }

    /// A loop that cannot begin fails with a message. The reason is a formula with the same message and the value.
    fn loop_refused(
        &mut self,
        current: CurrentState<'d>,
        (message, reason): (&str, &str),
        outcomes: Outcomes,
    ) -> PlaceId {
        let text = r#"{"output": "completed 0 iterations", "error": {"kind": "loop", "message": MESSAGE}}"#;
        let answer = self.store_with("answer", text, &[], &[("MESSAGE", Value::from(message))]);
        let error = self.formula_with(r#"putPath(answer.error, ["step"], STATE)"#, &[], &[current.name()]);
        let (failed, decision) = self.decide_by_rule(
            (current.step, DecisionKind::Loop),
            ("failed", message),
            Some(LOOP_FAILS),
            Some(error),
            outcomes.bad,
        );
        let reason = self.formula(reason);
        self.b.reason(decision, 0, reason);
        self.b.set([answer], failed, None)
    }
}

/// The state with which a round begins.
fn first_of(round: &Loop) -> Option<&str> {
    round.body.first().map(|state| state.text().as_ref())
}

/// The rule for a `while` loop that has reached its limit.
fn limit_rule(round: &Loop) -> String {
    let written = round.max_iterations.as_ref().map(|most| most.text().trim().parse::<u32>());
    match written.unwrap_or(Ok(WHILE_ROUNDS)) {
        Ok(1) => "the limit of 1 round is reached".to_owned(),
        Ok(most) => format!("the limit of {most} rounds is reached"),
        Err(_) => "max_iterations is reached".to_owned(),
    }
}
