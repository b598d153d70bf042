//! A slot is used only where it is alive, and written only where that is possible.

use std::collections::BTreeSet;

use super::super::nesting::Nesting;
use super::super::uses::{self, Use};
use super::super::{Entries, Home, Index, PlaceId, Program, ScopeId, SlotId};
use super::{Defect, DefectKind};

pub(super) fn check(program: &Program, nesting: &Nesting, homes: &[Option<ScopeId>]) -> Vec<Defect> {
    let mut check = Check { program, nesting, at: None, wrong: Vec::new() };
    check.homes();
    // Thousands of places may take one decision with thousands of branches.
    let mut decisions = BTreeSet::new();
    for (id, place) in (0..).map(PlaceId).zip(&program.places) {
        if let Some(home) = homes[id.index()] {
            check.at = Some(id);
            uses::of_place(place, |used| check.used(used, home));
            let decision = place.decides.as_ref().map(|decides| decides.decision.index());
            if let Some(decision) = decision.filter(|decision| decisions.insert((*decision, home)))
                && let Some(decision) = program.decisions.get(decision)
            {
                uses::of_decision(decision, |used| check.used(used, home));
            }
        }
    }
    check.at = None;
    for scope in &program.scopes {
        // The strand that enters looks after the scope, so it is the frame around it that must know the slots.
        uses::of_scope(scope, |used| check.used(used, scope.parent.unwrap_or(Program::ROOT)));
    }
    for view in &program.views {
        check.view(view.value.index(), &view.name);
    }
    check.wrong
}

struct Check<'p> {
    program: &'p Program,
    nesting: &'p Nesting,
    at: Option<PlaceId>,
    wrong: Vec<Defect>,
}

impl Check<'_> {
    /// Slots know their scope and scopes know their slots; both must say the same.
    fn homes(&mut self) {
        let mut locals = BTreeSet::new();
        for (id, slot) in (0..).map(SlotId).zip(&self.program.slots) {
            let at_home = match slot.home {
                Home::Frame(scope, position) => self.program.scope(scope).slots.get(position as usize) == Some(&id),
                Home::Local(position) => locals.insert(position),
                Home::Payload | Home::Now => true,
                Home::Clock { zone, .. } => self.program.zones.get(zone as usize).is_some(),
            };
            if !at_home {
                self.refuse(DefectKind::SlotHome, format!("slot `{}` is not where it says it lives", slot.name));
            }
        }
        for (id, scope) in (0..).map(ScopeId).zip(&self.program.scopes) {
            let mut claimed = scope.slots.clone();
            if let Entries::Each { item, index, .. } = &scope.start {
                claimed.extend([*item, *index]);
                if item == index {
                    self.refuse(DefectKind::SlotHome, format!("scope s{} keeps item and index in one slot", id.0));
                }
            }
            for slot in claimed {
                let slot = self.program.slot(slot);
                if !matches!(slot.home, Home::Frame(home, _) if home == id) {
                    let message = format!("scope s{} claims slot `{}`, which lives elsewhere", id.0, slot.name);
                    self.refuse(DefectKind::SlotHome, message);
                }
            }
        }
    }

    fn used(&mut self, used: Use, home: ScopeId) {
        let program = self.program;
        match used {
            Use::Value(expr) => program.exprs[expr.index()].each_slot(|slot| self.read(SlotId(slot), home, false)),
            Use::Guard(test) => program.conditions[test.index()].each_slot(|slot| self.read(SlotId(slot), home, false)),
            Use::Check(test) => program.conditions[test.index()].each_slot(|slot| self.read(SlotId(slot), home, true)),
            Use::Slot(slot) => {
                if matches!(self.program.slot(slot).home, Home::Payload | Home::Now | Home::Clock { .. }) {
                    let name = &self.program.slot(slot).name;
                    self.refuse(DefectKind::SlotReadOnly, format!("nobody can write `{name}`"));
                }
                self.alive(slot, home);
            }
        }
    }

    fn read(&mut self, slot: SlotId, home: ScopeId, checks_payload: bool) {
        if self.program.slot(slot).home == Home::Payload && !checks_payload {
            let message = "the payload is known only to the check of a signal; keep it in a slot".to_owned();
            self.refuse(DefectKind::SlotNotAlive, message);
        }
        self.alive(slot, home);
    }

    fn alive(&mut self, slot: SlotId, home: ScopeId) {
        let Home::Frame(scope, _) = self.program.slot(slot).home else { return };
        if !self.nesting.encloses(scope, home) {
            let name = &self.program.slot(slot).name;
            let message = format!("slot `{name}` lives in scope s{}, which is not around scope s{}", scope.0, home.0);
            self.refuse(DefectKind::SlotNotAlive, message);
        }
    }

    fn view(&mut self, expr: usize, name: &str) {
        for slot in self.program.exprs[expr].slots().into_iter().map(SlotId) {
            if !matches!(self.program.slot(slot).home, Home::Frame(Program::ROOT, _) | Home::Now) {
                let slot = &self.program.slot(slot).name;
                let message = format!("view `{name}` reads slot `{slot}`, and a view sees only those of the root");
                self.refuse(DefectKind::SlotNotAlive, message);
            }
        }
    }

    fn refuse(&mut self, kind: DefectKind, message: String) {
        self.wrong.push(Defect::new(kind, self.at, message));
    }
}
