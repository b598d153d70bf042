//! Choosing the next state: transitions in order, then the named ways, judged by every loop around.

use std::sync::Arc;

use branchpoint_core::ir::{DecisionId, DecisionKind, Exit, Mark, PlaceId, StepId};
use branchpoint_expr::{Object, Value};

use super::context::{ContextId, Within};
use super::state::Here;
use super::{Lower, loops};
use crate::machine::raw::{OnFailure, Text, Times};

/// The branch of a state whose failure ends the loop around it, and where that leads.
const LOOP_FAILED: &str = "loop_failed";
pub(super) const LOOP_FAILS: &str = "the loop fails (loop)";

/// Where a state goes on.
#[derive(Clone, Copy)]
pub(super) enum Target {
    State(usize),
    /// The inline failure of a state.
    Inline(usize),
}

/// A branch, its name, and the target that the document names.
type Taken = (u32, Arc<str>, Option<Target>);

/// What follows a state by its outcome: the name in explanations, the reason, and the target if there is one.
struct Next {
    name: Arc<str>,
    reason: String,
    target: Option<Target>,
}

impl<'d> Lower<'d> {
    /// What follows a state by its outcome.
    pub(super) fn after(&mut self, here: Here<'d>, ok: bool) -> PlaceId {
        if let Within::Branch = self.context(here.context).within {
            return self.branch_end(here.context, here.at, ok);
        }
        self.transitions(here, ok)
    }

    fn named(&self, name: &Text) -> Option<Target> {
        self.own.document.state(name.text()).map(Target::State)
    }

    /// What a target is called in explanations.
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

    /// The state with which the run continues: the loop around stands for the next state of its body. An inline failure ends
    /// the run.
    fn leads_to(&self, here: Here<'d>, target: Target) -> Arc<str> {
        let Target::State(to) = target else { return "the run fails (terminal_failure)".into() };
        let next = match self.context(here.context).within {
            Within::Loop { state, .. } if state == to => self.after_in_body(state, here.at).unwrap_or(to),
            _ => to,
        };
        self.own.document.states[next].name.clone()
    }

    /// `on_complete` of a loop, then ordered guards; the first entry without one ends them. An error ends the run: no later
    /// entry is used.
    fn transitions(&mut self, here: Here<'d>, ok: bool) -> PlaceId {
        let on_complete = here.state.as_loop().and_then(|round| round.on_complete.as_ref());
        let on_complete = on_complete.and_then(|name| self.named(name));
        if on_complete.is_none() && self.has_no_transitions(here) {
            return self.no_next(here, ok);
        }
        let decision = self.b.decision(here.step, DecisionKind::Transition);
        let completed = on_complete.map(|target| {
            let (name, to) = (self.target_name(target), self.leads_to(here, target));
            let reason = "the loop completed (on_complete)";
            (self.b.rule_branch(decision, &name, reason, Some(&to)), target)
        });
        let (mut arms, mut exits, mut default) = (Vec::new(), Vec::new(), None);
        for way in &here.state.transitions {
            let Some(target) = way.target.as_ref().and_then(|name| self.named(name)) else { continue };
            let (name, to) = (self.target_name(target), self.leads_to(here, target));
            let Some(guard) = &way.guard else {
                default = Some((self.b.branch(decision, &name, None, Some(&to)), name, Some(target)));
                break;
            };
            let guard = self.guard(self.scope(here.context), guard);
            exits.push(Some(self.b.branch(decision, &name, Some(guard), Some(&to))));
            if !(ok && completed.is_some()) {
                let place = self.go(here.context, here.at, target, ok);
                arms.push((guard, self.b.marked(Mark::Branch(here.step, name), place)));
            }
        }
        let default = default.or_else(|| self.by_outcome(here, ok, decision, completed.is_some()));
        if let Some((branch, target)) = completed.filter(|_| ok) {
            let place = self.go(here.context, here.at, target, true);
            let decide = self.b.decide([], place, None);
            self.b.decides(decide, decision, [Some(branch)]);
            let holds = self.test("true");
            self.b.branch_mut(decision, branch).test = Some(holds);
            return decide;
        }
        let (default, name, target) = default.expect("a state succeeds or fails");
        exits.push(Some(default));
        let mut otherwise = match target {
            Some(target) => self.go(here.context, here.at, target, ok),
            None => self.no_next(here, ok),
        };
        let mut fail = None;
        if !arms.is_empty() {
            otherwise = self.b.marked(Mark::Branch(here.step, name), otherwise);
            let kind = branchpoint_expr::Kind::ConditionError.as_str();
            let error = self.failed_run(here, kind, "failure.message", "nil");
            fail = Some(self.fail_to(error));
        }
        let decide = self.b.decide(arms, otherwise, fail);
        self.b.decides(decide, decision, exits)
    }

    /// States of a loop's body need no transitions: the order of the body decides.
    fn has_no_transitions(&self, here: Here<'d>) -> bool {
        let state = here.state;
        let in_body = matches!(self.context(here.context).within, Within::Loop { .. });
        in_body && state.transitions.is_empty() && state.on_success.is_none() && state.on_failure.is_none()
    }

    /// No transition matched: what follows a success and what follows a failure are both shown, one of them is taken. Gives
    /// the one that is taken; none for the success of a loop that `completes` by its `on_complete`, which leaves nothing to choose.
    fn by_outcome(&mut self, here: Here<'d>, ok: bool, decision: DecisionId, completes: bool) -> Option<Taken> {
        let state = here.state;
        let continued = !ok && state.continue_on_error;
        let on_success = state.on_success.as_ref().and_then(|name| self.named(name));
        let on_failure = match &state.on_failure {
            Some(OnFailure::State(name)) => self.named(name),
            Some(OnFailure::Inline { .. }) => Some(Target::Inline(here.at)),
            None => None,
        };
        let success = if continued { "the state failed with continue_on_error set" } else { "the state succeeded" };
        let after_success = (on_success, success, "on_success", ok || continued);
        let after_success = (continued || !completes || on_success.is_some()).then_some(after_success);
        // With `continue_on_error` a failure is followed like a success.
        let after_failure = (on_failure, "the state failed", "on_failure", !ok);
        let after_failure = (!state.continue_on_error).then_some(after_failure);
        let mut taken = None;
        for (target, outcome, key, applies) in [after_success, after_failure].into_iter().flatten() {
            let next = match target {
                Some(target) => {
                    Next { name: self.target_name(target), reason: format!("{outcome} ({key})"), target: Some(target) }
                }
                None => self.unnamed(here, outcome, key, continued),
            };
            let to = match next.target {
                Some(target) => self.leads_to(here, target),
                None if &*next.name == LOOP_FAILED => LOOP_FAILS.into(),
                None => format!("the run fails ({})", next.name).into(),
            };
            if !applies {
                self.b.rule_branch(decision, &next.name, &next.reason, Some(&to));
                continue;
            }
            let branch = self.b.default_branch(decision, &next.name, &next.reason, Some(&to));
            if next.target.is_none() && !ok {
                self.declare_error(here, (decision, branch), outcome, key);
            }
            taken = Some((branch, next.name, target));
        }
        taken
    }

    /// Declares the error of the state that failed, for a decision that ends the run or the loop with it.
    fn declare_error(&mut self, here: Here<'d>, (decision, branch): (DecisionId, u32), outcome: &str, key: &str) {
        let text = format!(r#""{outcome} (" + answer.error.message + "), and there is no {key}""#);
        let reason = self.formula(&text);
        self.b.reason(decision, branch, reason);
        let error = self.formula_with(r#"putPath(answer.error, ["step"], STATE)"#, &[], &[here.name()]);
        self.b.decision_mut(decision).error = Some(error);
    }

    /// What follows where the document names nothing under `key`.
    fn unnamed(&self, here: Here<'d>, outcome: &str, key: &str, continued: bool) -> Next {
        let is_success = key == "on_success";
        let missing =
            |name: &str| Next { name: name.into(), reason: format!("{outcome}, and there is no {key}"), target: None };
        match self.context(here.context).within {
            Within::Loop { state, .. } if is_success => {
                let next = self.after_in_body(state, here.at);
                let (at, then) = next.map_or((state, "the body is complete"), |next| (next, "the body continues"));
                let name = self.own.document.states[at].name.clone();
                Next { name, reason: format!("{outcome}, so {then}"), target: Some(Target::State(at)) }
            }
            Within::Loop { .. } => missing(LOOP_FAILED),
            Within::Root | Within::Branch if is_success && !continued => missing("no_transition"),
            Within::Root | Within::Branch => missing("step_failed"),
        }
    }

    /// Nothing names the next state: in a body its order decides, elsewhere the run fails.
    fn no_next(&mut self, here: Here<'d>, ok: bool) -> PlaceId {
        match self.context(here.context).within {
            Within::Loop { .. } if ok || here.state.continue_on_error => self.next_in_body(here.context, here.at),
            Within::Loop { .. } => self.fail_loop(here),
            Within::Root | Within::Branch if ok => {
                let message = r#"("`" + STATE + "` succeeded, and none of its ways on matches")"#;
                self.failed_run(here, "no_transition", message, "nil")
            }
            Within::Root | Within::Branch => self.failed_run(here, "step_failed", "answer.error.message", "error"),
        }
    }

    /// A state of the body failed and names no next state: the loop fails with it.
    fn fail_loop(&mut self, here: Here<'d>) -> PlaceId {
        let text = r#"{"kind": "loop", "message": "`" + STATE + "` failed: " + string(answer.error.message ?? ""), "step": STATE}"#;
        let error = self.formula_with(text, &[], &[here.name()]);
        let leave = self.b.leave(self.scope(here.context), Exit::Fail(error));
        let context = self.context(here.context);
        let (within, Some(step)) = (context.within, context.step) else { return leave };
        let rule = format!("`{}` failed and has no on_failure", here.state.name);
        let (place, decision) =
            self.decide_by_rule((step, DecisionKind::Loop), ("failed", &rule), Some(LOOP_FAILS), Some(error), leave);
        let text = r#""`" + STATE + "` failed (" + answer.error.message + ") and has no on_failure""#;
        let reason = self.formula_with(text, &[], &[here.name()]);
        self.b.reason(decision, 0, reason);
        if let Within::Loop { state, slots, .. } = within
            && self.own.document.states[state].as_loop().is_some_and(|round| matches!(round.over, Times::Each(_)))
        {
            let failed = self.formula_with("[index]", &slots, &[]);
            self.items_of(decision, &slots, Some(failed));
        }
        place
    }

    /// Goes on at a target, as the context of the state that goes judges it. The place lies in the scope of that context.
    pub(super) fn go(&mut self, context: ContextId, from: usize, target: Target, ok: bool) -> PlaceId {
        self.go_from(context, (from, "leads to"), target, ok)
    }

    /// As [`Self::go`], with the words for how the state `from` comes to the target.
    fn go_from(&mut self, context: ContextId, (from, verb): (usize, &str), target: Target, ok: bool) -> PlaceId {
        let Within::Loop { state, .. } = self.context(context).within else {
            return match (self.context(context).within, target) {
                (Within::Branch, _) => self.branch_end(context, from, ok),
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
        let Within::Loop { state, body_end, .. } = self.context(context).within else {
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
        let here = body.iter().position(|member| document.state(member.text()) == Some(from))?;
        document.state(body.get(here + 1)?.text())
    }

    /// The loop ends here, and its own context judges where the run goes on.
    fn leave_loop(
        &mut self,
        context: ContextId,
        state: usize,
        (from, verb): (usize, &str),
        target: Target,
        ok: bool,
    ) -> PlaceId {
        let Within::Loop { slots, .. } = self.context(context).within else {
            unreachable!("only the body of a loop leaves one");
        };
        let (scope, around) = (self.scope(context), self.context(context).parent.expect("a loop stands somewhere"));
        let document = self.own.document;
        let left = &document.states[state];
        let step = self.step(around, state);
        let next = self.go_from(around, (state, "was left for"), target, ok);
        let hooked = self.hooks(around, &left.post, step, next, None);
        let (status, exit) = if ok { ("completed", 0) } else { ("failed", 1) };
        let text = format!(
            r#"putPath(states, [STATE], {{"Output": {}, "Stderr": "", "ExitCode": {exit}, "Status": "{status}",
                "Response": nil, "TokensUsed": 0}})"#,
            loops::TOLD,
        );
        let names = [("STATE", Value::from(&*left.name))];
        let outside = self.assign_with("states", &text, &slots, &names, hooked);
        let mark = if ok { Mark::End(step, None) } else { self.left_failed(step, &left.name, from) };
        self.b.mark(outside, mark);
        let name = self.target_name(target);
        let member = &document.states[from].name;
        let failed = if ok { "" } else { "failed and " };
        let rule = format!("`{member}` {failed}{verb} `{name}`, which is outside the body");
        let (outside, _) = self.decide_by_rule((step, DecisionKind::Loop), ("left", &rule), Some(&name), None, outside);
        self.b.leave(scope, Exit::Goto(outside))
    }

    /// A loop that a failed state of its body has left has failed, though the run goes on.
    fn left_failed(&mut self, step: StepId, left: &str, from: usize) -> Mark {
        let message = format!("`{}` failed and left the loop `{left}`", self.own.document.states[from].name);
        let error = [("kind".into(), Value::from("loop")), ("message".into(), Value::from(message))];
        Mark::Fail(step, self.b.value(Value::from(error.into_iter().collect::<Object>())))
    }
}
