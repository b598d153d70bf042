//! Loops: a cycle of places in its own scope, whose slots are the variables and the counters of the loop.

use std::sync::Arc;

use branchpoint_core::RunKinds as _;
use branchpoint_core::ir::builder::ScopeSpec;
use branchpoint_core::ir::{
    self, ConditionId, DecisionId, DecisionKind, Exit, Failure, Items, Mark, PlaceId, ScopeId, SlotId, Unit, Write,
};
use branchpoint_expr::{Kind, Located, Value};

use super::super::raw::{Loop, Rounds};
use super::branches::first_id;
use super::{Enclosing, Lower, MOST_WARNINGS, StepPlaces, WARNING_CHARS, literal};
use crate::lowering::Names;

/// The largest number of rounds of a loop over numbers or a list without its own limit.
const MOST_ROUNDS: i64 = 10_000;
/// The default limit of rounds of a `while` loop.
const WHILE_ROUNDS: i64 = 100;

/// The largest number of failed rounds that an explanation lists by position.
const LISTED: usize = 20;

/// A loop that is being lowered.
struct LoopParts<'a> {
    /// The name of the loop.
    name: Arc<str>,
    scope: ScopeId,
    places: StepPlaces<'a>,
    /// The names for formulas of the body, without the slots of the loop.
    outer: Names,
    entries: SlotId,
    locals: Vec<(Arc<str>, SlotId)>,
    /// The failure of the loop's own settings or condition.
    fail: Failure,
    /// The place before each round.
    head: PlaceId,
}

/// The decision of a loop and its branches; no limit if the loop has none of its own.
struct LoopDecision {
    decision: DecisionId,
    again: u32,
    limit: Option<u32>,
    end: u32,
}

impl Lower {
    pub(super) fn repeat(&mut self, repeat: &Loop<'_>, name: &Arc<str>, places: StepPlaces<'_>) -> PlaceId {
        let cycle = self.cycle(&repeat.rounds, name, places);
        let round = self.round(repeat, &cycle);
        let (continues, fail) = match &repeat.rounds {
            Rounds::While(test) => (self.condition(places.enclosing.scope, *test), Some(cycle.fail)),
            Rounds::For { .. } | Rounds::Each { .. } => (self.test("$round < $total"), None),
        };
        let declared = self.declare_loop(repeat, &cycle, continues);
        let round_is_due = self.round_is_due(repeat, &cycle, round, &declared);
        let done = self.b.leave(cycle.scope, Exit::Done(None));
        let head = self.b.at(cycle.head).decide([(continues, round_is_due)], done, fail);
        // With a limit, another round is decided only after the limit check.
        let first = declared.limit.is_none().then_some(declared.again);
        self.b.decides(head, declared.decision, [first, Some(declared.end)]);
        let start = self.settings(repeat, &cycle);
        self.b.begin(cycle.scope, &[start]);
        self.slots = cycle.outer;
        self.b.enter(cycle.scope)
    }

    fn cycle<'a>(&mut self, rounds: &Rounds<'_>, name: &Arc<str>, places: StepPlaces<'a>) -> LoopParts<'a> {
        // The entries outlive the loop, until they are the step's data.
        let entries = self.b.slot(places.enclosing.scope, "entries", Some(Value::from(Vec::new())));
        let data = self.store_with("data", "$entries", &[("entries", entries)], &[]);
        let after = self.b.set([data, Write::Clear(entries)], places.end, None);
        // The position and the item of the round, for explanations. They are slots of the enclosing scope, which exists before the loop's.
        let index = self.b.slot(places.enclosing.scope, "loop_index", Some(Value::Int(0)));
        let items = matches!(rounds, Rounds::Each { .. })
            .then(|| self.b.slot(places.enclosing.scope, "loop_items", Some(Value::from(Vec::new()))));
        let scope = self.b.scope(
            places.enclosing.scope,
            ScopeSpec {
                next: Some(after),
                fail: Some(places.fail),
                rounds: Some(ir::Rounds { step: places.step, round: Some(index), items }),
                ..ScopeSpec::default()
            },
        );
        let names: Vec<&Arc<str>> = match rounds {
            Rounds::For { counter, .. } => vec![counter],
            Rounds::Each { item, index, .. } => std::iter::once(item).chain(index).collect(),
            Rounds::While(_) => Vec::new(),
        };
        let mut locals = Vec::new();
        for name in names {
            let local = self.b.slot(scope, name, Some(Value::Null));
            self.b.name(scope, &[name], local);
            locals.push((name.clone(), local));
        }
        let out = self.b.leave(scope, Exit::Goto(places.fail.to));
        let outer = self.slots.clone();
        let empty = || Value::from(Vec::new());
        let own = [
            // The number of begun rounds, the total in loops with a known number, and the limit.
            ("round", Value::Int(0)),
            ("total", Value::Int(0)),
            ("most", Value::Null),
            // The current number of the loop, or its items.
            ("at", Value::Null),
            ("step", Value::Int(1)),
            // The last number of a loop over numbers.
            ("last", Value::Null),
            // The variables that were set in the round.
            ("touched", Value::from(branchpoint_expr::Object::default())),
            // The positions of the rounds that failed, the first twenty, and the first error; for explanations.
            ("failed", empty()),
            ("first_error", Value::Null),
        ];
        for (name, first) in own {
            let slot = items.filter(|_| name == "at");
            self.slots.add(name, slot.unwrap_or_else(|| self.b.slot(scope, name, Some(first))));
        }
        self.slots.add("index", index);
        let fail = self.fail_to(out);
        let head = self.b.reserve();
        LoopParts { name: name.clone(), scope, places, outer, entries, locals, fail, head }
    }

    /// One round: loop variables, blocks, and the entry of the round for any outcome.
    fn round(&mut self, repeat: &Loop<'_>, cycle: &LoopParts<'_>) -> PlaceId {
        let picked = self.formula("pick($variables, keys($touched))");
        let done = self.b.set([Write::Push(cycle.entries, picked)], cycle.head, None);
        let failed = if repeat.fails {
            self.b.leave(cycle.scope, Exit::Goto(cycle.places.failed))
        } else {
            self.failed_round(cycle)
        };
        let mut inside = Enclosing { scope: cycle.scope, fail: failed, ..cycle.places.enclosing.clone() };
        inside.steps.push(cycle.places.step);
        inside.touched.push(self.slots["touched"]);
        inside.locals.extend(cycle.locals.iter().cloned());
        inside.counters.extend(match &repeat.rounds {
            Rounds::For { counter, .. } => Some(counter.clone()),
            Rounds::Each { index, .. } => index.clone(),
            Rounds::While(_) => None,
        });
        let own = std::mem::replace(&mut self.slots, cycle.outer.clone());
        let blocks = self.chain(&repeat.blocks, &inside, done);
        self.slots = own;
        let mut writes = vec![Write::Clear(self.slots["touched"])];
        let locals: Vec<SlotId> = cycle.locals.iter().map(|(_, slot)| *slot).collect();
        match (&repeat.rounds, &locals[..]) {
            (Rounds::For { .. }, [counter]) => {
                // The position is separate from the counter, which a block may set.
                let at = self.formula("$round == 0 ? $at : $at + $step");
                let now = self.formula("$at");
                writes.extend([Write::Put(self.slots["at"], at), Write::Put(*counter, now)]);
            }
            (Rounds::Each { .. }, [item, index @ ..]) => {
                let position = self.formula("$round");
                writes.push(self.store(*item, "$at[$round]"));
                writes.extend(index.iter().map(|index| Write::Put(*index, position)));
            }
            _ => {}
        }
        writes.extend([self.store("index", "$round"), self.store("round", "$round + 1")]);
        self.b.set(writes, blocks, None)
    }

    /// Records a failed round in its entry and a warning, and continues the loop.
    fn failed_round(&mut self, cycle: &LoopParts<'_>) -> PlaceId {
        let entry = self.formula(r#"{"success": false, "error": $error}"#);
        // The entry has the whole error. A warning that repeated a long one could exceed the limit of a value and fail the loop.
        let reason = format!("toString($error.message)[:{WARNING_CHARS}]");
        let message = format!(
            r#""round " + toString($round) + " of loop `" + $loop + "` failed in step `" + toString($error.step)
            + "` [" + $error.kind + "]: " + {reason}"#
        );
        let error = format!(r#"{{"kind": $error.kind, "step": $error.step, "message": {reason}}}"#);
        let warning = format!(
            r#"{{"kind": "{}", "step": $loop, "round": $round, "error": {error}, "message": {message}}}"#,
            Kind::FailedRounds
        );
        let warnings = format!("len($warnings) < {MOST_WARNINGS} ? concat($warnings, [{warning}]) : $warnings");
        let failed = format!("len($failed) < {LISTED} ? concat($failed, [$round - 1]) : $failed");
        let writes = [
            Write::Push(cycle.entries, entry),
            self.store_with("warnings", &warnings, &[], &[("loop", Value::Str(cycle.name.clone()))]),
            self.store("lost", "$lost + 1"),
            self.store("failed", &failed),
            self.store("first_error", &format!("$first_error ?? {error}")),
        ];
        self.b.set(writes, cycle.head, None)
    }

    /// Declares why the loop continues or ends, for explanations. The limit is last: it is checked only when another round
    /// is due.
    fn declare_loop(&mut self, repeat: &Loop<'_>, cycle: &LoopParts<'_>, continues: ConditionId) -> LoopDecision {
        let decision = self.b.decision(cycle.places.step, DecisionKind::Loop);
        let target = first_id(&repeat.blocks);
        let is_while = matches!(repeat.rounds, Rounds::While(_));
        let most_text = match (is_while, repeat.is_capped()) {
            (true, _) => "$most",
            (false, true) => "min($most, $total)",
            (false, false) => "$total",
        };
        let (again, end) = match &repeat.rounds {
            Rounds::While(_) => {
                let again = self.b.branch(decision, "continue", Some(continues), target);
                (again, self.b.branch(decision, "end", None, None))
            }
            Rounds::For { counter, .. } => {
                let next = "toString($round == 0 ? $at : $at + $step)";
                let is_left = "$round < $total";
                let values = [("counter", Value::Str(counter.clone()))];
                let reason = format!(
                    r#"$round < {most_text} ? $counter + " is " + {next} + ($step < 0 ? ", down to" : ", up to") + " endValue "
                        + toString($last) : nil"#
                );
                let end = format!(
                    r#"{is_left} ? nil : $counter + " would be " + {next} + ", which "
                        + ($step < 0 ? "is below" : "exceeds") + " endValue " + toString($last)"#
                );
                (
                    self.ruled(decision, ("continue", "numbers are left"), &reason, &values, target),
                    self.ruled(decision, ("end", "no numbers are left"), &end, &values, None),
                )
            }
            Rounds::Each { .. } => {
                let more = if repeat.is_capped() { "items and rounds are left" } else { "items are left" };
                let listed = r#"join(map($failed, "[" + toString(#) + "]"), ", ")"#;
                let none = format!(
                    r#"$total == 0 ? "there are no items"
                    : $round < $total || $first_error == nil ? nil
                    : ($total == 1 ? "the only item failed"
                        : "all " + toString($total) + " items have ended; failed: " + {listed})
                        + (len($failed) > 1 ? " (first error: " : " (")
                        + $first_error.kind + ": " + $first_error.message + ")""#
                );
                let left = format!(
                    r#"$round < {most_text} ? toString($total - $round) + " of " + toString($total)
                        + ($total - $round == 1 ? " items is left" : " items are left") : nil"#
                );
                (
                    self.ruled(decision, ("continue", more), &left, &[], target),
                    self.ruled(decision, ("end", "no items are left"), &none, &[], None),
                )
            }
        };
        let limit = repeat.is_capped().then(|| {
            let noun = if matches!(repeat.rounds, Rounds::For { .. }) { "numbers" } else { "items" };
            let rest = format!(
                r#" + ($round >= $most ? ", leaving out " + toString($total - $most) + " of " + toString($total) + " {noun}" : "")"#
            );
            let rule = format!(
                r#""the limit of " + toString($most) + ($most == 1 ? " round" : " rounds") + " (maxIterations) is reached"{}"#,
                if is_while { "" } else { &rest },
            );
            self.ruled(decision, ("limit", "the limit of rounds is reached"), &rule, &[], None)
        });
        let round = self.b.read(self.slots["round"]);
        let most = self.formula(most_text);
        self.b.counts(decision, Unit::Round, round, most);
        if matches!(repeat.rounds, Rounds::Each { .. }) {
            let left_out = if repeat.is_capped() { "max(0, $total - $most)" } else { "0" };
            let left_out = self.formula(left_out);
            let failed = Some(self.b.read(self.slots["failed"]));
            self.b.decision_mut(decision).items = Some(Items { count: most, left_out: Some(left_out), failed });
            // Only a loop that ends has an error of its own.
            let error = self.formula(&format!("$round < {most_text} ? nil : $first_error"));
            self.b.decision_mut(decision).error = Some(error);
        }
        LoopDecision { decision, again, limit, end }
    }

    /// A round is due, unless the limit of rounds is reached.
    fn round_is_due(
        &mut self,
        repeat: &Loop<'_>,
        cycle: &LoopParts<'_>,
        round: PlaceId,
        declared: &LoopDecision,
    ) -> PlaceId {
        if !repeat.is_capped() {
            return round;
        }
        let capped = self.b.leave(cycle.scope, Exit::Done(None));
        self.b.mark(capped, Mark::Warn(cycle.places.step, Kind::MaxIterations.as_str().into()));
        let over = self.test("$round >= $most");
        let decide = self.b.decide([(over, capped)], round, None);
        self.b.decides(decide, declared.decision, [declared.limit, Some(declared.again)])
    }

    /// The settings are expanded once, before the first round.
    fn settings(&mut self, repeat: &Loop<'_>, cycle: &LoopParts<'_>) -> PlaceId {
        // A loop that failed in an earlier round of an enclosing loop may have left entries.
        let mut writes = vec![Write::Clear(cycle.entries)];
        match &repeat.rounds {
            Rounds::For { from, to, step, .. } => self.bounds([Some(*from), *step, Some(*to)], cycle, &mut writes),
            Rounds::Each { items, .. } => self.items(items, cycle, &mut writes),
            Rounds::While(_) => {}
        }
        self.most(repeat, cycle, &mut writes);
        let next = if repeat.is_capped() { cycle.head } else { self.too_many(cycle) };
        self.b.set(writes, next, Some(cycle.fail))
    }

    fn bounds(&mut self, bounds: [Option<&Located>; 3], cycle: &LoopParts<'_>, writes: &mut Vec<Write>) {
        for (located, slot) in bounds.into_iter().zip([self.slots["at"], self.slots["step"], self.slots["total"]]) {
            let Some(located) = located else { continue };
            if let Some(literal) = literal(located) {
                self.bound(located, &literal, slot == self.slots["step"]);
            }
            let expr = self.template(cycle.places.enclosing.scope, located);
            writes.extend([Write::Put(self.slots["work"], expr), self.store(slot, "wholeNumber($work)")]);
        }
        writes.extend([self.store("last", "$total"), self.store("total", "rounds($at, $total, $step)")]);
    }

    /// Checks a bound in the document.
    fn bound(&mut self, located: &Located, literal: &Value, is_step: bool) {
        let text = literal.as_str().map(str::trim).map(|text| text.strip_prefix(['+', '-']).unwrap_or(text));
        let spelt = text.is_some_and(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
        if !spelt && !matches!(literal, Value::Int(_)) {
            self.error(
                Kind::TypeMismatch,
                located.span,
                "a bound of a loop is an integer",
                "write a whole number, or a placeholder for one",
            );
        } else if is_step
            && (*literal == Value::Int(0) || text.is_some_and(|text| text.bytes().all(|byte| byte == b'0')))
        {
            self.error(
                Kind::InvalidConfig,
                located.span,
                "the step of the loop is 0, so the loop would never end",
                "write another step, such as 1 or -1",
            );
        }
    }

    fn items(&mut self, items: &Located, cycle: &LoopParts<'_>, writes: &mut Vec<Write>) {
        if literal(items).is_some_and(|literal| literal.as_list().is_none()) {
            let message = format!("a loop over items needs a list, and this is {}", items.describe());
            self.error(Kind::TypeMismatch, items.span, message, "write {{ $name }} for the list in a variable");
        }
        let expr = self.template(cycle.places.enclosing.scope, items);
        let total = self.formula("len($at)");
        writes.extend([
            Write::Put(self.slots["work"], expr),
            self.store("at", "listed($work)"),
            Write::Put(self.slots["total"], total),
        ]);
    }

    fn most(&mut self, repeat: &Loop<'_>, cycle: &LoopParts<'_>, writes: &mut Vec<Write>) {
        let Some(most) = repeat.most else {
            let most = self.b.value(WHILE_ROUNDS);
            writes.push(Write::Put(self.slots["most"], most));
            return;
        };
        let expr = self.template(cycle.places.enclosing.scope, most);
        // A number in the document was checked with its fields.
        if literal(most).is_some() {
            writes.push(Write::Put(self.slots["most"], expr));
        } else {
            let checked = format!(r#"field($work, "integer", "maxIterations", 1, {MOST_ROUNDS})"#);
            writes.extend([Write::Put(self.slots["work"], expr), self.store("most", &checked)]);
        }
    }

    /// A loop without its own limit drops nothing: if it would be too long, it does not begin.
    fn too_many(&mut self, cycle: &LoopParts<'_>) -> PlaceId {
        let message = format!("this loop has more than {MOST_ROUNDS} rounds");
        let reported = self.assign(
            "error",
            &format!(r#"{{"kind": "{}", "message": "{message}"}}"#, Kind::TooManyRounds),
            cycle.fail.to,
        );
        let over = self.test(&format!("$total > {MOST_ROUNDS}"));
        self.b.decide([(over, reported)], cycle.head, None)
    }
}

impl Loop<'_> {
    /// Whether it ends with a warning at its limit. Other loops do not begin if they would be too long.
    fn is_capped(&self) -> bool {
        self.most.is_some() || matches!(self.rounds, Rounds::While(_))
    }
}
