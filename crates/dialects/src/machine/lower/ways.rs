//! Choosing the next state: transitions in order, then the named ways, judged by every loop around.

use branchpoint_core::ir::{DecisionKind, Exit, Mark, PlaceId, StepId};
use branchpoint_expr::{Object, Value};

use super::Lower;
use super::context::{ContextId, Within};
use super::loops;
use super::slots::quoted;
use super::state::Here;
use crate::machine::raw::{OnFailure, Text};

/// Where a state goes on.
#[derive(Clone, Copy)]
pub(super) enum Target {
    State(usize),
    /// The inline failure of a state.
    Inline(usize),
}

impl<'d> Lower<'d> {
    pub(super) fn after_success(&mut self, here: Here<'d>) -> PlaceId {
        if let Within::Branch = self.context(here.context).within {
            return self.branch_end(here.context, true);
        }
        let on_complete = here.state.as_loop().and_then(|round| round.on_complete.as_ref());
        if let Some(target) = on_complete.and_then(|name| self.named(name)) {
            return self.go(here.context, here.at, target, true);
        }
        let named = here.state.on_success.as_ref().and_then(|name| self.named(name));
        self.transitions(here, true, named)
    }

    pub(super) fn after_failure(&mut self, here: Here<'d>) -> PlaceId {
        if let Within::Branch = self.context(here.context).within {
            return self.branch_end(here.context, false);
        }
        let named = if here.state.continue_on_error {
            here.state.on_success.as_ref().and_then(|name| self.named(name))
        } else {
            match &here.state.on_failure {
                Some(OnFailure::State(name)) => self.named(name),
                Some(OnFailure::Inline { .. }) => Some(Target::Inline(here.at)),
                None => None,
            }
        };
        self.transitions(here, false, named)
    }

    fn named(&self, name: &Text) -> Option<Target> {
        self.document.state(name.text()).map(Target::State)
    }

    /// Ordered guards; the first entry without one ends them. An error ends the run: no later entry is used.
    fn transitions(&mut self, here: Here<'d>, ok: bool, named: Option<Target>) -> PlaceId {
        let (mut arms, mut default) = (Vec::new(), None);
        let mut decision = None;
        let mut exits = Vec::new();
        for way in &here.state.transitions {
            let Some(target) = way.target.as_ref().and_then(|name| self.named(name)) else { continue };
            let place = self.go(here.context, here.at, target, ok);
            let Some(guard) = &way.guard else {
                default = Some(place);
                break;
            };
            let marked = self.b.set([], place, None);
            let taken = way.target.as_ref().map_or_else(|| "".into(), |name| name.text().clone());
            let guard = self.guard(self.scope(here.context), guard);
            let decision = *decision.get_or_insert_with(|| self.b.decision(here.step, DecisionKind::Transition));
            exits.push(Some(self.b.branch(decision, &taken, Some(guard), Some(&taken))));
            self.b.mark(marked, Mark::Branch(here.step, taken));
            arms.push((guard, marked));
        }
        let otherwise = match (default, named) {
            (Some(default), _) => default,
            (None, Some(target)) => self.go(here.context, here.at, target, ok),
            (None, None) => self.nowhere(here, ok),
        };
        if arms.is_empty() {
            return otherwise;
        }
        let kind = branchpoint_expr::Kind::ConditionError.as_str();
        let error = self.failed_run(here, kind, "failure.message", "nil");
        let fail = Some(self.fail_to(error));
        let decide = self.b.decide(arms, otherwise, fail);
        if let Some(decision) = decision {
            exits.push(Some(self.b.branch(decision, "default", None, None)));
            self.b.decides(decide, decision, exits);
        }
        decide
    }

    /// No way on is named.
    fn nowhere(&mut self, here: Here<'d>, ok: bool) -> PlaceId {
        match self.context(here.context).within {
            Within::Loop { .. } if ok || here.state.continue_on_error => self.next_in_body(here.context, here.at),
            Within::Loop { .. } => {
                let scope = self.scope(here.context);
                let text = format!(
                    r#"{{"kind": "loop", "message": {} + string(answer.error.message ?? "")}}"#,
                    quoted(&format!("`{}` failed: ", here.state.name)),
                );
                let error = self.formula(&text, &[]);
                self.b.leave(scope, Exit::Fail(error))
            }
            Within::Root | Within::Branch if ok => {
                let message = r#"("`" + STATE + "` succeeded, and none of its ways on matches")"#;
                self.failed_run(here, "no_transition", message, "nil")
            }
            Within::Root | Within::Branch => {
                let message = "answer.error.message";
                self.failed_run(here, "step_failed", message, "error")
            }
        }
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
        let document = self.document;
        let body = document.states[state].as_loop().map_or(&[][..], |round| &round.body);
        let here = body.iter().position(|member| document.state(member.text()) == Some(from));
        let next = here.and_then(|here| document.state(body.get(here + 1)?.text()));
        match next {
            Some(next) => self.state_place(context, next),
            None => body_end,
        }
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
        self.b.leave(scope, Exit::Goto(outside))
    }

    /// A loop that a failed state of its body has left has failed, though the run goes on.
    fn left_failed(&mut self, step: StepId, left: &str, from: usize) -> Mark {
        let message = format!("`{}` failed and left the loop `{left}`", self.document.states[from].name);
        let error = [("kind".into(), Value::from("loop")), ("message".into(), Value::from(message))];
        Mark::Fail(step, self.b.value(Value::from(error.into_iter().collect::<Object>())))
    }
}
