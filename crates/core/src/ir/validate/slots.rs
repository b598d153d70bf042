//! Checks that slots are used only inside their scope, and that read-only slots are not written.

use std::collections::BTreeSet;

use super::super::nesting::Nesting;
use super::super::uses::{self, Use};
use super::super::{Entries, Home, Index, PlaceId, Program, ScopeId, SlotId};
use super::{Defect, DefectKind};

pub(super) fn check(program: &Program, nesting: &Nesting, homes: &[Option<ScopeId>]) -> Vec<Defect> {
    let mut check = Check { program, nesting, at: None, wrong: Vec::new() };
    check.homes();
    // Thousands of places may make one decision with thousands of branches, so each decision is checked once per scope.
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
        // The entering strand uses these slots, so they must be available in the enclosing frame.
        uses::of_scope(scope, |used| check.used(used, scope.parent.unwrap_or(Program::ROOT)));
    }
    for budget in &program.budgets {
        let outside = program.scope(budget.scope).parent.unwrap_or(Program::ROOT);
        if let Some(slot) = budget.exhausted.and_then(|exhausted| exhausted.error) {
            check.used(Use::Slot(slot), outside);
        }
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
    /// Checks that the tables of slots and scopes agree.
    fn homes(&mut self) {
        let mut locals = BTreeSet::new();
        for (id, slot) in (0..).map(SlotId).zip(&self.program.slots) {
            let at_home = match slot.home {
                Home::Frame(scope, position) => self.program.scope(scope).slots.get(position as usize) == Some(&id),
                Home::Local(position) => locals.insert(position),
                Home::Payload | Home::Now => true,
                Home::Clock { zone, .. } => self.program.zones.get(zone as usize).is_some(),
                Home::Meter(scope) => self.program.budget_of(scope).is_some(),
            };
            if !at_home {
                self.reject(DefectKind::SlotHome, format!("slot `{}` is not in the table of its scope", slot.name));
            }
        }
        for (id, scope) in (0..).map(ScopeId).zip(&self.program.scopes) {
            let mut claimed = scope.slots.clone();
            if let Entries::Each { item, index, .. } = &scope.start {
                claimed.extend([*item, *index]);
                if item == index {
                    self.reject(DefectKind::SlotHome, format!("scope s{} uses one slot for item and index", id.0));
                }
            }
            for slot in claimed {
                let slot = self.program.slot(slot);
                if !matches!(slot.home, Home::Frame(home, _) if home == id) {
                    let message = format!("scope s{} lists slot `{}` of another scope", id.0, slot.name);
                    self.reject(DefectKind::SlotHome, message);
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
                if matches!(
                    self.program.slot(slot).home,
                    Home::Payload | Home::Now | Home::Clock { .. } | Home::Meter(_)
                ) {
                    let name = &self.program.slot(slot).name;
                    self.reject(DefectKind::SlotReadOnly, format!("slot `{name}` is read-only"));
                }
                self.check_scope(slot, home);
            }
        }
    }

    fn read(&mut self, slot: SlotId, home: ScopeId, checks_payload: bool) {
        if self.program.slot(slot).home == Home::Payload && !checks_payload {
            let message = "only the check of a signal can read the payload; store it in a slot".to_owned();
            self.reject(DefectKind::SlotNotAlive, message);
        }
        self.check_scope(slot, home);
    }

    fn check_scope(&mut self, slot: SlotId, home: ScopeId) {
        let (Home::Frame(scope, _) | Home::Meter(scope)) = self.program.slot(slot).home else { return };
        if !self.nesting.encloses(scope, home) {
            let name = &self.program.slot(slot).name;
            let message =
                format!("slot `{name}` belongs to scope s{}, which does not enclose scope s{}", scope.0, home.0);
            self.reject(DefectKind::SlotNotAlive, message);
        }
    }

    fn view(&mut self, expr: usize, name: &str) {
        for slot in self.program.exprs[expr].slots().into_iter().map(SlotId) {
            if !matches!(self.program.slot(slot).home, Home::Frame(Program::ROOT, _) | Home::Now) {
                let slot = &self.program.slot(slot).name;
                let message = format!("view `{name}` reads slot `{slot}`, but a view can read only slots of the root");
                self.reject(DefectKind::SlotNotAlive, message);
            }
        }
    }

    fn reject(&mut self, kind: DefectKind, message: String) {
        self.wrong.push(Defect::new(kind, self.at, message));
    }
}
