//! Lowers a document to a program.
//!
//! A strand carries the current value in its locals: `value` with its content type. Chains are consecutive places;
//! a fan-out is a scope. The results that other steps read are in slots of the enclosing iteration, or of the
//! root. Lists are lowered from their end, so that the next place of each step is known.

mod arms;
mod budget;
mod chain;
mod effect;
mod exprs;
mod for_each;
mod gate;
mod handler;
mod merge;
mod parallel;
mod people;
mod plan;
mod policies;
mod pure;
mod retry;
mod root;
mod selectors;
mod skip;
mod slots;
mod while_loop;

pub(super) use selectors::is_zone;

use std::collections::BTreeMap;

use branchpoint_core::ir::builder::{Builder, ROOT};
use branchpoint_core::ir::{Defect, Failure, PlaceId, Program, ScopeId, SlotId, StepId};
use branchpoint_expr::Dialect;

use super::tree::{Document, List, Role, StepIndex};
use crate::load::LoadOptions;
use crate::lowering;
use plan::Plan;
use slots::StepSlots;

/// The program of a document without errors.
pub(super) fn lower(document: &Document<'_>, options: &LoadOptions) -> Result<Program, Vec<Defect>> {
    let mut builder = Builder::new();
    let slots = slots::locals(&mut builder);
    let begins = document.steps.iter().map(|_| builder.reserve()).collect();
    let ids = enlist(&mut builder, document);
    let steps = Steps {
        document,
        options,
        plan: Plan::new(document),
        begins,
        ids,
        scopes: vec![ROOT; document.steps.len()],
        parents: BTreeMap::new(),
        step_slots: BTreeMap::new(),
        edges: BTreeMap::new(),
        items: BTreeMap::new(),
        rounds: BTreeMap::new(),
        bodies: BTreeMap::new(),
        counters: BTreeMap::new(),
        again: BTreeMap::new(),
        named: BTreeMap::new(),
        named_selectors: Vec::new(),
        failures: BTreeMap::new(),
        judges: BTreeMap::new(),
        levels: 0,
    };
    let mut lower = Lower { b: builder, slots, grammar: Dialect::Machine, error_slot: "failed", own: steps };
    lower.root();
    lower.b.finish()
}

fn enlist(builder: &mut Builder, document: &Document<'_>) -> Vec<StepId> {
    let mut ids: Vec<StepId> = Vec::with_capacity(document.steps.len());
    for (index, step) in document.steps.iter().enumerate() {
        let parent = document.parent(index).map(|parent| ids[parent]);
        let span = step.span();
        ids.push(builder.step(&step.id, step.kind.name, parent, (span.start, span.end)));
    }
    ids
}

type Lower<'a, 'd> = lowering::Lower<Steps<'a, 'd>>;

struct Steps<'a, 'd> {
    document: &'a Document<'d>,
    options: &'a LoadOptions,
    plan: Plan<'d>,
    /// The place at which each step begins.
    begins: Vec<PlaceId>,
    ids: Vec<StepId>,
    /// The scope that each step runs in, as soon as its list is lowered.
    scopes: Vec<ScopeId>,
    /// The enclosing scope of each scope.
    parents: BTreeMap<ScopeId, ScopeId>,
    /// The result slots of steps.
    step_slots: BTreeMap<StepIndex, StepSlots>,
    /// The edge that a join fills, and the own edge of a merge.
    edges: BTreeMap<StepIndex, SlotId>,
    /// By loop: the slot of its item, of its position or round, and the scope of its body.
    items: BTreeMap<StepIndex, SlotId>,
    rounds: BTreeMap<StepIndex, SlotId>,
    bodies: BTreeMap<StepIndex, ScopeId>,
    /// The counters of retries.
    counters: BTreeMap<StepIndex, SlotId>,
    /// The input of steps that retries go back to.
    again: BTreeMap<StepIndex, SlotId>,
    /// The slots of facts and of the shown result, by name.
    named: BTreeMap<&'static str, SlotId>,
    /// The attachment selectors in texts of the document.
    named_selectors: Vec<selectors::Selector>,
    /// By step: where its errors lead, if policies fail it, too. A handler is lowered once.
    failures: BTreeMap<StepIndex, Failure>,
    /// By step, whether it is its input, and policy: the steps that people see for calls of a judge.
    judges: BTreeMap<(StepIndex, bool, &'d str), StepId>,
    /// The counter of levels, which identify where skipping began.
    levels: i64,
}

/// The scope in which a step runs, and the scope of its result slots.
#[derive(Clone, Copy, Debug)]
struct Location {
    scope: ScopeId,
    /// The enclosing iteration or the root, whose slots have the results of steps.
    home: ScopeId,
}

/// The places after a step.
#[derive(Clone, Copy, Debug)]
struct Exits {
    /// After it.
    next: PlaceId,
    /// If its line ends here, the rest of its list is skipped.
    blocked: PlaceId,
    /// The level of its list, for strands that skip.
    level: i64,
}

impl Lower<'_, '_> {
    /// Lowers one step and returns the place for strands that skip it: only a merge in it can make them run again.
    fn step(&mut self, index: StepIndex, at: Location, to: Exits) -> PlaceId {
        let step = &self.own.document.steps[index];
        if let Some(limits) = super::budget::of_step(step) {
            return self.budgeted(index, limits, at, to);
        }
        let is_effect = step.kind.is_effect() && !step.is("wait") || self.is_scripted(index);
        let work = match step.kind.name {
            "merge" => return self.merge(index, at, to),
            _ if is_effect => Self::call_runner,
            "if_else" | "conditional" | "switch" => return self.branching(index, at, to),
            "parallel" => return self.parallel(index, at, to),
            "gate" => return self.gate(index, at, to),
            "join" => return self.join(index, to),
            "retry" => return self.retry(index, at, to),
            "wait" => Self::pause,
            "regex_replace" => Self::regex_replace,
            "for_each" => Self::for_each,
            "while" => Self::while_loop,
            "human_in_the_loop" => Self::people,
            _ => Self::rendered,
        };
        // The latest shown value is the run's output.
        let is_shown = step.kind.shows();
        let (children, skipped) = if is_shown { (to.next, to.blocked) } else { self.children(index, at, to) };
        let finish = self.finish(index, children);
        let finish = if is_shown { self.shown(index, finish) } else { finish };
        let finish = self.govern(index, at, finish);
        let begin = work(self, index, at, finish);
        self.begin_governed(index, at, begin);
        skipped
    }

    /// Whether the step has scripted answers. Control steps always run.
    fn is_scripted(&self, index: StepIndex) -> bool {
        let step = &self.own.document.steps[index];
        let makes_its_value = step.kind.family == super::types::Family::Pure || step.is("wait");
        makes_its_value && self.own.options.scripted.contains(&*step.id)
    }

    fn list(&self, index: StepIndex, role: Role) -> Option<&List> {
        self.own.document.steps[index].list(role)
    }

    fn steps_of(&self, index: StepIndex, role: Role) -> Vec<StepIndex> {
        self.list(index, role).map(|list| list.steps.clone()).unwrap_or_default()
    }

    fn level(&mut self) -> i64 {
        self.own.levels += 1;
        self.own.levels
    }
}
