//! Concurrent branches: waits for all, or for the first that delivers.

use branchpoint_core::ir::builder::ScopeSpec;
use branchpoint_core::ir::{DecisionKind, Exit, ExprId, Failure, OnFail, PlaceId, ScopeId, SlotId, Want, Write};
use branchpoint_expr::{Located, Value};

use super::{Exits, Location, Lower};
use crate::steps::guard;
use crate::steps::tree::{Role, StepIndex};

/// How many branches run at once, unless the step says otherwise.
const WIDTH: i64 = 8;

/// The rule by which a step that waits for one branch completes.
const FIRST: &str = "a branch delivered, or all ended without a value";

impl Lower<'_, '_> {
    pub(super) fn parallel(&mut self, index: StepIndex, at: Location, to: Exits) -> PlaceId {
        let (children, children_skipped) = self.children(index, at, to);
        let handled = self.finish(index, children);
        let failure = self.failure(index, at, Some(handled));
        let (begin, skipped) = self.branches(index, at, (children, children_skipped), failure);
        self.begin(index, at, begin);
        skipped
    }

    /// Lowers the own work of a parallel step. `children` are the places after it, for strands that run and for those that skip. Returns
    /// the places for strands that run it, and for those that skip it.
    pub(super) fn branches(
        &mut self,
        index: StepIndex,
        at: Location,
        (children, children_skipped): (PlaceId, PlaceId),
        failure: Failure,
    ) -> (PlaceId, PlaceId) {
        let step = &self.own.document.steps[index];
        let any = step.text("wait").is_some_and(|wait| &**wait == "any");
        let names = branch_names(step.get("branches"));
        let branches: Vec<Vec<StepIndex>> = (0..names.len()).map(|at| self.steps_of(index, Role::Branch(at))).collect();
        let revives = branches.iter().flatten().any(|step| self.own.plan.revives[*step]);
        let gaps = self.own.plan.has_revivals().then(|| self.b.slot(at.scope, &format!("{}.gaps", step.id), None));
        let finish = self.branches_finish(index, gaps, names.len(), children);
        let output = self.gathered(&names, any);
        let writes = self.hold(output);
        let mut after = self.b.set(writes, finish, None);
        if revives {
            after = self.after_skipping(after, children_skipped);
        }
        let keep = !step.flag("fail_fast", true);
        let scope = self.scope_in(
            at,
            ScopeSpec {
                width: u32::try_from(step.int("max_concurrency").unwrap_or(WIDTH)).unwrap_or(u32::MAX),
                want: any.then_some(Want::First(1)),
                on_fail: keep.then_some(OnFail::Keep),
                outcomes: Some(self.slots["outcomes"]),
                ..self.frame(index, after, failure)
            },
        );
        self.edges_in(scope, Some(index));
        let inside = Location { scope, ..at };
        let end = self.branch_end(scope, any, gaps);
        let entries = self.entries(scope, branches, revives, |lower, steps, nothing| {
            let revived = steps.iter().any(|step| lower.own.plan.revives[*step]);
            let (begin, skipped) = lower.chain(&steps, inside, end, nothing);
            (begin, skipped, revived)
        });
        self.b.begin(scope, &entries);
        let mut enter = self.b.enter(scope);
        let decision = self.b.decision(self.own.ids[index], DecisionKind::Join);
        self.b.inputs(decision, names.iter().map(String::as_str));
        let (rule, failed) = match (any, keep) {
            (true, true) => (FIRST, Some("a branch failed and none delivered")),
            (true, false) => (FIRST, Some("a branch failed before one delivered")),
            (false, true) => ("every branch has ended", None),
            (false, false) => ("every branch has ended", Some("a branch failed")),
        };
        let completed = self.b.rule_branch(decision, "completed", rule, None);
        let fails = Some(guard::fails(failed));
        let failed = guard::failing(failed, step).map(|rule| self.b.rule_branch(decision, "failed", &rule, fails));
        self.b.decides(enter, decision, [Some(completed), failed]);
        if let Some(gaps) = gaps {
            let none = self.b.value(Value::from(Vec::new()));
            enter = self.b.set([Write::Put(gaps, none)], enter, None);
        }
        (enter, if revives { enter } else { children_skipped })
    }

    /// The end of a branch: records a missing value. If the first to deliver wins, a branch without a value does not deliver.
    fn branch_end(&mut self, scope: ScopeId, any: bool, gaps: Option<SlotId>) -> PlaceId {
        let tail = self.b.read(self.slots["value"]);
        let done = self.b.leave(scope, Exit::Done(Some(tail)));
        if !self.own.plan.has_gaps {
            return done;
        }
        let mut nothing = if any { self.b.leave(scope, Exit::Done(None)) } else { done };
        if let Some(gaps) = gaps {
            let gap = self.b.read(self.slots["gap"]);
            nothing = self.b.set([Write::Push(gaps, gap)], nothing, None);
        }
        if nothing == done {
            return done;
        }
        let gap = self.test("gap != nil");
        self.b.decide([(gap, nothing)], done, None)
    }

    /// If no branch delivers and one of them has joined, the step does not deliver either.
    fn branches_finish(&mut self, index: StepIndex, gaps: Option<SlotId>, branches: usize, next: PlaceId) -> PlaceId {
        // A budgeted step finishes outside of its part.
        let is_budgeted = crate::steps::budget::of_step(&self.own.document.steps[index]).is_some();
        let Some(gaps) = gaps else { return if is_budgeted { next } else { self.finish(index, next) } };
        let text = format!(r#"len(gaps) == {branches} && "joined" in gaps ? "joined" : nil"#);
        let gap = self.store_with("gap", &text, &[("gaps", gaps)], &[]);
        if is_budgeted { self.b.set([gap], next, None) } else { self.finish_with(index, vec![gap], next) }
    }

    /// The tails by the names of their branches: all of them, or that of the one which delivered.
    fn gathered(&mut self, branches: &[String], any: bool) -> ExprId {
        let branch = |(at, name): (i64, &String)| Value::from(vec![Value::from(name.as_str()), Value::Int(at)]);
        let branches: Vec<Value> = (0..).zip(branches).map(branch).collect();
        let text = if any {
            r#"fromPairs(map(take(filter(BRANCHES, {outcomes[#[1]] == "done"}), 1), {[#[0], answer[#[1]]]}))"#
        } else {
            "fromPairs(map(BRANCHES, {[#[0], answer[#[1]]]}))"
        };
        self.formula_with(text, &[], &[("BRANCHES", Value::from(branches))])
    }

    /// A parallel step that was entered skipping is skipped, unless a merge in it has run.
    fn after_skipping(&mut self, after: PlaceId, skipped: PlaceId) -> PlaceId {
        let resumed = self.b.set([Write::Clear(self.slots["skipping"])], after, None);
        let ran = self.test(r#"skipping == nil || any(outcomes, # == "done")"#);
        self.b.decide([(ran, resumed)], skipped, None)
    }
}

fn branch_names(branches: Option<&Located>) -> Vec<String> {
    let branches = branches.and_then(Located::items).unwrap_or_default();
    let name = |branch: &Located| branch.get("name").and_then(Located::text).map_or(String::new(), ToString::to_string);
    branches.iter().map(name).collect()
}
