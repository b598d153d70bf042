//! Parallel states: a frame with one entry for each branch.

use branchpoint_core::ir::builder::ScopeSpec;
use branchpoint_core::ir::{DecisionKind, Exit, OnFail, PlaceId, Want};

use branchpoint_expr::{Value, duration_text};

use super::Lower;
use super::commands::retry;
use super::context::{Context, ContextId, ContextKind};
use super::state::{CurrentState, Outcomes};
use crate::machine::raw::{Parallel, Strategy};

impl<'d> Lower<'d> {
    pub(super) fn parallel(
        &mut self,
        current: CurrentState<'d>,
        parallel: &'d Parallel,
        outcomes: Outcomes,
    ) -> PlaceId {
        let done = self.assign("answer", r#"{"output": ""}"#, outcomes.ok);
        let failed = self.parallel_failed(outcomes.bad);
        let (want, on_fail) = match parallel.strategy {
            Strategy::AllSucceed => (Want::All, OnFail::Stop),
            Strategy::AnySucceed => (Want::First(1), OnFail::Keep),
            Strategy::BestEffort => (Want::All, OnFail::Keep),
        };
        let spec = ScopeSpec {
            width: parallel.max_concurrent,
            want: Some(want),
            on_fail: Some(on_fail),
            retry: retry(current.state),
            time_limit_ms: current.state.timeout_ms,
            next: Some(done),
            fail: Some(self.fail_to(failed)),
            ..ScopeSpec::default()
        };
        let scope = self.b.scope(self.scope(current.context), spec);
        let context =
            Context { parent: Some(current.context), scope, within: ContextKind::Branch, step: Some(current.step) };
        let context = self.open(context);
        let document = self.own.document;
        let branches: Vec<usize> = parallel.branches.iter().filter_map(|name| document.state(name.text())).collect();
        let places: Vec<PlaceId> = branches.into_iter().map(|branch| self.state_place(context, branch)).collect();
        self.b.begin(scope, &places);
        let enter = self.b.enter(scope);
        self.joins(current, parallel, enter);
        enter
    }

    /// Declares the results at the join of the branches.
    fn joins(&mut self, current: CurrentState<'d>, parallel: &Parallel, enter: PlaceId) {
        let (completed, failed) = match parallel.strategy {
            Strategy::AllSucceed => ("every branch succeeded", Some("a branch failed")),
            Strategy::AnySucceed => ("one branch succeeded", Some("every branch failed")),
            Strategy::BestEffort => ("every branch ended", None),
        };
        let timed_out = current.state.timeout_ms.map(|ms| format!("the timeout of {} was reached", duration_text(ms)));
        let kinds: Vec<&str> =
            failed.map(|_| "parallel").into_iter().chain(timed_out.as_ref().map(|_| "timeout")).collect();
        let fails = format!("the step fails ({})", kinds.join(" or "));
        let failed: Vec<String> = failed.map(str::to_owned).into_iter().chain(timed_out).collect();
        let failed = Some(failed.join(", or ")).filter(|rule| !rule.is_empty());
        let decision = self.b.decision(current.step, DecisionKind::Join);
        let known = parallel.branches.iter().filter(|name| self.own.document.state(name.text()).is_some());
        self.b.inputs(decision, known.map(|name| name.text().clone()));
        let exits = [("completed", Some(completed), None), ("failed", failed.as_deref(), Some(&*fails))];
        let exits = exits.map(|(name, rule, to)| Some(self.b.rule_branch(decision, name, rule?, to)));
        self.b.decides(enter, decision, exits);
    }

    /// The slot `failure` becomes a failed answer. Only the timeout of the state itself has no step; the error of a
    /// branch has the branch's kind, the state's own is `parallel`.
    fn parallel_failed(&mut self, bad: PlaceId) -> PlaceId {
        let failed = self.timed_out_or(r#""parallel""#, r#""""#, bad);
        let of_branch = self.assign("failure", r#"putPath(failure, ["kind"], "parallel")"#, failed);
        let names_step = self.test("failure.step != nil");
        self.b.decide([(names_step, of_branch)], failed, None)
    }

    /// The end of a branch at the state `at`, whose transitions do not match.
    pub(super) fn branch_end(&mut self, context: ContextId, at: usize, ok: bool) -> PlaceId {
        let scope = self.scope(context);
        if ok {
            let delivered = self.b.value(true);
            return self.b.leave(scope, Exit::Done(Some(delivered)));
        }
        let text = r#"{"kind": answer.error.kind ?? "parallel", "message": answer.error.message ?? "a branch failed",
            "step": STATE}"#;
        let error = self.formula_with(text, &[], &[("STATE", Value::from(&*self.own.document.states[at].name))]);
        self.b.leave(scope, Exit::Fail(error))
    }
}
