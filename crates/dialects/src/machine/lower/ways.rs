//! Choosing the next state: transitions in order, then the named ways, judged by every loop around.

use std::sync::Arc;

use branchpoint_core::ir::{DecisionId, DecisionKind, Exit, Mark, PlaceId, StepId};
use branchpoint_expr::{Object, Value};

use super::context::{ContextId, Within};
use super::slots::quoted;
use super::state::Here;
use super::{Lower, ends, loops};
use crate::machine::raw::{OnFailure, Text};

/// Where a state goes on.
#[derive(Clone, Copy)]
pub(super) enum Target {
    State(usize),
    /// The inline failure of a state.
    Inline(usize),
}

/// What a transition leads to: the name in explanations, the reason, and the place.
struct Next {
    name: Arc<str>,
    reason: String,
    target: Option<Target>,
    place: PlaceId,
}

impl<'d> Lower<'d> {
    pub(super) fn after_success(&mut self, here: Here<'d>) -> PlaceId {
        if let Within::Branch = self.context(here.context).within {
            return self.branch_end(here.context, true);
        }
        let on_complete = here.state.as_loop().and_then(|round| round.on_complete.as_ref());
        let Some(target) = on_complete.and_then(|name| self.named(name)) else { return self.transitions(here, true) };
        let place = self.go(here.context, here.at, target, true);
        let decision = self.b.decision(here.step, DecisionKind::Transition);
        let name = self.target_name(target);
        let branch = self.b.default_branch(decision, &name, "the loop completed (on_complete)", Some(&name));
        let decide = self.b.decide([], place, None);
        self.b.decides(decide, decision, [Some(branch)]);
        decide
    }

    pub(super) fn after_failure(&mut self, here: Here<'d>) -> PlaceId {
        if let Within::Branch = self.context(here.context).within {
            return self.branch_end(here.context, false);
        }
        self.transitions(here, false)
    }

    fn named(&self, name: &Text) -> Option<Target> {
        self.document.state(name.text()).map(Target::State)
    }

    /// The state that a target leads to, as explanations name it.
    fn target_name(&self, target: Target) -> Arc<str> {
        match target {
            Target::State(at) => self.document.states[at].name.clone(),
            Target::Inline(at) => ends::inline_name(&self.document.states[at].name).into(),
        }
    }

    /// Ordered guards; the first entry without one ends them. An error ends the run: no later entry is used.
    fn transitions(&mut self, here: Here<'d>, ok: bool) -> PlaceId {
        if self.has_no_transitions(here) {
            return self.no_next(here, ok).place;
        }
        let decision = self.b.decision(here.step, DecisionKind::Transition);
        let (mut arms, mut exits, mut default) = (Vec::new(), Vec::new(), None);
        for way in &here.state.transitions {
            let Some(target) = way.target.as_ref().and_then(|name| self.named(name)) else { continue };
            let place = self.go(here.context, here.at, target, ok);
            let name = self.target_name(target);
            let Some(guard) = &way.guard else {
                default = Some((self.b.branch(decision, &name, None, Some(&name)), name, place));
                break;
            };
            let guard = self.guard(self.scope(here.context), guard);
            exits.push(Some(self.b.branch(decision, &name, Some(guard), Some(&name))));
            arms.push((guard, self.branch_mark(here.step, name, place)));
        }
        let (default, name, mut otherwise) = default.unwrap_or_else(|| self.by_outcome(here, ok, decision));
        exits.push(Some(default));
        let mut fail = None;
        if !arms.is_empty() {
            otherwise = self.branch_mark(here.step, name, otherwise);
            let kind = branchpoint_expr::Kind::ConditionError.as_str();
            let error = self.failed_run(here, kind, "failure.message", "nil");
            fail = Some(self.fail_to(error));
        }
        let decide = self.b.decide(arms, otherwise, fail);
        self.b.decides(decide, decision, exits);
        decide
    }

    /// States of a loop's body need no transitions: the order of the body decides.
    fn has_no_transitions(&self, here: Here<'d>) -> bool {
        let state = here.state;
        let in_body = matches!(self.context(here.context).within, Within::Loop { .. });
        in_body && state.transitions.is_empty() && state.on_success.is_none() && state.on_failure.is_none()
    }

    fn branch_mark(&mut self, step: StepId, name: Arc<str>, place: PlaceId) -> PlaceId {
        let marked = self.b.set([], place, None);
        self.b.mark(marked, Mark::Branch(step, name));
        marked
    }

    /// No transition matched: `on_success` and `on_failure` follow, both shown, one of them taken.
    fn by_outcome(&mut self, here: Here<'d>, ok: bool, decision: DecisionId) -> (u32, Arc<str>, PlaceId) {
        let state = here.state;
        let on_success = state.on_success.as_ref().and_then(|name| self.named(name));
        let on_failure = match &state.on_failure {
            // It is never used.
            _ if state.continue_on_error => None,
            Some(OnFailure::State(name)) => self.named(name),
            Some(OnFailure::Inline { .. }) => Some(Target::Inline(here.at)),
            None => None,
        };
        let continued = !ok && state.continue_on_error;
        let success = if continued {
            "the state failed with continue_on_error set (on_success)"
        } else {
            "the state succeeded (on_success)"
        };
        let named = [(on_success, success, ok || continued), (on_failure, "the state failed (on_failure)", !ok)];
        let mut taken = None;
        for (target, reason, applies) in named {
            let Some(target) = target else { continue };
            let name = self.target_name(target);
            if applies {
                let branch = self.b.default_branch(decision, &name, reason, Some(&name));
                taken = Some((branch, name, self.go(here.context, here.at, target, ok)));
            } else {
                self.b.rule_branch(decision, &name, reason, Some(&name));
            }
        }
        taken.unwrap_or_else(|| {
            let next = self.no_next(here, ok);
            let target = next.target.map(|target| self.target_name(target));
            let branch = self.b.default_branch(decision, &next.name, &next.reason, target.as_deref());
            (branch, next.name, next.place)
        })
    }

    /// Nothing names the next state: in a body its order decides, elsewhere the run fails.
    fn no_next(&mut self, here: Here<'d>, ok: bool) -> Next {
        let missing = if ok || here.state.continue_on_error { "on_success" } else { "on_failure" };
        let reason = format!("there is no {missing}");
        let fails = |name: &str, reason, place| Next { name: name.into(), reason, target: None, place };
        match self.context(here.context).within {
            Within::Loop { state, .. } if ok || here.state.continue_on_error => {
                let next = self.after_in_body(state, here.at);
                let (at, reason) = next.map_or((state, "the body is complete"), |next| (next, "the body continues"));
                let (name, target) = (self.document.states[at].name.clone(), Some(Target::State(at)));
                Next { name, reason: reason.to_owned(), target, place: self.next_in_body(here.context, here.at) }
            }
            Within::Loop { .. } => fails("loop_failed", reason, self.fail_loop(here)),
            Within::Root | Within::Branch if ok => {
                let message = r#"("`" + STATE + "` succeeded, and none of its ways on matches")"#;
                fails("no_transition", reason, self.failed_run(here, "no_transition", message, "nil"))
            }
            Within::Root | Within::Branch => {
                let message = "answer.error.message";
                fails("step_failed", reason, self.failed_run(here, "step_failed", message, "error"))
            }
        }
    }

    /// A state of the body failed and names no next state: the loop fails with it.
    fn fail_loop(&mut self, here: Here<'d>) -> PlaceId {
        let text = format!(
            r#"{{"kind": "loop", "message": {} + string(answer.error.message ?? "")}}"#,
            quoted(&format!("`{}` failed: ", here.state.name)),
        );
        let error = self.formula(&text, &[]);
        let leave = self.b.leave(self.scope(here.context), Exit::Fail(error));
        let step = self.context(here.context).step;
        let rule = format!("`{}` failed and has no on_failure", here.state.name);
        step.map_or(leave, |step| self.loop_ends(step, ("failed", &rule), None, leave))
    }

    /// Records why a loop ends other than by its own conditions.
    pub(super) fn loop_ends(
        &mut self,
        step: StepId,
        (name, rule): (&str, &str),
        target: Option<&str>,
        next: PlaceId,
    ) -> PlaceId {
        let decision = self.b.decision(step, DecisionKind::Loop);
        let branch = self.b.rule_branch(decision, name, rule, target);
        let decide = self.b.decide([], next, None);
        self.b.decides(decide, decision, [Some(branch)]);
        decide
    }

    /// Goes on at a target, as the context of the state that goes judges it. The place lies in the scope of that context.
    pub(super) fn go(&mut self, context: ContextId, from: usize, target: Target, ok: bool) -> PlaceId {
        let Within::Loop { state, .. } = self.context(context).within else {
            return match (self.context(context).within, target) {
                (Within::Branch, _) => self.branch_end(context, ok),
                (_, Target::State(state)) => self.state_place(context, state),
                (_, Target::Inline(state)) => self.inline(state),
            };
        };
        match target {
            Target::State(to) if to == state => self.next_in_body(context, from),
            Target::State(to) if self.in_body(state, to) => self.state_place(context, to),
            target => self.leave_loop(context, (state, from), target, ok),
        }
    }

    fn in_body(&self, round: usize, state: usize) -> bool {
        let name = &*self.document.states[state].name;
        let body = self.document.states[round].as_loop().map_or(&[][..], |round| &round.body);
        body.iter().any(|member| &**member.text() == name)
    }

    fn next_in_body(&mut self, context: ContextId, from: usize) -> PlaceId {
        let Within::Loop { state, body_end, .. } = self.context(context).within else {
            return self.branch_end(context, true);
        };
        match self.after_in_body(state, from) {
            Some(next) => self.state_place(context, next),
            None => body_end,
        }
    }

    /// The state that follows another one in the body of a loop.
    fn after_in_body(&self, round: usize, from: usize) -> Option<usize> {
        let document = self.document;
        let body = document.states[round].as_loop().map_or(&[][..], |round| &round.body);
        let here = body.iter().position(|member| document.state(member.text()) == Some(from))?;
        document.state(body.get(here + 1)?.text())
    }

    /// The loop ends here, and its own context judges where the run goes on.
    fn leave_loop(&mut self, context: ContextId, (state, from): (usize, usize), target: Target, ok: bool) -> PlaceId {
        let Within::Loop { rounds, .. } = self.context(context).within else {
            unreachable!("only the body of a loop leaves one");
        };
        let (scope, around) = (self.scope(context), self.context(context).parent.expect("a loop stands somewhere"));
        let document = self.document;
        let left = &document.states[state];
        let step = self.step(around, state);
        let next = self.go(around, state, target, ok);
        let hooked = self.hooks(around, &left.post, step, next, None);
        let (status, exit) = if ok { ("completed", 0) } else { ("failed", 1) };
        let text = format!(
            r#"putPath(states, [{}], {{"Output": {}, "Stderr": "", "ExitCode": {exit}, "Status": "{status}",
                "Response": nil, "TokensUsed": 0}})"#,
            quoted(&left.name),
            loops::TOLD,
        );
        let stored = self.put(self.slots.states, &text, &[("begun", rounds.begun)]);
        let outside = self.b.set([stored], hooked, None);
        let mark = if ok { Mark::End(step, None) } else { self.left_failed(step, &left.name, from) };
        self.b.mark(outside, mark);
        let name = self.target_name(target);
        let member = &document.states[from].name;
        let failed = if ok { "" } else { "failed and " };
        let rule = format!("`{member}` {failed}leads to `{name}`, which is outside of the body");
        let outside = self.loop_ends(step, ("left", &rule), Some(&name), outside);
        self.b.leave(scope, Exit::Goto(outside))
    }

    /// A loop that a failed state of its body has left has failed, though the run goes on.
    fn left_failed(&mut self, step: StepId, left: &str, from: usize) -> Mark {
        let message = format!("`{}` failed and left the loop `{left}`", self.document.states[from].name);
        let error = [("kind".into(), Value::from("loop")), ("message".into(), Value::from(message))];
        Mark::Fail(step, self.b.value(Value::from(error.into_iter().collect::<Object>())))
    }
}
