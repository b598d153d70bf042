//! Chooses the next state: transitions in order, then `on_success` and `on_failure`, within the enclosing loops.

use std::sync::Arc;

use branchpoint_core::ir::{DecisionId, DecisionKind, Exit, Mark, PlaceId, StepId};
use branchpoint_expr::{Object, Value};

use super::context::{ContextId, ContextKind};
use super::state::CurrentState;
use super::{Lower, loops};
use crate::machine::raw::{OnFailure, Repetition, Text};

/// The branch of a state whose failure ends the enclosing loop, and its target.
const LOOP_FAILED: &str = "loop_failed";
pub(super) const LOOP_FAILS: &str = "the loop fails (loop)";

/// The target of a transition.
#[derive(Clone, Copy)]
pub(super) enum Target {
    State(usize),
    /// The inline failure of a state.
    Inline(usize),
}

/// A branch with its name and the target that the document names.
type NamedBranch = (u32, Arc<str>, Option<Target>);

/// The successor of a state by its outcome: its name in explanations, the reason, and the target if there is one.
struct Successor {
    name: Arc<str>,
    reason: String,
    target: Option<Target>,
}

impl<'d> Lower<'d> {
    /// The place after a state, by its outcome.
    pub(super) fn after(&mut self, current: CurrentState<'d>, ok: bool) -> PlaceId {
        if let ContextKind::Branch = self.context(current.context).within {
            return self.branch_end(current.context, current.at, ok);
        }
        self.transitions(current, ok)
    }

    fn named(&self, name: &Text) -> Option<Target> {
        self.own.document.state(name.text()).map(Target::State)
    }

    /// The name of a target in explanations.
    fn target_name(&self, target: Target) -> Arc<str> {
        match target {
            Target::State(at) => self.own.document.states[at].name.clone(),
            Target::Inline(at) => {
                let status = match &self.own.document.states[at].on_failure {
                    Some(OnFailure::Inline { status, .. }) => *status,
                    _ => 0,
                };
                format!("inline failure, status {status}").into()
            }
        }
    }

    /// The name of the state that follows: the enclosing loop for the next state of its body. An inline failure ends
    /// the run.
    fn leads_to(&self, current: CurrentState<'d>, target: Target) -> Arc<str> {
        let Target::State(to) = target else { return "the run fails (terminal_failure)".into() };
        let next = match self.context(current.context).within {
            ContextKind::Loop { state, .. } if state == to => self.after_in_body(state, current.at).unwrap_or(to),
            _ => to,
        };
        self.own.document.states[next].name.clone()
    }

    /// `on_complete` of a loop, then ordered guards; the first entry without one ends them. An error ends the run: no later
    /// entry is used.
    fn transitions(&mut self, current: CurrentState<'d>, ok: bool) -> PlaceId {
        let on_complete = current.state.as_loop().and_then(|round| round.on_complete.as_ref());
        let on_complete = on_complete.and_then(|name| self.named(name));
        if on_complete.is_none() && self.has_no_transitions(current) {
            return self.no_next(current, ok);
        }
        let decision = self.b.decision(current.step, DecisionKind::Transition);
        let completed = on_complete.map(|target| {
            let (name, to) = (self.target_name(target), self.leads_to(current, target));
            let reason = "the loop completed (on_complete)";
            (self.b.rule_branch(decision, &name, reason, Some(&to)), target)
        });
        let (mut arms, mut exits, mut default) = (Vec::new(), Vec::new(), None);
        for way in &current.state.transitions {
            let Some(target) = way.target.as_ref().and_then(|name| self.named(name)) else { continue };
            let (name, to) = (self.target_name(target), self.leads_to(current, target));
            let Some(guard) = &way.guard else {
                default = Some((self.b.branch(decision, &name, None, Some(&to)), name, Some(target)));
                break;
            };
            let guard = self.guard(self.scope(current.context), guard);
            exits.push(Some(self.b.branch(decision, &name, Some(guard), Some(&to))));
            if !(ok && completed.is_some()) {
                let place = self.continue_at(current.context, current.at, target, ok);
                arms.push((guard, self.b.record(Mark::Branch(current.step, name), place)));
            }
        }
        let default = default.or_else(|| self.by_outcome(current, ok, decision, completed.is_some()));
        if let Some((branch, target)) = completed.filter(|_| ok) {
            let place = self.continue_at(current.context, current.at, target, true);
            let decide = self.b.decide([], place, None);
            self.b.decides(decide, decision, [Some(branch)]);
            let holds = self.test("true");
            self.b.branch_mut(decision, branch).test = Some(holds);
            return decide;
        }
        let (default, name, target) = default.expect("a state succeeds or fails");
        exits.push(Some(default));
        let mut otherwise = match target {
            Some(target) => self.continue_at(current.context, current.at, target, ok),
            None => self.no_next(current, ok),
        };
        let mut fail = None;
        if !arms.is_empty() {
            otherwise = self.b.record(Mark::Branch(current.step, name), otherwise);
            let kind = branchpoint_expr::Kind::ConditionError.as_str();
            let error = self.failed_run(current, kind, "failure.message", "nil");
            fail = Some(self.fail_to(error));
        }
        let decide = self.b.decide(arms, otherwise, fail);
        self.b.decides(decide, decision, exits)
    }

    /// States of a loop's body need no transitions: the order of the body decides.
    fn has_no_transitions(&self, current: CurrentState<'d>) -> bool {
        let state = current.state;
        let in_body = matches!(self.context(current.context).within, ContextKind::Loop { .. });
        in_body && state.transitions.is_empty() && state.on_success.is_none() && state.on_failure.is_none()
    }

    /// No transition matches: the successors of success and failure are both shown. Returns
    /// the chosen one; none for the success of a loop that `completes` by its `on_complete`, which leaves nothing to choose.
    fn by_outcome(
        &mut self,
        current: CurrentState<'d>,
        ok: bool,
        decision: DecisionId,
        completes: bool,
    ) -> Option<NamedBranch> {
        let state = current.state;
        let continued = !ok && state.continue_on_error;
        let on_success = state.on_success.as_ref().and_then(|name| self.named(name));
        let on_failure = match &state.on_failure {
            Some(OnFailure::State(name)) => self.named(name),
            Some(OnFailure::Inline { .. }) => Some(Target::Inline(current.at)),
            None => None,
        };
        let success = if continued { "the state failed with continue_on_error set" } else { "the state succeeded" };
        let after_success = (on_success, success, "on_success", ok || continued);
        let after_success = (continued || !completes || on_success.is_some()).then_some(after_success);
        // With `continue_on_error` a failure is followed like a success.
        let after_failure = (on_failure, "the state failed", "on_failure", !ok);
        let after_failure = (!state.continue_on_error).then_some(after_failure);
        let mut chosen = None;
        for (target, outcome, key, applies) in [after_success, after_failure].into_iter().flatten() {
            let next = match target {
                Some(target) => Successor {
                    name: self.target_name(target),
                    reason: format!("{outcome} ({key})"),
                    target: Some(target),
                },
                None => self.unnamed(current, outcome, key, continued),
            };
            let to = match next.target {
                Some(target) => self.leads_to(current, target),
                None if &*next.name == LOOP_FAILED => LOOP_FAILS.into(),
                None => format!("the run fails ({})", next.name).into(),
            };
            if !applies {
                self.b.rule_branch(decision, &next.name, &next.reason, Some(&to));
                continue;
            }
            let branch = self.b.default_branch(decision, &next.name, &next.reason, Some(&to));
            if next.target.is_none() && !ok {
                self.declare_error(current, (decision, branch), outcome, key);
            }
            chosen = Some((branch, next.name, target));
        }
        chosen
    }

    /// Declares the error of the state that failed, for a decision that ends the run or the loop with it.
    fn declare_error(
        &mut self,
        current: CurrentState<'d>,
        (decision, branch): (DecisionId, u32),
        outcome: &str,
        key: &str,
    ) {
        let text = format!(r#""{outcome} (" + answer.error.message + "), and there is no {key}""#);
        let reason = self.formula(&text);
        self.b.reason(decision, branch, reason);
        let error = self.formula_with(r#"putPath(answer.error, ["step"], STATE)"#, &[], &[current.name()]);
        self.b.decision_mut(decision).error = Some(error);
    }

    /// The successor if the document has no `key`.
    fn unnamed(&self, current: CurrentState<'d>, outcome: &str, key: &str, continued: bool) -> Successor {
        let is_success = key == "on_success";
        let missing = |name: &str| Successor {
            name: name.into(),
            reason: format!("{outcome}, and there is no {key}"),
            target: None,
        };
        match self.context(current.context).within {
            ContextKind::Loop { state, .. } if is_success => {
                let next = self.after_in_body(state, current.at);
                let (at, then) = next.map_or((state, "the body is complete"), |next| (next, "the body continues"));
                let name = self.own.document.states[at].name.clone();
                Successor { name, reason: format!("{outcome}, so {then}"), target: Some(Target::State(at)) }
            }
            ContextKind::Loop { .. } => missing(LOOP_FAILED),
            ContextKind::Root | ContextKind::Branch if is_success && !continued => missing("no_transition"),
            ContextKind::Root | ContextKind::Branch => missing("step_failed"),
        }
    }

    /// No next state is named: in a body the order decides, elsewhere the run fails.
    fn no_next(&mut self, current: CurrentState<'d>, ok: bool) -> PlaceId {
        match self.context(current.context).within {
            ContextKind::Loop { .. } if ok || current.state.continue_on_error => {
                self.next_in_body(current.context, current.at)
            }
            ContextKind::Loop { .. } => self.fail_loop(current),
            ContextKind::Root | ContextKind::Branch if ok => {
                let message = r#"("`" + STATE + "` succeeded, and none of its ways on matches")"#;
                self.failed_run(current, "no_transition", message, "nil")
            }
            ContextKind::Root | ContextKind::Branch => {
                self.failed_run(current, "step_failed", "answer.error.message", "error")
            }
        }
    }

    /// A state of the body failed and names no next state: the loop fails with it.
    fn fail_loop(&mut self, current: CurrentState<'d>) -> PlaceId {
        let text = r#"{"kind": "loop", "message": "`" + STATE + "` failed: " + string(answer.error.message ?? ""), "step": STATE}"#;
        let error = self.formula_with(text, &[], &[current.name()]);
        let leave = self.b.leave(self.scope(current.context), Exit::Fail(error));
        let context = self.context(current.context);
        let (within, Some(step)) = (context.within, context.step) else { return leave };
        let rule = format!("`{}` failed and has no on_failure", current.state.name);
        let (place, decision) =
            self.decide_by_rule((step, DecisionKind::Loop), ("failed", &rule), Some(LOOP_FAILS), Some(error), leave);
        let text = r#""`" + STATE + "` failed (" + answer.error.message + ") and has no on_failure""#;
        let reason = self.formula_with(text, &[], &[current.name()]);
        self.b.reason(decision, 0, reason);
        if let ContextKind::Loop { state, slots, .. } = within
            && self.own.document.states[state].as_loop().is_some_and(|round| matches!(round.over, Repetition::Each(_)))
        {
            let failed = self.formula_with("[index]", &slots, &[]);
            self.items_of(decision, &slots, Some(failed));
        }
        place
    }

    /// Continues at a target from the context of a state. The place is in the scope of that context.
    pub(super) fn continue_at(&mut self, context: ContextId, from: usize, target: Target, ok: bool) -> PlaceId {
        self.continue_from(context, (from, "leads to"), target, ok)
    }

    /// Like [`Self::continue_at`], with the verb for the transition in explanations.
    fn continue_from(&mut self, context: ContextId, (from, verb): (usize, &str), target: Target, ok: bool) -> PlaceId {
        let ContextKind::Loop { state, .. } = self.context(context).within else {
            return match (self.context(context).within, target) {
                (ContextKind::Branch, _) => self.branch_end(context, from, ok),
                (_, Target::State(state)) => self.state_place(context, state),
                (_, Target::Inline(state)) => self.inline(state),
            };
        };
        match target {
            Target::State(to) if to == state => self.next_in_body(context, from),
            Target::State(to) if self.in_body(state, to) => self.state_place(context, to),
            target => self.leave_loop(context, state, (from, verb), target, ok),
        }
    }

    fn in_body(&self, round: usize, state: usize) -> bool {
        let name = &*self.own.document.states[state].name;
        let body = self.own.document.states[round].as_loop().map_or(&[][..], |round| &round.body);
        body.iter().any(|member| &**member.text() == name)
    }

    fn next_in_body(&mut self, context: ContextId, from: usize) -> PlaceId {
        let ContextKind::Loop { state, body_end, .. } = self.context(context).within else {
            return self.branch_end(context, from, true);
        };
        match self.after_in_body(state, from) {
            Some(next) => self.state_place(context, next),
            None => body_end,
        }
    }

    /// The state that follows another one in the body of a loop.
    fn after_in_body(&self, round: usize, from: usize) -> Option<usize> {
        let document = self.own.document;
        let body = document.states[round].as_loop().map_or(&[][..], |round| &round.body);
        let current = body.iter().position(|member| document.state(member.text()) == Some(from))?;
        document.state(body.get(current + 1)?.text())
    }

    /// Ends the loop; its own context decides where the run continues.
    fn leave_loop(
        &mut self,
        context: ContextId,
        state: usize,
        (from, verb): (usize, &str),
        target: Target,
        ok: bool,
    ) -> PlaceId {
        let ContextKind::Loop { slots, .. } = self.context(context).within else {
            unreachable!("only the body of a loop leaves one");
        };
        let (scope, around) = (self.scope(context), self.context(context).parent.expect("a loop stands somewhere"));
        let document = self.own.document;
        let left = &document.states[state];
        let step = self.step(around, state);
        let next = self.continue_from(around, (state, "was left for"), target, ok);
        let hooked = self.hooks(around, &left.post, step, next, None);
        let (status, exit) = if ok { ("completed", 0) } else { ("failed", 1) };
        let text = format!(
            r#"putPath(states, [STATE], {{"Output": {}, "Stderr": "", "ExitCode": {exit}, "Status": "{status}",
                "Response": nil, "TokensUsed": 0}})"#,
            loops::SUMMARY,
        );
        let names = [("STATE", Value::from(&*left.name))];
        let left_result = self.assign_with("states", &text, &slots, &names, hooked);
        let mark = if ok { Mark::End(step, None) } else { self.left_failed(step, &left.name, from) };
        self.b.mark(left_result, mark);
        let name = self.target_name(target);
        let member = &document.states[from].name;
        let failed = if ok { "" } else { "failed and " };
        let rule = format!("`{member}` {failed}{verb} `{name}`, which is outside the body");
        let (left_result, _) =
            self.decide_by_rule((step, DecisionKind::Loop), ("left", &rule), Some(&name), None, left_result);
        self.b.leave(scope, Exit::Goto(left_result))
    }

    /// A loop that is left by a failed state of its body has failed, though the run continues.
    fn left_failed(&mut self, step: StepId, left: &str, from: usize) -> Mark {
        let message = format!("`{}` failed and left the loop `{left}`", self.own.document.states[from].name);
        let error = [("kind".into(), Value::from("loop")), ("message".into(), Value::from(message))];
        Mark::Fail(step, self.b.value(Value::from(error.into_iter().collect::<Object>())))
    }
}
