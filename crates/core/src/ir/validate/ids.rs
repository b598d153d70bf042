//! Checks that every id exists. All other checks rely on this one.

use super::super::uses::{self, Use};
use super::super::{Arm, Entries, Exit, Home, Index, Mark, Op, Place, PlaceId, Program, SlotId, StepId, flow};
use super::{Defect, DefectKind};

pub(crate) fn check_ids(program: &Program) -> Vec<Defect> {
    let mut check = Check { program, at: None, wrong: Vec::new() };
    for (id, place) in (0..).map(PlaceId).zip(&program.places) {
        check.at = Some(id);
        check.place(place);
    }
    check.at = None;
    check.tables();
    check.wrong
}

struct Check<'p> {
    program: &'p Program,
    at: Option<PlaceId>,
    wrong: Vec<Defect>,
}

impl Check<'_> {
    fn place(&mut self, place: &Place) {
        flow::targets(&place.op, |to| self.place_id(to));
        uses::of_place(place, |used| self.used(used));
        match &place.op {
            Op::Do { effect, .. } => self.id("effect", *effect, self.program.effects.len()),
            Op::Enter(scope) => self.id("scope", *scope, self.program.scopes.len()),
            Op::Leave { scope, how } => {
                self.id("scope", *scope, self.program.scopes.len());
                if let Exit::Goto(to) = how {
                    self.place_id(*to);
                }
            }
            Op::Meet { edges, .. } => edges.iter().for_each(|(_, from)| self.place_id(*from)),
            Op::Wait { arms, .. } => {
                for arm in arms {
                    if let Arm::Signal { signal, .. } = arm {
                        self.id("signal", *signal, self.program.signals.len());
                    }
                }
            }
            Op::Decide { .. } | Op::Set { .. } | Op::Fork { .. } => {}
        }
        if let Some(decides) = &place.decides {
            self.id("decision", decides.decision, self.program.decisions.len());
            let branches = self.program.decisions.get(decides.decision.index()).map_or(0, |known| known.branches.len());
            for branch in decides.exits.iter().flatten().filter(|branch| **branch as usize >= branches) {
                let message = format!("an exit names branch {branch} of a decision with {branches} branches");
                self.wrong.push(Defect::new(DefectKind::NoSuchId, self.at, message));
            }
        }
        for mark in &place.marks {
            let (Mark::Begin(step, _)
            | Mark::End(step, _)
            | Mark::Branch(step, _)
            | Mark::Warn(step, _)
            | Mark::Skip(step, _)
            | Mark::Fail(step, _)
            | Mark::ContentType(step, _)) = mark;
            self.step(Some(*step));
        }
    }

    /// Checks ids outside of places.
    fn tables(&mut self) {
        let program = self.program;
        if program.scopes.is_empty() {
            self.wrong.push(Defect::new(DefectKind::NoEntries, None, "there is no root scope"));
        }
        for (index, scope) in program.scopes.iter().enumerate() {
            if index != Program::ROOT.index() {
                self.place_id(scope.next);
            }
            scope.fail.iter().for_each(|fail| self.place_id(fail.to));
            flow::entries(scope).iter().copied().for_each(|place| self.place_id(place));
            scope.parent.iter().for_each(|parent| self.id("scope", *parent, program.scopes.len()));
            scope.slots.iter().for_each(|slot| self.used(Use::Slot(*slot)));
            uses::of_scope(scope, |used| self.used(used));
            if let Some(rounds) = scope.rounds {
                self.step(Some(rounds.step));
                [rounds.round, rounds.items].into_iter().flatten().for_each(|slot| self.used(Use::Slot(slot)));
            }
            if let Entries::Each { item, index, .. } = &scope.start {
                self.used(Use::Slot(*item));
                self.used(Use::Slot(*index));
            }
        }
        program.exprs.iter().for_each(|expr| expr.each_slot(|slot| self.used(Use::Slot(SlotId(slot)))));
        program.conditions.iter().for_each(|condition| condition.each_slot(|slot| self.used(Use::Slot(SlotId(slot)))));
        for slot in &program.slots {
            if let Home::Frame(scope, _) | Home::Meter(scope) = slot.home {
                self.id("scope", scope, program.scopes.len());
            }
        }
        for budget in &program.budgets {
            self.id("scope", budget.scope, program.scopes.len());
            self.step(budget.step);
            self.step(budget.leads_to);
            if let Some(exhausted) = budget.exhausted {
                self.place_id(exhausted.to);
                exhausted.error.iter().for_each(|slot| self.used(Use::Slot(*slot)));
            }
        }
        program.effects.iter().for_each(|effect| self.step(effect.step));
        program.steps.iter().for_each(|step| self.step(step.parent));
        for decision in &program.decisions {
            self.step(Some(decision.step));
            uses::of_decision(decision, |used| self.used(used));
        }
        program.views.iter().for_each(|view| self.used(Use::Value(view.value)));
        program.on_cancel.iter().for_each(|place| self.place_id(*place));
    }

    fn used(&mut self, used: Use) {
        match used {
            Use::Value(expr) => self.id("expression", expr, self.program.exprs.len()),
            Use::Guard(condition) | Use::Check(condition) => {
                self.id("condition", condition, self.program.conditions.len());
            }
            Use::Slot(slot) => self.id("slot", slot, self.program.slots.len()),
        }
    }

    fn place_id(&mut self, place: PlaceId) {
        self.id("place", place, self.program.places.len());
    }

    fn step(&mut self, step: Option<StepId>) {
        if let Some(step) = step {
            self.id("step", step, self.program.steps.len());
        }
    }

    fn id(&mut self, noun: &str, id: impl Index, count: usize) {
        let id = id.index();
        if id >= count {
            let message = format!("{noun} {id} does not exist; the program has {count}");
            self.wrong.push(Defect::new(DefectKind::NoSuchId, self.at, message));
        }
    }
}
