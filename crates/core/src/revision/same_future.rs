//! Whether the same follows after a place of one program and a place of another: both programs are walked together, and every pair of
//! places must do the same.
//!
//! Numbers of places, scopes and slots differ between programs, so they are paired when they are first met, and each stays paired with
//! one other. Marks and decisions are of no account: they only describe.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::ir::{
    Arm, ConditionId, EffectId, Entries, Exit, ExprId, Failure, Home, Index, Op, PlaceId, Program, ScopeId, SlotId,
    Write,
};

/// A place of a program, and the scopes around it, innermost first.
type At<'p> = (&'p Program, PlaceId, &'p [ScopeId]);

/// Whether runs do the same after these places, whatever happens.
pub(super) fn has_same_future(old: At<'_>, new: At<'_>) -> bool {
    let mut walk = Walk {
        old: old.0,
        new: new.0,
        places: vec![(old.1, new.1)],
        seen: BTreeSet::new(),
        scopes: BTreeMap::new(),
        slots: BTreeMap::new(),
    };
    let is_same_around = old.2.len() == new.2.len() && old.2.iter().zip(new.2).all(|(old, new)| walk.scope(*old, *new));
    is_same_around && old.0.limits == new.0.limits && walk.on_cancel() && walk.all()
}

struct Walk<'p> {
    old: &'p Program,
    new: &'p Program,
    /// Pairs of places to compare.
    places: Vec<(PlaceId, PlaceId)>,
    seen: BTreeSet<(PlaceId, PlaceId)>,
    scopes: BTreeMap<ScopeId, ScopeId>,
    slots: BTreeMap<SlotId, SlotId>,
}

impl Walk<'_> {
    fn all(&mut self) -> bool {
        while let Some((old, new)) = self.places.pop() {
            if self.seen.insert((old, new)) && !self.op(&self.old.place(old).op, &self.new.place(new).op) {
                return false;
            }
        }
        true
    }

    fn on_cancel(&mut self) -> bool {
        match (self.old.on_cancel, self.new.on_cancel) {
            (Some(old), Some(new)) => self.to(old, new),
            (old, new) => old.is_none() && new.is_none(),
        }
    }

    fn op(&mut self, old: &Op, new: &Op) -> bool {
        match (old, new) {
            (
                Op::Do { effect, input, into, next, fail },
                Op::Do { effect: effect_2, input: input_2, into: into_2, next: next_2, fail: fail_2 },
            ) => {
                self.effect(*effect, *effect_2)
                    && self.expr(*input, *input_2)
                    && self.optional(*into, *into_2, Self::slot)
                    && self.to(*next, *next_2)
                    && self.optional(*fail, *fail_2, Self::failure)
            }
            (
                Op::Decide { arms, otherwise, fail },
                Op::Decide { arms: arms_2, otherwise: otherwise_2, fail: fail_2 },
            ) => {
                self.each(arms, arms_2, |walk, (guard, to), (guard_2, to_2)| {
                    walk.condition(*guard, *guard_2) && walk.to(*to, *to_2)
                }) && self.to(*otherwise, *otherwise_2)
                    && self.optional(*fail, *fail_2, Self::failure)
            }
            (Op::Set { writes, next, fail }, Op::Set { writes: writes_2, next: next_2, fail: fail_2 }) => {
                self.each(writes, writes_2, |walk, old, new| walk.write(*old, *new))
                    && self.to(*next, *next_2)
                    && self.optional(*fail, *fail_2, Self::failure)
            }
            (Op::Wait { arms, fail, rest }, Op::Wait { arms: arms_2, fail: fail_2, rest: rest_2 }) => {
                rest == rest_2 && self.each(arms, arms_2, Self::arm) && self.optional(*fail, *fail_2, Self::failure)
            }
            (Op::Enter(old), Op::Enter(new)) => self.scope(*old, *new),
            (Op::Fork { to }, Op::Fork { to: to_2 }) => self.each(to, to_2, |walk, old, new| walk.to(*old, *new)),
            (Op::Leave { scope, how }, Op::Leave { scope: scope_2, how: how_2 }) => {
                self.scope(*scope, *scope_2) && self.exit(how, how_2)
            }
            (Op::Meet { edges, next, none }, Op::Meet { edges: edges_2, next: next_2, none: none_2 }) => {
                self.each(edges, edges_2, |walk, (slot, _), (slot_2, _)| walk.slot(*slot, *slot_2))
                    && self.to(*next, *next_2)
                    && self.to(*none, *none_2)
            }
            _ => false,
        }
    }

    fn exit(&mut self, old: &Exit, new: &Exit) -> bool {
        match (old, new) {
            (Exit::Done(old), Exit::Done(new)) => self.optional(*old, *new, Self::expr),
            (Exit::Fail(old), Exit::Fail(new)) => self.expr(*old, *new),
            (Exit::Goto(old), Exit::Goto(new)) => self.to(*old, *new),
            (Exit::Close(old), Exit::Close(new)) => old.status == new.status && self.expr(old.result, new.result),
            _ => false,
        }
    }

    fn arm(&mut self, old: &Arm, new: &Arm) -> bool {
        match (old, new) {
            (
                Arm::Signal { signal, check, into, next },
                Arm::Signal { signal: signal_2, check: check_2, into: into_2, next: next_2 },
            ) => {
                let (old, new) = (&self.old.signals[signal.index()], &self.new.signals[signal_2.index()]);
                old.name == new.name
                    && old.on_early == new.on_early
                    && self.optional(*check, *check_2, Self::condition)
                    && self.optional(*into, *into_2, Self::slot)
                    && self.to(*next, *next_2)
            }
            (
                Arm::Request { spec, into, next, expired },
                Arm::Request { spec: spec_2, into: into_2, next: next_2, expired: expired_2 },
            ) => {
                self.expr(*spec, *spec_2)
                    && self.optional(*into, *into_2, Self::slot)
                    && self.to(*next, *next_2)
                    && self.optional(*expired, *expired_2, Self::to)
            }
            (Arm::After { delay_ms: old, next }, Arm::After { delay_ms: new, next: next_2 })
            | (Arm::Until { at_ms: old, next }, Arm::Until { at_ms: new, next: next_2 }) => {
                self.expr(*old, *new) && self.to(*next, *next_2)
            }
            _ => false,
        }
    }

    fn write(&mut self, old: Write, new: Write) -> bool {
        match (old, new) {
            (Write::Put(old, value), Write::Put(new, value_2))
            | (Write::Push(old, value), Write::Push(new, value_2)) => self.slot(old, new) && self.expr(value, value_2),
            (Write::Clear(old), Write::Clear(new)) => self.slot(old, new),
            _ => false,
        }
    }

    /// Compares scopes and everything that happens in them and after them.
    fn scope(&mut self, old: ScopeId, new: ScopeId) -> bool {
        if let Some(paired) = self.scopes.get(&old) {
            return *paired == new;
        }
        self.scopes.insert(old, new);
        let is_root = [old, new].map(|scope| scope == Program::ROOT);
        let budgets = (self.old.budget_of(old), self.new.budget_of(new));
        let is_same_budget = self.optional(budgets.0, budgets.1, |walk, old, new| {
            old.limits == new.limits && walk.optional(old.exhausted, new.exhausted, Self::failure)
        });
        let (old, new) = (self.old.scope(old), self.new.scope(new));
        let settings =
            |scope: &crate::ir::Scope| (scope.width, scope.want, scope.on_fail, scope.retry, scope.time_limit_ms);
        is_same_budget
            && is_root[0] == is_root[1]
            && settings(old) == settings(new)
            // The root has begun, and its slots are paired as they are used.
            && (is_root[0] || (self.entries(&old.start, &new.start) && self.to(old.next, new.next)))
            && self.optional(old.into, new.into, Self::slot)
            && self.optional(old.outcomes, new.outcomes, Self::slot)
            && self.optional(old.fail, new.fail, Self::failure)
    }

    fn entries(&mut self, old: &Entries, new: &Entries) -> bool {
        match (old, new) {
            (Entries::Branches(old), Entries::Branches(new)) => {
                self.each(old, new, |walk, old, new| walk.to(*old, *new))
            }
            (
                Entries::Each { items, item, index, place },
                Entries::Each { items: items_2, item: item_2, index: index_2, place: place_2 },
            ) => {
                self.expr(*items, *items_2)
                    && self.slot(*item, *item_2)
                    && self.slot(*index, *index_2)
                    && self.to(*place, *place_2)
            }
            _ => false,
        }
    }

    fn effect(&self, old: EffectId, new: EffectId) -> bool {
        let (old, new) = (&self.old.effects[old.index()], &self.new.effects[new.index()]);
        let step = |program: &Program, effect: &crate::ir::Effect| {
            effect.step.map(|step| program.steps[step.index()].id.clone())
        };
        let without_step = |effect: &crate::ir::Effect| crate::ir::Effect { step: None, ..effect.clone() };
        step(self.old, old) == step(self.new, new) && without_step(old) == without_step(new)
    }

    fn expr(&mut self, old: ExprId, new: ExprId) -> bool {
        let (old, new) = (&self.old.exprs[old.index()], &self.new.exprs[new.index()]);
        self.code(
            |numbered| old.clone().without_source().with_slots(numbered),
            |numbered| new.clone().without_source().with_slots(numbered),
        )
    }

    fn condition(&mut self, old: ConditionId, new: ConditionId) -> bool {
        let (old, new) = (&self.old.conditions[old.index()], &self.new.conditions[new.index()]);
        self.code(
            |numbered| old.clone().without_source().with_slots(numbered),
            |numbered| new.clone().without_source().with_slots(numbered),
        )
    }

    /// Compares code whose slots are numbered in the order in which they occur, and pairs these slots.
    fn code<T: Serialize>(
        &mut self,
        old: impl FnOnce(&mut dyn FnMut(u32) -> u32) -> T,
        new: impl FnOnce(&mut dyn FnMut(u32) -> u32) -> T,
    ) -> bool {
        let (mut old_slots, mut new_slots) = (Vec::new(), Vec::new());
        let old = bytes(&old(&mut |slot| number(&mut old_slots, slot)));
        let new = bytes(&new(&mut |slot| number(&mut new_slots, slot)));
        let pairs = old_slots.iter().zip(&new_slots);
        old.is_some()
            && old == new
            && old_slots.len() == new_slots.len()
            && pairs.into_iter().all(|(old, new)| self.slot(SlotId(*old), SlotId(*new)))
    }

    fn slot(&mut self, old: SlotId, new: SlotId) -> bool {
        if let Some(paired) = self.slots.get(&old) {
            return *paired == new;
        }
        self.slots.insert(old, new);
        let (old, new) = (self.old.slot(old), self.new.slot(new));
        if let (Home::Meter(old), Home::Meter(new)) = (old.home, new.home)
            && !self.scope(old, new)
        {
            return false;
        }
        let home = |home: Home| match home {
            Home::Frame(..) => 0,
            Home::Local(_) => 1,
            Home::Payload => 2,
            Home::Now => 3,
            Home::Clock { date, .. } => 4 + u8::from(date),
            Home::Meter(_) => 6,
        };
        let zone = |program: &Program, of: Home| match of {
            Home::Clock { zone, .. } => program.zones.get(zone as usize).cloned(),
            _ => None,
        };
        let is_same_zone = zone(self.old, old.home) == zone(self.new, new.home);
        old.name == new.name && old.first == new.first && home(old.home) == home(new.home) && is_same_zone
    }

    fn failure(&mut self, old: Failure, new: Failure) -> bool {
        self.to(old.to, new.to) && self.optional(old.error, new.error, Self::slot)
    }

    /// Compares these places later.
    fn to(&mut self, old: PlaceId, new: PlaceId) -> bool {
        self.places.push((old, new));
        true
    }

    fn optional<T>(&mut self, old: Option<T>, new: Option<T>, same: impl FnOnce(&mut Self, T, T) -> bool) -> bool {
        match (old, new) {
            (Some(old), Some(new)) => same(self, old, new),
            (old, new) => old.is_none() && new.is_none(),
        }
    }

    fn each<T>(&mut self, old: &[T], new: &[T], mut same: impl FnMut(&mut Self, &T, &T) -> bool) -> bool {
        old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(self, old, new))
    }
}

/// The number of a slot in a list, to which it is added when it is new.
fn number(slots: &mut Vec<u32>, slot: u32) -> u32 {
    let at = slots.iter().position(|known| *known == slot).unwrap_or_else(|| {
        slots.push(slot);
        slots.len() - 1
    });
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn bytes(code: &impl Serialize) -> Option<Vec<u8>> {
    postcard::to_allocvec(code).ok()
}
