//! From a document to a program.
//!
//! A strand carries the value at hand in its locals: `value` with its content type. Chains are places one after the other;
//! a fan-out is a scope. What a step leaves behind for others to read lies in slots of the iteration around it, or of the
//! root. Lists are lowered from their end, so that each step knows where it leads.

mod arms;
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
use branchpoint_core::ir::{Failure, Invalid, PlaceId, Program, ScopeId, SlotId, StepId};
use branchpoint_expr::Dialect;

use super::tree::{Document, List, No, Role};
use crate::load::LoadOptions;
use crate::lowering;
use plan::Plan;
use slots::Kept;

/// The program of a document that the rules have passed.
pub(super) fn lower(document: &Document<'_>, options: &LoadOptions) -> Result<Program, Vec<Invalid>> {
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
        kept: BTreeMap::new(),
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
    for (no, step) in document.steps.iter().enumerate() {
        let parent = document.parent(no).map(|parent| ids[parent]);
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
    /// Where each step begins.
    begins: Vec<PlaceId>,
    ids: Vec<StepId>,
    /// The scope that each step runs in, as soon as its list is lowered.
    scopes: Vec<ScopeId>,
    /// By scope: the one around it.
    parents: BTreeMap<ScopeId, ScopeId>,
    /// What steps leave behind.
    kept: BTreeMap<No, Kept>,
    /// The edge that a join fills, and the own edge of a merge.
    edges: BTreeMap<No, SlotId>,
    /// By loop: the slot of its item, of its position or round, and the scope of its body.
    items: BTreeMap<No, SlotId>,
    rounds: BTreeMap<No, SlotId>,
    bodies: BTreeMap<No, ScopeId>,
    /// The counters of retries.
    counters: BTreeMap<No, SlotId>,
    /// What a step that a retry goes back to began with.
    again: BTreeMap<No, SlotId>,
    /// The slots of facts and of what is shown, by name.
    named: BTreeMap<&'static str, SlotId>,
    /// The attachment selectors that texts of the document hold.
    named_selectors: Vec<selectors::Selector>,
    /// By step: where its errors lead, if policies fail it, too. A handler is lowered once.
    failures: BTreeMap<No, Failure>,
    /// By step, whether it is its input, and policy: the steps that people see for calls of a judge.
    judges: BTreeMap<(No, bool, &'d str), StepId>,
    /// Numbers that tell where skipping began.
    levels: i64,
}

/// Where something runs: in which scope, and in the slots of which.
#[derive(Clone, Copy, Debug)]
struct Where {
    scope: ScopeId,
    /// The iteration around it, or the root: where steps leave what others read.
    home: ScopeId,
}

/// Where a step leads.
#[derive(Clone, Copy, Debug)]
struct To {
    /// After it.
    next: PlaceId,
    /// When its line ends here: the rest of the list it stands in is skipped.
    blocked: PlaceId,
    /// The number of the list it stands in, for strands that skip.
    level: i64,
}

impl Lower<'_, '_> {
    /// Lowers one step and tells where strands come in that skip it: only a merge in it can make them run again.
    fn step(&mut self, no: No, at: Where, to: To) -> PlaceId {
        let step = &self.own.document.steps[no];
        let is_effect = step.kind.is_effect() && !step.is("wait") || self.is_scripted(no);
        let work = match step.kind.name {
            "merge" => return self.merge(no, at, to),
            _ if is_effect => Self::ask,
            "if_else" | "conditional" | "switch" => return self.branching(no, at, to),
            "parallel" => return self.parallel(no, at, to),
            "gate" => return self.gate(no, at, to),
            "join" => return self.join(no, to),
            "retry" => return self.retry(no, at, to),
            "wait" => Self::pause,
            "regex_replace" => Self::regex_replace,
            "for_each" => Self::for_each,
            "while" => Self::while_loop,
            "human_in_the_loop" => Self::people,
            _ => Self::rendered,
        };
        // What is shown is the run's output, unless something else is shown later.
        let is_shown = step.kind.shows();
        let (children, skipped) = if is_shown { (to.next, to.blocked) } else { self.children(no, at, to) };
        let finish = self.finish(no, children);
        let finish = if is_shown { self.shown(no, finish) } else { finish };
        let finish = self.govern(no, at, finish);
        let begin = work(self, no, at, finish);
        self.begin_governed(no, at, begin);
        skipped
    }

    /// Whether someone wrote the step's answers down. Control steps always run.
    fn is_scripted(&self, no: No) -> bool {
        let step = &self.own.document.steps[no];
        let makes_its_value = step.kind.family == super::types::Family::Pure || step.is("wait");
        makes_its_value && self.own.options.scripted.contains(&*step.id)
    }

    fn list(&self, no: No, role: Role) -> Option<&List> {
        self.own.document.steps[no].list(role)
    }

    fn steps_of(&self, no: No, role: Role) -> Vec<No> {
        self.list(no, role).map(|list| list.steps.clone()).unwrap_or_default()
    }

    fn level(&mut self) -> i64 {
        self.own.levels += 1;
        self.own.levels
    }
}
